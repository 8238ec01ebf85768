#include <edubba_commit.h>
#include <stdio.h>

#include "common/io/daemon.h"
#include "common/io/logger.h"
#include "common/io/signals.h"
#include "gateway/daemon/service.h"

#define CONFIG_ARENA_BLOCK_BYTES 4096

static void on_stop(void *context, int signal)
{
    LOG_EVENT(LOG_LEVEL_INFO, "stopping", LOG_I64("signal", signal));
    service_stop(context);
}

static enum status run(struct daemon *daemon, struct service *service, struct error *ret_error)
{
    char ready[512];
    (void)snprintf(ready, sizeof ready, "address=%s http=%s", service->address,
                   service->http_address);
    LOG_EVENT(LOG_LEVEL_INFO, "serving", LOG_TEXT("address", service->address),
              LOG_TEXT("http", service->http_address));
    daemon_ready(daemon, ready);
    return service_wait(service, ret_error);
}

static enum status serve(struct daemon *daemon,
                         const struct gateway_settings *settings,
                         struct error *ret_error)
{
    struct service *service = NULL;
    enum status status = service_create(settings, &service, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    status = signals_start(on_stop, service, ret_error);
    if (status == STATUS_OK) {
        status = service_start(service, ret_error);
    }
    if (status == STATUS_OK) {
        status = run(daemon, service, ret_error);
    }
    signals_closing();
    service_close(service);
    signals_stop();
    return status == STATUS_CANCELLED ? STATUS_OK : status;
}

int main(int argument_count, char **arguments)
{
    struct gateway_settings settings;
    struct config_key keys[GATEWAY_SETTINGS_KEYS_MAX];
    struct error error = {.status = STATUS_OK};
    struct daemon daemon;
    struct arena arena;
    int exit_code = DAEMON_EXIT_OK;

    signals_block();
    arena_init(&arena, CONFIG_ARENA_BLOCK_BYTES, SIZE_MAX);
    gateway_settings_default(&settings);
    const struct daemon_description description = {
        .name = "edubba-gateway",
        .summary = "serves Bigtable's API to programs written for Bigtable",
        .build = DAEMON_BUILD(EDUBBA_COMMIT),
        .keys = keys,
        .key_count = gateway_settings_keys(&settings, keys),
        .check = gateway_settings_check,
        .context = &settings,
    };
    if (daemon_start(&description, argument_count, arguments, &arena, &daemon, &exit_code)) {
        logger_init(&settings.log);
        enum status status = serve(&daemon, &settings, &error);
        if (status != STATUS_OK) {
            exit_code = daemon_fail(&daemon, &error);
        }
    }
    arena_deinit(&arena);
    return exit_code;
}

#include <edubba_commit.h>
#include <malloc.h>
#include <stdio.h>

#include "common/io/clock.h"
#include "common/io/daemon.h"
#include "common/io/logger.h"
#include "common/io/mailbox.h"
#include "common/io/signals.h"
#include "tabletserver/serve/server.h"

#define CONFIG_ARENA_BLOCK_BYTES 4096

/* Of a heap's free end so much stays: messages come and go, and pages that are given back are
 * cleared again for the next.  What is larger than the second comes from the system and goes back
 * there at once; memtables keep their own (memory_large.h). */
#define HEAP_END_KEPT_BYTES (8 << 20)
#define OWN_MAPPING_BYTES   (1 << 20)

/* What is free in the middle of a heap goes back now and then: each of a dozen heaps has its own
 * peak at a time of its own, and one small piece that lives long holds all that was before it. */
#define HEAP_TRIM_EVERY_NS (INT64_C(5) * 1000 * 1000 * 1000)

/* The unit's TimeoutStopSec is 60 s; writes that wait in a store loop are given up before. */
#define STOP_PATIENCE_US (INT64_C(45) * 1000 * 1000)

static void on_stop(void *context, int signal)
{
    LOG_EVENT(LOG_LEVEL_INFO, "stopping", LOG_I64("signal", signal));
    (void)mailbox_push(context, ""); /* a second signal finds it full */
}

/* On the main thread, which the signal thread wakes. */
static void wait_for_stop(struct mailbox *stop)
{
    char nothing[1];
    while (mailbox_take(stop, nothing, 1, clock_monotonic_ns() + HEAP_TRIM_EVERY_NS) == 0) {
        (void)malloc_trim(0);
    }
}

static enum status serve(struct daemon *daemon,
                         const struct server_settings *settings,
                         struct error *ret_error)
{
    const struct mailbox_settings mailbox = {.item_bytes = 1, .capacity = 1};
    struct mailbox *stop = NULL;
    struct server *server = NULL;
    char ready[512];

    enum status status = mailbox_create(&mailbox, &stop);
    if (status != STATUS_OK) {
        return error_set(ret_error, status, "no memory to start");
    }
    /* Opening may take long, as logs are replayed: who stops it meanwhile is heard at its end. */
    status = signals_start(on_stop, stop, ret_error);
    if (status == STATUS_OK) {
        status = server_open(settings, &server, ret_error);
    }
    if (status == STATUS_OK) {
        (void)snprintf(ready, sizeof ready, "address=%s http=%s", server->address,
                       server->http_address);
        LOG_EVENT(LOG_LEVEL_INFO, "serving", LOG_ID("server", server->number),
                  LOG_TEXT("address", server->address), LOG_TEXT("http", server->http_address));
        daemon_ready(daemon, ready);
        wait_for_stop(stop);
    }
    signals_closing();
    daemon_end_within(STOP_PATIENCE_US);
    if (server != NULL) {
        server_close(server);
    }
    signals_stop();
    mailbox_destroy(stop);
    return status;
}

int main(int argument_count, char **arguments)
{
    struct server_settings settings;
    struct config_key keys[SERVER_SETTINGS_KEYS_MAX];
    struct error error = {.status = STATUS_OK};
    struct daemon daemon;
    struct arena arena;
    int exit_code = DAEMON_EXIT_OK;
    int lock = -1;

    (void)mallopt(M_TRIM_THRESHOLD, HEAP_END_KEPT_BYTES);
    (void)mallopt(M_MMAP_THRESHOLD, OWN_MAPPING_BYTES);
    signals_block();
    arena_init(&arena, CONFIG_ARENA_BLOCK_BYTES, SIZE_MAX);
    server_settings_default(&settings);
    const struct daemon_description description = {
        .name = "edubba-tabletserver",
        .summary = "serves tablets: stores their rows and answers reads and writes",
        .build = DAEMON_BUILD(EDUBBA_COMMIT),
        .keys = keys,
        .key_count = server_settings_keys(&settings, keys),
        .check = server_settings_check,
        .context = &settings,
    };
    if (daemon_start(&description, argument_count, arguments, &arena, &daemon, &exit_code)) {
        logger_init(&settings.log);
        daemon_check_files(server_settings_files(&settings));
        enum status status = daemon_lock_folder(settings.folder, &lock, &error);
        if (status == STATUS_OK) {
            status = serve(&daemon, &settings, &error);
            daemon_unlock_folder(lock);
        }
        if (status != STATUS_OK) {
            exit_code = daemon_fail(&daemon, &error);
        }
    }
    arena_deinit(&arena);
    return exit_code;
}

#include <edubba_commit.h>

#include "common/io/daemon.h"
#include "common/io/http.h"
#include "common/io/signals.h"
#include "master/shell/heap_trim.h"
#include "master/shell/master.h"

#define CONFIG_ARENA_BYTES 16384
#define READY_TEXT_SIZE    400
#define FILES_BESIDES \
    64 /* the catalog, those to etcd and other masters, what threads wake each other by */
#define STOP_PATIENCE_US (INT64_C(20) * 1000 * 1000) /* the unit's TimeoutStopSec is 30 s */

static void on_stop(void *context, int signal)
{
    LOG_EVENT(LOG_LEVEL_INFO, "stopping", LOG_I64("signal", signal));
    master_stop(context);
}

static enum status serve(struct daemon *daemon, struct master *master, struct error *ret_error)
{
    char text[READY_TEXT_SIZE];
    enum status status = signals_start(on_stop, master, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    master_describe(master, text, sizeof text);
    LOG_EVENT(LOG_LEVEL_INFO, "ready", LOG_TEXT("text", text));
    daemon_ready(daemon, text);
    struct heap_trim *trim = heap_trim_start();
    status = master_run(master, ret_error);
    signals_closing();
    daemon_end_within(STOP_PATIENCE_US);
    heap_trim_stop(trim);
    return status;
}

int main(int argument_count, char **arguments)
{
    struct master_settings *settings = settings_with_defaults();
    struct daemon_description description = {
        .name = "edubba-master",
        .summary = "keeps the catalog of an Edubba cluster and passes out its tablets",
        .build = DAEMON_BUILD(EDUBBA_COMMIT),
        .check = settings_check,
        .context = settings,
    };
    struct arena arena;
    struct daemon daemon;
    struct master *master = NULL;
    struct error error = {0};
    int exit_code = DAEMON_EXIT_OK;

    signals_block();
    arena_init(&arena, CONFIG_ARENA_BYTES, SIZE_MAX);
    description.keys = settings_keys(&description.key_count);
    if (daemon_start(&description, argument_count, arguments, &arena, &daemon, &exit_code)) {
        logger_init(&settings->log);
        daemon_check_files((uint64_t)settings->connections_max + HTTP_CONNECTIONS_MAX +
                           FILES_BESIDES);
        enum status status = master_open(settings, &master, &error);
        if (status == STATUS_OK) {
            status = serve(&daemon, master, &error);
        }
        master_close(master);
        signals_stop();
        exit_code = status == STATUS_OK ? DAEMON_EXIT_OK : daemon_fail(&daemon, &error);
    }
    arena_deinit(&arena);
    return exit_code;
}

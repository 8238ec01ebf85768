#include <stdio.h>

#include "common/io/daemon.h"
#include "master/shell/catalog_import.h"

#define CONFIG_ARENA_BYTES 16384

/* The configuration is the one that masters will be started with: it says to which etcd the catalog is brought. */
static void check(void *context, struct config_reading *reading)
{
    const struct master_settings *settings = context;
    settings_check(context, reading);
    if (!settings->on_etcd) {
        config_refuse(reading, "coordinator",
                      "coordinator must be \"etcd\": give the configuration that masters will have "
                      "then; folder is where the catalog is now");
    }
}

int main(int argument_count, char **arguments)
{
    struct master_settings *settings = settings_with_defaults();
    struct daemon_description description = {
        .name = "edubba-import-catalog",
        .summary = "brings the catalog of a master's folder into etcd",
        .check = check,
        .context = settings,
    };
    struct catalog_import import;
    struct arena arena;
    struct daemon daemon;
    struct error error = {.status = STATUS_OK};
    int exit_code = DAEMON_EXIT_OK;

    arena_init(&arena, CONFIG_ARENA_BYTES, SIZE_MAX);
    description.keys = settings_keys(&description.key_count);
    if (daemon_start(&description, argument_count, arguments, &arena, &daemon, &exit_code)) {
        logger_init(&settings->log);
        if (catalog_import(settings, &import, &error) == STATUS_OK) {
            (void)printf("%llu records are in etcd, as generation %llu.  Start the masters.\n",
                         (unsigned long long)import.records, (unsigned long long)import.generation);
        } else {
            exit_code = daemon_fail(&daemon, &error);
        }
    }
    arena_deinit(&arena);
    return exit_code;
}

/*
 * A tablet server of its own in a temporary folder, its master (server_script.h) and clients
 * (server_client.h).
 */
#ifndef TESTS_SUPPORT_SERVER_FIXTURE_H
#define TESTS_SUPPORT_SERVER_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/endian.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/file.h"
#include "common/io/transport/transport.h"
#include "tabletserver/serve/server.h"
#include "tests/support/server_client.h"
#include "tests/support/server_script.h"
#include "tests/support/test_folder.h"

struct fixture {
    char folder[256];
    struct server_settings settings;
    struct server *server;
    struct script script;
};

static void fixture_open(struct fixture *fixture)
{
    struct error error = {.status = STATUS_OK};
    enum status status = server_open(&fixture->settings, &fixture->server, &error);
    cr_assert_eq(status, STATUS_OK, "%s", error.text);
}

static void fixture_close(struct fixture *fixture)
{
    server_close(fixture->server);
    fixture->server = NULL;
}

/* The folder, the settings and the master, but no server yet. */
static void fixture_prepare(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    test_folder_make(fixture->folder, sizeof fixture->folder, "server");
    logger_init(&(struct logger_settings){.level = LOG_LEVEL_ERROR});
    server_settings_default(&fixture->settings);
    fixture->settings.address = "tcp://127.0.0.1:0";
    fixture->settings.http_address = "";
    fixture->settings.masters = fixture->script.address;
    fixture->settings.folder = fixture->folder;
    fixture->settings.worker_threads = 3;
    fixture->settings.request_bytes_max = 512 << 20;
    fixture->settings.answer_bytes_max = 512 << 20;
    fixture->settings.slow_operation_us = 0;
    fixture->settings.store.memory_limit_bytes = 64 << 20;
    fixture->settings.store.memtable_limit_bytes = 16 << 20;
    fixture->settings.store.log_limit_bytes = 64 << 20;
    fixture->settings.store.log_segment_bytes = 1 << 20;
    fixture->settings.store.map_size_bytes = UINT64_C(1) << 30;
    fixture->settings.store.ballast_bytes = 0;
    fixture->settings.store.scrub_bytes_per_second = 0;
    script_start(&fixture->script);
}

__attribute__((unused)) static void fixture_init(struct fixture *fixture)
{
    fixture_prepare(fixture);
    fixture_open(fixture);
}

static void fixture_deinit(struct fixture *fixture)
{
    char command[512];
    if (fixture->server != NULL) {
        fixture_close(fixture);
    }
    transport_listener_close(fixture->script.listener, 0);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", fixture->folder);
    cr_assert_eq(system(command), 0);
}

#endif /* TESTS_SUPPORT_SERVER_FIXTURE_H */

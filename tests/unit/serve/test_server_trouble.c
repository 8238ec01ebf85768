/* A tablet server that starts, stops, and runs out of memory or disk: nothing acknowledged is lost. */
#include "tabletserver/serve/status_report.h"
#include "tests/support/server_steps.h"

/* --- starting and stopping ---------------------------------------------------------------------- */

Test(server, a_restart_finds_everything_even_without_a_master)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    uint64_t number = fixture.server->number;
    uint64_t incarnation = fixture.server->incarnation;
    struct operation increment = client_increment(client, "r", "n", 7);
    CLIENT_EXPECT_OK(client, increment);
    fixture_close(&fixture);

    pthread_mutex_lock(&fixture.script.lock);
    fixture.script.silent = true;
    pthread_mutex_unlock(&fixture.script.lock);
    fixture_open(&fixture);
    cr_assert_eq(fixture.server->number, number);
    cr_assert_gt(fixture.server->incarnation, incarnation);
    struct client *next = client_start(fixture.server->address, 5);
    CLIENT_EXPECT_ROW(next, "r", "r/f:n=1;");
    struct operation_result result = client_run(next, &increment);
    cr_assert_eq(result.status, STATUS_OK);
    cr_assert_str_eq(rows_text(next, result.rows), "r/f:n=1;", "the request is still known");
    client_stop(client);
    client_stop(next);
    fixture_deinit(&fixture);
}

Test(server, stopping_in_the_midst_of_work_keeps_what_was_acknowledged, .timeout = 300)
{
    enum {
        REQUESTS = 300,
        EACH = 20
    };
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    uint64_t sent[REQUESTS];
    struct operation *operations = arena_allocate_array(&client->arena, REQUESTS * EACH,
                                                        sizeof *operations);
    for (uint64_t i = 0; i < REQUESTS * EACH; i++) {
        operations[i] = i % 2 == 0 ? client_increment(client, "r", "n", i + 1)
                                   : add_one(client, "r", i + 1);
    }
    for (int i = 0; i < REQUESTS; i++) {
        sent[i] = client_send_operations(client, operations + (ptrdiff_t)i * EACH, EACH, 0);
    }
    WAIT_FOR(client_has_ended(client, sent[2]));
    fixture_close(&fixture);

    /* Whatever was not acknowledged is asked for again: everything is there, once. */
    fixture_open(&fixture);
    struct client *next = client_start(fixture.server->address, 5);
    for (int i = 0; i < REQUESTS; i++) {
        uint64_t request = client_send_operations(next, operations + (ptrdiff_t)i * EACH, EACH, 0);
        struct operation_result *results = client_results(next, request, EACH);
        cr_assert_not_null(results);
        for (int j = 0; j < EACH; j++) {
            cr_assert_eq(results[j].status, STATUS_OK);
        }
    }
    CLIENT_EXPECT_ROW(next, "r", "r/f:n=3000;r/sum:n=3000;");
    client_stop(client);
    client_stop(next);
    fixture_deinit(&fixture);
}

Test(server, many_tablets_are_created_each_once)
{
    static char names[FIXTURE_TABLETS_MAX + 1][8];
    fixture_init(&fixture);
    for (int i = 0; i < 40; i++) {
        (void)snprintf(names[i], sizeof names[i], "%s%02d", i == 0 ? "" : "k", i);
    }
    names[0][0] = '\0';
    names[40][0] = '\0';
    for (int i = 0; i < 40; i++) {
        script_assign(&fixture.script, 100 + (uint64_t)i, names[i], names[i + 1], false);
    }
    WAIT_FOR(served_map_count(fixture.server->served) == 40);
    struct client *client = client_start(fixture.server->address, 5);
    for (uint64_t i = 0; i < 40; i++) {
        char row[16];
        (void)snprintf(row, sizeof row, "k%02u", (unsigned)i);
        CLIENT_EXPECT_OK(client, client_put(client, row, "a", "x", i + 1));
    }
    client_stop(client);
    fixture_deinit(&fixture);
}

/* Of test_write_drop.c the same, step by step: here the table goes in the midst of it every other time. */
Test(server, a_table_is_deleted_while_one_row_of_it_is_counted_in)
{
    enum {
        COUNT = 2000
    };
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    struct operation *operations = arena_allocate_array(&client->arena, COUNT, sizeof *operations);
    for (uint64_t i = 0; i < COUNT; i++) {
        operations[i] = client_increment(client, "r", "n", i + 1);
    }
    uint64_t request = client_send_operations(client, operations, COUNT, 0);
    pthread_mutex_lock(&fixture.script.lock);
    fixture.script.table_dropped = true;
    remove_locked(&fixture.script, 10);
    fixture.script.version += 1;
    pthread_mutex_unlock(&fixture.script.lock);
    const struct operation_result *results = client_results(client, request, COUNT);
    cr_assert_not_null(results);
    for (int i = 0; i < COUNT; i++) {
        bool told = results[i].status == STATUS_OK || results[i].status == STATUS_NOT_OWNER ||
                    results[i].status == STATUS_UNAVAILABLE; /* it is not known */
        cr_assert(told, "%u", results[i].status);
    }
    client_stop(client);
    fixture_deinit(&fixture);
}

/* --- a master that refuses ---------------------------------------------------------------------- */

static bool has_said(int log_file, const char *event, const char *cause)
{
    static char text[65536];
    ssize_t size_bytes = pread(log_file, text, sizeof text - 1, 0);
    text[size_bytes > 0 ? size_bytes : 0] = '\0';
    const char *line = strstr(text, event);
    return line != NULL && strstr(line, cause) != NULL;
}

Test(server, a_master_that_refuses_is_named_in_the_log_and_asked_again)
{
    char path[256];
    fixture_prepare(&fixture);
    test_path_template(path, sizeof path, "refused");
    int log_file = mkstemp(path);
    cr_assert_geq(log_file, 0);
    (void)unlink(path);
    int console = dup(STDERR_FILENO);
    (void)dup2(log_file, STDERR_FILENO);
    logger_init(&(struct logger_settings){.level = LOG_LEVEL_WARN});
    fixture.script.silent = true; /* every sync is answered UNAVAILABLE: not now */
    fixture_open(&fixture);
    WAIT_FOR(has_said(log_file, "sync_refused", "not now"));
    cr_assert(has_said(log_file, "sync_refused", fixture.script.address));

    pthread_mutex_lock(&fixture.script.lock);
    fixture.script.silent = false;
    pthread_mutex_unlock(&fixture.script.lock);
    script_assign(&fixture.script, 10, "", "", false);
    SCRIPT_WAIT_FOR(&fixture.script, 10);
    (void)dup2(console, STDERR_FILENO);
    (void)close(console);
    (void)close(log_file);
    fixture_deinit(&fixture);
}

/* --- memory that fails -------------------------------------------------------------------------- */

/* What came of operations whose answer may be lost: true if all are done. */
static bool are_done(struct client *client, uint64_t request, size_t count)
{
    struct bytes messages = buffer_bytes(&client_answer(client, request)->messages);
    struct bytes message = BYTES_EMPTY;
    struct bytes body = BYTES_EMPTY;
    size_t done = 0;

    if (client_answer(client, request)->messages.failed) {
        return false; /* here too memory fails */
    }
    while (next_message(&messages, &message)) {
        struct operations_response response;
        struct response_head head = message_head(message, &body);
        if (head.status != STATUS_OK) {
            cr_assert_eq(head.status, STATUS_UNAVAILABLE, "%u %.*s", head.status,
                         (int)head.text.size_bytes, (const char *)head.text.data);
            return false;
        }
        cr_assert_eq(operations_response_decode(body, &client->arena, &response, NULL), STATUS_OK);
        for (size_t i = 0; i < response.result_count; i++) {
            uint32_t status = response.results[i].status;
            cr_assert(status == STATUS_OK || status == STATUS_UNAVAILABLE, "%zu %u %.*s", i, status,
                      (int)response.results[i].text.size_bytes,
                      (const char *)response.results[i].text.data);
            done += status == STATUS_OK;
        }
    }
    return done == count;
}

/* Each allocation of the first so many after a request was encoded fails once, in whatever thread
 * makes it.  The client asks again until it has an answer: all of it is applied once. */
Test(server, whatever_allocation_fails_all_is_applied_once, .timeout = 300)
{
    enum {
        ROUNDS = 150,
        EACH = 4
    };
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    uint64_t sequence = 0;

    for (uint64_t round = 0; round < ROUNDS; round++) {
        struct operation operations[EACH];
        operations[0] = add_one(client, "r", ++sequence);
        operations[1] = client_increment(client, "r", "n", ++sequence);
        operations[2] = check_and_put(client, "s", "yes", "no", ++sequence);
        operations[3] = client_get(client, "r");
        bool done = false;
        for (int attempt = 0; !done; attempt++) {
            struct buffer message = BUFFER_INIT;
            struct operations_request request = {
                .client = client->number, .operations = operations, .operation_count = EACH};
            request_head_encode(&(struct request_head){.deadline_ms = 0}, &message);
            operations_request_encode(&request, &message);
            uint64_t number = client_prepare(client);
            if (attempt == 0) {
                memory_fail_arm(round, 0);
            }
            enum status status = transport_connection_send(client->connection, number,
                                                           METHOD_OPERATIONS, &message);
            if (status == STATUS_OK) {
                WAIT_FOR(client_has_ended(client, number));
            } else {
                buffer_deinit(&message);
            }
            memory_fail_disarm();
            done = status == STATUS_OK && client_answer(client, number)->ended &&
                   are_done(client, number, EACH);
            if (client->closed) {
                struct client *next = client_start(fixture.server->address, 5);
                struct arena operations_of_the_old = client->arena;
                client->arena = next->arena;
                next->arena = operations_of_the_old;
                client_stop(client);
                client = next;
            }
        }
    }
    CLIENT_EXPECT_ROW(client, "r", "r/f:n=150;r/sum:n=150;");
    client_stop(client);
    fixture_deinit(&fixture);
}

/* --- a disk that fails -------------------------------------------------------------------------- */

#ifndef EDUBBA_TSAN /* needs Criterion's way to choose a test */

static FILE *open_in(const char *folder, const char *name, const char *mode)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, mode);
}

/* Started by the test below in a process of its own: syncs fail from some moment on, writes go on.
 * The file "acknowledged" gets a byte for each write that was. */
Test(server, part_of_the_next_one)
{
    const char *folder = getenv("EDUBBA_FAULT_FOLDER");
    if (folder == NULL) {
        return;
    }
    FILE *acknowledged = open_in(folder, "acknowledged", "w");
    cr_assert_not_null(acknowledged);
    (void)setenv("TMPDIR", folder, 1);
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    for (uint64_t i = 1; i <= 1000; i++) {
        struct operation operation = client_increment(client, "r", "n", i);
        if (i == 50) {
            file_fault_arm(&(struct file_fault){
                .operation = FILE_OPERATION_SYNC, .error_number = EIO, .for_ever = true});
        }
        struct operation_result result = client_run(client, &operation);
        if (result.status == STATUS_OK) {
            (void)fputc('.', acknowledged);
            (void)fflush(acknowledged);
        }
    }
    _exit(0);
}

static void run_that_test_in(const char *folder)
{
    char setting[512];
    (void)snprintf(setting, sizeof setting, "EDUBBA_FAULT_FOLDER=%s", folder);
    char *environment[] = {setting, NULL};
    pid_t child = fork();
    if (child == 0) {
        (void)freopen("/dev/null", "w", stderr);
        (void)freopen("/dev/null", "w", stdout);
        (void)execle("/proc/self/exe", "unit_server", "--filter=server/part_of_the_next_one",
                     (char *)NULL, environment);
        _exit(127);
    }
    cr_assert_eq(waitpid(child, NULL, 0), child);
}

Test(server, a_failing_sync_ends_the_process_and_acknowledges_nothing, .timeout = 300)
{
    char folder[256];
    struct arena arena;
    char **names = NULL;
    size_t count = 0;

    test_folder_make(folder, sizeof folder, "fault");
    run_that_test_in(folder);
    FILE *file = open_in(folder, "acknowledged", "r");
    cr_assert_not_null(file);
    uint64_t acknowledged = 0;
    while (fgetc(file) != EOF) {
        acknowledged++;
    }
    (void)fclose(file);
    cr_assert_eq(acknowledged, 49);

    /* The next process finds what was acknowledged. */
    arena_init(&arena, 1024, SIZE_MAX);
    cr_assert_eq(file_list_folder(folder, &arena, &names, &count, NULL), STATUS_OK);
    fixture_prepare(&fixture);
    char path[512];
    for (size_t i = 0; i < count; i++) {
        if (strncmp(names[i], "edubba-server", strlen("edubba-server")) == 0) {
            (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        }
    }
    fixture.settings.folder = path;
    fixture_open(&fixture);
    struct client *client = client_start(fixture.server->address, 6);
    struct operation increment = client_increment(client, "r", "n", 1);
    struct operation_result result = client_run(client, &increment);
    cr_assert_eq(result.status, STATUS_OK);
    const char *text = rows_text(client, result.rows);
    uint64_t found = strtoull(text + strlen("r/f:n="), NULL, 10) - 1;
    cr_assert(found == 49 || found == 50, "%s", text); /* the last one may have got through */
    client_stop(client);
    arena_deinit(&arena);
    fixture_deinit(&fixture);
    (void)snprintf(path, sizeof path, "rm -rf '%s'", folder);
    cr_assert_eq(system(path), 0);
}

#endif

/* --- descriptors that are lacking --------------------------------------------------------------- */

/* Until the log needs another segment and has none. */
static struct operation_result write_until_refused(struct client *client, uint64_t *sequence)
{
    static char value[100000];
    struct operation_result result = {.status = STATUS_OK};
    memset(value, 'v', sizeof value - 1);
    for (int i = 0; i < 100 && result.status == STATUS_OK; i++) {
        struct operation put = client_put(client, "r", "c", value, ++*sequence);
        result = client_run(client, &put);
    }
    return result;
}

static void expect_health(unsigned status, const char *text)
{
    struct http_response response = {.status = 200};
    status_report_on_health(fixture.server, "/health", &response);
    buffer_append_u8(&response.body, '\0');
    cr_assert_eq(response.status, status, "%s", (const char *)response.body.data);
    cr_assert_not_null(strstr((const char *)response.body.data, text), "%s",
                       (const char *)response.body.data);
    buffer_deinit(&response.body);
}

static bool lacks_descriptors(void)
{
    struct store_statistics statistics;
    store_loop_statistics(fixture.server->loops[0], &statistics);
    return statistics.lacks_descriptors;
}

/* Nobody is sent to look for room on a disk that has it. */
Test(server, writes_that_wait_for_descriptors_are_told_so)
{
    char text[512];
    uint64_t sequence = 0;
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    file_fault_arm(&(struct file_fault){
        .operation = FILE_OPERATION_ALLOCATE, .error_number = EMFILE, .for_ever = true});
    struct operation_result result = write_until_refused(client, &sequence);
    cr_assert_eq(result.status, STATUS_UNAVAILABLE, "%u", result.status);
    (void)snprintf(text, sizeof text, "%.*s", (int)result.text.size_bytes,
                   (const char *)result.text.data);
    cr_assert_not_null(strstr(text, "LimitNOFILE"), "%s", text);
    WAIT_FOR(lacks_descriptors());
    expect_health(503, "LimitNOFILE");
    struct operation put = client_put(client, "r", "c", "v", ++sequence);
    file_fault_disarm();
    WAIT_FOR(client_run(client, &put).status == STATUS_OK);
    WAIT_FOR(!lacks_descriptors());
    expect_health(200, "ok");
    client_stop(client);
    fixture_deinit(&fixture);
}

/* The others serve; and everybody is told. */
Test(server, a_store_that_cannot_be_opened_is_told_of)
{
    static char good[300];
    static char bad[300];
    static const char *folders[] = {good, bad};
    char file[320];
    fixture_prepare(&fixture);
    (void)snprintf(good, sizeof good, "%s/good", fixture.folder);
    (void)snprintf(bad, sizeof bad, "%s/bad", fixture.folder);
    (void)snprintf(file, sizeof file, "%s/STORE", bad);
    cr_assert_eq(file_make_folders(bad, NULL), STATUS_OK);
    cr_assert_eq(file_write_atomic(file, "nonsense", 8, NULL), STATUS_OK);
    fixture.settings.stores = (struct config_text_list){.items = folders, .count = 2};
    fixture_open(&fixture);
    script_assign(&fixture.script, 100, "", "", false);
    SCRIPT_WAIT_FOR(&fixture.script, 100);
    cr_assert_eq(fixture.script.unopened_count, 1);

    struct http_response response = {.status = 200};
    status_report_on_health(fixture.server, "/health", &response);
    buffer_append_u8(&response.body, '\0');
    cr_assert_eq(response.status, 503);
    cr_assert_not_null(strstr((const char *)response.body.data, "/bad: not opened: "));
    cr_assert_not_null(strstr((const char *)response.body.data, "not the identity of a store"));
    cr_assert_null(strstr((const char *)response.body.data, "/good"));
    buffer_reset(&response.body);
    status_report_on_status(fixture.server, "/status", &response);
    buffer_append_u8(&response.body, '\0');
    cr_assert_not_null(
        strstr((const char *)response.body.data, "\"unopened_stores\":[{\"folder\":"));
    buffer_deinit(&response.body);
    fixture_deinit(&fixture);
}

/* --- exactly-once records -------------------------------------------------------------------- */

/* A client that waits for everything, as the tokens of a gateway do: who is told to come back is told why, and what the
 * limits are, which no setting changes. */
Test(server, where_no_more_requests_can_be_remembered_the_limits_are_told)
{
    enum {
        ROOM = 3
    };
    struct store_settings usual;
    store_settings_default(&usual);
    cr_assert_eq(usual.dedupe.clients_max, 100000);
    cr_assert_eq(usual.dedupe.records_max, 1000000);
    fixture_prepare(&fixture);
    fixture.settings.store.dedupe.records_max = ROOM;
    fixture_open(&fixture);
    script_assign(&fixture.script, 10, "", "", false);
    SCRIPT_WAIT_FOR(&fixture.script, 10);
    struct client *client = client_start(fixture.server->address, 5);
    for (uint64_t i = 1; i <= ROOM; i++) {
        struct operation put = client_put(client, "r", "a", "v", i);
        cr_assert_eq(client_run(client, &put).status, STATUS_OK);
    }
    struct operation more = client_put(client, "r", "b", "v", ROOM + 1);
    struct operation_result result = client_run(client, &more);
    cr_assert_eq(result.status, STATUS_UNAVAILABLE);
    const char *text = arena_copy_text(&client->arena, result.text);
    cr_assert_not_null(strstr(text, "exactly-once records"), "%s", text);
    cr_assert_not_null(strstr(text, "100 000 clients, 1 000 000 requests"), "%s", text);
    cr_assert_not_null(strstr(text, "tokens"), "%s", text);

    struct operation again = client_put(client, "r", "a", "other",
                                        ROOM); /* known: answered as it was */
    cr_assert_eq(client_run(client, &again).status, STATUS_OK);
    CLIENT_EXPECT_ROW(client, "r", "r/f:a=v;");
    client_stop(client);
    fixture_deinit(&fixture);
}

/*
 * The tablet server as its clients and its master see it: all of it but the daemon's main().
 */
#include "tests/support/server_fixture.h"

#include <errno.h>
#include <sys/wait.h>

static struct fixture fixture;

static void start_with_one_tablet(void)
{
    fixture_init(&fixture);
    script_assign(&fixture.script, 10, "", "", false);
    SCRIPT_WAIT_FOR(&fixture.script, 10);
}

/* --- operations --------------------------------------------------------------------------------- */

Test(server, what_is_written_is_read_back)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 0);

    CLIENT_EXPECT_ROW(client, "r", "");
    CLIENT_EXPECT_OK(client, client_put(client, "r", "a", "one", 1));
    CLIENT_EXPECT_OK(client, client_put(client, "r", "b", "two", 2));
    CLIENT_EXPECT_OK(client, client_put(client, "r", "a", "three", 3));
    CLIENT_EXPECT_ROW(client, "r", "r/f:a=three;r/f:b=two;");
    client_stop(client);
    fixture_deinit(&fixture);
}

Test(server, one_batch_holds_all_kinds_and_each_is_answered_once)
{
    enum {
        COUNT = 1000
    };
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    struct operation *operations = arena_allocate_array(&client->arena, COUNT, sizeof *operations);
    char row[32];

    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(row, sizeof row, "row%d", i / 4);
        uint64_t sequence = (uint64_t)i + 1;
        switch (i % 4) {
        case 0:
            operations[i] = client_put(client, row, "a", "x", sequence);
            break;
        case 1:
            operations[i] = client_increment(client, row, "n", sequence);
            break;
        case 2:
            operations[i] = client_get(client, row);
            break;
        default:
            operations[i] = client_increment(client, row, "n", sequence);
            break;
        }
    }
    uint64_t request = client_send_operations(client, operations, COUNT, 60000);
    struct operation_result *results = client_results(client, request, COUNT);
    for (int i = 0; i < COUNT; i++) {
        cr_assert_eq(results[i].status, STATUS_OK, "%d: %.*s", i, (int)results[i].text.size_bytes,
                     (const char *)results[i].text.data);
        if (i % 4 == 3) {
            (void)snprintf(row, sizeof row, "row%d/f:n=2;", i / 4);
            cr_assert_str_eq(rows_text(client, results[i].rows), row);
        }
    }
    CLIENT_EXPECT_ROW(client, "row249", "row249/f:a=x;row249/f:n=2;");
    client_stop(client);
    fixture_deinit(&fixture);
}

static struct operation check_and_put(struct client *client,
                                      const char *row,
                                      const char *when_matched,
                                      const char *otherwise,
                                      uint64_t sequence)
{
    struct operation yes = client_put(client, row, "result", when_matched, sequence);
    struct operation no = client_put(client, row, "result", otherwise, sequence);
    yes.kind = OPERATION_CHECK_AND_MUTATE;
    yes.otherwise = no.mutations;
    yes.otherwise_count = 1;
    return yes;
}

Test(server, check_and_mutate_takes_the_right_branch)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);

    struct operation first = check_and_put(client, "r", "was there", "was not", 1);
    struct operation_result result = client_run(client, &first);
    cr_assert_eq(result.status, STATUS_OK);
    cr_assert_not(result.matched);
    CLIENT_EXPECT_ROW(client, "r", "r/f:result=was not;");
    struct operation second = check_and_put(client, "r", "was there", "was not", 2);
    result = client_run(client, &second);
    cr_assert(result.matched);
    CLIENT_EXPECT_ROW(client, "r", "r/f:result=was there;");

    /* The same request again: its first answer, though the row would match now. */
    result = client_run(client, &first);
    cr_assert_eq(result.status, STATUS_OK);
    cr_assert_not(result.matched);
    CLIENT_EXPECT_ROW(client, "r", "r/f:result=was there;");
    client_stop(client);
    fixture_deinit(&fixture);
}

Test(server, check_and_mutate_looks_at_both_branches)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 0);
    struct operation operation = check_and_put(client, "r", "yes", "no", 1);
    struct mutation bad = operation.mutations[0];

    bad.timestamp_us = -7;
    operation.mutations = &bad; /* not taken: the row is empty */
    struct operation_result result = client_run(client, &operation);
    cr_assert_eq(result.status, STATUS_INVALID_ARGUMENT);
    cr_assert(strstr(arena_copy_text(&client->arena, result.text),
                     "Error in field 'true mutation list' : Error in element #0") != NULL,
              "%.*s", (int)result.text.size_bytes, (const char *)result.text.data);

    operation.mutation_count = 0;
    operation.otherwise_count = 0;
    cr_assert_eq(client_run(client, &operation).status, STATUS_INVALID_ARGUMENT);
    CLIENT_EXPECT_ROW(client, "r", "");
    client_stop(client);
    fixture_deinit(&fixture);
}

Test(server, a_bad_operation_fails_alone)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    struct operation operations[] = {
        client_put(client, "r", "a", "x", 1),
        client_put(client, "", "a", "x", 2),
        client_put(client, "r", "b", "y", 3),
        client_increment(client, "r", "a", 4),
    };
    uint64_t request = client_send_operations(client, operations, 4, 0);
    struct operation_result *results = client_results(client, request, 4);

    cr_assert_eq(results[0].status, STATUS_OK);
    cr_assert_eq(results[1].status, STATUS_INVALID_ARGUMENT);
    cr_assert_eq(results[2].status, STATUS_OK);
    cr_assert_eq(results[3].status, STATUS_INVALID_ARGUMENT); /* "x" is no number */
    CLIENT_EXPECT_ROW(client, "r", "r/f:a=x;r/f:b=y;");
    client_stop(client);
    fixture_deinit(&fixture);
}

/* --- exactly once ------------------------------------------------------------------------------- */

Test(server, a_request_that_comes_again_and_again_is_applied_once)
{
    enum {
        ATTEMPTS = 50,
        REQUESTS = 20
    };
    start_with_one_tablet();
    struct client *clients[3];
    uint64_t sent[3][ATTEMPTS];
    for (int i = 0; i < 3; i++) {
        clients[i] = client_start(fixture.server->address, 99); /* one client, three connections */
    }
    struct operation operations[REQUESTS];
    for (int i = 0; i < REQUESTS; i++) {
        operations[i] = client_increment(clients[0], i % 2 == 0 ? "even" : "odd", "n",
                                         (uint64_t)i + 1);
    }
    /* Some meet the first attempt while it is evaluated, some while it waits for its sync, some
     * when it is done, and within one round. */
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        for (int i = 0; i < 3; i++) {
            sent[i][attempt] = client_send_operations(clients[i], operations, REQUESTS, 0);
        }
    }
    for (int i = 0; i < 3; i++) {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            struct operation_result *results = client_results(clients[i], sent[i][attempt],
                                                              REQUESTS);
            for (int j = 0; j < REQUESTS; j++) {
                char expected[64];
                (void)snprintf(expected, sizeof expected, "%s/f:n=%d;", j % 2 == 0 ? "even" : "odd",
                               j / 2 + 1);
                cr_assert_eq(results[j].status, STATUS_OK);
                cr_assert_str_eq(rows_text(clients[i], results[j].rows), expected);
            }
        }
    }
    CLIENT_EXPECT_ROW(clients[0], "even", "even/f:n=10;");
    CLIENT_EXPECT_ROW(clients[0], "odd", "odd/f:n=10;");
    for (int i = 0; i < 3; i++) {
        client_stop(clients[i]);
    }
    fixture_deinit(&fixture);
}

static struct operation add_one(struct client *client, const char *row, uint64_t sequence)
{
    struct operation operation = client_put(client, row, "n", "", sequence);
    struct mutation *mutation = (struct mutation *)(uintptr_t)operation.mutations;
    mutation->kind = MUTATION_ADD_TO_CELL;
    mutation->family = bytes_of_text("sum");
    mutation->timestamp_us = 0;
    mutation->input = INPUT_INT64;
    mutation->integer = 1;
    return operation;
}

Test(server, plain_writes_that_come_twice_in_one_round_are_applied_once)
{
    enum {
        REQUESTS = 200
    };
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 99);
    struct operation operations[2 * REQUESTS];

    /* Even within one message, which no client of ours does. */
    for (int i = 0; i < 2 * REQUESTS; i++) {
        operations[i] = add_one(client, "r", (uint64_t)(i % REQUESTS) + 1);
    }
    uint64_t first = client_send_operations(client, operations, 2 * REQUESTS, 0);
    uint64_t second = client_send_operations(client, operations, 2 * REQUESTS, 0);
    (void)client_results(client, first, 2 * REQUESTS);
    (void)client_results(client, second, 2 * REQUESTS);
    CLIENT_EXPECT_ROW(client, "r", "r/sum:n=200;");
    client_stop(client);
    fixture_deinit(&fixture);
}

Test(server, two_hundred_increments_of_one_row_are_two_hundred)
{
    start_with_one_tablet();
    struct client *clients[8];
    uint64_t sent[200];
    bool seen[201] = {false};

    for (int i = 0; i < 8; i++) {
        clients[i] = client_start(fixture.server->address, 100 + (uint64_t)i);
    }
    for (int i = 0; i < 200; i++) {
        struct client *client = clients[i % 8];
        struct operation operation = client_increment(client, "r", "n", (uint64_t)i + 1);
        sent[i] = client_send_operations(client, &operation, 1, 0);
    }
    for (int i = 0; i < 200; i++) {
        struct operation_result *result = client_results(clients[i % 8], sent[i], 1);
        cr_assert_eq(result->status, STATUS_OK);
        const char *text = rows_text(clients[i % 8], result->rows);
        int value = atoi(text + strlen("r/f:n="));
        cr_assert(value >= 1 && value <= 200 && !seen[value], "%s", text);
        seen[value] = true;
    }
    CLIENT_EXPECT_ROW(clients[0], "r", "r/f:n=200;");
    for (int i = 0; i < 8; i++) {
        client_stop(clients[i]);
    }
    fixture_deinit(&fixture);
}

/* --- where things are --------------------------------------------------------------------------- */

Test(server, says_who_holds_what_it_does_not)
{
    fixture_init(&fixture);
    script_assign(&fixture.script, 10, "", "m", false);
    script_assign(&fixture.script, 11, "m", "", true);
    SCRIPT_WAIT_FOR(&fixture.script, 10);
    struct client *client = client_start(fixture.server->address, 5);
    struct operation operations[] = {
        client_put(client, "a", "x", "y", 1), client_put(client, "z", "x", "y", 2),
        client_get(client, "z"), client_increment(client, "m", "n", 3), client_get(client, "l")};
    uint64_t request = client_send_operations(client, operations, 5, 0);
    struct operation_result *results = client_results(client, request, 5);

    cr_assert_eq(results[0].status, STATUS_OK);
    cr_assert_eq(results[4].status, STATUS_OK);
    for (int i = 1; i < 4; i++) {
        cr_assert_eq(results[i].status, STATUS_NOT_OWNER);
        cr_assert(results[i].has_location);
        cr_assert_eq(results[i].location.tablet, 11);
        cr_assert(bytes_equal(results[i].location.address, bytes_of_text("tcp://127.0.0.1:1")));
    }
    client_stop(client);
    fixture_deinit(&fixture);
}

Test(server, a_table_that_is_deleted_is_gone)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    CLIENT_EXPECT_OK(client, client_put(client, "r", "a", "x", 1));
    script_remove(&fixture.script, 10);
    WAIT_FOR(script_sees(&fixture.script, NULL, 0));
    struct operation get = client_get(client, "r");
    cr_assert_eq(client_run(client, &get).status, STATUS_NOT_OWNER);
    client_stop(client);
    fixture_deinit(&fixture);
}

Test(server, a_new_family_is_known_soon_and_the_old_rows_stay)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    struct operation late = client_put(client, "r", "a", "x", 1);
    struct mutation mutation = late.mutations[0];
    mutation.family = bytes_of_text("late");
    late.mutations = &mutation;
    late.identity.sequence = 0;

    CLIENT_EXPECT_OK(client, client_put(client, "r", "a", "x", 1));
    cr_assert_eq(client_run(client, &late).status, STATUS_NOT_FOUND);
    pthread_mutex_lock(&fixture.script.lock);
    fixture.script.table.version = 2;
    fixture.script.table.family_count = 3;
    fixture.script.version += 1;
    pthread_mutex_unlock(&fixture.script.lock);
    for (uint64_t i = 2; true; i++) {
        late.identity.sequence = i;
        if (client_run(client, &late).status == STATUS_OK) {
            break;
        }
        cr_assert_lt(i, 5000);
        clock_sleep_us(1000);
    }
    CLIENT_EXPECT_ROW(client, "r", "r/f:a=x;r/late:a=x;");

    /* Another catalog, with lower versions: what it says holds all the same. */
    pthread_mutex_lock(&fixture.script.lock);
    fixture.script.generation += 1;
    fixture.script.table.version = 1;
    fixture.script.table.family_count = 2;
    pthread_mutex_unlock(&fixture.script.lock);
    WAIT_FOR((late.identity.sequence++, client_run(client, &late).status == STATUS_NOT_FOUND));
    client_stop(client);
    fixture_deinit(&fixture);
}

/* --- range deletes and splits ------------------------------------------------------------------- */

static struct operation drop_range(const char *row, const char *start, const char *end, uint64_t n)
{
    return (struct operation){.kind = OPERATION_DROP_RANGE,
                              .table = FIXTURE_TABLE,
                              .row = bytes_of_text(row),
                              .identity = {n, clock_wall_us()},
                              .range = {bytes_of_text(start), bytes_of_text(end)}};
}

Test(server, a_range_delete_stands_between_what_came_before_and_after)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    struct operation operations[300];
    size_t count = 0;

    for (uint64_t i = 0; i < 98; i++) {
        operations[count] = client_increment(client, i % 2 == 0 ? "a" : "x", "n", count + 1);
        count++;
    }
    operations[count] = drop_range("", "a", "m", count + 1);
    count++;
    operations[count] = drop_range("", "y", "", count + 1);
    count++;
    for (uint64_t i = 0; i < 100; i++) {
        operations[count] = client_increment(client, i % 2 == 0 ? "a" : "x", "n", count + 1);
        count++;
    }
    uint64_t request = client_send_operations(client, operations, count, 0);
    struct operation_result *results = client_results(client, request, count);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(results[i].status, STATUS_OK, "%zu %u", i, results[i].status);
    }
    CLIENT_EXPECT_ROW(client, "a", "a/f:n=50;");
    CLIENT_EXPECT_ROW(client, "x", "x/f:n=99;");

    /* Once more the same range delete: it is known, and deletes nothing new. */
    cr_assert_eq(client_run(client, &operations[98]).status, STATUS_OK);
    CLIENT_EXPECT_ROW(client, "a", "a/f:n=50;");
    client_stop(client);
    fixture_deinit(&fixture);
}

struct load {
    pthread_t thread;
    uint64_t number;
    atomic_bool *stop;
    uint64_t applied;
};

/* Increments rows of both halves, one request after the other, each until it is through. */
static void *run_load(void *argument)
{
    struct load *load = argument;
    struct client *client = client_start(fixture.server->address, load->number);
    uint64_t sequence = 0;

    while (!atomic_load(load->stop)) {
        struct operation operations[16];
        for (int i = 0; i < 16; i++) {
            operations[i] = client_increment(client, i % 2 == 0 ? "a" : "z", "n", ++sequence);
        }
        size_t left = 16;
        while (left > 0) {
            uint64_t request = client_send_operations(client, operations, left, 0);
            struct operation_result *results = client_results(client, request, left);
            size_t again = 0;
            for (size_t i = 0; i < left; i++) {
                uint32_t status = results[i].status;
                cr_assert(status == STATUS_OK || status == STATUS_NOT_OWNER, "%u", status);
                load->applied += status == STATUS_OK;
                if (status != STATUS_OK) {
                    operations[again++] = operations[i];
                }
            }
            left = again;
        }
    }
    client_stop(client);
    return NULL;
}

Test(server, splits_under_load_lose_nothing_and_double_nothing, .timeout = 120)
{
    start_with_one_tablet();
    atomic_bool stop = false;
    struct load loads[3];
    uint64_t applied = 0;

    for (uint64_t i = 0; i < 3; i++) {
        loads[i] = (struct load){.number = 50 + i, .stop = &stop};
        cr_assert_eq(pthread_create(&loads[i].thread, NULL, run_load, &loads[i]), 0);
    }
    clock_sleep_us(50000);
    script_split(&fixture.script, 10, "m", 11, 12);
    SCRIPT_WAIT_FOR(&fixture.script, 11, 12);
    script_split(&fixture.script, 12, "t", 13, 14);
    SCRIPT_WAIT_FOR(&fixture.script, 11, 13, 14);
    clock_sleep_us(50000);
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++) {
        (void)pthread_join(loads[i].thread, NULL);
        applied += loads[i].applied;
    }
    struct client *client = client_start(fixture.server->address, 0);
    char expected[64];
    (void)snprintf(expected, sizeof expected, "a/f:n=%llu;", (unsigned long long)applied / 2);
    CLIENT_EXPECT_ROW(client, "a", expected);
    expected[0] = 'z';
    CLIENT_EXPECT_ROW(client, "z", expected);
    client_stop(client);
    fixture_deinit(&fixture);
}

Test(server, a_retry_after_a_split_is_still_a_retry)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    struct operation operations[] = {
        client_increment(client, "a", "n", 1), client_increment(client, "z", "n", 2),
        check_and_put(client, "z", "matched", "not", 3), drop_range("", "b", "c", 4)};
    (void)client_results(client, client_send_operations(client, operations, 4, 0), 4);
    CLIENT_EXPECT_OK(client, client_put(client, "bb", "later", "x", 5));
    script_split(&fixture.script, 10, "m", 11, 12);
    SCRIPT_WAIT_FOR(&fixture.script, 11, 12);
    for (int i = 0; i < 2; i++) {
        uint64_t request = client_send_operations(client, operations, 4, 0);
        struct operation_result *results = client_results(client, request, 4);
        for (int j = 0; j < 4; j++) {
            cr_assert_eq(results[j].status, STATUS_OK, "%d %u", j, results[j].status);
        }
        cr_assert_str_eq(rows_text(client, results[0].rows), "a/f:n=1;");
        cr_assert_str_eq(rows_text(client, results[1].rows), "z/f:n=1;");
        cr_assert(results[2].matched);
        CLIENT_EXPECT_ROW(client, "bb", "bb/f:later=x;");
        if (i == 0) {
            script_split(&fixture.script, 11, "b", 13, 14); /* and once more */
            SCRIPT_WAIT_FOR(&fixture.script, 12, 13, 14);
        }
    }
    client_stop(client);
    fixture_deinit(&fixture);
}

/* --- deadlines ---------------------------------------------------------------------------------- */

Test(server, what_is_late_is_refused_and_not_applied)
{
    enum {
        COUNT = 2000
    };
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    struct operation *operations = arena_allocate_array(&client->arena, COUNT, sizeof *operations);
    uint64_t applied = 0;

    for (uint64_t i = 0; i < COUNT; i++) {
        operations[i] = client_increment(client, "r", "n", i + 1);
    }
    uint64_t request = client_send_operations(client, operations, COUNT, 5);
    struct operation_result *results = client_results(client, request, COUNT);
    for (int i = 0; i < COUNT; i++) {
        cr_assert(results[i].status == STATUS_OK || results[i].status == STATUS_DEADLINE_EXCEEDED);
        applied += results[i].status == STATUS_OK;
    }
    cr_assert_lt(applied, COUNT, "2000 evaluations one after the other take longer than 5 ms");
    char expected[64] = "";
    if (applied > 0) {
        (void)snprintf(expected, sizeof expected, "r/f:n=%llu;", (unsigned long long)applied);
    }
    CLIENT_EXPECT_ROW(client, "r", expected);
    client_stop(client);
    fixture_deinit(&fixture);
}

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

Test(server, stopping_in_the_midst_of_work_keeps_what_was_acknowledged, .timeout = 120)
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
Test(server, whatever_allocation_fails_all_is_applied_once, .timeout = 120)
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

Test(server, a_failing_sync_ends_the_process_and_acknowledges_nothing, .timeout = 120)
{
    char folder[] = "/tmp/edubba-fault-XXXXXX";
    struct arena arena;
    char **names = NULL;
    size_t count = 0;

    cr_assert_not_null(mkdtemp(folder));
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

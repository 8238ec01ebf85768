/*
 * The tablet server as its clients and its master see it: all of it but the daemon's main().
 */
#include "tests/support/server_steps.h"

#include "tabletserver/serve/loop/store_loop.h"
#include "tabletserver/storage/store/store_internal.h"

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

/* A sample takes a row by chance: not the same rows each time. */
Test(server, check_and_mutate_draws_a_sample_anew)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 0);
    const struct filter sample = {.kind = FILTER_ROW_SAMPLE, .probability = 0.5};
    int matched = 0;
    struct operation put = client_put(client, "r", "a", "x", 1);
    cr_assert_eq(client_run(client, &put).status, STATUS_OK);
    for (uint64_t i = 0; i < 64; i++) {
        struct operation operation = check_and_put(client, "r", "yes", "no", i + 2);
        operation.filter = &sample;
        struct operation_result result = client_run(client, &operation);
        cr_assert_eq(result.status, STATUS_OK);
        matched += result.matched ? 1 : 0;
    }
    cr_assert(matched > 0 && matched < 64, "%d of 64", matched); /* else one of 2^63 */
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

static struct operation drop_rows(struct bytes start, struct bytes end, uint64_t sequence)
{
    return (struct operation){.kind = OPERATION_DROP_RANGE,
                              .table = FIXTURE_TABLE,
                              .identity = {sequence, clock_wall_us()},
                              .range = {start, end}};
}

/* One byte behind the longest key a range may end, and no further: the log could not be read again. */
Test(server, a_range_to_be_dropped_has_bounds_that_keys_may_have)
{
    static uint8_t longest[LIMIT_ROW_KEY_BYTES + 1];
    static uint8_t too_long[LIMIT_ROW_KEY_BYTES + 2];
    memset(longest, 'r', sizeof longest);
    memset(too_long, 'r', sizeof too_long);
    const struct bytes last = bytes_of(longest, sizeof longest);
    const struct bytes beyond = bytes_of(too_long, sizeof too_long);
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    struct operation from = drop_rows(beyond, BYTES_EMPTY, 1);
    struct operation to = drop_rows(BYTES_EMPTY, beyond, 2);
    CLIENT_EXPECT_OK(client, client_put(client, "r", "a", "x", 3));

    cr_assert_eq(client_run(client, &from).status, STATUS_INVALID_ARGUMENT);
    cr_assert_eq(client_run(client, &to).status, STATUS_INVALID_ARGUMENT);
    CLIENT_EXPECT_ROW(client, "r", "r/f:a=x;");
    CLIENT_EXPECT_OK(client, drop_rows(last, BYTES_EMPTY, 4));
    CLIENT_EXPECT_ROW(client, "r", "r/f:a=x;");
    CLIENT_EXPECT_OK(client, drop_rows(BYTES_EMPTY, last, 5));
    CLIENT_EXPECT_ROW(client, "r", "");
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

/* Servers go by the identity alone: whoever gives it to something else is answered what came of the first. */
Test(server, an_identity_that_comes_with_another_payload_changes_nothing)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 99);

    CLIENT_EXPECT_OK(client, client_put(client, "r", "a", "first", 1));
    CLIENT_EXPECT_OK(client, client_put(client, "r", "a", "second", 1));
    CLIENT_EXPECT_OK(client, client_put(client, "other", "a", "third", 1));
    CLIENT_EXPECT_ROW(client, "r", "r/f:a=first;");
    CLIENT_EXPECT_ROW(client, "other", "");

    struct operation increments[] = {client_increment(client, "sum", "n", 2),
                                     client_increment(client, "sum", "other", 2),
                                     client_increment(client, "other", "n", 2)};
    for (int i = 0; i < 3; i++) {
        struct operation_result result = client_run(client, &increments[i]);
        cr_assert_eq(result.status, STATUS_OK);
        cr_assert_str_eq(rows_text(client, result.rows), "sum/f:n=1;");
    }

    /* Nor does a kind that would have had another answer: it has an empty one. */
    struct operation increment = client_increment(client, "r", "n", 1);
    struct operation_result result = client_run(client, &increment);
    cr_assert_eq(result.status, STATUS_OK);
    cr_assert_str_eq(rows_text(client, result.rows), "");
    CLIENT_EXPECT_OK(client, check_and_put(client, "r", "yes", "no", 2));

    /* Those that come while the first one waits for its sync, too. */
    struct operation together[] = {client_put(client, "row", "a", "first", 3),
                                   client_put(client, "row", "b", "second", 3),
                                   client_put(client, "other", "a", "third", 3)};
    uint64_t request = client_send_operations(client, together, 3, 0);
    struct operation_result *results = client_results(client, request, 3);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(results[i].status, STATUS_OK);
    }
    CLIENT_EXPECT_ROW(client, "row", "row/f:a=first;");
    CLIENT_EXPECT_ROW(client, "r", "r/f:a=first;");
    CLIENT_EXPECT_ROW(client, "sum", "sum/f:n=1;");
    CLIENT_EXPECT_ROW(client, "other", "");
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

/* As a shell makes them, with a process for each write: a tablet remembers each for a quarter of an hour. */
Test(server, thousands_of_clients_may_write_once_each)
{
    enum {
        CLIENTS = 12000,
        TOGETHER = 1000
    };
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 0);
    uint64_t sent[TOGETHER];
    for (uint64_t i = 0; i < CLIENTS; i++) {
        client->number = i + 1;
        struct operation operation = add_one(client, "r", 1);
        sent[i % TOGETHER] = client_send_operations(client, &operation, 1, 0);
        for (size_t j = 0; j < TOGETHER && i % TOGETHER == TOGETHER - 1; j++) {
            struct operation_result *result = client_results(client, sent[j], 1);
            cr_assert_eq(result->status, STATUS_OK, "%.*s", (int)result->text.size_bytes,
                         (const char *)result->text.data);
        }
    }
    CLIENT_EXPECT_ROW(client, "r", "r/sum:n=12000;");
    client_stop(client);
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

static bool store_knows_table(void)
{
    struct store *store = store_loop_store(fixture.server->loops[0]);
    struct store_schema *schema = store_schema_find(store, FIXTURE_TABLE);
    if (schema != NULL) {
        store_schema_unref(schema);
    }
    return schema != NULL;
}

static void tell_of_deleted_table(void)
{
    pthread_mutex_lock(&fixture.script.lock);
    fixture.script.table_dropped = true;
    fixture.script.version += 1;
    pthread_mutex_unlock(&fixture.script.lock);
}

/* Else a server that sees tables come and go would keep a little of each. */
Test(server, a_store_forgets_a_deleted_table)
{
    start_with_one_tablet();
    cr_assert(store_knows_table());
    script_remove(&fixture.script, 10);
    WAIT_FOR(script_sees(&fixture.script, NULL, 0));
    tell_of_deleted_table();
    WAIT_FOR(!store_knows_table());
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
    late.identity.sequence = 1; /* that one is the first row's */
    WAIT_FOR((late.identity.sequence++, client_run(client, &late).status == STATUS_OK));
    CLIENT_EXPECT_ROW(client, "r", "r/f:a=x;r/late:a=x;");

    /* Another catalog that was ordered to succeed it, with lower versions: what it says holds. */
    pthread_mutex_lock(&fixture.script.lock);
    fixture.script.predecessor = fixture.script.generation;
    fixture.script.generation += 1;
    fixture.script.table.version = 1;
    fixture.script.table.family_count = 2;
    pthread_mutex_unlock(&fixture.script.lock);
    WAIT_FOR((late.identity.sequence++, client_run(client, &late).status == STATUS_NOT_FOUND));
    client_stop(client);
    fixture_deinit(&fixture);
}

/* It orders away all that there is: nothing of it is done. */
static void serve_wrong_catalog(uint64_t generation, uint64_t version, bool removed)
{
    pthread_mutex_lock(&fixture.script.lock);
    fixture.script.generation = generation;
    fixture.script.version = version;
    fixture.script.tablets[0].removed = removed;
    pthread_mutex_unlock(&fixture.script.lock);
}

Test(server, another_catalog_and_an_old_copy_are_refused)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    const uint64_t own = fixture.script.generation;

    CLIENT_EXPECT_OK(client, client_put(client, "r", "a", "x", 1));
    for (int round = 0; round < 3; round++) {
        if (round == 0) {
            serve_wrong_catalog(own + 5, 100, true);
        } else {
            serve_wrong_catalog(own, 1, true); /* the tablet came with 2 */
        }
        if (round == 2) {
            client_stop(client);
            fixture_close(&fixture);
            fixture_open(&fixture);
            client = client_start(fixture.server->address, 5);
        } else {
            WAIT_FOR(!sync_is_connected(fixture.server->sync));
        }
        unsigned syncs = atomic_load(&fixture.script.syncs);
        WAIT_FOR(atomic_load(&fixture.script.syncs) >= syncs + 2);
        cr_assert_not(sync_is_connected(fixture.server->sync));
        cr_assert_eq(served_map_count(fixture.server->served), 1);
        CLIENT_EXPECT_ROW(client, "r", "r/f:a=x;");
        serve_wrong_catalog(own, 10, false);
        WAIT_FOR(sync_is_connected(fixture.server->sync));
    }
    client_stop(client);
    fixture_deinit(&fixture);
}

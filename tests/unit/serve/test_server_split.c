/* Range deletes and splits between other writes, through the whole server. */
#include "tests/support/server_steps.h"

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
    atomic_uint_fast64_t applied;
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

Test(server, splits_under_load_lose_nothing_and_double_nothing, .timeout = 300)
{
    start_with_one_tablet();
    atomic_bool stop = false;
    struct load loads[3];
    uint64_t applied = 0;

    for (uint64_t i = 0; i < 3; i++) {
        loads[i] = (struct load){.number = 50 + i, .stop = &stop};
        cr_assert_eq(pthread_create(&loads[i].thread, NULL, run_load, &loads[i]), 0);
    }
    WAIT_FOR(atomic_load(&loads[0].applied) > 0);
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

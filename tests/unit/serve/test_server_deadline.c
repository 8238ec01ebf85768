/*
 * The tablet server as its clients and its master see it: all of it but the daemon's main().
 */
#include "tests/support/server_steps.h"

Test(server_deadline, what_is_late_is_refused_and_not_applied)
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

enum {
    SLOW_CELLS = 20000,
    SLOW_FILTERS =
        500 /* of which none lets anything through: each cell takes a tenth of a millisecond */
};

static struct bytes numbered(struct client *client, const char *format, int number)
{
    char text[64];
    (void)snprintf(text, sizeof text, format, number);
    return arena_copy(&client->arena, bytes_of_text(text));
}

static void write_slow_row(struct client *client)
{
    struct mutation *mutations = arena_allocate_array(&client->arena, SLOW_CELLS,
                                                      sizeof *mutations);
    struct operation operation = client_put(client, "slow", "q", "", 1);
    for (int i = 0; i < SLOW_CELLS; i++) {
        mutations[i] = operation.mutations[0];
        mutations[i].qualifier = numbered(client, "q%05d", i);
        mutations[i].value = numbered(client, "vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv%d", i);
    }
    operation.mutations = mutations;
    operation.mutation_count = SLOW_CELLS;
    CLIENT_EXPECT_OK(client, operation);
}

static struct filter slow_filter(struct client *client)
{
    struct filter *children = arena_allocate_array(&client->arena, SLOW_FILTERS, sizeof *children);
    for (int i = 0; i < SLOW_FILTERS; i++) {
        children[i] = (struct filter){.kind = FILTER_VALUE_REGEX,
                                      .bytes = numbered(client, "[a-z]*[0-9]*x%d", i)};
    }
    return (struct filter){
        .kind = FILTER_INTERLEAVE, .children = children, .child_count = SLOW_FILTERS};
}

/* Else a few requests for one large row, with filters that leave nothing of it, would keep all workers. */
Test(server_deadline, a_row_is_not_read_on_behind_its_deadline)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    struct filter filter = slow_filter(client);
    struct operation reading = client_get(client, "slow");
    struct operation checking = client_put(client, "slow", "new", "x", 2);
    write_slow_row(client);
    reading.filter = &filter;
    checking.kind = OPERATION_CHECK_AND_MUTATE;
    checking.filter = &filter;
    checking.otherwise = checking.mutations;
    checking.otherwise_count = 1;
    const struct operation *late[] = {&reading, &checking};
    for (size_t i = 0; i < 2; i++) {
        uint64_t request = client_send_operations(client, late[i], 1, 200);
        struct operation_result *result = client_results(client, request, 1);
        cr_assert_eq(result->status, STATUS_DEADLINE_EXCEEDED, "%u %.*s", result->status,
                     (int)result->text.size_bytes, (const char *)result->text.data);
    }
    reading.filter = &(struct filter){.kind = FILTER_QUALIFIER_REGEX,
                                      .bytes = bytes_of_text("new")};
    struct operation_result result = client_run(client, &reading);
    cr_assert_eq(result.status, STATUS_OK);
    cr_assert_str_eq(rows_text(client, result.rows), "", "it was not applied");
    client_stop(client);
    fixture_deinit(&fixture);
}

/* Rows that are asked for together come in messages that are not: who waits for the first of many large ones has it while
 * the others are read, and a server holds little of them. */
Test(server_deadline, large_rows_that_are_asked_for_together_come_one_after_the_other)
{
    enum {
        ROWS = 24,
        VALUE_BYTES = 100 * 1024,
        MESSAGE_BYTES_MAX = 512 * 1024 + VALUE_BYTES + 4096
    };
    static char value[VALUE_BYTES + 1];
    struct operation reads[ROWS];
    memset(value, 'v', VALUE_BYTES);
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 0);
    for (int i = 0; i < ROWS; i++) {
        char row[16];
        (void)snprintf(row, sizeof row, "row%02d", i);
        struct operation put = client_put(client, row, "a", value, 0);
        CLIENT_EXPECT_OK(client, put);
        reads[i] = (struct operation){
            .kind = OPERATION_READ, .table = FIXTURE_TABLE, .row = put.row};
    }
    uint64_t request = client_send_operations(client, reads, ROWS, 0);
    struct operation_result *results = client_results(client, request, ROWS);
    for (int i = 0; i < ROWS; i++) {
        cr_assert_eq(results[i].status, STATUS_OK);
        cr_assert_gt(results[i].rows.size_bytes, VALUE_BYTES);
    }
    struct bytes messages = buffer_bytes(&client_answer(client, request)->messages);
    struct bytes message = BYTES_EMPTY;
    int count = 0;
    while (next_message(&messages, &message)) {
        cr_assert_lt(message.size_bytes, MESSAGE_BYTES_MAX);
        count++;
    }
    cr_assert_geq(count, ROWS * VALUE_BYTES / MESSAGE_BYTES_MAX);
    client_stop(client);
    fixture_deinit(&fixture);
}

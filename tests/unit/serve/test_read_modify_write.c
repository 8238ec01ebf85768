/*
 * Read-modify-writes at their limits: as many rules as the API takes, on as many columns or on one;
 * and results that are too large to be kept for another attempt.
 */
#include "common/base/limits.h"
#include "tests/support/server_steps.h"

#define KIB ((size_t)1024)

static void start(uint64_t request_bytes_max, uint64_t result_bytes_max)
{
    fixture_prepare(&fixture);
    fixture.settings.request_bytes_max = request_bytes_max;
    fixture.settings.store.dedupe.result_bytes_max = result_bytes_max;
    fixture_open(&fixture);
    script_assign(&fixture.script, 10, "", "", false);
    SCRIPT_WAIT_FOR(&fixture.script, 10);
}

/* So many rules, all zero but for kind and family. */
static struct operation rules_of(struct client *client, size_t count, struct rmw_rule **ret_rules)
{
    struct operation operation = client_increment(client, "r", "n", 0);
    struct rmw_rule *rules = arena_allocate_array(&client->arena, count, sizeof *rules);
    cr_assert_not_null(rules);
    for (size_t i = 0; i < count; i++) {
        rules[i] = (struct rmw_rule){.kind = RMW_APPEND, .family = bytes_of_text("f")};
    }
    operation.rules = rules;
    operation.rule_count = count;
    *ret_rules = rules;
    return operation;
}

static struct row row_of(struct client *client, struct bytes block)
{
    struct row row;
    bool found = false;
    cr_assert_eq(row_block_next(&block, &client->arena, &row, &found, NULL), STATUS_OK);
    cr_assert(found);
    return row;
}

static struct operation_result run(struct client *client, const struct operation *operation)
{
    struct operation_result result = client_run(client, operation);
    cr_assert_eq(result.status, STATUS_OK, "%u %.*s", result.status, (int)result.text.size_bytes,
                 (const char *)result.text.data);
    return result;
}

static void end(struct client *client)
{
    client_stop(client);
    fixture_deinit(&fixture);
}

/* --- rules ------------------------------------------------------------------------------------ */

Test(read_modify_write, rules_go_in_their_order_whatever_lies_between)
{
    start(64 << 20, 64 << 20);
    struct client *client = client_start(fixture.server->address, 0);
    struct rmw_rule *rules = NULL;
    const char *const columns[] = {"b", "a", "b", "c", "a", "b"};
    const char *const texts[] = {"1", "x", "2", "", "y", "3"};
    struct operation operation = rules_of(client, 6, &rules);
    for (size_t i = 0; i < 6; i++) {
        rules[i].qualifier = bytes_of_text(columns[i]);
        rules[i].append = bytes_of_text(texts[i]);
    }
    cr_assert_str_eq(rows_text(client, run(client, &operation).rows), "r/f:a=xy;r/f:b=123;r/f:c=;");
    CLIENT_EXPECT_ROW(client, "r", "r/f:a=xy;r/f:b=123;r/f:c=;");

    rules[1].kind = RMW_INCREMENT; /* what is there is no number: nothing of it is done */
    cr_assert_eq(client_run(client, &operation).status, STATUS_INVALID_ARGUMENT);
    CLIENT_EXPECT_ROW(client, "r", "r/f:a=xy;r/f:b=123;r/f:c=;");
    end(client);
}

Test(read_modify_write, as_many_columns_as_there_may_be_rules)
{
    enum {
        DIGITS = 8
    };
    start(512 << 20, 64 << 20);
    struct client *client = client_start(fixture.server->address, 0);
    struct rmw_rule *rules = NULL;
    struct operation operation = rules_of(client, LIMIT_MUTATIONS_PER_REQUEST, &rules);
    char *names = arena_allocate(&client->arena, (DIGITS + 1) * LIMIT_MUTATIONS_PER_REQUEST);
    cr_assert_not_null(names);
    for (size_t i = 0; i < LIMIT_MUTATIONS_PER_REQUEST; i++) {
        char *name = names + i * (DIGITS + 1);
        /* 7919 is coprime to their number: each once, in no order */
        (void)snprintf(name, DIGITS + 1, "%0*zu", DIGITS, i * 7919 % LIMIT_MUTATIONS_PER_REQUEST);
        rules[i].kind = RMW_INCREMENT;
        rules[i].increment = (int64_t)(i * 7919 % LIMIT_MUTATIONS_PER_REQUEST);
        rules[i].qualifier = bytes_of(name, DIGITS);
    }
    struct row row = row_of(client, run(client, &operation).rows);
    cr_assert_eq(row.cell_count, LIMIT_MUTATIONS_PER_REQUEST);
    for (size_t i = 0; i < row.cell_count; i++) {
        cr_assert_eq(load_be64(row.cells[i].value.data), i);
    }
    end(client);
}

Test(read_modify_write, many_rules_of_one_column_take_what_its_value_takes)
{
    enum {
        RULES = 4000,
        PIECE_BYTES = 100
    };
    static char piece[PIECE_BYTES];
    start(2 << 20, 64 << 20); /* much less than all values on the way */
    struct client *client = client_start(fixture.server->address, 0);
    struct rmw_rule *rules = NULL;
    struct operation operation = rules_of(client, RULES, &rules);
    memset(piece, 'v', sizeof piece);
    for (size_t i = 0; i < RULES; i++) {
        rules[i].qualifier = bytes_of_text("q");
        rules[i].append = bytes_of(piece, i == 0 ? 1 : PIECE_BYTES);
    }
    struct row row = row_of(client, run(client, &operation).rows);
    cr_assert_eq(row.cell_count, 1);
    cr_assert_eq(row.cells[0].value.size_bytes, 1 + (RULES - 1) * PIECE_BYTES);
    end(client);
}

/* --- results ---------------------------------------------------------------------------------- */

static struct operation append_to(struct client *client,
                                  const char *column,
                                  size_t size,
                                  uint64_t sequence)
{
    struct rmw_rule *rules = NULL;
    struct operation operation = rules_of(client, 1, &rules);
    uint8_t *value = arena_allocate(&client->arena, size);
    cr_assert_not_null(value);
    memset(value, 'v', size);
    rules[0].qualifier = bytes_of_text(column);
    rules[0].append = bytes_of(value, size);
    operation.identity = (struct operation_identity){sequence, clock_wall_us()};
    return operation;
}

static size_t size_of(struct client *client, const char *column)
{
    struct operation get = client_get(client, "r");
    struct row row = row_of(client, run(client, &get).rows);
    for (size_t i = 0; i < row.cell_count; i++) {
        if (bytes_equal(row.cells[i].qualifier, bytes_of_text(column))) {
            return row.cells[i].value.size_bytes;
        }
    }
    return 0;
}

Test(read_modify_write, a_result_that_cannot_be_kept_is_made_once_all_the_same)
{
    start(64 << 20, 4 * KIB);
    struct client *client = client_start(fixture.server->address, 99);
    struct operation large = append_to(client, "large", 8 * KIB, 1);
    struct operation small = append_to(client, "small", 10, 2);
    cr_assert_eq(row_of(client, run(client, &large).rows).cells[0].value.size_bytes, 8 * KIB);
    (void)run(client, &small);

    struct operation_result again = client_run(client, &large);
    cr_assert_eq(again.status, STATUS_FAILED_PRECONDITION);
    cr_assert_eq(again.rows.size_bytes, 0);
    cr_assert_eq(row_of(client, run(client, &small).rows).cells[0].value.size_bytes, 10);
    cr_assert_eq(size_of(client, "large"), 8 * KIB);
    cr_assert_eq(size_of(client, "small"), 10);
    end(client);
}

Test(read_modify_write, large_results_that_clients_leave_behind_keep_nobody_out)
{
    enum {
        CLIENTS = 8
    };
    start(64 << 20, 4 * KIB);
    for (uint64_t i = 1; i <= CLIENTS; i++) {
        struct client *client = client_start(fixture.server->address, i);
        struct operation operation = append_to(client, "q", KIB, 1);
        (void)run(client, &operation);
        client_stop(client);
    }
    struct client *client = client_start(fixture.server->address, CLIENTS + 1);
    CLIENT_EXPECT_OK(client, client_put(client, "r", "q", "new", 1));
    end(client);
}

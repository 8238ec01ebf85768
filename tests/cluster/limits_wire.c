/*
 * The same limits, spoken to the tablet server itself: a client of ours checks some of them before
 * it sends, a hostile one does not, and must get the same answers.
 *
 *   limits_wire MASTER TABLE
 *
 * TABLE as for limits_client.  Ends with "N passed, N failed".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/memory.h"
#include "tests/support/find_table.h"

#define ANSWER_MS 60000

static struct blocking_client client; /* of the tablet server */
static uint64_t table;
static struct error error;

#define ERROR_NAME status_name(error.status)
#include "limits_check.h"

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "limits_wire: %s: %s\n", what, error.text);
    exit(1);
}

/* Bytes of one letter, which the caller frees. */
static struct bytes make_bytes(size_t size_bytes)
{
    uint8_t *data = memory_allocate(size_bytes);
    if (data == NULL) {
        die("out of memory");
    }
    memset(data, 'x', size_bytes);
    return bytes_of(data, size_bytes);
}

/* What the server says to one operation; ret_rows may be NULL. */
static enum status ask(const struct operation *operation, size_t *ret_rows_bytes)
{
    struct operations_request request = {.operations = operation, .operation_count = 1};
    struct operations_response response;
    struct buffer body = BUFFER_INIT;
    struct bytes answer;
    struct arena arena;

    error_clear(&error);
    arena_init(&arena, 4096, SIZE_MAX);
    operations_request_encode(&request, &body);
    enum status status = blocking_call(&client, METHOD_OPERATIONS, &body, ANSWER_MS, &answer,
                                       &error);
    if (status == STATUS_OK) {
        status = operations_response_decode(answer, &arena, &response, &error);
    }
    if (status == STATUS_OK && response.results[0].status != STATUS_OK) {
        struct bytes text = response.results[0].text;
        status = error_set(&error, (enum status)response.results[0].status, "%.*s",
                           (int)text.size_bytes, (const char *)text.data);
    }
    if (status == STATUS_OK && ret_rows_bytes != NULL) {
        *ret_rows_bytes = response.results[0].rows.size_bytes;
    }
    arena_deinit(&arena);
    return status;
}

static struct operation operation_of(enum operation_kind kind, const char *row)
{
    return (struct operation){.kind = kind, .table = table, .row = bytes_of_text(row)};
}

/* Nothing was applied, and the connection is as good as before. */
static bool is_untouched(void)
{
    struct operation bad = operation_of(OPERATION_READ, "bad");
    struct operation keep = operation_of(OPERATION_READ, "keep");
    size_t bad_bytes = 1;
    size_t keep_bytes = 0;
    return ask(&bad, &bad_bytes) == STATUS_OK && bad_bytes == 0 &&
           ask(&keep, &keep_bytes) == STATUS_OK && keep_bytes > 0;
}

static void refuse(const char *what, const struct operation *operation, const char *part)
{
    enum status status = ask(operation, NULL);
    check(what, status == STATUS_INVALID_ARGUMENT && strstr(error.text, part) != NULL);
    check(what, is_untouched());
}

static struct mutation set_cell(const char *family, int64_t timestamp_us, struct bytes value)
{
    return (struct mutation){
        .kind = MUTATION_SET_CELL,
        .family = bytes_of_text(family),
        .qualifier = bytes_of_text("c"),
        .timestamp_us = timestamp_us,
        .value = value,
    };
}

static struct mutation fold(enum mutation_kind kind, const char *family, enum input_kind input)
{
    return (struct mutation){
        .kind = kind,
        .family = bytes_of_text(family),
        .qualifier = bytes_of_text("c"),
        .input = input,
        .value = bytes_of_text("7 bytes"),
    };
}

/* As a mutation, and in either branch of a check-and-mutate. */
static void refuse_mutation(const char *what, struct mutation mutation, const char *part)
{
    struct mutation good = set_cell("f", 0, bytes_of_text("1"));
    struct mutation both[] = {good, mutation};
    struct operation write = operation_of(OPERATION_MUTATE, "bad");
    write.mutations = both;
    write.mutation_count = 2;
    refuse(what, &write, part);

    struct operation either = operation_of(OPERATION_CHECK_AND_MUTATE, "bad");
    either.mutations = &good;
    either.mutation_count = 1;
    either.otherwise = both;
    either.otherwise_count = 2;
    refuse(what, &either, part);
}

static void check_mutations(void)
{
    struct bytes value = make_bytes(LIMIT_VALUE_BYTES + 1);
    refuse_mutation("a value of 100 MiB and a byte", set_cell("f", 0, value),
                    "104857601 bytes, the limit is 104857600");
    struct rmw_rule append = {.kind = RMW_APPEND,
                              .family = bytes_of_text("f"),
                              .qualifier = bytes_of_text("c"),
                              .append = value};
    struct operation modify = operation_of(OPERATION_READ_MODIFY_WRITE, "bad");
    modify.rules = &append;
    modify.rule_count = 1;
    refuse("one appended", &modify, "the limit is 104857600");
    memory_free((void *)(uintptr_t)value.data);

    refuse_mutation("SetCell on an aggregate", set_cell("sum", 0, bytes_of_text("1")),
                    "Column family type mismatch");
    refuse_mutation("bytes added to a sum", fold(MUTATION_ADD_TO_CELL, "sum", INPUT_BYTES),
                    "must use `int_value`");
    refuse_mutation("a number merged", fold(MUTATION_MERGE_TO_CELL, "sum", INPUT_INT64),
                    "must use `bytes_value`");
    refuse_mutation("a state of 7 bytes", fold(MUTATION_MERGE_TO_CELL, "sum", INPUT_BYTES),
                    "Column family type mismatch");
    refuse_mutation("a timestamp out of granularity", set_cell("f", 1001, bytes_of_text("1")),
                    "but got 1001");
    refuse_mutation("a negative timestamp", set_cell("f", -2, bytes_of_text("1")), "but got -2");
}

/* More than a request may have; so many that decoded they would not fit the server's memory too. */
static void check_counts(size_t count)
{
    struct mutation *mutations = memory_allocate_zeroed(count, sizeof *mutations);
    struct rmw_rule *rules = memory_allocate_zeroed(count, sizeof *rules);
    if (mutations == NULL || rules == NULL) {
        die("out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        mutations[i].kind = MUTATION_DELETE_FROM_ROW;
        rules[i].kind = RMW_INCREMENT;
        rules[i].family = bytes_of_text("f");
    }
    mutations[0] = set_cell("f", 0, bytes_of_text("1"));
    struct operation write = operation_of(OPERATION_MUTATE, "bad");
    write.mutations = mutations;
    write.mutation_count = count;
    refuse("mutations", &write, "the limit is 100000");

    struct operation either = operation_of(OPERATION_CHECK_AND_MUTATE, "bad");
    either.mutations = mutations;
    either.mutation_count = 1;
    either.otherwise = mutations;
    either.otherwise_count = count;
    refuse("mutations in a branch", &either, "the limit is 100000");
    either.mutation_count = count;
    either.otherwise_count = 1;
    refuse("mutations in the other", &either, "the limit is 100000");

    struct operation modify = operation_of(OPERATION_READ_MODIFY_WRITE, "bad");
    modify.rules = rules;
    modify.rule_count = count;
    refuse("rules", &modify, "100000");
    memory_free(mutations);
    memory_free(rules);
}

/* As a read's, a predicate's and a scan's. */
static void refuse_filter(const char *what, const struct filter *filter, const char *part)
{
    struct mutation good = set_cell("f", 0, bytes_of_text("1"));
    struct operation read = operation_of(OPERATION_READ, "keep");
    read.filter = filter;
    refuse(what, &read, part);

    struct operation either = operation_of(OPERATION_CHECK_AND_MUTATE, "bad");
    either.filter = filter;
    either.mutations = either.otherwise = &good;
    either.mutation_count = either.otherwise_count = 1;
    refuse(what, &either, part);

    struct row_range all = {BYTES_EMPTY, BYTES_EMPTY};
    struct scan_request scan = {.table = table,
                                .rows = &all,
                                .row_range_count = 1,
                                .filter = filter,
                                .credit_bytes = 1 << 20};
    struct buffer body = BUFFER_INIT;
    struct bytes answer;
    scan_request_encode(&scan, &body);
    enum status status = blocking_call(&client, METHOD_SCAN, &body, ANSWER_MS, &answer, &error);
    check(what, status == STATUS_INVALID_ARGUMENT && strstr(error.text, part) != NULL);
    check(what, is_untouched());
}

static void check_filters(void)
{
    struct filter levels[45][2];
    struct bytes pattern = make_bytes(LIMIT_FILTER_BYTES + 1);
    struct filter regex = {.kind = FILTER_VALUE_REGEX, .bytes = pattern};
    refuse_filter("a filter over 20 KB", &regex, "Row filter exceeds maximum size of 20480 bytes");
    memory_free((void *)(uintptr_t)pattern.data);

    const size_t depths[] = {21, 40, 45};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        size_t last = depths[i] - 2; /* its members are the deepest level */
        for (size_t level = 0; level <= last; level++) {
            struct filter pass = {.kind = FILTER_PASS_ALL, .flag = true};
            levels[level][0] = levels[level][1] = pass;
            if (level < last) {
                levels[level][1] = (struct filter){
                    .kind = FILTER_CHAIN, .children = levels[level + 1], .child_count = 2};
            }
        }
        struct filter deep = {.kind = FILTER_CHAIN, .children = levels[0], .child_count = 2};
        refuse_filter("a filter nested too deep", &deep, "nested deeper than 20");
    }
}

static void check_keys(void)
{
    static const enum operation_kind kinds[] = {
        OPERATION_MUTATE, OPERATION_READ, OPERATION_CHECK_AND_MUTATE, OPERATION_READ_MODIFY_WRITE};
    struct mutation good = set_cell("f", 0, bytes_of_text("1"));
    struct rmw_rule rule = {.kind = RMW_INCREMENT,
                            .family = bytes_of_text("f"),
                            .qualifier = bytes_of_text("c"),
                            .increment = 1};
    struct bytes key = make_bytes(LIMIT_ROW_KEY_BYTES + 1);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct operation operation = operation_of(kinds[i], "");
        operation.mutations = &good;
        operation.mutation_count = 1;
        operation.rules = &rule;
        operation.rule_count = 1;
        refuse("an empty key", &operation, "Row keys must be non-empty");
        operation.row = key;
        refuse("a key of 4 097 bytes", &operation, "4097 bytes, the limit is 4096");
    }
    memory_free((void *)(uintptr_t)key.data);
}

int main(int count, char **arguments)
{
    if (count != 3) {
        fputs("usage: limits_wire MASTER TABLE\n", stderr);
        return 2;
    }
    struct found_table found;
    if (find_table(arguments[1], arguments[2], &found, &error) != STATUS_OK) {
        die(arguments[2]);
    }
    table = found.number;
    if (blocking_open(&client, found.address) != STATUS_OK) {
        die(found.address);
    }
    check_keys();
    check_mutations();
    check_counts(LIMIT_MUTATIONS_PER_REQUEST + 1);
    check_counts(3000000);
    check_filters();
    blocking_close(&client);
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}

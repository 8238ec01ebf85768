#include <criterion/criterion.h>

#include "common/base/endian.h"
#include "common/base/limits.h"
#include "common/base/memory.h"
#include "common/model/mutation.h"

#define NOW_US INT64_C(1700000000123456)

static struct family families[] = {
    {.number = 1, .name = {(const uint8_t *)"cf", 2}},
    {.number = 2, .name = {(const uint8_t *)"sum", 3}, .aggregate = AGGREGATE_INTSUM},
    {.number = 3, .name = {(const uint8_t *)"min", 3}, .aggregate = AGGREGATE_INTMIN},
    {.number = 4, .name = {(const uint8_t *)"bhll", 4}, .aggregate = AGGREGATE_BYTESHLL},
    {.number = 5, .name = {(const uint8_t *)"ihll", 4}, .aggregate = AGGREGATE_INTHLL},
};

static struct table table = {
    .number = 3,
    .id = {(const uint8_t *)"metric", 6},
    .families = families,
    .family_count = 5,
    .family_number_next = 6,
};

struct outcome {
    enum status status;
    struct error error;
    struct change *changes;
    size_t count;
    struct arena arena;
};

static struct outcome resolve(const struct mutation *mutations, size_t count)
{
    struct outcome outcome = {.count = 99};
    arena_init(&outcome.arena, 1024, SIZE_MAX);
    outcome.status = mutation_resolve(&table, bytes_of_text("row1"), mutations, count, NOW_US,
                                      &outcome.arena, &outcome.changes, &outcome.count,
                                      &outcome.error);
    return outcome;
}

static struct mutation mutation_of(enum mutation_kind kind, const char *family)
{
    return (struct mutation){
        .kind = kind,
        .family = bytes_of_text(family),
        .qualifier = bytes_of_text("q"),
        .timestamp_us = 5000,
        .value = bytes_of_text("v"),
    };
}

static struct change assert_one(const struct mutation *mutation)
{
    struct outcome outcome = resolve(mutation, 1);
    cr_assert_eq(outcome.status, STATUS_OK, "%s", outcome.error.text);
    cr_assert_eq(outcome.count, 1);
    struct change change = outcome.changes[0];
    static uint8_t value[256];
    if (change.value.size_bytes > 0) {
        memcpy(value, change.value.data, change.value.size_bytes);
        change.value.data = value;
    }
    arena_deinit(&outcome.arena);
    return change;
}

static void assert_refused(const struct mutation *mutations,
                           size_t count,
                           enum status status,
                           const char *text)
{
    struct outcome outcome = resolve(mutations, count);
    cr_assert_eq(outcome.status, status, "%s", status_name(outcome.status));
    cr_assert_eq(outcome.error.status, status);
    cr_assert_str_eq(outcome.error.text, text);
    cr_assert_eq(outcome.count, 99);
    cr_assert_null(outcome.changes);
    arena_deinit(&outcome.arena);
}

static void assert_one_refused(const struct mutation *mutation,
                               enum status status,
                               const char *text)
{
    assert_refused(mutation, 1, status, text);
}

Test(mutation, row_keys)
{
    static uint8_t key[LIMIT_ROW_KEY_BYTES + 1];
    struct error error;
    cr_assert_eq(row_key_check(bytes_of(key, LIMIT_ROW_KEY_BYTES), &error), STATUS_OK);
    cr_assert_eq(row_key_check(bytes_of(key, LIMIT_ROW_KEY_BYTES + 1), &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_eq(row_key_check(BYTES_EMPTY, &error), STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text, "Row keys must be non-empty");
}

Test(mutation, set_cell)
{
    struct mutation mutation = mutation_of(MUTATION_SET_CELL, "cf");
    struct change change = assert_one(&mutation);
    cr_assert_eq(change.kind, CHANGE_PUT);
    cr_assert_eq(change.family, 1);
    cr_assert_eq(change.timestamp_us, 5000);
    cr_assert(bytes_equal(change.value, bytes_of_text("v")));
    cr_assert(bytes_equal(change.qualifier, bytes_of_text("q")));
}

Test(mutation, server_time_is_cut_to_the_granularity)
{
    struct mutation mutation = mutation_of(MUTATION_SET_CELL, "cf");
    mutation.timestamp_us = TIMESTAMP_SERVER;
    cr_assert_eq(assert_one(&mutation).timestamp_us, NOW_US - 456);
    table.granularity = GRANULARITY_MICROS;
    cr_assert_eq(assert_one(&mutation).timestamp_us, NOW_US);
    mutation.timestamp_us = 1;
    cr_assert_eq(assert_one(&mutation).timestamp_us, 1);
}

Test(mutation, timestamps_are_checked)
{
    struct mutation mutation = mutation_of(MUTATION_SET_CELL, "cf");
    mutation.timestamp_us = 1234;
    assert_one_refused(&mutation, STATUS_INVALID_ARGUMENT,
                       "Error in field 'Mutation list' : Error in element #0 : Timestamp "
                       "granularity mismatch. Expected a multiple of 1000 (millisecond "
                       "granularity), but got 1234.");
    mutation.timestamp_us = -2;
    assert_one_refused(&mutation, STATUS_INVALID_ARGUMENT,
                       "Error in field 'Mutation list' : Error in element #0 : Timestamp must not "
                       "be negative, but got -2.");
    mutation.timestamp_us = INT64_MAX - INT64_MAX % 1000;
    cr_assert_eq(assert_one(&mutation).timestamp_us, mutation.timestamp_us);

    struct mutation add = mutation_of(MUTATION_ADD_TO_CELL, "sum");
    add.timestamp_us = TIMESTAMP_SERVER; /* only SetCell may leave it to the server */
    assert_one_refused(&add, STATUS_INVALID_ARGUMENT,
                       "Error in field 'Mutation list' : Error in element #0 : Timestamp must not "
                       "be negative, but got -1.");
}

Test(mutation, deletes)
{
    struct mutation mutation = mutation_of(MUTATION_DELETE_FROM_COLUMN, "sum");
    mutation.start_us = 1000;
    struct change change = assert_one(&mutation);
    cr_assert_eq(change.kind, CHANGE_DELETE_CELLS);
    cr_assert_eq(change.family, 2);
    cr_assert_eq(change.start_us, 1000);
    cr_assert_eq(change.end_us, INT64_MAX);
    mutation.end_us = 3000;
    cr_assert_eq(assert_one(&mutation).end_us, 3000);

    mutation = mutation_of(MUTATION_DELETE_FROM_FAMILY, "cf");
    change = assert_one(&mutation);
    cr_assert_eq(change.kind, CHANGE_DELETE_FAMILY);
    cr_assert_eq(change.family, 1);
    mutation = (struct mutation){.kind = MUTATION_DELETE_FROM_ROW};
    change = assert_one(&mutation);
    cr_assert_eq(change.kind, CHANGE_DELETE_ROW);
    cr_assert_eq(change.family, 0);
}

Test(mutation, delete_ranges_are_checked)
{
    struct mutation mutation = mutation_of(MUTATION_DELETE_FROM_COLUMN, "cf");
    mutation.start_us = 3000;
    mutation.end_us = 2000;
    assert_one_refused(&mutation, STATUS_INVALID_ARGUMENT,
                       "Error in field 'Mutation list' : Error in element #0 : Error in field "
                       "'time_range' : start 3000 must not be after end 2000");
    mutation.end_us = 3001;
    cr_assert_eq(resolve(&mutation, 1).status, STATUS_INVALID_ARGUMENT);
    mutation.end_us = 3000; /* holds no timestamp: nothing to do */
    struct outcome outcome = resolve(&mutation, 1);
    cr_assert_eq(outcome.status, STATUS_OK);
    cr_assert_eq(outcome.count, 0);
    arena_deinit(&outcome.arena);
}

Test(mutation, unknown_family_and_wrong_type_name_row_and_table)
{
    struct mutation mutation = mutation_of(MUTATION_SET_CELL, "nope");
    assert_one_refused(&mutation, STATUS_NOT_FOUND,
                       "Error while mutating the row 'row1' (metric) : Requested column family "
                       "not found: 'nope'");
    mutation = mutation_of(MUTATION_DELETE_FROM_FAMILY, "nope");
    cr_assert_eq(resolve(&mutation, 1).status, STATUS_NOT_FOUND);
    const char
        *mismatch = "Error while mutating the row 'row1' (metric) : Column family type mismatch";
    mutation = mutation_of(MUTATION_SET_CELL, "sum");
    assert_one_refused(&mutation, STATUS_INVALID_ARGUMENT, mismatch);
    mutation = mutation_of(MUTATION_ADD_TO_CELL, "cf");
    assert_one_refused(&mutation, STATUS_INVALID_ARGUMENT, mismatch);
    mutation = mutation_of(MUTATION_MERGE_TO_CELL, "cf");
    assert_one_refused(&mutation, STATUS_INVALID_ARGUMENT, mismatch);
}

Test(mutation, nothing_of_a_bad_list_is_given_out)
{
    struct mutation list[] = {mutation_of(MUTATION_SET_CELL, "cf"),
                              mutation_of(MUTATION_SET_CELL, "nope"),
                              mutation_of(MUTATION_ADD_TO_CELL, "sum")};
    assert_refused(list, 3, STATUS_NOT_FOUND,
                   "Error while mutating the row 'row1' (metric) : Requested column family not "
                   "found: 'nope'");
    list[2].input = INPUT_BYTES; /* what a list alone shows comes before what the row shows */
    assert_refused(list, 3, STATUS_INVALID_ARGUMENT,
                   "Error in field 'Mutation list' : Error in element #2 : Error in field 'input' "
                   ": must use `int_value`");
    assert_refused(list, 0, STATUS_INVALID_ARGUMENT, "No mutations provided");
}

Test(mutation, add_to_cell)
{
    struct mutation mutation = mutation_of(MUTATION_ADD_TO_CELL, "sum");
    mutation.input = INPUT_INT64;
    mutation.integer = -7;
    struct change change = assert_one(&mutation);
    cr_assert_eq(change.kind, CHANGE_FOLD);
    cr_assert_eq(change.aggregate, AGGREGATE_INTSUM);
    cr_assert_eq(change.value.size_bytes, 8);
    cr_assert_eq((int64_t)load_be64(change.value.data), -7);

    mutation = mutation_of(MUTATION_ADD_TO_CELL, "min"); /* no input acts as 0 */
    mutation.integer = 55;
    change = assert_one(&mutation);
    cr_assert_eq(change.aggregate, AGGREGATE_INTMIN);
    cr_assert_eq(load_be64(change.value.data), 0);

    mutation.input = INPUT_RAW;
    assert_one_refused(&mutation, STATUS_INVALID_ARGUMENT,
                       "Error in field 'Mutation list' : Error in element #0 : Error in field "
                       "'input' : must use `int_value`");
    mutation = mutation_of(MUTATION_ADD_TO_CELL, "bhll");
    mutation.input = INPUT_INT64;
    assert_one_refused(&mutation, STATUS_INVALID_ARGUMENT,
                       "Error in field 'Mutation list' : Error in element #0 : Error in field "
                       "'input' : must use `bytes_value`");
}

Test(mutation, merge_to_cell)
{
    uint8_t state[8];
    store_be64(state, 42);
    struct mutation mutation = mutation_of(MUTATION_MERGE_TO_CELL, "sum");
    mutation.value = bytes_of(state, sizeof state);
    const enum input_kind good[] = {INPUT_BYTES, INPUT_RAW};
    for (size_t i = 0; i < 2; i++) {
        mutation.input = good[i];
        struct change change = assert_one(&mutation);
        cr_assert_eq(change.kind, CHANGE_FOLD);
        cr_assert_eq(load_be64(change.value.data), 42);
    }
    mutation.value.size_bytes = 7;
    assert_one_refused(&mutation, STATUS_INVALID_ARGUMENT,
                       "Error while mutating the row 'row1' (metric) : Column family type "
                       "mismatch");
    mutation.input = INPUT_INT64;
    assert_one_refused(&mutation, STATUS_INVALID_ARGUMENT,
                       "Error in field 'Mutation list' : Error in element #0 : Error in field "
                       "'input' : must use `bytes_value`");
    mutation.input = (enum input_kind)9;
    cr_assert_eq(resolve(&mutation, 1).status, STATUS_INVALID_ARGUMENT);
}

Test(mutation, sketches_take_one_kind_of_input_each)
{
    const enum input_kind bytes_kinds[] = {INPUT_BYTES, INPUT_RAW, INPUT_NULL};
    struct mutation mutation = mutation_of(MUTATION_ADD_TO_CELL, "bhll");
    for (size_t i = 0; i < 3; i++) {
        mutation.input = bytes_kinds[i];
        struct change change = assert_one(&mutation);
        cr_assert_eq(change.kind, CHANGE_FOLD);
        cr_assert_eq(change.aggregate, AGGREGATE_BYTESHLL);
        cr_assert_eq(aggregate_check_state(AGGREGATE_BYTESHLL, change.value, NULL), STATUS_OK);
    }
    mutation = mutation_of(MUTATION_ADD_TO_CELL, "ihll");
    mutation.input = INPUT_INT64;
    mutation.integer = 7;
    struct change change = assert_one(&mutation);
    cr_assert_eq(aggregate_check_state(AGGREGATE_INTHLL, change.value, NULL), STATUS_OK);

    mutation = mutation_of(MUTATION_MERGE_TO_CELL, "ihll");
    mutation.input = INPUT_BYTES;
    mutation.value = change.value;
    cr_assert_eq(assert_one(&mutation).kind, CHANGE_FOLD);
    mutation.value = bytes_of_text("no sketch");
    struct outcome outcome = resolve(&mutation, 1);
    cr_assert_eq(outcome.status, STATUS_INVALID_ARGUMENT);
    const char
        *start = "Error while mutating the row 'row1' (metric) : Column family type mismatch: ";
    cr_assert_eq(strncmp(outcome.error.text, start, strlen(start)), 0, "%s", outcome.error.text);
    cr_assert_gt(strlen(outcome.error.text), strlen(start));
    arena_deinit(&outcome.arena);
}

Test(mutation, merge_of_nothing_is_no_change)
{
    struct mutation list[] = {mutation_of(MUTATION_MERGE_TO_CELL, "sum"),
                              mutation_of(MUTATION_SET_CELL, "cf"),
                              mutation_of(MUTATION_MERGE_TO_CELL, "sum")};
    list[2].input = INPUT_BYTES;
    list[2].value = BYTES_EMPTY;
    struct outcome outcome = resolve(list, 3);
    cr_assert_eq(outcome.status, STATUS_OK);
    cr_assert_eq(outcome.count, 1);
    cr_assert_eq(outcome.changes[0].kind, CHANGE_PUT);
    arena_deinit(&outcome.arena);
}

Test(mutation, sizes_and_names_are_limited)
{
    static uint8_t name[LIMIT_QUALIFIER_BYTES + 1];
    memset(name, 'n', sizeof name);
    struct mutation mutation = mutation_of(MUTATION_SET_CELL, "cf");
    mutation.qualifier = bytes_of(name, LIMIT_QUALIFIER_BYTES);
    cr_assert_eq(assert_one(&mutation).qualifier.size_bytes, LIMIT_QUALIFIER_BYTES);
    mutation.qualifier.size_bytes++;
    assert_one_refused(&mutation, STATUS_INVALID_ARGUMENT,
                       "Error in field 'Mutation list' : Error in element #0 : Error in field "
                       "'column_qualifier' : 16385 bytes, the limit is 16384");

    mutation = mutation_of(MUTATION_SET_CELL, "cf");
    mutation.value = bytes_of(name, LIMIT_VALUE_BYTES + 1); /* the bytes are never looked at */
    assert_one_refused(&mutation, STATUS_INVALID_ARGUMENT,
                       "Error in field 'Mutation list' : Error in element #0 : Error in field "
                       "'value' : 104857601 bytes, the limit is 104857600");

    mutation = mutation_of(MUTATION_SET_CELL, "");
    assert_one_refused(&mutation, STATUS_INVALID_ARGUMENT,
                       "Error in field 'Mutation list' : Error in element #0 : Invalid id for "
                       "collection columnFamilies : Length should be between [1,64], but found 0 "
                       "''");
    mutation.family = bytes_of(name, LIMIT_FAMILY_NAME_BYTES + 1);
    cr_assert_eq(resolve(&mutation, 1).status, STATUS_INVALID_ARGUMENT);
    mutation = mutation_of((enum mutation_kind)77, "cf");
    cr_assert_eq(resolve(&mutation, 1).status, STATUS_INVALID_ARGUMENT);
}

Test(mutation, count_is_limited)
{
    size_t count = LIMIT_MUTATIONS_PER_REQUEST + 1;
    struct mutation *many = memory_allocate_zeroed(count, sizeof *many);
    for (size_t i = 0; i < count; i++) {
        many[i].kind = MUTATION_DELETE_FROM_ROW;
    }
    struct outcome outcome = resolve(many, count - 1);
    cr_assert_eq(outcome.status, STATUS_OK);
    cr_assert_eq(outcome.count, count - 1);
    arena_deinit(&outcome.arena);
    assert_refused(many, count, STATUS_INVALID_ARGUMENT,
                   "Error in field 'Mutation list' : 100001 mutations, the limit is 100000");
    memory_free(many);
}

Test(mutation, other_lists_have_their_own_name)
{
    struct mutation list[] = {mutation_of(MUTATION_SET_CELL, "nope"),
                              mutation_of(MUTATION_ADD_TO_CELL, "sum")};
    struct error error;
    cr_assert_eq(mutation_check_list(&table, list, 2, "true mutation list", &error), STATUS_OK);
    list[1].input = INPUT_RAW;
    cr_assert_eq(mutation_check_list(&table, list, 2, "true mutation list", &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text,
                     "Error in field 'true mutation list' : Error in element #1 : Error in field "
                     "'input' : must use `int_value`");
}

Test(mutation, every_failing_allocation_is_a_status)
{
    struct mutation list[] = {mutation_of(MUTATION_SET_CELL, "cf"),
                              mutation_of(MUTATION_ADD_TO_CELL, "sum"),
                              mutation_of(MUTATION_ADD_TO_CELL, "bhll")};
    bool done = false;
    for (uint64_t after = 0; !done; after++) {
        struct arena arena;
        struct change *changes = NULL;
        struct error error = {.status = STATUS_OK};
        size_t count = 99;
        arena_init(&arena, 16, SIZE_MAX);
        memory_fail_arm(after, 0);
        enum status status = mutation_resolve(&table, bytes_of_text("r"), list, 3, NOW_US, &arena,
                                              &changes, &count, &error);
        memory_fail_disarm();
        done = status == STATUS_OK;
        cr_assert_eq(count, done ? 3 : 99);
        cr_assert(done || (status == STATUS_NO_MEMORY && error.status == STATUS_NO_MEMORY));
        cr_assert(!done || after >= 3);
        arena_deinit(&arena);
    }
}

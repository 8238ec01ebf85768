#include <criterion/criterion.h>

#include "common/base/endian.h"
#include "common/base/limits.h"
#include "common/base/memory.h"
#include "common/model/mutation.h"

#define NOW_US INT64_C(1700000000123456)

static struct family families[] = {
    {.number = 1, .name = {(const uint8_t *)"cf", 2}},
    {.number = 2, .name = {(const uint8_t *)"sum", 3}, .aggregate = AGGREGATE_INTSUM},
};

static struct table table = {
    .number = 3,
    .id = {(const uint8_t *)"t", 1},
    .families = families,
    .family_count = 2,
    .family_number_next = 3,
};

static struct rmw_rule rule_of(enum rmw_kind kind, const char *family)
{
    return (struct rmw_rule){
        .kind = kind,
        .family = bytes_of_text(family),
        .qualifier = bytes_of_text("q"),
        .append = bytes_of_text("xyz"),
        .increment = 5,
    };
}

static struct change apply(const struct rmw_rule *rule,
                           const struct rmw_current *current,
                           struct arena *arena)
{
    struct change change;
    struct error error;
    enum status status = rmw_apply(&table, rule, 1, current, NOW_US, arena, &change, &error);
    cr_assert_eq(status, STATUS_OK, "%s", error.text);
    cr_assert_eq(change.kind, CHANGE_PUT);
    cr_assert_eq(change.family, 1);
    cr_assert(bytes_equal(change.qualifier, bytes_of_text("q")));
    return change;
}

static void assert_refused(const struct rmw_rule *rules,
                           size_t count,
                           enum status status,
                           const char *text)
{
    struct error error;
    cr_assert_eq(rmw_check(&table, bytes_of_text("row1"), rules, count, &error), status);
    cr_assert_str_eq(error.text, text);
}

Test(rmw, check)
{
    struct rmw_rule rules[] = {rule_of(RMW_APPEND, "cf"), rule_of(RMW_INCREMENT, "cf")};
    cr_assert_eq(rmw_check(&table, bytes_of_text("r"), rules, 2, NULL), STATUS_OK);
    cr_assert_eq(rmw_check(&table, BYTES_EMPTY, rules, 2, NULL), STATUS_INVALID_ARGUMENT);
    assert_refused(rules, 0, STATUS_INVALID_ARGUMENT,
                   "Error in field 'rules' : there must be 1 to 100000 rules, not 0");
    rules[1] = rule_of(RMW_INCREMENT, "sum");
    assert_refused(rules, 2, STATUS_INVALID_ARGUMENT,
                   "Error while mutating the row 'row1' (t) : Column family type mismatch");
    rules[1] = rule_of(RMW_APPEND, "nope");
    assert_refused(rules, 2, STATUS_NOT_FOUND,
                   "Error while mutating the row 'row1' (t) : Requested column family not found: "
                   "'nope'");
    rules[1] = rule_of((enum rmw_kind)7, "cf");
    assert_refused(rules, 2, STATUS_INVALID_ARGUMENT,
                   "Error in field 'rules' : Error in element #1 : unknown kind of rule 7");
    rules[1] = rule_of(RMW_APPEND, "cf");
    rules[1].qualifier.size_bytes = LIMIT_QUALIFIER_BYTES + 1;
    assert_refused(rules, 2, STATUS_INVALID_ARGUMENT,
                   "Error in field 'rules' : Error in element #1 : Error in field "
                   "'column_qualifier' : 16385 bytes, the limit is 16384");
}

Test(rmw, increment)
{
    struct arena arena;
    arena_init(&arena, 1024, SIZE_MAX);
    struct rmw_rule rule = rule_of(RMW_INCREMENT, "cf");
    struct rmw_current none = {.found = false, .value = bytes_of_text("junk")};
    struct change change = apply(&rule, &none, &arena);
    cr_assert_eq(change.value.size_bytes, 8);
    cr_assert_eq(load_be64(change.value.data), 5);
    cr_assert_eq(change.timestamp_us, NOW_US - 456);

    uint8_t value[8];
    store_be64(value, (uint64_t)INT64_MAX);
    struct rmw_current current = {
        .found = true, .timestamp_us = NOW_US + 1000000, .value = bytes_of(value, 8)};
    change = apply(&rule, &current, &arena);
    cr_assert_eq((int64_t)load_be64(change.value.data), INT64_MIN + 4); /* wraps */
    cr_assert_eq(change.timestamp_us, NOW_US + 1000000);                /* never behind the cell */
    rule.increment = -5;
    store_be64(value, 3);
    cr_assert_eq((int64_t)load_be64(apply(&rule, &current, &arena).value.data), -2);

    struct error error;
    current.value.size_bytes = 7;
    cr_assert_eq(rmw_apply(&table, &rule, 1, &current, NOW_US, &arena, &change, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text,
                     "Error in field 'increment_amount' : the value of column 'q' is 7 bytes, not "
                     "a 64-bit big-endian integer");
    current.value.size_bytes = 0;
    cr_assert_eq(rmw_apply(&table, &rule, 1, &current, NOW_US, &arena, &change, &error),
                 STATUS_INVALID_ARGUMENT);
    arena_deinit(&arena);
}

Test(rmw, append)
{
    struct arena arena;
    arena_init(&arena, 1024, SIZE_MAX);
    struct rmw_rule rule = rule_of(RMW_APPEND, "cf");
    struct rmw_current none = {.found = false};
    cr_assert(bytes_equal(apply(&rule, &none, &arena).value, bytes_of_text("xyz")));
    struct rmw_current current = {.found = true, .value = bytes_of_text("abc")};
    cr_assert(bytes_equal(apply(&rule, &current, &arena).value, bytes_of_text("abcxyz")));
    rule.append = BYTES_EMPTY;
    cr_assert(bytes_equal(apply(&rule, &current, &arena).value, bytes_of_text("abc")));
    cr_assert_eq(apply(&rule, &none, &arena).value.size_bytes, 0);

    struct change change;
    struct error error;
    rule.append = bytes_of_text("ab");
    current.value.size_bytes = LIMIT_VALUE_BYTES - 1; /* refused before it is read */
    cr_assert_eq(rmw_apply(&table, &rule, 1, &current, NOW_US, &arena, &change, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(
        error.text,
        "Error in field 'append_value' : the value would be 104857601 bytes, the limit is "
        "104857600");
    arena_deinit(&arena);
}

/* What one leaves is what the next one finds. */
static void assert_value(const struct rmw_rule *rules,
                         size_t count,
                         const struct rmw_current *current,
                         const char *value,
                         size_t size)
{
    struct arena arena;
    struct change change;
    struct error error = {0};
    arena_init(&arena, 1024, SIZE_MAX);
    cr_assert_eq(rmw_apply(&table, rules, count, current, NOW_US, &arena, &change, &error),
                 STATUS_OK, "%s", error.text);
    cr_assert(bytes_equal(change.value, bytes_of(value, size)));
    arena_deinit(&arena);
}

Test(rmw, rules_of_a_column_follow_one_another)
{
    struct rmw_rule rules[] = {rule_of(RMW_INCREMENT, "cf"), rule_of(RMW_APPEND, "cf"),
                               rule_of(RMW_APPEND, "cf")};
    struct rmw_current none = {.found = false, .value = bytes_of_text("junk")};
    struct rmw_current eight = {.found = true, .value = bytes_of("\0\0\0\0\0\0\1\1", 8)};
    assert_value(rules, 3, &none, "\0\0\0\0\0\0\0\5xyzxyz", 14);
    assert_value(rules, 3, &eight, "\0\0\0\0\0\0\1\6xyzxyz", 14);
    assert_value(rules + 1, 2, &none, "xyzxyz", 6);
    rules[0] = rule_of(RMW_APPEND, "cf");
    rules[0].append = bytes_of_text("12345");
    rules[2] = rule_of(RMW_INCREMENT, "cf"); /* of eight bytes that were not there before */
    assert_value(rules, 3, &none, "12345xy\177", 8);
}

Test(rmw, the_first_rule_that_cannot_be_applied_refuses_all)
{
    struct rmw_rule rules[] = {rule_of(RMW_APPEND, "cf"), rule_of(RMW_INCREMENT, "cf"),
                               rule_of(RMW_APPEND, "cf")};
    struct rmw_current none = {.found = false};
    struct arena arena;
    struct change change;
    struct error error;
    arena_init(&arena, 1024, SIZE_MAX);
    cr_assert_eq(rmw_apply(&table, rules, 3, &none, NOW_US, &arena, &change, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text,
                     "Error in field 'increment_amount' : the value of column 'q' is 3 bytes, not "
                     "a 64-bit big-endian integer");
    rules[0].append = BYTES_EMPTY; /* leaves an empty cell, which is none of eight bytes either */
    cr_assert_eq(rmw_apply(&table, rules, 3, &none, NOW_US, &arena, &change, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_eq(arena.used_bytes, 0);
    arena_deinit(&arena);
}

Test(rmw, micros_are_kept_where_the_table_has_them)
{
    struct arena arena;
    arena_init(&arena, 1024, SIZE_MAX);
    table.granularity = GRANULARITY_MICROS;
    struct rmw_rule rule = rule_of(RMW_APPEND, "cf");
    struct rmw_current none = {.found = false};
    cr_assert_eq(apply(&rule, &none, &arena).timestamp_us, NOW_US);
    arena_deinit(&arena);
}

Test(rmw, failing_allocation_is_a_status)
{
    const enum rmw_kind kinds[] = {RMW_APPEND, RMW_INCREMENT};
    for (size_t i = 0; i < 2; i++) {
        struct arena arena;
        struct change change;
        struct error error;
        struct rmw_current none = {.found = false};
        struct rmw_rule rule = rule_of(kinds[i], "cf");
        arena_init(&arena, 16, SIZE_MAX);
        memory_fail_arm(0, 0);
        cr_assert_eq(rmw_apply(&table, &rule, 1, &none, NOW_US, &arena, &change, &error),
                     STATUS_NO_MEMORY);
        memory_fail_disarm();
        cr_assert_eq(error.status, STATUS_NO_MEMORY);
        arena_deinit(&arena);
    }
}

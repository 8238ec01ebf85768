/* Horizons: what is said, what replaces what, and what may be erased by it. */
#include <criterion/criterion.h>

#include "tabletserver/storage/record/horizon.h"

#define NOW INT64_C(1700000000000000)

static struct family families[] = {
    {.number = 1, .name = {(const uint8_t *)"aged", 4}, .gc = {.kind = GC_AGE, .age_us = 1000}},
    {.number = 3, .name = {(const uint8_t *)"two", 3}, .gc = {.kind = GC_VERSIONS, .versions = 2}},
};
static const struct table table = {
    .number = 1, .version = 7, .family_number_next = 5, .families = families, .family_count = 2};

static struct horizon items[2] = {{1, 7, NOW, 10}};
static struct horizon_list list;

static void setup(void)
{
    items[0] = (struct horizon){1, 7, NOW, 10};
    list = (struct horizon_list){items, 1};
}

TestSuite(horizon, .init = setup);

static struct gc_rule age(int64_t age_us)
{
    return (struct gc_rule){.kind = GC_AGE, .age_us = age_us};
}

Test(horizon, age_of_lists)
{
    struct gc_rule children[3] = {age(5000), age(2000), {.kind = GC_VERSIONS, .versions = 1}};
    int64_t found_us = 0;
    struct gc_rule rule = {.kind = GC_UNION, .children = children, .child_count = 3};
    cr_assert(horizon_age_of(&rule, &found_us));
    cr_assert_eq(found_us, 2000, "a union drops what its youngest age drops");
    cr_assert_not(horizon_does_all(&rule));
    rule.kind = GC_INTERSECTION;
    cr_assert_not(horizon_age_of(&rule, &found_us), "by age alone it drops nothing");
    rule.child_count = 2;
    cr_assert(horizon_age_of(&rule, &found_us));
    cr_assert_eq(found_us, 5000, "an intersection of ages drops what its oldest does");
    cr_assert(horizon_does_all(&rule));
    cr_assert_not(horizon_age_of(&children[2], &found_us));
}

Test(horizon, newer_rules_replace_and_the_same_one_moves_on)
{
    cr_assert(horizon_raise(&list, &(struct horizon){1, 7, NOW - 1, 11}));
    cr_assert_eq(items[0].sequence, 10, "never back");
    cr_assert(horizon_raise(&list, &(struct horizon){1, 7, NOW + 1, 12}));
    cr_assert_eq(items[0].sequence, 12);
    cr_assert(horizon_raise(&list, &(struct horizon){1, 6, NOW + 9, 13}));
    cr_assert_eq(items[0].sequence, 12, "of a former rule");
    cr_assert(horizon_raise(&list, &(struct horizon){1, 8, NOW - 9, 14}));
    cr_assert_eq(items[0].horizon_us, NOW - 9, "whatever the new one reaches to");
    cr_assert_not(horizon_raise(&list, &(struct horizon){3, 8, NOW, 15}));
    cr_assert_null(horizon_find(&list, 3));
}

Test(horizon, what_is_dropped_from_the_log_is_forgotten)
{
    items[1] = (struct horizon){3, 7, NOW, 20};
    list.count = 2;
    horizon_forget_above(&list, 10);
    cr_assert_eq(list.count, 1);
    cr_assert_not_null(horizon_find(&list, 1));
    horizon_forget_above(&list, 9);
    cr_assert_eq(list.count, 0);
}

Test(horizon, is_said_by_age_when_it_has_moved)
{
    struct record_gc_horizon said;
    cr_assert_not(horizon_is_due(&list, &table, &families[0], NOW + 1000, &said));
    cr_assert(horizon_is_due(&list, &table, &families[0], NOW + 1001, &said));
    cr_assert_eq(said.horizon_us, NOW + 1);
    cr_assert_eq(said.rule_version, 7);
    cr_assert_not(horizon_is_due(&list, &table, &families[1], NOW + 1001, &said));
    items[0].rule_version = 6;
    cr_assert(horizon_is_due(&list, &table, &families[0], NOW, &said), "of another rule");
    cr_assert_not(horizon_is_due(&list, &table, &families[0], 1000, &said),
                  "before there was time");
}

Test(horizon, erases_below_what_is_committed_and_of_this_schema)
{
    cr_assert(horizon_may_erase(&list, &table, 10, 1, NOW - 1));
    cr_assert_not(horizon_may_erase(&list, &table, 10, 1, NOW));
    cr_assert_not(horizon_may_erase(&list, &table, 9, 1, NOW - 1), "it may yet be dropped");
    cr_assert_not(horizon_all_committed(&list, 9));
    cr_assert(horizon_all_committed(&list, 10));
    cr_assert_not(horizon_may_erase(&list, &table, 10, 3, NOW - 1), "nothing was said of it");
    cr_assert(horizon_may_erase(&list, &table, 10, 2, NOW), "its family is dropped");
    cr_assert_not(horizon_may_erase(&list, &table, 10, 5, 0), "of a schema that is to come");
    items[0].rule_version = 6;
    cr_assert_not(horizon_may_erase(&list, &table, 10, 1, NOW - 1), "of a rule that is over");
}

/* Else a copy that has erased by it, and one that has not yet, would show different cells. */
Test(horizon, copies_are_compared_as_of_what_was_said_to_have_expired)
{
    cr_assert_eq(horizon_time_us(&list, &table, NOW + 5000), NOW + 5000);
    cr_assert_eq(horizon_time_us(&list, &table, NOW + 900), NOW + 1000, "a clock ahead said so");
    items[0].horizon_us = INT64_MAX;
    cr_assert_eq(horizon_time_us(&list, &table, NOW), NOW, "no moment is as late");
    items[0] = (struct horizon){3, 7, NOW + 9, 10};
    cr_assert_eq(horizon_time_us(&list, &table, NOW), NOW, "its family has a rule without an age");
}

/* Where the rule was relaxed, what is written now may lie below a horizon that a copy with the older schema goes by. */
Test(horizon, a_newer_schema_is_said_before_anything_is_written_under_it)
{
    struct table newer = table;
    struct record_gc_horizon said;
    newer.version = 8;
    cr_assert_not(horizon_must_say(&list, &table, &families[0], &said));
    cr_assert(horizon_must_say(&list, &newer, &families[0], &said));
    cr_assert(horizon_raise(&list, &(struct horizon){1, said.rule_version, said.horizon_us, 20}));
    cr_assert_not(horizon_may_erase(&list, &table, 20, 1, 5), "by the older one it would be");
    cr_assert_not(horizon_may_erase(&list, &newer, 20, 1, INT64_MIN));
    cr_assert_not(horizon_must_say(&list, &newer, &families[0], &said), "once is enough");
    cr_assert(horizon_is_due(&list, &newer, &families[0], NOW + 1000, &said));
    struct family none = {.number = 4};
    cr_assert(horizon_must_say(&list, &newer, &families[1], &said), "a rule without an age");
    cr_assert_not(horizon_must_say(&list, &newer, &none, &said), "no rule, and never one");
}

Test(horizon, who_has_an_older_schema_judges_nothing)
{
    struct table older = table;
    struct record_gc_horizon said;
    older.version = 6;
    cr_assert_not(horizon_is_outdated(&list, &table));
    cr_assert(horizon_is_outdated(&list, &older));
    cr_assert_not(horizon_is_due(&list, &older, &families[0], NOW + 5000, &said));
}

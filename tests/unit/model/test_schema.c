#include <criterion/criterion.h>

#include "common/base/memory.h"
#include "common/base/prng.h"
#include "common/model/schema.h"

#define DAY_US (INT64_C(86400) * 1000 * 1000)

static struct arena new_arena(void)
{
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    return arena;
}

static struct gc_rule parse(struct arena *arena, const char *text)
{
    struct gc_rule rule = {.kind = GC_NONE};
    struct error error;
    enum status status = gc_rule_parse(arena, text, &rule, &error);
    cr_assert_eq(status, STATUS_OK, "%s: %s", text, error.text);
    return rule;
}

static void assert_format(const struct gc_rule *rule, const char *wanted)
{
    struct buffer out = BUFFER_INIT;
    gc_rule_format(rule, &out);
    cr_assert(bytes_equal(buffer_bytes(&out), bytes_of_text(wanted)), "%.*s, not %s",
              (int)out.size_bytes, (const char *)out.data, wanted);
    buffer_deinit(&out);
}

static struct family families[] = {
    {.number = 1, .name = {(const uint8_t *)"cf", 2}},
    {.number = 4, .name = {(const uint8_t *)"stats", 5}, .aggregate = AGGREGATE_INTSUM},
    {.number = 9, .name = {(const uint8_t *)"x", 1}},
};

static const struct table table = {
    .number = 3,
    .version = 7,
    .id = {(const uint8_t *)"metric", 6},
    .families = families,
    .family_count = 3,
    .family_number_next = 10,
};

Test(table, families_by_name_and_number)
{
    cr_assert_eq(table_family_by_name(&table, bytes_of_text("stats")), &families[1]);
    cr_assert_null(table_family_by_name(&table, bytes_of_text("stat")));
    for (uint32_t number = 0; number <= 10; number++) {
        const struct family *family = table_family_by_number(&table, number);
        bool exists = number == 1 || number == 4 || number == 9;
        cr_assert_eq(family != NULL, exists);
        cr_assert(!exists || family->number == number);
    }
}

Test(table, names)
{
    struct error error;
    cr_assert_eq(table_id_check(bytes_of_text("_a-b.C9"), &error), STATUS_OK);
    cr_assert_eq(table_id_check(bytes_of_text("-a"), &error), STATUS_INVALID_ARGUMENT);
    cr_assert_eq(table_id_check(bytes_of_text("a b"), &error), STATUS_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "'a b'"));
    char name[LIMIT_FAMILY_NAME_BYTES + 2];
    memset(name, 'n', sizeof name);
    cr_assert_eq(table_id_check(bytes_of(name, LIMIT_TABLE_ID_BYTES), &error), STATUS_OK);
    cr_assert_eq(table_id_check(bytes_of(name, LIMIT_TABLE_ID_BYTES + 1), &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_eq(family_name_check(bytes_of(name, LIMIT_FAMILY_NAME_BYTES), &error), STATUS_OK);
    cr_assert_eq(family_name_check(bytes_of(name, LIMIT_FAMILY_NAME_BYTES + 1), &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_eq(family_name_check(bytes_of_text("-.x"), &error), STATUS_OK);
    cr_assert_eq(family_name_check(bytes_of_text("a:b"), &error), STATUS_INVALID_ARGUMENT);
    cr_assert_eq(family_name_check(BYTES_EMPTY, &error), STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text,
                     "Invalid id for collection columnFamilies : Length should be between [1,64], "
                     "but found 0 ''");
}

static void expect_refused(struct family changed, uint32_t index, const char *text)
{
    struct family own[3];
    struct table bad = table;
    struct error error = {.status = STATUS_OK};

    memcpy(own, families, sizeof own);
    own[index] = changed;
    bad.families = own;
    cr_assert_eq(table_check(&bad, &error), STATUS_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.text, text), "'%s'", error.text);
}

Test(table, whole_schemas_are_checked)
{
    struct table bad = table;

    cr_assert_eq(table_check(&table, NULL), STATUS_OK);
    bad.id = bytes_of_text("-metric");
    cr_assert_eq(table_check(&bad, NULL), STATUS_INVALID_ARGUMENT);

    struct family changed = families[1];
    changed.number = 1;
    expect_refused(changed, 1, "family 1 follows family 1");
    changed.number = 0;
    expect_refused(changed, 0, "family 0 follows family 0");
    changed.number = 10;
    expect_refused(changed, 2, "the next one would be 10");
    changed = families[2];
    changed.name = families[0].name;
    expect_refused(changed, 2, "two families are named 'cf'");
    changed.name = bytes_of_text("a/b");
    expect_refused(changed, 2, "columnFamilies");
    changed = families[2];
    changed.gc = (struct gc_rule){.kind = GC_VERSIONS, .versions = 0};
    expect_refused(changed, 2, "max_num_versions");
}

Test(gc_rule, text_forms)
{
    static const char *const FORMS[] = {
        "never",
        "maxversions=3",
        "maxage=10d",
        "maxage=1h or maxversions=2",
        "maxage=1h and maxversions=2",
        "maxage=90m or maxage=1500us or maxage=14d",
        "(maxage=1d and maxversions=2) or maxversions=9",
        "(maxversions=1 or maxage=5s) and maxage=7ms",
    };
    struct arena arena = new_arena();
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        struct gc_rule rule = parse(&arena, FORMS[i]);
        assert_format(&rule, FORMS[i]);
    }
    arena_deinit(&arena);
}

Test(gc_rule, and_binds_tighter_than_or)
{
    struct arena arena = new_arena();
    struct gc_rule rule = parse(&arena, "maxversions=1 or maxversions=2 and maxage=2w");
    cr_assert_eq(rule.kind, GC_UNION);
    cr_assert_eq(rule.child_count, 2);
    cr_assert_eq(rule.children[1].kind, GC_INTERSECTION);
    cr_assert_eq(rule.children[1].children[1].age_us, 14 * DAY_US);
    rule = parse(&arena, "((maxversions=1))");
    cr_assert_eq(rule.kind, GC_VERSIONS);
    rule = parse(&arena, "maxage=1d && maxversions=2 || maxversions=5");
    assert_format(&rule, "(maxage=1d and maxversions=2) or maxversions=5");
    arena_deinit(&arena);
}

Test(gc_rule, bad_texts_name_the_word)
{
    static const char *const BAD[][2] = {
        {"", "ends too early"},
        {"maxversions", "'maxversions'"},
        {"maxversions=", "'maxversions='"},
        {"maxversions=0", "at least 1"},
        {"maxversions=3x", "'maxversions=3x'"},
        {"maxversions=99999999999", "'maxversions=99999999999'"},
        {"maxage=10", "'maxage=10'"},
        {"maxage=10y", "'maxage=10y'"},
        {"maxage=999us", "at least 1 millisecond"},
        {"maxage=99999999999999d", "'maxage=99999999999999d'"},
        {"maxage=1d or", "ends too early"},
        {"maxage=1d xor maxage=2d", "'xor'"},
        {"(maxage=1d", "ends too early"},
        {"maxage=1d)", "')'"},
        {"never or maxage=1d", "'or'"},
        {"maxage=1d or never", "'never'"},
        {"((((((((((((((((((((((maxversions=1))))))))))))))))))))))", "nested deeper"},
    };
    struct arena arena = new_arena();
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct gc_rule rule = {.kind = GC_AGE, .age_us = 42};
        struct error error = {.status = STATUS_OK};
        cr_assert_eq(gc_rule_parse(&arena, BAD[i][0], &rule, &error), STATUS_INVALID_ARGUMENT, "%s",
                     BAD[i][0]);
        cr_assert_not_null(strstr(error.text, BAD[i][1]), "%s: %s", BAD[i][0], error.text);
        cr_assert_eq(rule.age_us, 42);
    }
    arena_deinit(&arena);
}

Test(gc_rule, size_is_limited_as_serialized)
{
    /* A nested age of a day is {tag, length, {tag, length, {tag, varint(86400)}}} = 8 bytes. */
    struct gc_rule ages[63];
    for (size_t i = 0; i < 63; i++) {
        ages[i] = (struct gc_rule){.kind = GC_AGE, .age_us = DAY_US};
    }
    struct gc_rule rule = {.kind = GC_UNION, .children = ages, .child_count = 62};
    struct error error;
    cr_assert_eq(gc_rule_check(&rule, &error), STATUS_OK, "%s", error.text);
    rule.child_count = 63;
    cr_assert_eq(gc_rule_check(&rule, &error), STATUS_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "limit is 500"));

    /* One of a second and a half: {tag, length, {tag, length, {tag, 1, tag, varint(500000000)}}} = 12 bytes. */
    for (size_t i = 0; i < 63; i++) {
        ages[i].age_us = 1500000;
    }
    rule.child_count = 41;
    cr_assert_eq(gc_rule_check(&rule, &error), STATUS_OK, "%s", error.text);
    rule.child_count = 42;
    cr_assert_eq(gc_rule_check(&rule, &error), STATUS_INVALID_ARGUMENT);

    struct gc_rule empty = {.kind = GC_UNION};
    cr_assert_eq(gc_rule_check(&empty, &error), STATUS_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "'union'"), "%s", error.text);
    empty.kind = GC_INTERSECTION;
    cr_assert_eq(gc_rule_check(&empty, &error), STATUS_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "'intersection'"), "%s", error.text);
    struct gc_rule none = {.kind = GC_NONE};
    cr_assert_eq(gc_rule_check(&none, &error), STATUS_OK);
    struct gc_rule holds_none = {.kind = GC_UNION, .children = &none, .child_count = 1};
    cr_assert_eq(gc_rule_check(&holds_none, &error), STATUS_INVALID_ARGUMENT);
    struct gc_rule unknown = {.kind = (enum gc_kind)9};
    cr_assert_eq(gc_rule_check(&unknown, &error), STATUS_INVALID_ARGUMENT);
}

Test(gc_rule, drops)
{
    struct arena arena = new_arena();
    const int64_t now = 100 * DAY_US;
    struct gc_rule versions = parse(&arena, "maxversions=2");
    cr_assert_not(gc_rule_drops(&versions, 1, 0, now));
    cr_assert(gc_rule_drops(&versions, 2, now, now));
    struct gc_rule age = parse(&arena, "maxage=10d");
    cr_assert_not(gc_rule_drops(&age, 99, 90 * DAY_US, now));
    cr_assert(gc_rule_drops(&age, 0, 90 * DAY_US - 1, now));
    cr_assert_not(gc_rule_drops(&age, 0, INT64_MAX, now));
    struct gc_rule either = parse(&arena, "maxage=10d or maxversions=2");
    cr_assert(gc_rule_drops(&either, 2, now, now));
    cr_assert(gc_rule_drops(&either, 0, 0, now));
    cr_assert_not(gc_rule_drops(&either, 1, now, now));
    struct gc_rule both = parse(&arena, "maxage=10d and maxversions=2");
    cr_assert_not(gc_rule_drops(&both, 2, now, now));
    cr_assert_not(gc_rule_drops(&both, 1, 0, now));
    cr_assert(gc_rule_drops(&both, 2, 0, now));
    struct gc_rule never = parse(&arena, "never");
    cr_assert_not(gc_rule_drops(&never, 1000000, 0, now));
    arena_deinit(&arena);
}

static struct gc_rule random_rule(struct prng *prng, struct arena *arena, int depth)
{
    uint64_t pick = prng_below(prng, depth > 0 ? 4 : 2);
    if (pick == 0) {
        return (struct gc_rule){.kind = GC_VERSIONS, .versions = 1 + (uint32_t)prng_below(prng, 9)};
    }
    if (pick == 1) {
        return (struct gc_rule){.kind = GC_AGE,
                                .age_us = 1000 + (int64_t)prng_below(prng, 1 << 30)};
    }
    uint32_t count = 2 + (uint32_t)prng_below(prng, 3);
    struct gc_rule *children = arena_allocate_array(arena, count, sizeof *children);
    for (uint32_t i = 0; i < count; i++) {
        children[i] = random_rule(prng, arena, depth - 1);
    }
    return (struct gc_rule){
        .kind = pick == 2 ? GC_UNION : GC_INTERSECTION, .children = children, .child_count = count};
}

static bool rules_equal(const struct gc_rule *a, const struct gc_rule *b)
{
    bool equal = a->kind == b->kind && a->versions == b->versions && a->age_us == b->age_us &&
                 a->child_count == b->child_count;
    for (uint32_t i = 0; equal && i < a->child_count; i++) {
        equal = rules_equal(&a->children[i], &b->children[i]);
    }
    return equal;
}

Test(gc_rule, random_rules_survive_text_and_copy_and_are_monotone)
{
    struct arena arena = new_arena();
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct prng prng = prng_of_seed(seed);
        struct buffer text = BUFFER_INIT;
        struct gc_rule back;
        struct gc_rule copy;
        arena_reset(&arena);
        struct gc_rule rule = random_rule(&prng, &arena, 2);
        cr_assert_eq(gc_rule_copy(&arena, &rule, &copy), STATUS_OK);
        cr_assert(rules_equal(&rule, &copy));
        gc_rule_format(&rule, &text);
        buffer_append_u8(&text, 0);
        cr_assert_eq(gc_rule_parse(&arena, (const char *)text.data, &back, NULL), STATUS_OK);
        cr_assert(rules_equal(&rule, &back), "%s", (const char *)text.data);
        buffer_deinit(&text);

        bool dropped = false;
        for (uint64_t index = 0; index < 12; index++) {
            int64_t timestamp_us = (int64_t)(12 - index) << 27;
            bool drops = gc_rule_drops(&rule, index, timestamp_us, INT64_C(12) << 27);
            cr_assert(drops || !dropped); /* what the header promises to readers */
            dropped = drops;
        }
    }
    arena_deinit(&arena);
}

Test(table, copy_is_deep_and_its_failures_are_statuses)
{
    struct gc_rule children[] = {{.kind = GC_VERSIONS, .versions = 1},
                                 {.kind = GC_AGE, .age_us = 5000}};
    struct family own[3];
    memcpy(own, families, sizeof own);
    own[2].gc = (struct gc_rule){.kind = GC_UNION, .children = children, .child_count = 2};
    struct table original = table;
    original.families = own;
    bool done = false;
    for (uint64_t after = 0; !done; after++) {
        struct arena arena;
        struct table copy = {.number = 0};
        arena_init(&arena, 16, SIZE_MAX);
        memory_fail_arm(after, 0);
        enum status status = table_copy(&arena, &original, &copy);
        memory_fail_disarm();
        done = status == STATUS_OK;
        if (!done) {
            cr_assert_eq(status, STATUS_NO_MEMORY);
            cr_assert_eq(copy.number, 0);
        } else {
            cr_assert_gt(after, 3);
            cr_assert_eq(copy.version, 7);
            cr_assert(bytes_equal(copy.families[1].name, bytes_of_text("stats")));
            cr_assert_neq(copy.families[1].name.data, own[1].name.data);
            cr_assert_neq(copy.families[2].gc.children, children);
            cr_assert(rules_equal(&copy.families[2].gc, &own[2].gc));
        }
        arena_deinit(&arena);
    }
}

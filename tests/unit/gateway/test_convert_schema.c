/* Schemas to admin messages and back, by way of the wire. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "common/base/prng.h"
#include "gateway/convert/convert_schema.h"
#include "gateway/rpc/message.h"

typedef Google__Bigtable__Admin__V2__GcRule GcRule;
typedef Google__Bigtable__Admin__V2__Type Type;
typedef Google__Bigtable__Admin__V2__Table Table;

#define WIRE_BYTES_MAX 65536

static struct arena arena;
static uint8_t wire[WIRE_BYTES_MAX];

static void set_up(void)
{
    arena_init(&arena, 4096, SIZE_MAX);
}

static void tear_down(void)
{
    arena_deinit(&arena);
}

TestSuite(convert_schema, .init = set_up, .fini = tear_down);

/* As a stranger would have sent it. */
static ProtobufCMessage *sent(const ProtobufCMessage *message)
{
    struct error error = {0};
    ProtobufCMessage *received = NULL;
    size_t size = protobuf_c_message_get_packed_size(message);
    cr_assert_leq(size, sizeof wire);
    cr_assert_eq(protobuf_c_message_pack(message, wire), size);
    cr_assert_eq(
        message_decode(message->descriptor, bytes_of(wire, size), &arena, &received, &error),
        STATUS_OK, "%s", error.text);
    return received;
}

static ProtobufCMessage *decoded(const ProtobufCMessageDescriptor *descriptor,
                                 const void *data,
                                 size_t size)
{
    struct error error = {0};
    ProtobufCMessage *received = NULL;
    cr_assert_eq(message_decode(descriptor, bytes_of(data, size), &arena, &received, &error),
                 STATUS_OK, "%s", error.text);
    return received;
}

/* --- GC rules --------------------------------------------------------------------------------- */

static bool is_same_rule(const struct edubba_gc_rule *a, const struct edubba_gc_rule *b)
{
    if (a->kind != b->kind || a->versions != b->versions || a->age_us != b->age_us ||
        a->child_count != b->child_count) {
        return false;
    }
    for (size_t i = 0; i < a->child_count; i++) {
        if (!is_same_rule(&a->children[i], &b->children[i])) {
            return false;
        }
    }
    return true;
}

static struct edubba_gc_rule random_rule(struct prng *prng, int depth_max)
{
    struct edubba_gc_rule rule = {0};
    switch (prng_below(prng, depth_max > 1 ? 4 : 2)) {
    case 0:
        rule.kind = EDUBBA_GC_VERSIONS;
        rule.versions = 1 + (uint32_t)prng_below(prng, INT32_MAX);
        return rule;
    case 1:
        rule.kind = EDUBBA_GC_AGE;
        rule.age_us = (int64_t)prng_below(prng, prng_chance(prng, 2) ? 3000000 : INT64_MAX / 100);
        return rule;
    case 2:
        rule.kind = EDUBBA_GC_UNION;
        break;
    default:
        rule.kind = EDUBBA_GC_INTERSECTION;
        break;
    }
    rule.child_count = prng_below(prng, 4);
    struct edubba_gc_rule *children = arena_allocate_array(&arena, rule.child_count,
                                                           sizeof *children);
    for (size_t i = 0; i < rule.child_count; i++) {
        children[i] = random_rule(prng, depth_max - 1);
    }
    rule.children = children;
    return rule;
}

Test(convert_schema, rules_come_back_as_they_were)
{
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct prng prng = prng_of_seed(seed);
        struct edubba_gc_rule rule = random_rule(&prng, 5);
        struct edubba_gc_rule again;
        struct error error = {0};
        GcRule *message = NULL;
        cr_assert_eq(convert_gc_rule_back(&rule, &arena, &message), STATUS_OK);
        cr_assert_not_null(message);
        const GcRule *received = (const GcRule *)sent(&message->base);
        cr_assert_eq(convert_gc_rule(received, &arena, &again, &error), STATUS_OK, "%s",
                     error.text);
        cr_assert(is_same_rule(&rule, &again), "seed %llu", (unsigned long long)seed);
        arena_reset(&arena);
    }
}

Test(convert_schema, no_rule_and_an_empty_one_keep_everything)
{
    GcRule empty = GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__INIT;
    GcRule *back = &empty;
    struct edubba_gc_rule rule = {.kind = EDUBBA_GC_AGE};
    struct error error = {0};
    cr_assert_eq(convert_gc_rule(NULL, &arena, &rule, &error), STATUS_OK);
    cr_assert_eq(rule.kind, EDUBBA_GC_NONE);
    rule.kind = EDUBBA_GC_AGE;
    cr_assert_eq(convert_gc_rule(&empty, &arena, &rule, &error), STATUS_OK);
    cr_assert_eq(rule.kind, EDUBBA_GC_NONE);
    cr_assert_eq(convert_gc_rule_back(&rule, &arena, &back), STATUS_OK);
    cr_assert_null(back);
}

static enum status convert_versions(int32_t versions)
{
    GcRule message = GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__INIT;
    struct edubba_gc_rule rule;
    message.rule_case = GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE_MAX_NUM_VERSIONS;
    message.max_num_versions = versions;
    return convert_gc_rule(&message, &arena, &rule, NULL);
}

static enum status convert_age(int64_t seconds, int32_t nanos, int64_t *ret_age_us)
{
    GcRule message = GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__INIT;
    Google__Protobuf__Duration age = GOOGLE__PROTOBUF__DURATION__INIT;
    struct edubba_gc_rule rule = {0};
    age.seconds = seconds;
    age.nanos = nanos;
    message.rule_case = GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE_MAX_AGE;
    message.max_age = &age;
    enum status status = convert_gc_rule(&message, &arena, &rule, NULL);
    *ret_age_us = rule.age_us;
    return status;
}

Test(convert_schema, numbers_that_do_not_fit_are_refused)
{
    int64_t age_us = 0;
    cr_assert_eq(convert_versions(1), STATUS_OK);
    cr_assert_eq(convert_versions(0), STATUS_INVALID_ARGUMENT);
    cr_assert_eq(convert_versions(-1), STATUS_INVALID_ARGUMENT);
    cr_assert_eq(convert_age(1, 2999, &age_us), STATUS_OK);
    cr_assert_eq(age_us, 1000002, "cut to microseconds");
    cr_assert_eq(convert_age(INT64_C(315576000000), 999999999, &age_us), STATUS_OK);
    cr_assert_eq(age_us, INT64_C(315576000000999999));
    cr_assert_eq(convert_age(INT64_C(315576000001), 0, &age_us), STATUS_INVALID_ARGUMENT);
    cr_assert_eq(convert_age(INT64_MAX, 0, &age_us), STATUS_INVALID_ARGUMENT);
    cr_assert_eq(convert_age(-1, 0, &age_us), STATUS_INVALID_ARGUMENT);
    cr_assert_eq(convert_age(0, -1, &age_us), STATUS_INVALID_ARGUMENT);
    cr_assert_eq(convert_age(0, 1000000000, &age_us), STATUS_INVALID_ARGUMENT);
}

/* So many unions around one rule. */
static enum status convert_nested(int depth)
{
    static Google__Bigtable__Admin__V2__GcRule__Union unions[32];
    static GcRule rules[32];
    static GcRule *lists[32];
    struct edubba_gc_rule rule;
    for (int i = 0; i < depth; i++) {
        google__bigtable__admin__v2__gc_rule__init(&rules[i]);
        if (i == 0) {
            rules[i].rule_case = GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE_MAX_NUM_VERSIONS;
            rules[i].max_num_versions = 1;
            continue;
        }
        google__bigtable__admin__v2__gc_rule__union__init(&unions[i]);
        lists[i] = &rules[i - 1];
        unions[i].rules = &lists[i];
        unions[i].n_rules = 1;
        rules[i].rule_case = GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE_UNION;
        rules[i].union_ = &unions[i];
    }
    return convert_gc_rule(&rules[depth - 1], &arena, &rule, NULL);
}

Test(convert_schema, nesting_has_an_end)
{
    cr_assert_eq(convert_nested(1), STATUS_OK);
    cr_assert_eq(convert_nested(20), STATUS_OK);
    cr_assert_eq(convert_nested(21), STATUS_INVALID_ARGUMENT);
    cr_assert_eq(convert_nested(32), STATUS_INVALID_ARGUMENT);
}

/* --- types ------------------------------------------------------------------------------------ */

/* As the API's numbers have it, written by hand. */
#define INT64_WIRE "\x2a\x04\x0a\x02\x0a\x00"
#define BYTES_WIRE "\x0a\x04\x0a\x02\x0a\x00"

struct type_case {
    enum edubba_aggregate aggregate;
    const char *wire;
    size_t size;
};

#define AGGREGATE_WIRE(input, state, aggregator) \
    "\x32\x12\x0a\x06" input "\x12\x06" state aggregator "\x00"
#define TYPE_CASE(aggregate, input, state, aggregator)          \
    {                                                           \
        aggregate, AGGREGATE_WIRE(input, state, aggregator),    \
            sizeof AGGREGATE_WIRE(input, state, aggregator) - 1 \
    }

static const struct type_case TYPE_CASES[] = {
    TYPE_CASE(EDUBBA_INTSUM, INT64_WIRE, INT64_WIRE, "\x22"),
    TYPE_CASE(EDUBBA_INTHLL, INT64_WIRE, BYTES_WIRE, "\x2a"),
    TYPE_CASE(EDUBBA_INTMAX, INT64_WIRE, INT64_WIRE, "\x32"),
    TYPE_CASE(EDUBBA_INTMIN, INT64_WIRE, INT64_WIRE, "\x3a"),
    TYPE_CASE(EDUBBA_BYTESHLL, BYTES_WIRE, BYTES_WIRE, "\x2a"),
};

#define TYPE_CASE_COUNT (sizeof TYPE_CASES / sizeof TYPE_CASES[0])

Test(convert_schema, aggregates_are_written_as_the_api_has_them)
{
    for (size_t i = 0; i < TYPE_CASE_COUNT; i++) {
        const Type *type = convert_value_type_back(TYPE_CASES[i].aggregate);
        cr_assert_eq(protobuf_c_message_get_packed_size(&type->base), TYPE_CASES[i].size);
        size_t size = protobuf_c_message_pack(&type->base, wire);
        cr_assert_eq(size, TYPE_CASES[i].size);
        cr_assert_eq(memcmp(wire, TYPE_CASES[i].wire, size), 0, "aggregate #%zu", i);
    }
    cr_assert_null(convert_value_type_back(EDUBBA_PLAIN));
}

Test(convert_schema, aggregates_are_read_back)
{
    for (size_t i = 0; i < TYPE_CASE_COUNT; i++) {
        enum edubba_aggregate aggregate = EDUBBA_PLAIN;
        struct error error = {0};
        const Type *type = (const Type *)decoded(&google__bigtable__admin__v2__type__descriptor,
                                                 TYPE_CASES[i].wire, TYPE_CASES[i].size);
        cr_assert_eq(convert_value_type(type, &aggregate, &error), STATUS_OK, "%s", error.text);
        cr_assert_eq(aggregate, TYPE_CASES[i].aggregate);
    }
}

static enum status convert_type_wire(const char *data, size_t size, enum edubba_aggregate *ret)
{
    struct error error = {0};
    const Type *type = (const Type *)decoded(&google__bigtable__admin__v2__type__descriptor, data,
                                             size);
    enum status status = convert_value_type(type, ret, &error);
    cr_assert(status == STATUS_OK || error.text[0] != '\0', "an error says what was wrong");
    return status;
}

#define CONVERT(literal) convert_type_wire((literal), sizeof(literal) - 1, &aggregate)

Test(convert_schema, types_in_other_words)
{
    enum edubba_aggregate aggregate = EDUBBA_INTSUM;
    cr_assert_eq(CONVERT(""), STATUS_OK);
    cr_assert_eq(aggregate, EDUBBA_PLAIN);
    aggregate = EDUBBA_INTSUM;
    cr_assert_eq(CONVERT(BYTES_WIRE), STATUS_OK);
    cr_assert_eq(aggregate, EDUBBA_PLAIN);
    /* A sum of Int64 without an encoding, without a state. */
    cr_assert_eq(CONVERT("\x32\x06\x0a\x02\x2a\x00\x22\x00"), STATUS_OK);
    cr_assert_eq(aggregate, EDUBBA_INTSUM);
}

Test(convert_schema, types_that_are_not_served)
{
    enum edubba_aggregate aggregate = EDUBBA_INTMAX;
    cr_assert_eq(CONVERT("\x12\x00"), STATUS_UNIMPLEMENTED, "a string");
    cr_assert_eq(CONVERT("\x2a\x00"), STATUS_UNIMPLEMENTED, "an integer that is not added to");
    cr_assert_eq(CONVERT("\x32\x04\x0a\x02\x2a\x00"), STATUS_INVALID_ARGUMENT, "no aggregator");
    cr_assert_eq(CONVERT("\x32\x02\x22\x00"), STATUS_INVALID_ARGUMENT, "a sum of nothing");
    cr_assert_eq(CONVERT("\x32\x06\x0a\x02\x0a\x00\x22\x00"), STATUS_INVALID_ARGUMENT,
                 "a sum of bytes");
    cr_assert_eq(CONVERT("\x32\x0a\x0a\x06\x2a\x04\x0a\x02\x12\x00\x22\x00"),
                 STATUS_INVALID_ARGUMENT, "a sum of integers as ordered code");
    cr_assert_eq(CONVERT("\x32\x02\x2a\x00"), STATUS_INVALID_ARGUMENT, "a count of nothing");
    cr_assert_eq(CONVERT("\x32\x06\x0a\x02\x12\x00\x2a\x00"), STATUS_UNIMPLEMENTED,
                 "a count of strings");
    cr_assert_eq(aggregate, EDUBBA_INTMAX, "untouched on failure");
}

/* --- tables ----------------------------------------------------------------------------------- */

static const struct edubba_family FAMILIES[] = {
    {"a", EDUBBA_PLAIN, {.kind = EDUBBA_GC_VERSIONS, .versions = 3}},
    {"b", EDUBBA_INTSUM, {.kind = EDUBBA_GC_NONE}},
    {"c", EDUBBA_BYTESHLL, {.kind = EDUBBA_GC_AGE, .age_us = 86400000000}},
};

static const struct edubba_schema SCHEMA = {
    .name = "T",
    .micros = true,
    .deletion_protection = true,
    .families = FAMILIES,
    .family_count = 3,
};

Test(convert_schema, a_table_comes_back_as_it_was)
{
    Table table = GOOGLE__BIGTABLE__ADMIN__V2__TABLE__INIT;
    struct edubba_schema again;
    struct error error = {0};
    cr_assert_eq(convert_schema_back(&SCHEMA, &arena, &table), STATUS_OK);
    cr_assert_neq(table.column_families[0]->key, FAMILIES[0].name, "borrowed");
    const Table *received = (const Table *)sent(&table.base);
    cr_assert_eq(convert_schema(received, "T", &arena, &again, &error), STATUS_OK, "%s",
                 error.text);
    cr_assert_str_eq(again.name, "T");
    cr_assert(again.micros && again.deletion_protection);
    cr_assert_eq(again.family_count, 3);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_str_eq(again.families[i].name, FAMILIES[i].name);
        cr_assert_eq(again.families[i].aggregate, FAMILIES[i].aggregate);
        cr_assert(is_same_rule(&again.families[i].gc, &FAMILIES[i].gc));
    }
}

Test(convert_schema, families_are_ordered_by_name)
{
    /* "b" without a value, then "a" with one. */
    static const char data[] = "\x1a\x03\x0a\x01\x62\x1a\x05\x0a\x01\x61\x12\x00";
    struct edubba_schema schema;
    struct error error = {0};
    const Table *table = (const Table *)decoded(&google__bigtable__admin__v2__table__descriptor,
                                                data, sizeof data - 1);
    cr_assert_eq(convert_schema(table, "T", &arena, &schema, &error), STATUS_OK, "%s", error.text);
    cr_assert_eq(schema.family_count, 2);
    cr_assert_str_eq(schema.families[0].name, "a");
    cr_assert_str_eq(schema.families[1].name, "b");
    cr_assert_eq(schema.families[1].gc.kind, EDUBBA_GC_NONE);
    cr_assert_not(schema.micros);
}

static enum status convert_table_wire(const char *data, size_t size)
{
    struct edubba_schema schema;
    struct error error = {0};
    const Table *table = (const Table *)decoded(&google__bigtable__admin__v2__table__descriptor,
                                                data, size);
    return convert_schema(table, "T", &arena, &schema, &error);
}

#define CONVERT_TABLE(literal) convert_table_wire((literal), sizeof(literal) - 1)

Test(convert_schema, what_cannot_be_had_is_refused)
{
    cr_assert_eq(CONVERT_TABLE(""), STATUS_OK);
    cr_assert_eq(CONVERT_TABLE("\x20\x01"), STATUS_OK, "MILLIS");
    cr_assert_eq(CONVERT_TABLE("\x20\x03"), STATUS_INVALID_ARGUMENT, "no such granularity");
    cr_assert_eq(CONVERT_TABLE("\x42\x00"), STATUS_UNIMPLEMENTED, "a change stream");
    cr_assert_eq(CONVERT_TABLE("\x6a\x00"), STATUS_UNIMPLEMENTED, "automated backups");
    cr_assert_eq(CONVERT_TABLE("\x7a\x00"), STATUS_UNIMPLEMENTED, "a row key schema");
}

/* One more than the message to a master has room for: that would be said in words of that message. */
Test(convert_schema, more_families_than_a_table_has_are_refused)
{
    char names[101][16];
    Google__Bigtable__Admin__V2__Table__ColumnFamiliesEntry entries[101];
    Google__Bigtable__Admin__V2__Table__ColumnFamiliesEntry *list[101];
    Table table = GOOGLE__BIGTABLE__ADMIN__V2__TABLE__INIT;
    struct edubba_schema schema;
    struct error error = {0};
    for (int i = 0; i < 101; i++) {
        google__bigtable__admin__v2__table__column_families_entry__init(&entries[i]);
        (void)snprintf(names[i], sizeof names[i], "f%d", i);
        entries[i].key = names[i];
        list[i] = &entries[i];
    }
    table.column_families = list;
    table.n_column_families = 100;
    cr_assert_eq(convert_schema(&table, "T", &arena, &schema, &error), STATUS_OK, "%s", error.text);
    table.n_column_families = 101;
    cr_assert_eq(convert_schema(&table, "T", &arena, &schema, &error), STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text,
                     "Error in field 'column_families' : 101 families, the limit is 100");
}

Test(convert_schema, a_trouble_names_its_family)
{
    Google__Bigtable__Admin__V2__ColumnFamily family =
        GOOGLE__BIGTABLE__ADMIN__V2__COLUMN_FAMILY__INIT;
    GcRule rule = GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__INIT;
    struct edubba_family converted;
    struct error error = {0};
    rule.rule_case = GOOGLE__BIGTABLE__ADMIN__V2__GC_RULE__RULE_MAX_NUM_VERSIONS;
    family.gc_rule = &rule;
    cr_assert_eq(convert_family("cf7", &family, &arena, &converted, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "'cf7'"));
    cr_assert_not_null(strstr(error.text, "'max_num_versions'"));
}

/* Every amount of memory that is too small fails, and says so. */
Test(convert_schema, memory_that_runs_out)
{
    static const struct edubba_gc_rule leaves[] = {{.kind = EDUBBA_GC_VERSIONS, .versions = 2},
                                                   {.kind = EDUBBA_GC_AGE, .age_us = 1000}};
    struct edubba_family family = {
        "f", EDUBBA_PLAIN, {.kind = EDUBBA_GC_UNION, .children = leaves, .child_count = 2}};
    struct edubba_schema schema = {.name = "T", .families = &family, .family_count = 1};
    Table table = GOOGLE__BIGTABLE__ADMIN__V2__TABLE__INIT;
    enum status status = STATUS_NO_MEMORY;
    size_t limit = 0;
    for (; status == STATUS_NO_MEMORY; limit += 16) {
        struct arena small;
        arena_init(&small, 4096, limit);
        google__bigtable__admin__v2__table__init(&table);
        status = convert_schema_back(&schema, &small, &table);
        cr_assert(status == STATUS_OK || table.n_column_families == 0, "untouched on failure");
        arena_deinit(&small);
    }
    cr_assert_eq(status, STATUS_OK);
    cr_assert_gt(limit, 256, "it takes some");
}

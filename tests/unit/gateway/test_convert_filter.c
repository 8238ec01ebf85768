/*
 * Filters of the API made into filters of ours: the same tree is written in both, and what came of
 * the one is compared with the other as servers would see them.
 */
#include <criterion/criterion.h>

#include <string.h>

#include "client/operations/convert.h"
#include "common/base/memory.h"
#include "common/base/prng.h"
#include "common/model/filter_check.h"
#include "common/wire/message_parts.h"
#include "gateway/convert/convert.h"

typedef Google__Bigtable__V2__RowFilter RowFilter;

#define CASE(name) GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_##name

static struct arena arena;

static void *take(size_t size)
{
    void *memory = arena_allocate(&arena, size);
    cr_assert_not_null(memory);
    memset(memory, 0, size);
    return memory;
}

static char *text_of(const char *text)
{
    return arena_copy_text(&arena, bytes_of_text(text));
}

static ProtobufCBinaryData data_of(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)text_of(text)};
}

static RowFilter *make(int kind)
{
    RowFilter *filter = take(sizeof *filter);
    google__bigtable__v2__row_filter__init(filter);
    filter->filter_case = (Google__Bigtable__V2__RowFilter__FilterCase)kind;
    return filter;
}

/* --- the same tree, twice --------------------------------------------------------------------- */

struct both {
    RowFilter *api;
    struct filter ours;
};

static struct both of_flag(int kind, enum filter_kind ours)
{
    struct both both = {make(kind), {.kind = ours, .flag = true}};
    both.api->sink = 1; /* they share their place */
    return both;
}

static struct both of_regex(int kind, enum filter_kind ours, const char *pattern)
{
    struct both both = {make(kind), {.kind = ours, .bytes = bytes_of_text(text_of(pattern))}};
    if (kind == CASE(FAMILY_NAME_REGEX_FILTER) || kind == CASE(APPLY_LABEL_TRANSFORMER)) {
        both.api->family_name_regex_filter = text_of(pattern);
    } else {
        both.api->row_key_regex_filter = data_of(pattern);
    }
    return both;
}

static struct both of_count(int kind, enum filter_kind ours, int32_t count)
{
    struct both both = {make(kind), {.kind = ours, .count = count}};
    both.api->cells_per_row_offset_filter = count;
    return both;
}

static struct both of_times(int64_t start_us, int64_t end_us)
{
    struct both both = {
        make(CASE(TIMESTAMP_RANGE_FILTER)),
        {.kind = FILTER_TIMESTAMP_RANGE, .start_us = start_us, .end_us = end_us},
    };
    Google__Bigtable__V2__TimestampRange *range = take(sizeof *range);
    google__bigtable__v2__timestamp_range__init(range);
    range->start_timestamp_micros = start_us;
    range->end_timestamp_micros = end_us;
    both.api->timestamp_range_filter = range;
    return both;
}

/* Of each side: 0 = none, 1 = closed, 2 = open; an empty bound is one, too. */
static struct both of_columns(int start, int end, const char *bound)
{
    struct both both = {make(CASE(COLUMN_RANGE_FILTER)),
                        {.kind = FILTER_COLUMN_RANGE, .bytes = bytes_of_text("cf")}};
    Google__Bigtable__V2__ColumnRange *range = take(sizeof *range);
    google__bigtable__v2__column_range__init(range);
    range->family_name = text_of("cf");
    range->start_qualifier_case =
        (Google__Bigtable__V2__ColumnRange__StartQualifierCase)(start == 0
                                                                    ? 0
                                                                    : start +
                                                                          1); /* fields 2 and 3 */
    range->end_qualifier_case =
        (Google__Bigtable__V2__ColumnRange__EndQualifierCase)(end == 0
                                                                  ? 0
                                                                  : end + 3); /* fields 4 and 5 */
    if (start > 0) {
        range->start_qualifier_closed = data_of(bound);
        both.ours.start = (struct filter_bound){true, start == 1, bytes_of_text(text_of(bound))};
    }
    if (end > 0) {
        range->end_qualifier_closed = data_of(bound);
        both.ours.end = (struct filter_bound){true, end == 1, bytes_of_text(text_of(bound))};
    }
    both.api->column_range_filter = range;
    return both;
}

static struct both of_values(int start, int end, const char *bound)
{
    struct both both = {make(CASE(VALUE_RANGE_FILTER)), {.kind = FILTER_VALUE_RANGE}};
    Google__Bigtable__V2__ValueRange *range = take(sizeof *range);
    google__bigtable__v2__value_range__init(range);
    range->start_value_case = (Google__Bigtable__V2__ValueRange__StartValueCase)
        start; /* fields 1 and 2 */
    range->end_value_case =
        (Google__Bigtable__V2__ValueRange__EndValueCase)(end == 0 ? 0
                                                                  : end + 2); /* fields 3 and 4 */
    if (start > 0) {
        range->start_value_closed = data_of(bound);
        both.ours.start = (struct filter_bound){true, start == 1, bytes_of_text(text_of(bound))};
    }
    if (end > 0) {
        range->end_value_closed = data_of(bound);
        both.ours.end = (struct filter_bound){true, end == 1, bytes_of_text(text_of(bound))};
    }
    both.api->value_range_filter = range;
    return both;
}

static struct both random_leaf(struct prng *prng)
{
    static const char *const texts[] = {"", "a.*", "\xff\x01"};
    const char *text = texts[prng_below(prng, 3)];
    switch (prng_below(prng, 15)) {
    case 0:
        return of_flag(CASE(PASS_ALL_FILTER), FILTER_PASS_ALL);
    case 1:
        return of_flag(CASE(BLOCK_ALL_FILTER), FILTER_BLOCK_ALL);
    case 2:
        return of_flag(CASE(SINK), FILTER_SINK);
    case 3:
        return of_flag(CASE(STRIP_VALUE_TRANSFORMER), FILTER_STRIP_VALUE);
    case 4:
        return of_regex(CASE(ROW_KEY_REGEX_FILTER), FILTER_ROW_KEY_REGEX, text);
    case 5:
        return of_regex(CASE(COLUMN_QUALIFIER_REGEX_FILTER), FILTER_QUALIFIER_REGEX, text);
    case 6:
        return of_regex(CASE(VALUE_REGEX_FILTER), FILTER_VALUE_REGEX, text);
    case 7:
        return of_regex(CASE(FAMILY_NAME_REGEX_FILTER), FILTER_FAMILY_REGEX, "c.");
    case 8:
        return of_regex(CASE(APPLY_LABEL_TRANSFORMER), FILTER_APPLY_LABEL, "seen");
    case 9:
        return of_count(CASE(CELLS_PER_ROW_OFFSET_FILTER), FILTER_CELLS_PER_ROW_OFFSET, 3);
    case 10:
        return of_count(CASE(CELLS_PER_ROW_LIMIT_FILTER), FILTER_CELLS_PER_ROW_LIMIT, -1);
    case 11:
        return of_count(CASE(CELLS_PER_COLUMN_LIMIT_FILTER), FILTER_CELLS_PER_COLUMN_LIMIT, 7);
    case 12:
        return of_times(1000, (int64_t)prng_below(prng, 2) * 5000);
    case 13:
        return of_values((int)prng_below(prng, 3), (int)prng_below(prng, 3), text);
    default:
        return of_columns((int)prng_below(prng, 3), (int)prng_below(prng, 3), text);
    }
}

static struct both random_tree(struct prng *prng, int depth);

static struct both random_list(struct prng *prng, int depth)
{
    size_t count = prng_below(prng, 4);
    bool is_chain = prng_chance(prng, 2);
    struct both both = {make(is_chain ? CASE(CHAIN) : CASE(INTERLEAVE)),
                        {.kind = is_chain ? FILTER_CHAIN : FILTER_INTERLEAVE}};
    RowFilter **members = take((count + 1) * sizeof *members);
    struct filter *children = take((count + 1) * sizeof *children);
    for (size_t i = 0; i < count; i++) {
        struct both member = random_tree(prng, depth - 1);
        members[i] = member.api;
        children[i] = member.ours;
    }
    if (is_chain) {
        both.api->chain = take(sizeof *both.api->chain);
        google__bigtable__v2__row_filter__chain__init(both.api->chain);
        both.api->chain->filters = members;
        both.api->chain->n_filters = count;
    } else {
        both.api->interleave = take(sizeof *both.api->interleave);
        google__bigtable__v2__row_filter__interleave__init(both.api->interleave);
        both.api->interleave->filters = members;
        both.api->interleave->n_filters = count;
    }
    both.ours.children = children;
    both.ours.child_count = count;
    return both;
}

static struct both random_condition(struct prng *prng, int depth)
{
    struct both both = {make(CASE(CONDITION)), {.kind = FILTER_CONDITION, .child_count = 3}};
    struct filter *children = take(3 * sizeof *children);
    Google__Bigtable__V2__RowFilter__Condition *condition = take(sizeof *condition);
    RowFilter **places[3] = {&condition->predicate_filter, &condition->true_filter,
                             &condition->false_filter};
    google__bigtable__v2__row_filter__condition__init(condition);
    both.ours.has_true = prng_chance(prng, 2);
    both.ours.has_false = prng_chance(prng, 2);
    for (int i = 0; i < 3; i++) {
        if (i == 0 || (i == 1 && both.ours.has_true) || (i == 2 && both.ours.has_false)) {
            struct both part = random_tree(prng, depth - 1);
            *places[i] = part.api;
            children[i] = part.ours;
        }
    }
    both.api->condition = condition;
    both.ours.children = children;
    return both;
}

static struct both random_tree(struct prng *prng, int depth)
{
    if (depth == 0 || prng_chance(prng, 3)) {
        return random_leaf(prng);
    }
    return prng_chance(prng, 3) ? random_condition(prng, depth) : random_list(prng, depth);
}

/* --- comparing -------------------------------------------------------------------------------- */

static void expect_same(const struct both *both)
{
    struct edubba_filter *made = NULL;
    struct error error = {.status = STATUS_OK};
    struct buffer got = BUFFER_INIT;
    struct buffer wanted = BUFFER_INIT;
    cr_assert_eq(api_convert_filter(both->api, &made, &error), STATUS_OK, "%s", error.text);
    wire_write_filter(&got, convert_filter(made));
    wire_write_filter(&wanted, &both->ours);
    cr_assert(bytes_equal(buffer_bytes(&got), buffer_bytes(&wanted)));
    size_t size = google__bigtable__v2__row_filter__get_packed_size(both->api);
    cr_assert_eq(filter_size_bytes(convert_filter(made)), size);
    cr_assert_leq(got.size_bytes, 2 * size, "what FILTER_WIRE_BYTES_MAX rests on");
    buffer_deinit(&got);
    buffer_deinit(&wanted);
    edubba_filter_free(made);
}

static void begin(void)
{
    arena_init(&arena, 64 * 1024, SIZE_MAX);
}

static void end(void)
{
    arena_deinit(&arena);
}

TestSuite(convert_filter, .init = begin, .fini = end);

Test(convert_filter, random_trees_are_the_same)
{
    struct prng prng = prng_of_seed(17);
    for (int round = 0; round < 3000; round++) {
        struct both both = random_tree(&prng, 4);
        expect_same(&both);
        arena_reset(&arena);
    }
}

Test(convert_filter, samples_and_masks)
{
    struct both sample = {make(CASE(ROW_SAMPLE_FILTER)),
                          {.kind = FILTER_ROW_SAMPLE, .probability = 0.25}};
    sample.api->row_sample_filter = 0.25;
    expect_same(&sample);
    struct both mask = {make(CASE(VALUE_BITMASK_FILTER)),
                        {.kind = FILTER_VALUE_BITMASK, .bytes = bytes_of_text("\x0f")}};
    mask.api->value_bitmask_filter = take(sizeof *mask.api->value_bitmask_filter);
    google__bigtable__v2__value_bitmask__init(mask.api->value_bitmask_filter);
    mask.api->value_bitmask_filter->mask = data_of("\x0f");
    expect_same(&mask);
}

static enum status refusal_of(const RowFilter *filter, char text[ERROR_TEXT_SIZE_MAX])
{
    struct edubba_filter *made = NULL;
    struct error error = {.status = STATUS_OK};
    enum status status = api_convert_filter(filter, &made, &error);
    cr_assert_null(made);
    memcpy(text, error.text, sizeof error.text);
    return status;
}

Test(convert_filter, nothing_is_all_and_what_nobody_knows_is_refused)
{
    char text[ERROR_TEXT_SIZE_MAX];
    RowFilter *filter = make(0);
    cr_assert_eq(refusal_of(NULL, text), STATUS_OK);
    cr_assert_eq(refusal_of(filter, text), STATUS_OK);
    ProtobufCMessageUnknownField unknown = {.tag = 99};
    filter->base.n_unknown_fields = 1;
    filter->base.unknown_fields = &unknown;
    unknown.wire_type = PROTOBUF_C_WIRE_TYPE_VARINT;
    unknown.data = (uint8_t *)text_of("\1");
    unknown.len = 1;
    cr_assert_eq(refusal_of(filter, text), STATUS_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(text, "99"), "%s", text);
}

Test(convert_filter, what_is_false_is_refused)
{
    static const int kinds[] = {CASE(SINK), CASE(PASS_ALL_FILTER), CASE(BLOCK_ALL_FILTER),
                                CASE(STRIP_VALUE_TRANSFORMER)};
    char text[ERROR_TEXT_SIZE_MAX];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        cr_assert_eq(refusal_of(make(kinds[i]), text), STATUS_INVALID_ARGUMENT);
        cr_assert_eq(strncmp(text, "Error in field '", 16), 0, "%s", text);
    }
}

static RowFilter *nested(int depth)
{
    RowFilter *filter = of_flag(CASE(PASS_ALL_FILTER), FILTER_PASS_ALL).api;
    for (int i = 1; i < depth; i++) {
        RowFilter *outer = make(CASE(CHAIN));
        outer->chain = take(sizeof *outer->chain);
        google__bigtable__v2__row_filter__chain__init(outer->chain);
        outer->chain->filters = take(sizeof(RowFilter *));
        outer->chain->filters[0] = filter;
        outer->chain->n_filters = 1;
        filter = outer;
    }
    return filter;
}

Test(convert_filter, depth_and_size_have_limits)
{
    char text[ERROR_TEXT_SIZE_MAX];
    static char long_pattern[LIMIT_FILTER_BYTES + 1];
    struct edubba_filter *made = NULL;
    cr_assert_eq(api_convert_filter(nested(LIMIT_FILTER_DEPTH), &made, NULL), STATUS_OK);
    edubba_filter_free(made);
    cr_assert_eq(refusal_of(nested(LIMIT_FILTER_DEPTH + 1), text), STATUS_INVALID_ARGUMENT);
    memset(long_pattern, 'a', sizeof long_pattern - 1);
    struct both large = of_regex(CASE(VALUE_REGEX_FILTER), FILTER_VALUE_REGEX, long_pattern);
    cr_assert_eq(refusal_of(large.api, text), STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(text, "Row filter exceeds maximum size of 20480 bytes");
}

/* As a server has it: from the API's through the wire. */
static enum status compile(const RowFilter *filter, struct error *ret_error)
{
    static struct family families[] = {{.number = 1, .name = {(const uint8_t *)"cf", 2}}};
    static const struct table table = {
        .number = 1, .families = families, .family_count = 1, .family_number_next = 2};
    struct edubba_filter *made = NULL;
    struct scan_request back;
    struct filter_program *program = NULL;
    struct buffer sent = BUFFER_INIT;
    enum status status = api_convert_filter(filter, &made, ret_error);
    if (status == STATUS_OK) {
        scan_request_encode(&(struct scan_request){.filter = convert_filter(made)}, &sent);
        cr_assert_eq(scan_request_decode(buffer_bytes(&sent), &arena, &back, NULL), STATUS_OK);
        status = filter_compile(back.filter, back.filter_bytes, &table, 1, &program, ret_error);
    }
    filter_destroy(program);
    edubba_filter_free(made);
    buffer_deinit(&sent);
    return status;
}

Test(convert_filter, the_largest_that_bigtable_takes_is_taken_by_servers)
{
    enum {
        RANGE_BYTES = 14, /* of one: what is around it, the family, two bounds of one byte */
        COUNT = (LIMIT_FILTER_BYTES - 4) / RANGE_BYTES
    };
    struct error error = {.status = STATUS_OK};
    RowFilter *filter = make(CASE(INTERLEAVE));
    filter->interleave = take(sizeof *filter->interleave);
    google__bigtable__v2__row_filter__interleave__init(filter->interleave);
    filter->interleave->filters = take((COUNT + 1) * sizeof(RowFilter *));
    for (int i = 0; i <= COUNT; i++) {
        filter->interleave->filters[i] = of_columns(1, 1, "q").api;
    }
    filter->interleave->n_filters = COUNT;
    cr_assert_leq(google__bigtable__v2__row_filter__get_packed_size(filter), LIMIT_FILTER_BYTES);
    cr_assert_eq(compile(filter, &error), STATUS_OK, "%s", error.text);
    filter->interleave->n_filters = COUNT + 1;
    cr_assert_gt(google__bigtable__v2__row_filter__get_packed_size(filter), LIMIT_FILTER_BYTES);
    cr_assert_eq(compile(filter, &error), STATUS_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text, "Row filter exceeds maximum size of 20480 bytes");
}

Test(convert_filter, without_memory_nothing_is_left)
{
    struct prng prng = prng_of_seed(4);
    struct both both = random_condition(&prng, 3);
    enum status status = STATUS_NO_MEMORY;
    for (uint64_t after = 0; status != STATUS_OK; after++) {
        struct edubba_filter *made = NULL;
        cr_assert_lt(after, 1000);
        memory_fail_arm(after, 0);
        status = api_convert_filter(both.api, &made, NULL);
        memory_fail_disarm();
        cr_assert(status == STATUS_OK || status == STATUS_NO_MEMORY);
        edubba_filter_free(made);
    }
}

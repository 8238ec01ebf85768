/* Whole sketches -- built, traced, merged, parsed -- byte for byte against Zetasketch's. */
#include <criterion/criterion.h>

#include "common/aggregate/aggregate.h"
#include "common/aggregate/hll_estimate.h"
#include "common/aggregate/hll_merge.h"
#include "common/aggregate/hll_state.h"
#include "tests/unit/model/hll_builder.h"
#include "tests/unit/model/hll_vectors.h"
#include "tests/unit/model/sha256.h"

static enum hll_value_type value_type_of(const char *type)
{
    if (strcmp(type, "LONG") == 0) {
        return HLL_UINT64;
    }
    return strcmp(type, "INTEGER") == 0 ? HLL_UINT32 : HLL_BYTES;
}

static struct hll_precision precision_of(const struct hll_vector *vector)
{
    return (struct hll_precision){
        (uint32_t)hll_vector_number(vector, "p"),
        (uint32_t)hll_vector_number(vector, "sp"),
    };
}

static void expect_digest(size_t line, struct bytes state, const char *digest)
{
    char text[SHA256_TEXT_SIZE];
    sha256_text(state, text);
    cr_assert_str_eq(text, digest, "line %zu", line);
}

/* "hex:..." or "sha256:...". */
static void expect_value(size_t line, struct bytes state, const char *value)
{
    static uint8_t expected_data[8192];
    if (strncmp(value, "sha256:", 7) == 0) {
        expect_digest(line, state, value + 7);
        return;
    }
    cr_assert_eq(strncmp(value, "hex:", 4), 0, "line %zu", line);
    struct bytes expected = hll_vector_of_hex(value + 4, expected_data, sizeof expected_data);
    cr_assert(bytes_equal(state, expected), "line %zu", line);
}

static void describe_form(const struct hll_state *state, char *ret_text, size_t size)
{
    if (hll_state_is_sparse(state)) {
        (void)snprintf(ret_text, size, "SPARSE/%u/%zu", state->sparse.count,
                       state->sparse.data.size_bytes);
    } else {
        (void)snprintf(ret_text, size, "%s",
                       state->registers.size_bytes > 0 ? "NORMAL" : "NORMAL_EMPTY");
    }
}

/* Everything that a SKETCH or MERGE record says of its result. */
static void expect_record(const struct hll_vector *vector, struct bytes data)
{
    struct hll_state state;
    cr_assert_eq(hll_state_parse(data, &state, NULL), STATUS_OK);
    struct hll_precision precision = precision_of(vector);
    cr_assert_eq(state.precision.normal, precision.normal, "line %zu", vector->line);
    cr_assert_eq(state.precision.sparse, precision.sparse, "line %zu", vector->line);
    cr_assert_eq(state.num_values, hll_vector_number(vector, "num_values"));
    char form[64];
    describe_form(&state, form, sizeof form);
    cr_assert_str_eq(form, hll_vector_named(vector, "rep"), "line %zu", vector->line);
    cr_assert_eq(data.size_bytes, hll_vector_number(vector, "len"), "line %zu", vector->line);
    cr_assert_eq((uint64_t)hll_estimate(&state), hll_vector_number(vector, "result"),
                 "line %zu: estimate %lld", vector->line, (long long)hll_estimate(&state));
    expect_value(vector->line, data, vector->fields[vector->count - 1]);
}

/* The two longest runs get a test of their own, below. */
#define LONG_RUN_MIN 1000000

static void check_sketch(const struct hll_vector *vector, void *context)
{
    size_t *skipped = context;
    if (hll_vector_number(vector, "num_values") >= LONG_RUN_MIN) {
        (*skipped)++;
        return;
    }
    struct builder builder = builder_of(precision_of(vector), value_type_of(vector->fields[2]));
    add_inputs(&builder, vector->fields[5]);
    builder_flush(&builder);
    expect_record(vector, buffer_bytes(&builder.state));
    builder_deinit(&builder);
}

Test(hll_sketch, built_from_inputs)
{
    size_t skipped = 0;
    hll_vectors_each("SKETCH", 106, check_sketch, &skipped);
    cr_assert_eq(skipped, 2);
}

/* One run serves both: the second goes on where the first ended. */
static void check_long_run(const struct hll_vector *vector, void *context)
{
    struct builder *builder = context;
    int64_t wanted = (int64_t)hll_vector_number(vector, "num_values");
    if (wanted < LONG_RUN_MIN) {
        return;
    }
    struct hll_state state;
    cr_assert_eq(hll_state_parse(buffer_bytes(&builder->state), &state, NULL), STATUS_OK);
    add_int64_range(builder, (int64_t)state.num_values + 1, wanted);
    builder_flush(builder);
    expect_record(vector, buffer_bytes(&builder->state));
}

Test(hll_sketch, millions)
{
    struct builder builder = builder_of((struct hll_precision){15, 20}, HLL_UINT64);
    hll_vectors_each("SKETCH", 106, check_long_run, &builder);
    struct hll_state state;
    cr_assert_eq(hll_state_parse(buffer_bytes(&builder.state), &state, NULL), STATUS_OK);
    cr_assert_eq(state.num_values, 5000000);
    builder_deinit(&builder);
}

/* Single adds through the public door. */
static void check_single(const struct hll_vector *vector, void *context)
{
    size_t *found = context;
    if (strncmp(vector->fields[1], "SINGLE_", 7) != 0) {
        return;
    }
    long long input = 0;
    cr_assert_eq(sscanf(vector->fields[5], "i64[%lld", &input), 1);
    struct buffer operand = BUFFER_INIT;
    cr_assert_eq(aggregate_operand_of_int64(AGGREGATE_INTHLL, input, &operand), STATUS_OK);
    expect_record(vector, buffer_bytes(&operand));
    buffer_deinit(&operand);
    (*found)++;
}

Test(hll_sketch, operands)
{
    size_t found = 0;
    hll_vectors_each("SKETCH", 106, check_single, &found);
    cr_assert_eq(found, 6);
}

/* Consecutive states: one add after the other, each through hll_merge alone. */
static void check_trace(const struct hll_vector *vector, void *context)
{
    (void)context;
    long long last = 0;
    cr_assert_eq(sscanf(vector->fields[4], "i64[1..%lld]", &last), 1);
    struct builder builder = builder_of(precision_of(vector), value_type_of(vector->fields[1]));
    for (long long i = 1; i <= last; i++) {
        add_int64_range(&builder, i, i);
        builder_flush(&builder);
    }
    struct hll_state state;
    cr_assert_eq(hll_state_parse(buffer_bytes(&builder.state), &state, NULL), STATUS_OK);
    cr_assert_eq((uint64_t)hll_estimate(&state), hll_vector_number(vector, "result"));
    expect_value(vector->line, buffer_bytes(&builder.state), vector->fields[vector->count - 1]);
    builder_deinit(&builder);
}

Test(hll_sketch, traces)
{
    hll_vectors_each("TRACE", 40, check_trace, NULL);
}

/* The named field after the first_normal_n one: both halves of a BOUNDARY record use the names
 * result and sha256. */
static struct hll_vector second_half(const struct hll_vector *vector)
{
    struct hll_vector half = {.line = vector->line};
    bool is_second = false;
    for (size_t i = 0; i < vector->count; i++) {
        is_second = is_second || strncmp(vector->fields[i], "first_normal_n=", 15) == 0;
        if (is_second) {
            half.fields[half.count++] = vector->fields[i];
        }
    }
    return half;
}

#define BOUNDARY_STEPS 300

static void expect_boundary_state(const struct hll_vector *half, struct bytes data)
{
    struct hll_state state;
    cr_assert_eq(hll_state_parse(data, &state, NULL), STATUS_OK);
    cr_assert_eq((uint64_t)hll_estimate(&state), hll_vector_number(half, "result"));
    expect_digest(half->line, data, hll_vector_named(half, "sha256"));
}

/* Added one by one over the last stretch, the sketch turns normal at the very value that
 * Zetasketch's does. */
static void check_boundary(const struct hll_vector *vector, void *context)
{
    (void)context;
    struct hll_vector normal = second_half(vector);
    int64_t last_sparse = (int64_t)hll_vector_number(vector, "last_sparse_n");
    int64_t start = last_sparse > BOUNDARY_STEPS ? last_sparse - BOUNDARY_STEPS : 0;
    cr_assert_eq(last_sparse + 1, (int64_t)hll_vector_number(&normal, "first_normal_n"));

    struct builder builder = builder_of(precision_of(vector), value_type_of(vector->fields[1]));
    add_int64_range(&builder, 1, start);
    builder_flush(&builder);
    struct hll_state state;
    for (int64_t i = start + 1; i <= last_sparse; i++) {
        add_int64_range(&builder, i, i);
        builder_flush(&builder);
        cr_assert_eq(hll_state_parse(buffer_bytes(&builder.state), &state, NULL), STATUS_OK);
        cr_assert(hll_state_is_sparse(&state), "line %zu, n %lld", vector->line, (long long)i);
    }
    char form[64];
    describe_form(&state, form, sizeof form);
    cr_assert_str_eq(form, hll_vector_named(vector, "rep"));
    expect_boundary_state(vector, buffer_bytes(&builder.state));

    add_int64_range(&builder, last_sparse + 1, last_sparse + 1);
    builder_flush(&builder);
    cr_assert_eq(hll_state_parse(buffer_bytes(&builder.state), &state, NULL), STATUS_OK);
    cr_assert_not(hll_state_is_sparse(&state));
    expect_boundary_state(&normal, buffer_bytes(&builder.state));
    builder_deinit(&builder);
}

static void check_boundary_batch(const struct hll_vector *vector, void *context)
{
    (void)context;
    int64_t first_normal = (int64_t)hll_vector_number(vector, "first_normal_n");
    for (int64_t last = first_normal - 1; last <= first_normal; last++) {
        struct builder builder = builder_of(precision_of(vector), value_type_of(vector->fields[1]));
        add_int64_range(&builder, 1, last);
        builder_flush(&builder);
        struct hll_state state;
        cr_assert_eq(hll_state_parse(buffer_bytes(&builder.state), &state, NULL), STATUS_OK);
        cr_assert_eq(hll_state_is_sparse(&state), last < first_normal, "line %zu", vector->line);
        builder_deinit(&builder);
    }
}

Test(hll_sketch, turns_normal_where_zetasketch_does)
{
    hll_vectors_each("BOUNDARY", 8, check_boundary, NULL);
    hll_vectors_each("BOUNDARY_BATCH", 8, check_boundary_batch, NULL);
}

/* Operands of MERGE records that have no SKETCH record in the file. */
static const struct {
    const char *id;
    struct hll_precision precision;
    const char *inputs;
} operands[] = {
    {"m_a", {15, 20}, "i64[1..500]"},        {"m_na", {15, 20}, "i64[1..60000]"},
    {"m_empty", {15, 20}, "i64[1..0]"},      {"m_a_nosparse", {15, 0}, "i64[1..500]"},
    {"m_a12", {12, 17}, "i64[200..1200]"},   {"m_n12", {12, 17}, "i64[30000..90000]"},
    {"m_empty10", {10, 15}, "i64[1..0]"},    {"m_a1114", {11, 14}, "i64[1..300]"},
    {"m_g2", {15, 20}, "i64[15001..30000]"}, {"m_k2", {10, 15}, "i64[1..50]"},
};

struct operand_search {
    const char *id;
    struct buffer *out;
    bool is_found;
};

static void append_sketch(struct hll_precision precision,
                          enum hll_value_type value_type,
                          const char *inputs,
                          struct buffer *out)
{
    struct builder builder = builder_of(precision, value_type);
    add_inputs(&builder, inputs);
    builder_flush(&builder);
    buffer_append_bytes(out, buffer_bytes(&builder.state));
    builder_deinit(&builder);
}

static void search_operand(const struct hll_vector *vector, void *context)
{
    struct operand_search *search = context;
    if (strcmp(vector->fields[1], search->id) == 0) {
        append_sketch(precision_of(vector), value_type_of(vector->fields[2]), vector->fields[5],
                      search->out);
        search->is_found = true;
    }
}

/* "m_a", "m_a(LONG)", or "hex 0870... (...)". */
static void append_operand(const char *text, struct buffer *out)
{
    char id[128];
    if (strncmp(text, "hex ", 4) == 0) {
        uint8_t data[64];
        size_t length = strcspn(text + 4, " ");
        cr_assert_lt(length, sizeof id);
        memcpy(id, text + 4, length);
        id[length] = '\0';
        buffer_append_bytes(out, hll_vector_of_hex(id, data, sizeof data));
        return;
    }
    size_t length = strcspn(text, " (");
    cr_assert_lt(length, sizeof id);
    memcpy(id, text, length);
    id[length] = '\0';
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        if (strcmp(operands[i].id, id) == 0) {
            append_sketch(operands[i].precision, HLL_UINT64, operands[i].inputs, out);
            return;
        }
    }
    struct operand_search search = {id, out, false};
    hll_vectors_each("SKETCH", 106, search_operand, &search);
    cr_assert(search.is_found, "no operand %s", id);
}

static void append_operands(const struct hll_vector *vector, struct buffer *a, struct buffer *b)
{
    const char *plus = strstr(vector->fields[2], " + ");
    cr_assert_not_null(plus);
    append_operand(vector->fields[2], a);
    append_operand(plus + 3, b);
}

/* Where the left side has no type Zetasketch forgets the right one's; we adopt it, so the record's
 * bytes are expected with the type put in. */
static void expect_typed(const struct hll_vector *vector, struct bytes data)
{
    static uint8_t untyped_data[8192];
    static const uint8_t head[] = {0x08, 0x70, 0x10, 0xf4, 0x03, 0x18, 0x02};
    struct bytes untyped = hll_vector_of_hex(vector->fields[vector->count - 1] + 4, untyped_data,
                                             sizeof untyped_data);
    size_t rest = untyped.size_bytes - sizeof head;
    cr_assert_eq(data.size_bytes, untyped.size_bytes + 2);
    cr_assert_arr_eq(data.data, head, sizeof head);
    cr_assert_arr_eq(untyped.data, head, sizeof head);
    cr_assert_eq(data.data[sizeof head], 0x20);
    cr_assert_eq(data.data[sizeof head + 1], HLL_UINT64);
    cr_assert_arr_eq(data.data + sizeof head + 2, untyped.data + sizeof head, rest);
}

static void check_merge(const struct hll_vector *vector, void *context)
{
    size_t *adopted = context;
    struct buffer a = BUFFER_INIT;
    struct buffer b = BUFFER_INIT;
    struct buffer merged = BUFFER_INIT;
    struct buffer swapped = BUFFER_INIT;
    append_operands(vector, &a, &b);
    cr_assert_eq(hll_merge(buffer_bytes(&a), buffer_bytes(&b), HLL_UINT64, &merged), STATUS_OK);
    cr_assert_eq(hll_merge(buffer_bytes(&b), buffer_bytes(&a), HLL_UINT64, &swapped), STATUS_OK);
    if (strcmp(vector->fields[1], "M_unknown_long") == 0) {
        expect_typed(vector, buffer_bytes(&merged));
        (*adopted)++;
    } else {
        expect_record(vector, buffer_bytes(&merged));
    }
    cr_assert(bytes_equal(buffer_bytes(&merged), buffer_bytes(&swapped)), "%zu", vector->line);
    buffer_deinit(&a);
    buffer_deinit(&b);
    buffer_deinit(&merged);
    buffer_deinit(&swapped);
}

static void check_merge_error(const struct hll_vector *vector, void *context)
{
    (void)context;
    struct buffer a = BUFFER_INIT;
    struct buffer b = BUFFER_INIT;
    struct buffer merged = BUFFER_INIT;
    append_operands(vector, &a, &b);
    cr_assert_eq(aggregate_merge(AGGREGATE_INTHLL, buffer_bytes(&a), buffer_bytes(&b), &merged),
                 STATUS_INVALID_ARGUMENT, "line %zu", vector->line);
    cr_assert_eq(merged.size_bytes, 0);
    buffer_deinit(&a);
    buffer_deinit(&b);
    buffer_deinit(&merged);
}

Test(hll_sketch, merges)
{
    size_t adopted = 0;
    hll_vectors_each("MERGE", 23, check_merge, &adopted);
    cr_assert_eq(adopted, 1);
    hll_vectors_each("MERGE_ERR", 2, check_merge_error, NULL);
}

/* Sketches out of BigQuery: the state passes, and the first two are what we would write. */
static void check_bigquery(const struct hll_vector *vector, void *context)
{
    size_t *rebuilt = context;
    uint8_t data[128];
    struct bytes state = hll_vector_of_hex(vector->fields[3], data, sizeof data);
    bool is_string = strstr(vector->fields[1], "STRING") != NULL;
    enum aggregate_kind kind = is_string ? AGGREGATE_BYTESHLL : AGGREGATE_INTHLL;
    struct error error;
    cr_assert_eq(aggregate_check_state(kind, state, &error), STATUS_OK);
    int64_t value = 0;
    cr_assert_eq(aggregate_extract(kind, state, &value), STATUS_OK);
    long long first = 1;
    long long last = 5;
    const char *range = strstr(vector->fields[1], "INT64 ");
    if (range != NULL) {
        cr_assert_eq(sscanf(range, "INT64 %lld..%lld", &first, &last), 2);
        struct builder builder = builder_of((struct hll_precision){10, 15}, HLL_UINT64);
        add_int64_range(&builder, first, last);
        builder_flush(&builder);
        cr_assert(bytes_equal(buffer_bytes(&builder.state), state), "line %zu", vector->line);
        builder_deinit(&builder);
        (*rebuilt)++;
    }
    cr_assert_eq(value, last - first + 1);
}

Test(hll_sketch, from_bigquery)
{
    size_t rebuilt = 0;
    hll_vectors_each("BQ", 3, check_bigquery, &rebuilt);
    cr_assert_eq(rebuilt, 2);
}

/* What Zetasketch refuses we refuse; but no bytes at all are our identity. */
static void check_parse_error(const struct hll_vector *vector, void *context)
{
    (void)context;
    uint8_t data[128];
    struct bytes state = hll_vector_of_hex(vector->fields[2], data, sizeof data);
    struct hll_state parsed;
    cr_assert_eq(hll_state_parse(state, &parsed, NULL), STATUS_INVALID_ARGUMENT);
    bool is_empty = state.size_bytes == 0;
    struct error error;
    cr_assert_eq(aggregate_check_state(AGGREGATE_INTHLL, state, &error),
                 is_empty ? STATUS_OK : STATUS_INVALID_ARGUMENT, "line %zu", vector->line);
}

struct parse_counts {
    size_t refused;
    size_t differing;
};

/* What it accepts we accept, except a list that is not one; and merging writes it anew. */
static void check_parse_ok(const struct hll_vector *vector, void *context)
{
    struct parse_counts *counts = context;
    uint8_t data[128];
    uint8_t expected_data[128];
    struct bytes state = hll_vector_of_hex(vector->fields[2], data, sizeof data);
    if (strncmp(vector->fields[1], "unsorted", 8) == 0) {
        cr_assert_eq(aggregate_check_state(AGGREGATE_INTHLL, state, NULL), STATUS_INVALID_ARGUMENT);
        counts->refused++;
        return;
    }
    cr_assert_eq(aggregate_check_state(AGGREGATE_INTHLL, state, NULL), STATUS_OK);
    struct hll_state parsed;
    cr_assert_eq(hll_state_parse(state, &parsed, NULL), STATUS_OK);
    cr_assert_eq(parsed.num_values, hll_vector_number(vector, "num_values"));
    cr_assert_eq((uint64_t)hll_estimate(&parsed), hll_vector_number(vector, "result"));

    struct builder empty = builder_of((struct hll_precision){15, 20}, HLL_UINT64);
    merge_into(&empty, &empty.state, state);
    struct bytes expected = hll_vector_of_hex(hll_vector_named(vector, "reserialized"),
                                              expected_data, sizeof expected_data);
    /* Ours has the type of the column where there was none, and no empty `data` field. */
    bool differs = strstr(vector->fields[1], "value_type 0") != NULL ||
                   strstr(vector->fields[1], "wrong length") != NULL;
    counts->differing += differs;
    cr_assert_eq(bytes_equal(buffer_bytes(&empty.state), expected), !differs, "line %zu",
                 vector->line);
    builder_deinit(&empty);
}

Test(hll_sketch, parser)
{
    struct parse_counts counts = {0, 0};
    hll_vectors_each("PARSE_ERR", 7, check_parse_error, NULL);
    hll_vectors_each("PARSE_OK", 6, check_parse_ok, &counts);
    cr_assert_eq(counts.refused, 1);
    cr_assert_eq(counts.differing, 2);
}

/* Every record of the file belongs to a kind that a test here or in test_hll.c drives, or to the
 * *_V010 kinds, which record the rule (> instead of >=) of a version that we do not follow. */
static void count_record(const struct hll_vector *vector, void *context)
{
    size_t *old_rule = context;
    (*old_rule) += strstr(vector->fields[0], "_V010") != NULL;
}

Test(hll_sketch, no_record_is_passed_over)
{
    size_t driven = 7 + 155 + 13 + 5 + 5 + 12 + 5            /* hashes */
                    + 60 + 36 + 7 + 2 + 2 + 1 + 3 + 4        /* encodings */
                    + 2 + 2                                  /* lists */
                    + 21 + 12 + 12 + 1 + 3 + 2               /* estimator */
                    + 106 + 40 + 8 + 8 + 23 + 2 + 3 + 7 + 6; /* sketches */
    size_t old_rule = 0;
    hll_vectors_each(NULL, driven + 12, count_record, &old_rule);
    cr_assert_eq(old_rule, 12);
}

Test(sha256, published_digests)
{
    char text[SHA256_TEXT_SIZE];
    sha256_text(BYTES_EMPTY, text);
    cr_assert_str_eq(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256_text(bytes_of_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), text);
    cr_assert_str_eq(text, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

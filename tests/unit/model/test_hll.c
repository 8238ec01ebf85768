/* The parts of a sketch -- hash, encoding, downgrade, estimator -- against recorded values. */
#include <criterion/criterion.h>
#include <math.h>

#include "common/aggregate/hll_bias.h"
#include "common/aggregate/hll_encoding.h"
#include "common/aggregate/hll_estimate.h"
#include "common/aggregate/hll_hash.h"
#include "common/aggregate/hll_merge.h"
#include "common/aggregate/hll_sparse.h"
#include "common/aggregate/hll_state.h"
#include "common/base/endian.h"
#include "tests/unit/model/hll_vectors.h"

static uint64_t hash_of_field(const struct hll_vector *vector, size_t field)
{
    return strtoull(vector->fields[field], NULL, 16);
}

static void expect_hash(const struct hll_vector *vector, size_t field, struct bytes input)
{
    cr_assert_eq(hll_hash_bytes(input), hash_of_field(vector, field), "line %zu", vector->line);
}

static void expect_hash_of_int32(const struct hll_vector *vector, size_t field)
{
    uint8_t data[4];
    store_le32(data, (uint32_t)strtol(vector->fields[field], NULL, 10));
    expect_hash(vector, field + 1, bytes_of(data, sizeof data));
}

static void expect_hash_of_int64(const struct hll_vector *vector, size_t field)
{
    int64_t input = strtoll(vector->fields[field], NULL, 10);
    cr_assert_eq(hll_hash_int64(input), hash_of_field(vector, field + 1), "line %zu", vector->line);
}

static void expect_hash_of_hex(const struct hll_vector *vector, size_t field)
{
    uint8_t data[512];
    expect_hash(vector, field + 1, hll_vector_of_hex(vector->fields[field], data, sizeof data));
}

static void check_hash_bytes(const struct hll_vector *vector, void *context)
{
    (void)context;
    expect_hash_of_hex(vector, 1);
}

static void check_hash_pattern(const struct hll_vector *vector, void *context)
{
    (void)context;
    static uint8_t data[65536];
    size_t size = strtoull(vector->fields[1], NULL, 10);
    cr_assert_leq(size, sizeof data);
    for (size_t i = 0; i < size; i++) {
        data[i] = (uint8_t)(131 * i + 7);
    }
    expect_hash(vector, 2, bytes_of(data, size));
}

static void check_hash_int64(const struct hll_vector *vector, void *context)
{
    (void)context;
    expect_hash_of_int64(vector, 1);
}

static void check_hash_int32(const struct hll_vector *vector, void *context)
{
    (void)context;
    expect_hash_of_int32(vector, 1);
}

static void check_hash_big_endian(const struct hll_vector *vector, void *context)
{
    (void)context;
    uint8_t data[8];
    store_be64(data, (uint64_t)strtoll(vector->fields[1], NULL, 10));
    expect_hash(vector, 2, bytes_of(data, sizeof data));
}

static void check_hash_published(const struct hll_vector *vector, void *context)
{
    (void)context;
    if (strcmp(vector->fields[1], "int32") == 0) {
        expect_hash_of_int32(vector, 2);
    } else if (strcmp(vector->fields[1], "int64") == 0) {
        expect_hash_of_int64(vector, 2);
    } else {
        expect_hash_of_hex(vector, 2);
    }
}

static void check_hash_repeated(const struct hll_vector *vector, void *context)
{
    (void)context;
    struct buffer input = BUFFER_INIT;
    size_t times = 0;
    cr_assert_eq(sscanf(vector->fields[1], "bytes \"foobar\" repeated %zu", &times), 1);
    for (size_t i = 0; i < times; i++) {
        buffer_append(&input, "foobar", 6);
    }
    expect_hash(vector, 2, buffer_bytes(&input));
    buffer_deinit(&input);
}

Test(hll_hash, is_fingerprint2011)
{
    hll_vectors_each("HASH_BYTES", 7, check_hash_bytes, NULL);
    hll_vectors_each("HASH_PATTERN", 155, check_hash_pattern, NULL);
    hll_vectors_each("HASH_I64", 13, check_hash_int64, NULL);
    hll_vectors_each("HASH_I32", 5, check_hash_int32, NULL);
    hll_vectors_each("HASH_BE64BYTES", 5, check_hash_big_endian, NULL);
    hll_vectors_each("UP_HASH", 12, check_hash_published, NULL);
    hll_vectors_each("THIRD_HASH", 5, check_hash_repeated, NULL);
}

static struct hll_precision precision_of(const struct hll_vector *vector)
{
    return (struct hll_precision){
        (uint32_t)hll_vector_number(vector, "p"),
        (uint32_t)hll_vector_number(vector, "sp"),
    };
}

/* "p=15,sp=20", with or without a word before it. */
static struct hll_precision precision_of_text(const char *text)
{
    struct hll_precision precision = {0, 0};
    const char *at = strstr(text, "p=");
    cr_assert_not_null(at);
    cr_assert_eq(sscanf(at, "p=%u,sp=%u", &precision.normal, &precision.sparse), 2);
    return precision;
}

static void expect(const struct hll_vector *vector, const char *name, uint64_t value)
{
    cr_assert_eq(hll_vector_number(vector, name), value, "line %zu: %s is %llu", vector->line, name,
                 (unsigned long long)value);
}

static void check_encoding(const struct hll_vector *vector, void *context)
{
    (void)context;
    struct hll_precision precision = precision_of(vector);
    uint64_t hash = hll_vector_hex(vector, "hash");
    uint32_t encoding = hll_encoding_of_hash(precision, hash);
    expect(vector, "sparse", encoding);
    expect(vector, "sparse_index", hll_encoding_sparse_index(precision, encoding));
    cr_assert(hll_encoding_is_valid(precision, encoding), "line %zu", vector->line);

    struct hll_register direct = hll_register_of_hash(precision.normal, hash);
    expect(vector, "normal_index", direct.index);
    expect(vector, "rho", direct.rho);
    struct hll_register decoded = hll_encoding_register(precision, encoding);
    expect(vector, "dec_index", decoded.index);
    expect(vector, "dec_rho", decoded.rho);
}

static void check_encoding_published(const struct hll_vector *vector, void *context)
{
    (void)context;
    uint64_t hash = hll_vector_hex(vector, "hash");
    expect(vector, "sparse", hll_encoding_of_hash(precision_of(vector), hash));
}

static void check_decoding_published(const struct hll_vector *vector, void *context)
{
    (void)context;
    struct hll_precision precision = precision_of(vector);
    uint32_t encoding = (uint32_t)hll_vector_number(vector, "sparse");
    struct hll_register decoded = hll_encoding_register(precision, encoding);
    expect(vector, "sparse_index", hll_encoding_sparse_index(precision, encoding));
    expect(vector, "normal_index", decoded.index);
    expect(vector, "normal_rho", decoded.rho);
}

static void check_decoding_lower(const struct hll_vector *vector, void *context)
{
    (void)context;
    struct hll_precision precision = precision_of(vector);
    uint32_t to = (uint32_t)hll_vector_number(vector, "to_p");
    uint32_t encoding = (uint32_t)hll_vector_number(vector, "sparse");
    struct hll_register lower = hll_register_downgrade(hll_encoding_register(precision, encoding),
                                                       precision.normal, to);
    expect(vector, "normal_index", lower.index);
    expect(vector, "normal_rho", lower.rho);
}

static void check_normal_published(const struct hll_vector *vector, void *context)
{
    (void)context;
    struct hll_register direct = hll_register_of_hash((uint32_t)hll_vector_number(vector, "p"),
                                                      hll_vector_hex(vector, "hash"));
    expect(vector, "index", direct.index);
    expect(vector, "rho", direct.rho);
}

static void check_register_downgrade(const struct hll_vector *vector, void *context)
{
    (void)context;
    struct hll_register from = {(uint32_t)hll_vector_number(vector, "index"),
                                (uint32_t)hll_vector_number(vector, "rho")};
    struct hll_register to = hll_register_downgrade(from, (uint32_t)hll_vector_number(vector, "p"),
                                                    (uint32_t)hll_vector_number(vector, "to_p"));
    expect(vector, "new_index", to.index);
    expect(vector, "new_rho", to.rho);
}

static void check_downgrade(const struct hll_vector *vector, void *context)
{
    (void)context;
    struct hll_precision from = precision_of_text(vector->fields[1]);
    struct hll_precision to = precision_of_text(vector->fields[2]);
    uint64_t hash = hll_vector_hex(vector, "hash");
    uint32_t encoding = hll_encoding_of_hash(from, hash);
    expect(vector, "from", encoding);
    expect(vector, "to", hll_encoding_downgrade(encoding, from, to));
    expect(vector, "direct", hll_encoding_of_hash(to, hash));
}

static void check_downgrade_published(const struct hll_vector *vector, void *context)
{
    (void)context;
    uint32_t encoding = (uint32_t)hll_vector_number(vector, "from");
    expect(vector, "to",
           hll_encoding_downgrade(encoding, precision_of_text(vector->fields[1]),
                                  precision_of_text(vector->fields[2])));
}

Test(hll_encoding, recorded)
{
    hll_vectors_each("ENC", 60, check_encoding, NULL);
    hll_vectors_each("DOWNGRADE", 36, check_downgrade, NULL);
}

Test(hll_encoding, published)
{
    hll_vectors_each("UP_ENC", 7, check_encoding_published, NULL);
    hll_vectors_each("UP_DEC", 2, check_decoding_published, NULL);
    hll_vectors_each("UP_DECDOWN", 2, check_decoding_lower, NULL);
    hll_vectors_each("UP_NORMAL", 1, check_normal_published, NULL);
    hll_vectors_each("UP_RHODOWN", 3, check_register_downgrade, NULL);
    hll_vectors_each("UP_DOWN", 4, check_downgrade_published, NULL);
}

/* At small precisions every hash prefix can be tried: downgrading an encoding is encoding low. */
Test(hll_encoding, downgrade_is_encoding_at_the_lower_precision)
{
    for (uint32_t p = 2; p <= 5; p++) {
        for (uint32_t sp = p; sp <= 8; sp++) {
            struct hll_precision from = {p, sp};
            for (uint64_t prefix = 0; prefix < 4096; prefix++) {
                uint64_t hash = prefix << 52;
                uint32_t encoding = hll_encoding_of_hash(from, hash);
                cr_assert(hll_encoding_is_valid(from, encoding));
                struct hll_register decoded = hll_encoding_register(from, encoding);
                struct hll_register direct = hll_register_of_hash(p, hash);
                cr_assert_eq(decoded.index, direct.index);
                cr_assert_eq(decoded.rho, direct.rho);
                for (uint32_t to_p = 1; to_p <= p; to_p++) {
                    for (uint32_t to_sp = to_p; to_sp <= sp; to_sp++) {
                        struct hll_precision to = {to_p, to_sp};
                        cr_assert_eq(hll_encoding_downgrade(encoding, from, to),
                                     hll_encoding_of_hash(to, hash));
                    }
                }
            }
        }
    }
}

/* The valid encodings are exactly those that some hash has. */
Test(hll_encoding, validity_is_exact)
{
    struct hll_precision precision = {4, 7};
    static bool is_reached[8192];
    for (uint32_t index = 0; index < 1u << 7; index++) {
        for (uint32_t zeros = 0; zeros <= 57; zeros++) {
            uint64_t rest = zeros == 57 ? 0 : UINT64_C(1) << (56 - zeros);
            uint64_t hash = (uint64_t)index << 57 | rest;
            is_reached[hll_encoding_of_hash(precision, hash)] = true;
        }
    }
    for (uint32_t encoding = 0; encoding < 8192; encoding++) {
        cr_assert_eq(hll_encoding_is_valid(precision, encoding), is_reached[encoding], "%u",
                     encoding);
    }
}

/* "a,b,c" as a list. */
static struct hll_sparse_list list_of_text(const char *text, uint8_t *data)
{
    struct hll_sparse_list list = {bytes_of(data, 0), 0};
    uint32_t last = 0;
    for (char *end = NULL; *text != '\0'; text = *end == ',' ? end + 1 : end) {
        uint32_t encoding = (uint32_t)strtoul(text, &end, 10);
        list.data.size_bytes += varint_store(data + list.data.size_bytes, encoding - last);
        list.count++;
        last = encoding;
        if (*end != ',') {
            break;
        }
    }
    return list;
}

/* The entries come one by one, as adds do. */
static void check_dedupe(const struct hll_vector *vector, void *context)
{
    (void)context;
    struct hll_precision precision = precision_of(vector);
    uint8_t data[2][128];
    struct hll_sparse_list list = {bytes_of(data[0], 0), 0};
    int side = 0;
    const char *text = hll_vector_named(vector, "in");
    while (text != NULL) {
        uint8_t single_data[VARINT_SIZE_MAX];
        size_t size = varint_store(single_data, strtoul(text, NULL, 10));
        struct hll_sparse_list single = {bytes_of(single_data, size), 1};
        side = 1 - side;
        cr_assert(hll_sparse_unite(precision, list, single, data[side], &list));
        text = strchr(text, ',');
        text = text == NULL ? NULL : text + 1;
    }
    uint8_t expected_data[128];
    struct hll_sparse_list expected = list_of_text(hll_vector_named(vector, "out"), expected_data);
    cr_assert_eq(list.count, expected.count);
    cr_assert(bytes_equal(list.data, expected.data), "line %zu", vector->line);
}

static void append_state(struct buffer *out, struct hll_precision precision, const char *list_text)
{
    uint8_t data[128];
    uint8_t head[HLL_STATE_HEAD_SIZE_MAX_BYTES];
    struct hll_state state = {.precision = precision, .value_type = HLL_UINT64};
    state.sparse = list_of_text(list_text, data);
    state.num_values = state.sparse.count;
    buffer_append(out, head, hll_state_write_head(&state, head));
    buffer_append_bytes(out, state.sparse.data);
}

/* "repr p=10,sp=13 | add from p=11,sp=15 values 1,31 | list=7,65538 ..." */
static void check_sparse_list(const struct hll_vector *vector, void *context)
{
    (void)context;
    struct buffer left = BUFFER_INIT;
    struct buffer right = BUFFER_INIT;
    struct buffer merged = BUFFER_INIT;
    append_state(&left, precision_of_text(vector->fields[1]), "");
    append_state(&right, precision_of_text(vector->fields[2]),
                 strstr(vector->fields[2], "values ") + strlen("values "));
    cr_assert_eq(hll_merge(buffer_bytes(&left), buffer_bytes(&right), HLL_UINT64, &merged),
                 STATUS_OK);
    struct hll_state state;
    cr_assert_eq(hll_state_parse(buffer_bytes(&merged), &state, NULL), STATUS_OK);
    uint8_t expected_data[128];
    struct hll_sparse_list expected = list_of_text(hll_vector_named(vector, "list"), expected_data);
    cr_assert_eq(state.precision.normal, 10);
    cr_assert_eq(state.precision.sparse, 13);
    cr_assert_eq(state.sparse.count, expected.count);
    cr_assert(bytes_equal(state.sparse.data, expected.data), "line %zu", vector->line);
    buffer_deinit(&left);
    buffer_deinit(&right);
    buffer_deinit(&merged);
}

Test(hll_sparse, published_lists)
{
    hll_vectors_each("UP_DEDUPE", 2, check_dedupe, NULL);
    hll_vectors_each("UP_SPARSELIST", 2, check_sparse_list, NULL);
}

static double real_of(const char *text)
{
    return strtod(text, NULL);
}

static void check_alpha(const struct hll_vector *vector, void *context)
{
    (void)context;
    uint32_t p = (uint32_t)hll_vector_number(vector, "p");
    cr_assert(hll_alpha(p) == real_of(vector->fields[2]), "line %zu", vector->line);
    cr_assert_eq((uint64_t)hll_linear_counting_limit(p), hll_vector_number(vector, "lc_threshold"));
}

static void check_bias(const struct hll_vector *vector, void *context)
{
    double tolerance = *(const double *)context;
    double bias = hll_bias((uint32_t)hll_vector_number(vector, "p"),
                           real_of(hll_vector_named(vector, "estimate")));
    double expected = real_of(hll_vector_named(vector, "bias"));
    cr_assert(fabs(bias - expected) <= tolerance, "line %zu: %.17g", vector->line, bias);
}

static void check_alpha_published(const struct hll_vector *vector, void *context)
{
    (void)context;
    uint32_t p = (uint32_t)hll_vector_number(vector, "p");
    cr_assert(fabs(hll_alpha(p) - real_of(vector->fields[2])) <= 0.0001);
}

static void check_limit_published(const struct hll_vector *vector, void *context)
{
    (void)context;
    uint32_t p = (uint32_t)hll_vector_number(vector, "p");
    cr_assert_eq(hll_linear_counting_limit(p), strtoll(vector->fields[2], NULL, 10));
}

Test(hll_estimate, constants_and_bias)
{
    double exactly = 0;
    double nearly = 0.0001;
    hll_vectors_each("ALPHA", 21, check_alpha, NULL);
    hll_vectors_each("BIAS", 12, check_bias, &exactly);
    hll_vectors_each("UP_BIAS", 12, check_bias, &nearly);
    hll_vectors_each("UP_ALPHA", 1, check_alpha_published, NULL);
    hll_vectors_each("UP_LCTHRESHOLD", 3, check_limit_published, NULL);
}

/* A slip in a table of numbers shows in its size, in its order, or in its sum. */
Test(hll_estimate, bias_tables_are_whole)
{
    static const size_t counts[] = {79,  159, 200, 200, 200, 201, 200, 201,
                                    201, 200, 201, 201, 200, 201, 200};
    for (uint32_t p = HLL_BIAS_PRECISION_MIN; p <= HLL_BIAS_PRECISION_MAX; p++) {
        struct hll_bias_table table = hll_bias_table_of(p);
        cr_assert_eq(table.count, counts[p - HLL_BIAS_PRECISION_MIN]);
        size_t out_of_order = 0;
        for (size_t i = 1; i < table.count; i++) {
            out_of_order += table.points[i].raw_estimate <= table.points[i - 1].raw_estimate;
        }
        cr_assert_eq(out_of_order, p == 5 || p == 6 ? 2 : 0, "precision %u", p);
    }
}

/* "UINT32 p=15 sp=25 sparse_data=01 sparse_size=1 num_values=2", and one of zero registers. */
static void check_published_state(const struct hll_vector *vector, void *context)
{
    (void)context;
    static const uint8_t zeros[1 << 15];
    uint8_t head[HLL_STATE_HEAD_SIZE_MAX_BYTES];
    bool is_sparse = strstr(vector->fields[1], "sparse_data=01") != NULL;
    struct hll_state state = {
        .num_values = is_sparse ? 2 : 1,
        .value_type = HLL_UINT32,
        .precision = {15, is_sparse ? 25 : 0},
        .registers = is_sparse ? BYTES_EMPTY : bytes_of(zeros, sizeof zeros),
        .sparse = {is_sparse ? bytes_of("\x01", 1) : BYTES_EMPTY, is_sparse ? 1 : 0},
    };
    struct buffer data = BUFFER_INIT;
    buffer_append(&data, head, hll_state_write_head(&state, head));
    buffer_append_bytes(&data, is_sparse ? state.sparse.data : state.registers);
    struct hll_state parsed;
    cr_assert_eq(hll_state_parse(buffer_bytes(&data), &parsed, NULL), STATUS_OK);
    cr_assert_eq((uint64_t)hll_estimate(&parsed), hll_vector_number(vector, "result"));
    buffer_deinit(&data);
}

Test(hll_estimate, published_states)
{
    hll_vectors_each("UP_STATE", 2, check_published_state, NULL);
}

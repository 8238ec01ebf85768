#include "common/aggregate/aggregate.h"

#include "common/aggregate/hll.h"
#include "common/aggregate/hll_estimate.h"
#include "common/aggregate/hll_hash.h"
#include "common/aggregate/hll_merge.h"
#include "common/aggregate/hll_state.h"
#include "common/base/assert.h"
#include "common/base/endian.h"

#define INTEGER_STATE_SIZE_BYTES 8

static const char *const names[] = {
    [AGGREGATE_NONE] = "none",     [AGGREGATE_INTSUM] = "intsum", [AGGREGATE_INTMIN] = "intmin",
    [AGGREGATE_INTMAX] = "intmax", [AGGREGATE_INTHLL] = "inthll", [AGGREGATE_BYTESHLL] = "byteshll",
};

#define KIND_COUNT (sizeof names / sizeof *names)

static bool is_integer_state(struct bytes state)
{
    return state.size_bytes == INTEGER_STATE_SIZE_BYTES;
}

/* The bytes of a folded with b; both are integer states. */
static uint64_t merge_integers(enum aggregate_kind kind, const uint8_t *a, const uint8_t *b)
{
    ASSERT(aggregate_is_integer(kind));
    uint64_t bits_a = load_be64(a);
    uint64_t bits_b = load_be64(b);
    if (kind == AGGREGATE_INTSUM) {
        return bits_a + bits_b;
    }
    bool a_is_less = (int64_t)bits_a < (int64_t)bits_b;
    return a_is_less == (kind == AGGREGATE_INTMIN) ? bits_a : bits_b;
}

static enum status append_integer(struct buffer *out, uint64_t bits)
{
    uint8_t state[INTEGER_STATE_SIZE_BYTES];
    store_be64(state, bits);
    buffer_append(out, state, sizeof state);
    return out->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

static enum hll_value_type value_type_of(enum aggregate_kind kind)
{
    ASSERT(kind == AGGREGATE_INTHLL || kind == AGGREGATE_BYTESHLL);
    return kind == AGGREGATE_INTHLL ? HLL_UINT64 : HLL_BYTES;
}

static enum status append_single(enum aggregate_kind kind, uint64_t hash, struct buffer *out)
{
    struct hll_precision precision = {HLL_PRECISION, HLL_SPARSE_PRECISION};
    uint8_t state[HLL_STATE_SINGLE_SIZE_MAX_BYTES];
    size_t size_bytes = hll_state_write_single(precision, value_type_of(kind), hash, state);
    buffer_append(out, state, size_bytes);
    return out->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

/* The whole check of a sketch; *ret_sketch borrows the state. */
static enum status check_sketch(enum aggregate_kind kind,
                                struct bytes state,
                                struct hll_state *ret_sketch,
                                struct error *ret_error)
{
    enum status status = hll_state_parse(state, ret_sketch, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    enum hll_value_type value_type = value_type_of(kind);
    if (ret_sketch->value_type != value_type && ret_sketch->value_type != HLL_UNTYPED) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "sketch: value_type is %u, but an %s cell holds %u",
                         ret_sketch->value_type, aggregate_name(kind), (unsigned)value_type);
    }
    return hll_state_check(ret_sketch, ret_error);
}

static enum status append_copy(struct buffer *out, struct bytes state)
{
    buffer_append_bytes(out, state);
    return out->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

static enum status append_merged(enum aggregate_kind kind,
                                 struct bytes a,
                                 struct bytes b,
                                 struct buffer *out)
{
    if (a.size_bytes == 0 || b.size_bytes == 0) {
        return append_copy(out, a.size_bytes == 0 ? b : a);
    }
    if (!aggregate_is_integer(kind)) {
        return hll_merge(a, b, value_type_of(kind), out);
    }
    if (!is_integer_state(a) || !is_integer_state(b)) {
        return STATUS_INVALID_ARGUMENT;
    }
    return append_integer(out, merge_integers(kind, a.data, b.data));
}

const char *aggregate_name(enum aggregate_kind kind)
{
    return (size_t)kind < KIND_COUNT ? names[kind] : "unknown";
}

bool aggregate_is_integer(enum aggregate_kind kind)
{
    return kind == AGGREGATE_INTSUM || kind == AGGREGATE_INTMIN || kind == AGGREGATE_INTMAX;
}

enum status aggregate_operand_of_int64(enum aggregate_kind kind, int64_t input, struct buffer *out)
{
    if (kind == AGGREGATE_INTHLL) {
        return append_single(kind, hll_hash_int64(input), out);
    }
    ASSERT(aggregate_is_integer(kind));
    return append_integer(out, (uint64_t)input);
}

enum status aggregate_operand_of_bytes(enum aggregate_kind kind,
                                       struct bytes input,
                                       struct buffer *out)
{
    ASSERT(kind == AGGREGATE_BYTESHLL);
    return append_single(kind, hll_hash_bytes(input), out);
}

enum status aggregate_check_state(enum aggregate_kind kind,
                                  struct bytes state,
                                  struct error *ret_error)
{
    if (state.size_bytes == 0) {
        return STATUS_OK;
    }
    if (!aggregate_is_integer(kind)) {
        struct hll_state sketch;
        return check_sketch(kind, state, &sketch, ret_error);
    }
    if (!is_integer_state(state)) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "the state of an %s cell is 8 bytes (or none), not %zu",
                         aggregate_name(kind), state.size_bytes);
    }
    return STATUS_OK;
}

bool aggregate_merge_in_place(enum aggregate_kind kind,
                              uint8_t *state,
                              size_t state_size_bytes,
                              struct bytes operand)
{
    if (operand.size_bytes == 0) {
        return true;
    }
    if (state_size_bytes == 0) {
        return false;
    }
    if (!aggregate_is_integer(kind)) {
        return hll_merge_in_place(state, state_size_bytes, operand, value_type_of(kind));
    }
    if (state_size_bytes != INTEGER_STATE_SIZE_BYTES || !is_integer_state(operand)) {
        return false;
    }
    store_be64(state, merge_integers(kind, state, operand.data));
    return true;
}

enum status aggregate_merge(enum aggregate_kind kind,
                            struct bytes a,
                            struct bytes b,
                            struct buffer *out)
{
    buffer_reset(out);
    enum status status = append_merged(kind, a, b, out);
    if (status != STATUS_OK) {
        buffer_reset(out);
    }
    return status;
}

enum status aggregate_extract(enum aggregate_kind kind, struct bytes state, int64_t *ret_value)
{
    if (state.size_bytes == 0) {
        *ret_value = 0;
        return STATUS_OK;
    }
    if (aggregate_is_integer(kind)) {
        if (!is_integer_state(state)) {
            return STATUS_CORRUPT;
        }
        *ret_value = (int64_t)load_be64(state.data);
        return STATUS_OK;
    }
    struct hll_state sketch;
    if (check_sketch(kind, state, &sketch, NULL) != STATUS_OK) {
        return STATUS_CORRUPT;
    }
    *ret_value = hll_estimate(&sketch);
    return STATUS_OK;
}

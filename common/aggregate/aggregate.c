#include "common/aggregate/aggregate.h"

#include <string.h>

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
        return STATUS_UNIMPLEMENTED;
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

bool aggregate_of_name(const char *name, enum aggregate_kind *ret_kind)
{
    for (size_t i = AGGREGATE_NONE + 1; i < KIND_COUNT; i++) {
        if (strcmp(name, names[i]) == 0) {
            *ret_kind = (enum aggregate_kind)i;
            return true;
        }
    }
    return false;
}

bool aggregate_is_integer(enum aggregate_kind kind)
{
    return kind == AGGREGATE_INTSUM || kind == AGGREGATE_INTMIN || kind == AGGREGATE_INTMAX;
}

enum status aggregate_operand_of_int64(enum aggregate_kind kind, int64_t input, struct buffer *out)
{
    if (kind == AGGREGATE_INTHLL) {
        return STATUS_UNIMPLEMENTED;
    }
    ASSERT(aggregate_is_integer(kind));
    return append_integer(out, (uint64_t)input);
}

enum status aggregate_operand_of_bytes(enum aggregate_kind kind,
                                       struct bytes input,
                                       struct buffer *out)
{
    ASSERT(kind == AGGREGATE_BYTESHLL);
    (void)input;
    (void)out;
    return STATUS_UNIMPLEMENTED;
}

enum status aggregate_check_state(enum aggregate_kind kind,
                                  struct bytes state,
                                  struct error *ret_error)
{
    if (state.size_bytes == 0) {
        return STATUS_OK;
    }
    if (!aggregate_is_integer(kind)) {
        return error_set(ret_error, STATUS_UNIMPLEMENTED, "sketches are not built yet");
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
    if (!aggregate_is_integer(kind) || state_size_bytes != INTEGER_STATE_SIZE_BYTES ||
        !is_integer_state(operand)) {
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
    if (aggregate_check_state(kind, state, NULL) != STATUS_OK) {
        return STATUS_CORRUPT;
    }
    *ret_value = state.size_bytes == 0 ? 0 : (int64_t)load_be64(state.data);
    return STATUS_OK;
}

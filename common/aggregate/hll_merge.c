#include "common/aggregate/hll_merge.h"

#include <string.h>

#include "common/aggregate/hll_encoding.h"
#include "common/aggregate/hll_sparse.h"
#include "common/aggregate/hll_state.h"
#include "common/base/assert.h"

static uint32_t smaller_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* What the result is but for its registers or its list.  False if the types differ. */
static bool resolve(const struct hll_state *a,
                    const struct hll_state *b,
                    enum hll_value_type column_type,
                    struct hll_state *ret_merged)
{
    if (a->value_type != HLL_UNTYPED && b->value_type != HLL_UNTYPED &&
        a->value_type != b->value_type) {
        return false;
    }
    uint32_t value_type = a->value_type != HLL_UNTYPED ? a->value_type : b->value_type;
    uint64_t num_values = a->num_values + b->num_values; /* of two int64: it fits */
    *ret_merged = (struct hll_state){
        .num_values = num_values < INT64_MAX ? num_values : INT64_MAX,
        .value_type = value_type != HLL_UNTYPED ? value_type : (uint32_t)column_type,
        /* Without a sparse form sp is 0, which is the smaller one, as it should be. */
        .precision = {smaller_of(a->precision.normal, b->precision.normal),
                      smaller_of(a->precision.sparse, b->precision.sparse)},
    };
    return true;
}

static bool is_same_precision(struct hll_precision a, struct hll_precision b)
{
    return a.normal == b.normal && a.sparse == b.sparse;
}

/* One is at least as precise as the other both ways. */
static bool is_comparable(struct hll_precision a, struct hll_precision b)
{
    return (a.normal <= b.normal && a.sparse <= b.sparse) ||
           (a.normal >= b.normal && a.sparse >= b.sparse);
}

/* A list that fold_sparse() can take: every entry falls into a register. */
static bool is_foldable(const struct hll_state *state)
{
    struct hll_sparse_reader reader = hll_sparse_reader_of(state->sparse.data);
    while (hll_sparse_read(&reader)) {
        if (!hll_encoding_is_valid(state->precision, reader.encoding)) {
            return false;
        }
    }
    return reader.at == reader.end;
}

static void raise_register(uint8_t *registers, struct hll_register seen)
{
    if (seen.rho > registers[seen.index]) {
        registers[seen.index] = (uint8_t)seen.rho;
    }
}

static void fold_sparse(uint8_t *registers, uint32_t precision, const struct hll_state *state)
{
    struct hll_sparse_reader reader = hll_sparse_reader_of(state->sparse.data);
    while (hll_sparse_read(&reader)) {
        struct hll_register seen = hll_encoding_register(state->precision, reader.encoding);
        ASSERT(seen.index >> state->precision.normal == 0);
        raise_register(registers, hll_register_downgrade(seen, state->precision.normal, precision));
    }
}

static void fold_normal(uint8_t *registers, uint32_t precision, const struct hll_state *state)
{
    const uint8_t *from = state->registers.data;
    if (state->precision.normal == precision) {
        for (size_t i = 0; i < state->registers.size_bytes; i++) {
            registers[i] = from[i] > registers[i] ? from[i] : registers[i];
        }
        return;
    }
    for (size_t i = 0; i < state->registers.size_bytes; i++) {
        struct hll_register seen = {(uint32_t)i, from[i]};
        raise_register(registers, hll_register_downgrade(seen, state->precision.normal, precision));
    }
}

static void fold_state(uint8_t *registers, uint32_t precision, const struct hll_state *state)
{
    if (hll_state_is_sparse(state)) {
        fold_sparse(registers, precision, state);
    } else {
        fold_normal(registers, precision, state);
    }
}

static bool is_register_copy(const struct hll_state *state, uint32_t precision)
{
    return state->registers.size_bytes > 0 && state->precision.normal == precision;
}

/* Append the result in normal form.  The registers of one side are copied, if they can be. */
static enum status append_normal(const struct hll_state *a,
                                 const struct hll_state *b,
                                 struct hll_state merged,
                                 struct buffer *out)
{
    if (!is_foldable(a) || !is_foldable(b)) {
        return STATUS_INVALID_ARGUMENT;
    }
    uint32_t precision = merged.precision.normal;
    bool is_empty = a->registers.size_bytes + b->registers.size_bytes + a->sparse.data.size_bytes +
                        b->sparse.data.size_bytes ==
                    0;
    merged.registers.size_bytes = is_empty ? 0 : (size_t)1 << precision;

    uint8_t *head = buffer_reserve(out,
                                   HLL_STATE_HEAD_SIZE_MAX_BYTES + merged.registers.size_bytes);
    if (head == NULL) {
        return STATUS_NO_MEMORY;
    }
    size_t head_bytes = hll_state_write_head(&merged, head);
    buffer_advance(out, head_bytes + merged.registers.size_bytes);
    if (is_empty) {
        return STATUS_OK;
    }
    uint8_t *registers = head + head_bytes;
    if (is_register_copy(a, precision)) {
        memcpy(registers, a->registers.data, merged.registers.size_bytes);
        fold_state(registers, precision, b);
    } else if (is_register_copy(b, precision)) {
        memcpy(registers, b->registers.data, merged.registers.size_bytes);
        fold_state(registers, precision, a);
    } else {
        memset(registers, 0, merged.registers.size_bytes);
        fold_state(registers, precision, a);
        fold_state(registers, precision, b);
    }
    return STATUS_OK;
}

/* Append the union of two lists, both of the result's precision, unless it has outgrown sparse
 * form: then nothing is appended, and *ret_is_outgrown says so. */
static enum status append_sparse(struct hll_sparse_list a,
                                 struct hll_sparse_list b,
                                 struct hll_state merged,
                                 struct buffer *out,
                                 bool *ret_is_outgrown)
{
    uint8_t *space = buffer_reserve(out, HLL_STATE_HEAD_SIZE_MAX_BYTES + a.data.size_bytes +
                                             b.data.size_bytes);
    if (space == NULL) {
        return STATUS_NO_MEMORY;
    }
    /* How long the head is depends on the list, so the list is written first, and then moved. */
    uint8_t *list = space + HLL_STATE_HEAD_SIZE_MAX_BYTES;
    if (!hll_sparse_unite(merged.precision, a, b, list, &merged.sparse)) {
        return STATUS_INVALID_ARGUMENT;
    }
    size_t list_bytes = merged.sparse.data.size_bytes;
    *ret_is_outgrown = list_bytes >= hll_sparse_size_limit_bytes(merged.precision.normal);
    if (*ret_is_outgrown) {
        return STATUS_OK;
    }
    size_t head_bytes = hll_state_write_head(&merged, space);
    memmove(space + head_bytes, list, list_bytes);
    buffer_advance(out, head_bytes + list_bytes);
    return STATUS_OK;
}

/* As append_sparse() for lists of which at most one has another precision than the result. */
static enum status append_sparse_downgraded(const struct hll_state *a,
                                            const struct hll_state *b,
                                            const struct hll_state *merged,
                                            struct buffer *out,
                                            bool *ret_is_outgrown)
{
    if (!is_comparable(a->precision, b->precision)) {
        return STATUS_INVALID_ARGUMENT;
    }
    if (is_same_precision(a->precision, b->precision)) {
        return append_sparse(a->sparse, b->sparse, *merged, out, ret_is_outgrown);
    }
    bool a_is_lower = is_same_precision(a->precision, merged->precision);
    const struct hll_state *lower = a_is_lower ? a : b;
    const struct hll_state *higher = a_is_lower ? b : a;
    ASSERT(is_same_precision(lower->precision, merged->precision));

    struct buffer scratch = BUFFER_INIT;
    struct hll_sparse_list list;
    enum status status = hll_sparse_downgrade(higher->sparse, higher->precision, merged->precision,
                                              &scratch, &list);
    if (status == STATUS_OK) {
        status = append_sparse(lower->sparse, list, *merged, out, ret_is_outgrown);
    }
    buffer_deinit(&scratch);
    return status;
}

enum status hll_merge(struct bytes a,
                      struct bytes b,
                      enum hll_value_type value_type,
                      struct buffer *out)
{
    struct hll_state state_a;
    struct hll_state state_b;
    struct hll_state merged;
    if (hll_state_parse(a, &state_a, NULL) != STATUS_OK ||
        hll_state_parse(b, &state_b, NULL) != STATUS_OK ||
        !resolve(&state_a, &state_b, value_type, &merged)) {
        return STATUS_INVALID_ARGUMENT;
    }
    if (hll_state_is_sparse(&state_a) && hll_state_is_sparse(&state_b)) {
        bool is_outgrown = false;
        enum status status = append_sparse_downgraded(&state_a, &state_b, &merged, out,
                                                      &is_outgrown);
        if (status != STATUS_OK || !is_outgrown) {
            return status;
        }
    }
    return append_normal(&state_a, &state_b, merged, out);
}

bool hll_merge_in_place(uint8_t *state,
                        size_t state_size_bytes,
                        struct bytes operand,
                        enum hll_value_type value_type)
{
    struct hll_state old;
    struct hll_state folded;
    struct hll_state merged;
    if (hll_state_parse(bytes_of(state, state_size_bytes), &old, NULL) != STATUS_OK ||
        old.registers.size_bytes == 0 || hll_state_parse(operand, &folded, NULL) != STATUS_OK ||
        !resolve(&old, &folded, value_type, &merged) ||
        merged.precision.normal != old.precision.normal || !is_foldable(&folded)) {
        return false;
    }
    merged.registers.size_bytes = old.registers.size_bytes;

    /* The state must be as we would write it, or folding would not give what merging gives. */
    uint8_t head[HLL_STATE_HEAD_SIZE_MAX_BYTES];
    size_t head_bytes = hll_state_write_head(&old, head);
    if (head_bytes + old.registers.size_bytes != state_size_bytes ||
        memcmp(head, state, head_bytes) != 0) {
        return false;
    }
    if (hll_state_write_head(&merged, head) != head_bytes) {
        return false;
    }
    memcpy(state, head, head_bytes);
    fold_state(state + head_bytes, old.precision.normal, &folded);
    return true;
}

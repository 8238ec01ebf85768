#include "common/aggregate/aggregate_form.h"

#include <string.h>

#include "common/aggregate/hll_encoding.h"
#include "common/aggregate/hll_sparse.h"
#include "common/aggregate/hll_state.h"

/* Lists of the limit divided by this, or longer, may be normal elsewhere. */
#define LIMIT_DIVISOR 4

static bool is_sketch(enum aggregate_kind kind)
{
    return kind == AGGREGATE_INTHLL || kind == AGGREGATE_BYTESHLL;
}

static bool may_be_normal_elsewhere(const struct hll_state *state)
{
    size_t limit_bytes = hll_sparse_size_limit_bytes(state->precision.normal);
    return hll_state_is_sparse(state) &&
           state->sparse.data.size_bytes >= limit_bytes / LIMIT_DIVISOR;
}

/* False for what is no list. */
static bool raise_registers(const struct hll_state *state, uint8_t *registers)
{
    struct hll_sparse_reader reader = hll_sparse_reader_of(state->sparse.data);
    while (hll_sparse_read(&reader)) {
        if (!hll_encoding_is_valid(state->precision, reader.encoding)) {
            return false;
        }
        struct hll_register seen = hll_encoding_register(state->precision, reader.encoding);
        if (seen.rho > registers[seen.index]) {
            registers[seen.index] = (uint8_t)seen.rho;
        }
    }
    return reader.at == reader.end;
}

/* What merging would have made of it on the other way. */
static enum status append_normal(const struct hll_state *state,
                                 struct buffer *out,
                                 bool *ret_is_list)
{
    struct hll_state normal = *state;
    normal.sparse = (struct hll_sparse_list){.count = 0};
    normal.registers.size_bytes = (size_t)1 << state->precision.normal;
    uint8_t *head = buffer_reserve(out,
                                   HLL_STATE_HEAD_SIZE_MAX_BYTES + normal.registers.size_bytes);
    if (head == NULL) {
        return STATUS_NO_MEMORY;
    }
    size_t head_bytes = hll_state_write_head(&normal, head);
    memset(head + head_bytes, 0, normal.registers.size_bytes);
    *ret_is_list = raise_registers(state, head + head_bytes);
    buffer_advance(out, head_bytes + normal.registers.size_bytes);
    return STATUS_OK;
}

enum status aggregate_form(enum aggregate_kind kind,
                           struct bytes state,
                           struct buffer *room,
                           struct bytes *ret_form)
{
    struct hll_state sketch;
    bool is_list = false;
    *ret_form = state;
    if (!is_sketch(kind) || state.size_bytes == 0 ||
        hll_state_parse(state, &sketch, NULL) != STATUS_OK || !may_be_normal_elsewhere(&sketch)) {
        return STATUS_OK;
    }
    buffer_reset(room);
    enum status status = append_normal(&sketch, room, &is_list);
    if (status == STATUS_OK && is_list) {
        *ret_form = buffer_bytes(room);
    }
    return status;
}

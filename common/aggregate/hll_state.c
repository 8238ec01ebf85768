#include "common/aggregate/hll_state.h"

#include <string.h>

#include "common/aggregate/hll_encoding.h"
#include "common/base/assert.h"
#include "common/base/endian.h"

#define TYPE_HLL         112
#define ENCODING_VERSION 2

/* Fields of the two messages. */
enum {
    OUTER_TYPE = 1,
    OUTER_NUM_VALUES = 2,
    OUTER_ENCODING_VERSION = 3,
    OUTER_VALUE_TYPE = 4,
    OUTER_SKETCH = 112,
    INNER_SPARSE_SIZE = 2,
    INNER_PRECISION = 3,
    INNER_SPARSE_PRECISION = 4,
    INNER_REGISTERS = 5,
    INNER_SPARSE = 6,
};

enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5,
};

#define FIELD_MAX UINT64_C(0x1fffffff)

/* One field of a message: the number of a varint, or the bytes of WIRE_BYTES. */
struct field {
    uint32_t number;
    enum wire_type wire_type;
    uint64_t value;
    struct bytes bytes;
};

/* What the message said, before it is judged. */
struct fields {
    uint64_t type;
    uint64_t num_values;
    uint64_t encoding_version;
    uint64_t value_type;
    uint64_t sparse_size;
    uint64_t precision;
    uint64_t sparse_precision;
    struct bytes registers;
    struct bytes sparse;
};

static enum status malformed(struct error *ret_error)
{
    return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                     "sketch: not a well-formed AggregatorStateProto message");
}

static bool read_bytes(struct bytes *rest, uint64_t size_bytes, struct bytes *ret_bytes)
{
    if (size_bytes > rest->size_bytes) {
        return false;
    }
    *ret_bytes = bytes_of(rest->data, (size_t)size_bytes);
    rest->data += size_bytes;
    rest->size_bytes -= (size_t)size_bytes;
    return true;
}

static bool read_varint(struct bytes *rest, uint64_t *ret_value)
{
    if (rest->size_bytes == 0) {
        return false;
    }
    size_t used = varint_load(rest->data, rest->data + rest->size_bytes, ret_value);
    rest->data += used;
    rest->size_bytes -= used;
    return used > 0;
}

/* Take one field off the front of a message; false when that is no field. */
static bool read_field(struct bytes *rest, struct field *ret_field)
{
    uint64_t tag = 0;
    uint64_t size_bytes = 0;
    if (!read_varint(rest, &tag) || tag >> 3 == 0 || tag >> 3 > FIELD_MAX) {
        return false;
    }
    *ret_field = (struct field){
        .number = (uint32_t)(tag >> 3),
        .wire_type = (enum wire_type)(tag & 7),
    };
    switch (tag & 7) {
    case WIRE_VARINT:
        return read_varint(rest, &ret_field->value);
    case WIRE_FIXED64:
        return read_bytes(rest, 8, &ret_field->bytes);
    case WIRE_BYTES:
        return read_varint(rest, &size_bytes) && read_bytes(rest, size_bytes, &ret_field->bytes);
    case WIRE_FIXED32:
        return read_bytes(rest, 4, &ret_field->bytes);
    default:
        return false;
    }
}

static bool take_number(const struct field *field, uint64_t *ret_value)
{
    *ret_value = field->value;
    return field->wire_type == WIRE_VARINT;
}

static bool take_bytes(const struct field *field, struct bytes *ret_bytes)
{
    *ret_bytes = field->bytes;
    return field->wire_type == WIRE_BYTES;
}

static bool take_inner(const struct field *field, struct fields *fields)
{
    switch (field->number) {
    case INNER_SPARSE_SIZE:
        return take_number(field, &fields->sparse_size);
    case INNER_PRECISION:
        return take_number(field, &fields->precision);
    case INNER_SPARSE_PRECISION:
        return take_number(field, &fields->sparse_precision);
    case INNER_REGISTERS:
        return take_bytes(field, &fields->registers);
    case INNER_SPARSE:
        return take_bytes(field, &fields->sparse);
    default:
        return true;
    }
}

/* A message field that comes twice is merged, which for these is: the last of each wins. */
static bool take_sketch(const struct field *field, struct fields *fields)
{
    struct bytes rest = BYTES_EMPTY;
    if (!take_bytes(field, &rest)) {
        return false;
    }
    struct field inner;
    while (rest.size_bytes > 0) {
        if (!read_field(&rest, &inner) || !take_inner(&inner, fields)) {
            return false;
        }
    }
    return true;
}

static bool take_outer(const struct field *field, struct fields *fields)
{
    switch (field->number) {
    case OUTER_TYPE:
        return take_number(field, &fields->type);
    case OUTER_NUM_VALUES:
        return take_number(field, &fields->num_values);
    case OUTER_ENCODING_VERSION:
        return take_number(field, &fields->encoding_version);
    case OUTER_VALUE_TYPE:
        return take_number(field, &fields->value_type);
    case OUTER_SKETCH:
        return take_sketch(field, fields);
    default:
        return true;
    }
}

static enum status judge_outer(const struct fields *fields, struct error *ret_error)
{
    if (fields->type != TYPE_HLL) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "sketch: type is %llu, not 112 (HYPERLOGLOG_PLUS_UNIQUE)",
                         (unsigned long long)fields->type);
    }
    if (fields->encoding_version != ENCODING_VERSION) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "sketch: encoding_version is %llu, not 2",
                         (unsigned long long)fields->encoding_version);
    }
    if (fields->num_values > INT64_MAX) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "sketch: num_values is negative");
    }
    if (fields->value_type != HLL_UNTYPED && fields->value_type != HLL_UINT32 &&
        fields->value_type != HLL_UINT64 && fields->value_type != HLL_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "sketch: value_type %llu is none of 7 (uint32), 8 (uint64), 11 (bytes)",
                         (unsigned long long)fields->value_type);
    }
    return STATUS_OK;
}

static enum status judge_inner(const struct fields *fields, struct error *ret_error)
{
    uint64_t p = fields->precision;
    uint64_t sp = fields->sparse_precision;
    if (p < HLL_PRECISION_MIN || p > HLL_PRECISION_MAX ||
        (sp != 0 && (sp < p || sp > HLL_SPARSE_PRECISION_MAX))) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "sketch: precisions %llu/%llu: the first is 4 to 24, the second 0 or "
                         "from the first to 25",
                         (unsigned long long)p, (unsigned long long)sp);
    }
    if (fields->registers.size_bytes != 0 && fields->registers.size_bytes != (size_t)1 << p) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "sketch: data is %zu bytes, but precision %llu has %zu registers",
                         fields->registers.size_bytes, (unsigned long long)p, (size_t)1 << p);
    }
    bool has_sparse = fields->sparse.size_bytes != 0 || fields->sparse_size != 0;
    if (has_sparse && (sp == 0 || fields->registers.size_bytes != 0)) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "sketch: sparse entries beside registers, or without sparse precision");
    }
    if (fields->sparse_size > fields->sparse.size_bytes) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "sketch: sparse_size is %llu, but sparse_data has %zu bytes",
                         (unsigned long long)fields->sparse_size, fields->sparse.size_bytes);
    }
    return STATUS_OK;
}

static size_t write_number(uint8_t *at, uint32_t field, uint64_t value)
{
    size_t size_bytes = varint_store(at, field << 3 | WIRE_VARINT);
    return size_bytes + varint_store(at + size_bytes, value);
}

static size_t write_optional(uint8_t *at, uint32_t field, uint64_t value)
{
    return value == 0 ? 0 : write_number(at, field, value);
}

/* The tag and the size of bytes that follow. */
static size_t write_size(uint8_t *at, uint32_t field, uint64_t value)
{
    size_t size_bytes = varint_store(at, field << 3 | WIRE_BYTES);
    return size_bytes + varint_store(at + size_bytes, value);
}

bool hll_state_is_sparse(const struct hll_state *state)
{
    return state->precision.sparse != 0 && state->registers.size_bytes == 0;
}

enum status hll_state_parse(struct bytes data, struct hll_state *ret_state, struct error *ret_error)
{
    struct fields fields = {.type = TYPE_HLL, .encoding_version = 1};
    struct field field;
    while (data.size_bytes > 0) {
        if (!read_field(&data, &field) || !take_outer(&field, &fields)) {
            return malformed(ret_error);
        }
    }
    enum status status = judge_outer(&fields, ret_error);
    if (status == STATUS_OK) {
        status = judge_inner(&fields, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    *ret_state = (struct hll_state){
        .num_values = fields.num_values,
        .value_type = (uint32_t)fields.value_type,
        .precision = {(uint32_t)fields.precision, (uint32_t)fields.sparse_precision},
        .registers = fields.registers,
        .sparse = {fields.sparse, (uint32_t)fields.sparse_size},
    };
    return STATUS_OK;
}

enum status hll_state_check(const struct hll_state *state, struct error *ret_error)
{
    uint32_t p = state->precision.normal;
    if (p < HLL_CELL_PRECISION_MIN || p > HLL_CELL_PRECISION_MAX) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "sketch: precision %u: a cell holds %d to %d", p, HLL_CELL_PRECISION_MIN,
                         HLL_CELL_PRECISION_MAX);
    }
    uint32_t sp = state->precision.sparse;
    if (sp != 0 && sp != p + HLL_CELL_SPARSE_MORE_BITS) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "sketch: sparse precision %u: with precision %u a cell holds %u or 0", sp,
                         p, p + HLL_CELL_SPARSE_MORE_BITS);
    }
    if (hll_state_is_sparse(state)) {
        /* Exactly at the limit is what Zetasketch before 2022 left sparse; nobody goes beyond. */
        if (state->sparse.data.size_bytes > hll_sparse_size_limit_bytes(p)) {
            return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                             "sketch: %zu bytes of sparse_data should be normal form from %zu on",
                             state->sparse.data.size_bytes, hll_sparse_size_limit_bytes(p));
        }
        return hll_sparse_check(state->sparse, state->precision, ret_error);
    }
    uint8_t largest = 0;
    for (size_t i = 0; i < state->registers.size_bytes; i++) {
        uint8_t rho = state->registers.data[i];
        largest = rho > largest ? rho : largest;
    }
    if (largest > 65 - p) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "sketch: a register holds %u; precision %u allows %u", largest, p, 65 - p);
    }
    return STATUS_OK;
}

size_t hll_state_write_head(const struct hll_state *state,
                            uint8_t ret_head[HLL_STATE_HEAD_SIZE_MAX_BYTES])
{
    bool is_sparse = hll_state_is_sparse(state);
    size_t body_bytes = is_sparse ? state->sparse.data.size_bytes : state->registers.size_bytes;

    uint8_t inner[HLL_STATE_HEAD_SIZE_MAX_BYTES / 2];
    size_t inner_bytes = write_optional(inner, INNER_SPARSE_SIZE, state->sparse.count);
    inner_bytes += write_number(inner + inner_bytes, INNER_PRECISION, state->precision.normal);
    inner_bytes += write_optional(inner + inner_bytes, INNER_SPARSE_PRECISION,
                                  state->precision.sparse);
    if (is_sparse) {
        inner_bytes += write_size(inner + inner_bytes, INNER_SPARSE, body_bytes);
    } else if (body_bytes > 0) {
        inner_bytes += write_size(inner + inner_bytes, INNER_REGISTERS, body_bytes);
    }

    size_t size_bytes = write_number(ret_head, OUTER_TYPE, TYPE_HLL);
    size_bytes += write_number(ret_head + size_bytes, OUTER_NUM_VALUES, state->num_values);
    size_bytes += write_number(ret_head + size_bytes, OUTER_ENCODING_VERSION, ENCODING_VERSION);
    size_bytes += write_optional(ret_head + size_bytes, OUTER_VALUE_TYPE, state->value_type);
    size_bytes += write_size(ret_head + size_bytes, OUTER_SKETCH, inner_bytes + body_bytes);
    ASSERT(size_bytes + inner_bytes <= HLL_STATE_HEAD_SIZE_MAX_BYTES);
    memcpy(ret_head + size_bytes, inner, inner_bytes);
    return size_bytes + inner_bytes;
}

size_t hll_state_write_single(struct hll_precision precision,
                              enum hll_value_type value_type,
                              uint64_t hash,
                              uint8_t ret_state[HLL_STATE_SINGLE_SIZE_MAX_BYTES])
{
    uint8_t entry[VARINT_SIZE_MAX];
    size_t entry_bytes = varint_store(entry, hll_encoding_of_hash(precision, hash));
    struct hll_state state = {
        .num_values = 1,
        .value_type = value_type,
        .precision = precision,
        .sparse = {bytes_of(entry, entry_bytes), 1},
    };
    size_t head_bytes = hll_state_write_head(&state, ret_state);
    ASSERT(head_bytes + entry_bytes <= HLL_STATE_SINGLE_SIZE_MAX_BYTES);
    memcpy(ret_state + head_bytes, entry, entry_bytes);
    return head_bytes + entry_bytes;
}

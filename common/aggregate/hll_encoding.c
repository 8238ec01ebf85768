#include "common/aggregate/hll_encoding.h"

#include "common/base/assert.h"

#define RHO_BITS 6
#define RHO_MASK ((UINT32_C(1) << RHO_BITS) - 1)

/* 1 + the leading zeros of the low `width` bits of bits; width + 1 when they are all zero. */
static uint32_t rho_of_low_bits(uint64_t bits, uint32_t width)
{
    uint64_t low = width == 0 ? 0 : bits << (64 - width);
    return low == 0 ? width + 1 : (uint32_t)__builtin_clzll(low) + 1;
}

static uint64_t low_bits(uint64_t bits, uint32_t width)
{
    return bits & ((UINT64_C(1) << width) - 1);
}

/* The encoding of a sparse index whose bits after it start with the given rho. */
static uint32_t encode(struct hll_precision precision, uint32_t sparse_index, uint32_t sparse_rho)
{
    uint32_t width = precision.sparse - precision.normal;
    if (low_bits(sparse_index, width) != 0) {
        return sparse_index;
    }
    uint32_t normal_index = sparse_index >> width;
    return hll_encoding_flag(precision) | (normal_index << RHO_BITS) | sparse_rho;
}

struct hll_register hll_register_of_hash(uint32_t precision, uint64_t hash)
{
    ASSERT(precision > 0 && precision < 64);
    return (struct hll_register){
        .index = (uint32_t)(hash >> (64 - precision)),
        .rho = rho_of_low_bits(hash, 64 - precision),
    };
}

struct hll_register hll_register_downgrade(struct hll_register from,
                                           uint32_t from_precision,
                                           uint32_t to_precision)
{
    ASSERT(to_precision <= from_precision);
    uint32_t width = from_precision - to_precision;
    struct hll_register to = {.index = from.index >> width, .rho = from.rho};
    if (from.rho == 0 || width == 0) {
        return to;
    }
    /* The bits that leave the index come first in what is counted. */
    bool all_zero = low_bits(from.index, width) == 0;
    to.rho = all_zero ? from.rho + width : rho_of_low_bits(from.index, width);
    return to;
}

uint32_t hll_encoding_flag(struct hll_precision precision)
{
    uint32_t normal_bits = precision.normal + RHO_BITS;
    return UINT32_C(1) << (precision.sparse > normal_bits ? precision.sparse : normal_bits);
}

uint32_t hll_encoding_of_hash(struct hll_precision precision, uint64_t hash)
{
    ASSERT(precision.sparse >= precision.normal);
    struct hll_register sparse = hll_register_of_hash(precision.sparse, hash);
    return encode(precision, sparse.index, sparse.rho);
}

bool hll_encoding_is_valid(struct hll_precision precision, uint32_t encoding)
{
    uint32_t flag = hll_encoding_flag(precision);
    uint32_t width = precision.sparse - precision.normal;
    if (encoding < flag) {
        return encoding >> precision.sparse == 0 && low_bits(encoding, width) != 0;
    }
    uint32_t rest = encoding - flag;
    uint32_t rho = rest & RHO_MASK;
    return (rest >> RHO_BITS) >> precision.normal == 0 && rho >= 1 && rho <= 65 - precision.sparse;
}

uint32_t hll_encoding_sparse_index(struct hll_precision precision, uint32_t encoding)
{
    uint32_t flag = hll_encoding_flag(precision);
    if (encoding < flag) {
        return encoding;
    }
    return ((encoding - flag) >> RHO_BITS) << (precision.sparse - precision.normal);
}

struct hll_register hll_encoding_register(struct hll_precision precision, uint32_t encoding)
{
    uint32_t flag = hll_encoding_flag(precision);
    uint32_t width = precision.sparse - precision.normal;
    if (encoding < flag) {
        return (struct hll_register){encoding >> width, rho_of_low_bits(encoding, width)};
    }
    uint32_t rest = encoding - flag;
    return (struct hll_register){rest >> RHO_BITS, (rest & RHO_MASK) + width};
}

uint32_t hll_encoding_downgrade(uint32_t encoding,
                                struct hll_precision from,
                                struct hll_precision to)
{
    ASSERT(to.normal <= from.normal);
    ASSERT(to.sparse <= from.sparse);
    bool is_flagged = encoding >= hll_encoding_flag(from);
    struct hll_register sparse = {
        .index = hll_encoding_sparse_index(from, encoding),
        .rho = is_flagged ? encoding & RHO_MASK : 0,
    };
    struct hll_register lower = hll_register_downgrade(sparse, from.sparse, to.sparse);
    /* An unflagged entry has no rho, and needs none unless the new index asks for one: then the
     * bits that left the index were not all zero, and they say it. */
    if (!is_flagged && from.sparse > to.sparse) {
        lower.rho = rho_of_low_bits(sparse.index, from.sparse - to.sparse);
    }
    return encode(to, lower.index, lower.rho);
}

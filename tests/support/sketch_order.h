/*
 * Three sketches, each in sparse form, whose union is sparse or normal by the order of folding.
 *
 * The first and the second are two halves of a list whose entries take two bytes each: at the limit together.  The
 * third has the same registers with larger rhos, which fall from one to the next: so they take one byte, nearly all.
 */
#ifndef TESTS_SUPPORT_SKETCH_ORDER_H
#define TESTS_SUPPORT_SKETCH_ORDER_H

#include <criterion/criterion.h>

#include "common/aggregate/hll_encoding.h"
#include "common/aggregate/hll_state.h"
#include "common/base/endian.h"

/* In this order: normal.  The third with one of the others first: sparse. */
struct sketch_order {
    struct buffer sketches[3];
};

#define SKETCH_ORDER_COUNT   12288 /* times two: 3 * 2^13, the limit */
#define SKETCH_ORDER_RHO_MAX 45    /* of what follows a sparse index of zeros */

static const struct hll_precision sketch_order_precision = {HLL_PRECISION, HLL_SPARSE_PRECISION};

/* In sparse form; the encodings ascend. */
static struct buffer sketch_of(const uint32_t *encodings, size_t count)
{
    struct buffer list = BUFFER_INIT;
    struct buffer sketch = BUFFER_INIT;
    uint8_t step[VARINT_SIZE_MAX];
    uint8_t head[HLL_STATE_HEAD_SIZE_MAX_BYTES];
    for (size_t i = 0; i < count; i++) {
        uint32_t before = i == 0 ? 0 : encodings[i - 1];
        buffer_append(&list, step, varint_store(step, encodings[i] - before));
    }
    struct hll_state state = {.num_values = count,
                              .value_type = HLL_UINT64,
                              .precision = sketch_order_precision,
                              .sparse = {buffer_bytes(&list), (uint32_t)count}};
    buffer_append(&sketch, head, hll_state_write_head(&state, head));
    buffer_append_bytes(&sketch, buffer_bytes(&list));
    buffer_deinit(&list);
    cr_assert_not(sketch.failed);
    return sketch;
}

static uint32_t sketch_order_encoding(size_t index, uint32_t rho)
{
    return hll_encoding_flag(sketch_order_precision) | (uint32_t)index << 6 | rho;
}

/* first_rho: of the first register, 2 to SKETCH_ORDER_RHO_MAX. */
static struct sketch_order sketch_order_make(uint32_t first_rho)
{
    static uint32_t low[SKETCH_ORDER_COUNT];
    static uint32_t high[SKETCH_ORDER_COUNT];
    const size_t half = SKETCH_ORDER_COUNT / 2;
    for (size_t i = 0; i < SKETCH_ORDER_COUNT; i++) {
        low[i] = sketch_order_encoding(2 * i, 1);
        high[i] = sketch_order_encoding(2 * i,
                                        SKETCH_ORDER_RHO_MAX - (uint32_t)i % SKETCH_ORDER_RHO_MAX);
    }
    high[0] = sketch_order_encoding(0, first_rho);
    return (struct sketch_order){
        {sketch_of(low, half), sketch_of(low + half, half), sketch_of(high, SKETCH_ORDER_COUNT)}};
}

static void sketch_order_free(struct sketch_order *order)
{
    for (size_t i = 0; i < 3; i++) {
        buffer_deinit(&order->sketches[i]);
    }
}

#endif /* TESTS_SUPPORT_SKETCH_ORDER_H */

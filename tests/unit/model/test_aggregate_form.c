/* What copies of a cell are compared by: the same for the same set, another for another. */
#include "tests/support/sketch_order.h"

#include "common/aggregate/aggregate_form.h"
#include "common/base/memory.h"

static struct sketch_order order;

static void setup(void)
{
    order = sketch_order_make(SKETCH_ORDER_RHO_MAX);
}

static void teardown(void)
{
    sketch_order_free(&order);
}

TestSuite(aggregate_form, .init = setup, .fini = teardown);

static struct buffer fold(size_t first, size_t second, size_t third)
{
    struct buffer two = BUFFER_INIT;
    struct buffer three = BUFFER_INIT;
    cr_assert_eq(aggregate_merge(AGGREGATE_INTHLL, buffer_bytes(&order.sketches[first]),
                                 buffer_bytes(&order.sketches[second]), &two),
                 STATUS_OK);
    cr_assert_eq(aggregate_merge(AGGREGATE_INTHLL, buffer_bytes(&two),
                                 buffer_bytes(&order.sketches[third]), &three),
                 STATUS_OK);
    buffer_deinit(&two);
    cr_assert_eq(aggregate_check_state(AGGREGATE_INTHLL, buffer_bytes(&three), NULL), STATUS_OK);
    return three;
}

static void expect_own_form(enum aggregate_kind kind, struct bytes state)
{
    struct buffer room = BUFFER_INIT;
    struct bytes form = BYTES_EMPTY;
    cr_assert_eq(aggregate_form(kind, state, &room, &form), STATUS_OK);
    cr_assert_eq(form.data, state.data);
    cr_assert_eq(form.size_bytes, state.size_bytes);
    buffer_deinit(&room);
}

/* The sparse list has lost nearly half of its bytes below the limit, which is as much as it can. */
Test(aggregate_form, a_set_has_one_form_whatever_the_order)
{
    struct buffer sparse = fold(1, 2, 0);
    struct buffer normal = fold(0, 1, 2);
    struct buffer room = BUFFER_INIT;
    struct bytes form = BYTES_EMPTY;
    cr_assert_lt(sparse.size_bytes, SKETCH_ORDER_COUNT * 21 / 20);
    cr_assert_gt(normal.size_bytes, 1 << HLL_PRECISION);
    cr_assert_eq(aggregate_form(AGGREGATE_INTHLL, buffer_bytes(&sparse), &room, &form), STATUS_OK);
    cr_assert(bytes_equal(form, buffer_bytes(&normal)));
    expect_own_form(AGGREGATE_INTHLL, buffer_bytes(&normal));
    buffer_deinit(&sparse);
    buffer_deinit(&normal);
    buffer_deinit(&room);
}

Test(aggregate_form, what_has_one_form_only_is_its_own)
{
    struct buffer sum = BUFFER_INIT;
    struct buffer small = BUFFER_INIT;
    const uint8_t no_sketch[] = {1, 2, 3};
    cr_assert_eq(aggregate_operand_of_int64(AGGREGATE_INTSUM, 7, &sum), STATUS_OK);
    cr_assert_eq(aggregate_operand_of_int64(AGGREGATE_INTHLL, 7, &small), STATUS_OK);
    expect_own_form(AGGREGATE_INTSUM, buffer_bytes(&sum));
    expect_own_form(AGGREGATE_INTHLL, buffer_bytes(&small));
    expect_own_form(AGGREGATE_BYTESHLL, BYTES_EMPTY);
    expect_own_form(AGGREGATE_INTHLL, bytes_of(no_sketch, sizeof no_sketch));
    expect_own_form(AGGREGATE_NONE, buffer_bytes(&order.sketches[0])); /* a plain cell's bytes */
    buffer_deinit(&sum);
    buffer_deinit(&small);
}

Test(aggregate_form, memory_that_is_not_there_is_told)
{
    struct buffer room = BUFFER_INIT;
    struct bytes form = BYTES_EMPTY;
    struct bytes state = buffer_bytes(&order.sketches[0]);
    memory_fail_arm(0, 1);
    enum status status = aggregate_form(AGGREGATE_INTHLL, state, &room, &form);
    memory_fail_disarm();
    cr_assert_eq(status, STATUS_NO_MEMORY);
    cr_assert_eq(aggregate_form(AGGREGATE_INTHLL, state, &room, &form), STATUS_OK);
    cr_assert_gt(form.size_bytes, 1 << HLL_PRECISION);
    buffer_deinit(&room);
}

/* Sketches in a memtable: folded as they come, one state a cell. */
#include "common/aggregate/aggregate.h"
#include "common/base/memory.h"
#include "tests/support/memtable_steps.h"

static struct change add_sketch(int64_t input, struct buffer *operand)
{
    buffer_reset(operand);
    cr_assert_eq(aggregate_operand_of_int64(AGGREGATE_INTHLL, input, operand), STATUS_OK);
    return (struct change){.kind = CHANGE_FOLD,
                           .family = 4,
                           .aggregate = AGGREGATE_INTHLL,
                           .qualifier = bytes_of_text("q"),
                           .value = buffer_bytes(operand)};
}

static bool sketch_at(struct memtable *memtable, uint64_t sequence, struct buffer *out)
{
    struct layer_cursor *cursor = open_at(memtable, sequence);
    struct entry entry;
    bool found = enter(cursor, "row", 0, "") && next(cursor, &entry);
    if (found) {
        buffer_reset(out);
        buffer_append_bytes(out, entry.value);
    }
    cursor->operations->close(cursor);
    return found;
}

Test(memtable_sketches, sketches_fold_to_the_very_state_of_one_merge_after_the_other)
{
    struct memtable *memtable = make();
    struct buffer operand = BUFFER_INIT;
    struct buffer truth[2] = {BUFFER_INIT, BUFFER_INIT};
    struct buffer got = BUFFER_INIT;
    for (uint64_t sequence = 1; sequence <= 3000; sequence++) {
        struct change change = add_sketch((int64_t)(sequence * 7919 % 2500), &operand);
        uint64_t turn = sequence % 2;
        cr_assert_eq(aggregate_merge(AGGREGATE_INTHLL, buffer_bytes(&truth[1 - turn]), change.value,
                                     &truth[turn]),
                     STATUS_OK);
        /* Now and then the memory that a growing sketch wants is not there. */
        cr_assert_eq(memtable_reserve(memtable, bytes_of_text("row"), &change, 1), STATUS_OK);
        if (sequence % 5 == 0) {
            memory_fail_arm(sequence % 7, 1);
        }
        memtable_apply(memtable, sequence, (struct stamp){sequence, 0, 0}, bytes_of_text("row"),
                       &change, 1);
        memory_fail_disarm();
        memtable_raise_floor(memtable, sequence - sequence % 64);
        if (sequence % 50 == 0 || sequence < 100) {
            cr_assert(sketch_at(memtable, sequence, &got));
            cr_assert(bytes_equal(buffer_bytes(&got), buffer_bytes(&truth[turn])), "at %lu",
                      sequence);
        }
    }
    memtable_unref(memtable);
    buffer_deinit(&operand);
    buffer_deinit(&truth[0]);
    buffer_deinit(&truth[1]);
    buffer_deinit(&got);
}

Test(memtable_sketches, a_hot_sketch_stays_small)
{
    struct memtable *memtable = make();
    struct buffer operand = BUFFER_INIT;
    struct buffer got = BUFFER_INIT;
    const uint64_t count = 200000;
    for (uint64_t sequence = 1; sequence <= count; sequence++) {
        struct change change = add_sketch((int64_t)sequence, &operand);
        apply(memtable, sequence, "row", &change, 1);
        memtable_raise_floor(memtable, sequence > 100 ? sequence - 100 : 0);
    }
    cr_assert_lt(memtable_bytes(memtable), 200 * 1024, "%zu bytes", memtable_bytes(memtable));
    cr_assert(sketch_at(memtable, count, &got));
    int64_t estimate = 0;
    cr_assert_eq(aggregate_extract(AGGREGATE_INTHLL, buffer_bytes(&got), &estimate), STATUS_OK);
    cr_assert(estimate > 190000 && estimate < 210000, "%ld", estimate);
    memtable_unref(memtable);
    buffer_deinit(&operand);
    buffer_deinit(&got);
}

Test(memtable_sketches, a_delete_ends_a_sketch)
{
    struct memtable *memtable = make();
    struct buffer operand = BUFFER_INIT;
    struct buffer got = BUFFER_INIT;
    int64_t estimate = 0;
    for (uint64_t sequence = 1; sequence <= 500; sequence++) {
        struct change change = add_sketch((int64_t)sequence, &operand);
        apply(memtable, sequence, "row", &change, 1);
        memtable_raise_floor(memtable, sequence);
    }
    struct change delete = {.kind = CHANGE_DELETE_CELLS,
                            .family = 4,
                            .qualifier = bytes_of_text("q"),
                            .end_us = INT64_MAX};
    apply(memtable, 501, "row", &delete, 1);
    memtable_raise_floor(memtable, 501);
    for (uint64_t sequence = 502; sequence <= 700; sequence++) {
        struct change change = add_sketch((int64_t)sequence, &operand);
        apply(memtable, sequence, "row", &change, 1);
        memtable_raise_floor(memtable, sequence);
    }
    struct layer_cursor *cursor = open_at(memtable, 700);
    struct entry entry;
    cr_assert(enter(cursor, "row", 0, "") && next(cursor, &entry));
    cr_assert_eq(entry.kind, ENTRY_COLUMN_DELETE);
    cr_assert(next(cursor, &entry));
    cr_assert_eq(aggregate_extract(AGGREGATE_INTHLL, entry.value, &estimate), STATUS_OK);
    cr_assert(estimate > 190 && estimate < 208, "%ld", estimate);
    cursor->operations->close(cursor);
    memtable_unref(memtable);
    buffer_deinit(&operand);
    buffer_deinit(&got);
}

/* The state that follows a delete may be too large for the place of the one before it. */
Test(memtable_sketches, a_large_sketch_after_a_delete_has_nothing_of_the_one_before)
{
    struct memtable *memtable = make();
    struct buffer operand = BUFFER_INIT;
    struct buffer large[2] = {BUFFER_INIT, BUFFER_INIT};
    struct buffer got = BUFFER_INIT;
    struct change change = add_sketch(1, &operand);
    apply(memtable, 1, "row", &change, 1);
    struct change delete = {.kind = CHANGE_DELETE_ROW};
    apply(memtable, 2, "row", &delete, 1);
    for (int64_t input = 2; input < 100; input++) {
        change = add_sketch(input, &operand);
        cr_assert_eq(aggregate_merge(AGGREGATE_INTHLL, buffer_bytes(&large[input % 2]),
                                     change.value, &large[1 - input % 2]),
                     STATUS_OK);
    }
    for (uint64_t sequence = 3; sequence < 60; sequence++) {
        change.value = buffer_bytes(&large[0]);
        apply(memtable, sequence, "row", &change, 1);
        memtable_raise_floor(memtable, sequence);
    }
    struct layer_cursor *cursor = open_at(memtable, 60);
    struct entry entry;
    int64_t estimate = 0;
    cr_assert(enter(cursor, "row", 4, "q") && next(cursor, &entry) && next(cursor, &entry));
    cr_assert_eq(aggregate_extract(AGGREGATE_INTHLL, entry.value, &estimate), STATUS_OK);
    cr_assert_eq(estimate, 98);
    cursor->operations->close(cursor);
    memtable_unref(memtable);
    buffer_deinit(&operand);
    buffer_deinit(&large[0]);
    buffer_deinit(&large[1]);
    buffer_deinit(&got);
}

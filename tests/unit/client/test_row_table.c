/* The rows of a call: slices against a plain list, outcomes in order, failures without memory. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "client/core/row_table.h"
#include "common/base/memory.h"
#include "common/base/prng.h"

#define ROWS_MAX 500

struct fixture {
    struct row_table table;
    void *memory;
};

/* Row n is "<n>:<key>" of some length; its key is what follows the colon. */
static struct fixture make(uint32_t count, struct prng *prng, uint32_t addresses)
{
    struct fixture fixture = {.memory = memory_allocate(row_table_memory_bytes(count))};
    row_table_init(&fixture.table, fixture.memory, count);
    for (uint32_t i = 0; i < count; i++) {
        char text[64];
        int offset = snprintf(text, sizeof text, "%u:", i);
        int size = offset + snprintf(text + offset, sizeof text - (size_t)offset, "k%0*u",
                                     (int)prng_below(prng, 20) + 1, i);
        buffer_append(&fixture.table.encoded, text, (size_t)size);
        row_table_add(&fixture.table, (size_t)offset, (size_t)(size - offset));
        fixture.table.places[i].address = (uint32_t)prng_below(prng, addresses);
    }
    return fixture;
}

static void destroy(struct fixture *fixture)
{
    row_table_deinit(&fixture->table);
    memory_free(fixture->memory);
}

/* What the slice writes is what its rows are, one behind the other. */
static void check_bytes(const struct row_table *table, const struct row_slice *slice)
{
    struct buffer written = BUFFER_INIT;
    size_t at = 0;
    row_table_write(table, slice, &written);
    cr_assert_eq(written.size_bytes, slice->size_bytes);
    for (uint32_t i = 0; i < slice->count; i++) {
        uint32_t row = row_slice_row(table, slice, i);
        struct bytes encoded = row_table_encoded(table, row);
        char begin[16];
        int size = snprintf(begin, sizeof begin, "%u:k", row);
        cr_assert_eq(memcmp(written.data + at, begin, (size_t)size), 0);
        cr_assert_eq(memcmp(written.data + at, encoded.data, encoded.size_bytes), 0);
        cr_assert_eq(row_table_key(table, row).data[0], 'k');
        at += encoded.size_bytes;
    }
    cr_assert_eq(at, written.size_bytes);
    buffer_deinit(&written);
}

Test(row_table, slices_hold_every_row_once_in_order_and_within_their_bounds)
{
    struct prng prng = prng_of_seed(3);
    for (int round = 0; round < 200; round++) {
        uint32_t count = (uint32_t)prng_below(&prng, ROWS_MAX) + 1;
        uint32_t addresses = (uint32_t)prng_below(&prng, 4) + 1;
        uint32_t rows_max = (uint32_t)prng_below(&prng, 100) + 1;
        size_t bytes_max = (size_t)prng_below(&prng, 2000) + 1;
        struct fixture fixture = make(count, &prng, addresses);
        struct row_slice slice;
        uint8_t seen[ROWS_MAX] = {0};
        int64_t last[4] = {-1, -1, -1, -1};
        while (row_table_slice(&fixture.table, rows_max, bytes_max, &slice)) {
            cr_assert(slice.count >= 1 && slice.count <= rows_max);
            cr_assert(slice.count == 1 || slice.size_bytes <= bytes_max);
            for (uint32_t i = 0; i < slice.count; i++) {
                uint32_t row = row_slice_row(&fixture.table, &slice, i);
                cr_assert_eq(fixture.table.places[row].address, slice.address);
                cr_assert_gt((int64_t)row, last[slice.address]);
                last[slice.address] = row;
                cr_assert_eq(seen[row], 0);
                seen[row] = 1;
            }
            check_bytes(&fixture.table, &slice);
        }
        for (uint32_t i = 0; i < count; i++) {
            cr_assert_eq(seen[i], 1, "row %u of %u", i, count);
        }
        destroy(&fixture);
    }
}

Test(row_table, what_is_tried_again_is_what_is_left_of_its_slice)
{
    struct prng prng = prng_of_seed(5);
    struct fixture fixture = make(100, &prng, 1);
    struct row_slice slice;
    cr_assert(row_table_slice(&fixture.table, 100, SIZE_MAX, &slice));
    for (uint32_t row = 0; row < 100; row++) {
        if (row % 3 == 0) {
            fixture.table.places[row].state = ROW_AGAIN;
        } else {
            row_table_succeed(&fixture.table, row);
        }
    }
    row_table_keep_again(&fixture.table, &slice);
    cr_assert_eq(slice.count, 34);
    for (uint32_t i = 0; i < slice.count; i++) {
        uint32_t row = row_slice_row(&fixture.table, &slice, i);
        cr_assert_eq(row, 3 * i);
        cr_assert_eq(fixture.table.places[row].state, ROW_TOGETHER);
    }
    check_bytes(&fixture.table, &slice);
    cr_assert_eq(fixture.table.left, 34);
    destroy(&fixture);
}

Test(row_table, failures_are_told_in_order_and_the_first_names_the_whole)
{
    struct prng prng = prng_of_seed(6);
    struct fixture fixture = make(10, &prng, 1);
    row_table_fail(&fixture.table, 7, EDUBBA_NOT_FOUND, bytes_of_text("seven"));
    row_table_fail(&fixture.table, 2, EDUBBA_ABORTED, bytes_of_text("two"));
    row_table_fail(&fixture.table, 9, EDUBBA_UNAVAILABLE, BYTES_EMPTY);
    for (uint32_t row = 0; row < 10; row++) {
        if (row != 7 && row != 2 && row != 9) {
            row_table_succeed(&fixture.table, row);
        }
    }
    struct edubba_rows_result result = row_table_result(&fixture.table);
    cr_assert_eq(result.entry_count, 10);
    cr_assert_eq(result.code, EDUBBA_ABORTED);
    cr_assert_eq(result.failure_count, 3);
    cr_assert_eq(result.failures[0].entry, 2);
    cr_assert_str_eq(result.failures[0].text, "two");
    cr_assert_eq(result.failures[1].entry, 7);
    cr_assert_eq(result.failures[1].code, EDUBBA_NOT_FOUND);
    cr_assert_eq(result.failures[2].entry, 9);
    cr_assert_str_eq(result.failures[2].text, "");
    destroy(&fixture);
}

Test(row_table, without_memory_a_failure_is_told_without_its_text)
{
    struct prng prng = prng_of_seed(7);
    struct fixture fixture = make(2, &prng, 1);
    memory_fail_arm(0, 1);
    row_table_fail(&fixture.table, 1, EDUBBA_NOT_FOUND, bytes_of_text("a reason"));
    row_table_fail(&fixture.table, 0, EDUBBA_ABORTED, bytes_of_text("another"));
    struct edubba_rows_result result = row_table_result(&fixture.table);
    memory_fail_disarm();
    cr_assert_eq(result.failure_count, 2);
    cr_assert_eq(result.failures[0].code, EDUBBA_ABORTED);
    cr_assert_eq(result.failures[1].code, EDUBBA_NOT_FOUND);
    cr_assert_str_eq(result.failures[1].text, "");
    destroy(&fixture);
}

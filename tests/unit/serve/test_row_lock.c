#include <criterion/criterion.h>

#include "common/base/memory.h"
#include "tabletserver/tablet/row_lock.h"

struct operation {
    int number;
    struct row_waiter waiter;
};

Test(row_lock, waiters_come_in_the_order_of_arrival)
{
    struct row_lock_table *table = NULL;
    cr_assert_eq(row_lock_table_create(&table), STATUS_OK);
    struct bytes row = bytes_of_text("r");
    struct operation second = {.number = 2};
    struct operation third = {.number = 3};

    cr_assert_eq(row_lock_acquire(table, 7, row), STATUS_OK);
    cr_assert(row_lock_is_held(table, 7, row));
    cr_assert_not(row_lock_is_held(table, 8, row), "the same row of another tablet is another row");
    row_lock_wait(table, 7, row, &second.waiter);
    row_lock_wait(table, 7, row, &third.waiter);
    cr_assert_eq(row_lock_next(table, 7, row), &second.waiter);
    cr_assert(row_lock_is_held(table, 7, row));
    cr_assert_eq(row_lock_next(table, 7, row), &third.waiter);
    cr_assert_null(row_lock_next(table, 7, row));
    cr_assert_not(row_lock_is_held(table, 7, row));
    row_lock_table_destroy(table);
}

Test(row_lock, rows_of_other_tablets_are_others)
{
    struct row_lock_table *table = NULL;
    cr_assert_eq(row_lock_table_create(&table), STATUS_OK);
    cr_assert_eq(row_lock_acquire(table, 1, bytes_of_text("a")), STATUS_OK);
    cr_assert_eq(row_lock_acquire(table, 1, bytes_of_text("b")), STATUS_OK);
    cr_assert_eq(row_lock_acquire(table, 2, bytes_of_text("a")), STATUS_OK);
    cr_assert_not(row_lock_is_held(table, 2, bytes_of_text("b")));
    cr_assert_null(row_lock_next(table, 1, bytes_of_text("a")));
    cr_assert_not(row_lock_is_held(table, 1, bytes_of_text("a")));
    cr_assert(row_lock_is_held(table, 1, bytes_of_text("b")));
    cr_assert(row_lock_is_held(table, 2, bytes_of_text("a")));
    cr_assert_null(row_lock_next(table, 1, bytes_of_text("b")));
    cr_assert_null(row_lock_next(table, 2, bytes_of_text("a")));
    row_lock_table_destroy(table);
}

Test(row_lock, without_memory_nothing_is_locked)
{
    struct row_lock_table *table = NULL;
    cr_assert_eq(row_lock_table_create(&table), STATUS_OK);
    memory_fail_arm(0, 0);
    cr_assert_eq(row_lock_acquire(table, 1, bytes_of_text("a")), STATUS_NO_MEMORY);
    memory_fail_disarm();
    cr_assert_not(row_lock_is_held(table, 1, bytes_of_text("a")));
    row_lock_table_destroy(table);
}

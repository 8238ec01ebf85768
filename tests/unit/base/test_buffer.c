/* Buffers that are told beforehand what comes. */
#include <criterion/criterion.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"

Test(buffer, what_is_expected_needs_memory_once_and_no_more_than_that)
{
    struct buffer buffer = BUFFER_INIT;
    buffer_append(&buffer, "abc", 3);
    buffer_expect(&buffer, 1000);
    cr_assert_eq(buffer.capacity_bytes, 1003);
    memory_fail_arm(0, 1);
    for (int i = 0; i < 1000; i++) {
        buffer_append_u8(&buffer, (uint8_t)i);
    }
    buffer_expect(&buffer, 0);
    memory_fail_disarm();
    cr_assert_not(buffer.failed);
    cr_assert_eq(buffer.size_bytes, 1003);
    cr_assert_arr_eq(buffer.data, "abc", 3);
    buffer_append_u8(&buffer, 1); /* more than was expected is fine */
    cr_assert_not(buffer.failed);
    cr_assert_eq(buffer.data[1002], (uint8_t)999);
    buffer_deinit(&buffer);
}

Test(buffer, an_expectation_without_memory_fails_it)
{
    struct buffer buffer = BUFFER_INIT;
    buffer_append(&buffer, "abc", 3);
    memory_fail_arm(0, 1);
    buffer_expect(&buffer, 1000);
    memory_fail_disarm();
    cr_assert(buffer.failed);
    cr_assert_arr_eq(buffer.data, "abc", 3);
    buffer_reset(&buffer);
    buffer_append(&buffer, "abc", 3);
    cr_assert_not(buffer.failed);
    buffer_expect(&buffer, SIZE_MAX - 1); /* more than can be counted */
    cr_assert(buffer.failed);
    buffer_deinit(&buffer);
}

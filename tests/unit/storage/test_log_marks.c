#include "tabletserver/storage/log/log_marks.h"

#include <criterion/criterion.h>

#include "common/base/memory.h"

static struct log_marks marks;

static void begin(void)
{
    marks = (struct log_marks){.count = 0};
}

static void finish(void)
{
    log_marks_deinit(&marks);
}

TestSuite(log_marks, .init = begin, .fini = finish);

static void expect(uint64_t sequence, uint64_t position, uint64_t end)
{
    uint64_t found = 0;
    uint64_t found_end = 0;
    cr_assert(log_marks_find(&marks, sequence, &found, &found_end));
    cr_assert_eq(found, position);
    cr_assert_eq(found_end, end);
}

static void expect_none(uint64_t sequence)
{
    uint64_t found = 0;
    cr_assert_not(log_marks_find(&marks, sequence, &found, &found));
}

Test(log_marks, one_for_so_much_log_is_enough)
{
    expect_none(7);
    log_marks_note(&marks, 7, 8192);
    log_marks_note(&marks, 8, 8200);
    log_marks_note(&marks, 90, 8192 + LOG_MARK_BYTES);
    cr_assert_eq(marks.count, 2);
    expect_none(6);
    expect(7, 8192, 90);
    expect(89, 8192, 90);
    expect(90, 8192 + LOG_MARK_BYTES, UINT64_MAX);
}

Test(log_marks, what_is_dropped_is_looked_for_behind_its_configuration)
{
    log_marks_note(&marks, 1, 8192);
    log_marks_note(&marks, 50, 8192 + LOG_MARK_BYTES);
    log_marks_drop(&marks, 40, 8192 + LOG_MARK_BYTES + 800);
    expect(40, 8192, 41);
    expect(41, 8192 + LOG_MARK_BYTES + 800, UINT64_MAX);
    log_marks_drop(&marks, 40, 8192 + LOG_MARK_BYTES + 1600);
    expect(40, 8192, 41);
    expect(41, 8192 + LOG_MARK_BYTES + 1600, UINT64_MAX);
}

Test(log_marks, what_the_log_has_let_go_is_forgotten)
{
    for (uint64_t i = 0; i < 10; i++) {
        log_marks_note(&marks, 1 + 10 * i, 8192 + i * LOG_MARK_BYTES);
    }
    log_marks_trim(&marks, 8192 + 3 * LOG_MARK_BYTES);
    expect_none(30);
    expect(31, 8192 + 3 * LOG_MARK_BYTES, 41);
    log_marks_trim(&marks, 8192 + 9 * LOG_MARK_BYTES);
    expect_none(90);
    expect(91, 8192 + 9 * LOG_MARK_BYTES, UINT64_MAX);
    log_marks_trim(&marks, UINT64_MAX);
    expect_none(100);
}

Test(log_marks, they_are_bounded)
{
    for (uint64_t i = 0; i < LOG_MARKS_MAX + 1; i++) {
        log_marks_note(&marks, i, 8192 + i * LOG_MARK_BYTES);
    }
    cr_assert_leq(marks.count, LOG_MARKS_MAX);
    expect_none(0);
    expect(LOG_MARKS_MAX, 8192 + LOG_MARKS_MAX * LOG_MARK_BYTES, UINT64_MAX);
}

Test(log_marks, without_memory_nothing_wrong_is_said)
{
    memory_fail_arm(0, 1);
    log_marks_note(&marks, 1, 8192);
    memory_fail_disarm();
    expect_none(1);
    for (uint64_t i = 0; i < 8; i++) {
        log_marks_note(&marks, 1 + i, 8192 + i * LOG_MARK_BYTES);
    }
    memory_fail_arm(0, 1);
    log_marks_drop(&marks, 100, 8192 + 100 * LOG_MARK_BYTES);
    memory_fail_disarm();
    expect_none(5);
}

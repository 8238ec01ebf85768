/* What is left of a scan, against a set of single keys. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "client/core/scan_plan.h"
#include "common/base/limits.h"
#include "common/base/memory.h"
#include "common/base/prng.h"

static bool holds(const struct scan_plan *plan, struct bytes row)
{
    struct row_set left = scan_plan_left(plan);
    bool found = false;
    for (size_t i = 0; i < left.count; i++) {
        found = found || row_range_contains(&left.ranges[i], row);
    }
    return found;
}

static void text_of(const struct scan_plan *plan, char *text, size_t size)
{
    struct row_set left = scan_plan_left(plan);
    text[0] = '\0';
    for (size_t i = 0; i < left.count; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, size - used, "[%.*s,%.*s)",
                       (int)left.ranges[i].start.size_bytes,
                       (const char *)left.ranges[i].start.data, (int)left.ranges[i].end.size_bytes,
                       (const char *)left.ranges[i].end.data);
    }
}

static void left_is(const struct scan_plan *plan, const char *expected)
{
    char text[256];
    text_of(plan, text, sizeof text);
    cr_assert_str_eq(text, expected);
}

static void make(struct scan_plan *plan, struct row_range *ranges, bool reversed)
{
    ranges[0] = (struct row_range){bytes_of_text("b"), bytes_of_text("d")};
    ranges[1] = (struct row_range){bytes_of_text("f"), bytes_of_text("h")};
    ranges[2] = (struct row_range){bytes_of_text("k"), BYTES_EMPTY};
    struct row_set set = {ranges, 3};
    scan_plan_init(plan, &set, reversed);
}

static void finish(struct scan_plan *plan, const char *start, const char *end)
{
    struct row_range range = {bytes_of_text(start), bytes_of_text(end)};
    cr_assert_eq(scan_plan_finish_range(plan, &range), STATUS_OK);
}

Test(scan_plan, goes_forward_over_rows_and_tablets)
{
    struct scan_plan plan;
    struct row_range ranges[3];
    struct buffer row = BUFFER_INIT;
    make(&plan, ranges, false);
    scan_plan_next_row(&plan, &row);
    cr_assert(bytes_equal(buffer_bytes(&row), bytes_of_text("b")));
    cr_assert_eq(scan_plan_advance(&plan, bytes_of_text("bb")), STATUS_OK);
    cr_assert_not(holds(&plan, bytes_of_text("bb")));
    cr_assert(holds(&plan, bytes_of("bb\0", 3)));
    cr_assert_eq(scan_plan_advance(&plan, bytes_of_text("b")), STATUS_OK);
    cr_assert_not(holds(&plan, bytes_of_text("bb")), "it never goes back");
    finish(&plan, "", "g");
    left_is(&plan, "[g,h)[k,)");
    finish(&plan, "g", "j");
    left_is(&plan, "[k,)");
    finish(&plan, "j", "");
    cr_assert(scan_plan_is_done(&plan));
    scan_plan_deinit(&plan);
    buffer_deinit(&row);
}

Test(scan_plan, goes_backward_over_rows_and_tablets)
{
    struct scan_plan plan;
    struct row_range ranges[3];
    struct buffer row = BUFFER_INIT;
    make(&plan, ranges, true);
    scan_plan_next_row(&plan, &row);
    cr_assert_eq(row.size_bytes, LIMIT_ROW_KEY_BYTES);
    cr_assert_eq(row.data[LIMIT_ROW_KEY_BYTES - 1], 0xff);
    finish(&plan, "m", "");
    left_is(&plan, "[b,d)[f,h)[k,m)");
    scan_plan_next_row(&plan, &row);
    cr_assert_lt(bytes_compare(buffer_bytes(&row), bytes_of_text("m")), 0);
    cr_assert_gt(bytes_compare(buffer_bytes(&row), bytes_of_text("lzzzz")), 0);
    cr_assert_eq(scan_plan_advance(&plan, bytes_of_text("kk")), STATUS_OK);
    left_is(&plan, "[b,d)[f,h)[k,kk)");
    finish(&plan, "j", "m");
    left_is(&plan, "[b,d)[f,h)");
    finish(&plan, "f", "j");
    left_is(&plan, "[b,d)");
    finish(&plan, "", "f");
    cr_assert(scan_plan_is_done(&plan));
    scan_plan_deinit(&plan);
    buffer_deinit(&row);
}

Test(scan_plan, the_row_below_a_successor_is_the_key_itself)
{
    struct scan_plan plan;
    struct row_range range = {bytes_of_text("k"), bytes_of("k\0", 2)};
    struct row_set set = {&range, 1};
    struct buffer row = BUFFER_INIT;
    scan_plan_init(&plan, &set, true);
    scan_plan_next_row(&plan, &row);
    cr_assert(bytes_equal(buffer_bytes(&row), bytes_of_text("k")));
    scan_plan_deinit(&plan);
    buffer_deinit(&row);
}

#define KEYS 64

/* Random steps of both kinds; every key is left until a step covers it, and never after. */
static void run_random(uint64_t seed, bool reversed)
{
    struct prng prng = prng_of_seed(seed);
    struct row_range ranges[4];
    char edges[9][16];
    bool left[KEYS];
    struct scan_plan plan;
    int at = 0;
    for (int i = 0; i < 8; i++) {
        at += 1 + (int)prng_below(&prng, 8);
        (void)snprintf(edges[i], sizeof edges[i], "%03d", at);
    }
    for (int i = 0; i < 4; i++) {
        ranges[i] = (struct row_range){bytes_of_text(edges[2 * i]),
                                       bytes_of_text(edges[2 * i + 1])};
    }
    struct row_set set = {ranges, 4};
    scan_plan_init(&plan, &set, reversed);
    for (int i = 0; i < KEYS; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%03d", i);
        left[i] = holds(&plan, bytes_of_text(key));
    }
    for (int step = 0; step < 60 && !scan_plan_is_done(&plan); step++) {
        int key = (int)prng_below(&prng, KEYS);
        char text[16];
        (void)snprintf(text, sizeof text, "%03d", key);
        bool whole = prng_chance(&prng, 2);
        struct row_range range = {bytes_of_text(reversed ? text : ""),
                                  bytes_of_text(reversed ? "" : text)};
        enum status status = whole ? scan_plan_finish_range(&plan, &range)
                                   : scan_plan_advance(&plan, bytes_of_text(text));
        cr_assert_eq(status, STATUS_OK);
        for (int i = 0; i < KEYS; i++) {
            char row[16];
            (void)snprintf(row, sizeof row, "%03d", i);
            bool covered = reversed ? i >= key : (whole ? i < key : i <= key);
            left[i] = left[i] && !covered;
            cr_assert_eq(holds(&plan, bytes_of_text(row)), left[i], "row %s, seed %d", row,
                         (int)seed);
        }
    }
    scan_plan_deinit(&plan);
}

Test(scan_plan, agrees_with_single_keys)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        run_random(seed, false);
        run_random(seed, true);
    }
}

Test(scan_plan, without_memory_nothing_changes)
{
    struct scan_plan plan;
    struct row_range ranges[3];
    make(&plan, ranges, false);
    memory_fail_arm(0, 1);
    cr_assert_eq(scan_plan_advance(&plan, bytes_of_text("c")), STATUS_NO_MEMORY);
    memory_fail_disarm();
    left_is(&plan, "[b,d)[f,h)[k,)");
    scan_plan_deinit(&plan);
}

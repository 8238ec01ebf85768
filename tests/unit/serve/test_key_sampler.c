/* Where in a tablet the load is: what samples of known loads show, second by second. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "common/base/limits.h"
#include "common/base/memory.h"
#include "tabletserver/tablet/key_sampler.h"

#define SECOND_NS   UINT64_C(1000000000)
#define SAMPLES_MAX 4096
#define ROW_SIZE    32
#define EVERY       8

static const double WEIGHTS[KEY_TOUCH_COUNT] = {EVERY, EVERY, EVERY};

static struct key_sampler sampler;
static struct prng prng;
static struct key_sample samples[SAMPLES_MAX];
static char rows[SAMPLES_MAX][2][ROW_SIZE];
static size_t count;

static void setup(void)
{
    prng = prng_of_seed(7);
    count = 0;
    cr_assert_eq(key_sampler_init(&sampler, 1), STATUS_OK);
}

static void teardown(void)
{
    key_sampler_deinit(&sampler);
}

TestSuite(key_sampler, .init = setup, .fini = teardown);

static void touch(enum key_touch kind, uint64_t row)
{
    (void)snprintf(rows[count][0], ROW_SIZE, "row%010llu", (unsigned long long)row);
    samples[count] = (struct key_sample){bytes_of_text(rows[count][0]), BYTES_EMPTY, kind};
    count += 1;
}

static void scan(uint64_t first, uint64_t last)
{
    touch(KEY_SCANNED, first);
    (void)snprintf(rows[count - 1][1], ROW_SIZE, "row%010llu", (unsigned long long)last);
    samples[count - 1].end = bytes_of_text(rows[count - 1][1]);
}

static void end_second(void)
{
    key_sampler_take(&sampler, samples, count, WEIGHTS, SECOND_NS);
    key_sampler_check(&sampler);
    count = 0;
}

/* Of a period in which there were so many altogether. */
static struct load_detail detail_of(uint64_t reads, uint64_t writes)
{
    const struct key_sampler_period period = {BYTES_EMPTY, reads, writes, SECOND_NS};
    struct load_detail detail = key_sampler_detail(&sampler, &period);
    cr_assert_leq(detail.point_count, LOAD_POINTS_MAX);
    cr_assert_leq(detail.key_count, LOAD_KEYS_MAX);
    cr_assert_leq(detail.appended_permille, 1000);
    for (size_t i = 1; i < detail.point_count; i++) {
        cr_assert_lt(bytes_compare(detail.points[i - 1].row, detail.points[i].row), 0);
    }
    return detail;
}

static struct bytes row_text(char text[ROW_SIZE], uint64_t row)
{
    (void)snprintf(text, ROW_SIZE, "row%010llu", (unsigned long long)row);
    return bytes_of_text(text);
}

/* Rows of points may be cut short. */
static uint64_t number_of(struct bytes row)
{
    uint64_t number = 0;
    for (size_t i = strlen("row"); i < strlen("row0123456789"); i++) {
        number = number * 10 + (i < row.size_bytes ? (uint64_t)(row.data[i] - '0') : 0);
    }
    return number;
}

/* Of reads and writes, what lies in points from the one that holds the row `from` on, up to `to`'s. */
static double share_between(const struct load_detail *detail, uint64_t from, uint64_t to)
{
    char first[ROW_SIZE];
    char last[ROW_SIZE];
    double inside = 0;
    double all = 0;
    for (size_t i = 0; i < detail->point_count; i++) {
        double own = (double)(detail->points[i].reads + detail->points[i].writes);
        struct bytes end = i + 1 < detail->point_count ? detail->points[i + 1].row
                                                       : bytes_of_text("z");
        all += own;
        inside += bytes_compare(end, row_text(first, from)) > 0 &&
                          bytes_compare(detail->points[i].row, row_text(last, to)) <= 0
                      ? own
                      : 0;
    }
    return all > 0 ? inside / all : 0;
}

Test(key_sampler, of_nothing_there_is_no_point)
{
    end_second();
    struct load_detail detail = detail_of(1000, 1000);
    cr_assert(detail.point_count == 0 && detail.key_count == 0 && detail.observations == 0);
    cr_assert_eq(detail.appended_permille, 0);
}

Test(key_sampler, uniform_rows_become_points_of_equal_weight)
{
    for (int second = 0; second < 20; second++) {
        for (int i = 0; i < 500; i++) {
            touch(i % 2 == 0 ? KEY_READ : KEY_WRITTEN, prng_below(&prng, 1000000));
        }
        end_second();
    }
    struct load_detail detail = detail_of(64000, 32000);
    uint64_t reads = 0;
    uint64_t writes = 0;
    cr_assert_eq(detail.point_count, LOAD_POINTS_MAX);
    cr_assert_eq(detail.points[0].row.size_bytes, 0, "the tablet's start");
    for (size_t i = 0; i < detail.point_count; i++) {
        reads += detail.points[i].reads;
        writes += detail.points[i].writes;
        cr_assert(detail.points[i].reads > 1000 && detail.points[i].reads < 3000, "%lu",
                  detail.points[i].reads);
        cr_assert(detail.points[i].writes > 500 && detail.points[i].writes < 1500, "%lu",
                  detail.points[i].writes);
        cr_assert_eq(detail.points[i].crossing, 0);
    }
    cr_assert(reads > 63900 && reads < 64100, "%lu: scaled up to all", reads);
    cr_assert(writes > 31900 && writes < 32100, "%lu", writes);
    for (uint64_t part = 0; part < 10; part++) {
        double share = share_between(&detail, part * 100000, part * 100000 + 99999);
        cr_assert(share > 0.05 && share < 0.2, "%f", share);
    }
    cr_assert_eq(detail.key_count, 0, "none is frequent");
    cr_assert_lt(detail.appended_permille, 20);
    cr_assert(detail.observations > 3000 && detail.observations < 5100, "%lu", detail.observations);
}

Test(key_sampler, a_popular_row_is_named_with_its_share_and_stands_alone)
{
    for (int second = 0; second < 15; second++) {
        for (int i = 0; i < 500; i++) {
            touch(KEY_WRITTEN, prng_chance(&prng, 3) ? 123456 : prng_below(&prng, 1000000));
            touch(KEY_READ, prng_chance(&prng, 20) ? 123456 : prng_below(&prng, 1000000));
        }
        end_second();
    }
    char text[ROW_SIZE];
    struct load_detail detail = detail_of(8000, 8000);
    cr_assert_eq(detail.key_count, 1);
    cr_assert(bytes_equal(detail.keys[0].row, row_text(text, 123456)));
    cr_assert(detail.keys[0].writes > 2000 && detail.keys[0].writes < 3100, "%lu of 2667",
              detail.keys[0].writes);
    cr_assert(detail.keys[0].reads > 200 && detail.keys[0].reads < 600, "%lu of 400",
              detail.keys[0].reads);
    double share = share_between(&detail, 123456, 123456);
    cr_assert(share > 0.15 && share < 0.25, "%f of 0.19", share);
}

/* Of 60 samples each is more than a hundredth. */
Test(key_sampler, a_row_of_few_samples_is_frequent_only_if_it_comes_again)
{
    for (uint64_t i = 0; i < 60; i++) {
        touch(KEY_READ, i);
    }
    touch(KEY_READ, 17);
    end_second();
    cr_assert_eq(detail_of(61, 0).key_count, 0);

    for (int i = 0; i < 20; i++) {
        touch(KEY_READ, 17);
    }
    end_second();
    char text[ROW_SIZE];
    struct load_detail detail = detail_of(20, 0);
    cr_assert_eq(detail.key_count, 1);
    cr_assert(bytes_equal(detail.keys[0].row, row_text(text, 17)));
}

Test(key_sampler, several_frequent_rows_come_in_order)
{
    for (int second = 0; second < 15; second++) {
        for (int i = 0; i < 400; i++) {
            touch(KEY_READ, prng_below(&prng, 1000000));
            touch(KEY_READ, 1 + (uint64_t)(i % 7 < 4 ? 0 : i % 7 < 6 ? 1 : 2));
        }
        end_second();
    }
    struct load_detail detail = detail_of(7000, 0);
    char text[ROW_SIZE];
    cr_assert_eq(detail.key_count, 3);
    for (uint64_t i = 0; i < 3; i++) {
        cr_assert(bytes_equal(detail.keys[i].row, row_text(text, 1 + i)), "%lu", i);
        cr_assert_eq(detail.keys[i].writes, 0);
    }
}

/* Writers that run abreast: what they write in a second comes in any order. */
Test(key_sampler, writes_that_only_grow_at_the_end_are_appended)
{
    for (uint64_t second = 1; second <= 15; second++) {
        for (int i = 0; i < 300; i++) {
            touch(KEY_WRITTEN, second * 1000 + prng_below(&prng, 1000));
        }
        end_second();
    }
    cr_assert_gt(detail_of(0, 2400).appended_permille, 970);
    for (uint64_t second = 16; second <= 60; second++) { /* half of them, and half all over */
        for (int i = 0; i < 300; i++) {
            touch(KEY_WRITTEN, i % 2 == 0 ? second * 1000 + prng_below(&prng, 1000)
                                          : prng_below(&prng, second * 1000));
        }
        end_second();
    }
    uint32_t appended = detail_of(0, 2400).appended_permille;
    cr_assert(appended > 400 && appended < 560, "%u", appended);
}

/* From the points and their window one can tell how fast the writer is: 1 000 rows a second. */
Test(key_sampler, the_newest_quarter_of_the_points_tells_how_fast_who_appends_is)
{
    for (uint64_t second = 1; second <= 60; second++) {
        for (uint64_t i = 0; i < 300; i++) {
            touch(KEY_WRITTEN, second * 1000 + prng_below(&prng, 1000));
        }
        end_second();
        struct load_detail detail = detail_of(0, 1000);
        if (second < 3) {
            continue;
        }
        size_t newest = detail.point_count / 4;
        uint64_t from = number_of(detail.points[detail.point_count - 1 - newest].row);
        uint64_t to = number_of(detail.points[detail.point_count - 1].row);
        double window_s = (double)detail.window_ns / SECOND_NS;
        double speed = (double)(to - from) /
                       (window_s * (double)newest / (double)detail.point_count);
        cr_assert(speed > 800 && speed < 1400, "%.0f after %d s", speed, (int)second);
    }
}

/* Whoever decides would cut in the middle what appends, right after it has moved. */
Test(key_sampler, of_the_first_rows_that_are_written_nothing_is_said)
{
    touch(KEY_READ, 5);
    end_second();
    cr_assert_gt(detail_of(8, 0).point_count, 0, "they are not appended, if nothing is written");
    for (uint64_t i = 0; i < KEY_SAMPLER_JUDGED_MIN; i++) {
        touch(KEY_WRITTEN, 7 + i);
        end_second();
        cr_assert_eq(detail_of(8, 8).point_count, 0, "after %u", (unsigned)i + 1);
    }
    touch(KEY_WRITTEN, 7 + KEY_SAMPLER_JUDGED_MIN);
    end_second();
    struct load_detail detail = detail_of(8, 8);
    cr_assert_gt(detail.point_count, 0);
    cr_assert_eq(detail.appended_permille, 1000);
}

/* Above one row or two that are written to at random lie half of all others: that says nothing of how they grow. */
Test(key_sampler, what_is_written_all_over_is_not_appended_right_after_its_beginning)
{
    for (int begun = 0; begun < 200; begun++) {
        key_sampler_forget(&sampler);
        for (uint64_t i = prng_below(&prng, 4); i > 0; i--) {
            touch(KEY_WRITTEN, prng_below(&prng, 100000));
        }
        end_second();
        for (int second = 0; second < 3; second++) {
            for (int i = 0; i < 300; i++) {
                touch(KEY_WRITTEN, prng_below(&prng, 100000));
            }
            end_second();
            cr_assert_lt(detail_of(0, 2400).appended_permille, 500);
        }
    }
}

/* Of so many rows that are read, and each of which stands for many, few that are written are kept. */
Test(key_sampler, what_is_written_all_over_is_not_appended_among_many_reads)
{
    static const double weights[KEY_TOUCH_COUNT] = {256, 1, 256};
    for (int second = 0; second < 60; second++) {
        for (int i = 0; i < 500; i++) {
            touch(KEY_READ, prng_below(&prng, 100000));
        }
        for (int i = 0; i < 60; i++) {
            touch(KEY_WRITTEN, prng_below(&prng, 100000));
        }
        key_sampler_take(&sampler, samples, count, weights, SECOND_NS);
        count = 0;
        cr_assert_lt(detail_of(128000, 60).appended_permille, 200, "%d", second);
    }
}

/* A few writes of rows that nobody has seen, among many reads: where the reads are is known all the same. */
Test(key_sampler, rare_writes_do_not_hide_where_reads_are)
{
    for (uint64_t second = 0; second < 5; second++) {
        for (uint64_t i = 0; i < 1000; i++) {
            touch(KEY_READ, i);
        }
        end_second();
    }
    for (uint64_t i = 0; i < 1000; i++) {
        touch(KEY_READ, i);
    }
    touch(KEY_WRITTEN, 5000);
    end_second();
    struct load_detail detail = detail_of(8000, 8);
    cr_assert_gt(detail.point_count, 0);
    cr_assert_eq(detail.appended_permille, 0);
}

Test(key_sampler, writes_of_the_last_row_again_and_again_are_not_appended)
{
    for (uint64_t second = 1; second <= 15; second++) {
        for (int i = 0; i < 300; i++) {
            touch(KEY_WRITTEN, 999);
        }
        end_second();
    }
    struct load_detail detail = detail_of(0, 2400);
    cr_assert_eq(detail.appended_permille, 0);
    cr_assert_eq(detail.point_count, 1, "there is nothing to cut");
    cr_assert_eq(detail.keys[0].writes, 2400);
}

Test(key_sampler, a_load_that_moves_is_forgotten_where_it_was)
{
    for (int second = 0; second < 60; second++) {
        for (int i = 0; i < 500; i++) {
            touch(KEY_READ, (second < 30 ? 0 : 500000) + prng_below(&prng, 1000));
        }
        end_second();
    }
    struct load_detail detail = detail_of(4000, 0);
    double share = share_between(&detail, 500000, 600000);
    cr_assert_gt(share, 0.9, "%f", share);
}

/* Scans over everything cross each point; short ones next to none. */
Test(key_sampler, scans_are_counted_where_they_cross)
{
    for (int second = 0; second < 20; second++) {
        for (int i = 0; i < 300; i++) {
            uint64_t row = prng_below(&prng, 100000);
            touch(KEY_READ, row);
            if (i < 20) {
                scan(0, 99999);
            } else if (i < 100) {
                scan(row, row + 3);
            }
        }
        end_second();
    }
    struct load_detail detail = detail_of(2400, 0);
    cr_assert_eq(detail.points[0].crossing, 0, "nothing lies before it");
    for (size_t i = 1; i < detail.point_count; i++) {
        uint64_t crossing = detail.points[i].crossing; /* of 20 x EVERY */
        cr_assert(crossing > 80 && crossing < 280, "point %zu: %lu", i, crossing);
    }
}

Test(key_sampler, keys_of_any_length_keep_within_their_bounds)
{
    static uint8_t longest[SAMPLES_MAX][LIMIT_ROW_KEY_BYTES];
    for (int second = 0; second < 10; second++) {
        for (size_t i = 0; i < 200; i++) {
            size_t size_bytes = 1 + prng_below(&prng, LIMIT_ROW_KEY_BYTES);
            for (size_t at = 0; at < 8; at++) {
                longest[i][at] = (uint8_t)prng_next(&prng);
            }
            samples[i] = (struct key_sample){bytes_of(longest[i], size_bytes), BYTES_EMPTY,
                                             KEY_READ};
        }
        count = 200;
        end_second();
    }
    struct load_detail detail = detail_of(1600, 0);
    cr_assert_gt(detail.point_count, 8);
}

/* What is drawn shows shares as they are, whatever the load looks like. */
Test(key_sampler, shares_are_near_the_truth_for_any_load)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        double truth[10] = {0};
        double total = 0;
        uint64_t popular = 1 + prng_below(&prng, 9);
        key_sampler_forget(&sampler);
        prng = prng_of_seed(seed);
        for (int second = 0; second < 12; second++) {
            for (size_t i = 0; i < 100 + 200 * (seed % 3); i++) {
                uint64_t part = prng_chance(&prng, 2) ? popular : prng_below(&prng, 1 + popular);
                touch(prng_chance(&prng, 2) ? KEY_READ : KEY_WRITTEN,
                      part * 1000 + prng_below(&prng, 2) * prng_below(&prng, 1000));
                truth[part] += 1;
                total += 1;
            }
            end_second();
        }
        struct load_detail detail = detail_of(100000, 100000);
        for (uint64_t part = 0; part < 10; part++) {
            double share = share_between(&detail, part * 1000, part * 1000 + 999);
            /* Points that reach over the border count for both sides. */
            cr_assert(share > truth[part] / total - 0.05, "seed %lu part %lu: %f of %f", seed, part,
                      share, truth[part] / total);
            cr_assert(share < truth[part] / total + 0.12, "seed %lu part %lu: %f of %f", seed, part,
                      share, truth[part] / total);
        }
    }
}

Test(key_sampler, without_memory_samples_are_left_out)
{
    for (uint64_t after = 0; after < 6; after++) {
        for (int i = 0; i < 100; i++) {
            touch(KEY_WRITTEN, prng_below(&prng, 1000));
            scan(1, 5);
        }
        memory_fail_arm(after, 1);
        key_sampler_take(&sampler, samples, count, WEIGHTS, SECOND_NS);
        memory_fail_disarm();
        key_sampler_check(&sampler);
        count = 0;
        (void)detail_of(100, 100);
        struct key_sampler other;
        memory_fail_arm(after, 1);
        enum status status = key_sampler_init(&other, 1);
        memory_fail_disarm();
        cr_assert_eq(status, after < 4 ? STATUS_NO_MEMORY : STATUS_OK);
        if (status == STATUS_OK) {
            key_sampler_deinit(&other);
        }
    }
}

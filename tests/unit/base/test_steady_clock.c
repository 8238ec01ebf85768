/* Time that follows a clock which is set now and then, and is not carried away by it. */
#include <criterion/criterion.h>

#include "common/base/prng.h"
#include "common/base/steady_clock.h"

#define SECOND_NS INT64_C(1000000000)
#define SECOND_US INT64_C(1000000)
#define HOUR_US   (3600 * SECOND_US)
#define DAY_US    (24 * HOUR_US)
#define START_US  (INT64_C(1700000000) * SECOND_US)

/* The world: true time, and what somebody has added to the wall clock. */
struct world {
    struct steady_clock clock;
    int64_t passed_ns;
    int64_t offset_us;
};

static int64_t read(struct world *world, int64_t passed_ns)
{
    world->passed_ns += passed_ns;
    return steady_clock_read(&world->clock, START_US + world->passed_ns / 1000 + world->offset_us,
                             42 * SECOND_NS + world->passed_ns);
}

static struct world start(void)
{
    struct world world = {0};
    steady_clock_start(&world.clock, START_US, 42 * SECOND_NS);
    return world;
}

/* How far time is ahead of the true one after so long, looked at every 250 ms. */
static int64_t ahead_after(struct world *world, int64_t seconds)
{
    int64_t time_us = 0;
    for (int64_t i = 0; i < 4 * seconds; i++) {
        time_us = read(world, SECOND_NS / 4);
    }
    return time_us - START_US - world->passed_ns / 1000;
}

Test(steady_clock, a_leap_of_eight_seconds_moves_time_by_a_fraction_of_one)
{
    static const int64_t leaps_us[] = {HOUR_US,       -HOUR_US,      100 * DAY_US,
                                       -100 * DAY_US, INT64_MAX / 4, INT64_MIN / 4};
    for (size_t i = 0; i < sizeof leaps_us / sizeof leaps_us[0]; i++) {
        struct world world = start();
        cr_expect_eq(ahead_after(&world, 10), 0);
        cr_expect_not(world.clock.doubted);
        world.offset_us = leaps_us[i];
        int64_t ahead_us = ahead_after(&world, 8);
        cr_expect_eq(ahead_us, (leaps_us[i] > 0 ? 1 : -1) * 400000);
        cr_expect(world.clock.doubted);
        cr_expect_eq(world.clock.apart_us > 0, leaps_us[i] > 0);
        world.offset_us = 0;
        cr_expect_eq(ahead_after(&world, 8), 0, "and it is back when the clock is");
        cr_expect_not(world.clock.doubted);
    }
}

Test(steady_clock, what_ntp_does_is_followed_and_not_doubted)
{
    struct world world = start();
    world.offset_us = SECOND_US / 2;
    cr_expect_eq(ahead_after(&world, 5), SECOND_US / 4);
    cr_expect_not(world.clock.doubted);
    cr_expect_eq(ahead_after(&world, 6), SECOND_US / 2);
    for (int i = 0; i < 3600; i++) { /* 500 parts in a million: the most that NTP slews by */
        world.offset_us += 500;
        (void)ahead_after(&world, 1);
        cr_expect_not(world.clock.doubted);
        cr_expect_eq(world.clock.apart_us, 0);
    }
}

Test(steady_clock, doubt_ends_at_half_of_where_it_began)
{
    struct world world = start();
    world.offset_us = STEADY_CLOCK_APART_US + 200000;
    (void)read(&world, SECOND_NS);
    cr_expect(world.clock.doubted);
    world.offset_us = STEADY_CLOCK_APART_US - 200000;
    (void)read(&world, SECOND_NS / 1000);
    cr_expect(world.clock.doubted, "still");
    world.offset_us = STEADY_CLOCK_APART_US / 2;
    (void)read(&world, SECOND_NS / 1000);
    cr_expect_not(world.clock.doubted);
}

Test(steady_clock, who_has_not_looked_for_long_does_not_follow_far)
{
    struct world world = start();
    world.offset_us = DAY_US;
    int64_t time_us = read(&world, 7 * 24 * 3600 * SECOND_NS);
    cr_expect_eq(time_us, START_US + 7 * DAY_US + SECOND_US / STEADY_CLOCK_SLEW_SHARE);
}

/* Whatever is done to the wall clock, and however often one looks. */
Test(steady_clock, goes_on_between_95_and_105_percent_and_never_back)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct prng prng = prng_of_seed(seed);
        struct world world = start();
        int64_t last_us = START_US;
        for (int step = 0; step < 2000; step++) {
            if (prng_chance(&prng, 10)) {
                int64_t most_us = INT64_C(1) << prng_below(&prng, 50);
                world.offset_us = (int64_t)prng_below(&prng, 2 * (uint64_t)most_us) - most_us;
            }
            int64_t passed_ns = (int64_t)prng_below(&prng, UINT64_C(1) << prng_below(&prng, 34));
            int64_t time_us = read(&world, passed_ns);
            int64_t gone_us = time_us - last_us;
            cr_assert_geq(gone_us, passed_ns / 1000 * 95 / 100 - 1, "seed %d", (int)seed);
            cr_assert_leq(gone_us, passed_ns / 1000 * 105 / 100 + 2, "seed %d", (int)seed);
            last_us = time_us;
        }
        world.offset_us = 0;
        int64_t lost_us = last_us - START_US - world.passed_ns / 1000;
        cr_assert_eq(ahead_after(&world, (lost_us < 0 ? -lost_us : lost_us) / SECOND_US * 20 + 40),
                     0, "seed %d: it finds back", (int)seed);
        cr_assert_not(world.clock.doubted);
    }
}

/* Two that read at once may hand in their clocks in the wrong order. */
Test(steady_clock, an_older_reading_changes_nothing)
{
    struct world world = start();
    int64_t time_us = read(&world, SECOND_NS);
    cr_expect_eq(read(&world, -SECOND_NS / 2), time_us);
    cr_expect_eq(read(&world, SECOND_NS / 2), time_us);
    cr_expect_eq(read(&world, SECOND_NS), time_us + SECOND_US);
}

Test(steady_clock, of_two_clocks_at_a_start_the_earlier_is_believed)
{
    static const struct {
        int64_t wall_us; /* ahead of the other */
        int64_t ahead_us;
        bool doubted;
    } cases[] = {{100 * DAY_US, 0, true},
                 {STEADY_CLOCK_APART_US, STEADY_CLOCK_APART_US, false},
                 {0, 0, false},
                 {-100 * DAY_US, -100 * DAY_US, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world world = {.offset_us = cases[i].wall_us};
        steady_clock_start(&world.clock, START_US + world.offset_us, 42 * SECOND_NS);
        steady_clock_witness(&world.clock, START_US, START_US + world.offset_us, 42 * SECOND_NS);
        cr_expect_eq(read(&world, 0), START_US + cases[i].ahead_us);
        cr_expect_eq(world.clock.doubted, cases[i].doubted);
    }
}

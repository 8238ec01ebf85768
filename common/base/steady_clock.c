#include "common/base/steady_clock.h"

#define NS_PER_US 1000

/* Far enough for any clock that can be set, and its nanoseconds fit. */
#define WALL_US_MAX (INT64_MAX / NS_PER_US / 2)

static int64_t clamp(int64_t value, int64_t lowest, int64_t highest)
{
    if (value < lowest) {
        return lowest;
    }
    return value > highest ? highest : value;
}

static int64_t wall_ns_of(int64_t wall_us)
{
    return clamp(wall_us, 0, WALL_US_MAX) * NS_PER_US;
}

void steady_clock_start(struct steady_clock *clock, int64_t wall_us, int64_t monotonic_ns)
{
    *clock = (struct steady_clock){.time_ns = wall_ns_of(wall_us), .monotonic_ns = monotonic_ns};
}

static void judge(struct steady_clock *clock, int64_t apart_us)
{
    int64_t distance_us = apart_us < 0 ? -apart_us : apart_us;
    int64_t limit_us = clock->doubted ? STEADY_CLOCK_APART_US / 2 : STEADY_CLOCK_APART_US;
    clock->apart_us = apart_us;
    clock->doubted = distance_us > limit_us;
}

int64_t steady_clock_read(struct steady_clock *clock, int64_t wall_us, int64_t monotonic_ns)
{
    int64_t passed_ns = monotonic_ns - clock->monotonic_ns;
    if (passed_ns > 0) { /* else read by another a moment ago */
        int64_t slew_ns = (passed_ns < STEADY_CLOCK_READING_NS ? passed_ns
                                                               : STEADY_CLOCK_READING_NS) /
                          STEADY_CLOCK_SLEW_SHARE;
        clock->monotonic_ns = monotonic_ns;
        clock->time_ns += passed_ns;
        clock->time_ns += clamp(wall_ns_of(wall_us) - clock->time_ns, -slew_ns, slew_ns);
    }
    judge(clock, (wall_ns_of(wall_us) - clock->time_ns) / NS_PER_US);
    return clock->time_ns / NS_PER_US;
}

void steady_clock_witness(struct steady_clock *clock,
                          int64_t witness_us,
                          int64_t wall_us,
                          int64_t monotonic_ns)
{
    int64_t time_us = steady_clock_read(clock, wall_us, monotonic_ns);
    if (wall_ns_of(witness_us) / NS_PER_US < time_us - STEADY_CLOCK_APART_US) {
        clock->time_ns = wall_ns_of(witness_us);
        judge(clock, (wall_ns_of(wall_us) - clock->time_ns) / NS_PER_US);
    }
}

/*
 * Time since 1970 that no one step of the machine's clock can carry away.
 *
 * Two clocks are read: the wall clock, which somebody may set, and a monotonic one, which nobody
 * can.  Time goes on with the monotonic clock, and moves towards the wall clock by at most one part
 * in STEADY_CLOCK_SLEW_SHARE of what has gone by: a clock that is a little off is followed, as NTP
 * sets it; one that leaps by 100 days for eight seconds moves time by 0.4 s.  Time never goes back.
 *
 * While the two lie further apart than STEADY_CLOCK_APART_US the clock is DOUBTED: one of them is
 * wrong, and what cannot be undone had better wait.
 *
 *     wall        ______|~~~~~~~|______
 *     time        _____________________     at most 5 % steeper, then less steep
 *     doubted           xxxxxxxxx
 *
 * At a start the wall clock is all there is, and is believed, until another machine's says that it is
 * earlier: of two that do not agree the earlier does no harm.
 *
 * Pure: both clocks are handed in.  Thread rule: one at a time.
 */
#ifndef COMMON_BASE_STEADY_CLOCK_H
#define COMMON_BASE_STEADY_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define STEADY_CLOCK_SLEW_SHARE 20      /* 5 % */
#define STEADY_CLOCK_APART_US   1000000 /* doubted above; not any more at half of it */

/* So much of what has gone by since the last reading counts for moving: who has not looked for a
 * day must not follow an hour at once. */
#define STEADY_CLOCK_READING_NS INT64_C(1000000000)

struct steady_clock {
    int64_t time_ns;      /* since 1970: what was read last */
    int64_t monotonic_ns; /* when */
    int64_t apart_us;     /* how far the wall clock was ahead of that; negative = behind */
    bool doubted;
};

void steady_clock_start(struct steady_clock *clock, int64_t wall_us, int64_t monotonic_ns);

/* The time in microseconds, not before what was read last. */
int64_t steady_clock_read(struct steady_clock *clock, int64_t wall_us, int64_t monotonic_ns);

/* Right after a start: what time it is elsewhere, with the clocks as for a reading.  Where that is
 * earlier by more than STEADY_CLOCK_APART_US it is so here, too: the one case of going back. */
void steady_clock_witness(struct steady_clock *clock,
                          int64_t witness_us,
                          int64_t wall_us,
                          int64_t monotonic_ns);

#endif /* COMMON_BASE_STEADY_CLOCK_H */

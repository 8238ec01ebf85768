/*
 * Stamps and the hybrid logical clock that gives them (Kulkarni et al., 2014).
 *
 * A stamp orders every mutation of an instance: later stamp wins.  Its clock part holds wall-clock
 * microseconds in the upper 52 bits and a counter in the lower 12, so it follows real time, never
 * goes back, and yields server-assigned timestamps.  Within one tablet stamps grow with sequences.
 *
 * This module is pure: the wall clock is handed in.
 */
#ifndef COMMON_BASE_STAMP_H
#define COMMON_BASE_STAMP_H

#include <stdint.h>

#define HLC_COUNTER_BITS 12

struct stamp {
    uint64_t clock;   /* hybrid logical clock; 0 = older than everything */
    uint32_t cluster; /* who gave it; breaks ties between clusters */
    uint32_t index;   /* of the mutation inside its record */
};

#define STAMP_OLDEST ((struct stamp){0, 0, 0})

struct hlc {
    uint64_t last; /* the highest clock given or seen */
};

/* The next clock value, above every earlier one.  now_us is the wall clock. */
static inline uint64_t hlc_next(struct hlc *hlc, uint64_t now_us)
{
    uint64_t wall = now_us << HLC_COUNTER_BITS;
    hlc->last = wall > hlc->last ? wall : hlc->last + 1;
    return hlc->last;
}

/* Take note of a clock value from elsewhere (a log record, a peer). */
static inline void hlc_observe(struct hlc *hlc, uint64_t clock)
{
    hlc->last = clock > hlc->last ? clock : hlc->last;
}

static inline int64_t hlc_to_us(uint64_t clock)
{
    return (int64_t)(clock >> HLC_COUNTER_BITS);
}

static inline uint64_t hlc_of_us(int64_t us)
{
    return (uint64_t)us << HLC_COUNTER_BITS;
}

static inline int stamp_compare(struct stamp a, struct stamp b)
{
    if (a.clock != b.clock) {
        return a.clock < b.clock ? -1 : 1;
    }
    if (a.cluster != b.cluster) {
        return a.cluster < b.cluster ? -1 : 1;
    }
    return (a.index > b.index) - (a.index < b.index);
}

static inline struct stamp stamp_later(struct stamp a, struct stamp b)
{
    return stamp_compare(a, b) >= 0 ? a : b;
}

#endif /* COMMON_BASE_STAMP_H */

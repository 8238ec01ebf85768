/*
 * Whose was the time?  A server's CPU time, shared out among its tablets.
 *
 * What a server used of CPU time in a period is known exactly, from the system; for which tablet is
 * not, and to look at a clock around all that is done would cost more than much of it.  So it is
 * shared out by what was counted:
 *
 *   - a store's loop orders writes and nothing else: its CPU time goes to the tablets of the store
 *     by the operations, cells and bytes written to each;
 *   - a read's time was measured, by the clock on the wall: it counts less where threads had to wait
 *     for a processor, so that together they were not busy for longer than they can have been;
 *   - the rest (taking requests, sending answers, syncing the log) goes along with both.
 *
 * What the server does for itself (flushes, garbage collection, its own reports) is nobody's.  A
 * tablet is never given more than LOAD_SHARE_TIMES_MAX of what was seen to be done for it, so that
 * one read of an idle server does not come to have used all that idling costs.
 *
 * Thread rule: one owner.  Pure.
 */
#ifndef TABLETSERVER_TABLET_LOAD_SHARE_H
#define TABLETSERVER_TABLET_LOAD_SHARE_H

#include <stddef.h>
#include <stdint.h>

#include "tabletserver/storage/store/load_counters.h"

#define LOAD_SHARE_TIMES_MAX 16

/* CPU time that was used in it. */
struct load_period {
    uint64_t requests_ns;     /* by all threads but those that work for the server itself */
    const uint64_t *loops_ns; /* of that: by each store's loop */
    uint32_t loop_count;
};

struct load_item {
    uint32_t loop; /* index of the tablet's store */
    struct load_counts counts;
    uint64_t read_cpu_ns;  /* made by load_share() */
    uint64_t write_cpu_ns; /* "; that of check-and-mutate and read-modify-write included */
};

/* Requires: every item's loop is below loop_count. */
void load_share(const struct load_period *period, struct load_item *items, size_t count);

#endif /* TABLETSERVER_TABLET_LOAD_SHARE_H */

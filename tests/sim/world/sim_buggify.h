/*
 * Buggify: what the shells around production's cores may do by their contracts, and seldom do by themselves.
 *
 *      if (sim_buggify(sim, SIM_SITE_LANE_FULL)) return false;
 *
 * A full mailbox, a thread that comes late, a lesson of one row: all of it is promised to be borne, and without
 * help it would be met once in a million seeds, or never.  Each seed leaves most sites out and draws for each of the others how often
 * it acts.  None acts in seeds without faults, nor when all is healed.
 *
 * The sites are in the simulator's shells, at production's own boundaries; production code has no hooks.  A program that runs
 * many seeds can tell which of them never acted (edubba-sim --every-site).
 */
#ifndef TESTS_SIM_WORLD_SIM_BUGGIFY_H
#define TESTS_SIM_WORLD_SIM_BUGGIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/prng.h"

/* X(name, constant) */
#define SIM_SITE_LIST(X)                                                               \
    X("no-memory", NO_MEMORY)       /* the store refuses an entry, or a commit */      \
    X("mailbox-full", MAILBOX_FULL) /* of the thread that gives leases */              \
    X("outbox-full", OUTBOX_FULL)   /* of a lane to a peer */                          \
    X("beacon-unsent", BEACON_UNSENT)                                                  \
    X("thread-late", THREAD_LATE)     /* a server's, for leases and replicas */        \
    X("entry-unread", ENTRY_UNREAD)   /* its log segment has been used again */        \
    X("reading-slow", READING_SLOW)   /* of the log, of a slice, of a digest */        \
    X("slice-of-one", SLICE_OF_ONE)   /* byte or row */                                \
    X("flush-at-once", FLUSH_AT_ONCE) /* of whatever was just committed */             \
    X("flush-by-row", FLUSH_BY_ROW)   /* a transaction of one row */                   \
    X("scan-by-row", SCAN_BY_ROW)                                                      \
    X("request-refused", REQUEST_REFUSED) /* as when memory for requests is short */   \
    X("evaluation-slow", EVALUATION_SLOW) /* a row stays locked for a second */        \
    X("sync-anew", SYNC_ANEW)             /* a server asks for all there is to know */ \
    X("sync-hurried", SYNC_HURRIED)       /* it asks when it has just asked */         \
    X("location-forgotten", LOCATION_FORGOTTEN)                                        \
    X("commit-slow", COMMIT_SLOW) /* the coordinator's */

enum sim_site {
#define SIM_SITE_ENUM(name, constant) SIM_SITE_##constant,
    SIM_SITE_LIST(SIM_SITE_ENUM)
#undef SIM_SITE_ENUM
    SIM_SITES,
};

struct sim;

struct sim_buggify {
    struct prng prng;
    uint32_t chances[SIM_SITES]; /* per million; 0 = not in this seed */
    uint64_t counts[SIM_SITES];
};

/* Of a generator of its own. */
void sim_buggify_draw(struct sim *sim);
/* Does it act now? */
bool sim_buggify(struct sim *sim, enum sim_site site);
const char *sim_site_name(enum sim_site site);

#endif /* TESTS_SIM_WORLD_SIM_BUGGIFY_H */

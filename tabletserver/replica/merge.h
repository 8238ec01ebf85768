/*
 * A merge of two neighbours, left and right, into one: which step is next (docs/replication.md, section 7).
 *
 *   FLUSH --> FREEZE right --> ABSORB in left --> (proposed by left's replica) --> taken: both are converted
 *                 |                |
 *                 |                '--> void: left is lifted
 *                 '--> not wished, parted, or too long: RENEW right, then THAW; from the start, after a while
 *
 * Whoever leads a half looks at both as they stand here, again and again: nothing of a merge is remembered
 * but how long to wait.  So it does not matter who began it, and a step that was lost is said again.
 *
 * Invariants, of what is said:
 *   (1) ABSORB names a barrier that is committed, under the version that the right half still has.
 *   (2) THAW only under a version above the one in which it was frozen: a merge that names that one may be
 *       on its way to the catalog.  So whoever wants to thaw renews first.
 *   (3) LIFT only when no merge can be taken any more that names the barrier: left or right has moved on.
 *   (4) Nothing stands for ever: a freeze that outlasts its limit is given up, and the limit doubles, and
 *       so does the wait before the next.
 *
 * Pure: no clock (now_ns is handed in), no I/O, no randomness.  Thread rule: the loop of its store.
 */
#ifndef TABLETSERVER_REPLICA_MERGE_H
#define TABLETSERVER_REPLICA_MERGE_H

#include "tabletserver/replica/replica.h"

struct merge_settings {
    int64_t frozen_max_ns; /* a freeze lasts so long at first, */
    int64_t frozen_top_ns; /* and at most */
    int64_t wait_ns;       /* after one that was given up, at first, */
    int64_t wait_top_ns;   /* and at most */
};

/* A half, as its copy here stands. */
struct merge_half {
    bool leads;       /* it is the primary, and serves */
    bool calm;        /* it has what is wished, nobody is taught, nothing is proposed */
    uint64_t version; /* the highest that is known of it, by whoever's word */
    struct replica_standing standing; /* the barrier that is not lifted */
    bool committed;                   /* that, and all else that was given out */
    bool told;                        /* and every member was told so */
    bool flushed; /* of what stands when it is looked at, little is not in the base */
};

struct merge_look {
    int64_t now_ns;
    bool wished;
    bool void_told; /* of what left stands for: the right half may be gone since */
    bool aligned;   /* same members, same primary */
    struct merge_half left;
    struct merge_half right;
    /* Where left stands at its ABSORB: of which version of the right half that is.  A barrier of it that was lifted has
     * raised that version, so which barrier of it need not be known. */
    uint64_t named_version;
};

enum merge_step {
    MERGE_WAIT,
    MERGE_FLUSH,  /* bring both to the base: what is left to do under the barriers is little then */
    MERGE_FREEZE, /* right gives out FROZEN */
    MERGE_ABSORB, /* left gives out ABSORB of right's standing */
    MERGE_RENEW,  /* right: REPLICA_EVENT_RENEW of its version */
    MERGE_THAW,   /* right gives out THAWED */
};

struct merge {
    struct merge_settings settings;
    int64_t frozen_max_ns; /* of the next */
    int64_t wait_ns;       /* after the next that is given up */
    int64_t from_ns;       /* nothing is frozen before */
    int64_t frozen_ns;     /* since when right has stood; REPLICA_NEVER = it does not */
};

/* Of the merged tablet's first configuration: above both. */
static inline uint64_t merge_version(uint64_t left_version, uint64_t right_version)
{
    return (left_version > right_version ? left_version : right_version) + 1;
}

void merge_begin(struct merge *merge, const struct merge_settings *settings);

/* To be called again soon while something stands, or is wished: the caller's pace is the merge's. */
enum merge_step merge_next(struct merge *merge, const struct merge_look *look);

/* Left stands for nothing any more: REPLICA_EVENT_VOID of its standing.  Whether it serves or not: what it
 * has proposed is settled by that, and it may have to propose something else first, to serve again. */
bool merge_is_void(const struct merge_look *look);
/* Besides, its primary is here: it gives out ABSORB_ABORTED.  Beside merge_next(), so that neither half waits
 * for the other. */
bool merge_must_lift(const struct merge_look *look);

/* Does anything stand that must be looked after, wished or not? */
bool merge_is_under_way(const struct merge_look *look);

#endif /* TABLETSERVER_REPLICA_MERGE_H */

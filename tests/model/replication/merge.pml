/*
 * A merge of two neighbours (docs/replication.md, section 7), for Spin: tabletserver/replica/merge.h decides the
 * steps, replica_propose.c proposes, the catalog compares.  `run` beside this file checks it.
 *
 * Each half is a replica group that keeps I1 to I7 (replication.pml): here it is a version in the catalog, the
 * version under which its group acts, and the log's end.  A group may act under a version after the catalog has
 * moved on, until `follow`; what is not committed then may be dropped.  Proposals of a merge stay in the network
 * for ever.  What must hold: when the catalog takes a merge, each half stands behind its barrier, so nothing that
 * is acknowledged is missing from what becomes of both; and no half takes a write afterwards.
 *
 * PLANTED BUGS: each -DBUG_... leaves out a rule; Spin must then find a trail.
 */
#ifndef CHANGES
#define CHANGES 3 /* versions of each half after the first */
#endif
#define LEFT  0
#define RIGHT 1
#define VERSIONS (CHANGES + 2)

byte newest[2] = 1; /* in the catalog */
bool merged;
byte version[2] = 1; /* under which the group acts */

/* The barrier that is not lifted: FROZEN at the right, ABSORB at the left; version 0 = none. */
byte barrier[2];     /* the version of its entry */
byte named;          /* ABSORB: the version of the right one's FROZEN */
bool committed[2];   /* the log's end, the barrier or what lifts it */
bool lifting[2];     /* what lifts it was given out, and is not committed */

/* Proposals in the network: of [left version * VERSIONS + right version]. */
bool proposed[VERSIONS * VERSIONS];

#define STANDS(h)     (barrier[h] != 0)
#define IS_CURRENT(h) (barrier[h] == version[h])

inline commit(h)
{
    committed[h] = true;
    if
    :: lifting[h] ->
        lifting[h] = false;
        barrier[h] = 0;
        if
        :: h == LEFT -> named = 0
        :: else
        fi
    :: else
    fi
}

/* A new primary: what its predecessor had not committed is there, or is not. */
inline follow(h, keeps)
{
    version[h] = newest[h];
    if
    :: !committed[h] && !keeps ->
        committed[h] = true;
        if
        :: lifting[h] -> lifting[h] = false
        :: else ->
            barrier[h] = 0;
            if
            :: h == LEFT -> named = 0
            :: else
            fi
        fi
    :: else
    fi
}

/* What may be lifted: a merge that names it can be taken no more. */
#ifdef BUG_MERGE_THAWED_UNDER_ITS_VERSION
#define MAY_THAW true
#else
#define MAY_THAW (barrier[RIGHT] < version[RIGHT])
#endif
#ifdef BUG_MERGE_LIFTED_IN_DOUBT
#define IS_VOID true
#else
#define IS_VOID (barrier[LEFT] < version[LEFT] || named < version[RIGHT])
#endif
#ifdef BUG_MERGE_ABSORB_OF_THE_VERSION_BEFORE
#define MAY_PROPOSE true
#else
#define MAY_PROPOSE IS_CURRENT(LEFT)
#endif
#ifdef BUG_MERGE_FROZEN_BEFORE_COMMITTED
#define IS_FROZEN STANDS(RIGHT)
#else
#define IS_FROZEN (STANDS(RIGHT) && committed[RIGHT])
#endif
#ifdef BUG_MERGE_RIGHT_NOT_COMPARED
#define IS_TAKEN(l, r) (!merged && newest[LEFT] == (l))
#else
#define IS_TAKEN(l, r) (!merged && newest[LEFT] == (l) && newest[RIGHT] == (r))
#endif

#define HALF(h) \
    :: d_step { !merged && newest[h] <= CHANGES -> printf("renewed %d\n", h); newest[h]++ } \
    :: d_step { version[h] < newest[h] -> printf("follow %d 0\n", h); follow(h, false) } \
    :: d_step { version[h] < newest[h] && !committed[h] -> printf("follow %d 1\n", h); follow(h, true) } \
    :: d_step { !committed[h] -> printf("commit %d\n", h); commit(h) } \
    :: d_step { !STANDS(h) && merged -> printf("write %d\n", h); assert(false) }

#define TAKE(l, r) \
    :: d_step { proposed[(l) * VERSIONS + (r)] && IS_TAKEN(l, r) -> \
        printf("take %d %d\n", l, r); \
        merged = true; \
        assert(STANDS(LEFT) && committed[LEFT] && STANDS(RIGHT) && committed[RIGHT]) }

init
{
    committed[LEFT] = true;
    committed[RIGHT] = true;
end:
    do
    HALF(LEFT)
    HALF(RIGHT)
    :: d_step { !STANDS(RIGHT) && committed[RIGHT] -> printf("freeze\n");
        barrier[RIGHT] = version[RIGHT]; committed[RIGHT] = false }
    :: d_step { !STANDS(LEFT) && committed[LEFT] && IS_FROZEN && IS_CURRENT(RIGHT) -> printf("absorb\n");
        barrier[LEFT] = version[LEFT]; named = barrier[RIGHT]; committed[LEFT] = false }
    :: d_step { STANDS(LEFT) && committed[LEFT] && MAY_PROPOSE && !proposed[version[LEFT] * VERSIONS + named] ->
        printf("propose\n"); proposed[version[LEFT] * VERSIONS + named] = true }
    :: d_step { STANDS(RIGHT) && committed[RIGHT] && MAY_THAW -> printf("thaw\n");
        lifting[RIGHT] = true; committed[RIGHT] = false }
    :: d_step { STANDS(LEFT) && committed[LEFT] && IS_VOID -> printf("lift\n");
        lifting[LEFT] = true; committed[LEFT] = false }
    TAKE(1, 1) TAKE(1, 2) TAKE(1, 3) TAKE(1, 4)
    TAKE(2, 1) TAKE(2, 2) TAKE(2, 3) TAKE(2, 4)
    TAKE(3, 1) TAKE(3, 2) TAKE(3, 3) TAKE(3, 4)
    TAKE(4, 1) TAKE(4, 2) TAKE(4, 3) TAKE(4, 4)
    od
}

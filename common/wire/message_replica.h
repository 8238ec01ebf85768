/*
 * Messages about replicas: part of message.h, which every user includes.
 *
 * What they mean stands in docs/replication.md, sections 4 and 10.
 */
#ifndef COMMON_WIRE_MESSAGE_REPLICA_H
#define COMMON_WIRE_MESSAGE_REPLICA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/replica_configuration.h"

/* --- in a sync ---------------------------------------------------------------------------------- */

/* What a copy is to its tablet, as its server sees it.  Numbers are sent. */
enum held_role {
    HELD_AS_UNKNOWN = 0, /* a server that does not replicate */
    HELD_AS_OUTSIDER = 1,
    HELD_AS_LEARNER = 2,
    HELD_AS_SECONDARY = 3,
    HELD_AS_PRIMARY = 4, /* and has opened all members (PacificA: reconciliation is over) */
};

/* What the master wishes of a tablet; never what is (docs/replication.md, section 10). */
enum goal_wish {
    GOAL_STAY = 0,
    GOAL_SPLIT = 1,
    GOAL_MERGE = 2,
};

struct goal {
    uint32_t member_count; /* 0 = no goal is told */
    struct replica_member members[LIMIT_REPLICAS];
    uint64_t leader; /* store that should lead; 0 = whoever */
    enum goal_wish wish;
    uint64_t left;    /* SPLIT: numbers of the children; MERGE: the two neighbours */
    uint64_t right;   /* the same */
    uint64_t merged;  /* MERGE: number of what they become */
    struct bytes row; /* SPLIT: first row of the right child */
};

/* --- proposals: compare-and-swap on a tablet's configuration (docs/replication.md, section 4) ---- */

enum proposal_kind {
    PROPOSAL_MEMBERS = 1, /* members or leader */
    PROPOSAL_SPLIT = 2,   /* the tablet is replaced by two, as its goal says */
    PROPOSAL_MERGE = 3,   /* the tablet and its right neighbour are replaced by one */
};

struct proposal {
    enum proposal_kind kind;
    uint64_t tablet;                   /* MERGE: the left one */
    uint64_t base;                     /* version that is replaced */
    uint64_t proposer;                 /* store, on the server that asks */
    struct replica_configuration next; /* SPLIT: of both children; MERGE: of what they become */
    uint64_t left;                     /* SPLIT: the children's numbers */
    uint64_t right;                    /* SPLIT; MERGE: the right neighbour */
    struct bytes row;                  /* SPLIT: first row of the right child */
    uint64_t right_base;               /* MERGE: version of the right neighbour that is replaced */
    uint64_t merged;                   /* MERGE: number of what they become */
};

struct propose_request {
    uint64_t server;
    const struct proposal *proposals; /* judged in order */
    size_t proposal_count;            /* up to LIMIT_PROPOSALS_PER_MESSAGE */
    uint64_t incarnation; /* of the server's process; 0 = an older version, which does not say */
};

enum proposed_outcome {
    PROPOSED_CONFIGURATION = 1, /* the newest there is: taken if it is the one that was proposed */
    PROPOSED_SPLIT = 2,         /* gone: left and right came of it */
    PROPOSED_MERGED = 3,        /* gone: it is part of merged */
    PROPOSED_DROPPED = 4,       /* gone with its table */
    PROPOSED_UNKNOWN = 5,       /* not in the catalog, and nothing is known of it */
};

/* The same answer, whether the proposal was taken or not: the proposer compares. */
struct proposed {
    enum proposed_outcome outcome;
    uint64_t tablet;
    struct replica_configuration configuration; /* CONFIGURATION */
    /* CONFIGURATION, as the answer to a proposed MERGE: the right neighbour's version; UINT64_MAX =
     * it is gone. */
    uint64_t right_version;
    uint64_t left;   /* SPLIT */
    uint64_t right;  /* SPLIT */
    uint64_t merged; /* MERGED */
};

/* Sent when the coordinator has acknowledged all that it says. */
struct propose_response {
    const struct proposed *answers; /* one a proposal, in order */
    size_t answer_count;
};

/* --- where replicas are, for people ----------------------------------------------------------------- */

enum located_flag {
    LOCATED_MEMBER = 1,      /* it counts: it has all that was acknowledged */
    LOCATED_PRIMARY = 2,     /* it leads */
    LOCATED_IN_SYNC = 4,     /* a member whose server lives, and has said that it holds it */
    LOCATED_WANTED = 8,      /* the goal names it */
    LOCATED_SHOULD_LEAD = 16 /* the goal wants it to lead */
};

/* A member, or a store that should become one. */
struct located_replica {
    uint64_t server;
    uint64_t store;
    struct bytes address;
    uint32_t flags; /* of enum located_flag */
};

struct located_replicas {
    const struct located_replica *replicas; /* members ascending by server, then the others */
    size_t replica_count;
    enum goal_wish wish;
    uint64_t other;   /* MERGE: the neighbour */
    struct bytes row; /* SPLIT: first row of the right child */
    uint64_t size_bytes;
};

/* --- moving everything away from a server -------------------------------------------------------- */

struct drain_server_request {
    uint64_t server;
    bool draining; /* false: it may have tablets again */
};

/* How far it is; asking again changes nothing. */
struct drain_server_response {
    bool draining;
    uint32_t member_count; /* copies on it that count */
    uint32_t goal_count;   /* copies that should still be there by the goals: not begun */
    uint32_t stuck_count;  /* of these: no other server can take them as things are */
};

struct merge_request {
    struct bytes table; /* name */
    struct bytes row;   /* first row of the right one of the two */
    bool withdrawn;     /* the order is taken back, if it has not been carried out */
};

struct merge_response {
    uint64_t merged_tablet; /* 0 = the order was taken back */
};

/* --- tablets whose members are all lost ------------------------------------------------------------- */

/* What there is of a tablet, and, if the loss is accepted, which copy it shall be from now on. */
struct recover_request {
    struct bytes table; /* name; empty: of all tables */
    uint64_t tablet;    /* this one alone, lost or not; 0: those that are lost */
    bool accept_loss;   /* of tablet: choose */
    uint64_t store;     /* accept_loss: whose copy; 0 = the best there is */
    struct bytes who; /* accept_loss: who orders it, for the record; up to RECOVER_WHO_BYTES_MAX */
};

#define RECOVER_WHO_BYTES_MAX 63

enum found_flag {
    FOUND_MEMBER = 1,  /* it counts */
    FOUND_HELD = 2,    /* its server has said that it is there, in its last report */
    FOUND_ALIVE = 4,   /* its server is heard */
    FOUND_DAMAGED = 8, /* a checksum failed there, or it was not like the others */
    FOUND_EMPTY = 16,  /* it has nothing, or a part that counts for nothing */
};

/* A copy, as far as is known. */
struct found_copy {
    uint64_t server;
    uint64_t store;
    struct bytes address;
    uint64_t version;   /* of the configuration that it knows */
    uint64_t committed; /* sequence up to which it shows everything */
    int64_t heard_us;   /* when its server was heard last; 0 = not since the master began */
    uint32_t flags;     /* of enum found_flag */
};

struct lost_tablet {
    uint64_t tablet;
    struct bytes table; /* name */
    struct bytes start; /* of its rows */
    struct bytes end;
    uint32_t state; /* enum tablet_state */
    uint64_t version;
    struct bytes why;                /* what is the matter; empty: nothing is lost */
    const struct found_copy *copies; /* best first */
    size_t copy_count;
    int64_t recovered_us; /* it was chosen by hand then; 0 = never */
    struct bytes recovered_by;
};

struct recover_response {
    const struct lost_tablet *tablets; /* by table, then by row */
    size_t tablet_count;
    bool more;             /* there are others: ask again when these are recovered */
    uint64_t chosen_store; /* accept_loss */
};

#endif /* COMMON_WIRE_MESSAGE_REPLICA_H */

/*
 * edubba_replicas.h -- where the replicas of tablets are, and moving them.
 *
 * A table wants each tablet to have `replicas` copies, on as many servers (struct edubba_schema says
 * how many; EDUBBA_SET_REPLICATION changes it).  Those that count are MEMBERS: each has all that was
 * ever acknowledged, one of them leads and is the PRIMARY.  What the master wishes of a tablet, its
 * goal, may be another set of servers for a while: members follow it one at a time.
 *
 * THREADS, ERRORS, MEMORY as in edubba.h.  The calls block, until a master has answered or the
 * client's deadline_ms has passed; not to be called in completions.
 */
#ifndef EDUBBA_REPLICAS_H
#define EDUBBA_REPLICAS_H

#include "edubba.h"

#ifdef __cplusplus
extern "C" {
#endif

struct edubba_replica {
    uint64_t server;
    uint64_t store;
    const char *address; /* of the server */
    bool is_member;      /* false: it is wanted, and is being taught */
    bool is_primary;
    bool in_sync;     /* a member whose server is alive, and holds it */
    bool is_wanted;   /* false: it is to leave, when others are there */
    bool should_lead; /* false for the primary: it is to hand over */
};

struct edubba_tablet_replicas {
    uint64_t number;
    struct edubba_bytes start;
    struct edubba_bytes end; /* empty = to the last row */
    const char *state;       /* as of struct edubba_tablet */
    uint64_t version;    /* of its configuration: rises with each change of members or primary */
    uint64_t size_bytes; /* about, of one copy; 0 = not told */
    bool is_known;       /* false: no master answers; a server named the primary, alone */
    const struct edubba_replica *replicas; /* members first; none: it is not served now */
    size_t replica_count;
    const char *wish;              /* "split", "merge": ordered, and not done yet; else "" */
    struct edubba_bytes split_row; /* where it is to be split */
    uint64_t merge_with;           /* the neighbour that it is to be merged with */
};

/* Ascending by rows.  *tablets: edubba_free() it.
 * Errors: those of edubba_list_tablets(). */
enum edubba_code edubba_list_replicas(struct edubba_client *client,
                                      const char *table,
                                      struct edubba_tablet_replicas **tablets,
                                      size_t *count,
                                      struct edubba_error *error);

/* How far a server is drained. */
struct edubba_drain_progress {
    bool draining;
    uint32_t replica_count; /* members on it: 0 = it may be stopped for good */
    uint32_t waiting_count; /* of these, and of those that were on their way to it: no other server
                             * has been chosen yet. A few move at a time */
    uint32_t stuck_count;   /* of those that wait: no other server can take them as things are */
};

/*
 * Move everything away from a server, and bring nothing new there, until it is told otherwise
 * (draining false).  Returns when that is durable, not when it is done: asking again tells how far
 * it is, and orders it again.  So who waits looks first whether it still stands (edubba_list_servers(): draining),
 * or undoes what another has undone.
 * Errors: EDUBBA_NOT_FOUND (no such server), EDUBBA_UNAVAILABLE, EDUBBA_DEADLINE_EXCEEDED.
 */
enum edubba_code edubba_drain_server(struct edubba_client *client,
                                     uint64_t server,
                                     bool draining,
                                     struct edubba_drain_progress *progress,
                                     struct edubba_error *error);

/*
 * Merge the tablet that begins with row, and the one before it, into one.  Returns when it is done.
 * While one of them does not serve, or is being split or merged, it is not ordered, and is tried again.
 * Errors: EDUBBA_INVALID_ARGUMENT (no tablet begins there, or the first one does), EDUBBA_NOT_FOUND,
 * EDUBBA_UNIMPLEMENTED (their servers do not replicate), EDUBBA_FAILED_PRECONDITION (their copies lie in
 * different stores of one server, and none can be spared), EDUBBA_UNAVAILABLE (it may or may not have
 * been ordered), EDUBBA_DEADLINE_EXCEEDED (it is ordered, and will be done; or not, as its text says: the
 * last attempt met a tablet that does not serve), EDUBBA_ABORTED (it was taken back, or the table deleted).
 */
enum edubba_code edubba_merge_tablets(struct edubba_client *client,
                                      const char *table,
                                      struct edubba_bytes row,
                                      struct edubba_error *error);

/*
 * Take back the order to merge them, while it has not been carried out.  Errors: EDUBBA_INVALID_ARGUMENT as
 * above, EDUBBA_FAILED_PRECONDITION (they are not to be merged), EDUBBA_UNAVAILABLE (it may or may not have
 * been taken back).
 */
enum edubba_code edubba_withdraw_merge(struct edubba_client *client,
                                       const char *table,
                                       struct edubba_bytes row,
                                       struct edubba_error *error);

/* --- tablets whose members are all lost ---------------------------------------------------------- */

/* A copy of a tablet, as far as the master knows. */
struct edubba_copy {
    uint64_t server;
    uint64_t store;
    const char *address; /* of the server; "" = not known any more */
    uint64_t version;    /* of the configuration that it knows */
    uint64_t committed;  /* of two copies of one history, the one with the higher has more */
    int64_t heard_us;    /* when its server was heard last; 0 = not since the master began */
    bool is_member;      /* it counts */
    bool is_held;        /* its server has said that it is there */
    bool is_alive;       /* its server is */
    bool is_damaged;
    bool is_empty; /* nothing of it counts */
};

struct edubba_lost_tablet {
    uint64_t number;
    const char *table;
    struct edubba_bytes start;
    struct edubba_bytes end;
    const char *state; /* as of struct edubba_tablet */
    uint64_t version;
    const char *why;                  /* what is the matter; "" = nothing is lost */
    const struct edubba_copy *copies; /* the one first that would be chosen */
    size_t copy_count;
    int64_t recovered_us; /* when one was chosen by hand last; 0 = never */
    const char *recovered_by;
};

/* Tablets that nobody leads, nor has for some time (the masters' replication.replace_after): of a table; of
 * all where table is ""; or the one of that number, lost or not.  *more: there are others, to be listed
 * when these are recovered.  *tablets: edubba_free() it.
 * Errors: EDUBBA_NOT_FOUND, EDUBBA_UNAVAILABLE, EDUBBA_DEADLINE_EXCEEDED. */
enum edubba_code edubba_list_lost(struct edubba_client *client,
                                  const char *table,
                                  uint64_t tablet,
                                  struct edubba_lost_tablet **tablets,
                                  size_t *count,
                                  bool *more,
                                  struct edubba_error *error);

#define EDUBBA_WHO_BYTES_MAX 63

/*
 * What this copy has is the tablet from now on.  WHAT THE OTHERS HAD BESIDES IS LOST, acknowledged or not;
 * and be certain that none of their servers still runs, cut off.  store: 0 = the first of
 * edubba_list_lost().  who: for the record; printable.  Returns when it is durable; it serves moments later.
 * Errors: EDUBBA_NOT_FOUND (no such tablet), EDUBBA_FAILED_PRECONDITION (it is not lost; or no such copy,
 * on a server that lives), EDUBBA_UNIMPLEMENTED (its server does not replicate), EDUBBA_UNAVAILABLE,
 * EDUBBA_DEADLINE_EXCEEDED (it may or may not be ordered: list it).
 */
enum edubba_code edubba_recover_tablet(struct edubba_client *client,
                                       uint64_t tablet,
                                       uint64_t store,
                                       const char *who,
                                       uint64_t *chosen_store,
                                       struct edubba_error *error);

#ifdef __cplusplus
}
#endif

#endif /* EDUBBA_REPLICAS_H */

/*
 * Write order: what the store loop does with each write, tablet by tablet.
 *
 *   hold    while the store has no room for more, or the tablet is between two primaries or being
 *           split: better wait here than be refused and come again
 *   route   which tablet; behind a barrier, or behind a locked row, if there is one
 *   gather  validate, resolve, check for a duplicate; entries of a tablet collect in one record
 *   flush   append the record: the entries are now pending
 *   commit  the store says how far it is synced: pending works are answered
 *
 * Thread rule: the store loop only.
 */
#ifndef TABLETSERVER_SERVE_WRITE_WRITE_ORDER_H
#define TABLETSERVER_SERVE_WRITE_WRITE_ORDER_H

#include <stdint.h>

#include "common/base/arena.h"
#include "tabletserver/serve/sync/schema_cache.h"
#include "tabletserver/serve/write/batch.h"
#include "tabletserver/storage/store/store.h"
#include "tabletserver/tablet/row_lock.h"

#define GATHER_ENTRIES_MAX 256
#define GATHER_SEEN_BITS   4096 /* sixteen an entry: few entries look like another */

struct replicas;
struct server;
struct store_command;

/* What a tablet's next record is made of.  Only tablets that are written to in this round have one. */
struct gather {
    struct gather *next; /* in the list of spare ones */
    uint32_t count;
    uint64_t size_bytes; /* of values and qualifiers */
    uint64_t cell_count;
    uint64_t row_bytes;
    uint64_t received_ns;                 /* when each of them came, added up */
    uint64_t seen[GATHER_SEEN_BITS / 64]; /* a bit for each request gathered (a Bloom filter) */
    struct record_entry entries[GATHER_ENTRIES_MAX];
    struct work *works[GATHER_ENTRIES_MAX];
};

/* The loop's side of a tablet: the store tablet's context. */
struct tablet_order {
    struct store_tablet *tablet;
    struct schema *schema;      /* NULL until the table is known */
    struct work *pending_first; /* appended, not committed; ascending by sequence */
    struct work *pending_last;
    struct work *deferred_first; /* behind a barrier, or a change of who serves */
    struct work *deferred_last;
    struct store_command *split; /* the barrier is this split */
    bool split_waits;            /* it could not be appended so far: that is logged once */
    bool blocked;                /* a barrier waits or is on its way */
    bool dropping;
    /* The version of which the master knew when it said so (host_may_remove()). */
    uint64_t drop_version;
    uint32_t locks;        /* rows locked */
    struct gather *gather; /* NULL: nothing gathered */
    struct tablet_order *dirty_next;
    bool dirty; /* in the list of those that may have something gathered */
    struct tablet_order *changing_next;
    bool changing; /* in the list of those that hold works until a change is over */
    /* A change of who serves goes on: works are held for it until then; 0 = none does. */
    int64_t hold_until_ns;
    /* How many reigns have ended here: an evaluation from before the last is void. */
    uint64_t reigns_over;
    /* What the host was asked in the round of this time: */
    int64_t looked_ns;
    enum status may_answer; /* may writes be answered? */
    bool holds;             /* does a change go on, for which it is better to wait? */
};

/* What all tablets of one loop share. */
struct write_order {
    struct server *server;
    struct store *store;
    struct store_loop *loop;
    struct replicas *replicas; /* NULL: no tablet has one */
    struct row_lock_table *locks;
    struct arena arena;         /* resolved changes, until the round's flush */
    struct tablet_order *last;  /* the tablet of the write before; NULL = look it up */
    struct tablet_order *dirty; /* tablets with gathered entries */
    struct gather *spare;       /* gathers not in use */
    uint32_t spare_count;
    struct part *answered;   /* parts with something to send */
    uint64_t clock;          /* of this round */
    int64_t now_ns;          /* of this round, monotonic */
    uint64_t waiting;        /* works taken and not answered, for a clean stop */
    struct part *held_first; /* not taken yet: the store has no room, or they came behind such */
    struct part *held_last;
    int64_t held_look_ns;          /* monotonic: when to look for deadlines among them */
    struct tablet_order *changing; /* tablets that hold works until a change is over */
};

enum status write_order_init(struct write_order *order,
                             struct server *server,
                             struct store_loop *loop,
                             struct store *store);
void write_order_deinit(struct write_order *order);

/* A tablet is served from now on.  Errors: STATUS_NO_MEMORY. */
enum status write_order_add(struct write_order *order, struct store_tablet *tablet);

/* There are new schemas in the cache: take them. */
void write_order_refresh(struct write_order *order);

/* A round: write_order_begin(), any of the others, write_order_flush(), write_order_answer(). */
void write_order_begin(struct write_order *order);
void write_order_take(struct write_order *order, struct part *part);
/* Take what is held: as far as there is room, or all of it. */
void write_order_release(struct write_order *order, bool all);
/* When something that is held should be looked at; INT64_MAX = nothing is. */
int64_t write_order_due_ns(const struct write_order *order, int64_t now_ns);
void write_order_evaluated(struct write_order *order, struct work *work);
/* Append what was gathered; after it the log is let go. */
void write_order_flush(struct write_order *order);
/* Send what is answered (write_gather.c). */
void write_order_answer(struct write_order *order);

/* Barriers.  The command is taken over. */
void write_order_split(struct write_order *order,
                       struct store_tablet *tablet,
                       struct store_command *command);
/* version as host_may_remove(): passed over where it may not go, or may not any more once no row is
 * locked.  Whoever wants it gone asks again. */
void write_order_drop(struct write_order *order, struct store_tablet *tablet, uint64_t version);

/* Something of who serves the tablet has changed in the midst of a round. */
void write_order_look_again(struct store_tablet *tablet);

/* A reign is over: what is pending may come about or not.  Whoever waits for it is told that. */
void write_order_ceased(struct write_order *order, struct store_tablet *tablet);

/* From the callbacks of store and host.  answers: those who wait may be told that it was done;
 * otherwise that it is not known (docs/replication.md, rule 5). */
void write_order_committed(struct write_order *order,
                           struct store_tablet *tablet,
                           uint64_t sequence,
                           bool answers);
void write_order_was_split(struct write_order *order,
                           struct store_tablet *parent,
                           struct store_tablet *left,
                           struct store_tablet *right);
void write_order_was_merged(struct write_order *order,
                            struct store_tablet *const gone[2],
                            struct store_tablet *merged);

#endif /* TABLETSERVER_SERVE_WRITE_WRITE_ORDER_H */

/*
 * The inside of the catalog: what it holds in memory and how it is found.  For files of this
 * folder only.
 *
 * Committed state (records) is changed by transaction.c alone, when a transaction is
 * PERSISTED, and by loading.  What servers last said ("seen", "held") is volatile: it is lost with
 * the process and comes back with the next syncs; what must follow from it is marked dirty, and
 * the planner turns it into transactions.
 */
#ifndef MASTER_CORE_STATE_CATALOG_STATE_H
#define MASTER_CORE_STATE_CATALOG_STATE_H

#include "common/base/arena.h"
#include "master/core/catalog.h"
#include "master/core/load/event_log.h"
#include "master/core/load/load_details.h"
#include "master/core/load/load_history.h"
#include "master/core/record/record.h"
#include "master/core/state/document_map.h"
#include "master/core/state/list.h"
#include "master/core/state/number_map.h"
#include "master/placement/balance.h"
#include "master/placement/placement.h"

/* --- what changed, in order of version -------------------------------------------------------- */

enum changed_kind {
    CHANGED_TABLET,
    CHANGED_TABLE,
    CHANGED_TABLET_GONE, /* split or merged; remembered up to CATALOG_GONE_MAX of them */
    CHANGED_TABLE_GONE,  /* dropped; remembered for ever */
};

struct changed {
    struct list_link link; /* catalog->changed, ascending by version; owner = this */
    enum changed_kind kind;
    uint64_t version;
    void *object; /* struct tablet, table_entry or gone */
};

#define CATALOG_GONE_MAX 10000

/* What became of a tablet that is gone. */
struct tablet_heirs {
    uint64_t left; /* split into these; 0 = not so */
    uint64_t right;
    uint64_t merged; /* part of this one now; 0 = not so */
};

struct gone {
    struct changed changed;
    struct list_link beside; /* in catalog->dropped, or ->gone: of its kind; owner = this */
    uint64_t number;         /* of the tablet or table */
    uint64_t table;
    struct tablet_heirs heirs;    /* TABLET_GONE */
    size_t range_count;           /* TABLE_GONE: numbers of its tablets */
    struct number_range ranges[]; /* ascending */
};

/* --- objects ---------------------------------------------------------------------------------- */

enum tablet_holding {
    HOLDING_UNKNOWN = 0, /* not heard of since the master started or it was assigned */
    HOLDING_CREATED,     /* HELD_CREATED */
    HOLDING_SERVING,     /* HELD_SERVING */
    HOLDING_LEADING,     /* HELD_SERVING, as primary under the catalog's version */
    HOLDING_FAILED,      /* HELD_FAILED */
    HOLDING_MISSING,     /* a full report was without it */
};

/* A member's replica, as its server last said. */
struct copy {
    struct list_link on_server; /* server->tablets; owner = the tablet */
    uint64_t report;            /* number of the last full report that named it */
    enum tablet_holding holding;
    bool damaged; /* what is there counts for nothing */
};

struct tablet {
    struct tablet_record record; /* range points into this allocation, goal.row to row */
    uint8_t *row; /* owned: bytes of the goal's row, where a split is wished; else NULL */
    struct changed changed;
    struct copy copies[REPLICA_MEMBERS_MAX]; /* of the configuration's members, in their order */
    struct list_link unsettled;              /* catalog->unsettled: CREATING or SPLITTING */
    /* catalog->dirty: what servers hold of it may not agree with the record. */
    struct list_link dirty;
    struct list_link astray; /* catalog->astray: its members are not those of its goal yet */
    /* The other one that came of the same parent; NULL = none (catalog_fate.c). */
    struct tablet *twin;
    uint64_t size_bytes;  /* as its primary last reported */
    int64_t unsettled_ns; /* since when CREATING or SPLITTING under this configuration */
    /* While it is being created: its server, which does not replicate, has made it in this store
     * instead of the one that it was placed in; 0 = it has not. */
    uint64_t made_in;
    int64_t led_ns;     /* when it was known last that somebody leads it, or might */
    int64_t members_ns; /* since when it has these members, as far as this process knows */
    uint64_t batch;     /* number of the transaction that staged it last */
    struct balance_tablet balance;
    uint64_t reported_operations; /* of the report that told last where in it the load is, */
    uint64_t reported_ns;         /* and how long the time was that the report was about */
    int64_t busy_us;              /* when its leader last told that it is busy */
    bool limited; /* it was said that it is not split by size, as there are too many tablets */
    bool ahead;   /* the split that is wished is one ahead of a writer that appends */
    bool ordered; /* an order about it is open, as the running round sees it */
    bool hurried; /* a busy server waits for its goal, or it has become hot on its way */
};

static inline bool state_is_there(const struct copy *copy)
{
    return copy->holding == HOLDING_CREATED || copy->holding == HOLDING_SERVING ||
           copy->holding == HOLDING_LEADING;
}

static inline struct copy *state_leader_copy(struct tablet *tablet)
{
    return &tablet->copies[tablet->record.configuration.leader];
}

struct table_image {
    struct arena arena;
    struct table_record record;
};

struct table_entry {
    struct table_image *image;
    struct changed changed;
    struct tablet **tablets; /* ascending by range */
    size_t tablet_count;
    size_t tablet_capacity;
    size_t by_state[TABLET_SPLITTING + 1];
    size_t not_led[TABLET_SPLITTING + 1]; /* of these, when catalog_look() looked last */
    bool recount; /* goals may name more or fewer stores than the table wants replicas */
};

struct server_image {
    struct arena arena;
    struct server_record record;
};

/* A sync that has been answered with nothing so far, because there was nothing to tell. */
struct parked_sync {
    bool parked;
    uint64_t request;
    int64_t deadline_ns;
};

/* More are told with the next report. */
#define STALE_MAX 64

struct server {
    uint64_t number;
    struct server_image *image; /* committed; NULL until the first transaction about it */
    struct server_image *seen;  /* as it last described itself; NULL = not since the master began */
    bool dirty;                 /* image does not agree with seen */
    bool alive;                 /* heard of within the timeout */
    int64_t heard_ns;
    int64_t heard_us;
    uint64_t known_version; /* of the catalog, in its last sync */
    /* A server that knows nothing, or too little, is sent the whole map, page by page in order of versions: */
    uint64_t map_page_version;  /* where the last page ended; 0 = no map is under way */
    uint64_t map_start_version; /* the catalog's version when the first page was sent */
    /* As it has said last: */
    uint32_t unopened_count; /* stores that it could not open */
    bool replicates;         /* it proposes, and looks at goals */
    bool leaving;            /* its process is about to end */
    struct list tablets;     /* that have a member here, */
    size_t tablet_count;     /* and how many they are */
    size_t leading_count;    /* of these, led from here */
    size_t unsettled_count;  /* of those led from here, CREATING or SPLITTING */
    size_t splitting_count;  /* of those led from here, SPLITTING: children that it has to make */
    struct balance_server balance;
    int64_t told_us;    /* when it reported its load last */
    double capacity_ns; /* of CPU time a second, as it said last; 0 = it has not */
    /* What the tablets that it leads took of that, in the last round of balancing. */
    double load_ns;
    uint32_t place; /* in the snapshot of the running round */
    struct parked_sync sync;
    struct replica_name {
        uint64_t tablet;
        uint64_t store;
    } stale[STALE_MAX]; /* held by it, to be dropped: told in the answer to its report */
    size_t stale_count;
    struct held_copy {
        uint64_t tablet;
        uint64_t store;
        uint64_t version;
        uint64_t committed;
        bool empty;
        bool damaged;
    } * held; /* all that its last full report named; NULL: not kept, for want of memory */
    size_t held_count;
    size_t held_capacity;
    bool held_in_order;       /* by tablet (catalog_copies.c) */
    int64_t unknown_noted_ns; /* when it was last noted that it holds tablets which nobody knows */
};

struct store {
    struct list_link link; /* catalog->all_stores */
    uint64_t number;
    struct server *owner;   /* whose record lists it; NULL = no record does, it was only seen */
    struct server *seen_on; /* who listed it in its last sync; NULL = nobody */
    uint32_t condition;
    uint64_t used_bytes;
    uint64_t free_bytes;
    int64_t heard_ns;      /* when it was last listed as not failed; or loaded */
    uint32_t tablet_count; /* tablets that have a member here */
    uint32_t wanted_count; /* tablets whose goal names it */
    size_t candidate;      /* its place in what plan_candidates() gave last */
    /* Of the wanted: that it should lead, or leads while the goal names nobody. */
    uint32_t lead_count;
};

/* --- requests that wait ----------------------------------------------------------------------- */

enum waiting_for {
    WAITING_TURN,     /* in catalog->queue, body copied */
    WAITING_COMMIT,   /* its transaction is the pending one */
    WAITING_TABLE,    /* until all tablets of a table serve */
    WAITING_CHILDREN, /* until the parent is gone, and two tablets are no longer SPLITTING */
    WAITING_MERGED,   /* until both parts are gone */
    WAITING_KNOWN,    /* until every living server knows a version */
};

struct open_request {
    struct list_link link; /* catalog->queue or catalog->waiters */
    uint64_t number;
    enum method method;
    int64_t deadline_ns;
    enum waiting_for waiting_for;
    uint64_t table;       /* WAITING_TABLE; CHILDREN; KNOWN */
    uint64_t left;        /* CHILDREN */
    uint64_t right;       /* CHILDREN */
    uint64_t version;     /* KNOWN */
    uint64_t parent;      /* CHILDREN: whose they are */
    struct buffer answer; /* KNOWN, and documents: the answer, encoded when the change was staged */
    struct bytes body;    /* in this allocation */
};

/* A tablet that should be split: by size, noted from a report. */
struct split_wish {
    uint64_t tablet;
    uint8_t *row; /* owned */
    size_t row_bytes;
};

#define CATALOG_WISHES_MAX 256

/* A decision about load that is being carried out (catalog_order_load.c). */
struct load_order {
    enum balance_kind kind;
    enum balance_reason reason;
    bool staged;    /* the transaction was begun: what comes of it is waited for */
    bool undone;    /* MERGE: a person took it back, though it was not late */
    bool withdrawn; /* MERGE: it took too long, so the wish is taken back */
    uint64_t event; /* in the log; several cuts of a split share one */
    uint64_t table;
    /* Of a SPLIT it may be gone: cuts follow one another, so the tablet that holds the row is
     * looked up. */
    uint64_t tablet;
    uint64_t right; /* MERGE: the other one */
    uint64_t from;  /* LEAD, MOVE: servers */
    uint64_t to;
    uint64_t store; /* LEAD, MOVE: of server `to`, which the goal names to have this done */
    uint8_t *row;   /* owned */
    size_t row_bytes;
    int64_t decided_ns;
};

#define CATALOG_LOAD_ORDERS_MAX 512

#define CATALOG_REFUSALS 64

struct transaction;

/* Who may begin a transaction; in turn, where several would. */
enum turn {
    TURN_PROPOSALS,
    TURN_PLAN,
    TURN_REQUEST,
};

#define TURN_COUNT 3

struct catalog {
    struct catalog_settings settings;
    struct identity_record identity;
    /* Committed; after a failed commit its next numbers may be ahead. */
    struct counters_record counters;
    bool has_identity;
    bool has_counters;
    /* Is this the catalog that servers know (catalog_identity.c)? */
    bool outdated; /* a store was told of a higher version, so this is an old copy: true for good */
    bool confirmed;                        /* some server was let in */
    char dispute[ERROR_TEXT_SIZE_MAX];     /* why one was refused for it; "" = none was */
    int64_t refusals_ns[CATALOG_REFUSALS]; /* by server number: when a refusal was last noted */

    struct number_map tables;  /* -> struct table_entry */
    struct number_map tablets; /* -> struct tablet */
    struct number_map stores;  /* -> struct store */
    struct list all_stores;
    struct table_entry **by_name; /* ascending by id */
    size_t table_count;
    size_t table_capacity;
    struct server **servers; /* ascending by number */
    size_t server_count;
    size_t server_capacity;

    struct document_map documents;
    struct load_history load;
    struct load_details load_details;
    struct event_log events;
    struct load_order load_orders[CATALOG_LOAD_ORDERS_MAX];
    size_t load_order_count;
    int64_t load_orders_ns; /* when orders that could not be staged are tried again */
    int64_t balance_ns;     /* when the next round of balancing is */
    int64_t loaded_ns;      /* when some server last reported any load */

    struct list changed; /* tablets, tables, and what is gone of both, in order of version */
    /* Who knows a lower version needs the whole map: of what is gone some is forgotten. */
    uint64_t changed_floor;
    int64_t led_looked_ns; /* when catalog_look() last looked which tablets are led */
    struct list gone;      /* of struct gone: TABLET_GONE, while it is remembered; oldest first */
    size_t gone_tablet_count;
    struct number_map gone_tablets; /* -> the same */
    struct number_map origins;      /* number of a tablet that is gone -> what came of it */
    struct list dropped;            /* of struct gone: TABLE_GONE */
    struct list unsettled;
    struct list dirty;
    struct list astray;
    int64_t review_ns; /* when goals are looked at again */
    bool servers_dirty;
    struct split_wish wishes[CATALOG_WISHES_MAX];
    size_t wish_count;
    uint64_t reports; /* full reports so far */
    bool well; /* the running step has looked, and all tablets stand well (catalog_report.c) */
    int64_t well_not_before_ns; /* some did not when it was looked last: not looked at before */
    /* The planner's transaction has failed: nothing is planned before. */
    int64_t plan_not_before_ns;

    struct list queue;     /* of struct open_request: WAITING_TURN */
    struct list proposals; /* the same, of PROPOSE alone */
    size_t proposal_count; /* requests among the open ones that are PROPOSE */
    struct list waiters;   /* durable already, waiting for servers */
    size_t request_count;
    struct transaction *pending; /* NULL = none */
    uint64_t transactions;       /* number of the last one that was handed to the coordinator */
    uint64_t batch;              /* number of the last one that was begun to be staged */
    enum turn turn;              /* who began the last one: the others go first */

    int64_t now_ns; /* of the running step */
    int64_t now_us;
    struct arena scratch; /* of the running step */
    struct catalog_effect *effects;
    size_t effect_count;
    size_t effect_capacity;
};

/* --- finding ---------------------------------------------------------------------------------- */

struct table_entry *state_table_by_name(const struct catalog *catalog, struct bytes name);
/* Where name is, or would be, in by_name. */
size_t state_name_index(const struct catalog *catalog, struct bytes name);
struct server *state_server(const struct catalog *catalog, uint64_t number);

/* Was it heard of lately, or may it still be, since this master has only just begun? */
bool state_may_live(const struct catalog *catalog, const struct server *server);
/* Index of the tablet of the table that holds row. */
size_t state_tablet_index(const struct table_entry *entry, struct bytes row);

/* Is its primary on a server that proposes, and looks at goals? */
static inline bool state_leads_by_proposal(const struct catalog *catalog,
                                           const struct tablet *tablet)
{
    return state_server(catalog, tablet_record_leader(&tablet->record).server)->replicates;
}

/* Could the split or merge that is wished still be done: are its numbers free, and is the same wished of the
 * neighbour? */
bool state_wish_is_sound(const struct catalog *catalog, const struct tablet *tablet);

/* What is known of a tablet's number: PROPOSED_CONFIGURATION = the catalog has it.  ret_heirs: what
 * came of one that is gone; 0 where that is gone in turn, or not known.  It is asked of every copy that a server
 * holds and the catalog does not name, with every sync, so it is never linear in the tablets. */
enum proposed_outcome state_fate(const struct catalog *catalog,
                                 uint64_t tablet,
                                 struct tablet_heirs *ret_heirs);
/* What came of the tablet with that number and is there: the first, the others are its twins.  NULL = nothing. */
struct tablet *state_made_of(const struct catalog *catalog, uint64_t number);
/* Note in catalog->origins that this tablet came of its parents, or forget it.  The first when it is linked
 * (requires: room for two), the second when it is about to be unlinked. */
void state_note_origin(struct catalog *catalog, struct tablet *tablet);
void state_forget_origin(struct catalog *catalog, struct tablet *tablet);
/* Abort unless origins say so of just those tablets that are there. */
void state_check_origins(const struct catalog *catalog);

/* --- making (volatile: no transaction is needed) ---------------------------------------------- */

/* The server with this number, made if need be.  NULL without memory. */
struct server *state_server_make(struct catalog *catalog, uint64_t number);
struct store *state_store_make(struct catalog *catalog, uint64_t number);
/* Whose store it is; NULL when it is nobody's. */
struct server *state_owner(const struct catalog *catalog, uint64_t store);
/* The tablet's copy on the server; NULL when it has none there. */
struct copy *state_copy_on(struct tablet *tablet, uint64_t server);
struct tablet *state_tablet_create(const struct tablet_record *record);
/* A copy of a goal's row; NULL where it has none.  False without memory. */
bool state_copy_row(const struct tablet_goal *goal, uint8_t **ret_row);
void state_tablet_destroy(struct tablet *tablet);
/* The goal's row is this one now, which the tablet owns. */
void state_tablet_adopt_row(struct tablet *tablet, uint8_t *row); /* NULL is fine */
struct table_entry *state_entry_create(struct table_image *image);
void state_entry_destroy(struct table_entry *entry);
struct table_image *state_table_image_create(const struct table *table, uint64_t changed_version);
struct server_image *state_server_image_create(const struct server_record *record);
void state_table_image_destroy(struct table_image *image);
void state_server_image_destroy(struct server_image *image);

/* Room for count more tablets or tables, so that linking cannot fail. */
enum status state_entry_reserve(struct table_entry *entry, size_t count);
enum status state_names_reserve(struct catalog *catalog);

/* --- linking: of committed objects ------------------------------------------------------------ */

/* Requires: number maps, names and table have room; the tablet's servers and stores are there. */
void state_link_table(struct catalog *catalog, struct table_entry *entry);
void state_link_tablet(struct catalog *catalog, struct tablet *tablet);
/* Take it out of every index but its table's array, and destroy it. */
void state_unlink_tablet(struct catalog *catalog, struct tablet *tablet);
void state_entry_remove(struct table_entry *entry, const struct tablet *tablet);
void state_entry_insert(struct table_entry *entry, struct tablet *tablet);

/* Replace the record of a tablet (its range stays) and move it to where it belongs now.  row: bytes
 * of its goal's row, taken over; NULL = it has none. */
void state_update_tablet(struct catalog *catalog,
                         struct tablet *tablet,
                         const struct tablet_record *record,
                         uint8_t *row);

void state_touch(struct catalog *catalog, struct changed *changed, uint64_t version);
struct gone *state_gone_create(enum changed_kind kind,
                               uint64_t number,
                               uint64_t table,
                               uint64_t version,
                               const struct number_range *ranges,
                               size_t range_count);
/* Takes gone over. */
void state_add_gone(struct catalog *catalog, struct gone *gone);
/* The disk of a tablet that has no other copy may be in another machine now: then it is dirty.  The
 * members of one with several copies change by proposal alone. */
void state_follow_store(struct catalog *catalog, struct tablet *tablet);
void state_mark_dirty(struct catalog *catalog, struct tablet *tablet);

/* The store that should lead: by the goal, or, where that does not say, the one that does. */
uint64_t state_wanted_leader(const struct tablet_record *record);
/* How many tablets will come of a split that is under way: it counts on its parent, if that is there,
 * else on each child. */
size_t state_children_to_come(const struct tablet_record *record);

/* Must its number stay known, whether a server names it or not? */
static inline bool state_store_is_needed(const struct store *store)
{
    return store->tablet_count > 0 || store->wanted_count > 0;
}

static inline bool state_is_unsettled(uint32_t state)
{
    return state == TABLET_CREATING || state == TABLET_SPLITTING;
}

#endif /* MASTER_CORE_STATE_CATALOG_STATE_H */

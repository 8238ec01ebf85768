/*
 * The catalog: which tables there are, into which tablets they are cut, and where those are.
 *
 * A deterministic state machine: event in, effects out.  It owns the only copy of the truth in
 * memory; the coordinator owns the durable one.
 *
 *      request, tick                    PERSIST transaction                 coordinator
 *   shell ------------> catalog_step() ----------------------> commit, synced ---+
 *                             ^  |                                               |
 *                             |  +--> REPLY, LOG                                 |
 *                             +----------------- PERSISTED / PERSIST_FAILED -----+
 *
 * A tablet's states (enum tablet_state):
 *
 *   create table            reported created                store reports without it, or failed
 *   ----------> CREATING ---------------------> SERVING ------------------------> UNAVAILABLE
 *                 |  ^                          |     ^ <------------------------     ^
 *                 +--+ placed again:            |     |      reported again           |
 *                 only if never reported        |     | reported                      |
 *                                               |  SPLITTING (two children) ----------+
 *                                               +----> gone: replaced by its children
 *
 * Invariants, checked by catalog_check():
 *   (1) The tablets of a table cover the key space: no gap, no overlap, none empty.
 *   (2) Numbers of tables and tablets are below the counters; they are never given twice, nor by an
 *       older copy of this catalog, or an empty one: what servers know is compared first
 *       (catalog_identity.c).
 *   (3) A tablet's members are known servers and stores, whose owners' records name them; a single
 *       member's server owns its store, or is about to lose it to the owner.
 *   (4) Durable before visible: no reply and no sync tells of a change whose transaction has not
 *       been PERSISTED.  In memory, what is pending stands apart and is applied then.
 *   (5) At most one transaction is pending; requests that need one wait for their turn, in order.
 *   (6) A tablet that was ever reported created is never created again: UNAVAILABLE is left only
 *       by a report that it is there.
 *
 *   (7) A tablet's members lie on different servers; its version never falls, and a version is one
 *       configuration for ever (replica_configuration.h).
 *   (8) A goal names known stores, and numbers that were given out; what is astray is listed.
 *
 * Replicated tablets change by proposals (catalog_propose.c), which follow goals (catalog_goal.c).
 *
 * What is done about load is decided by master/placement/balance.h, once a second, and carried out as
 * splits, merges and goals (catalog_balance.c).
 *
 * Beside tables it keeps documents: named bytes of a version, which only clients understand; and, in
 * memory, which tablets were hot (load_history.h), and what was decided about them (event_log.h), which the
 * shell moves from reign to reign.
 *
 * What servers may rely on stands in docs/catalog.md.
 *
 * Thread rule: one owner.  Pure: no clock, no I/O, no randomness.
 */
#ifndef MASTER_CORE_CATALOG_H
#define MASTER_CORE_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/wire/message.h"
#include "master/core/load/event_log.h"
#include "master/core/load/located_load.h"
#include "master/core/record/record.h"
#include "master/placement/balance_state.h"

#define CATALOG_NEVER INT64_MAX /* as a deadline */

/* Changes in one transaction, about; a table with all its initial tablets must fit. */
#define CATALOG_CHANGES_MAX (LIMIT_SPLITS_PER_CREATE + 24)

/* Requests of proposals that may wait at once. */
#define CATALOG_PROPOSALS_WAITING_MAX 1024

struct catalog;

struct catalog_settings {
    int64_t server_timeout_ns;       /* a server not heard of for so long is not alive */
    int64_t sync_hold_ns;            /* a sync with nothing to tell is answered after it */
    uint32_t sync_interval_ms;       /* told to servers when nothing is going on */
    uint32_t sync_interval_quick_ms; /* told while something is, or when the sync was held */
    int64_t place_timeout_ns;        /* unreported for so long: placed on another server */
    int64_t request_timeout_ns;      /* for requests without a deadline */
    uint64_t soft_limit_start_bytes; /* a tablet of a new table wants to split above it */
    uint64_t soft_limit_max_bytes;   /* doubling ends here */
    uint32_t splits_per_server;      /* under way at once, by size */
    uint32_t replicas;               /* of a new table that does not say, 1 to LIMIT_REPLICAS */
    uint32_t min_in_sync;            /* the same, 1 to replicas */
    int64_t replace_after_ns;        /* a store not heard of for so long is replaced in goals */
    int64_t keep_outsiders_ns;       /* copies that do not count stay for so long */
    uint32_t moves_per_server;       /* under way at once, where nothing is lost */
    struct balance_settings balance; /* what is done about load */
    uint32_t requests_max;           /* waiting at once; more are refused */
    uint64_t tables_max;
    uint64_t tablets_max;
    bool shows_load; /* somebody performs CATALOG_EFFECT_LOAD */
};

void catalog_settings_default(struct catalog_settings *settings);

/* --- life ------------------------------------------------------------------------------------- */

/* Errors: STATUS_NO_MEMORY. */
enum status catalog_create(const struct catalog_settings *settings, struct catalog **ret_catalog);
void catalog_destroy(struct catalog *catalog); /* NULL is fine */

/* What was decided about load before this reign: moved in when it begins, out again at its end. */
void catalog_take_events(struct catalog *catalog, struct event_log *events, int64_t now_us);
void catalog_give_events(struct catalog *catalog, struct event_log *ret_events);
const struct event_log *catalog_events(const struct catalog *catalog);

/* Hand in every record of the coordinator, in any order, then end.  now_ns starts the timers.
 * Errors: STATUS_CORRUPT, STATUS_VERSION (a newer format), STATUS_NO_MEMORY; the catalog is then
 * good for catalog_destroy() only. */
enum status catalog_load(struct catalog *catalog,
                         struct bytes key,
                         struct bytes value,
                         struct error *ret_error);
enum status catalog_load_end(struct catalog *catalog, int64_t now_ns, struct error *ret_error);

/* --- events ----------------------------------------------------------------------------------- */

enum catalog_event_type {
    CATALOG_EVENT_REQUEST,        /* from a client or a tablet server */
    CATALOG_EVENT_TICK,           /* catalog_deadline_ns() has passed; at other times harmless */
    CATALOG_EVENT_PERSISTED,      /* the pending transaction is durable */
    CATALOG_EVENT_PERSIST_FAILED, /* it is known not to be there, and never will be */
};

struct catalog_event {
    enum catalog_event_type type;
    int64_t now_ns;            /* monotonic; never goes back */
    int64_t now_us;            /* wall clock, shown to people only */
    uint64_t number;           /* REQUEST: its id, the caller's, unique among open ones;
                        PERSISTED, PERSIST_FAILED: the transaction */
    enum method method;        /* REQUEST */
    struct bytes body;         /* REQUEST: encoded; borrowed during the step */
    int64_t deadline_ns;       /* REQUEST: answered by then; 0 = none given */
    const struct error *error; /* PERSIST_FAILED: why */
};

/* --- effects ---------------------------------------------------------------------------------- */

enum catalog_effect_type {
    CATALOG_EFFECT_PERSIST, /* commit puts as one transaction, then send PERSISTED with number */
    CATALOG_EFFECT_REPLY,   /* answer request number: every request exactly once */
    CATALOG_EFFECT_LOG,
    CATALOG_EFFECT_LOAD, /* a report of load was taken; only where settings say that it is shown */
};

struct catalog_put {
    struct bytes key;
    struct bytes value; /* ignored when removed */
    bool removed;
};

/* What happened, for the log; numbers that do not apply are 0. */
struct catalog_note {
    const char *event; /* stable name: "table_creating" */
    bool warning;
    uint64_t table;
    uint64_t tablet;
    uint64_t server;
    uint64_t store;
    char text[ERROR_TEXT_SIZE_MAX];
};

struct catalog_effect {
    enum catalog_effect_type type;
    uint64_t number;
    /* PERSIST: borrowed until PERSISTED or PERSIST_FAILED of this transaction */
    const struct catalog_put *puts;
    size_t put_count;
    /* REPLY */
    enum status status;
    struct buffer message;          /* OK: head and body; whoever performs it takes it over */
    char text[ERROR_TEXT_SIZE_MAX]; /* else */
    /* LOG */
    struct catalog_note note;
    /* LOAD: whoever performs it takes it over */
    struct located_report *load;
};

/* Perform in order.  The array is the catalog's until its next step. */
struct catalog_effects {
    struct catalog_effect *items;
    size_t count;
};

/*
 * Advance by one event.  Bad requests are answered, not returned.
 * Errors: STATUS_NO_MEMORY: of a REQUEST, nothing has changed and it is not answered (the caller
 * refuses it); of other events, impossible: their memory was reserved before.
 */
enum status catalog_step(struct catalog *catalog,
                         const struct catalog_event *event,
                         struct catalog_effects *ret_effects);

/* When it wants a TICK next; CATALOG_NEVER if it does not. */
int64_t catalog_deadline_ns(const struct catalog *catalog);

/* --- looking ---------------------------------------------------------------------------------- */

struct catalog_counts {
    uint64_t cluster;
    uint64_t generation;
    uint64_t version;
    uint64_t tables;
    uint64_t tablets;
    uint64_t tablets_by_state[TABLET_NOT_LED + 1]; /* as they are shown */
    uint64_t servers;
    uint64_t servers_alive;
    uint64_t stores_unopened;      /* of living servers: that they could not open */
    uint64_t tablets_without_copy; /* none of their members' servers is alive */
    uint64_t requests_waiting;
    uint64_t documents;
    uint64_t document_bytes;
    bool disputed; /* servers know another catalog, or more of this one */
};

/* Look again which tablets nobody leads, if that is a while ago: what the two below tell of it is as of then.
 * Linear in the tablets. */
void catalog_look(struct catalog *catalog, int64_t now_ns);

void catalog_counts(const struct catalog *catalog, struct catalog_counts *ret_counts);

/* What METHOD_STATUS (as one packed string) and /status show: one JSON object.  role: of whoever shows it, a
 * word. */
void catalog_status_json(const struct catalog *catalog, const char *role, struct buffer *out);

/* Abort unless every invariant above holds.  Linear in the catalog: for tests and simulation. */
void catalog_check(const struct catalog *catalog);

#endif /* MASTER_CORE_CATALOG_H */

/*
 * The store behind a simulated tablet server: real log bytes and real exactly-once records over
 * rows in memory, with the real store's rules.
 *
 *   append --> log's gathering batch, prepared rows, exactly-once record (pending)
 *   batch synced --> committed rows; whoever waits is told
 *   freeze, flush --> the committed state at a sequence goes to the base in pieces, each with its
 *                     applied map; the last brings the exactly-once records, and the log is let go
 *   split --> the last record of a tablet; its children begin when it is committed, and the base
 *             learns of them in the transaction that ends the parent's last flush
 *   merge --> both are brought to the base, whose one transaction makes them one
 *
 * Changes are applied from the bytes that were logged, never from what was given to append.
 *
 * Invariants, checked by sim_store_check(): (1) committed <= prepared; (2) where they are equal, so
 * are the rows; (3) ranges served do not overlap within a table.
 */
#ifndef TESTS_SIM_STORE_SIM_STORE_H
#define TESTS_SIM_STORE_SIM_STORE_H

#include "common/base/stamp.h"
#include "tabletserver/storage/copies/slice.h"
#include "tabletserver/storage/copies/store_barrier.h"
#include "tabletserver/storage/copies/store_replica.h"
#include "tabletserver/storage/flush/flush_progress.h"
#include "tabletserver/storage/record/dedupe.h"
#include "tabletserver/storage/record/record.h"
#include "tests/sim/sim.h"
#include "tests/sim/store/sim_base.h"
#include "tests/sim/world/sim_log.h"

#define SIM_TABLETS_MAX 256
#define SIM_FROZEN_MAX  3
#define SIM_QUEUE_MAX   512

/* Outlives the process. */
struct sim_store_disk {
    uint64_t number;
    struct sim_log_disk log;
    struct sim_base base;
    /* The file RELEARN is there: the log was cut, and not every copy has noted that yet. */
    bool relearns;
};

struct sim_pending {
    struct sim_pending *next;
    uint64_t position; /* where its batch begins */
    uint64_t sequence;
    uint64_t clock;
    uint64_t version; /* of a configuration, under which it was first given out */
    enum record_type type;
    struct buffer payload;
};

/* Being taught, as tabletserver/storage/copies/store_slice_write.c does it. */
struct sim_learning {
    bool learning;              /* half taught: commits up to hold_until only */
    bool first;                 /* what it has is about to go: nothing comes to it */
    bool busy;                  /* something of it is being written */
    struct sim_lesson *waiting; /* all RECORDS, until nothing of the tablet is on its way */
    uint64_t hold_until;        /* of the last slice */
    bool follows;               /* there was one in this life */
    uint64_t image_sequence;
    struct buffer image;       /* exactly-once records, as far as they have come */
    struct buffer below;       /* row: entries up to hold_until are applied below it only */
    struct tablet_position at; /* where the next slice begins; its bytes are these: */
    struct buffer row;
    struct buffer qualifier;
};

/* What the store's part of a replica is (docs/replication.md, section 3). */
struct sim_copy {
    struct store_configuration held; /* adopted last, durable or not */
    bool alone;                      /* what is synced is committed */
    bool leads;                      /* prepared rows and requests count */
    bool shared;                     /* it has, or had, others */
    uint64_t synced;                 /* of its entries */
    uint64_t configuration_position; /* of the record, when no base has it; NONE */
    uint32_t configuring;            /* records that are not synced */
    uint64_t proven;                 /* the base has this: it is committed, whatever the log says */
    uint64_t committed_version;      /* of the entry there; 0 = not known */
    uint64_t cuts;                   /* how often something of its log was dropped */
    bool gap;                        /* replay: entries follow on what a configuration will drop */
    struct store_barrier *barriers;  /* committed ones */
    struct sim_pending *kept_first;  /* committed, to feed learners with */
    struct sim_pending *kept_last;
    uint32_t kept_count;
    struct sim_learning learning;
    void *hosted; /* production's host's */
};

/* What stands still to be flushed. */
struct sim_frozen {
    uint64_t last_sequence;
    uint64_t first_position; /* of its records in the log */
    bool ready;              /* committed up to it: the rest is set */
    uint64_t clock;
    struct sim_rows rows;
    struct buffer dedupe;
    struct store_configuration held;
};

struct sim_store;

/* Production's host knows it as a struct store_tablet. */
struct sim_tablet {
    union {
        struct {
            uint64_t tablet;
            uint64_t table;
            uint64_t configuration;
            struct row_range range;
        };
        struct store_tablet_descriptor descriptor;
    };
    struct sim_store *store;
    uint32_t references;
    uint8_t bounds[2 * SIM_KEY_BYTES_MAX];
    bool hidden;    /* split: its children serve, its records are still to reach the base */
    bool splitting; /* the split is appended */
    struct sim_rows prepared_rows;
    struct sim_rows committed_rows;
    uint64_t prepared;
    uint64_t committed;
    uint64_t prepared_clock;
    uint64_t clock; /* of the last committed record */
    struct dedupe *dedupe;
    struct sim_horizons horizons;
    struct sim_pending *first;
    struct sim_pending *last;

    struct flush_progress progress;
    struct sim_frozen frozen[SIM_FROZEN_MAX]; /* oldest first */
    uint32_t frozen_count;
    uint64_t active_position; /* of the first record after the last freeze; NONE = nothing */
    struct tablet_position flushed_to; /* of the frozen one being flushed */
    struct buffer flushed_row;
    struct sim_qualifier {
        uint8_t data[SIM_QUALIFIER_BYTES_MAX];
    } flushed_qualifier;
    uint64_t parent; /* not in the base yet; 0 = none */
    uint64_t children[2];
    uint64_t split_sequence; /* 0 = none */
    bool flush_wanted;       /* freeze it as soon as that can be */
    uint64_t flush_count;
    bool merging;        /* the base is being told that it is part of another */
    bool merged;         /* and was: its host has not taken that up yet */
    bool converted;      /* of one that was, and the record of that is not synced yet */
    bool converted_ends; /* that record is synced: its last flush is under way */

    bool replicated;
    struct sim_copy copy;
    bool rotten;    /* what the base has of it cannot be read (sim_rot.h) */
    bool cut;       /* its log was: it counts for nothing */
    bool rot_met;   /* and somebody has tried: its host is to be told */
    uint64_t reign; /* the server's: rises when one ends */
    uint64_t life;  /* no two tablets of a process have the same */

    void *context; /* the server's */
};

/* What is in the log and its replica is to be told of when it is synced. */
struct sim_told {
    uint64_t position;
    uint64_t tablet;
    uint64_t life;
    uint64_t sequence; /* of an entry; 0 = a configuration */
};

struct sim_store_callbacks {
    void *context;
    void (*on_committed)(void *context, struct sim_tablet *tablet, uint64_t sequence);
    void (*on_created)(void *context, struct sim_tablet *tablet);
    /* The parent is gone for the server when this returns. */
    void (*on_split)(void *context,
                     struct sim_tablet *parent,
                     struct sim_tablet *left,
                     struct sim_tablet *right);
    /* NULL: it is not known. */
    const struct table *(*schema_of)(void *context, uint64_t table);
    /* Of tablets with copies. */
    enum status (*on_append)(void *context,
                             struct sim_tablet *tablet,
                             const struct store_entry *entry);
    void (*on_appended)(void *context, struct sim_tablet *tablet, const struct store_entry *entry);
    void (*on_synced)(void *context, struct sim_tablet *tablet, uint64_t sequence);
    void (*on_configured)(void *context, struct sim_tablet *tablet);
    void (*on_taught)(void *context, struct sim_tablet *tablet);
    /* About to be committed: what the truth is asked (sim_replica_truth.h). */
    void (*on_commits)(void *context, struct sim_tablet *tablet, uint64_t first, uint64_t last);
};

struct sim_store {
    struct sim *sim;
    uint32_t node;
    uint32_t index; /* among the stores of that server */
    struct sim_store_disk *disk;
    struct sim_store_callbacks callbacks;
    struct sim_log log;
    struct hlc hlc;
    struct sim_tablet *tablets[SIM_TABLETS_MAX]; /* hidden ones too */
    uint32_t tablet_count;
    struct sim_base_transaction queue[SIM_QUEUE_MAX]; /* the first is on its way if committing */
    uint32_t queue_count;
    bool committing;
    bool flush_wanted; /* of some tablet */
    struct arena arena;
    struct sim_collection collection;
    struct sim_told *told;
    uint32_t told_count;
    uint32_t told_capacity;
    uint64_t life_next;
    bool marks;                /* the log was cut: all copies are marked as damaged */
    uint64_t relearn_position; /* of the configurations that note it */
    uint64_t replay_last;      /* planted */
    uint64_t replay_seen;
};

void sim_store_disk_init(struct sim_store_disk *disk, uint64_t number);
void sim_store_disk_deinit(struct sim_store_disk *disk);

/* Recover.  Errors: STATUS_CORRUPT, which must never be. */
enum status sim_store_open(struct sim_store *store,
                           struct sim *sim,
                           uint32_t node,
                           uint32_t index,
                           struct sim_store_disk *disk,
                           const struct sim_store_callbacks *callbacks,
                           struct error *ret_error);
/* The process is gone; a transaction on its way is done or not. */
void sim_store_kill(struct sim_store *store, bool power_cut);

/* NULL when there is none, or it is hidden. */
struct sim_tablet *sim_store_find(struct sim_store *store, uint64_t tablet);

/* replicated: it has a replica, of no configuration yet; configuration 0: it will be taught. */
void sim_store_create(struct sim_store *store,
                      uint64_t tablet,
                      uint64_t table,
                      uint64_t configuration,
                      const struct row_range *range,
                      bool replicated);
/* Pending records of it are lost. */
void sim_store_drop(struct sim_store *store, struct sim_tablet *tablet);

uint64_t sim_store_next_clock(struct sim_store *store, int64_t wall_us);
uint64_t sim_store_append_write(struct sim_store *store,
                                struct sim_tablet *tablet,
                                const struct record_write *write,
                                uint64_t clock);
uint64_t sim_store_append_drop_range(struct sim_store *store,
                                     struct sim_tablet *tablet,
                                     const struct record_drop_range *drop,
                                     uint64_t clock);
/* A record that changes no exactly-once record. */
uint64_t sim_store_append_payload(struct sim_store *store,
                                  struct sim_tablet *tablet,
                                  enum record_type type,
                                  struct bytes payload,
                                  uint64_t clock);
/* Nothing may be appended to the tablet after it. */
uint64_t sim_store_append_split(struct sim_store *store,
                                struct sim_tablet *tablet,
                                const struct record_split *split,
                                uint64_t clock);

/* A row that halves the tablet, or none. */
struct bytes sim_tablet_middle(const struct sim_tablet *tablet);

/* The disk has done what it was asked to. */
void sim_store_log_synced(struct sim_store *store);
void sim_store_base_committed(struct sim_store *store);
/* What it wants of the disk now, as effects. */
void sim_store_want(struct sim_store *store, struct sim_effects *effects);

/* Freeze what has anything to flush, as it seems right. */
void sim_store_flush_some(struct sim_store *store);

void sim_store_check(struct sim_store *store);

/* --- with several copies: sim_store_replica.c --------------------------------------------------- */

/* STATUS_OK, or STATUS_NO_SPACE: the disk is full. */
enum status sim_store_room(const struct sim_store *store);
/* What a primary gives out: asked of the replica, logged, told.  Errors: on_append's, STATUS_NOT_OWNER. */
enum status sim_store_give_out(struct sim_store *store,
                               struct sim_tablet *tablet,
                               enum record_type type,
                               struct bytes payload,
                               uint64_t clock,
                               uint64_t *ret_sequence);
/* Into the log and the window.  Requires: the next one. */
void sim_store_append_entry(struct sim_store *store,
                            struct sim_tablet *tablet,
                            const struct store_entry *entry);
void sim_store_configure(struct sim_store *store,
                         struct sim_tablet *tablet,
                         const struct store_configuration *configuration,
                         uint64_t kept);
/* Errors: STATUS_CORRUPT (a range is dropped while it is taught). */
enum status sim_store_commit(struct sim_store *store, struct sim_tablet *tablet, uint64_t sequence);
/* What waits in the window becomes prepared. */
void sim_store_lead(struct sim_store *store, struct sim_tablet *tablet);
/* A committed entry that is kept; NULL. */
const struct sim_pending *sim_copy_find(const struct sim_tablet *tablet, uint64_t sequence);
/* The last of that type, committed or not, unless what is committed has lifted it.  False: none. */
bool sim_copy_last_barrier(const struct sim_tablet *tablet,
                           enum record_type type,
                           struct store_entry *ret_entry);
/* The one that stands where its committed point is; NULL. */
const struct store_entry *sim_copy_standing(const struct sim_tablet *tablet);
/* Is any in the window, or what lifts one? */
bool sim_copy_has_open_barrier(const struct sim_tablet *tablet);
struct store_entry sim_entry_of(const struct sim_pending *record);

/* --- taught: sim_learn.c ---------------------------------------------------------------------------- */

void sim_lesson_destroy(struct sim_lesson *lesson); /* NULL is fine */
void sim_store_learnt(struct sim_store *store, struct sim_base_transaction *done);
/* Nothing of it is on its way to the base any more: what was to take its place may. */
void sim_learning_go_on(struct sim_store *store, struct sim_tablet *tablet);
void sim_learning_deinit(struct sim_learning *learning);
/* Of an entry of this sequence: is the row in a slice? */
bool sim_learning_has(const struct sim_tablet *tablet, uint64_t sequence, struct bytes row);

/* --- split by the catalog's word: sim_store_convert.c ----------------------------------------------- */

enum status sim_store_convert(struct sim_store *store,
                              struct sim_tablet *parent,
                              struct sim_tablet *ret_children[2]);
enum status sim_replay_conversion(struct sim_store *store,
                                  struct sim_tablet *parent,
                                  const struct record_configuration *record,
                                  uint64_t position,
                                  struct error *ret_error);
/* Committed up to the barrier, and nothing behind it. */
enum status sim_store_stand_at(struct sim_store *store,
                               struct sim_tablet *tablet,
                               uint64_t sequence);
/* A child's configuration is durable: its parent may go to the base. */
void sim_store_converted(struct sim_store *store, const struct sim_tablet *child);

/* --- merged by the catalog's word: sim_store_merge.c ------------------------------------------------ */

/* As store_tablet_merge(). */
enum status sim_store_merge(struct sim_store *store,
                            struct sim_tablet *left,
                            struct sim_tablet *right);
/* The base has done it, or (one of that number was there already) has not. */
void sim_store_merged(struct sim_store *store,
                      const struct sim_base_transaction *done,
                      bool stored);
/* Their host has taken it up. */
void sim_store_forget_merged(struct sim_store *store, struct sim_tablet *const gone[2]);
/* What is said to be held: not what came of others before its host knows. */
bool sim_tablet_is_held(const struct sim_tablet *tablet);

/* --- between its files ------------------------------------------------------------------------- */

struct sim_tablet *sim_tablet_create(uint64_t tablet,
                                     uint64_t table,
                                     uint64_t configuration,
                                     const struct row_range *range);
void sim_store_add(struct sim_store *store, struct sim_tablet *tablet);
void sim_store_remove(struct sim_store *store, struct sim_tablet *tablet); /* and destroy */
struct sim_tablet *sim_store_find_any(struct sim_store *store, uint64_t tablet);
void sim_store_queue(struct sim_store *store, const struct sim_base_transaction *transaction);
/* Apply a logged record to rows. map: what replay must not do again; NULL = all is new. */
enum status sim_store_apply(struct sim_store *store,
                            struct sim_rows *rows,
                            const struct sim_pending *record,
                            const struct applied_map *map,
                            struct error *ret_error);
/* A committed one, to the tablet's rows; what it was taught already is passed over. */
enum status sim_store_apply_to(struct sim_store *store,
                               struct sim_tablet *tablet,
                               const struct sim_pending *record,
                               struct error *ret_error);
/* The split is committed: the children begin. */
void sim_store_split(struct sim_store *store,
                     struct sim_tablet *parent,
                     const struct record_split *split);

void sim_flush_freeze(struct sim_store *store, struct sim_tablet *tablet);
/* Now, or as soon as that can be. */
void sim_flush_soon(struct sim_store *store, struct sim_tablet *tablet);
/* The first record that is in no base yet; LOG_POSITION_NONE when there is none. */
uint64_t sim_flush_log_from(const struct sim_tablet *tablet);
/* Nothing of it is left to be flushed. */
bool sim_flush_is_done(const struct sim_tablet *tablet);
void sim_flush_note_committed(struct sim_store *store, struct sim_tablet *tablet);
void sim_flush_unblock(struct sim_store *store, struct sim_tablet *tablet);
void sim_flush_done(struct sim_store *store, const struct sim_base_transaction *transaction);

enum status sim_store_commit_first(struct sim_store *store, struct sim_tablet *tablet);
void sim_tablet_ref(struct sim_tablet *tablet);
void sim_tablet_unref(struct sim_tablet *tablet);
void sim_pending_destroy(struct sim_pending *record); /* NULL is fine */
struct sim_tablet *sim_store_begin_child(struct sim_store *store,
                                         struct sim_tablet *parent,
                                         uint64_t number,
                                         const struct row_range *range,
                                         struct bytes dedupe);
/* The freeze that ends a tablet that was converted. */
void sim_flush_freeze_end(struct sim_store *store, struct sim_tablet *parent);
void sim_copy_drop_above(struct sim_tablet *tablet, uint64_t kept);
void sim_copy_forget_kept(struct sim_copy *copy);
/* It is committed: if it is a barrier, it stands. */
void sim_copy_note_barrier(struct sim_copy *copy, const struct sim_pending *record);
void sim_copy_push_barrier(struct sim_copy *copy, const struct store_entry *entry);
bool sim_copy_is_alone(const struct sim_tablet *tablet);
enum status sim_copy_commit_replayed(struct sim_store *store,
                                     struct sim_tablet *tablet,
                                     uint64_t proven,
                                     struct error *ret_error);
void sim_copy_destroy(struct sim_copy *copy);
void sim_copy_keep(struct sim_store *store, struct sim_tablet *tablet, struct sim_pending *record);
void sim_store_note_told(struct sim_store *store,
                         const struct sim_tablet *tablet,
                         uint64_t sequence,
                         uint64_t position);
void sim_store_tell_synced(struct sim_store *store, uint64_t synced);
enum status sim_replay_copy(struct sim_store *store,
                            struct sim_tablet *tablet,
                            const struct log_record *from,
                            uint64_t position,
                            struct error *ret_error);
enum status sim_replay_map(struct sim_store *store,
                           const struct sim_tablet *tablet,
                           struct applied_map *ret_map,
                           struct error *ret_error);
enum status sim_replay_copies_end(struct sim_store *store, struct error *ret_error);
void sim_store_record_requests(struct sim_store *store,
                               struct sim_tablet *tablet,
                               const struct sim_pending *record);

/* --- a log that was cut: sim_relearn.c --------------------------------------------------------- */

/* A tablet of which the base knows no other copy; NULL: none. */
const struct sim_base_tablet *sim_store_only_copy(const struct sim_store_disk *disk);
/* Open it; one that rots is cut first.  Errors: STATUS_CORRUPT. */
enum status sim_store_open_log(struct sim_store *store,
                               const struct sim_log_open_options *options,
                               struct error *ret_error);
/* As store_relearns(). */
bool sim_store_relearns(const struct sim_tablet *tablet);
/* When all is replayed, and when the log is synced. */
void sim_store_relearn_mark(struct sim_store *store);
void sim_store_relearn_end(struct sim_store *store, uint64_t synced);

/* What the base has just been told of. */
struct sim_tablet *sim_store_load(struct sim_store *store, const struct sim_base_tablet *from);
enum status sim_replay_record(struct sim_store *store,
                              const struct log_record *record,
                              uint64_t position,
                              struct error *ret_error);

/* --- production knows it by that name ----------------------------------------------------------- */

static inline struct store_tablet *sim_stored(const struct sim_tablet *tablet)
{
    return (struct store_tablet *)(void *)tablet;
}

static inline struct sim_tablet *sim_tablet_of(const struct store_tablet *tablet)
{
    return (struct sim_tablet *)(void *)tablet;
}

#endif /* TESTS_SIM_STORE_SIM_STORE_H */

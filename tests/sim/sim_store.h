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
 *
 * Changes are applied from the bytes that were logged, never from what was given to append.
 *
 * Invariants, checked by sim_store_check(): (1) committed <= prepared; (2) where they are equal, so
 * are the rows; (3) ranges served do not overlap within a table.
 */
#ifndef TESTS_SIM_SIM_STORE_H
#define TESTS_SIM_SIM_STORE_H

#include "common/base/stamp.h"
#include "tabletserver/storage/dedupe.h"
#include "tabletserver/storage/flush_progress.h"
#include "tabletserver/storage/record.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_base.h"
#include "tests/sim/sim_log.h"

#define SIM_TABLETS_MAX 256
#define SIM_FROZEN_MAX  3
#define SIM_QUEUE_MAX   512

/* Outlives the process. */
struct sim_store_disk {
    uint64_t number;
    struct sim_log_disk log;
    struct sim_base base;
};

struct sim_pending {
    struct sim_pending *next;
    uint64_t position; /* where its batch begins */
    uint64_t sequence;
    uint64_t clock;
    enum record_type type;
    struct buffer payload;
};

/* What stands still to be flushed. */
struct sim_frozen {
    uint64_t last_sequence;
    uint64_t first_position; /* of its records in the log */
    bool ready;              /* committed up to it: the rest is set */
    uint64_t clock;
    struct sim_rows rows;
    struct buffer dedupe;
};

struct sim_tablet {
    uint64_t tablet;
    uint64_t table;
    uint64_t configuration;
    struct row_range range;
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

    void *context; /* the server's */
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
};

struct sim_store {
    struct sim *sim;
    struct sim_store_disk *disk;
    struct sim_store_callbacks callbacks;
    struct sim_log log;
    struct hlc hlc;
    struct sim_tablet *tablets[SIM_TABLETS_MAX]; /* hidden ones too */
    uint32_t tablet_count;
    struct sim_base_transaction queue[SIM_QUEUE_MAX]; /* the first is on its way if committing */
    uint32_t queue_count;
    bool committing;
    struct arena arena;
    uint64_t replay_last; /* planted */
    uint64_t replay_seen;
};

void sim_store_disk_init(struct sim_store_disk *disk, uint64_t number);
void sim_store_disk_deinit(struct sim_store_disk *disk);

/* Recover.  Errors: STATUS_CORRUPT, which must never be. */
enum status sim_store_open(struct sim_store *store,
                           struct sim *sim,
                           struct sim_store_disk *disk,
                           const struct sim_store_callbacks *callbacks,
                           struct error *ret_error);
/* The process is gone; a transaction on its way is done or not. */
void sim_store_kill(struct sim_store *store, bool power_cut);

/* NULL when there is none, or it is hidden. */
struct sim_tablet *sim_store_find(struct sim_store *store, uint64_t tablet);
struct sim_tablet *sim_store_find_row(struct sim_store *store, uint64_t table, struct bytes row);

void sim_store_create(struct sim_store *store,
                      uint64_t tablet,
                      uint64_t table,
                      uint64_t configuration,
                      const struct row_range *range);
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
/* The split is committed: the children begin. */
void sim_store_split(struct sim_store *store,
                     struct sim_tablet *parent,
                     const struct record_split *split);

void sim_flush_freeze(struct sim_store *store, struct sim_tablet *tablet);
void sim_flush_note_committed(struct sim_store *store, struct sim_tablet *tablet);
void sim_flush_unblock(struct sim_store *store, struct sim_tablet *tablet);
void sim_flush_done(struct sim_store *store, const struct sim_base_transaction *transaction);

enum status sim_replay_record(struct sim_store *store,
                              const struct log_record *record,
                              uint64_t position,
                              struct error *ret_error);

#endif /* TESTS_SIM_SIM_STORE_H */

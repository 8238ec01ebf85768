/*
 * A store: one data directory, its log, its LMDB environment, and the tablets that live in them.
 *
 *            append                      synced                    poll
 *   caller ---------> log + memtables  ---------> committed point ------> on_committed
 *                       (prepared)                 (visible)
 *                          | full
 *                          v
 *                     frozen memtable --- flush: paced series of synced transactions ---> base
 *
 * Invariants, checked by store_check() in tests:
 *   (1) committed(tablet) <= prepared(tablet); reads see exactly what is committed at their
 *       sequence, or, for read-modify-write, what is prepared.
 *   (2) What is below the log's release position is in the base, with the exactly-once records of
 *       its requests.
 *   (3) An entry is taken from a frozen memtable or from the base, never from both.
 *   (4) Extents, tablet numbers and sequences are never reused.
 *
 * Files:  <folder>/STORE   identity: store number, format version, feature bits
 *         <folder>/LOCK    held while open
 *         <folder>/log/    log.h          <folder>/data.mdb  base.h     <folder>/ballast
 *
 * Thread rule: the store's loop thread, but for store_read_*, which are any thread's, and for what says
 * otherwise.  A tablet that another thread asks of is one that it has a reference to.  Background work (flush,
 * sweep, garbage collection, scrub) runs on the store's own thread and reaches the loop through `wake` and
 * store_poll().
 */
#ifndef TABLETSERVER_STORAGE_STORE_STORE_H
#define TABLETSERVER_STORAGE_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/model/row_set.h"
#include "common/model/schema.h"
#include "tabletserver/storage/record/dedupe.h"
#include "tabletserver/storage/record/record.h"
#include "tabletserver/storage/rows/row_reader.h"
#include "tabletserver/storage/store/load_counters.h"

struct store;
struct store_tablet;
struct store_read;
struct store_entry;

struct store_settings {
    uint64_t memory_limit_bytes;   /* all memtables, frozen ones included; push back above */
    uint64_t memtable_limit_bytes; /* one memtable freezes above it */
    uint64_t log_limit_bytes;      /* log since a memtable's first entry: freezes above it */
    uint32_t log_segment_bytes;
    uint64_t log_pending_bytes_max;
    int64_t log_keep_us;       /* what the log lets go of is kept so long for other copies, */
    uint64_t log_keep_bytes;   /* as far as it takes no more than that */
    uint64_t window_bytes_max; /* of one tablet's entries that wait to be committed */
    /* About so much of a tablet that is taught is sent at once; an eighth or less of it where
     * nobody waits for that tablet (store_slice.h). */
    uint32_t slice_bytes;
    uint64_t map_size_bytes;          /* LMDB address space; 0 = size of the file system */
    uint64_t flush_transaction_bytes; /* dirty pages per LMDB transaction */
    uint32_t flush_pace_percent;      /* share of time the flush thread may be busy; 100 = all */
    uint64_t ballast_bytes;           /* kept so that deletes work on a full disk; 0 = none */
    uint64_t scrub_bytes_per_second;  /* 0 = no scrub */
    int64_t gc_interval_us;           /* between two garbage-collection passes of a tablet */
    /* A damaged log is cut instead of refused where all tablets have other copies
     * (store_relearn.h). */
    bool relearns;
    struct dedupe_limits dedupe;
};

/* Sensible settings for a machine; see conf/tabletserver.conf for the reasons. */
void store_settings_default(struct store_settings *settings);

/* What identifies a tablet here.  Bytes are copied. */
struct store_tablet_descriptor {
    uint64_t tablet;        /* number, never reused */
    uint64_t table;         /* number */
    uint64_t configuration; /* version; follows store_tablet_configure() */
    struct row_range range;
};

struct store_callbacks {
    void *context;
    /* Any thread: call store_poll() soon.  Must only hand over. */
    void (*wake)(void *context);
    /* Any thread: wall clock, microseconds. */
    int64_t (*now_us)(void *context);
    /* Any thread: is it beyond doubt, so that what is older than a rule allows may be erased?  NULL:
     * always. */
    bool (*trusts_clock)(void *context);

    /* All below: on the loop thread, from inside store_poll(). */

    /* Everything of the tablet up to sequence is committed: answer whoever waits. */
    void (*on_committed)(void *context, struct store_tablet *tablet, uint64_t sequence);
    /* tablet is NULL on failure. */
    void (*on_created)(void *context,
                       uint64_t number,
                       struct store_tablet *tablet,
                       const struct error *error);
    void (*on_dropped)(void *context, uint64_t number);
    /* parent is no longer served; it is gone when the callback returns. */
    void (*on_split)(void *context,
                     struct store_tablet *parent,
                     struct store_tablet *left,
                     struct store_tablet *right);
    /* Of a tablet with others (store_replica.h): everything up to sequence is durable here. */
    void (*on_synced)(void *context, struct store_tablet *tablet, uint64_t sequence);
    /* All that store_tablet_configure() has adopted is durable. */
    void (*on_configured)(void *context, struct store_tablet *tablet);
    /*
     * On the loop, from inside store_append_*, and where the store itself appends (garbage collection).
     * A tablet that has a replica (store_tablet_set_replica()) is about to give out this entry: may it?
     * An error is the append's.  Then, unless the log refuses it, on_appended: it is applied, as prepared.
     */
    enum status (*on_append)(void *context,
                             struct store_tablet *tablet,
                             const struct store_entry *entry);
    void (*on_appended)(void *context,
                        struct store_tablet *tablet,
                        const struct store_entry *entry);
    /* What store_learn() or store_learn_end() has begun is durable; or was refused, and nothing of it
     * is there. */
    void (*on_taught)(void *context, struct store_tablet *tablet, enum status status);
    /* A checksum has failed in what the tablet has here: found by a read, the scrub, a flush or housekeeping.
     * It may come again.  NULL: nobody wants to know. */
    void (*on_damaged)(void *context, struct store_tablet *tablet);
    /* The store can promise nothing any more (a failed sync, a lost disk): answer nothing. */
    void (*on_failed)(void *context, const struct error *error);
};

/* --- life ------------------------------------------------------------------------------------- */

/*
 * Create (store_number != 0 and the folder is empty) or open, recover, replay.
 * Errors: STATUS_VERSION (a newer directory, by name), STATUS_CORRUPT (what, where, what to do),
 * STATUS_FAILED_PRECONDITION (locked by another process), STATUS_IO, STATUS_NO_SPACE,
 * STATUS_NO_MEMORY, STATUS_NOT_FOUND (nothing there and store_number 0).
 */
enum status store_open(const char *folder,
                       uint64_t store_number,
                       const struct store_settings *settings,
                       const struct store_callbacks *callbacks,
                       struct store **ret_store,
                       struct error *ret_error);

/* Sync what is appended; flush nothing (the log has it).  No read may be open. */
void store_close(struct store *store);

/* Any thread. */
uint64_t store_number(const struct store *store);

/* Take events from the background threads and call back.  On the loop, after each wake. */
void store_poll(struct store *store);

/* --- tablets ---------------------------------------------------------------------------------- */

/* Tell the current schema of a table; copied.  Needed before its tablets are collected, and given
 * again after every change. */
enum status store_set_table(struct store *store, const struct table *table);

/* Let go of the tables that is_known() denies and of which no tablet is here. */
void store_forget_tables(struct store *store,
                         bool (*is_known)(void *context, uint64_t table),
                         void *context);

/* Durable when on_created comes.  A tablet that exists already is reported created. */
enum status store_tablet_create(struct store *store,
                                const struct store_tablet_descriptor *descriptor);

/* Erased in paced steps after on_dropped.  Pending writes of it are lost, as the table is.  Requires: it is not
 * just being merged (store_tablet_is_merging()): its data is another's then. */
void store_tablet_drop(struct store *store, struct store_tablet *tablet);

/* NULL when there is none. */
struct store_tablet *store_tablet_find(struct store *store, uint64_t tablet);
/* index 0..count-1, in no order; good until the next create, drop or split. */
uint32_t store_tablet_count(const struct store *store);
struct store_tablet *store_tablet_at(const struct store *store, uint32_t index);

/* Any thread. */
void store_tablet_ref(struct store_tablet *tablet);
void store_tablet_unref(struct store_tablet *tablet);
/* Bytes live as long as the tablet.  Any thread, but for the configuration, which the loop changes. */
const struct store_tablet_descriptor *store_tablet_describe(const struct store_tablet *tablet);
struct store *store_tablet_store(const struct store_tablet *tablet); /* any thread */
struct dedupe *store_tablet_dedupe(struct store_tablet *tablet);
/* For the layer above; NULL at first. */
void store_tablet_set_context(struct store_tablet *tablet, void *context);
void *store_tablet_context(const struct store_tablet *tablet);
/* Another one, for who performs its replica, and is asked before it gives out anything; NULL at first. */
void store_tablet_set_replica(struct store_tablet *tablet, void *replica);
void *store_tablet_replica(const struct store_tablet *tablet);

/* What it has had to do; counted by the layer above.  Any thread. */
struct load_counters *store_tablet_load(struct store_tablet *tablet);

/* Any thread; the loop raises them. */
uint64_t store_tablet_prepared(const struct store_tablet *tablet);
uint64_t store_tablet_committed(const struct store_tablet *tablet);

struct store_tablet_statistics {
    uint64_t base_bytes; /* estimated */
    uint64_t memtable_bytes;
    uint64_t row_estimate;
    uint64_t flush_count;
    uint64_t bad_chunks; /* found by reads or scrub */
};
/* Any thread. */
void store_tablet_statistics(struct store_tablet *tablet, struct store_tablet_statistics *ret);

/* A row that about halves the tablet's data, appended to row (reset first); *ret_found false when there
 * is none.  May take some milliseconds: any thread but the loop. */
enum status store_tablet_middle(struct store_tablet *tablet, struct buffer *row, bool *ret_found);
/* The last row that anything is kept of, whether or not a reader would be shown it, appended to row (reset
 * first); *ret_found false when there is none.  It may wait for the disk: any thread but the loop. */
enum status store_tablet_last_row(struct store_tablet *tablet, struct buffer *row, bool *ret_found);

struct store_sample {
    struct bytes row;
    uint64_t offset_bytes; /* of the tablet's data, about so much lies before it */
};

struct store_samples {
    const struct store_sample *samples; /* rows and offsets ascend strictly, inside the range */
    uint32_t count;
    uint64_t total_bytes; /* more than the last offset; what is in memory is in it */
};

/* Rows that cut the tablet about every step_bytes, at most count_max (>= 1).  Taken from what is
 * flushed; of a tablet that has flushed nothing yet, at most its middle.  All in the arena.  May
 * take some milliseconds: any thread but the loop.
 * Errors: STATUS_NO_MEMORY, STATUS_IO, STATUS_CORRUPT, STATUS_LIMIT. */
enum status store_tablet_sample(struct store_tablet *tablet,
                                uint64_t step_bytes,
                                uint32_t count_max,
                                struct arena *arena,
                                struct store_samples *ret_samples);

/* --- writing ---------------------------------------------------------------------------------- */

/* The next stamp clock of this store: follows the wall clock, never goes back, restarts included. */
uint64_t store_next_clock(struct store *store);

/* Should the loop append more now?  False: memtables have nearly all the memory they may have, and
 * flushing is at work; what is appended all the same will soon be refused.  The loop is woken when
 * there is room again. */
bool store_has_room(struct store *store);

/*
 * Append one record: all of it or nothing.  Rows lie inside the tablet's range, requests were
 * checked against store_tablet_dedupe().  *ret_sequence is committed later: on_committed.
 * clock comes from store_next_clock().
 *
 * Errors: STATUS_RESOURCE_EXHAUSTED (memory or log backlog full: push back, retryable), STATUS_LIMIT
 * (of a write: the tablet has as many exactly-once records as it may; retryable),
 * STATUS_NO_SPACE (disk full: deletes may still pass), STATUS_CORRUPT (damage holds up the tablet's flush, and it has its
 * share of memory: deletes may still pass, and free it), STATUS_NO_MEMORY, STATUS_CLOSED.
 */
enum status store_append_write(struct store_tablet *tablet,
                               const struct record_write *write,
                               uint64_t clock,
                               uint64_t *ret_sequence);
enum status store_append_drop_range(struct store_tablet *tablet,
                                    const struct record_drop_range *drop,
                                    uint64_t clock,
                                    uint64_t *ret_sequence);
/* A barrier: nothing may be appended to the tablet after it; on_split comes when it is committed.
 * key lies strictly inside the range. */
enum status store_append_split(struct store_tablet *tablet,
                               const struct record_split *split,
                               uint64_t clock,
                               uint64_t *ret_sequence);

/* Let what was appended go to disk; call once after each round of appends. */
void store_commit(struct store *store);

/* --- reading (any thread) --------------------------------------------------------------------- */

enum store_read_point {
    STORE_READ_COMMITTED,
    STORE_READ_PREPARED, /* loop thread, or while the row is locked against writes */
};

/* One slice: holds one LMDB read transaction; end it soon.  table is borrowed until the end.
 * Errors: STATUS_NO_MEMORY, STATUS_IO, STATUS_LIMIT (too many slices at once). */
enum status store_read_begin(struct store_tablet *tablet,
                             const struct table *table,
                             enum store_read_point point,
                             int64_t now_us,
                             struct store_read **ret_read);
struct row_reader *store_read_reader(struct store_read *read);
/* Say what a read met that failed with STATUS_CORRUPT: store, extent, row.  Other statuses leave
 * ret_error alone.  Returns status. */
enum status store_read_explain(const struct store_read *read,
                               enum status status,
                               struct error *ret_error);
/* Counts damage that was met. */
void store_read_end(struct store_read *read);

/* --- operation -------------------------------------------------------------------------------- */

/* Freeze and flush all memtables now; done when store_statistics().flushes_pending is 0.  For tests: a server leaves it to
 * limits. */
void store_flush_all(struct store *store);

enum store_condition {
    STORE_HEALTHY,
    STORE_FULL,   /* no space: writes refused, reads and deletes served; heals by itself, when rows
                     have been deleted or the disk has grown (store_room.h) */
    STORE_FAILED, /* a promise could not be kept: nothing is answered; restart */
};

struct store_statistics {
    enum store_condition condition;
    char trouble[256]; /* text for STORE_FULL and STORE_FAILED */
    /* Writes, deletes too, are told to come back: the process may open no more files, and the log wants one. */
    bool lacks_descriptors;
    int64_t clock_us; /* of the last stamp given or seen */
    uint64_t memory_bytes;
    uint64_t log_bytes;
    uint64_t log_syncs;
    uint64_t log_unsynced_bytes;
    uint64_t records;
    uint64_t flushes;
    uint64_t flushes_pending;
    uint64_t tablets_held; /* by damage in the base: it keeps their flushes, and the log behind */
    uint64_t flush_transactions;
    uint64_t flush_bytes;
    uint64_t base_used_bytes;
    uint64_t base_file_bytes;
    uint64_t base_reusable_bytes; /* of the file: free, and seen by no reader any more */
    uint64_t disk_free_bytes;
    uint64_t scrubbed_bytes;
    uint64_t collected_cells; /* erased by garbage collection; not those it deleted like a client */
    uint64_t bad_chunks;
    uint64_t recovered_records;
    uint64_t torn_bytes;
};
enum store_condition store_condition_now(const struct store *store); /* any thread */
bool store_lacks_descriptors(struct store *store);                   /* any thread */
/* Rows that are damaged and hold up the flush of a tablet, whole: some of them, one of each tablet.  Any thread; nothing
 * of the store may be called meanwhile. */
typedef void (*store_held_function)(void *context,
                                    uint64_t table,
                                    uint64_t tablet,
                                    struct bytes row);
void store_visit_held(struct store *store, store_held_function visit, void *context);
/* On the loop, whose clock is among them. */
void store_statistics(struct store *store, struct store_statistics *ret_statistics);

/* What the process may use of the processors, in thousandths of one (processors.h), as of now: what goes on
 * in the background keeps to its share of it (flush_pace_percent).  Never said: nothing limits it.  Any
 * thread. */
void store_set_processors(struct store *store, uint64_t permille);

/* CPU time of the store's background thread since it was opened.  Any thread, until the close. */
int64_t store_background_cpu_ns(const struct store *store);

/* Abort unless the invariants hold.  Tests. */
void store_check(struct store *store);

#endif /* TABLETSERVER_STORAGE_STORE_STORE_H */

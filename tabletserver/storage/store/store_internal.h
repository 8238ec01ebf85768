/*
 * What the store's own files share.  Nobody else includes this.
 *
 * Three kinds of threads meet here:
 *
 *   loop      appends, commits, freezes, calls back            (one thread)
 *   work      all LMDB writes: flush, create, drop, sweep ...  (one thread, store_work.c)
 *   readers   capture layers, read                             (any number)
 *
 * Who may touch what:
 *   [L] loop only      [W] work thread only (recovery counts as both)
 *   [T] under the tablet's mutex      [S] under the store's mutex      [A] atomic     [C] constant
 *
 * Lock order: store->mutex, then tablet->mutex.  Neither is held across I/O or an LMDB commit.
 */
#ifndef TABLETSERVER_STORAGE_STORE_STORE_INTERNAL_H
#define TABLETSERVER_STORAGE_STORE_STORE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/stamp.h"
#include "common/io/kv/kv.h"
#include "tabletserver/storage/base/base.h"
#include "tabletserver/storage/flush/flush_pace.h"
#include "tabletserver/storage/log/log.h"
#include "tabletserver/storage/store/store.h"
#include "tabletserver/storage/store/store_event.h"
#include "tabletserver/storage/store/store_identity.h"
#include "tabletserver/storage/store/store_meta.h"
#include "tabletserver/storage/store/store_tablet_map.h"
#include "tabletserver/storage/store/store_tablet_state.h"
#include "tabletserver/storage/store/store_trouble.h"

#define STORE_FOLDER_BYTES_MAX 2048

struct store_schema {
    atomic_uint references;
    struct arena arena;
    struct table table;
};

/* A range of an extent that belonged to a dropped tablet. */
struct store_erasure {
    struct store_erasure *next;
    uint64_t number;
    int64_t from_ns; /* damage was met in it: when it is tried again */
    bool begun;      /* in the step that is being taken */
    bool done;       /* and nothing is left of it */
    struct buffer resume;
    struct store_meta_erasure what; /* bytes behind the struct */
};

struct store_lesson;

/* Something the loop wants written: create, drop, merge or learn. */
struct store_job {
    struct store_job *next;      /* in the store's list; or in one transaction with this one */
    struct store_tablet *tablet; /* with a reference: it is created, unless one of these is set: */
    bool drop;                   /* it is dropped */
    struct store_tablet *merged[2];  /* with references: it is made of these two; else NULL */
    struct store_lesson *lesson;     /* it is taught: a slice, or the end; else NULL */
    uint64_t log_position;           /* drop, merge: behind it the log has nothing of what ends */
    struct store_job *creating_next; /* [L] create: in store->creating, until on_created */
    struct error error;
    struct store_event event;
};

/* Explicit removals that garbage collection found; handed to the loop and back. */
struct store_collection;

struct store_read {
    struct store_tablet *tablet;
    struct store_read *newer; /* [T] */
    struct store_read *older; /* [T] */
    uint64_t sequence;
    uint64_t clock; /* records above `sequence` have a higher one */
    struct base_snapshot *snapshot;
    struct store_pieces *pieces;
    struct store_range_deletes *range_deletes;
    struct row_reader *reader; /* it and the arena keep their memory from one read to the next */
    struct arena arena;
};

/* Reads that have ended, with their memory: a point read then allocates little. */
#define STORE_SPARE_READS_MAX 16

struct store_spare_reads {
    pthread_mutex_t lock;
    uint32_t count;
    struct store_read *reads[STORE_SPARE_READS_MAX];
};

struct store {
    char folder[STORE_FOLDER_BYTES_MAX]; /* [C] */
    struct store_settings settings;      /* [C] */
    struct store_callbacks callbacks;    /* [C] */
    struct store_identity identity;      /* [C] */
    struct store_lock lock;
    struct kv *kv;
    struct base *base;
    struct log *log;
    struct hlc hlc; /* [L] */
    /* [C] Nothing is collected before: its clock may have been wrong at the start. */
    int64_t collect_from_us;

    struct store_tablet **tablets; /* changed by the loop [S]; read by the loop freely */
    uint32_t tablet_count;
    uint32_t tablet_capacity;
    struct store_tablet_map by_number;        /* [L] the same */
    struct store_tablet *hidden;              /* [S] split or dropping */
    struct store_tablet_map hidden_by_number; /* [S] the same */

    struct buffer payload;                /* [L] of the record that is being appended; reused */
    struct store_entry giving;            /* [L] the entry that is being appended */
    struct store_tablet *pending_tablets; /* [L] those with records that are not committed yet */
    uint64_t log_position;                /* [L] of the last append */
    uint64_t log_position_checked; /* [L] log_position when memtables were last checked for age */
    uint64_t log_released;         /* [L] the log was told that nothing below it is needed here */
    /* [L] Who keeps the log from letting more go, as what it needs begins below log_held_end; NULL: not known. */
    struct store_tablet *log_holder;
    uint64_t log_held_end;  /* [L] */
    uint64_t log_keep_from; /* [L] and that from here on it is kept for other copies */
    atomic_uint_fast64_t synced_position;
    atomic_uint_fast64_t memory_bytes;       /* of all layers */
    atomic_uint_fast64_t memory_limit_bytes; /* as set, or less when the disk is nearly full */
    atomic_uint_fast64_t frozen_bytes;       /* of the frozen ones among them */
    atomic_uint_fast64_t due_bytes;          /* see store_room.h */
    atomic_uint_fast64_t
        largest_bytes; /* of all memtables; a short while ago, where it has become less */
    atomic_uint_fast64_t doomed_bytes; /* of all layers: see store_collect.h */
    atomic_bool room_wanted;           /* the loop waits for memory: it is to be woken */
    struct store_spare_reads spare_reads;
    atomic_bool flush_stuck;     /* some tablet's flush was, since the store was opened */
    struct store_held_row *held; /* [S] store_held.c */
    bool failure_told;           /* [L] on_failed was called */
    bool flush_wanted;           /* [L] by some tablet */
    atomic_bool metas_wanted;    /* by some tablets: the work thread is to look at them */
    atomic_bool metas_written;   /* the loop is to look whether more of the log may go */
    atomic_bool freeze_asked;    /* the disk is full: what deletes are in memory make room */
    bool recovering;
    bool replayed; /* the log had something to replay */
    bool relearns; /* the log was cut, and not every copy has noted that yet (store_relearn.h) */
    bool meta_missing; /* the base has no record of this store: then the log must be empty, too */

    pthread_mutex_t mutex;
    pthread_cond_t condition_changed; /* work thread waits on it */
    pthread_t work_thread;
    bool work_started;
    bool work_woken; /* [S] */
    atomic_bool stop;
    struct store_queue frozen; /* [S] tablets with frozen memtables, or that had some */
    struct pairing_heap turns; /* [S] the same, by where these begin in the log */
    /* [S] What housekeeping has to look at (store_untidy.c): */
    struct store_queue untidy;  /* tablets that are to be swept or estimated, or were */
    struct store_queue erasing; /* tablets with range deletes, or that had some */
    int64_t collect_look_us; /* [S] before that no pass of garbage collection is due, or goes on */
    struct store_job *jobs;  /* [S] oldest first */
    struct store_job *creating;      /* [L] */
    struct store_event *events;      /* [S] oldest first */
    struct store_event **events_end; /* [S] */
    struct store_schema **schemas;   /* [S] by table number */
    uint32_t schema_count;
    uint32_t schema_capacity;
    uint64_t schema_count_ever;               /* [L] that store_set_table() has taken */
    atomic_uint_fast64_t processors_permille; /* flush_pace.h */
    _Atomic(enum store_condition) condition;
    struct error trouble; /* [S] text for the condition */

    /* [W] */
    struct store_erasure *erasures; /* of dropped tablets, oldest first */
    struct store_grave *graves;     /* ascending by tablet */
    size_t grave_count;
    size_t grave_capacity;
    uint64_t erasure_next;
    uint64_t ballast_bytes; /* of its file */
    bool ballast_there;
    atomic_uint_fast64_t disk_free_bytes; /* when it was measured last */
    bool room_tight; /* there is little room: looked at before each transaction, not now and then */
    uint64_t log_peak_bytes; /* the log's files at their largest since the disk is full */
    int64_t hurry_next_ns;   /* while the disk is full: when deletes are to be flushed next */
    bool flush_failed;       /* for want of memory or disk: nothing is flushed before retry_at_ns */
    bool tablet_failed;      /* a tablet's flush did: that one is not tried before retry_at_ns */
    int64_t housekeeping_retry_ns;
    int64_t job_retry_ns;
    int64_t largest_look_ns; /* when largest_bytes is to be looked for again */
    uint64_t meta_clock;     /* the highest stamp clock that the base knows of */
    int64_t retry_at_ns;     /* after a failed flush: not before */
    uint32_t housekeeping_turn;
    uint32_t housekeeping_credit; /* earned by steps of the flush */
    bool housekeeping_in_vain;    /* it found nothing to do since a memtable was flushed last */
    struct store_collection *collection;
    uint64_t scrub_extent;
    struct buffer scrub_resume;
    int64_t scrub_next_ns;

    /* Counters. */
    atomic_uint_fast64_t records;
    atomic_uint_fast64_t looked_at; /* tablets, by who looks at many of them: tests count */
    atomic_uint_fast64_t flushes;
    atomic_uint_fast64_t flush_transactions;
    atomic_uint_fast64_t
        list_transactions; /* that made or dropped tablets, or erased what dropped ones left */
    atomic_uint_fast64_t flush_bytes;
    atomic_uint_fast64_t scrubbed_bytes;
    atomic_uint_fast64_t bad_chunks;
    atomic_bool damage_found; /* in some tablet, and not told yet */
    atomic_uint_fast64_t collected_cells;
    uint64_t recovered_records; /* [C] */
};

/* --- store_layer.c: layers, pieces and lists ---------------------------------------------------- */

enum status store_layer_create(uint64_t owner, struct store_layer **ret_layer);
struct store_layer *store_layer_ref(struct store_layer *layer);
void store_layer_unref(struct store *store, struct store_layer *layer);

/* Clipped copies; NULL without memory.  range NULL = all of it. */
struct store_pieces *store_pieces_create(const struct base_piece *pieces,
                                         uint32_t count,
                                         const struct row_range *range);
struct store_pieces *store_pieces_ref(struct store_pieces *pieces);
void store_pieces_unref(struct store_pieces *pieces);

/* Copies of those that meet range (NULL = all), clipped to it, and then `more` (NULL = none);
 * those with `without` as sequence are left out (0 = none).  NULL without memory. */
struct store_range_deletes *store_range_deletes_create(const struct range_delete *deletes,
                                                       uint32_t count,
                                                       const struct row_range *range,
                                                       uint64_t without,
                                                       const struct range_delete *more);
/* Those at or below a sequence. */
struct store_range_deletes *store_range_deletes_up_to(const struct store_range_deletes *deletes,
                                                      uint64_t sequence);
struct store_range_deletes *store_range_deletes_ref(struct store_range_deletes *deletes);
void store_range_deletes_unref(struct store_range_deletes *deletes);

/* --- store.c -------------------------------------------------------------------------------------- */

/* So many segments that the log has let go of are kept for it. */
uint32_t store_log_spares_max(const struct store *store);

/* --- store_schema.c ------------------------------------------------------------------------------- */

/* With a reference; NULL when nobody has told of that table. */
struct store_schema *store_schema_find(struct store *store, uint64_t table);
void store_schema_unref(struct store_schema *schema);

/* --- store_job.c ---------------------------------------------------------------------------------- */

void store_add_job(struct store *store, struct store_job *job);
/* When the store is closed: jobs that nobody has begun, and those that are done and not taken. */
void store_free_jobs(struct store *store);
/* Loop: a job of the work thread's is done.  Calls back, and frees it. */
void store_on_created(struct store *store, struct store_job *job);
void store_on_dropped(struct store *store, struct store_job *job);
/* Is the base being told of a new tablet of this number? */
bool store_is_creating(const struct store *store, uint64_t tablet);
/* Is there one of that number whose end (a split, a drop) has not reached the base yet?  Then none may be made:
 * that end would take along what the base knows of the new one.  On the loop, or with the mutex. */
bool store_is_ending(const struct store *store, uint64_t tablet);

/* --- store_poll.c --------------------------------------------------------------------------------- */

/* Loop: take what the work thread has told. */
void store_take_events(struct store *store);

/* --- store_tablet.c ------------------------------------------------------------------------------ */

/* A new tablet: one reference, which is the caller's, one empty layer, in no list. */
enum status store_tablet_allocate(struct store *store,
                                  const struct store_tablet_descriptor *descriptor,
                                  struct store_tablet **ret_tablet);
/* Room for so many more tablets, and for those that are being created already: adding them cannot fail then. */
enum status store_tablets_reserve(struct store *store, uint32_t more);
void store_tablets_add(struct store *store, struct store_tablet *tablet); /* takes the reference */
/* From the visible to the hidden ones; the reference moves along. */
void store_tablets_hide(struct store *store, struct store_tablet *tablet);
/* Out of the hidden ones; the reference passes to the caller. */
void store_tablets_forget(struct store *store, struct store_tablet *tablet);
/* horizon_raise(), or the family's first one.  False without memory.  Under the tablet's mutex. */
bool store_tablet_raise_horizon(struct store_tablet *tablet, const struct horizon *horizon);
/* Loop: put a new list in the place of the old; takes the reference. */
void store_tablet_publish_range_deletes(struct store_tablet *tablet,
                                        struct store_range_deletes *deletes);
/* The one of that number which is split or dropping; NULL when there is none.  On the loop, or with the mutex. */
struct store_tablet *store_tablets_find_hidden(const struct store *store, uint64_t tablet);

/* --- store_line.c --------------------------------------------------------------------------------- */

/* Loop: drop the layer from all tablets that read it. */
void store_layer_forget(struct store *store, struct store_layer *layer);

/* --- store_read.c -------------------------------------------------------------------------------- */

void store_spare_reads_init(struct store_spare_reads *spares);
void store_spare_reads_deinit(struct store_spare_reads *spares); /* no read is open */

/* While a read is registered with its tablet and sequence, no memtable folds what lies above that.  The first under the
 * tablet's mutex, the second not. */
void store_read_register(struct store_read *read);
void store_read_unregister(struct store_read *read);
/* What is committed, and no open read is below.  Under the tablet's mutex. */
uint64_t store_read_floor(const struct store_tablet *tablet);

/* Tests only: called between the capture of a read and its snapshot. */
extern void (*store_read_between)(void *context);
extern void *store_read_between_context;

/* --- store_work.c --------------------------------------------------------------------------------- */

enum status store_work_start(struct store *store, struct error *ret_error);
void store_work_stop(struct store *store);
void store_work_wake(struct store *store);
/* Hand an event to the loop. */
void store_tell(struct store *store, struct store_event *event);
struct flush_pace store_flush_pace(const struct store *store);

#endif /* TABLETSERVER_STORAGE_STORE_STORE_INTERNAL_H */

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
#include "tabletserver/storage/copies/store_barrier.h"
#include "tabletserver/storage/copies/store_replica.h"
#include "tabletserver/storage/copies/store_slice.h"
#include "tabletserver/storage/copies/store_window.h"
#include "tabletserver/storage/flush/flush_pace.h"
#include "tabletserver/storage/flush/flush_progress.h"
#include "tabletserver/storage/log/log.h"
#include "tabletserver/storage/log/log_marks.h"
#include "tabletserver/storage/memtable/memtable.h"
#include "tabletserver/storage/record/applied_map.h"
#include "tabletserver/storage/store/store.h"
#include "tabletserver/storage/store/store_event.h"
#include "tabletserver/storage/store/store_identity.h"
#include "tabletserver/storage/store/store_meta.h"
#include "tabletserver/storage/store/store_trouble.h"

#define STORE_FOLDER_BYTES_MAX 2048
#define STORE_LAYERS_MAX       (1 + FLUSH_FROZEN_MAX) /* active first, then frozen, newest first */
#define STORE_LINEAGE_MAX      8 /* splits whose parents are not yet in the base, in a row */
#define STORE_POSITION_NONE    UINT64_MAX

_Static_assert(STORE_LAYERS_MAX + 1 <= ROW_READER_LAYERS_MAX, "all layers and the base are read");

/* --- parts of a tablet ---------------------------------------------------------------------------- */

/* One memtable and what of the log it holds back.  Shared by a parent and its children. */
struct store_layer {
    atomic_uint references;    /* a frozen one is kept until the loop has taken its event */
    struct memtable *memtable; /* [C] */
    uint64_t owner;            /* [C] tablet whose sequences it has */
    uint64_t after_sequence;   /* [C] all that it holds lies above */
    atomic_uint_fast64_t first_position; /* in the log; STORE_POSITION_NONE when none */
    atomic_size_t bytes;                 /* as counted in the store's memory */
    bool frozen;
    uint64_t last_sequence; /* [T] once frozen; [C] once committed */
    uint64_t clock;         /* the same: highest in it */
    bool image_due;         /* [L] frozen, the image not yet taken */
    struct buffer dedupe;   /* [C] once all is committed: image that holds all of it at least */
    atomic_uint_fast64_t doomed_bytes; /* of cells that deletes in it collect */
    uint64_t rows_flushed;             /* [W] by whole transactions */
    struct store_event event;
};

/* Pieces and range deletes: immutable once published, counted, bytes behind the array. */
struct store_pieces {
    atomic_uint references;
    uint32_t count;
    struct base_piece pieces[];
};

struct store_range_deletes {
    atomic_uint references;
    uint32_t count;
    struct range_delete deletes[];
};

/* Records up to `sequence` are durable once the log is synced beyond `position`. */
struct store_pending {
    uint64_t position;
    uint64_t sequence;
};

enum store_tablet_state {
    STORE_TABLET_LIVE,
    STORE_TABLET_BARRIER,  /* a split is appended, not committed; or it is being merged */
    STORE_TABLET_SPLIT,    /* children serve; this one lives on until it is in the base */
    STORE_TABLET_DROPPING, /* not served; to be removed */
};

/* Where a pass of garbage collection stands; [W]. */
enum store_collect_stage {
    STORE_COLLECT_IDLE,
    STORE_COLLECT_ERASE,
    STORE_COLLECT_VERSIONS,
};

struct store_collect_state {
    enum store_collect_stage stage;
    int64_t due_us;
    uint64_t pass_version;   /* of the schema that the pass began with; a newer one wants another */
    uint64_t schema_version; /* of the last whole pass */
    struct buffer row;       /* go on here ... */
    uint32_t family;         /* ... at this column; 0 = the row's start */
    struct buffer qualifier;
};

struct store_tablet {
    atomic_uint references;
    struct load_counters load;                 /* beside the references: see there */
    struct store *store;                       /* [C] */
    struct store_tablet_descriptor descriptor; /* [C] bytes behind the struct; configuration: [T] */
    void *context;                             /* [L] */
    void *replica;                             /* [L] of who performs it */
    _Atomic(enum store_tablet_state) state;    /* changed by the loop */

    pthread_mutex_t mutex;
    struct store_layer *layers[STORE_LAYERS_MAX]; /* [T] */
    uint32_t layer_count;                         /* [T] */
    atomic_uint_fast64_t freeze_count;            /* changed under [T] */
    struct flush_progress progress;               /* [T] of the layers that it owns */
    uint64_t lineage[STORE_LINEAGE_MAX];          /* [T] unfinished ancestors, nearest first */
    uint32_t lineage_count;                       /* [T] */
    struct store_pieces *pieces;                  /* [T] */
    struct store_range_deletes *range_deletes;    /* [T] */
    struct store_meta_horizon *horizons;          /* [T] */
    uint32_t horizon_count;                       /* [T] */
    struct store_read *reads;                     /* [T] open ones, newest first */

    atomic_uint_fast64_t prepared;
    atomic_uint_fast64_t committed;
    atomic_uint_fast64_t clock; /* highest stamp clock up to prepared */
    struct dedupe *dedupe;      /* [L] */

    struct store_pending *pending; /* [L] a ring */
    uint32_t pending_capacity;
    uint32_t pending_head;
    uint32_t pending_count;
    struct store_tablet *pending_next; /* [L] in the store's list of those with any */
    bool pending_listed;
    uint64_t synced;          /* [L] sequence: everything up to it is durable here */
    uint64_t window_sequence; /* [L] of the entry that left the window last, */
    uint64_t window_version;  /* and the version under which it was given out */

    /* A replica. */
    bool shared;                /* [L] has, or has had, other members: its log is kept for them */
    struct log_marks marks;     /* [T] changed by the loop */
    atomic_bool leads;          /* changed by the loop: what is appended is applied at once */
    atomic_bool alone;          /* changed by the loop: what is synced is committed */
    struct store_window window; /* [L] */
    struct store_configuration configuration; /* [L] adopted last */
    uint64_t configuring_position;            /* [L] of its record, while that is not durable */
    uint64_t configured_position;             /* [L] of the durable one's, until the base has it */
    struct store_configuration durable;       /* [T] */
    uint32_t durable_number;                  /* [T] changed by the loop; rises with each */
    uint32_t relearn_number;                  /* [L] the same when it was marked as damaged */
    uint32_t encoded_number;                  /* [W] in the metadata record encoded last */
    atomic_uint_least32_t written_number;     /* in the base */
    struct store_barrier *barriers;           /* [T] changed by the loop */
    atomic_bool meta_wanted; /* the metadata record shall be written for its own sake */
    uint64_t gap_expected;   /* [L] recovery: entries that were dropped, or are missing; 0 = none */
    uint64_t gap_found;

    /* Being taught (store_slice.h). */
    bool learning;           /* [L] half taught: commits up to hold_until only */
    bool learns_first;       /* [L] what it has is about to go: nothing comes to it */
    bool learn_busy;         /* [L] something of it is being written */
    bool learn_follows;      /* [L] it begins at hold_until, which a slice of this life has said */
    uint64_t learn_sequence; /* [L] of the records that come */
    struct buffer learn_image; /* [L] exactly-once records, as far as they have come */
    struct buffer learn_below; /* [L] row: entries up to hold_until are applied below it only */
    struct tablet_position learn_at; /* [L] where the next slice begins; its bytes are these: */
    struct buffer learn_row;
    struct buffer learn_qualifier;
    atomic_bool learnt_first; /* in the base; the loop has not taken it over: hands off */
    bool half_taught;         /* [W] in the base */
    atomic_bool hurried;      /* store_tablet_hurry() */

    /* A split, from its record on. */
    struct store_tablet *children[2]; /* [L] set before the state; then [C] */
    uint64_t split_sequence;          /* [T] children go on behind it; 0 = none */
    uint64_t ending_sequence;         /* [T] of the layer that ends it: that one, or one above it */
    bool may_end;                     /* [T] children are there, and the log says so */
    struct buffer split_dedupe;
    struct store_event split_event;
    bool merging;        /* [L] one of two: the base is being told */
    uint64_t hold_until; /* [L] not frozen before it has this sequence (store_replay.c) */
    bool flush_wanted;   /* [L] freeze as soon as there is a free layer */

    struct store_job *drop_job;       /* [L] ready, so that dropping cannot fail */
    struct store_tablet *hidden_next; /* [S] in store->hidden */

    /* What the base knows.  [W] */
    uint64_t flushed_sequence;
    uint64_t flushed_clock;
    uint32_t dedupe_piece_count;
    struct buffer applied; /* encoded applied map */
    bool applied_whole;    /* the map says the same everywhere: no flush has stopped half way */
    bool sweep_due;
    uint32_t sweep_piece;
    struct buffer sweep_resume;
    struct buffer erase_resume; /* of the oldest range delete */
    uint32_t erase_piece;
    uint64_t erased_sequence; /* of the range delete erased last */
    struct store_event erase_event;
    atomic_bool erase_told; /* until the loop has taken it off the list */
    struct store_collect_state collect;

    /* Statistics. */
    atomic_uint_fast64_t base_bytes;
    atomic_uint_fast64_t row_estimate;
    atomic_uint_fast64_t flush_count;
    atomic_uint_fast64_t bad_chunks;
    atomic_bool damage_found; /* and not told yet */
    bool estimate_due;        /* [W] */
};

struct store_schema {
    atomic_uint references;
    struct arena arena;
    struct table table;
};

/* A range of an extent that belonged to a dropped tablet. */
struct store_erasure {
    struct store_erasure *next;
    uint64_t number;
    struct buffer resume;
    struct store_meta_erasure what; /* bytes behind the struct */
};

struct store_lesson;

/* Something the loop wants written: create, drop, merge or learn. */
struct store_job {
    struct store_job *next;
    struct store_job *creating_next; /* [L] create: in the store's list, until on_created */
    bool drop;
    uint64_t log_position;          /* drop: nothing in the log behind it is about the tablet */
    struct store_tablet *merged[2]; /* with references: the tablet comes of these; else NULL */
    struct store_lesson *lesson;    /* learn: a slice of a tablet, or its end; else NULL */
    struct store_tablet *tablet;
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
    struct hlc hlc;          /* [L] */
    int64_t collect_from_us; /* [C] garbage collection waits so long */

    struct store_tablet **tablets; /* changed by the loop [S]; read by the loop freely */
    uint32_t tablet_count;
    uint32_t tablet_capacity;
    uint32_t *tablet_slots; /* [L] hash: number -> index + 1; 0 = free */
    uint32_t tablet_slot_count;
    struct store_tablet *hidden; /* [S] split or dropping */

    struct buffer payload;                /* [L] reused by appends */
    struct store_entry giving;            /* [L] that is being appended */
    struct store_tablet *pending_tablets; /* [L] with records not yet committed */
    uint64_t log_position;                /* [L] of the last append */
    uint64_t log_position_checked;        /* [L] memtables were last checked for age here */
    uint64_t log_released;                /* [L] */
    uint64_t log_keep_from;               /* [L] what the log was told */
    atomic_uint_fast64_t synced_position;
    atomic_uint_fast64_t memory_bytes;       /* of all layers */
    atomic_uint_fast64_t memory_limit_bytes; /* as set, or less when the disk is nearly full */
    atomic_uint_fast64_t frozen_bytes;       /* of the frozen ones among them */
    atomic_uint_fast64_t due_bytes;          /* see store_room.h */
    atomic_uint_fast64_t doomed_bytes;       /* of all layers: see store_collect.h */
    atomic_bool room_wanted;                 /* the loop waits for memory: wake it */
    struct store_spare_reads spare_reads;
    bool failure_told;         /* [L] */
    bool flush_wanted;         /* [L] of some tablet */
    atomic_bool metas_wanted;  /* of some tablets: for the work thread */
    atomic_bool metas_written; /* for the loop: the log may be let go */
    atomic_bool freeze_asked;  /* the disk is full: what deletes are in memory make room */
    bool recovering;
    bool replayed;     /* something of the log */
    bool relearns;     /* the log was cut, and that is not noted everywhere yet (store_relearn.h) */
    bool meta_missing; /* the base knows nothing of this store: then the log must be empty */

    pthread_mutex_t mutex;
    pthread_cond_t condition_changed; /* work thread waits on it */
    pthread_t work_thread;
    bool work_started;
    bool work_woken; /* [S] */
    atomic_bool stop;
    struct store_job *jobs;          /* [S] oldest first */
    struct store_job *creating;      /* [L] */
    struct store_event *events;      /* [S] oldest first */
    struct store_event **events_end; /* [S] */
    struct store_schema **schemas;   /* [S] by table number */
    uint32_t schema_count;
    uint32_t schema_capacity;
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
    bool room_tight;         /* look at it before each transaction, not only now and then */
    uint64_t log_peak_bytes; /* the log's files at their largest since the disk is full */
    int64_t hurry_next_ns;   /* while the disk is full: flush deletes */
    bool flush_failed;       /* for want of memory or disk: none before retry_at_ns */
    bool tablet_failed;      /* for a tablet only: that one not before retry_at_ns */
    int64_t housekeeping_retry_ns;
    int64_t job_retry_ns;
    uint64_t meta_clock; /* highest known in the base */
    int64_t retry_at_ns; /* after a failed flush: not before */
    uint32_t housekeeping_turn;
    uint32_t housekeeping_credit; /* earned by steps of the flush */
    bool housekeeping_in_vain;    /* found nothing to do since a memtable was flushed */
    struct store_collection *collection;
    uint64_t scrub_extent;
    struct buffer scrub_resume;
    int64_t scrub_next_ns;

    /* Counters. */
    atomic_uint_fast64_t records;
    atomic_uint_fast64_t flushes;
    atomic_uint_fast64_t flush_transactions;
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

/* With a reference; NULL when nobody has told of that table. */
struct store_schema *store_schema_find(struct store *store, uint64_t table);
void store_schema_unref(struct store_schema *schema);
void store_add_job(struct store *store, struct store_job *job);
/* Is the base being told of a new tablet of this number? */
bool store_is_creating(const struct store *store, uint64_t tablet);
/* Loop: take what the work thread has told. */
void store_take_events(struct store *store);
/* So many segments that the log has let go of are kept for it. */
uint32_t store_log_spares_max(const struct store *store);

/* --- store_tablet.c ------------------------------------------------------------------------------ */

/* A tablet with one reference, one empty layer, in no list. */
enum status store_tablet_allocate(struct store *store,
                                  const struct store_tablet_descriptor *descriptor,
                                  struct store_tablet **ret_tablet);
/* Make room in the table of tablets, so that adding cannot fail. */
enum status store_tablets_reserve(struct store *store, uint32_t more);
void store_tablets_add(struct store *store, struct store_tablet *tablet); /* takes the reference */
/* From the visible to the hidden ones; the reference moves along. */
void store_tablets_hide(struct store *store, struct store_tablet *tablet);
/* Out of the hidden ones; the reference passes to the caller. */
void store_tablets_forget(struct store *store, struct store_tablet *tablet);
/* Set a family's horizon.  One of a newer rule replaces the old, one of the same rule only moves it
 * on.  False without memory.  Under the tablet's mutex. */
bool store_tablet_raise_horizon(struct store_tablet *tablet,
                                const struct store_meta_horizon *horizon);
/* Loop: put a new list in the place of the old; takes the reference. */
void store_tablet_publish_range_deletes(struct store_tablet *tablet,
                                        struct store_range_deletes *deletes);
/* Loop: drop the layer from all tablets that read it. */
void store_layer_forget(struct store *store, struct store_layer *layer);

/* --- store_write.c, store_commit.c --------------------------------------------------------------- */

/* May anything be appended now?  The tablet's state, the store's, memory.  Errors: as of
 * store_append_write(). */
enum status store_check_append(struct store_tablet *tablet, bool only_deletes);
/* Into the log; store->log_position is then that of its batch.  Errors: as of log_append(), a full
 * disk noted. */
enum status store_log_record(struct store *store, const struct log_record *record);
/* Note which sequence is durable with which batch.  Room first: pushing cannot fail. */
enum status store_reserve_pending(struct store_tablet *tablet);
void store_push_pending(struct store_tablet *tablet, uint64_t position, uint64_t sequence);
/* What lies above sequence is dropped. */
void store_cut_pending(struct store_tablet *tablet, uint64_t sequence);
/* Have the next poll look at it. */
void store_list_pending(struct store_tablet *tablet);
/* The layer needs the log from this position on. */
void store_layer_hold_log(struct store_layer *layer, uint64_t position);
/* Everything up to sequence is in the memtables. */
void store_publish_prepared(struct store_tablet *tablet, uint64_t sequence, uint64_t clock);
/* The end of each append of the store's own: publishes, and tells. */
void store_finish_append(struct store_tablet *tablet);
/* Append one encoded record of the tablet (barriers and limits were checked). */
enum status store_append_record(struct store_tablet *tablet,
                                enum record_type type,
                                struct bytes payload,
                                struct stamp stamp,
                                uint64_t *ret_sequence);
/* Applied, as prepared: it is the tablet's last entry.  Takes it. */
void store_note_barrier(struct store_tablet *tablet, struct store_barrier *barrier);
enum status store_append_gc_horizon(struct store_tablet *tablet,
                                    const struct record_gc_horizon *horizon,
                                    uint64_t clock,
                                    uint64_t *ret_sequence);
/* Freeze the active memtable if anything was logged into it.  Errors: STATUS_NO_MEMORY,
 * STATUS_RESOURCE_EXHAUSTED (as many frozen ones as there may be). */
enum status store_freeze(struct store_tablet *tablet);
/* Freeze it now, or as soon as there is a free layer. */
void store_flush_soon(struct store_tablet *tablet);
/* Account for what the active layer has grown. */
void store_count_memory(struct store *store, struct store_layer *layer);
uint64_t store_memory_limit(const struct store *store);
/* Writers are short of memory: flush without pause. */
bool store_memory_presses(const struct store *store);
/* Does memory fill up faster than it is flushed?  Not yet at the point above: where there are many
 * tablets, memory is there even if flushing keeps up, for only there they begin to be frozen. */
bool store_flush_lags(const struct store *store);
void store_raise_floor(struct store_tablet *tablet);
/* Everything up to sequence is committed: floor, dedupe, flush.  Not the callback.  False: without
 * memory; call again with the same sequence. */
bool store_advance(struct store_tablet *tablet, uint64_t sequence);
/* Loop: commit what is synced, call back. */
void store_commit_synced(struct store *store);
/* By bytes, or by the log that it holds back. */
bool store_is_full(const struct store_tablet *tablet);
void store_freeze_full_tablets(struct store *store);
/* Freeze what there is, of each tablet that has nothing frozen yet: on a full disk deletes must not
 * wait until a memtable is full. */
void store_freeze_for_room(struct store *store);
void store_release_log(struct store *store);
void store_on_synced(void *context, uint64_t position);
void store_on_log_failed(void *context, const struct error *error);

/* --- store_replica.c, store_configure.c ----------------------------------------------------------- */

/* Apply what of the window lies at or below sequence, and commit as far as that came.  Errors: as of
 * store_tablet_commit(). */
enum status store_commit_up_to(struct store_tablet *tablet, uint64_t sequence);
bool store_is_alone(const struct store *store, const struct store_configuration *configuration);
void store_set_configuration(struct store_tablet *tablet,
                             const struct store_configuration *configuration);
/* Into the log: CONFIGURATION, or CONVERSION.  Errors: as of log_append(). */
enum status store_log_configuration(struct store_tablet *tablet,
                                    enum record_type type,
                                    const struct store_configuration *configuration,
                                    uint64_t kept_sequence);
/* The present one is durable in the log, in the batch at position. */
void store_note_durable_configuration(struct store_tablet *tablet, uint64_t position);
/* The log is synced up to there: has the configuration become durable by it? */
bool store_settle_configuration(struct store_tablet *tablet, uint64_t synced);
/* From where on the log is needed for the configuration; STORE_POSITION_NONE = it is not. */
uint64_t store_configuration_holds(struct store_tablet *tablet);
/* Loop: have metadata records written of tablets whose configurations hold back much of the log, or of
 * all that hold any. */
void store_ask_metas(struct store *store, bool all);
/* Work thread: one transaction with all that were asked for. */
enum status store_metas_step(struct store *store, bool *ret_worked);
/* Work thread: the metadata record encoded last is in the base. */
void store_note_meta_written(struct store_tablet *tablet);

/* --- store_split.c ------------------------------------------------------------------------------- */

/* Make the children of a committed split.  Errors: STATUS_NO_MEMORY (nothing changed). */
enum status store_split_apply(struct store_tablet *parent);
/* The same in two parts: all that may fail, and may be done again; and what cannot. */
enum status store_split_make_ready(struct store_tablet *parent);
void store_split_begin(struct store_tablet *parent);
/* An applied map, encoded: everything up to sequence is in the base. */
enum status store_encode_whole(uint64_t sequence, struct buffer *out);
/* Work thread, in the transaction that ends the parent's last layer: the children's metadata come,
 * the parent's goes. */
enum status store_split_write(struct base_writer *writer, struct store_tablet *parent);
/* It is durable. */
void store_split_note_written(struct store_tablet *parent);
/* Loop: the parent is in the base. */
void store_split_forget(struct store_tablet *parent);
/* Remember what the record says (at append, and at replay).  The layer whose last sequence is `ending`
 * is flushed together with the tablet. */
enum status store_split_prepare(struct store_tablet *parent,
                                const struct record_split *split,
                                uint64_t sequence,
                                uint64_t ending);

void store_split_cancel(struct store_tablet *parent);
/* Its last layer may be flushed, and with it the tablet. */
void store_split_let_end(struct store_tablet *parent);

/* --- store_convert.c ------------------------------------------------------------------------------ */

/* Committed up to the barrier, and nothing behind it.  Errors: as of store_tablet_convert(). */
enum status store_stand_at(struct store_tablet *tablet, uint64_t sequence);
/* The configuration of one whose parent is not in the base became durable. */
void store_conversion_settle(struct store_tablet *child);
/* A CONVERSION of the tablet at position in the log: what it keeps is committed. */
enum status store_conversion_replay(struct store_tablet *parent,
                                    const struct record_configuration *record,
                                    uint64_t position,
                                    struct error *ret_error);

/* --- store_merge.c -------------------------------------------------------------------------------- */

enum status store_merge_write(struct store_job *job); /* work thread */
void store_merge_finish(struct store_job *job);       /* loop */

/* --- store_read.c -------------------------------------------------------------------------------- */

void store_spare_reads_init(struct store_spare_reads *spares);
void store_spare_reads_deinit(struct store_spare_reads *spares); /* no read is open */

/* Tests only: called between the capture of a read and its snapshot. */
extern void (*store_read_between)(void *context);
extern void *store_read_between_context;

/* --- store_flush.c: work thread, or recovery ------------------------------------------------------ */

/* One transaction, if any is due; *ret_worked false when there is none. */
enum status store_flush_step(struct store *store, bool *ret_worked);
uint64_t store_flushes_pending(struct store *store);
/* Let what has failed be tried again. */
void store_flush_retry(struct store *store);

/* --- store_meta_write.c: in transactions ---------------------------------------------------------- */

/* Everything about a tablet but its applied map and dedupe image, as of `sequence`. */
enum status store_put_tablet_meta(struct base_writer *writer,
                                  struct store_tablet *tablet,
                                  uint64_t sequence,
                                  uint64_t clock,
                                  uint32_t dedupe_piece_count);
/* Cut in pieces; removes pieces of a longer image before. */
enum status store_put_dedupe(struct base_writer *writer,
                             uint64_t tablet,
                             struct bytes image,
                             uint32_t piece_count_before,
                             uint32_t *ret_piece_count);
enum status store_put_applied(struct base_writer *writer,
                              uint64_t tablet,
                              const struct buffer *applied);
enum status store_delete_tablet_meta(struct base_writer *writer,
                                     uint64_t tablet,
                                     uint32_t dedupe_piece_count);
/* The store's own record: highest clock, synced log position. */
enum status store_put_store_meta(struct base_writer *writer, struct store *store, uint64_t clock);

/* --- store_drop.c, store_sweep.c, store_gc.c, store_collect.c, store_scrub.c: bounded steps ------- */

/* May the job run now?  (A child waits until its parent is in the base.) */
bool store_job_is_due(struct store_job *job);
enum status store_run_job(struct store *store, struct store_job *job);
/* Does the base know a tablet of that number? */
enum status store_is_in_base(struct store *store, uint64_t tablet, bool *ret_stored);
struct store_erasure *store_erasure_create(uint64_t number, const struct store_meta_erasure *what);
void store_erasures_add(struct store *store, struct store_erasure *erasure);
void store_erasures_clear(struct store *store);
enum status store_erase_step(struct store *store, bool *ret_worked);
enum status store_erase_range_step(struct store *store, bool *ret_worked);
enum status store_sweep_step(struct store *store, bool *ret_worked);
/* Once, when the store has been recovered. */
void store_collect_begin(struct store *store);
enum status store_collect_step(struct store *store, bool *ret_worked);
void store_collect_append(struct store *store);                            /* loop */
void store_collect_forget(struct store *store, struct store_layer *layer); /* flushed, or gone */
void store_collect_clear(struct store *store);
enum status store_scrub_step(struct store *store, bool *ret_worked);
enum status store_estimate_step(struct store *store, bool *ret_worked);

/* May anything but a flush write to the tablet's rows?  Not while a flush stands in the middle of
 * them: a chunk joined across that place would look younger than deletes that are still to come. */
bool store_may_keep_house(struct store_tablet *tablet);

/* Work thread, in a transaction: notes of all that the tablet's pieces cover; to be kept if it is written. */
enum status store_note_erasures(struct base_writer *writer,
                                struct store_tablet *tablet,
                                struct store_erasure **ret_erasures);
void store_keep_erasures(struct store *store, struct store_erasure *erasures, bool written);

/* --- store_slice_write.c -------------------------------------------------------------------------- */

/* The first slice of a child: the base has the child only when its parent ends there.  Taught before, it
 * would be made once more by a replay of CONVERSION, and what it was taught would be written over. */
bool store_lesson_waits_for_parent(const struct store_lesson *lesson);
enum status store_run_lesson(struct store *store, struct store_job *job); /* work thread */
void store_on_lesson(struct store *store, struct store_job *job);         /* loop */
void store_lesson_destroy(struct store *store, struct store_lesson *lesson);

/* --- store_recover.c ------------------------------------------------------------------------------ */

enum status store_load_metas(struct store *store,
                             uint64_t *ret_synced_position,
                             struct error *ret_error);
/* After the log is open: everything replayed counts as committed. */
enum status store_finish_recovery(struct store *store, struct error *ret_error);

/* --- store_log_read.c ------------------------------------------------------------------------------ */

/* Of a tablet that is shared: entry `sequence` is in the batch at position; what is above `kept` was
 * dropped there. */
void store_mark(struct store_tablet *tablet, uint64_t sequence, uint64_t position);
void store_mark_drop(struct store_tablet *tablet, uint64_t kept, uint64_t position);
/* Forget marks into what is not kept any more. */
void store_trim_marks(struct store *store);
/* After recovery: tell the log what replay has marked. */
void store_keep_replayed(struct store *store);

/* --- store_replay.c, store_replay_replica.c -------------------------------------------------------- */

enum status store_on_replay(void *context,
                            const struct log_record *record,
                            uint64_t position,
                            struct error *ret_error);
/* A write of which the base may have a part (up to hold_until). */
enum status store_replay_write(struct store_tablet *tablet,
                               const struct store_entry *entry,
                               const struct record_write *write);
/* Flush until it may freeze again. */
enum status store_replay_free_layer(struct store_tablet *tablet);
/* Flush until it may be split. */
enum status store_replay_make_room(struct store_tablet *tablet);
/* Freeze and flush where memory or the log's limit asks for it. */
enum status store_replay_relieve(struct store_tablet *tablet);
enum status store_replay_explain_gap(uint64_t expected, uint64_t found, struct error *ret_error);
/* A record of a tablet that has a configuration, or gets one by it. */
enum status store_replay_of_replica(struct store_tablet *tablet,
                                    const struct log_record *record,
                                    uint64_t position,
                                    struct error *ret_error);
/* The log was cut, and nobody else has the tablet: entries up to hold_until that a flush was in the middle of are lost,
 * and what the base has of them stays.  It goes on behind them, with all of that in the base. */
enum status store_replay_lift(struct store_tablet *tablet, struct error *ret_error);
/* The log has no more of it. */
enum status store_replay_end(struct store_tablet *tablet, struct error *ret_error);

/* --- store_work.c --------------------------------------------------------------------------------- */

enum status store_work_start(struct store *store, struct error *ret_error);
void store_work_stop(struct store *store);
void store_work_wake(struct store *store);
/* Hand an event to the loop. */
void store_tell(struct store *store, struct store_event *event);
struct flush_pace store_flush_pace(const struct store *store);

#endif /* TABLETSERVER_STORAGE_STORE_STORE_INTERNAL_H */

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

/* Housekeeping in a tablet.  Each kind rests by itself where it has met damage. */
enum store_chore {
    STORE_CHORE_ERASE, /* what DropRowRange has covered */
    STORE_CHORE_SWEEP,
    STORE_CHORE_COLLECT,
    STORE_CHORE_ESTIMATE,
    STORE_CHORE_COUNT,
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
    struct horizon_list horizons;                 /* [T] */
    uint64_t cut_count;                           /* [T] how often what was prepared was dropped */
    uint64_t
        rules_said; /* [L] the store's schema_count_ever when the log had said which rules writes go by */
    struct store_read *reads; /* [T] open ones, newest first */

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

    /* A flush of it has met damage: all that comes after waits in memory, until the damaged rows are deleted. */
    atomic_bool flush_stuck; /* changed by the work thread */

    /* A split, from its record on. */
    struct store_tablet *children[2]; /* [L] set before the state; then [C] */
    uint64_t split_sequence;          /* [T] children go on behind it; 0 = none */
    uint64_t ending_sequence;         /* [T] of the layer that ends it: that one, or one above it */
    bool may_end;                     /* [T] children are there, and the log says so */
    uint64_t last_position;           /* [T] then: behind it the log has nothing of it */
    struct buffer split_dedupe;
    struct store_event split_event;
    bool merging;        /* [L] one of two: the base is being told */
    bool was_merged;     /* [L] it came of two, since the store was opened */
    uint64_t hold_until; /* [L] not frozen before it has this sequence (store_replay.c) */
    bool flush_wanted;   /* [L] freeze as soon as there is a free layer */

    struct store_job *drop_job;       /* [L] ready, so that dropping cannot fail */
    struct store_tablet *hidden_next; /* [S] in store->hidden */

    /* What the base knows.  [W] */
    uint64_t flushed_sequence;
    atomic_uint_fast64_t flushed_clock; /* the loop looks at it, too */
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
    atomic_bool damage_found;                 /* and not told yet */
    bool estimate_due;                        /* [W] */
    int64_t chore_from_ns[STORE_CHORE_COUNT]; /* [W] one that has met damage rests until then */
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
    int64_t from_ns; /* damage was met in it: not erased before */
    struct buffer resume;
    struct store_meta_erasure what; /* bytes behind the struct */
};

struct store_lesson;

/* Something the loop wants written: create, drop, merge or learn. */
struct store_job {
    struct store_job *next;
    struct store_job *creating_next; /* [L] create: in the store's list, until on_created */
    bool drop;
    uint64_t log_position;          /* drop, merge: behind it the log has nothing of what ends */
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
    atomic_bool flush_stuck;   /* of some tablet, since the store was opened */
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

/* So many segments that the log has let go of are kept for it. */
uint32_t store_log_spares_max(const struct store *store);

/* --- store_schema.c ------------------------------------------------------------------------------- */

/* With a reference; NULL when nobody has told of that table. */
struct store_schema *store_schema_find(struct store *store, uint64_t table);
void store_schema_unref(struct store_schema *schema);

/* --- store_job.c ---------------------------------------------------------------------------------- */

void store_add_job(struct store *store, struct store_job *job);
/* Of what is asked for and of what was done and not taken: when the store is closed. */
void store_free_jobs(struct store *store);
void store_on_created(struct store *store, struct store_job *job); /* loop; ends the job */
void store_on_dropped(struct store *store, struct store_job *job); /* likewise */
/* Is the base being told of a new tablet of this number? */
bool store_is_creating(const struct store *store, uint64_t tablet);
/* Is one of that number still to be ended, split or dropped?  Its end would take along what the base knows of the next
 * one.  On the loop, or with the mutex. */
bool store_is_ending(const struct store *store, uint64_t tablet);

/* --- store_poll.c --------------------------------------------------------------------------------- */

/* Loop: take what the work thread has told. */
void store_take_events(struct store *store);

/* --- store_tablet.c ------------------------------------------------------------------------------ */

/* A tablet with one reference, one empty layer, in no list. */
enum status store_tablet_allocate(struct store *store,
                                  const struct store_tablet_descriptor *descriptor,
                                  struct store_tablet **ret_tablet);
/* Make room in the table of tablets, so that adding cannot fail, nor that of those that are being created. */
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

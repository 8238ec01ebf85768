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
    uint64_t after_sequence;   /* [C] all entries in it have higher sequences */
    atomic_uint_fast64_t first_position; /* in the log; STORE_POSITION_NONE when none */
    atomic_size_t bytes;                 /* as counted in the store's memory */
    bool frozen;
    /* Once it is frozen: [T], and [C] when all of it is committed. */
    uint64_t last_sequence;
    uint64_t clock;       /* the highest stamp clock in it */
    bool image_due;       /* [L] `dedupe` is to be made, when all is committed */
    struct buffer dedupe; /* image of the exactly-once records, its own among them; then [C] */
    /* Of stored cells that deletes in it will take (store_collect.h). */
    atomic_uint_fast64_t doomed_bytes;
    uint64_t rows_flushed; /* [W] by transactions that are committed */
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

/*
 * A copy that is being taught by another one (store_slice.h).
 *
 *   none --> begun (RECORDS) --> rows, slice by slice --> none: it is whole
 *             ^      |
 *             '------'  RECORDS again: another lesson takes the place of what was learnt
 */
struct store_learning {
    bool begun; /* [L] half taught: it is no copy, and commits up to hold_until only */
    /* [L] RECORDS are being written, so what it has is about to go: nothing is added to it. */
    bool replaces;
    bool busy; /* [L] a slice, or the end, is being written */
    /* [L] hold_until was said by a slice of this process's life, so slices may follow it. */
    bool follows;
    uint64_t sequence;   /* [L] of the RECORDS that are coming in */
    struct buffer image; /* [L] exactly-once records, as far as they have come */
    struct buffer below; /* [L] a row: entries up to hold_until are applied to rows below it only */
    struct tablet_position at; /* [L] where the next slice begins; its bytes lie in the next two: */
    struct buffer at_row;      /* [L] */
    struct buffer at_qualifier; /* [L] */
    /* The work thread has written RECORDS, and the loop has not put them in the place of what was there:
     * until it has, nobody writes anything of the tablet to the base. */
    atomic_bool replaced;
};

/* The two that came of a tablet, from the moment its split is committed; and its end in the base. */
struct store_splitting {
    struct store_tablet *children[2]; /* [L] set before the state; constant then */
    uint64_t sequence; /* [T] of the split: children go on behind it; 0 = there is none */
    /* [T] Of the last entry of the memtable whose flush ends the parent: `sequence`, or a later one. */
    uint64_t ending_sequence;
    bool may_end; /* [T] the children are there, and the log says so */
    /* [T] Where the log stood then: behind that position it has nothing of the parent. */
    uint64_t last_position;
    struct buffer dedupe; /* exactly-once records as of the split, for both children */
    struct store_event event;
};

/* Tombstones being applied to what they cover, piece by piece (store_sweep.c).  [W] */
struct store_sweeping {
    bool due;
    uint32_t piece;
    struct buffer resume;
};

/* What the oldest range delete covers being erased, piece by piece (store_erase.c). */
struct store_erasing {
    uint32_t piece;       /* [W] */
    struct buffer resume; /* [W] */
    uint64_t sequence;    /* [W] of the range delete that was erased last */
    struct store_event event;
    /* The event is on its way, until the loop has taken that range delete off the list. */
    atomic_bool told;
};

struct store_tablet {
    atomic_uint references;
    struct load_counters load; /* on the same line of memory as the references: see there */
    struct store *store;       /* [C] */
    /* [C]: its bytes lie behind the struct.  But its configuration is [T]. */
    struct store_tablet_descriptor descriptor;
    void *context;                          /* [L] of the server above */
    void *replica;                          /* [L] of the host that performs its replica */
    _Atomic(enum store_tablet_state) state; /* changed by the loop */

    /* --- what it consists of: memtables over pieces of the base --- */
    pthread_mutex_t mutex;
    struct store_layer *layers[STORE_LAYERS_MAX]; /* [T] */
    uint32_t layer_count;                         /* [T] */
    /* Rises whenever layers or pieces change (under [T]): a reader that sees it move captures them again. */
    atomic_uint_fast64_t freeze_count;
    struct flush_progress progress; /* [T] of the layers that it owns */
    /* [T] Ancestors that are not in the base yet, nearest first. */
    uint64_t lineage[STORE_LINEAGE_MAX];
    uint32_t lineage_count;                    /* [T] */
    struct store_pieces *pieces;               /* [T] */
    struct store_range_deletes *range_deletes; /* [T] not erased yet */
    struct horizon_list horizons;              /* [T] */
    uint64_t cut_count; /* [T] how often prepared entries were dropped again */
    /* [L] store->schema_count_ever when the log was last told which rules writes go by. */
    uint64_t rules_said;
    struct store_read *reads; /* [T] open ones, newest first */

    /* --- how far it is --- */
    atomic_uint_fast64_t prepared;
    atomic_uint_fast64_t committed;
    atomic_uint_fast64_t clock;    /* highest stamp clock up to prepared */
    struct dedupe *dedupe;         /* [L] */
    struct store_pending *pending; /* [L] a ring: appended, not known to be synced */
    uint32_t pending_capacity;
    uint32_t pending_head;
    uint32_t pending_count;
    struct store_tablet *pending_next; /* [L] in store->pending_tablets, while listed */
    bool pending_listed;
    uint64_t synced; /* [L] sequence: everything up to it is durable here */
    /* [L] The base has some of the rows of entries up to here: a flush was in the middle when the process
     * died, or a lesson is under way.  They all come into one memtable, so none is frozen before it has
     * reached this sequence (store_replay.c). */
    uint64_t hold_until;
    bool flush_wanted; /* [L] freeze as soon as there is a free layer */
    /* A flush has met damage: all that comes after it waits in memory until the damaged rows are deleted. */
    atomic_bool flush_stuck; /* changed by the work thread */

    /* --- as one copy of several (store_replica.h) --- */
    bool shared;            /* [L] it has, or has had, other members: its log is kept for them */
    struct log_marks marks; /* [T] changed by the loop */
    atomic_bool leads;      /* changed by the loop: what is appended is applied at once */
    atomic_bool alone;      /* changed by the loop: what is synced is committed */
    struct store_window window;     /* [L] */
    uint64_t window_sequence;       /* [L] of the entry that left the window last, */
    uint64_t window_version;        /* [L] and the version under which that was given out */
    struct store_barrier *barriers; /* [T] changed by the loop */
    /* [L] Replay: the first entry that is missing, or was dropped; 0 = none is. */
    uint64_t gap_expected;
    uint64_t gap_found; /* [L] replay: the entry that came instead */

    /*
     * Its configuration goes to the log, and from there to the base.  Configurations that are durable are
     * counted, so that "is the newest in the base?" compares two numbers.
     */
    struct store_configuration configuration; /* [L] adopted last */
    uint64_t configuring_position; /* [L] of its record in the log, while that is not durable */
    struct store_configuration durable; /* [T] the last one that is */
    uint64_t configured_position;       /* [L] of that one's record, until the base has it */
    uint32_t durable_number;            /* [T] changed by the loop: how many were durable so far */
    /* [W] durable_number of the one that was put in the base's transaction. */
    uint32_t encoded_number;
    atomic_uint_least32_t written_number; /* durable_number of the one that the base has */
    /* [L] durable_number when it was marked as damaged (store_relearn.c). */
    uint32_t relearn_number;
    atomic_bool meta_wanted; /* its metadata is to be written although nothing is flushed */

    bool half_taught; /* [W] as the base has it: learn.begun */
    struct store_learning learn;
    atomic_bool hurried; /* store_tablet_hurry() */

    /* --- its end --- */
    struct store_splitting split;
    bool merging;                     /* [L] it is one of two that the base is being told are one */
    bool was_merged;                  /* [L] it is the one, since the store was opened */
    struct store_job *drop_job;       /* [L] made with the tablet, so that dropping cannot fail */
    struct store_tablet *hidden_next; /* [S] in store->hidden */

    /* --- what the base has of it --- */
    uint64_t flushed_sequence;          /* [W] */
    atomic_uint_fast64_t flushed_clock; /* changed by the work thread */
    uint32_t dedupe_piece_count;        /* [W] */
    struct buffer applied;              /* [W] applied map, encoded */
    bool applied_whole; /* [W] the map says the same everywhere: no flush has stopped half way */
    struct store_sweeping sweep;
    struct store_erasing erase;
    struct store_collect_state collect; /* [W] */
    bool estimate_due;                  /* [W] base_bytes and row_estimate are to be made anew */
    int64_t chore_from_ns[STORE_CHORE_COUNT]; /* [W] when one that has met damage is tried again */

    /* --- statistics --- */
    atomic_uint_fast64_t base_bytes;
    atomic_uint_fast64_t row_estimate;
    atomic_uint_fast64_t flush_count;
    atomic_uint_fast64_t bad_chunks;
    atomic_bool damage_found; /* and not told yet: on_damaged */
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

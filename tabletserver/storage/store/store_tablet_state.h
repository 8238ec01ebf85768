/*
 * What a tablet of a store consists of, in memory.  For the store's own files, by store_internal.h, which says
 * who may touch what: [L] [W] [T] [S] [A] [C].
 */
#ifndef TABLETSERVER_STORAGE_STORE_STORE_TABLET_STATE_H
#define TABLETSERVER_STORAGE_STORE_STORE_TABLET_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/pairing_heap.h"
#include "common/base/stamp.h"
#include "tabletserver/storage/base/base.h"
#include "tabletserver/storage/copies/store_barrier.h"
#include "tabletserver/storage/copies/store_replica.h"
#include "tabletserver/storage/copies/store_slice.h"
#include "tabletserver/storage/copies/store_window.h"
#include "tabletserver/storage/flush/flush_progress.h"
#include "tabletserver/storage/log/log_marks.h"
#include "tabletserver/storage/memtable/memtable.h"
#include "tabletserver/storage/record/applied_map.h"
#include "tabletserver/storage/store/store.h"
#include "tabletserver/storage/store/store_event.h"
#include "tabletserver/storage/store/store_meta.h"
#include "tabletserver/storage/store/store_queue.h"

struct store;
struct store_job;

#define STORE_LAYERS_MAX    (1 + FLUSH_FROZEN_MAX) /* active first, then frozen, newest first */
#define STORE_LINEAGE_MAX   8 /* splits whose parents are not yet in the base, in a row */
#define STORE_POSITION_NONE UINT64_MAX

_Static_assert(STORE_LAYERS_MAX + 1 <= ROW_READER_LAYERS_MAX, "all layers and the base are read");

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

/* The two that come of a tablet, from the moment its split is appended, which may yet come to nothing; and its end in
 * the base. */
struct store_splitting {
    struct store_tablet *children[2]; /* [L] set before the state; constant then */
    uint64_t sequence; /* [T] of the split: children go on behind it; 0 = there is none */
    /* [T] That of the memtable whose flush ends the parent: `sequence`, or, where it is empty (a conversion), one more. */
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

/* Whose turn it is to be flushed goes by this: flush_choice.c. */
struct flush_turn {
    struct pairing_node node; /* first: a node's address is its owner's */
    struct store_tablet *tablet;
    struct flush_turn *next; /* among those that were passed over */
};

struct store_tablet {
    atomic_uint references;
    struct load_counters load; /* on the same line of memory as the references: see there */
    struct store *store;       /* [C] */
    /* [C]: its bytes lie behind the struct.  But its configuration is [T]. */
    struct store_tablet_descriptor descriptor;
    uint32_t index;                         /* [L] in store->tablets, where it is there */
    bool is_listed;                         /* [S] it is there; else it is hidden, or in no list */
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
    struct store_queue_node frozen; /* [S] in store->frozen, where it has frozen ones */
    struct flush_turn turn;         /* [S] in store->turns, the same */
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
    /* A flush has met damage, its own or that of what it came of: all that comes after it waits in memory until the
     * damaged rows are deleted. */
    atomic_bool flush_stuck; /* set by the work thread */

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
    struct store_tablet *hidden_before; /* [S] in the same */

    /* --- what the base has of it --- */
    uint64_t flushed_sequence;          /* [W] */
    atomic_uint_fast64_t flushed_clock; /* changed by the work thread */
    uint32_t dedupe_piece_count;        /* [W] */
    struct buffer applied;              /* [W] applied map, encoded */
    bool applied_whole; /* [W] the map says the same everywhere: no flush has stopped half way */
    struct store_queue_node untidy; /* [S] in store->untidy, where it is to be swept or estimated */
    struct store_queue_node erasing; /* [S] in store->erasing, where it has range deletes */
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

#endif /* TABLETSERVER_STORAGE_STORE_STORE_TABLET_STATE_H */

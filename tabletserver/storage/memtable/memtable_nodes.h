/*
 * What a memtable is made of, for its own files only.
 *
 *     rows      a skip list of rows by key; each link carries eight bytes of the key it leads to,
 *               from where keys are expected to differ, so that most comparisons touch no row
 *     cells     in each row a skip list of positions (entry_compare order); the first cell lies in
 *               the row itself, and the list's heads come only with the second
 *     versions  at each position a chain: puts and deletes newest first; adds oldest first, the
 *               first of them being the folded state (memtable_fold.h)
 *
 *     row: [header][links, one a level][key][cell: [header][tower][extra][qualifier][version]]
 *
 * PUBLICATION.  There is one writer.  It builds a node completely, links it from the bottom level
 * up, and stores each link with release order; readers load links with acquire order.  Links only
 * ever change to lead to a nearer node, nodes are never unlinked or freed before the memtable, and
 * a reader ignores what has a higher sequence than its own; so it needs no lock.  Levels above the
 * bottom are only short cuts: it does no harm to see them too old.  What is taken out of a chain
 * (memtable_drop.c) still leads on to the rest of it.
 */
#ifndef TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_NODES_H
#define TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_NODES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/prng.h"
#include "common/base/stamp.h"
#include "tabletserver/storage/memtable/memtable.h"
#include "tabletserver/storage/memtable/memtable_arena.h"
#include "tabletserver/storage/rows/entry.h"

/* Half of the nodes of a level go one up.  (A quarter would save 11 bytes a row, and measures 40 %
 * slower: with prefixes in the links only steps forward cost a cache miss, and at one half there
 * are the fewest.)  Good for 2^20 nodes, and not much slower with some millions. */
#define MEMTABLE_HEIGHT_MAX   20
#define MEMTABLE_HEIGHT_SMALL 6 /* heads of a row's list until it needs more */
#define MEMTABLE_STRIPE_COUNT 16
#define MEMTABLE_CLASS_COUNT  20 /* sizes of recycled adds: 8 bytes << class */

struct memtable_version {
    _Atomic(struct memtable_version *) next; /* older; in a chain of adds: newer */
    uint64_t sequence;
    uint64_t clock;
    uint32_t cluster;
    uint32_t index;
    uint32_t value_size;
    uint8_t value[];
};

struct memtable_cell {
    uint32_t family;
    uint16_t qualifier_size;
    uint8_t kind; /* enum entry_kind */
    uint8_t height;
    int64_t timestamp_us; /* COLUMN_DELETE: start_us */
    _Atomic(struct memtable_version *) versions;
    _Atomic(struct memtable_cell *) tower[];
    /* COLUMN_DELETE: int64_t end_us.  FOLD: struct memtable_fold.  Then the qualifier. */
};

/* A position to be searched for.  Ranks as in entry_compare(); RANK_AFTER lies behind everything of
 * the column. */
enum memtable_rank {
    RANK_ROW_DELETE = 0,
    RANK_FAMILY_DELETE = 1,
    RANK_COLUMN_DELETE = 2,
    RANK_CELL = 3,
    RANK_AFTER = 4,
};

struct memtable_position {
    enum memtable_rank rank;
    uint32_t family;
    struct bytes qualifier;
    int64_t timestamp_us; /* RANK_COLUMN_DELETE: start_us */
    int64_t end_us;
};

/* Heads of a row's list of cells.  Replaced by a higher one when a node needs it: readers of the
 * old one miss only nodes that came later than they did. */
struct memtable_cells {
    struct stamp last_delete; /* of any delete in this row; the writer's */
    uint32_t height;          /* levels there are */
    _Atomic(struct memtable_cell *) heads[];
};

/* All that a row had was taken out (memtable_drop.c): readers pass it over, until it is written to. */
#define MEMTABLE_ROW_GONE UINT64_MAX

struct memtable_row;

struct memtable_link {
    _Atomic(struct memtable_row *) row;
    /* memtable_key_prefix() of row's key, or of a nearer row that is just being linked: a reader
     * that loads `row` first finds a prefix that is never above that of its row. */
    _Atomic uint64_t prefix;
};

struct memtable_row {
    _Atomic(struct memtable_cells *) cells; /* NULL while the first cell is the only one */
    _Atomic uint64_t first_sequence;        /* of the change that made the row, or _GONE */
    uint16_t key_size;
    uint8_t height;
    struct memtable_link links[];
};

/* Where the writer was last, so that changes in order need no search from the top. */
struct memtable_row_finger {
    struct memtable_row *row; /* NULL = before all rows */
    /* Links of the last row <= row on each level, or on higher levels of one further back. */
    struct memtable_link *before[MEMTABLE_HEIGHT_MAX];
};

struct memtable_cell_finger {
    struct memtable_cells *cells; /* NULL = nowhere */
    struct memtable_cell *cell;
    _Atomic(struct memtable_cell *) *before[MEMTABLE_HEIGHT_MAX];
};

struct memtable_fold;
struct memtable_warmup;
struct memtable_series;

struct memtable {
    atomic_uint_fast64_t reference_count;
    struct memtable_arena arena;
    struct prng prng;     /* heights of towers */
    size_t expected_size; /* of what keys are expected to begin with */
    uint8_t expected[MEMTABLE_EXPECTED_BYTES_MAX];
    struct memtable_row_finger row_finger;
    struct memtable_cell_finger cell_finger;
    struct memtable_warmup *warmup; /* memtable_warmup.h; NULL while the table is small */
    struct memtable_series *series; /* memtable_series.h; the same */
    atomic_size_t series_bytes;
    struct memtable_link heads[MEMTABLE_HEIGHT_MAX];
    atomic_uint height; /* levels in use; a reader may see it too low or too high */
    atomic_uint_fast64_t row_count;
    atomic_uint_fast64_t last_sequence;
    atomic_uint_fast64_t floor;
    uint64_t last_clock;
    struct memtable_version *free_adds[MEMTABLE_CLASS_COUNT];
    struct memtable_fold *sketch_owners; /* folds whose state is on the heap */
    atomic_size_t sketch_bytes;
    pthread_mutex_t stripes[MEMTABLE_STRIPE_COUNT]; /* by cell: memtable_fold.h */
};

static inline struct stamp memtable_version_stamp(const struct memtable_version *version)
{
    return (struct stamp){version->clock, version->cluster, version->index};
}

static inline struct bytes memtable_version_value(const struct memtable_version *version)
{
    return (struct bytes){version->value, version->value_size};
}

/* A cell whose versions are all taken out has none, and stands in its row for the next one. */

/* The newest version that a reader at sequence sees; NULL when there is none.  Not for FOLD. */
static inline const struct memtable_version *memtable_version_at(const struct memtable_cell *cell,
                                                                 uint64_t sequence)
{
    const struct memtable_version *version = atomic_load_explicit(&cell->versions,
                                                                  memory_order_acquire);
    while (version != NULL && version->sequence > sequence) {
        version = atomic_load_explicit(&version->next, memory_order_acquire);
    }
    return version;
}

/* A tower's height: 1, and one more in half of the cases each. */
unsigned memtable_random_height(struct memtable *memtable);

#endif /* TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_NODES_H */

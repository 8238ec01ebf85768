/*
 * Taking out what was never committed: a primary applies at once what others have yet to prepare, and
 * when it is deposed some of that never was (docs/replication.md, section 3).
 *
 * A chain of puts or deletes begins with the newest, so its head moves on; a reader that stands on
 * what was taken out finds its way on from there.  Adds are cut under their lock.  A row whose first
 * change goes has nothing else, and is passed over until it is written to again.  The stamps of the
 * last deletes of rows stay as they are: too high, they only cost a look.
 */
#include "common/base/assert.h"
#include "tabletserver/storage/memtable/memtable.h"
#include "tabletserver/storage/memtable/memtable_cells.h"
#include "tabletserver/storage/memtable/memtable_fold.h"
#include "tabletserver/storage/memtable/memtable_nodes.h"
#include "tabletserver/storage/memtable/memtable_rows.h"

/* Each returns the highest clock that is left in what it goes over; 0 = nothing is left. */

static uint64_t drop_versions(struct memtable_cell *cell, uint64_t sequence)
{
    struct memtable_version *newest = atomic_load_explicit(&cell->versions, memory_order_relaxed);
    struct memtable_version *version = newest;
    while (version != NULL && version->sequence > sequence) {
        version = atomic_load_explicit(&version->next, memory_order_relaxed);
    }
    if (version != newest) {
        atomic_store_explicit(&cell->versions, version, memory_order_release);
    }
    return version != NULL ? version->clock : 0;
}

static uint64_t drop_from_cell(struct memtable *memtable,
                               struct memtable_cell *cell,
                               uint64_t sequence)
{
    return cell->kind == ENTRY_FOLD ? memtable_fold_drop_above(memtable, cell, sequence)
                                    : drop_versions(cell, sequence);
}

static uint64_t drop_from_row(struct memtable *memtable,
                              struct memtable_row *row,
                              uint64_t sequence)
{
    struct memtable_cells *cells = atomic_load_explicit(&row->cells, memory_order_relaxed);
    struct memtable_cell *cell = cells == NULL
                                     ? memtable_row_first_cell(row)
                                     : atomic_load_explicit(&cells->heads[0], memory_order_relaxed);
    uint64_t clock = 0;
    while (cell != NULL) {
        uint64_t left = drop_from_cell(memtable, cell, sequence);
        clock = left > clock ? left : clock;
        cell = cells == NULL ? NULL : atomic_load_explicit(&cell->tower[0], memory_order_relaxed);
    }
    return clock;
}

uint64_t memtable_drop_above(struct memtable *memtable, uint64_t sequence)
{
    ASSERT(sequence >= atomic_load_explicit(&memtable->floor, memory_order_relaxed));
    if (memtable_last_sequence(memtable) <= sequence) {
        return memtable->last_clock;
    }
    uint64_t clock = 0;
    struct memtable_row *row = atomic_load_explicit(&memtable->heads[0].row, memory_order_relaxed);
    for (; row != NULL; row = atomic_load_explicit(&row->links[0].row, memory_order_relaxed)) {
        uint64_t first = memtable_row_first_sequence(row);
        uint64_t left = first == MEMTABLE_ROW_GONE ? 0 : drop_from_row(memtable, row, sequence);
        clock = left > clock ? left : clock;
        if (first != MEMTABLE_ROW_GONE && first > sequence) {
            ASSERT(left == 0);
            memtable_row_drop(memtable, row);
        }
    }
    atomic_store_explicit(&memtable->last_sequence, sequence, memory_order_relaxed);
    memtable->last_clock = clock;
    return clock;
}

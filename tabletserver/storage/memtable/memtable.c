#include "tabletserver/storage/memtable/memtable.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/memtable/memtable_cells.h"
#include "tabletserver/storage/memtable/memtable_fold.h"
#include "tabletserver/storage/memtable/memtable_nodes.h"
#include "tabletserver/storage/memtable/memtable_rows.h"
#include "tabletserver/storage/memtable/memtable_series.h"
#include "tabletserver/storage/memtable/memtable_warmup.h"

#define HEIGHT_SEED UINT64_C(0x6564756262610001)

unsigned memtable_random_height(struct memtable *memtable)
{
    /* A random bit a level; the bit above them all ends the count. */
    uint64_t bits = prng_next(&memtable->prng) | UINT64_C(1) << (MEMTABLE_HEIGHT_MAX - 1);
    return (unsigned)__builtin_ctzll(bits) + 1;
}

static void deinit_stripes(struct memtable *memtable, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_mutex_destroy(&memtable->stripes[i]);
    }
}

enum status memtable_create(struct memtable **ret_memtable)
{
    struct memtable *memtable = memory_allocate_zeroed(1, sizeof *memtable);
    if (memtable == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (unsigned i = 0; i < MEMTABLE_STRIPE_COUNT; i++) {
        if (pthread_mutex_init(&memtable->stripes[i], NULL) != 0) {
            deinit_stripes(memtable, i);
            memory_free(memtable);
            return STATUS_NO_MEMORY;
        }
    }
    atomic_init(&memtable->reference_count, 1);
    memtable_arena_init(&memtable->arena);
    memtable->prng = prng_of_seed(HEIGHT_SEED);
    *ret_memtable = memtable;
    return STATUS_OK;
}

void memtable_expect(struct memtable *memtable, struct bytes prefix)
{
    ASSERT(memtable_row_count(memtable) == 0);
    size_t size = prefix.size_bytes < MEMTABLE_EXPECTED_BYTES_MAX ? prefix.size_bytes
                                                                  : MEMTABLE_EXPECTED_BYTES_MAX;
    if (size > 0) {
        memcpy(memtable->expected, prefix.data, size);
    }
    memtable->expected_size = size;
}

struct memtable *memtable_ref(struct memtable *memtable)
{
    atomic_fetch_add_explicit(&memtable->reference_count, 1, memory_order_relaxed);
    return memtable;
}

void memtable_unref(struct memtable *memtable)
{
    if (memtable == NULL ||
        atomic_fetch_sub_explicit(&memtable->reference_count, 1, memory_order_acq_rel) > 1) {
        return;
    }
    memtable_fold_deinit_all(memtable);
    memtable_warmup_deinit(memtable);
    memtable_series_deinit(memtable);
    memtable_arena_deinit(&memtable->arena);
    deinit_stripes(memtable, MEMTABLE_STRIPE_COUNT);
    memory_free(memtable);
}

/* The most that applying these changes takes from the arena. */
static size_t worst_case_bytes(struct bytes row, const struct change *changes, size_t count)
{
    size_t bytes = memtable_row_size_bytes(row, MEMTABLE_HEIGHT_MAX) +
                   memtable_cells_heads_size_bytes();
    for (size_t i = 0; i < count; i++) {
        bytes += memtable_cell_size_bytes(&changes[i], MEMTABLE_HEIGHT_MAX);
    }
    return bytes;
}

enum status memtable_reserve(struct memtable *memtable,
                             struct bytes row,
                             const struct change *changes,
                             size_t count)
{
    return memtable_arena_reserve(&memtable->arena, worst_case_bytes(row, changes, count));
}

void memtable_cancel(struct memtable *memtable,
                     struct bytes row,
                     const struct change *changes,
                     size_t count)
{
    memtable_arena_cancel(&memtable->arena, worst_case_bytes(row, changes, count));
}

void memtable_foresee(struct memtable *memtable, struct bytes row)
{
    memtable_warmup_push(memtable, row);
}

static struct memtable_cell *make_cell(struct memtable *memtable,
                                       const struct change *change,
                                       unsigned height,
                                       uint64_t sequence,
                                       struct stamp stamp)
{
    void *memory = memtable_arena_take(&memtable->arena, memtable_cell_size_bytes(change, height));
    return memtable_cell_make(memory, change, height, sequence, stamp);
}

/* The row's memory and that of its first cell are one piece. */
static struct memtable_row *make_row(struct memtable *memtable,
                                     struct bytes key,
                                     const struct change *change,
                                     uint64_t sequence,
                                     struct stamp stamp)
{
    unsigned height = memtable_random_height(memtable);
    void *memory = memtable_arena_take(&memtable->arena, memtable_row_size_bytes(key, height) +
                                                             memtable_cell_size_bytes(change, 1));
    struct memtable_row *row = memtable_row_make(memory, key, height, sequence);
    (void)memtable_cell_make(memtable_row_first_cell(row), change, 1, sequence, stamp);
    memtable_row_link(memtable, row);
    return row;
}

static void note_delete(struct memtable_row *row, struct stamp stamp)
{
    struct memtable_cells *cells = atomic_load_explicit(&row->cells, memory_order_relaxed);
    if (cells != NULL) {
        cells->last_delete = stamp_later(cells->last_delete, stamp);
    }
}

/* One change of a row that exists. */
static void apply_change(struct memtable *memtable,
                         struct memtable_row *row,
                         const struct change *change,
                         uint64_t sequence,
                         struct stamp stamp)
{
    struct memtable_position position = memtable_position_of_change(change);
    struct memtable_cell *cell = memtable_cells_find(memtable, row, &position);
    if (cell == NULL) {
        unsigned height = memtable_random_height(memtable);
        cell = make_cell(memtable, change, height, sequence, stamp);
        memtable_cells_link(memtable, row, cell);
    } else if (change->kind == CHANGE_FOLD) {
        memtable_fold_add(memtable, row, cell, change, sequence, stamp);
    } else {
        ASSERT(cell->kind != ENTRY_FOLD); /* a family is plain or aggregate for ever */
        void *memory = memtable_arena_take(&memtable->arena, memtable_version_size_bytes(change));
        memtable_version_push(memory, cell, change, sequence, stamp);
    }
    if (memtable_cell_is_delete(cell)) {
        note_delete(row, stamp);
    }
}

void memtable_apply(struct memtable *memtable,
                    uint64_t sequence,
                    struct stamp stamp,
                    struct bytes row,
                    const struct change *changes,
                    size_t count)
{
    ASSERT(sequence >= memtable_last_sequence(memtable));
    ASSERT(stamp.clock >= memtable->last_clock);
    memtable->last_clock = stamp.clock;
    memtable_arena_begin(&memtable->arena, worst_case_bytes(row, changes, count));
    memtable_warmup_pop(memtable);
    atomic_store_explicit(&memtable->last_sequence, sequence, memory_order_relaxed);
    if (count == 0) {
        return;
    }
    size_t i = 0;
    struct memtable_row *node = memtable_row_find(memtable, row);
    if (node == NULL) {
        node = make_row(memtable, row, &changes[0], sequence, stamp);
        i = 1;
    } else if (memtable_row_first_sequence(node) == MEMTABLE_ROW_GONE) {
        memtable_row_revive(memtable, node, sequence);
    }
    for (; i < count; i++) {
        struct stamp own = stamp;
        own.index += (uint32_t)i;
        apply_change(memtable, node, &changes[i], sequence, own);
    }
}

void memtable_raise_floor(struct memtable *memtable, uint64_t sequence)
{
    if (sequence > atomic_load_explicit(&memtable->floor, memory_order_relaxed)) {
        atomic_store_explicit(&memtable->floor, sequence, memory_order_relaxed);
    }
}

size_t memtable_bytes(const struct memtable *memtable)
{
    return atomic_load_explicit(&memtable->arena.taken_bytes, memory_order_relaxed) +
           atomic_load_explicit(&memtable->sketch_bytes, memory_order_relaxed) +
           atomic_load_explicit(&memtable->series_bytes, memory_order_relaxed);
}

uint64_t memtable_row_count(const struct memtable *memtable)
{
    return atomic_load_explicit(&memtable->row_count, memory_order_relaxed);
}

uint64_t memtable_last_sequence(const struct memtable *memtable)
{
    return atomic_load_explicit(&memtable->last_sequence, memory_order_relaxed);
}

#include "tabletserver/storage/memtable/memtable_cells.h"

#include <string.h>

#include "common/base/assert.h"
#include "tabletserver/storage/memtable/memtable_fold.h"
#include "tabletserver/storage/memtable/memtable_rows.h"

static const enum entry_kind kind_of_change[] = {
    [CHANGE_PUT] = ENTRY_PUT,
    [CHANGE_FOLD] = ENTRY_FOLD,
    [CHANGE_DELETE_CELLS] = ENTRY_COLUMN_DELETE,
    [CHANGE_DELETE_FAMILY] = ENTRY_FAMILY_DELETE,
    [CHANGE_DELETE_ROW] = ENTRY_ROW_DELETE,
};

static enum memtable_rank rank_of_kind(enum entry_kind kind)
{
    switch (kind) {
    case ENTRY_ROW_DELETE:
        return RANK_ROW_DELETE;
    case ENTRY_FAMILY_DELETE:
        return RANK_FAMILY_DELETE;
    case ENTRY_COLUMN_DELETE:
        return RANK_COLUMN_DELETE;
    case ENTRY_PUT:
    case ENTRY_FOLD:
    case ENTRY_ERASE:
        break;
    }
    return RANK_CELL;
}

static size_t extra_size_bytes(enum entry_kind kind)
{
    return kind == ENTRY_COLUMN_DELETE ? sizeof(int64_t)
           : kind == ENTRY_FOLD        ? sizeof(struct memtable_fold)
                                       : 0;
}

static size_t extra_offset(unsigned height)
{
    return offsetof(struct memtable_cell, tower) + height * sizeof(void *);
}

static bool has_qualifier(enum entry_kind kind)
{
    return kind != ENTRY_ROW_DELETE && kind != ENTRY_FAMILY_DELETE;
}

struct bytes memtable_cell_qualifier(const struct memtable_cell *cell)
{
    size_t offset = extra_offset(cell->height) + extra_size_bytes((enum entry_kind)cell->kind);
    return bytes_of((const uint8_t *)cell + offset, cell->qualifier_size);
}

int64_t memtable_cell_end_us(const struct memtable_cell *cell)
{
    int64_t end_us = 0;
    memcpy(&end_us, (const uint8_t *)cell + extra_offset(cell->height), sizeof end_us);
    return end_us;
}

struct memtable_fold *memtable_cell_fold(const struct memtable_cell *cell)
{
    ASSERT(cell->kind == ENTRY_FOLD);
    uintptr_t address = (uintptr_t)cell + extra_offset(cell->height);
    return (struct memtable_fold *)address;
}

bool memtable_cell_is_delete(const struct memtable_cell *cell)
{
    return cell->kind < ENTRY_PUT;
}

struct memtable_position memtable_position_of_change(const struct change *change)
{
    enum entry_kind kind = kind_of_change[change->kind];
    bool is_column_delete = kind == ENTRY_COLUMN_DELETE;
    return (struct memtable_position){
        .rank = rank_of_kind(kind),
        .family = kind == ENTRY_ROW_DELETE ? 0 : change->family,
        .qualifier = has_qualifier(kind) ? change->qualifier : BYTES_EMPTY,
        .timestamp_us = is_column_delete ? change->start_us : change->timestamp_us,
        .end_us = is_column_delete ? change->end_us : 0,
    };
}

static int compare_descending(int64_t a, int64_t b)
{
    return (a < b) - (a > b);
}

int memtable_position_compare(const struct memtable_position *position,
                              const struct memtable_cell *cell)
{
    enum memtable_rank rank = rank_of_kind((enum entry_kind)cell->kind);
    if (position->rank == RANK_ROW_DELETE || rank == RANK_ROW_DELETE) {
        return (int)position->rank - (int)rank;
    }
    if (position->family != cell->family) {
        return position->family < cell->family ? -1 : 1;
    }
    if (position->rank == RANK_FAMILY_DELETE || rank == RANK_FAMILY_DELETE) {
        return (int)position->rank - (int)rank;
    }
    int order = bytes_compare(position->qualifier, memtable_cell_qualifier(cell));
    if (order != 0) {
        return order;
    }
    if (position->rank != rank) {
        return (int)position->rank - (int)rank;
    }
    order = compare_descending(position->timestamp_us, cell->timestamp_us);
    if (order != 0 || rank != RANK_COLUMN_DELETE) {
        return order;
    }
    return compare_descending(position->end_us, memtable_cell_end_us(cell));
}

bool memtable_cell_is_of_column(const struct memtable_cell *cell,
                                uint32_t family,
                                struct bytes qualifier)
{
    return cell->family == family && has_qualifier((enum entry_kind)cell->kind) &&
           bytes_equal(memtable_cell_qualifier(cell), qualifier);
}

static size_t version_bytes(size_t value_size)
{
    return (offsetof(struct memtable_version, value) + value_size + 7) & ~(size_t)7;
}

static bool has_value(const struct change *change)
{
    return change->kind == CHANGE_PUT || change->kind == CHANGE_FOLD;
}

size_t memtable_version_size_bytes(const struct change *change)
{
    return version_bytes(has_value(change) ? change->value.size_bytes : 0);
}

/* Where the first version lies. */
static size_t version_offset(enum entry_kind kind, unsigned height, size_t qualifier_size)
{
    return (extra_offset(height) + extra_size_bytes(kind) + qualifier_size + 7) & ~(size_t)7;
}

size_t memtable_cell_size_bytes(const struct change *change, unsigned height)
{
    enum entry_kind kind = kind_of_change[change->kind];
    size_t qualifier_size = has_qualifier(kind) ? change->qualifier.size_bytes : 0;
    size_t version_size = memtable_version_size_bytes(change);
    if (kind == ENTRY_FOLD) {
        version_size = version_bytes(memtable_add_capacity_bytes(change->value.size_bytes));
    }
    return version_offset(kind, height, qualifier_size) + version_size;
}

static struct memtable_version *version_make(void *memory,
                                             const struct change *change,
                                             uint64_t sequence,
                                             struct stamp stamp,
                                             struct memtable_version *next)
{
    struct memtable_version *version = memory;
    atomic_init(&version->next, next);
    version->sequence = sequence;
    version->clock = stamp.clock;
    version->cluster = stamp.cluster;
    version->index = stamp.index;
    version->value_size = has_value(change) ? (uint32_t)change->value.size_bytes : 0;
    if (version->value_size > 0) {
        memcpy(version->value, change->value.data, version->value_size);
    }
    return version;
}

struct memtable_cell *memtable_cell_make(void *memory,
                                         const struct change *change,
                                         unsigned height,
                                         uint64_t sequence,
                                         struct stamp stamp)
{
    struct memtable_position position = memtable_position_of_change(change);
    enum entry_kind kind = kind_of_change[change->kind];
    struct memtable_cell *cell = memory;
    cell->family = position.family;
    cell->qualifier_size = (uint16_t)position.qualifier.size_bytes;
    cell->kind = (uint8_t)kind;
    cell->height = (uint8_t)height;
    cell->timestamp_us = position.timestamp_us;
    for (unsigned level = 0; level < height; level++) {
        atomic_init(&cell->tower[level], NULL);
    }
    uint8_t *extra = (uint8_t *)memory + extra_offset(height);
    if (kind == ENTRY_COLUMN_DELETE) {
        memcpy(extra, &position.end_us, sizeof position.end_us);
    }
    if (cell->qualifier_size > 0) {
        memcpy(extra + extra_size_bytes(kind), position.qualifier.data, cell->qualifier_size);
    }
    void *version = (uint8_t *)memory + version_offset(kind, height, cell->qualifier_size);
    atomic_init(&cell->versions, version_make(version, change, sequence, stamp, NULL));
    if (kind == ENTRY_FOLD) {
        memtable_fold_init(cell, change->aggregate);
    }
    return cell;
}

void memtable_version_push(void *memory,
                           struct memtable_cell *cell,
                           const struct change *change,
                           uint64_t sequence,
                           struct stamp stamp)
{
    struct memtable_version *older = atomic_load_explicit(&cell->versions, memory_order_relaxed);
    struct memtable_version *version = version_make(memory, change, sequence, stamp, older);
    atomic_store_explicit(&cell->versions, version, memory_order_release);
}

const struct memtable_cell *memtable_cells_seek(const struct memtable_row *row,
                                                const struct memtable_position *position)
{
    const struct memtable_cells *cells = atomic_load_explicit(&row->cells, memory_order_acquire);
    if (cells == NULL) {
        const struct memtable_cell *only = memtable_row_first_cell(row);
        return memtable_position_compare(position, only) <= 0 ? only : NULL;
    }
    const _Atomic(struct memtable_cell *) *tower = cells->heads;
    const struct memtable_cell *next = NULL;
    for (unsigned level = cells->height; level-- > 0;) {
        next = atomic_load_explicit(&tower[level], memory_order_acquire);
        while (next != NULL && memtable_position_compare(position, next) > 0) {
            tower = next->tower;
            next = atomic_load_explicit(&tower[level], memory_order_acquire);
        }
    }
    return next;
}

/* The level from which to search down from the finger; 0 = it is right already. */
static unsigned climb(const struct memtable_cell_finger *finger,
                      const struct memtable_position *position)
{
    unsigned level = 0;
    while (level < finger->cells->height) {
        const struct memtable_cell *next = atomic_load_explicit(&finger->before[level][level],
                                                                memory_order_relaxed);
        if (next == NULL || memtable_position_compare(position, next) < 0) {
            break;
        }
        level++;
    }
    return level;
}

struct memtable_cell *memtable_cells_find(struct memtable *memtable,
                                          struct memtable_row *row,
                                          const struct memtable_position *position)
{
    struct memtable_cell_finger *finger = &memtable->cell_finger;
    struct memtable_cells *cells = atomic_load_explicit(&row->cells, memory_order_relaxed);
    if (cells == NULL) {
        struct memtable_cell *only = memtable_row_first_cell(row);
        return memtable_position_compare(position, only) == 0 ? only : NULL;
    }
    bool is_near = finger->cells == cells && finger->cell != NULL &&
                   memtable_position_compare(position, finger->cell) >= 0;
    struct memtable_cell *found = is_near ? finger->cell : NULL;
    unsigned level = is_near ? climb(finger, position) : cells->height;
    _Atomic(struct memtable_cell *) *tower = cells->heads;
    bool moved = !is_near;
    while (level-- > 0) {
        tower = moved ? tower : finger->before[level];
        struct memtable_cell *next = atomic_load_explicit(&tower[level], memory_order_relaxed);
        while (next != NULL && memtable_position_compare(position, next) >= 0) {
            found = next;
            tower = next->tower;
            moved = true;
            next = atomic_load_explicit(&tower[level], memory_order_relaxed);
        }
        finger->before[level] = tower;
    }
    finger->cells = cells;
    finger->cell = found;
    return found != NULL && memtable_position_compare(position, found) == 0 ? found : NULL;
}

static size_t heads_bytes(unsigned height)
{
    return offsetof(struct memtable_cells, heads) + height * sizeof(void *);
}

size_t memtable_cells_heads_size_bytes(void)
{
    return heads_bytes(MEMTABLE_HEIGHT_SMALL) + heads_bytes(MEMTABLE_HEIGHT_MAX);
}

static struct stamp newest_stamp(const struct memtable_cell *cell)
{
    const struct memtable_version *newest = atomic_load_explicit(&cell->versions,
                                                                 memory_order_relaxed);
    return newest != NULL ? memtable_version_stamp(newest) : STAMP_OLDEST;
}

/* Heads for the row's list: the first ones, or higher ones with what the old ones hold. */
static struct memtable_cells *make_heads(struct memtable *memtable,
                                         struct memtable_row *row,
                                         unsigned height)
{
    struct memtable_cells *old = atomic_load_explicit(&row->cells, memory_order_relaxed);
    struct memtable_cells *cells = memtable_arena_take(&memtable->arena, heads_bytes(height));
    cells->height = height;
    for (unsigned level = 0; level < height; level++) {
        atomic_init(&cells->heads[level], NULL);
    }
    if (old == NULL) {
        struct memtable_cell *first = memtable_row_first_cell(row);
        atomic_init(&cells->heads[0], first);
        cells->last_delete = memtable_cell_is_delete(first) ? newest_stamp(first) : STAMP_OLDEST;
        ASSERT(first->height == 1);
    } else {
        cells->last_delete = old->last_delete;
        for (unsigned level = 0; level < old->height; level++) {
            atomic_init(&cells->heads[level],
                        atomic_load_explicit(&old->heads[level], memory_order_relaxed));
        }
    }
    return cells;
}

void memtable_cells_link(struct memtable *memtable,
                         struct memtable_row *row,
                         struct memtable_cell *cell)
{
    struct memtable_cell_finger *finger = &memtable->cell_finger;
    struct memtable_cells *cells = atomic_load_explicit(&row->cells, memory_order_relaxed);
    if (cells == NULL || cell->height > cells->height) {
        struct memtable_cells *higher = make_heads(
            memtable, row,
            cell->height > MEMTABLE_HEIGHT_SMALL ? MEMTABLE_HEIGHT_MAX : MEMTABLE_HEIGHT_SMALL);
        atomic_store_explicit(&row->cells, higher, memory_order_release);
        cells = higher;
        struct memtable_position position = {
            .rank = rank_of_kind((enum entry_kind)cell->kind),
            .family = cell->family,
            .qualifier = memtable_cell_qualifier(cell),
            .timestamp_us = cell->timestamp_us,
            .end_us = cell->kind == ENTRY_COLUMN_DELETE ? memtable_cell_end_us(cell) : 0,
        };
        (void)memtable_cells_find(memtable, row, &position); /* the finger stood in the old heads */
    }
    ASSERT(finger->cells == cells);
    for (unsigned level = 0; level < cell->height; level++) {
        _Atomic(struct memtable_cell *) *before = &finger->before[level][level];
        atomic_init(&cell->tower[level], atomic_load_explicit(before, memory_order_relaxed));
        atomic_store_explicit(before, cell, memory_order_release);
        finger->before[level] = cell->tower;
    }
    finger->cell = cell;
}

static bool is_below_end(int64_t timestamp_us, int64_t end_us)
{
    return timestamp_us < end_us || end_us == INT64_MAX; /* for ever */
}

struct stamp memtable_cells_covered(const struct memtable_row *row,
                                    const struct memtable_cell *cell,
                                    uint64_t sequence)
{
    struct stamp covered = STAMP_OLDEST;
    struct memtable_position position = {.rank = RANK_ROW_DELETE};
    const struct memtable_cell *at = memtable_cells_seek(row, &position);
    const struct memtable_version *version = NULL;
    if (at->kind == ENTRY_ROW_DELETE && (version = memtable_version_at(at, sequence)) != NULL) {
        covered = memtable_version_stamp(version);
    }
    position = (struct memtable_position){.rank = RANK_FAMILY_DELETE, .family = cell->family};
    at = memtable_cells_seek(row, &position);
    if (at->kind == ENTRY_FAMILY_DELETE && at->family == cell->family &&
        (version = memtable_version_at(at, sequence)) != NULL) {
        covered = stamp_later(covered, memtable_version_stamp(version));
    }
    position = (struct memtable_position){
        .rank = RANK_COLUMN_DELETE,
        .family = cell->family,
        .qualifier = memtable_cell_qualifier(cell),
        .timestamp_us = INT64_MAX,
        .end_us = INT64_MAX,
    };
    /* The cell itself lies behind all of these, so the list does not end before it. */
    for (at = memtable_cells_seek(row, &position);
         at->kind == ENTRY_COLUMN_DELETE &&
         memtable_cell_is_of_column(at, cell->family, position.qualifier);
         at = atomic_load_explicit(&at->tower[0], memory_order_acquire)) {
        if (at->timestamp_us <= cell->timestamp_us &&
            is_below_end(cell->timestamp_us, memtable_cell_end_us(at)) &&
            (version = memtable_version_at(at, sequence)) != NULL) {
            covered = stamp_later(covered, memtable_version_stamp(version));
        }
    }
    return covered;
}

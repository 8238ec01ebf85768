#include "tabletserver/storage/memtable/memtable_fold.h"

#include <string.h>

#include "common/aggregate/aggregate.h"
#include "common/base/assert.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "tabletserver/storage/memtable/memtable_cells.h"

#define INTEGER_STATE_BYTES  8
#define BATCH_COUNT_MIN      16
#define BATCH_COUNT_MAX      4096
#define SKETCH_BYTES_A_BATCH 512 /* one more add a batch for every so many bytes of state */
#define SKETCH_CAPACITY_MIN  512
#define PIECE_SIZE_BYTES     4
#define NOT_RECYCLED         MEMTABLE_CLASS_COUNT

/* --- sizes and recycling of adds ----------------------------------------------------------------- */

/* Adds hold 8, 16, 32 ... bytes; those above the last class are not used again. */
static unsigned class_of_size(size_t size_bytes)
{
    unsigned class = 0;
    while (class < MEMTABLE_CLASS_COUNT && ((size_t)INTEGER_STATE_BYTES << class) < size_bytes) {
        class ++;
    }
    return class;
}

size_t memtable_add_capacity_bytes(size_t operand_size_bytes)
{
    unsigned class = class_of_size(operand_size_bytes);
    return class == NOT_RECYCLED ? operand_size_bytes : (size_t)INTEGER_STATE_BYTES << class;
}

size_t memtable_fold_add_size_bytes(const struct change *change)
{
    size_t capacity = memtable_add_capacity_bytes(change->value.size_bytes);
    return (offsetof(struct memtable_version, value) + capacity + 7) & ~(size_t)7;
}

static struct memtable_version *take_add(struct memtable *memtable, const struct change *change)
{
    unsigned class = class_of_size(change->value.size_bytes);
    struct memtable_version *add = class < NOT_RECYCLED ? memtable->free_adds[class] : NULL;
    if (add == NULL) {
        return memtable_arena_take(&memtable->arena, memtable_fold_add_size_bytes(change));
    }
    memtable->free_adds[class] = atomic_load_explicit(&add->next, memory_order_relaxed);
    return add;
}

/* The add is unlinked and no reader can be at it: the caller holds the stripe lock. */
static void recycle_add(struct memtable *memtable, struct memtable_version *add)
{
    unsigned class = class_of_size(add->value_size);
    if (class < NOT_RECYCLED) {
        atomic_store_explicit(&add->next, memtable->free_adds[class], memory_order_relaxed);
        memtable->free_adds[class] = add;
    }
}

/* --- the state ----------------------------------------------------------------------------------- */

void memtable_fold_init(struct memtable_cell *cell, enum aggregate_kind aggregate)
{
    *memtable_cell_fold(cell) = (struct memtable_fold){
        .tail = atomic_load_explicit(&cell->versions, memory_order_relaxed),
        .batch_count = BATCH_COUNT_MIN,
        .aggregate = (uint16_t)aggregate,
    };
}

static pthread_mutex_t *stripe_of(struct memtable *memtable, const struct memtable_cell *cell)
{
    uintptr_t mixed = ((uintptr_t)cell >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    return &memtable->stripes[(mixed >> 32) % MEMTABLE_STRIPE_COUNT];
}

static struct memtable_version *base_of(const struct memtable_cell *cell)
{
    return atomic_load_explicit(&cell->versions, memory_order_acquire);
}

static struct memtable_version *next_of(const struct memtable_version *version)
{
    return atomic_load_explicit(&version->next, memory_order_acquire);
}

static struct bytes state_of(const struct memtable_fold *fold, const struct memtable_version *base)
{
    return fold->sketch != NULL ? bytes_of(fold->sketch->data, fold->sketch->size_bytes)
                                : memtable_version_value(base);
}

/* Make `state` the base's state if there is room for it.  Under the lock. */
static bool replace_state(struct memtable_fold *fold,
                          struct memtable_version *base,
                          struct bytes state)
{
    if (fold->sketch != NULL) {
        if (state.size_bytes > fold->sketch->capacity_bytes) {
            return false;
        }
        memcpy(fold->sketch->data, state.data, state.size_bytes);
        fold->sketch->size_bytes = (uint32_t)state.size_bytes;
        return true;
    }
    /* Its room is at least that of the size it has now. */
    if (state.size_bytes > memtable_add_capacity_bytes(base->value_size)) {
        return false;
    }
    if (state.size_bytes > 0) {
        memcpy(base->value, state.data, state.size_bytes);
    }
    base->value_size = (uint32_t)state.size_bytes;
    return true;
}

static bool merge_in_place(const struct memtable_fold *fold,
                           struct memtable_version *base,
                           struct bytes operand)
{
    enum aggregate_kind kind = (enum aggregate_kind)fold->aggregate;
    uint8_t *state = fold->sketch != NULL ? fold->sketch->data : base->value;
    return aggregate_merge_in_place(kind, state, state_of(fold, base).size_bytes, operand);
}

static bool is_older(const struct memtable_version *version, struct stamp covered)
{
    return stamp_compare(memtable_version_stamp(version), covered) < 0;
}

static void take_over_identity(struct memtable_version *base, const struct memtable_version *add)
{
    base->sequence = add->sequence;
    base->clock = add->clock;
    base->cluster = add->cluster;
    base->index = add->index;
}

/* Unlink and recycle the first pending add.  Under the lock. */
static void drop_first(struct memtable *memtable,
                       struct memtable_fold *fold,
                       struct memtable_version *base)
{
    struct memtable_version *add = next_of(base);
    atomic_store_explicit(&base->next, next_of(add), memory_order_release);
    fold->tail = fold->tail == add ? base : fold->tail;
    fold->pending_count--;
    recycle_add(memtable, add);
}

/* Fold the first pending add where the state lies; false if the state has to grow.  Under the
 * lock. */
static bool fold_first(struct memtable_fold *fold,
                       struct memtable_version *base,
                       struct stamp covered)
{
    struct memtable_version *add = next_of(base);
    if (is_older(add, covered)) {
        return true; /* dead for everyone */
    }
    struct bytes operand = memtable_version_value(add);
    bool is_fresh = is_older(base, covered) || state_of(fold, base).size_bytes == 0;
    bool is_done = is_fresh ? replace_state(fold, base, operand)
                            : merge_in_place(fold, base, operand);
    if (is_done) {
        take_over_identity(base, add);
    }
    return is_done;
}

static bool is_foldable(const struct memtable_version *add, uint64_t floor)
{
    return add != NULL && add->sequence <= floor;
}

/* --- sketches that have to grow ------------------------------------------------------------------ */

/* Merge b into *from, giving *to, and swap the two. */
static enum status merge_step(const struct memtable_fold *fold,
                              struct buffer **from,
                              struct buffer **to,
                              struct bytes b)
{
    enum aggregate_kind kind = (enum aggregate_kind)fold->aggregate;
    enum status status = aggregate_merge(kind, buffer_bytes(*from), b, *to);
    if (status == STATUS_OK) {
        struct buffer *swap = *from;
        *from = *to;
        *to = swap;
    }
    return status;
}

/* Merge what may be folded: first the adds, which are small, then the state.  The writer alone
 * changes them, so it needs no lock to look. */
static enum status merge_batch(const struct memtable_fold *fold,
                               const struct memtable_version *base,
                               uint64_t floor,
                               struct stamp covered,
                               struct buffer **from,
                               struct buffer **to)
{
    enum status status = STATUS_OK;
    for (const struct memtable_version *add = next_of(base);
         is_foldable(add, floor) && status == STATUS_OK; add = next_of(add)) {
        if (!is_older(add, covered)) {
            status = merge_step(fold, from, to, memtable_version_value(add));
        }
    }
    if (status == STATUS_OK && !is_older(base, covered)) {
        status = merge_step(fold, from, to, state_of(fold, base));
    }
    return status;
}

/* A heap state with room for size_bytes; NULL if the present one will do or memory ran out. */
static struct memtable_sketch *make_sketch(const struct memtable_sketch *old, size_t size_bytes)
{
    size_t capacity = old != NULL ? old->capacity_bytes : SKETCH_CAPACITY_MIN;
    while (capacity < size_bytes) {
        capacity += capacity / 2;
    }
    struct memtable_sketch *sketch = capacity <= UINT32_MAX
                                         ? memory_allocate(sizeof *sketch + capacity)
                                         : NULL;
    if (sketch != NULL) {
        *sketch = (struct memtable_sketch){.capacity_bytes = (uint32_t)capacity};
    }
    return sketch;
}

static void count_sketch(struct memtable *memtable, size_t added_bytes, size_t freed_bytes)
{
    size_t bytes = atomic_load_explicit(&memtable->sketch_bytes, memory_order_relaxed);
    atomic_store_explicit(&memtable->sketch_bytes, bytes + added_bytes - freed_bytes,
                          memory_order_relaxed);
}

/* Put a state that was merged outside the lock in its place. */
static bool install_state(struct memtable *memtable,
                          struct memtable_cell *cell,
                          struct bytes state,
                          uint64_t floor)
{
    struct memtable_fold *fold = memtable_cell_fold(cell);
    struct memtable_version *base = base_of(cell);
    struct memtable_sketch *old = fold->sketch;
    struct memtable_sketch *sketch = NULL;
    if (old == NULL || old->capacity_bytes < state.size_bytes) {
        sketch = make_sketch(old, state.size_bytes);
        if (sketch == NULL) {
            return false;
        }
    }
    pthread_mutex_t *lock = stripe_of(memtable, cell);
    if (pthread_mutex_trylock(lock) != 0) {
        memory_free(sketch);
        return false;
    }
    fold->sketch = sketch != NULL ? sketch : old;
    bool is_done = replace_state(fold, base, state);
    ASSERT(is_done);
    while (is_foldable(next_of(base), floor)) {
        take_over_identity(base, next_of(base));
        drop_first(memtable, fold, base);
    }
    (void)pthread_mutex_unlock(lock);
    if (sketch != NULL) {
        if (old == NULL) {
            fold->next_owner = memtable->sketch_owners;
            memtable->sketch_owners = fold;
        }
        count_sketch(memtable, sizeof *sketch + sketch->capacity_bytes,
                     old != NULL ? sizeof *old + old->capacity_bytes : 0);
        memory_free(old);
    }
    return true;
}

/* Nothing is lost when this fails: the adds stay pending, and it is tried again at twice as many. */
static void fold_batch(struct memtable *memtable,
                       struct memtable_cell *cell,
                       uint64_t floor,
                       struct stamp covered)
{
    struct memtable_fold *fold = memtable_cell_fold(cell);
    struct buffer buffers[2] = {BUFFER_INIT, BUFFER_INIT};
    struct buffer *from = &buffers[0];
    struct buffer *to = &buffers[1];
    enum status status = merge_batch(fold, base_of(cell), floor, covered, &from, &to);
    bool is_done = status == STATUS_OK && install_state(memtable, cell, buffer_bytes(from), floor);
    size_t batch = is_done ? fold->pending_count + BATCH_COUNT_MIN +
                                 state_of(fold, base_of(cell)).size_bytes / SKETCH_BYTES_A_BATCH
                           : 2 * (size_t)fold->pending_count;
    fold->batch_count = (uint16_t)(batch < BATCH_COUNT_MAX ? batch : BATCH_COUNT_MAX);
    buffer_deinit(&buffers[0]);
    buffer_deinit(&buffers[1]);
}

/* --- the writer ---------------------------------------------------------------------------------- */

/* Fold what the floor allows by now. */
static void settle(struct memtable *memtable,
                   const struct memtable_row *row,
                   struct memtable_cell *cell)
{
    struct memtable_fold *fold = memtable_cell_fold(cell);
    struct memtable_version *base = base_of(cell);
    uint64_t floor = atomic_load_explicit(&memtable->floor, memory_order_relaxed);
    if (!is_foldable(next_of(base), floor)) {
        return;
    }
    struct memtable_cells *cells = atomic_load_explicit(&row->cells, memory_order_relaxed);
    bool may_be_covered = cells != NULL &&
                          stamp_compare(cells->last_delete, memtable_version_stamp(base)) > 0;
    struct stamp covered = may_be_covered ? memtable_cells_covered(row, cell, floor) : STAMP_OLDEST;

    pthread_mutex_t *lock = stripe_of(memtable, cell);
    if (pthread_mutex_trylock(lock) != 0) {
        return;
    }
    while (is_foldable(next_of(base), floor) && fold_first(fold, base, covered)) {
        drop_first(memtable, fold, base);
    }
    (void)pthread_mutex_unlock(lock);
    if (fold->pending_count >= fold->batch_count && is_foldable(next_of(base), floor)) {
        fold_batch(memtable, cell, floor, covered);
    }
}

void memtable_fold_add(struct memtable *memtable,
                       const struct memtable_row *row,
                       struct memtable_cell *cell,
                       const struct change *change,
                       uint64_t sequence,
                       struct stamp stamp)
{
    struct memtable_fold *fold = memtable_cell_fold(cell);
    ASSERT(change->aggregate == (enum aggregate_kind)fold->aggregate);
    struct memtable_version *add = take_add(memtable, change);
    atomic_store_explicit(&add->next, NULL, memory_order_relaxed);
    add->sequence = sequence;
    add->clock = stamp.clock;
    add->cluster = stamp.cluster;
    add->index = stamp.index;
    add->value_size = (uint32_t)change->value.size_bytes;
    if (add->value_size > 0) {
        memcpy(add->value, change->value.data, add->value_size);
    }
    if (base_of(cell) == NULL) { /* all that there was has been taken out */
        atomic_store_explicit(&cell->versions, add, memory_order_release);
        fold->tail = add;
        return;
    }
    atomic_store_explicit(&fold->tail->next, add, memory_order_release);
    fold->tail = add;
    fold->pending_count++;
    settle(memtable, row, cell);
}

/* Behind `kept`, or all of the chain (NULL).  The base's memory is the cell's own, and not used again.
 * Under the lock. */
static void cut_chain(struct memtable *memtable,
                      struct memtable_cell *cell,
                      struct memtable_version *kept)
{
    struct memtable_fold *fold = memtable_cell_fold(cell);
    struct memtable_version *base = base_of(cell);
    struct memtable_version *add = next_of(kept != NULL ? kept : base);
    if (kept != NULL) {
        atomic_store_explicit(&kept->next, NULL, memory_order_release);
    } else {
        ASSERT(fold->sketch == NULL); /* that would be a folded state */
        atomic_store_explicit(&cell->versions, NULL, memory_order_release);
    }
    while (add != NULL) {
        struct memtable_version *next = next_of(add);
        fold->pending_count--;
        recycle_add(memtable, add);
        add = next;
    }
    fold->tail = kept;
}

uint64_t memtable_fold_drop_above(struct memtable *memtable,
                                  struct memtable_cell *cell,
                                  uint64_t sequence)
{
    pthread_mutex_t *lock = stripe_of(memtable, cell);
    (void)pthread_mutex_lock(lock);
    struct memtable_version *kept = NULL;
    struct memtable_version *next = base_of(cell);
    while (next != NULL && next->sequence <= sequence) {
        kept = next;
        next = next_of(next);
    }
    if (next != NULL) {
        cut_chain(memtable, cell, kept);
    }
    (void)pthread_mutex_unlock(lock);
    return kept != NULL ? kept->clock : 0;
}

void memtable_fold_deinit_all(struct memtable *memtable)
{
    for (struct memtable_fold *fold = memtable->sketch_owners; fold != NULL;
         fold = fold->next_owner) {
        memory_free(fold->sketch);
    }
    memtable->sketch_owners = NULL;
}

/* --- readers ------------------------------------------------------------------------------------- */

void memtable_fold_reader_init(struct memtable_fold_reader *reader)
{
    *reader = (struct memtable_fold_reader){BUFFER_INIT, {BUFFER_INIT, BUFFER_INIT}};
}

void memtable_fold_reader_deinit(struct memtable_fold_reader *reader)
{
    buffer_deinit(&reader->pieces);
    buffer_deinit(&reader->merged[0]);
    buffer_deinit(&reader->merged[1]);
}

static void append_piece(struct buffer *pieces, struct bytes state)
{
    uint8_t size[PIECE_SIZE_BYTES];
    store_le32(size, (uint32_t)state.size_bytes);
    buffer_append(pieces, size, sizeof size);
    buffer_append_bytes(pieces, state);
}

/* Copy the visible states out, newest last; integers are folded on the way into one piece. */
static bool copy_pieces(const struct memtable_cell *cell,
                        uint64_t sequence,
                        struct stamp covered,
                        struct buffer *pieces,
                        struct stamp *ret_stamp)
{
    const struct memtable_fold *fold = memtable_cell_fold(cell);
    enum aggregate_kind kind = (enum aggregate_kind)fold->aggregate;
    const struct memtable_version *base = base_of(cell);
    bool found = false;
    for (const struct memtable_version *version = base;
         version != NULL && version->sequence <= sequence; version = next_of(version)) {
        if (is_older(version, covered)) {
            continue;
        }
        struct bytes state = version == base ? state_of(fold, base)
                                             : memtable_version_value(version);
        bool is_merged = found && aggregate_is_integer(kind) &&
                         pieces->size_bytes == PIECE_SIZE_BYTES + INTEGER_STATE_BYTES &&
                         aggregate_merge_in_place(kind, pieces->data + PIECE_SIZE_BYTES,
                                                  INTEGER_STATE_BYTES, state);
        if (!is_merged) {
            append_piece(pieces, state);
        }
        *ret_stamp = memtable_version_stamp(version);
        found = true;
    }
    return found;
}

/* Merge the pieces into one state: from the second on, which are small, and the first at last. */
static enum status merge_pieces(enum aggregate_kind kind,
                                struct memtable_fold_reader *reader,
                                struct bytes *ret_state)
{
    const uint8_t *at = reader->pieces.data;
    const uint8_t *end = at + reader->pieces.size_bytes;
    struct bytes first = bytes_of(at + PIECE_SIZE_BYTES, load_le32(at));
    at = first.data + first.size_bytes;
    if (at == end) {
        *ret_state = first;
        return STATUS_OK;
    }
    struct bytes state = BYTES_EMPTY;
    unsigned turn = 0;
    for (bool is_last = false; !is_last; turn = 1 - turn) {
        is_last = at == end;
        struct bytes piece = first;
        if (!is_last) {
            piece = bytes_of(at + PIECE_SIZE_BYTES, load_le32(at));
            at = piece.data + piece.size_bytes;
        }
        enum status status = aggregate_merge(kind, state, piece, &reader->merged[turn]);
        if (status != STATUS_OK) {
            return status == STATUS_NO_MEMORY ? STATUS_NO_MEMORY : STATUS_CORRUPT;
        }
        state = buffer_bytes(&reader->merged[turn]);
    }
    *ret_state = state;
    return STATUS_OK;
}

enum status memtable_fold_read(struct memtable *memtable,
                               const struct memtable_cell *cell,
                               uint64_t sequence,
                               struct stamp covered,
                               struct memtable_fold_reader *reader,
                               struct bytes *ret_state,
                               struct stamp *ret_stamp,
                               bool *ret_found)
{
    struct stamp stamp = STAMP_OLDEST;
    buffer_reset(&reader->pieces);
    pthread_mutex_t *lock = stripe_of(memtable, cell);
    (void)pthread_mutex_lock(lock);
    bool found = copy_pieces(cell, sequence, covered, &reader->pieces, &stamp);
    enum aggregate_kind kind = (enum aggregate_kind)memtable_cell_fold(cell)->aggregate;
    (void)pthread_mutex_unlock(lock);
    if (reader->pieces.failed) {
        return STATUS_NO_MEMORY;
    }
    if (!found) {
        *ret_found = false;
        return STATUS_OK;
    }
    struct bytes state = BYTES_EMPTY;
    enum status status = merge_pieces(kind, reader, &state);
    if (status == STATUS_OK) {
        *ret_state = state;
        *ret_stamp = stamp;
        *ret_found = true;
    }
    return status;
}

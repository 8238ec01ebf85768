/* The counted parts that a tablet's layers are made of: memtables, pieces, range deletes. */
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

enum status store_layer_create(uint64_t owner, struct store_layer **ret_layer)
{
    struct store_layer *layer = memory_allocate_zeroed(1, sizeof *layer);
    if (layer == NULL) {
        return STATUS_NO_MEMORY;
    }
    enum status status = memtable_create(&layer->memtable);
    if (status != STATUS_OK) {
        memory_free(layer);
        return status;
    }
    atomic_init(&layer->references, 1);
    atomic_init(&layer->first_position, STORE_POSITION_NONE);
    atomic_init(&layer->bytes, 0);
    atomic_init(&layer->doomed_bytes, 0);
    layer->owner = owner;
    buffer_init(&layer->dedupe);
    *ret_layer = layer;
    return STATUS_OK;
}

struct store_layer *store_layer_ref(struct store_layer *layer)
{
    atomic_fetch_add_explicit(&layer->references, 1, memory_order_relaxed);
    return layer;
}

void store_layer_unref(struct store *store, struct store_layer *layer)
{
    if (atomic_fetch_sub_explicit(&layer->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    atomic_fetch_sub(&store->memory_bytes, atomic_load(&layer->bytes));
    if (atomic_load(&store->room_wanted)) {
        store->callbacks.wake(store->callbacks.context);
    }
    if (layer->frozen) {
        atomic_fetch_sub(&store->frozen_bytes, atomic_load(&layer->bytes));
    }
    store_collect_forget(store, layer);
    memtable_unref(layer->memtable);
    buffer_deinit(&layer->dedupe);
    memory_free(layer);
}

/* Copy bytes to *at and move on. */
static struct bytes carry(uint8_t **at, struct bytes bytes)
{
    struct bytes copy = {*at, bytes.size_bytes};
    if (bytes.size_bytes > 0) {
        memcpy(*at, bytes.data, bytes.size_bytes);
    }
    *at += bytes.size_bytes;
    return copy;
}

static size_t range_bytes(const struct row_range *range)
{
    return range->start.size_bytes + range->end.size_bytes;
}

static bool clip(const struct row_range *of, const struct row_range *to, struct row_range *ret)
{
    if (to == NULL) {
        *ret = *of;
        return true;
    }
    return row_range_intersect(of, to, ret);
}

struct store_pieces *store_pieces_create(const struct base_piece *pieces,
                                         uint32_t count,
                                         const struct row_range *range)
{
    /* An intersection's bounds are bounds of the two: twice the bytes are always enough. */
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        bytes += range_bytes(&pieces[i].range) + (range != NULL ? range_bytes(range) : 0);
    }
    struct store_pieces *copy = memory_allocate(sizeof *copy + count * sizeof(struct base_piece) +
                                                bytes);
    if (copy == NULL) {
        return NULL;
    }
    atomic_init(&copy->references, 1);
    copy->count = 0;
    uint8_t *at = (uint8_t *)&copy->pieces[count];
    for (uint32_t i = 0; i < count; i++) {
        struct row_range inside;
        if (clip(&pieces[i].range, range, &inside)) {
            struct base_piece *piece = &copy->pieces[copy->count++];
            piece->extent = pieces[i].extent;
            piece->range.start = carry(&at, inside.start);
            piece->range.end = carry(&at, inside.end);
        }
    }
    return copy;
}

struct store_pieces *store_pieces_ref(struct store_pieces *pieces)
{
    atomic_fetch_add_explicit(&pieces->references, 1, memory_order_relaxed);
    return pieces;
}

void store_pieces_unref(struct store_pieces *pieces)
{
    if (pieces != NULL &&
        atomic_fetch_sub_explicit(&pieces->references, 1, memory_order_acq_rel) == 1) {
        memory_free(pieces);
    }
}

struct store_range_deletes *store_range_deletes_create(const struct range_delete *deletes,
                                                       uint32_t count,
                                                       const struct row_range *range,
                                                       uint64_t without,
                                                       const struct range_delete *more)
{
    size_t bytes = more != NULL ? range_bytes(&more->range) : 0;
    bytes += range != NULL ? (count + 1U) * range_bytes(range) : 0;
    for (uint32_t i = 0; i < count; i++) {
        bytes += range_bytes(&deletes[i].range);
    }
    struct store_range_deletes *copy = memory_allocate(
        sizeof *copy + (count + 1U) * sizeof(struct range_delete) + bytes);
    if (copy == NULL) {
        return NULL;
    }
    atomic_init(&copy->references, 1);
    copy->count = 0;
    uint8_t *at = (uint8_t *)&copy->deletes[count + 1];
    for (uint32_t i = 0; i < count + 1; i++) {
        const struct range_delete *delete = i < count ? &deletes[i] : more;
        struct row_range inside;
        if (delete != NULL && (without == 0 || delete->sequence != without) &&
            clip(&delete->range, range, &inside)) {
            struct range_delete *to = &copy->deletes[copy->count++];
            to->stamp = delete->stamp;
            to->sequence = delete->sequence;
            to->range.start = carry(&at, inside.start);
            to->range.end = carry(&at, inside.end);
        }
    }
    return copy;
}

/* They ascend by sequence: each came behind the others. */
struct store_range_deletes *store_range_deletes_up_to(const struct store_range_deletes *deletes,
                                                      uint64_t sequence)
{
    uint32_t count = 0;
    while (count < deletes->count && deletes->deletes[count].sequence <= sequence) {
        count++;
    }
    return store_range_deletes_create(deletes->deletes, count, NULL, 0, NULL);
}

struct store_range_deletes *store_range_deletes_ref(struct store_range_deletes *deletes)
{
    atomic_fetch_add_explicit(&deletes->references, 1, memory_order_relaxed);
    return deletes;
}

void store_range_deletes_unref(struct store_range_deletes *deletes)
{
    if (deletes != NULL &&
        atomic_fetch_sub_explicit(&deletes->references, 1, memory_order_acq_rel) == 1) {
        memory_free(deletes);
    }
}

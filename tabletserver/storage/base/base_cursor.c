#include "tabletserver/storage/base/base_cursor.h"

#include <stddef.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

#define SPARE_BUFFER_BYTES_MAX ((size_t)16 * 1024)

/* --- entries ---------------------------------------------------------------------------------- */

/* Is a tombstone left of (family, qualifier)? */
static bool is_left_of(const struct entry *tombstone, uint32_t family, struct bytes qualifier)
{
    if (tombstone->kind == ENTRY_ROW_DELETE || tombstone->family != family) {
        return tombstone->family < family;
    }
    return tombstone->kind == ENTRY_FAMILY_DELETE ||
           bytes_compare(tombstone->qualifier, qualifier) < 0;
}

static void place_tombstones(struct base_cursor *cursor, uint32_t family, struct bytes qualifier)
{
    const struct base_tombstones *list = &cursor->tombstones;
    size_t i = 0;
    cursor->head_row = NULL;
    cursor->head_family = NULL;
    for (; family != 0 && i < list->count; i++) {
        const struct entry *tombstone = &list->entries[i];
        if (!is_left_of(tombstone, family, qualifier)) {
            break;
        }
        if (tombstone->kind == ENTRY_ROW_DELETE) {
            cursor->head_row = tombstone;
        } else if (tombstone->kind == ENTRY_FAMILY_DELETE && tombstone->family == family) {
            cursor->head_family = tombstone;
        }
    }
    cursor->tombstone_next = i;
}

static enum status seek_entry(struct layer_cursor *layer, uint32_t family, struct bytes qualifier)
{
    struct base_cursor *cursor = (struct base_cursor *)layer;
    ASSERT(cursor->row_open);
    if (!cursor->tombstones_loaded) {
        base_tombstones_reset(&cursor->tombstones);
        if (cursor->row_has_tombstones) {
            enum status status = base_tombstone_load(
                &cursor->finder, buffer_bytes(&cursor->row_key), &cursor->tombstones);
            if (status != STATUS_OK) {
                return base_cursor_trouble(cursor, status, "a tombstone");
            }
        }
        cursor->tombstones_loaded = true;
    }
    place_tombstones(cursor, family, qualifier);
    cursor->column_known = false;
    struct base_position position = {family, qualifier, INT64_MAX};
    return base_cursor_go_to_cell(cursor, family != 0 ? &position : &BASE_POSITION_ROW_START);
}

static enum status read_value(struct base_cursor *cursor, struct bytes *ret_value)
{
    struct base_reference reference;
    if (!base_reference_decode(cursor->cell.value, &reference)) {
        return base_cursor_trouble(cursor, STATUS_CORRUPT, "the reference of a large value");
    }
    enum status status = STATUS_OK;
    if (cursor->value_cursor == NULL) {
        status = base_store_cursor_open(&cursor->snapshot->store, &cursor->value_cursor);
    }
    buffer_reset(&cursor->value);
    if (status == STATUS_OK) {
        status = base_value_read(cursor->value_cursor, cursor->data.extent, &reference,
                                 &cursor->value);
    }
    if (status == STATUS_OK) {
        *ret_value = buffer_bytes(&cursor->value);
    }
    return base_cursor_trouble(cursor, status, "a piece of a large value");
}

static enum status hand_out_cell(struct base_cursor *cursor, struct entry *ret_entry)
{
    const struct chunk_cell *cell = &cursor->cell;
    struct bytes value = cell->value;
    if (cell->large) {
        enum status status = read_value(cursor, &value);
        if (status != STATUS_OK) {
            return status;
        }
    }
    *ret_entry = (struct entry){
        .kind = cell->aggregate == AGGREGATE_NONE ? ENTRY_PUT : ENTRY_FOLD,
        .family = cell->family,
        .qualifier = cell->qualifier,
        .timestamp_us = cell->timestamp_us,
        .stamp = cursor->reader.stamp,
        .aggregate = cell->aggregate,
        .value = value,
    };
    cursor->cell_ready = false;
    return STATUS_OK;
}

/* The tombstone to be handed out next; NULL when there is none. */
static const struct entry *peek_tombstone(const struct base_cursor *cursor)
{
    if (cursor->head_row != NULL) {
        return cursor->head_row;
    }
    if (cursor->head_family != NULL) {
        return cursor->head_family;
    }
    return cursor->tombstone_next < cursor->tombstones.count
               ? &cursor->tombstones.entries[cursor->tombstone_next]
               : NULL;
}

static void drop_tombstone(struct base_cursor *cursor)
{
    if (cursor->head_row != NULL) {
        cursor->head_row = NULL;
    } else if (cursor->head_family != NULL) {
        cursor->head_family = NULL;
    } else {
        cursor->tombstone_next++;
    }
}

static enum status next_entry(struct layer_cursor *layer, struct entry *ret_entry, bool *ret_found)
{
    struct base_cursor *cursor = (struct base_cursor *)layer;
    enum status status = base_cursor_pull_cell(cursor);
    if (status != STATUS_OK) {
        return status;
    }
    const struct entry *tombstone = peek_tombstone(cursor);
    if (tombstone != NULL && cursor->cell_ready) {
        struct entry cell = {
            .kind = ENTRY_PUT, .family = cursor->cell.family, .qualifier = cursor->cell.qualifier};
        tombstone = entry_compare(tombstone, &cell) < 0 ? tombstone : NULL;
    }
    if (tombstone != NULL) {
        *ret_entry = *tombstone;
        drop_tombstone(cursor);
    } else if (cursor->cell_ready) {
        status = hand_out_cell(cursor, ret_entry);
    } else {
        *ret_found = false;
        return STATUS_OK;
    }
    if (status == STATUS_OK) {
        cursor->column_known = ret_entry->kind != ENTRY_ROW_DELETE &&
                               ret_entry->kind != ENTRY_FAMILY_DELETE;
        cursor->column_family = ret_entry->family;
        cursor->column_qualifier = ret_entry->qualifier;
        *ret_found = true;
    }
    return status;
}

static enum status skip_column(struct layer_cursor *layer, struct entry *ret_entry, bool *ret_found)
{
    struct base_cursor *cursor = (struct base_cursor *)layer;
    enum status status = cursor->column_known ? base_cursor_pass_column(cursor) : STATUS_OK;
    return status == STATUS_OK ? next_entry(layer, ret_entry, ret_found) : status;
}

/* --- opening and closing ---------------------------------------------------------------------- */

static void cursor_destroy(struct base_cursor *cursor)
{
    base_tombstones_deinit(&cursor->tombstones);
    chunk_reader_deinit(&cursor->reader);
    buffer_deinit(&cursor->piece_start);
    buffer_deinit(&cursor->piece_end);
    buffer_deinit(&cursor->row);
    buffer_deinit(&cursor->row_key);
    buffer_deinit(&cursor->seek);
    buffer_deinit(&cursor->qualifier);
    buffer_deinit(&cursor->column);
    buffer_deinit(&cursor->value);
    memory_free(cursor);
}

void base_spares_init(struct base_spares *spares)
{
    *spares = (struct base_spares){.count = 0};
    pthread_mutex_init(&spares->lock, NULL);
}

void base_spares_deinit(struct base_spares *spares)
{
    for (uint32_t i = 0; i < spares->count; i++) {
        cursor_destroy(spares->cursors[i]);
    }
    pthread_mutex_destroy(&spares->lock);
}

/* Do its buffers hold little?  One that has met a large value or key is not kept for it. */
static bool is_small(const struct base_cursor *cursor)
{
    return cursor->row.capacity_bytes <= SPARE_BUFFER_BYTES_MAX &&
           cursor->row_key.capacity_bytes <= SPARE_BUFFER_BYTES_MAX &&
           cursor->column.capacity_bytes <= SPARE_BUFFER_BYTES_MAX &&
           cursor->value.capacity_bytes <= SPARE_BUFFER_BYTES_MAX &&
           cursor->tombstones.capacity == 0;
}

static bool give_spare(struct base_spares *spares, struct base_cursor *cursor)
{
    pthread_mutex_lock(&spares->lock);
    bool given = spares->count < BASE_SPARES_MAX;
    if (given) {
        spares->cursors[spares->count++] = cursor;
    }
    pthread_mutex_unlock(&spares->lock);
    return given;
}

/* One that may be used already; its front is all zeros.  NULL without memory. */
static struct base_cursor *take_spare(struct base_spares *spares)
{
    struct base_cursor *cursor = NULL;
    pthread_mutex_lock(&spares->lock);
    if (spares->count > 0) {
        cursor = spares->cursors[--spares->count];
    }
    pthread_mutex_unlock(&spares->lock);
    if (cursor != NULL) {
        memset(cursor, 0, offsetof(struct base_cursor, piece_start));
        return cursor;
    }
    cursor = memory_allocate_zeroed(1, sizeof *cursor);
    if (cursor != NULL) {
        base_tombstones_init(&cursor->tombstones);
        chunk_reader_init(&cursor->reader);
    }
    return cursor;
}

static void close_cursor(struct layer_cursor *layer)
{
    struct base_cursor *cursor = (struct base_cursor *)layer;
    base_walk_close(&cursor->data);
    base_tombstone_finder_close(&cursor->finder);
    if (cursor->value_cursor != NULL) {
        kv_cursor_close(cursor->value_cursor);
    }
    if (!is_small(cursor) || !give_spare(&cursor->snapshot->base->spares, cursor)) {
        cursor_destroy(cursor);
    }
}

static const struct layer_cursor_operations OPERATIONS = {
    .seek_row = base_cursor_seek_row,
    .seek_entry = seek_entry,
    .next_entry = next_entry,
    .skip_column = skip_column,
    .close = close_cursor,
};

/* Once a version of the file: is there any tombstone at all?  Mostly there is none, and the next
 * snapshot of the same version need not look. */
static enum status look_for_tombstones(struct base_snapshot *snapshot, struct kv_cursor *file)
{
    const uint8_t first[1] = {BASE_SPACE_DELETE};
    struct bytes key;
    struct bytes value;
    bool found = false;
    if (snapshot->tombstones_known) {
        return STATUS_OK;
    }
    atomic_uint_fast64_t *untombed = &snapshot->base->untombed_version;
    uint64_t version = kv_read_version(snapshot->read);
    enum status status = STATUS_OK;
    if (atomic_load_explicit(untombed, memory_order_relaxed) != version) {
        status = kv_cursor_move(file, KV_SEEK, bytes_of(first, 1), &key, &value, &found);
        snapshot->tombstones_exist = status == STATUS_OK && found &&
                                     key.data[0] == BASE_SPACE_DELETE;
        if (status == STATUS_OK && !snapshot->tombstones_exist) {
            atomic_store_explicit(untombed, version, memory_order_relaxed);
        }
    }
    snapshot->tombstones_known = status == STATUS_OK;
    return status;
}

enum status base_cursor_open(struct base_snapshot *snapshot,
                             const struct base_piece *pieces,
                             uint32_t piece_count,
                             struct layer_cursor **ret_cursor)
{
    struct base_cursor *cursor = take_spare(&snapshot->base->spares);
    if (cursor == NULL) {
        return STATUS_NO_MEMORY;
    }
    cursor->layer.operations = &OPERATIONS;
    cursor->snapshot = snapshot;
    cursor->pieces = pieces;
    cursor->piece_count = piece_count;
    enum status status = base_walk_open(&cursor->data, &snapshot->store, BASE_SPACE_DATA);
    if (status == STATUS_OK) {
        status = look_for_tombstones(snapshot, cursor->data.cursor);
    }
    if (status == STATUS_OK && snapshot->tombstones_exist) {
        cursor->with_tombstones = true;
        status = base_tombstone_finder_open(&cursor->finder, &snapshot->store);
    }
    if (status != STATUS_OK) {
        close_cursor(&cursor->layer);
        return status;
    }
    *ret_cursor = &cursor->layer;
    return STATUS_OK;
}

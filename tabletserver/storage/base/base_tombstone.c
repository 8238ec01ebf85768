#include "tabletserver/storage/base/base_tombstone.h"

#include <string.h>

#include "common/base/endian.h"
#include "common/base/memory.h"
#include "tabletserver/storage/base/base_key.h"

#define ARENA_BLOCK_BYTES 4096
#define FEW               8 /* up to here each is looked at */
#define OFFSET_CHECKSUM   1
#define OFFSET_STAMP      5
#define OFFSET_CLUSTER    13

/* --- the tombstones of a row ------------------------------------------------------------------ */

void base_tombstones_init(struct base_tombstones *tombstones)
{
    *tombstones = (struct base_tombstones){0};
    arena_init(&tombstones->arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    delete_cover_init(&tombstones->cover);
}

void base_tombstones_deinit(struct base_tombstones *tombstones)
{
    arena_deinit(&tombstones->arena);
    memory_free(tombstones->entries);
    tombstones->entries = NULL;
    delete_cover_deinit(&tombstones->cover);
    buffer_deinit(&tombstones->cover_qualifier);
}

void base_tombstones_reset(struct base_tombstones *tombstones)
{
    if (tombstones->count > 0) {
        arena_reset(&tombstones->arena);
        tombstones->count = 0;
        tombstones->youngest = STAMP_OLDEST;
        tombstones->has_cover = false;
    }
}

static enum status grow(struct base_tombstones *tombstones)
{
    if (tombstones->count < tombstones->capacity) {
        return STATUS_OK;
    }
    size_t capacity = tombstones->capacity > 0 ? 2 * tombstones->capacity : 8;
    struct entry *entries = memory_resize(tombstones->entries, capacity * sizeof *entries);
    if (entries == NULL) {
        return STATUS_NO_MEMORY;
    }
    tombstones->entries = entries;
    tombstones->capacity = capacity;
    return STATUS_OK;
}

/* How many stand before it. */
static size_t count_before(const struct base_tombstones *tombstones, const struct entry *tombstone)
{
    size_t low = 0;
    size_t high = tombstones->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entry_compare(&tombstones->entries[middle], tombstone) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const struct base_tombstones *tombstones,
                  size_t at,
                  const struct entry *tombstone)
{
    return at < tombstones->count && entry_compare(&tombstones->entries[at], tombstone) == 0;
}

bool base_tombstones_have(const struct base_tombstones *tombstones, const struct entry *tombstone)
{
    size_t at = count_before(tombstones, tombstone);
    return is_at(tombstones, at, tombstone) &&
           stamp_compare(tombstones->entries[at].stamp, tombstone->stamp) >= 0;
}

enum status base_tombstones_add(struct base_tombstones *tombstones, const struct entry *tombstone)
{
    enum status status = grow(tombstones);
    if (status != STATUS_OK) {
        return status;
    }
    size_t at = count_before(tombstones, tombstone);
    tombstones->youngest = stamp_later(tombstones->youngest, tombstone->stamp);
    tombstones->has_cover = false;
    if (is_at(tombstones, at, tombstone)) {
        tombstones->entries[at].stamp = tombstone->stamp;
        return STATUS_OK;
    }
    struct bytes qualifier = arena_copy(&tombstones->arena, tombstone->qualifier);
    if (qualifier.data == NULL) {
        return STATUS_NO_MEMORY;
    }
    struct entry *place = &tombstones->entries[at];
    memmove(place + 1, place, (tombstones->count - at) * sizeof *place);
    *place = *tombstone;
    place->qualifier = qualifier;
    place->value = BYTES_EMPTY;
    tombstones->count++;
    return STATUS_OK;
}

bool base_tombstone_kills(const struct entry *tombstone,
                          const struct chunk_cell *cell,
                          struct stamp stamp)
{
    if (stamp_compare(stamp, tombstone->stamp) >= 0) {
        return false;
    }
    if (tombstone->kind == ENTRY_ROW_DELETE) {
        return true;
    }
    if (tombstone->family != cell->family) {
        return false;
    }
    if (tombstone->kind == ENTRY_FAMILY_DELETE) {
        return true;
    }
    return bytes_equal(tombstone->qualifier, cell->qualifier) &&
           cell->timestamp_us >= tombstone->start_us &&
           (cell->timestamp_us < tombstone->end_us || tombstone->end_us == INT64_MAX);
}

/* Those of the column, in their order, and what covers all of it.  False without memory. */
static bool put_cover_together(struct base_tombstones *tombstones, const struct chunk_cell *cell)
{
    const struct entry *entries = tombstones->entries;
    struct delete_cover *cover = &tombstones->cover;
    const struct entry family = {.kind = ENTRY_FAMILY_DELETE, .family = cell->family};
    const struct entry first = {.kind = ENTRY_COLUMN_DELETE,
                                .family = cell->family,
                                .qualifier = cell->qualifier,
                                .start_us = INT64_MAX,
                                .end_us = INT64_MAX};
    delete_cover_reset(cover,
                       entries[0].kind == ENTRY_ROW_DELETE ? entries[0].stamp : STAMP_OLDEST);
    size_t at = count_before(tombstones, &family);
    enum status status = is_at(tombstones, at, &family) ? delete_cover_add(cover, &entries[at])
                                                        : STATUS_OK;
    for (at = count_before(tombstones, &first);
         status == STATUS_OK && at < tombstones->count && entries[at].kind == ENTRY_COLUMN_DELETE &&
         entries[at].family == cell->family && bytes_equal(entries[at].qualifier, cell->qualifier);
         at++) {
        status = delete_cover_add(cover, &entries[at]);
    }
    return status == STATUS_OK;
}

static bool has_cover_of(struct base_tombstones *tombstones, const struct chunk_cell *cell)
{
    struct buffer *qualifier = &tombstones->cover_qualifier;
    if (tombstones->has_cover && tombstones->cover_family == cell->family &&
        bytes_equal(buffer_bytes(qualifier), cell->qualifier)) {
        return true;
    }
    buffer_reset(qualifier);
    buffer_append_bytes(qualifier, cell->qualifier);
    tombstones->cover_family = cell->family;
    tombstones->has_cover = !qualifier->failed && put_cover_together(tombstones, cell);
    return tombstones->has_cover;
}

bool base_tombstones_kill(struct base_tombstones *tombstones,
                          const struct chunk_cell *cell,
                          struct stamp stamp)
{
    if (stamp_compare(stamp, tombstones->youngest) >= 0) {
        return false;
    }
    if (tombstones->count > FEW && has_cover_of(tombstones, cell)) {
        struct stamp covered = delete_cover_at(&tombstones->cover, cell->family, cell->qualifier,
                                               cell->timestamp_us);
        return stamp_compare(stamp, covered) < 0;
    }
    for (size_t i = 0; i < tombstones->count; i++) {
        if (base_tombstone_kills(&tombstones->entries[i], cell, stamp)) {
            return true;
        }
    }
    return false;
}

/* --- bytes ------------------------------------------------------------------------------------ */

void base_tombstone_append_key(struct buffer *key, struct bytes row, const struct entry *tombstone)
{
    base_key_append_row(key, row);
    if (tombstone->kind == ENTRY_ROW_DELETE) {
        return;
    }
    buffer_append_u8(key, 0);
    base_key_append_family(key, tombstone->family);
    if (tombstone->kind == ENTRY_FAMILY_DELETE) {
        return;
    }
    base_key_append_escaped(key, tombstone->qualifier);
    buffer_append_u8(key, 0);
    base_key_append_time(key, tombstone->start_us);
    base_key_append_time(key, tombstone->end_us);
}

size_t base_tombstone_encode(struct bytes stored_key,
                             struct stamp stamp,
                             uint8_t value[BASE_TOMBSTONE_VALUE_BYTES_MAX])
{
    value[0] = BASE_FORMAT_TOMBSTONE;
    store_le64(value + OFFSET_STAMP, stamp.clock);
    size_t size = OFFSET_CLUSTER;
    size += varint_store(value + size, stamp.cluster);
    size += varint_store(value + size, stamp.index);
    store_le32(value + OFFSET_CHECKSUM,
               checksum32(value + OFFSET_STAMP, size - OFFSET_STAMP, base_seed(stored_key)));
    return size;
}

enum status base_tombstone_check(struct bytes stored_key,
                                 struct bytes value,
                                 struct stamp *ret_stamp)
{
    if (value.size_bytes < OFFSET_CLUSTER || value.data[0] != BASE_FORMAT_TOMBSTONE ||
        load_le32(value.data + OFFSET_CHECKSUM) != checksum32(value.data + OFFSET_STAMP,
                                                              value.size_bytes - OFFSET_STAMP,
                                                              base_seed(stored_key))) {
        return STATUS_CORRUPT;
    }
    const uint8_t *end = value.data + value.size_bytes;
    uint64_t cluster = 0;
    uint64_t index = 0;
    size_t used = varint_load(value.data + OFFSET_CLUSTER, end, &cluster);
    if (used == 0 || varint_load(value.data + OFFSET_CLUSTER + used, end, &index) == 0) {
        return STATUS_CORRUPT;
    }
    *ret_stamp = (struct stamp){load_le64(value.data + OFFSET_STAMP), (uint32_t)cluster,
                                (uint32_t)index};
    return STATUS_OK;
}

static bool decode_column(struct bytes rest, struct buffer *out, struct entry *tombstone)
{
    struct bytes escaped;
    if (!base_key_take_escaped(&rest, &escaped) ||
        !base_key_unescape(escaped, out, &tombstone->qualifier) || rest.size_bytes == 0) {
        return false;
    }
    rest = bytes_drop_front(rest, 1);
    return base_key_take_time(&rest, &tombstone->start_us) &&
           base_key_take_time(&rest, &tombstone->end_us) && rest.size_bytes == 0;
}

enum status base_tombstone_decode(struct bytes key,
                                  struct bytes stored_key,
                                  struct bytes value,
                                  struct buffer *out,
                                  struct entry *ret_tombstone)
{
    struct entry tombstone = {.kind = ENTRY_ROW_DELETE};
    enum status status = base_tombstone_check(stored_key, value, &tombstone.stamp);
    if (status != STATUS_OK) {
        return status;
    }
    struct bytes rest = bytes_drop_front(key, base_key_row(key).size_bytes);
    if (rest.size_bytes > 0) {
        rest = bytes_drop_front(rest, 1);
        if (!base_key_take_family(&rest, &tombstone.family)) {
            return STATUS_CORRUPT;
        }
        tombstone.kind = rest.size_bytes == 0 ? ENTRY_FAMILY_DELETE : ENTRY_COLUMN_DELETE;
        if (rest.size_bytes > 0 && !decode_column(rest, out, &tombstone)) {
            return out->failed ? STATUS_NO_MEMORY : STATUS_CORRUPT;
        }
    }
    *ret_tombstone = tombstone;
    return STATUS_OK;
}

/* --- finding ---------------------------------------------------------------------------------- */

enum status base_tombstone_finder_open(struct base_tombstone_finder *finder,
                                       const struct base_store *store)
{
    finder->gap_known = false;
    finder->gap_start = BUFFER_INIT;
    finder->gap_has_end = false;
    finder->gap_end = BUFFER_INIT;
    finder->qualifier = BUFFER_INIT;
    return base_walk_open(&finder->walk, store, BASE_SPACE_DELETE);
}

void base_tombstone_finder_close(struct base_tombstone_finder *finder)
{
    base_walk_close(&finder->walk);
    buffer_deinit(&finder->gap_start);
    buffer_deinit(&finder->gap_end);
    buffer_deinit(&finder->qualifier);
}

void base_tombstone_finder_forget(struct base_tombstone_finder *finder, uint64_t extent)
{
    base_walk_set_extent(&finder->walk, extent);
    finder->gap_known = false;
}

static bool is_in_gap(const struct base_tombstone_finder *finder, struct bytes row_key)
{
    return finder->gap_known && bytes_compare(buffer_bytes(&finder->gap_start), row_key) <= 0 &&
           (!finder->gap_has_end || bytes_compare(row_key, buffer_bytes(&finder->gap_end)) <= 0);
}

static enum status remember_gap(struct base_tombstone_finder *finder, struct bytes row_key)
{
    buffer_reset(&finder->gap_start);
    buffer_reset(&finder->gap_end);
    buffer_append_bytes(&finder->gap_start, row_key);
    finder->gap_has_end = finder->walk.found;
    if (finder->walk.found) {
        buffer_append_bytes(&finder->gap_end, finder->walk.row);
    }
    finder->gap_known = !finder->gap_start.failed && !finder->gap_end.failed;
    return finder->gap_known ? STATUS_OK : STATUS_NO_MEMORY;
}

enum status base_tombstone_find(struct base_tombstone_finder *finder,
                                struct bytes row_key,
                                struct bytes *ret_row_key,
                                bool *ret_found)
{
    if (!is_in_gap(finder, row_key)) {
        enum status status = base_walk_seek(&finder->walk, row_key);
        if (status == STATUS_OK) {
            status = remember_gap(finder, row_key);
        }
        if (status != STATUS_OK) {
            return status;
        }
    }
    *ret_found = finder->gap_has_end;
    if (finder->gap_has_end) {
        *ret_row_key = buffer_bytes(&finder->gap_end);
    }
    return STATUS_OK;
}

enum status base_tombstone_find_before(struct base_tombstone_finder *finder,
                                       bool has_row,
                                       struct bytes row_key,
                                       struct bytes *ret_row_key,
                                       bool *ret_found)
{
    /* The gap that a forward search leaves serves backward ones below its end too. */
    enum status status = has_row ? base_walk_seek(&finder->walk, row_key) : STATUS_OK;
    if (!has_row) {
        base_walk_set_extent(&finder->walk, finder->walk.extent);
    }
    if (status == STATUS_OK) {
        status = base_walk_previous(&finder->walk);
    }
    if (status == STATUS_OK && finder->walk.barred) {
        status = STATUS_CORRUPT; /* the rows behind the link lie above it: which of them has any? */
    }
    if (status != STATUS_OK) {
        return status;
    }
    *ret_found = finder->walk.found;
    if (finder->walk.found) {
        *ret_row_key = finder->walk.row;
    }
    return STATUS_OK;
}

enum status base_tombstone_load(struct base_tombstone_finder *finder,
                                struct bytes row_key,
                                struct base_tombstones *tombstones)
{
    struct bytes found_key;
    bool found = false;
    struct base_walk *walk = &finder->walk;

    base_tombstones_reset(tombstones);
    enum status status = base_tombstone_find(finder, row_key, &found_key, &found);
    if (status != STATUS_OK || !found || !bytes_equal(found_key, row_key)) {
        return status;
    }
    status = base_walk_seek(walk, row_key);
    while (status == STATUS_OK && walk->found && base_row_key_equal(walk->row, row_key)) {
        struct entry tombstone;
        status = base_tombstone_decode(walk->key, walk->stored_key, walk->value, &finder->qualifier,
                                       &tombstone);
        if (status == STATUS_OK) {
            status = base_tombstones_add(tombstones, &tombstone);
        }
        if (status == STATUS_OK) {
            status = base_walk_next(walk);
        }
    }
    return status;
}

enum status base_tombstone_erase(struct base_tombstone_finder *finder, struct bytes row_key)
{
    struct base_walk *walk = &finder->walk;
    struct buffer key = BUFFER_INIT;
    enum status status = base_walk_seek(walk, row_key);
    while (status == STATUS_OK && walk->found && base_row_key_equal(walk->row, row_key)) {
        size_t value_bytes = walk->value.size_bytes;
        buffer_reset(&key);
        buffer_append_bytes(&key, walk->key);
        status = key.failed ? STATUS_NO_MEMORY
                            : base_walk_delete(walk, buffer_bytes(&key), value_bytes);
        if (status == STATUS_OK) {
            status = base_walk_seek(walk, row_key);
        }
    }
    buffer_deinit(&key);
    if (status == STATUS_OK) {
        base_tombstone_finder_forget(finder, walk->extent);
    }
    return status;
}

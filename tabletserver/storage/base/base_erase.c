/*
 * Erasing ranges and whole extents, a bounded step at a time.
 *
 * resume: empty, or a phase and the least key still to be looked at in it.
 */
#include <string.h>

#include "common/base/endian.h"
#include "tabletserver/storage/base/base_internal.h"

enum phase {
    PHASE_CHUNKS = 0,
    PHASE_TOMBSTONES = 1,
};

#define RECORD_COST_BYTES 64 /* of looking at a record at all */

struct erase {
    struct base_writer *writer;
    struct stamp dead_below;
    bool everything;
    struct buffer *next; /* the least key still to be looked at */
    struct buffer end;   /* row' where the range ends; empty = open */
    uint64_t budget_bytes;
};

static void spend(struct erase *erase, uint64_t bytes)
{
    bytes += RECORD_COST_BYTES;
    erase->budget_bytes -= bytes < erase->budget_bytes ? bytes : erase->budget_bytes;
}

static bool is_dead(const struct erase *erase, struct stamp stamp)
{
    return erase->everything || stamp_compare(stamp, erase->dead_below) < 0;
}

static bool is_in_range(const struct erase *erase, const struct base_walk *walk)
{
    return walk->found &&
           (erase->end.size_bytes == 0 || bytes_compare(walk->row, buffer_bytes(&erase->end)) < 0);
}

/* next := the least key above the one that the walk stands on. */
static enum status pass(struct erase *erase, struct bytes key)
{
    buffer_reset(erase->next);
    buffer_append_bytes(erase->next, key);
    buffer_append_u8(erase->next, 0);
    return erase->next->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

/* A damaged link, behind which all is dead if everything is. */
static enum status erase_bar(struct erase *erase, struct base_walk *walk)
{
    if (!erase->everything || !base_walk_bars_only(walk, BYTES_EMPTY, buffer_bytes(&erase->end))) {
        return STATUS_CORRUPT;
    }
    spend(erase, walk->value.size_bytes);
    base_links_distrust(&erase->writer->base->links);
    return base_walk_erase_bar(walk);
}

static enum status erase_chunk(struct erase *erase)
{
    struct base_writer *writer = erase->writer;
    struct base_drop drop = {.everything = true};
    struct stamp stamp;
    bool has_large = false;
    size_t value_bytes = writer->data.value.size_bytes;
    bool readable = chunk_peek(writer->data.value, &stamp, &has_large);
    enum status status = pass(erase, writer->data.key);
    spend(erase, value_bytes);
    if (status != STATUS_OK || (readable && !is_dead(erase, stamp))) {
        return status;
    }
    status = base_drop_cells(writer, &drop);
    if (status == STATUS_CORRUPT || status == STATUS_VERSION) {
        /* Damaged, but to be erased anyway; where its pieces are is not known any more. */
        status = base_walk_delete(&writer->data, buffer_bytes(&writer->dropped_key), value_bytes);
    }
    return status;
}

static enum status erase_chunks(struct erase *erase, bool *ret_done)
{
    struct base_walk *walk = &erase->writer->data;
    enum status status = base_walk_seek(walk, buffer_bytes(erase->next));
    while (status == STATUS_OK && is_in_range(erase, walk) && erase->budget_bytes > 0) {
        status = walk->barred ? erase_bar(erase, walk) : erase_chunk(erase);
        if (status == STATUS_OK) {
            status = base_walk_seek(walk, buffer_bytes(erase->next));
        }
    }
    *ret_done = status == STATUS_OK && !is_in_range(erase, walk);
    return status;
}

static enum status erase_tombstone(struct erase *erase, struct base_walk *walk)
{
    struct base_writer *writer = erase->writer;
    struct entry tombstone = {.kind = ENTRY_ROW_DELETE};
    size_t value_bytes = walk->value.size_bytes;
    enum status status = base_tombstone_decode(walk->key, walk->stored_key, walk->value,
                                               &writer->qualifier, &tombstone);
    if (status == STATUS_CORRUPT && erase->everything) {
        status = STATUS_OK;
    }
    bool dead = erase->everything || is_dead(erase, tombstone.stamp);
    if (status == STATUS_OK) {
        status = pass(erase, walk->key);
    }
    spend(erase, value_bytes);
    if (status != STATUS_OK || !dead) {
        return status;
    }
    struct bytes key = bytes_of(erase->next->data, erase->next->size_bytes - 1);
    return base_walk_delete(walk, key, value_bytes);
}

static enum status erase_tombstones(struct erase *erase, bool *ret_done)
{
    struct base_walk *walk = &erase->writer->tombstones.walk;
    enum status status = base_walk_seek(walk, buffer_bytes(erase->next));
    while (status == STATUS_OK && is_in_range(erase, walk) && erase->budget_bytes > 0) {
        status = walk->barred ? erase_bar(erase, walk) : erase_tombstone(erase, walk);
        if (status == STATUS_OK) {
            status = base_walk_seek(walk, buffer_bytes(erase->next));
        }
    }
    *ret_done = status == STATUS_OK && !is_in_range(erase, walk);
    base_tombstone_finder_forget(&erase->writer->tombstones, erase->writer->data.extent);
    return status;
}

/* --- whole extents ---------------------------------------------------------------------------- */

/* A chunk's large values, as far as it can be read. */
static enum status erase_values(struct erase *erase, struct bytes stored_key, struct bytes value)
{
    struct base_writer *writer = erase->writer;
    struct base_drop drop = {.everything = true};
    struct stamp stamp;
    bool has_large = false;
    if (value.data[0] != CHUNK_FORMAT || !chunk_peek(value, &stamp, &has_large) || !has_large) {
        return STATUS_OK;
    }
    base_cells_reset(&writer->kept);
    enum status status = base_buffer_set(&writer->dropped_data, value);
    if (status == STATUS_OK) {
        status = base_cells_decode(&writer->kept, &writer->reader,
                                   buffer_bytes(&writer->dropped_data), base_seed(stored_key));
    }
    if (status == STATUS_CORRUPT || status == STATUS_VERSION) {
        return STATUS_OK;
    }
    spend(erase, base_cells_large_bytes(&writer->kept));
    return status == STATUS_OK ? base_drop_kept(writer, &drop) : status;
}

/* All records of a space of the extent, whatever they are.  Pieces have no extent in their keys: they go with what
 * refers to them. */
static enum status erase_space(struct erase *erase, enum base_space space, bool *ret_done)
{
    uint8_t prefix[BASE_EXTENT_PREFIX_BYTES] = {(uint8_t)space};
    struct base_writer *writer = erase->writer;
    struct kv_cursor *cursor = writer->data.cursor;
    enum status status = STATUS_OK;
    *ret_done = false;
    store_be64(prefix + 1, writer->data.extent);
    while (status == STATUS_OK && erase->budget_bytes > 0) {
        struct bytes least = bytes_of(prefix, sizeof prefix);
        struct bytes key;
        struct bytes value;
        uint8_t copy[KV_KEY_BYTES_MAX];
        bool found = false;
        status = kv_cursor_move(cursor, KV_SEEK, least, &key, &value, &found);
        if (status != STATUS_OK || !found || !bytes_starts_with(key, least)) {
            *ret_done = status == STATUS_OK;
            return status;
        }
        writer->delta_bytes -= (int64_t)(key.size_bytes + value.size_bytes);
        spend(erase, value.size_bytes);
        memcpy(copy, key.data, key.size_bytes);
        key.data = copy;
        status = value.size_bytes > 0 ? erase_values(erase, key, value) : STATUS_OK;
        if (status == STATUS_OK) {
            status = kv_write_delete(writer->write, key, &found);
        }
    }
    return status;
}

static enum status erase_extent(struct erase *erase, bool *ret_done)
{
    static const enum base_space spaces[] = {BASE_SPACE_DATA, BASE_SPACE_DELETE, BASE_SPACE_SAMPLE,
                                             BASE_SPACE_LAYER};
    enum status status = STATUS_OK;
    bool done = true;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces && status == STATUS_OK && done; i++) {
        status = erase_space(erase, spaces[i], &done);
    }
    /* The walks remember sublayers that are gone. */
    if (status == STATUS_OK) {
        status = base_writer_set_extent(erase->writer, erase->writer->data.extent);
    }
    *ret_done = done;
    return status;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Take phase and key out of resume, or begin. */
static enum phase begin(struct buffer *resume, const struct row_range *range)
{
    if (resume->size_bytes == 0) {
        base_key_append_row(resume, range->start);
        return PHASE_CHUNKS;
    }
    enum phase phase = resume->data[0] == PHASE_TOMBSTONES ? PHASE_TOMBSTONES : PHASE_CHUNKS;
    resume->size_bytes--;
    memmove(resume->data, resume->data + 1, resume->size_bytes);
    return phase;
}

static enum status end(struct buffer *resume, enum phase phase)
{
    buffer_append_u8(resume, 0);
    if (resume->failed) {
        return STATUS_NO_MEMORY;
    }
    memmove(resume->data + 1, resume->data, resume->size_bytes - 1);
    resume->data[0] = (uint8_t)phase;
    return STATUS_OK;
}

static enum status erase_range(struct erase *erase, const struct row_range *range, bool *ret_done)
{
    enum phase phase = begin(erase->next, range);
    enum status status = STATUS_OK;
    bool done = false;
    if (erase->next->failed || erase->end.failed) {
        return STATUS_NO_MEMORY;
    }
    if (phase == PHASE_CHUNKS) {
        status = erase_chunks(erase, &done);
        if (status == STATUS_OK && done) {
            phase = PHASE_TOMBSTONES;
            done = false;
            buffer_reset(erase->next);
            base_key_append_row(erase->next, range->start);
            status = erase->next->failed ? STATUS_NO_MEMORY : STATUS_OK;
        }
    }
    if (status == STATUS_OK && phase == PHASE_TOMBSTONES) {
        status = erase_tombstones(erase, &done);
    }
    if (status == STATUS_OK) {
        status = end(erase->next, phase);
        *ret_done = done;
    }
    return status;
}

enum status base_erase_step(struct base_writer *writer,
                            uint64_t extent,
                            const struct row_range *range,
                            struct stamp dead_below,
                            struct buffer *resume,
                            uint64_t budget_bytes,
                            bool *ret_done)
{
    struct erase erase = {
        .writer = writer,
        .dead_below = dead_below,
        .everything = dead_below.clock == UINT64_MAX,
        .next = resume,
        .budget_bytes = budget_bytes > 0 ? budget_bytes : 1,
    };
    enum status status = base_writer_set_extent(writer, extent);
    if (status != STATUS_OK) {
        return status;
    }
    if (erase.everything && range->start.size_bytes == 0 && range->end.size_bytes == 0) {
        return erase_extent(&erase, ret_done);
    }
    base_key_append_row(&erase.end, range->end);
    status = erase_range(&erase, range, ret_done);
    buffer_deinit(&erase.end);
    return status;
}

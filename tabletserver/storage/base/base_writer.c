#include "common/base/assert.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "tabletserver/storage/base/base_internal.h"
#include "tabletserver/storage/base/base_meta.h"

static void destroy(struct base_writer *writer)
{
    base_walk_close(&writer->data);
    base_tombstone_finder_close(&writer->tombstones);
    base_walk_close(&writer->samples);
    if (writer->piece_cursor != NULL) {
        kv_cursor_close(writer->piece_cursor);
        writer->piece_cursor = NULL;
    }
    base_window_deinit(&writer->window);
    base_gap_deinit(&writer->gap);
    base_room_deinit(&writer->room);
    base_cells_deinit(&writer->kept);
    chunk_reader_deinit(&writer->reader);
    buffer_deinit(&writer->chunk);
    buffer_deinit(&writer->seek);
    buffer_deinit(&writer->qualifier);
    buffer_deinit(&writer->value);
    buffer_deinit(&writer->fold);
    buffer_deinit(&writer->dropped_key);
    buffer_deinit(&writer->dropped_data);
    memory_free(writer);
}

enum status base_writer_begin(struct base *base, struct base_writer **ret_writer)
{
    struct base_writer *writer = memory_allocate_zeroed(1, sizeof *writer);
    if (writer == NULL) {
        return STATUS_NO_MEMORY;
    }
    enum status status = kv_write_begin(base->kv, &writer->write);
    if (status != STATUS_OK) {
        memory_free(writer);
        return status;
    }
    writer->base = base;
    writer->store.write = writer->write;
    base_window_init(&writer->window);
    base_cells_init(&writer->kept);
    chunk_reader_init(&writer->reader);
    status = base_counters_load(&writer->store, &writer->counters);
    writer->counters_before = writer->counters;
    if (status == STATUS_OK) {
        status = base_walk_open(&writer->data, &writer->store, BASE_SPACE_DATA);
    }
    if (status == STATUS_OK) {
        status = base_tombstone_finder_open(&writer->tombstones, &writer->store);
    }
    if (status == STATUS_OK) {
        status = base_walk_open(&writer->samples, &writer->store, BASE_SPACE_SAMPLE);
    }
    if (status != STATUS_OK) {
        base_writer_abort(writer);
        return status;
    }
    writer->data.number_next = &writer->counters.number_next;
    writer->tombstones.walk.number_next = &writer->counters.number_next;
    writer->samples.number_next = &writer->counters.number_next;
    *ret_writer = writer;
    return STATUS_OK;
}

void base_writer_abort(struct base_writer *writer)
{
    struct kv_write *write = writer->write;
    destroy(writer);
    kv_write_abort(write);
}

/* Write out all that is held in memory, and put back what was taken out. */
static enum status write_out(struct base_writer *writer, enum base_close close)
{
    enum status status = writer->window.row_open ? base_window_close_chunk(writer, close)
                                                 : STATUS_OK;
    return status == STATUS_OK ? base_room_restore(&writer->room, writer->write) : status;
}

enum status base_writer_commit(struct base_writer *writer)
{
    enum status status = write_out(writer, BASE_CLOSE_ROW);
    bool counted = writer->counters.extent_next != writer->counters_before.extent_next ||
                   writer->counters.number_next != writer->counters_before.number_next;
    if (status == STATUS_OK && counted) {
        status = base_counters_save(writer->write, &writer->counters);
    }
    if (status != STATUS_OK) {
        base_writer_abort(writer);
        return status;
    }
    ASSERT(base_room_taken_key(&writer->room).size_bytes == 0); /* it would be lost */
    struct kv_write *write = writer->write;
    destroy(writer);
    return kv_write_commit(write);
}

enum status base_writer_allocate_extent(struct base_writer *writer, uint64_t *ret_extent)
{
    *ret_extent = writer->counters.extent_next;
    writer->counters.extent_next++;
    return STATUS_OK;
}

enum status base_writer_set_extent(struct base_writer *writer, uint64_t extent)
{
    enum status status = base_window_close_row(writer);
    if (status == STATUS_OK) {
        status = base_room_restore(&writer->room, writer->write);
    }
    base_room_forget(&writer->room);
    base_gap_forget(&writer->gap);
    base_walk_set_extent(&writer->data, extent);
    base_walk_set_extent(&writer->samples, extent);
    base_tombstone_finder_forget(&writer->tombstones, extent);
    return status;
}

enum status base_writer_drop_value(struct base_writer *writer, const struct chunk_cell *cell)
{
    struct base_reference reference;
    if (!cell->large) {
        return STATUS_OK;
    }
    if (!base_reference_decode(cell->value, &reference)) {
        return STATUS_CORRUPT;
    }
    writer->delta_bytes -= (int64_t)base_value_stored_bytes(&reference);
    return base_value_erase(writer->write, &reference);
}

/* The state of a stored cell, wherever it is. */
static enum status read_state(struct base_writer *writer,
                              const struct chunk_cell *cell,
                              struct bytes *ret_state)
{
    struct base_reference reference;
    if (!cell->large) {
        *ret_state = cell->value;
        return STATUS_OK;
    }
    if (!base_reference_decode(cell->value, &reference)) {
        return STATUS_CORRUPT;
    }
    enum status status = STATUS_OK;
    if (writer->piece_cursor == NULL) {
        status = base_store_cursor_open(&writer->store, &writer->piece_cursor);
    }
    buffer_reset(&writer->value);
    if (status == STATUS_OK) {
        status = base_value_read(writer->piece_cursor, writer->window.extent, &reference,
                                 &writer->value);
    }
    if (status == STATUS_OK) {
        *ret_state = buffer_bytes(&writer->value);
    }
    return status;
}

/* What a fold leaves in place of the stored cell.  A put below a fold cannot be: families do not
 * change their kind.  Were it there, the fold begins anew. */
static enum status fold(struct base_writer *writer,
                        const struct chunk_cell *stored,
                        struct chunk_cell *cell)
{
    struct bytes state;
    if (stored->aggregate != cell->aggregate) {
        return STATUS_OK;
    }
    enum status status = read_state(writer, stored, &state);
    if (status == STATUS_OK) {
        status = aggregate_merge(cell->aggregate, state, cell->value, &writer->fold);
        status = status == STATUS_INVALID_ARGUMENT ? STATUS_CORRUPT : status;
    }
    if (status == STATUS_OK) {
        cell->value = buffer_bytes(&writer->fold);
    }
    return status;
}

static enum status put_cell(struct base_writer *writer, const struct entry *entry)
{
    struct base_position position = {entry->family, entry->qualifier, entry->timestamp_us};
    struct chunk_cell stored;
    bool found = false;

    enum status status = base_window_go(writer, &position);
    if (status != STATUS_OK) {
        return status;
    }
    base_window_take(writer, &position, &stored, &found);
    struct chunk_cell cell = {
        .family = entry->family,
        .qualifier = entry->qualifier,
        .timestamp_us = entry->timestamp_us,
        .aggregate = entry->kind == ENTRY_FOLD ? entry->aggregate : AGGREGATE_NONE,
        .value = entry->value,
    };
    if (found && entry->kind == ENTRY_FOLD) {
        status = fold(writer, &stored, &cell);
    }
    if (status == STATUS_OK && found) {
        status = base_writer_drop_value(writer, &stored);
    }
    if (status == STATUS_OK && entry->kind != ENTRY_ERASE) {
        status = base_window_append(writer, &cell, entry->stamp);
    }
    return status;
}

enum status base_writer_put(struct base_writer *writer,
                            uint64_t extent,
                            struct bytes row,
                            const struct entry *entry)
{
    ASSERT(row.size_bytes > 0);
    enum status status = base_window_open_row(writer, extent, row);
    if (status != STATUS_OK) {
        return status;
    }
    switch (entry->kind) {
    case ENTRY_ROW_DELETE:
    case ENTRY_FAMILY_DELETE:
    case ENTRY_COLUMN_DELETE:
        return base_delete_apply(writer, entry, false, NULL);
    case ENTRY_PUT:
    case ENTRY_FOLD:
    case ENTRY_ERASE:
        ASSERT(entry->family > 0);
        return put_cell(writer, entry);
    }
    UNREACHABLE();
}

/* Has it come to the row?  Else the one before could not be left. */
static bool is_in(const struct base_writer *writer, struct bytes row)
{
    return bytes_equal(buffer_bytes(&writer->window.row), row);
}

enum status base_writer_put_youngest(struct base_writer *writer,
                                     uint64_t extent,
                                     struct bytes row,
                                     const struct entry *row_delete,
                                     const struct row_range *also)
{
    ASSERT(row.size_bytes > 0 && row_delete->kind == ENTRY_ROW_DELETE);
    enum status status = base_window_open_row(writer, extent, row);
    if (status == STATUS_CORRUPT && is_in(writer, row)) {
        /* A stored delete of it cannot be read: whatever it kills this one does. */
        status = base_delete_stored(writer, also);
        status = status == STATUS_OK ? base_window_open_row(writer, extent, row) : status;
    }
    return status == STATUS_OK ? base_delete_apply(writer, row_delete, true, also) : status;
}

enum status base_writer_settle(struct base_writer *writer)
{
    return write_out(writer, BASE_CLOSE_CUT);
}

struct bytes base_writer_row(const struct base_writer *writer)
{
    return buffer_bytes(&writer->window.row);
}

enum status base_writer_meta_put(struct base_writer *writer, struct bytes key, struct bytes value)
{
    return base_meta_store(writer->write, key, value, &writer->chunk);
}

enum status base_writer_meta_delete(struct base_writer *writer, struct bytes key)
{
    return base_meta_remove(writer->write, key);
}

bool base_writer_is_barred(const struct base_writer *writer)
{
    return writer->data.barred && (!writer->data.found || base_window_walk_is_in_row(writer));
}

bool base_writer_met_bar(const struct base_writer *writer)
{
    return writer->data.met_bar || writer->tombstones.walk.met_bar || writer->samples.met_bar;
}

uint64_t base_writer_dirty_bytes(const struct base_writer *writer)
{
    return kv_write_dirty_bytes(writer->write);
}

int64_t base_writer_delta_bytes(const struct base_writer *writer)
{
    return writer->delta_bytes + writer->data.delta_bytes + writer->tombstones.walk.delta_bytes +
           writer->samples.delta_bytes;
}

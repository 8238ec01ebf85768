#include <string.h>

#include "common/base/assert.h"
#include "tabletserver/storage/base/base_internal.h"

#define VALUE_INLINE 128 /* up to here a value stays in the chunk, however long its qualifier */

void base_window_init(struct base_window *window)
{
    *window = (struct base_window){0};
    base_tombstones_init(&window->tombstones);
    base_cells_init(&window->old);
    base_cells_init(&window->out);
    base_cells_init(&window->spare);
}

void base_window_deinit(struct base_window *window)
{
    base_tombstones_deinit(&window->tombstones);
    base_cells_deinit(&window->old);
    base_cells_deinit(&window->out);
    base_cells_deinit(&window->spare);
    buffer_deinit(&window->row);
    buffer_deinit(&window->row_key);
    buffer_deinit(&window->old_data);
    buffer_deinit(&window->end_key);
    buffer_deinit(&window->end_qualifier);
    buffer_deinit(&window->key);
}

bool base_window_walk_is_in_row(const struct base_writer *writer)
{
    const struct base_walk *walk = &writer->data;
    return walk->found && base_row_key_equal(walk->row, buffer_bytes(&writer->window.row_key));
}

/* --- opening ---------------------------------------------------------------------------------- */

/* The walk stands behind the row: what follows there tells where a gap ends, and how much room there is. */
static enum status note_row_end(struct base_writer *writer)
{
    const struct base_walk *walk = &writer->data;
    if (base_room_taken_key(&writer->room).size_bytes > 0) {
        return STATUS_OK; /* what really follows is out */
    }
    enum status status = base_gap_learn(&writer->gap, buffer_bytes(&writer->window.row_key),
                                        walk->found ? &walk->row : NULL);
    if (status != STATUS_OK) {
        return status;
    }
    return base_room_note_follower(&writer->room, walk->found ? walk->stored_key : BYTES_EMPTY);
}

/* Where a link is damaged it is not known what of the row is behind it. */
static enum status check_way(const struct base_writer *writer)
{
    return writer->data.barred && base_window_walk_is_in_row(writer) ? STATUS_CORRUPT : STATUS_OK;
}

/* The chunk that the walk stands on, if it is in the row, is the one that follows. */
static enum status take_end(struct base_writer *writer)
{
    struct base_window *window = &writer->window;
    enum status status = check_way(writer);
    if (status != STATUS_OK) {
        return status;
    }
    window->has_end = base_window_walk_is_in_row(writer);
    if (!window->has_end) {
        return note_row_end(writer);
    }
    status = base_buffer_set(&window->end_key, writer->data.key);
    if (status != STATUS_OK) {
        return status;
    }
    if (!base_key_position(buffer_bytes(&window->end_key), &window->end_qualifier, &window->end)) {
        return window->end_qualifier.failed ? STATUS_NO_MEMORY : STATUS_CORRUPT;
    }
    return STATUS_OK;
}

enum status base_window_find_end(struct base_writer *writer)
{
    enum status status = base_walk_seek(&writer->data, buffer_bytes(&writer->window.end_key));
    return status != STATUS_OK ? status : take_end(writer);
}

/* Drop what the row's stored tombstones cover: whoever rewrites a chunk applies them first. */
static enum status apply_tombstones(struct base_writer *writer)
{
    struct base_window *window = &writer->window;
    struct base_cells *old = &window->old;
    size_t kept = 0;
    if (window->tombstones.count == 0) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < old->count; i++) {
        if (base_tombstones_kill(&window->tombstones, &old->cells[i], old->stamps[i])) {
            window->changed = true;
            enum status status = base_writer_drop_value(writer, &old->cells[i]);
            if (status != STATUS_OK) {
                return status;
            }
        } else {
            old->cells[kept] = old->cells[i];
            old->stamps[kept] = old->stamps[i];
            kept++;
        }
    }
    old->count = kept;
    return STATUS_OK;
}

/* The cells of the chunk that is in memory now; none of one that is damaged, and dead with its row. */
static enum status decode_old(struct base_writer *writer, uint64_t seed)
{
    struct base_window *window = &writer->window;
    struct bytes data = buffer_bytes(&window->old_data);
    struct stamp stamp;
    bool has_large = false;
    enum status status = base_cells_decode(&window->old, &writer->reader, data, seed);
    if (status == STATUS_CORRUPT &&
        (window->row_delete_is_youngest ||
         (chunk_peek(data, &stamp, &has_large) &&
          base_row_is_dead(window->row_delete, &window->tombstones, stamp)))) {
        base_cells_reset(&window->old);
        window->changed = true;
        status = STATUS_OK;
    }
    return status;
}

/* Take the chunk that the walk stands on into memory. */
static enum status load(struct base_writer *writer)
{
    struct base_window *window = &writer->window;
    struct base_walk *walk = &writer->data;
    uint64_t seed = base_seed(walk->stored_key);

    window->stored = true;
    window->stored_value_bytes = walk->value.size_bytes;
    window->stored_bytes = walk->stored_key.size_bytes + walk->value.size_bytes;
    enum status status = base_buffer_set(&window->key, walk->key);
    if (status == STATUS_OK) {
        status = base_buffer_set(&window->old_data, walk->value);
    }
    if (status == STATUS_OK) {
        status = base_walk_next(walk);
    }
    if (status == STATUS_OK) {
        status = take_end(writer);
    }
    if (status == STATUS_OK) {
        status = decode_old(writer, seed);
    }
    window->stored_weight = window->stored_bytes + base_cells_large_bytes(&window->old);
    return status == STATUS_OK ? apply_tombstones(writer) : status;
}

enum status base_window_walk_to(struct base_writer *writer, const struct base_position *position)
{
    enum status status = base_buffer_set(&writer->seek, buffer_bytes(&writer->window.row_key));
    base_key_append_position(&writer->seek, position);
    if (writer->seek.failed) {
        return STATUS_NO_MEMORY;
    }
    struct bytes key = buffer_bytes(&writer->seek);
    status = base_walk_seek(&writer->data, key);
    if (status != STATUS_OK || (writer->data.found && bytes_equal(writer->data.key, key))) {
        return status;
    }
    status = base_walk_previous(&writer->data);
    if (status == STATUS_OK && !base_window_walk_is_in_row(writer)) {
        status = base_walk_seek(&writer->data, key);
    }
    return status;
}

/* True when the chunk that the walk stands on begins at or before position. */
static bool walk_covers(struct base_writer *writer, const struct base_position *position)
{
    struct base_position start;
    return base_window_walk_is_in_row(writer) &&
           base_key_position(writer->data.key, &writer->qualifier, &start) &&
           base_position_compare(&start, position) <= 0;
}

/* Nothing is stored at the row's start. */
static enum status begin(struct base_window *window)
{
    base_cells_reset(&window->old);
    window->has_end = false;
    return base_buffer_set(&window->key, buffer_bytes(&window->row_key));
}

static enum status load_or_begin(struct base_writer *writer, const struct base_position *position)
{
    struct base_window *window = &writer->window;
    enum status status = begin(window);
    if (status == STATUS_OK) {
        status = check_way(writer);
    }
    if (status != STATUS_OK) {
        return status;
    }
    return walk_covers(writer, position) ? load(writer) : take_end(writer);
}

/* The row's first chunk: all there is of most rows. */
static enum status open_first(struct base_writer *writer, const struct base_position *position)
{
    struct bytes row_key = buffer_bytes(&writer->window.row_key);
    bool nothing_stored = false;
    enum status status = base_gap_enter(&writer->gap, row_key, &nothing_stored);
    if (status == STATUS_OK && nothing_stored) {
        return begin(&writer->window);
    }
    if (status == STATUS_OK) {
        status = base_walk_seek(&writer->data, row_key);
    }
    return status == STATUS_OK ? load_or_begin(writer, position) : status;
}

static enum status open_chunk(struct base_writer *writer, const struct base_position *position)
{
    struct base_window *window = &writer->window;
    window->stored = false;
    window->old_next = 0;
    window->changed = false;
    window->has_new = false;
    window->appending = true;
    window->out_bytes = 0;
    base_cells_reset(&window->out);

    enum status status = STATUS_OK;
    if (!window->row_walked) {
        status = open_first(writer, position);
        window->row_walked = true;
        if (status != STATUS_OK || !window->has_end ||
            base_position_compare(position, &window->end) < 0) {
            window->chunk_open = status == STATUS_OK;
            return status;
        }
        /* What the row's tombstones took from its first chunk is written when it is next read. */
        if (window->changed) {
            window->chunk_open = true;
            status = base_window_close_chunk(writer, BASE_CLOSE_MOVE);
            return status != STATUS_OK ? status : open_chunk(writer, position);
        }
        window->stored = false;
    }
    status = base_window_walk_to(writer, position);
    if (status == STATUS_OK) {
        status = load_or_begin(writer, position);
    }
    window->chunk_open = status == STATUS_OK;
    return status;
}

/* What was taken out to make room comes back before a row at or behind it is looked at. */
static enum status restore_before(struct base_writer *writer)
{
    struct bytes taken = base_room_taken_key(&writer->room);
    if (taken.size_bytes == 0) {
        return STATUS_OK;
    }
    struct bytes key = bytes_of(taken.data + BASE_EXTENT_PREFIX_BYTES,
                                taken.size_bytes - BASE_EXTENT_PREFIX_BYTES);
    return bytes_compare(buffer_bytes(&writer->window.row_key), base_key_row(key)) < 0
               ? STATUS_OK
               : base_room_restore(&writer->room, writer->write);
}

enum status base_window_open_row(struct base_writer *writer, uint64_t extent, struct bytes row)
{
    struct base_window *window = &writer->window;
    if (window->row_open && window->extent == extent &&
        bytes_equal(buffer_bytes(&window->row), row)) {
        return STATUS_OK;
    }
    enum status status = base_window_close_row(writer);
    if (status != STATUS_OK) {
        return status;
    }
    if (writer->data.extent != extent) {
        status = base_writer_set_extent(writer, extent);
    }
    window->extent = extent;
    buffer_reset(&window->row_key);
    base_key_append_row(&window->row_key, row);
    if (status == STATUS_OK) {
        status = window->row_key.failed ? STATUS_NO_MEMORY : base_buffer_set(&window->row, row);
    }
    if (status == STATUS_OK) {
        status = restore_before(writer);
    }
    if (status == STATUS_OK) {
        status = base_tombstone_load(&writer->tombstones, buffer_bytes(&window->row_key),
                                     &window->tombstones);
    }
    window->row_walked = false;
    window->row_open = status == STATUS_OK;
    return status;
}

/* --- cells ------------------------------------------------------------------------------------ */

enum status base_window_go(struct base_writer *writer, const struct base_position *position)
{
    struct base_window *window = &writer->window;
    enum status status = STATUS_OK;
    bool inside = window->chunk_open &&
                  (!window->has_end || base_position_compare(position, &window->end) < 0);
    if (inside && window->out.count > 0) {
        struct base_position last = base_position_of(&window->out.cells[window->out.count - 1]);
        inside = base_position_compare(position, &last) >= 0;
    }
    if (!inside) {
        status = base_window_close_chunk(writer, BASE_CLOSE_MOVE);
        if (status == STATUS_OK) {
            status = open_chunk(writer, position);
        }
    }
    while (status == STATUS_OK && window->old_next < window->old.count) {
        struct base_position old = base_position_of(&window->old.cells[window->old_next]);
        if (base_position_compare(&old, position) >= 0) {
            break;
        }
        status = base_window_pass_old(window);
    }
    return status;
}

void base_window_take(struct base_writer *writer,
                      const struct base_position *position,
                      struct chunk_cell *ret_cell,
                      bool *ret_found)
{
    struct base_window *window = &writer->window;
    struct base_cells *out = &window->out;
    *ret_found = false;
    if (out->count > 0) {
        struct base_position last = base_position_of(&out->cells[out->count - 1]);
        if (base_position_compare(&last, position) == 0) {
            *ret_cell = out->cells[out->count - 1];
            *ret_found = true;
            out->count--;
        }
    }
    if (!*ret_found && window->old_next < window->old.count) {
        const struct chunk_cell *cell = &window->old.cells[window->old_next];
        struct base_position old = base_position_of(cell);
        if (base_position_compare(&old, position) == 0) {
            *ret_cell = *cell;
            *ret_found = true;
            window->old_next++;
        }
    }
    window->changed = window->changed || *ret_found;
}

static enum status write_large(struct base_writer *writer,
                               const struct chunk_cell *cell,
                               struct stamp stamp)
{
    struct base_window *window = &writer->window;
    uint8_t data[BASE_REFERENCE_BYTES_MAX];
    struct base_reference reference = {writer->counters.number_next, cell->value.size_bytes};
    writer->counters.number_next++;
    enum status status = base_value_write(writer->write, window->extent, reference.number,
                                          cell->value);
    if (status != STATUS_OK) {
        return status;
    }
    writer->delta_bytes += (int64_t)base_value_stored_bytes(&reference);
    struct chunk_cell small = *cell;
    small.large = true;
    small.value = bytes_of(data, base_reference_encode(&reference, data));
    return base_window_add_out(window, &small, stamp, true);
}

enum status base_window_append(struct base_writer *writer,
                               const struct chunk_cell *cell,
                               struct stamp stamp)
{
    struct base_window *window = &writer->window;
    size_t room = base_window_budget(window->row_key.size_bytes);
    bool large = cell->value.size_bytes > VALUE_INLINE && chunk_cell_size(NULL, cell) > room;

    window->changed = true;
    window->has_new = true;
    enum status status = large ? write_large(writer, cell, stamp)
                               : base_window_add_out(window, cell, stamp, true);
    if (status == STATUS_OK && window->out_bytes > BASE_OUT_BYTES_MAX) {
        status = base_window_write_full_chunks(writer);
    }
    return status;
}

enum status base_window_close_row(struct base_writer *writer)
{
    enum status status = STATUS_OK;
    if (writer->window.row_open) {
        status = base_window_close_chunk(writer, BASE_CLOSE_ROW);
        writer->window.row_open = false;
    }
    return status;
}

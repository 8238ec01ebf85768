#include <string.h>

#include "common/base/assert.h"
#include "tabletserver/storage/base_internal.h"

#define HEADER_BYTES    17 /* of a chunk, its stamp's index being small */
#define VALUE_INLINE    128
#define OUT_BYTES_MAX   ((size_t)4 * BASE_CHUNK_BYTES) /* then full chunks are written at once */
#define ARENA_BYTES_MAX ((size_t)128 * 1024)

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

static struct base_position position_of(const struct chunk_cell *cell)
{
    return (struct base_position){cell->family, cell->qualifier, cell->timestamp_us};
}

static bool walk_is_in_row(const struct base_writer *writer)
{
    const struct base_walk *walk = &writer->data;
    return walk->found &&
           bytes_equal(base_key_row(walk->key), buffer_bytes(&writer->window.row_key));
}

/* --- opening ---------------------------------------------------------------------------------- */

static enum status copy_to(struct buffer *buffer, struct bytes bytes)
{
    buffer_reset(buffer);
    buffer_append_bytes(buffer, bytes);
    return buffer->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

/* The chunk that the walk stands on, if it is in the row, is the one that follows. */
static enum status take_end(struct base_writer *writer)
{
    struct base_window *window = &writer->window;
    window->has_end = walk_is_in_row(writer);
    if (!window->has_end) {
        return STATUS_OK;
    }
    enum status status = copy_to(&window->end_key, writer->data.key);
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
            enum status status = base_writer_drop_value(writer, window->extent, &old->cells[i]);
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

/* Take the chunk that the walk stands on into memory. */
static enum status load(struct base_writer *writer)
{
    struct base_window *window = &writer->window;
    struct base_walk *walk = &writer->data;
    uint64_t seed = base_seed(walk->stored_key);

    window->stored = true;
    window->stored_value_bytes = walk->value.size_bytes;
    window->stored_bytes = walk->stored_key.size_bytes + walk->value.size_bytes;
    enum status status = copy_to(&window->key, walk->key);
    if (status == STATUS_OK) {
        status = copy_to(&window->old_data, walk->value);
    }
    if (status == STATUS_OK) {
        status = base_walk_next(walk);
    }
    if (status == STATUS_OK) {
        status = take_end(writer);
    }
    if (status == STATUS_OK) {
        status = base_cells_decode(&window->old, &writer->reader, buffer_bytes(&window->old_data),
                                   seed);
    }
    window->stored_weight = window->stored_bytes + base_cells_large_bytes(&window->old);
    return status == STATUS_OK ? apply_tombstones(writer) : status;
}

/* To the row's first chunk: all there is of most rows. */
static enum status go_row_start(struct base_writer *writer)
{
    return base_walk_seek(&writer->data, buffer_bytes(&writer->window.row_key));
}

/* To the last chunk that begins at or before position; where there is none, to the one behind. */
static enum status go_position(struct base_writer *writer, const struct base_position *position)
{
    enum status status = copy_to(&writer->seek, buffer_bytes(&writer->window.row_key));
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
    if (status == STATUS_OK && !walk_is_in_row(writer)) {
        status = base_walk_seek(&writer->data, key);
    }
    return status;
}

/* True when the chunk that the walk stands on begins at or before position. */
static bool walk_covers(struct base_writer *writer, const struct base_position *position)
{
    struct base_position start;
    return walk_is_in_row(writer) &&
           base_key_position(writer->data.key, &writer->qualifier, &start) &&
           base_position_compare(&start, position) <= 0;
}

static enum status load_or_begin(struct base_writer *writer, const struct base_position *position)
{
    struct base_window *window = &writer->window;
    base_cells_reset(&window->old);
    window->has_end = false;
    if (walk_covers(writer, position)) {
        return load(writer);
    }
    enum status status = copy_to(&window->key, buffer_bytes(&window->row_key));
    return status != STATUS_OK ? status : take_end(writer);
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
        status = go_row_start(writer);
        if (status == STATUS_OK) {
            status = load_or_begin(writer, position);
        }
        window->row_walked = true;
        if (status != STATUS_OK || !window->has_end ||
            base_position_compare(position, &window->end) < 0) {
            window->chunk_open = status == STATUS_OK;
            return status;
        }
        /* What the row's tombstones took from its first chunk is written when it is next read. */
        if (window->changed) {
            window->chunk_open = true;
            status = base_window_close_chunk(writer, false);
            return status != STATUS_OK ? status : open_chunk(writer, position);
        }
        window->stored = false;
    }
    status = go_position(writer, position);
    if (status == STATUS_OK) {
        status = load_or_begin(writer, position);
    }
    window->chunk_open = status == STATUS_OK;
    return status;
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
        status = window->row_key.failed ? STATUS_NO_MEMORY : copy_to(&window->row, row);
    }
    if (status == STATUS_OK) {
        status = base_tombstone_load(&writer->tombstones, buffer_bytes(&window->row_key),
                                     &window->tombstones);
    }
    window->row_walked = false;
    window->row_open = status == STATUS_OK;
    return status;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* What cells may take in a chunk stored under a key of this size. */
static size_t budget_of(size_t key_bytes)
{
    size_t stored = key_bytes < BASE_SLICE_BYTES
                        ? BASE_EXTENT_PREFIX_BYTES + key_bytes
                        : BASE_EXTENT_PREFIX_BYTES + 8 + key_bytes % BASE_SLICE_BYTES;
    return BASE_CHUNK_BYTES - HEADER_BYTES - stored;
}

/* How many of the first `limit` cells go into the next chunk. */
static size_t choose_count(const struct base_window *window, size_t limit)
{
    const struct chunk_cell *cells = window->out.cells;
    size_t budget = budget_of(window->key.size_bytes);
    size_t total = 0;
    for (size_t i = 0; i < limit; i++) {
        total += chunk_cell_size(i > 0 ? &cells[i - 1] : NULL, &cells[i]);
    }
    if (total <= budget) {
        return limit;
    }
    /* At the end of a row full chunks stay full; in the middle all get room to grow. */
    size_t parts = (total + budget - 1) / budget;
    size_t wanted = window->appending ? budget : total / parts;
    size_t count = 0;
    size_t used = 0;
    while (count < limit) {
        size_t size = chunk_cell_size(count > 0 ? &cells[count - 1] : NULL, &cells[count]);
        size_t beyond = window->appending ? size : size / 2;
        if (count > 0 && (used + beyond > wanted || used + size > budget)) {
            break;
        }
        used += size;
        count++;
    }
    return count;
}

/* The key of the chunk that begins with the cell after the first `count`. */
static enum status make_next_key(struct base_window *window, size_t count)
{
    struct base_position before = position_of(&window->out.cells[count - 1]);
    struct base_position next = position_of(&window->out.cells[count]);
    enum status status = copy_to(&window->key, buffer_bytes(&window->row_key));
    base_key_append_between(&window->key, &before, &next);
    return window->key.failed ? STATUS_NO_MEMORY : status;
}

static void forget_first(struct base_window *window, size_t count)
{
    struct base_cells *out = &window->out;
    out->count -= count;
    memmove(out->cells, out->cells + count, out->count * sizeof *out->cells);
    memmove(out->stamps, out->stamps + count, out->count * sizeof *out->stamps);
}

static uint64_t large_bytes(const struct base_window *window, size_t count)
{
    struct base_cells first = window->out;
    first.count = count;
    return base_cells_large_bytes(&first);
}

/* Write the first cells as one chunk. */
static enum status write_chunk(struct base_writer *writer, size_t count)
{
    struct base_window *window = &writer->window;
    struct bytes stored_key;
    struct stamp stamp = window->out.stamps[0];
    bool found = false;

    for (size_t i = 1; i < count; i++) {
        if (stamp_compare(window->out.stamps[i], stamp) > 0) {
            stamp = window->out.stamps[i];
        }
    }
    enum status status = base_walk_resolve(&writer->data, buffer_bytes(&window->key), true,
                                           &stored_key, &found);
    if (status != STATUS_OK) {
        return status;
    }
    buffer_reset(&writer->chunk);
    chunk_encode(window->out.cells, count, stamp, base_seed(stored_key), &writer->chunk);
    if (writer->chunk.failed) {
        return STATUS_NO_MEMORY;
    }
    status = base_walk_put(&writer->data, stored_key, buffer_bytes(&writer->chunk),
                           window->stored ? window->stored_bytes : 0);
    if (status == STATUS_OK) {
        uint64_t weight = stored_key.size_bytes + writer->chunk.size_bytes;
        status = base_sample_update(&writer->samples, buffer_bytes(&window->key),
                                    window->stored ? window->stored_weight : 0,
                                    weight + large_bytes(window, count));
    }
    window->stored = false;
    if (status == STATUS_OK && count < window->out.count) {
        status = make_next_key(window, count);
    }
    forget_first(window, count);
    return status;
}

/* Write the first `limit` cells in as many chunks as they take. */
static enum status write_chunks(struct base_writer *writer, size_t limit)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK && limit > 0) {
        size_t count = choose_count(&writer->window, limit);
        status = write_chunk(writer, count);
        limit -= count;
    }
    return status;
}

/* Move the memory of what is left to the spare list, so that the memory of the rest goes. */
static enum status renew_memory(struct base_window *window)
{
    struct base_cells *spare = &window->spare;
    base_cells_reset(spare);
    for (size_t i = 0; i < window->out.count; i++) {
        enum status status = base_cells_add_copy(spare, &window->out.cells[i],
                                                 window->out.stamps[i]);
        if (status != STATUS_OK) {
            return status;
        }
    }
    struct base_cells out = window->out;
    window->out = *spare;
    window->spare = out;
    base_cells_reset(&window->spare);
    return STATUS_OK;
}

static size_t sum_sizes(const struct base_cells *list)
{
    size_t total = 0;
    for (size_t i = 0; i < list->count; i++) {
        total += chunk_cell_size(i > 0 ? &list->cells[i - 1] : NULL, &list->cells[i]);
    }
    return total;
}

/* So much is new that whole chunks can be written now. */
static enum status write_full_chunks(struct base_writer *writer)
{
    struct base_window *window = &writer->window;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && window->out.count > 1 && window->out_bytes > OUT_BYTES_MAX / 2) {
        bool appending = window->appending;
        window->appending = true; /* fill them: a bulk of cells comes in order */
        size_t count = choose_count(window, window->out.count - 1);
        window->appending = appending;
        status = write_chunk(writer, count);
        window->out_bytes = sum_sizes(&window->out);
    }
    if (status == STATUS_OK && window->out.arena.used_bytes > ARENA_BYTES_MAX) {
        status = renew_memory(window);
    }
    return status;
}

static enum status add_out(struct base_window *window,
                           const struct chunk_cell *cell,
                           struct stamp stamp,
                           bool copy)
{
    const struct base_cells *out = &window->out;
    const struct chunk_cell *before = out->count > 0 ? &out->cells[out->count - 1] : NULL;
    window->out_bytes += chunk_cell_size(before, cell);
    return copy ? base_cells_add_copy(&window->out, cell, stamp)
                : base_cells_add(&window->out, cell, stamp);
}

/* The next stored cell goes over as it is. */
static enum status pass_old(struct base_window *window)
{
    size_t i = window->old_next++;
    window->appending = window->appending && !window->has_new;
    return add_out(window, &window->old.cells[i], window->old.stamps[i], false);
}

/* Nothing is left of the chunk. */
static enum status erase_stored(struct base_writer *writer)
{
    struct base_window *window = &writer->window;
    struct bytes key = buffer_bytes(&window->key);
    enum status status = base_walk_delete(&writer->data, key, window->stored_value_bytes);
    return status != STATUS_OK
               ? status
               : base_sample_update(&writer->samples, key, window->stored_weight, 0);
}

enum status base_window_close_chunk(struct base_writer *writer, bool apart)
{
    struct base_window *window = &writer->window;
    enum status status = STATUS_OK;
    if (!window->chunk_open) {
        return STATUS_OK;
    }
    window->chunk_open = false;
    if (!window->changed) {
        return STATUS_OK;
    }
    size_t first = window->has_new ? window->out.count : 0;
    while (status == STATUS_OK && window->old_next < window->old.count) {
        status = pass_old(window);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (window->out.count == 0) {
        return window->stored ? erase_stored(writer) : STATUS_OK;
    }
    if (apart && first > 0) {
        status = write_chunks(writer, first);
    }
    return status != STATUS_OK ? status : write_chunks(writer, window->out.count);
}

enum status base_window_close_row(struct base_writer *writer)
{
    enum status status = STATUS_OK;
    if (writer->window.row_open) {
        status = base_window_close_chunk(writer, false);
        writer->window.row_open = false;
    }
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
        struct base_position last = position_of(&window->out.cells[window->out.count - 1]);
        inside = base_position_compare(position, &last) >= 0;
    }
    if (!inside) {
        status = base_window_close_chunk(writer, false);
        if (status == STATUS_OK) {
            status = open_chunk(writer, position);
        }
    }
    while (status == STATUS_OK && window->old_next < window->old.count) {
        struct base_position old = position_of(&window->old.cells[window->old_next]);
        if (base_position_compare(&old, position) >= 0) {
            break;
        }
        status = pass_old(window);
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
        struct base_position last = position_of(&out->cells[out->count - 1]);
        if (base_position_compare(&last, position) == 0) {
            *ret_cell = out->cells[out->count - 1];
            *ret_found = true;
            out->count--;
        }
    }
    if (!*ret_found && window->old_next < window->old.count) {
        const struct chunk_cell *cell = &window->old.cells[window->old_next];
        struct base_position old = position_of(cell);
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
    return add_out(window, &small, stamp, true);
}

enum status base_window_append(struct base_writer *writer,
                               const struct chunk_cell *cell,
                               struct stamp stamp)
{
    struct base_window *window = &writer->window;
    size_t room = budget_of(window->row_key.size_bytes);
    bool large = cell->value.size_bytes > VALUE_INLINE && chunk_cell_size(NULL, cell) > room;

    window->changed = true;
    window->has_new = true;
    enum status status = large ? write_large(writer, cell, stamp)
                               : add_out(window, cell, stamp, true);
    if (status == STATUS_OK && window->out_bytes > OUT_BYTES_MAX) {
        status = write_full_chunks(writer);
    }
    return status;
}

#include <string.h>

#include "common/base/assert.h"
#include "tabletserver/storage/base/base_internal.h"

#define HEADER_BYTES    17 /* of a chunk, its stamp's index being small */
#define ARENA_BYTES_MAX ((size_t)128 * 1024)

size_t base_window_budget(size_t key_bytes)
{
    return BASE_CHUNK_BYTES - HEADER_BYTES - base_walk_stored_bytes(key_bytes);
}

/* Cells from `first` on, up to `end`. */
static size_t sum_range(const struct base_cells *list, size_t first, size_t end)
{
    size_t total = 0;
    for (size_t i = first; i < end; i++) {
        total += chunk_cell_size(i > first ? &list->cells[i - 1] : NULL, &list->cells[i]);
    }
    return total;
}

/* How many of the first `limit` cells go into the next chunk. */
static size_t choose_count(const struct base_window *window, size_t limit)
{
    const struct chunk_cell *cells = window->out.cells;
    size_t budget = base_window_budget(window->key.size_bytes);
    size_t total = sum_range(&window->out, 0, limit);
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
    struct base_position before = base_position_of(&window->out.cells[count - 1]);
    struct base_position next = base_position_of(&window->out.cells[count]);
    enum status status = base_buffer_set(&window->key, buffer_bytes(&window->row_key));
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
    if (!window->stored && !window->has_end && window->key.size_bytes < BASE_SLICE_BYTES) {
        status = base_room_make(&writer->room, writer->write, writer->data.cursor, stored_key);
        if (status != STATUS_OK) {
            return status;
        }
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

enum status base_window_write_full_chunks(struct base_writer *writer)
{
    struct base_window *window = &writer->window;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && window->out.count > 1 &&
           window->out_bytes > BASE_OUT_BYTES_MAX / 2) {
        bool appending = window->appending;
        window->appending = true; /* fill them: a bulk of cells comes in order */
        size_t count = choose_count(window, window->out.count - 1);
        window->appending = appending;
        status = write_chunk(writer, count);
        window->out_bytes = sum_range(&window->out, 0, window->out.count);
    }
    if (status == STATUS_OK && window->out.arena.used_bytes > ARENA_BYTES_MAX) {
        status = renew_memory(window);
    }
    return status;
}

enum status base_window_add_out(struct base_window *window,
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

enum status base_window_pass_old(struct base_window *window)
{
    size_t i = window->old_next++;
    window->appending = window->appending && !window->has_new;
    return base_window_add_out(window, &window->old.cells[i], window->old.stamps[i], false);
}

/* A chunk that takes less than half of what it may looks at its neighbours. */
static bool is_small(const struct base_window *window, size_t size_bytes)
{
    return size_bytes < base_window_budget(window->key.size_bytes) / 2;
}

/*
 * Stamps rise to the largest in a chunk, so only cells may be joined that no delete still to come
 * can cover: those before the last position given, and at the row's end all.  The stored cells
 * behind a cut stay as they are, even among each other: after a crash in the middle of a row some of
 * them may be younger than deletes that are to come for the rest.  Where nothing was put, the last
 * position lies somewhere among the old cells, and the next may still lie among them (the chunk is
 * written and opened again): then nothing is joined before the row's end.
 */
static enum status absorb_neighbours(struct base_writer *writer,
                                     enum base_close close,
                                     size_t *first_count)
{
    struct base_window *window = &writer->window;
    bool cut = close == BASE_CLOSE_CUT && *first_count > 0;
    size_t last_begin = cut && *first_count < window->out.count ? *first_count : 0;
    size_t last_size = sum_range(&window->out, last_begin, window->out.count);
    enum status status = STATUS_OK;
    if (close != BASE_CLOSE_ROW && !window->has_new) {
        return STATUS_OK;
    }
    if (window->has_end && close == BASE_CLOSE_ROW && is_small(window, last_size)) {
        status = base_absorb_next(writer, last_size);
    }
    size_t first_end = last_begin > 0 ? last_begin : window->out.count;
    size_t first_size = sum_range(&window->out, 0, first_end);
    if (status == STATUS_OK && window->key.size_bytes > window->row_key.size_bytes &&
        is_small(window, first_size)) {
        size_t count = 0;
        status = base_absorb_previous(writer, first_size, &count);
        *first_count += *first_count > 0 ? count : 0;
    }
    return status;
}

enum status base_window_close_chunk(struct base_writer *writer, enum base_close close)
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
    size_t first_count = window->has_new ? window->out.count : 0;
    while (status == STATUS_OK && window->old_next < window->old.count) {
        status = base_window_pass_old(window);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (window->out.count == 0) {
        return window->stored ? base_absorb_own(writer) : STATUS_OK;
    }
    status = absorb_neighbours(writer, close, &first_count);
    if (status == STATUS_OK && close == BASE_CLOSE_CUT && first_count > 0) {
        status = write_chunks(writer, first_count);
    }
    return status != STATUS_OK ? status : write_chunks(writer, window->out.count);
}

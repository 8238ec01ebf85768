/*
 * How much is stored, where its half is and which rows cut it in equal parts: exactly while that is
 * little, else by the sample.
 */
#include "common/base/assert.h"
#include "tabletserver/storage/base/base_internal.h"

#define EXACT_CHUNKS_MAX 4096 /* about 3 MB: a fraction of a millisecond */

/* Weighs records of the pieces in order: all chunks, or the marks of the sample. */
struct scale {
    struct base_walk walk;
    bool sampled;
    struct chunk_reader reader;
    struct base_cells cells;
    uint64_t total_bytes;
    uint64_t count;
    uint64_t half_bytes; /* 0 = no half is wanted */
    struct buffer first; /* row' of the first row */
    struct buffer half;  /* row' where the total passed half_bytes, behind the first row */
    struct buffer start; /* of the piece */
    struct buffer end;
    struct base_row_samples *samples; /* NULL = none are wanted */
    uint64_t step_bytes;              /* between two of them */
    uint64_t next_bytes;              /* the next row that begins at or behind this is one */
    struct buffer before;             /* row' of the chunk before */
    struct arena *arena;              /* of the samples' rows */
};

static enum status scale_open(struct scale *scale, struct base_snapshot *snapshot, bool sampled)
{
    *scale = (struct scale){.sampled = sampled};
    base_cells_init(&scale->cells);
    chunk_reader_init(&scale->reader);
    return base_walk_open(&scale->walk, &snapshot->store,
                          sampled ? BASE_SPACE_SAMPLE : BASE_SPACE_DATA);
}

static void scale_close(struct scale *scale)
{
    base_walk_close(&scale->walk);
    base_cells_deinit(&scale->cells);
    chunk_reader_deinit(&scale->reader);
    buffer_deinit(&scale->first);
    buffer_deinit(&scale->half);
    buffer_deinit(&scale->start);
    buffer_deinit(&scale->end);
    buffer_deinit(&scale->before);
}

/* A chunk that cannot be read weighs what it takes itself. */
static enum status weigh(struct scale *scale, uint64_t *ret_bytes)
{
    const struct base_walk *walk = &scale->walk;
    struct stamp stamp;
    bool has_large = false;
    if (scale->sampled) {
        *ret_bytes = base_sample_weight(walk->value);
        return STATUS_OK;
    }
    *ret_bytes = walk->stored_key.size_bytes + walk->value.size_bytes;
    if (chunk_peek(walk->value, &stamp, &has_large) && has_large) {
        base_cells_reset(&scale->cells);
        enum status status = base_cells_decode(&scale->cells, &scale->reader, walk->value,
                                               base_seed(walk->stored_key));
        if (status == STATUS_NO_MEMORY) {
            return status;
        }
        *ret_bytes += base_cells_large_bytes(&scale->cells);
    }
    return STATUS_OK;
}

/* The row that is stood on becomes a sample if enough lies before it, and none of it. */
static enum status note_sample(struct scale *scale)
{
    struct base_row_samples *samples = scale->samples;
    struct bytes row_key = scale->walk.row;
    struct bytes row = BYTES_EMPTY;
    bool begins = !bytes_equal(row_key, buffer_bytes(&scale->before));
    enum status status = base_buffer_set(&scale->before, row_key);
    if (status != STATUS_OK || !begins || scale->total_bytes < scale->next_bytes ||
        samples->count == samples->count_max) {
        return status;
    }
    struct buffer unescaped = BUFFER_INIT;
    if (!base_key_unescape(row_key, &unescaped, &row)) {
        status = unescaped.failed ? STATUS_NO_MEMORY : STATUS_CORRUPT;
    } else {
        struct bytes copy = arena_copy(scale->arena, row);
        status = copy.size_bytes == row.size_bytes ? STATUS_OK : STATUS_NO_MEMORY;
        samples->samples[samples->count] = (struct base_row_sample){copy, scale->total_bytes};
        samples->count += status == STATUS_OK ? 1 : 0;
        scale->next_bytes = (scale->total_bytes / scale->step_bytes + 1) * scale->step_bytes;
    }
    buffer_deinit(&unescaped);
    return status;
}

static enum status note_row(struct scale *scale)
{
    struct bytes row_key = scale->walk.row;
    if (scale->samples != NULL) {
        return note_sample(scale);
    }
    if (scale->first.size_bytes == 0) {
        buffer_append_bytes(&scale->first, row_key);
    }
    if (scale->half_bytes > 0 && scale->half.size_bytes == 0 &&
        scale->total_bytes >= scale->half_bytes &&
        !bytes_equal(row_key, buffer_bytes(&scale->first))) {
        buffer_append_bytes(&scale->half, row_key);
    }
    return scale->first.failed || scale->half.failed ? STATUS_NO_MEMORY : STATUS_OK;
}

static enum status weigh_record(struct scale *scale, uint64_t *ret_bytes)
{
    enum status status = weigh(scale, ret_bytes);
    return status == STATUS_OK ? note_row(scale) : status;
}

/* What is behind a link that is damaged weighs nothing. */
static enum status weigh_piece(struct scale *scale, const struct base_piece *piece, bool *ret_more)
{
    struct base_walk *walk = &scale->walk;
    buffer_reset(&scale->start);
    buffer_reset(&scale->end);
    base_key_append_row(&scale->start, piece->range.start);
    base_key_append_row(&scale->end, piece->range.end);
    if (scale->start.failed || scale->end.failed) {
        return STATUS_NO_MEMORY;
    }
    base_walk_set_extent(walk, piece->extent);
    enum status status = base_walk_seek(walk, buffer_bytes(&scale->start));
    while (
        status == STATUS_OK && walk->found &&
        (scale->end.size_bytes == 0 || bytes_compare(walk->row, buffer_bytes(&scale->end)) < 0)) {
        uint64_t bytes = 0;
        if (!scale->sampled && scale->count == EXACT_CHUNKS_MAX) {
            *ret_more = true;
            return STATUS_OK;
        }
        scale->count++;
        status = walk->barred ? STATUS_OK : weigh_record(scale, &bytes);
        scale->total_bytes += bytes;
        if (status == STATUS_OK) {
            status = base_walk_next(walk);
        }
    }
    return status;
}

/* *ret_more: there were too many chunks to weigh them all. */
static enum status weigh_all(struct scale *scale,
                             const struct base_piece *pieces,
                             uint32_t piece_count,
                             uint64_t half_bytes,
                             bool *ret_more)
{
    enum status status = STATUS_OK;
    *ret_more = false;
    scale->total_bytes = 0;
    scale->count = 0;
    scale->half_bytes = half_bytes;
    for (uint32_t i = 0; i < piece_count && status == STATUS_OK && !*ret_more; i++) {
        status = weigh_piece(scale, &pieces[i], ret_more);
    }
    return status;
}

/* Opens a scale that has weighed the pieces once; to be closed by the caller, on error too. */
static enum status weigh_pieces(struct base_snapshot *snapshot,
                                const struct base_piece *pieces,
                                uint32_t piece_count,
                                struct scale *scale)
{
    bool more = false;
    enum status status = scale_open(scale, snapshot, false);
    if (status == STATUS_OK) {
        status = weigh_all(scale, pieces, piece_count, 0, &more);
    }
    if (status != STATUS_OK || !more) {
        return status;
    }
    scale_close(scale);
    status = scale_open(scale, snapshot, true);
    return status == STATUS_OK ? weigh_all(scale, pieces, piece_count, 0, &more) : status;
}

enum status base_estimate_bytes(struct base_snapshot *snapshot,
                                const struct base_piece *pieces,
                                uint32_t piece_count,
                                uint64_t *ret_bytes)
{
    struct scale scale;
    enum status status = weigh_pieces(snapshot, pieces, piece_count, &scale);
    if (status == STATUS_OK) {
        *ret_bytes = scale.total_bytes;
    }
    scale_close(&scale);
    return status;
}

/* A row behind the first one, where the scale named none: the one after the first. */
static enum status find_second_row(struct base_snapshot *snapshot,
                                   const struct base_piece *pieces,
                                   uint32_t piece_count,
                                   struct buffer *row,
                                   bool *ret_found)
{
    struct layer_cursor *cursor = NULL;
    struct bytes found_row;
    bool found = false;
    enum status status = base_cursor_open(snapshot, pieces, piece_count, &cursor);
    if (status != STATUS_OK) {
        return status;
    }
    status = cursor->operations->seek_row(cursor, ROW_AT_OR_AFTER, BYTES_EMPTY, &found_row, &found);
    if (status == STATUS_OK && found) {
        status = cursor->operations->seek_row(cursor, ROW_AFTER, found_row, &found_row, &found);
    }
    if (status == STATUS_OK && found) {
        buffer_append_bytes(row, found_row);
        status = row->failed ? STATUS_NO_MEMORY : STATUS_OK;
    }
    cursor->operations->close(cursor);
    *ret_found = found;
    return status;
}

enum status base_middle_row(struct base_snapshot *snapshot,
                            const struct base_piece *pieces,
                            uint32_t piece_count,
                            struct buffer *row,
                            bool *ret_found)
{
    struct scale scale;
    struct bytes half = BYTES_EMPTY;
    bool more = false;
    bool found = false;
    buffer_reset(row);
    enum status status = weigh_pieces(snapshot, pieces, piece_count, &scale);
    if (status == STATUS_OK) {
        uint64_t half_bytes = scale.total_bytes / 2 > 0 ? scale.total_bytes / 2 : 1;
        status = weigh_all(&scale, pieces, piece_count, half_bytes, &more);
    }
    if (status == STATUS_OK && scale.half.size_bytes > 0) {
        found = true;
        if (!base_key_unescape(buffer_bytes(&scale.half), &scale.start, &half)) {
            status = scale.start.failed ? STATUS_NO_MEMORY : STATUS_CORRUPT;
        }
        buffer_append_bytes(row, half);
        status = status == STATUS_OK && row->failed ? STATUS_NO_MEMORY : status;
    } else if (status == STATUS_OK) {
        status = find_second_row(snapshot, pieces, piece_count, row, &found);
    }
    scale_close(&scale);
    if (status == STATUS_OK) {
        *ret_found = found;
    }
    return status;
}

enum status base_sample_rows(struct base_snapshot *snapshot,
                             const struct base_piece *pieces,
                             uint32_t piece_count,
                             uint64_t step_bytes,
                             struct arena *arena,
                             struct base_row_samples *samples)
{
    struct scale scale;
    bool more = false;
    ASSERT(step_bytes > 0 && samples->count_max > 0);
    samples->count = 0;
    enum status status = weigh_pieces(snapshot, pieces, piece_count, &scale);
    if (status == STATUS_OK) {
        samples->total_bytes = scale.total_bytes;
        /* So wide apart that all of them find room. */
        uint64_t step_min = scale.total_bytes / samples->count_max + 1;
        scale.step_bytes = step_bytes > step_min ? step_bytes : step_min;
        scale.next_bytes = scale.step_bytes;
        scale.samples = samples;
        scale.arena = arena;
        status = weigh_all(&scale, pieces, piece_count, 0, &more);
    }
    scale_close(&scale);
    return status;
}

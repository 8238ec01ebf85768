#include "tabletserver/storage/rows/row_reader.h"

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/rows/row_merge.h"

#define CELLS_BETWEEN_LOOKS 256 /* of one who waits: with the slowest of filters some 10 ms */

/* A layer among rows: the nearest row that it has, in the direction of the last seek. */
struct layer {
    struct layer_cursor *cursor;
    struct tablet_position flushed;
    bool has_row;
    struct bytes row; /* the cursor's; good until its next seek_row */
};

enum direction {
    DIRECTION_NONE, /* the layers' rows say nothing */
    DIRECTION_FORWARD,
    DIRECTION_BACKWARD,
};

struct row_reader {
    struct layer layers[ROW_READER_LAYERS_MAX];
    uint32_t layer_count;
    const struct range_delete *range_deletes;
    uint32_t range_delete_count;
    enum direction direction; /* of the last seek that found a row */
    struct buffer row;        /* which one: the reader's own copy */
    struct row_patience patience;
    uint32_t cells_unlooked; /* since whoever waits was asked */
    struct row_merge merge;
};

struct row_reader *row_reader_create(void)
{
    struct row_reader *reader = memory_allocate_zeroed(1, sizeof *reader);
    if (reader != NULL) {
        row_merge_init(&reader->merge);
    }
    return reader;
}

void row_reader_destroy(struct row_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    ASSERT(reader->layer_count == 0);
    row_merge_deinit(&reader->merge);
    buffer_deinit(&reader->row);
    memory_free(reader);
}

void row_reader_open(struct row_reader *reader, const struct row_reader_options *options)
{
    ASSERT(reader->layer_count == 0);
    ASSERT(options->layer_count <= ROW_READER_LAYERS_MAX);
    reader->range_deletes = options->range_deletes;
    reader->range_delete_count = options->range_delete_count;
    reader->direction = DIRECTION_NONE;
    reader->patience = (struct row_patience){.look = NULL};
    row_merge_open(&reader->merge, options->table, options->now_us);
    for (uint32_t i = 0; i < options->layer_count; i++) {
        const struct row_reader_layer *from = &options->layers[i];
        if (from->flushed.everything) {
            from->cursor->operations->close(from->cursor);
            continue;
        }
        reader->layers[reader->layer_count++] = (struct layer){
            .cursor = from->cursor,
            .flushed = from->flushed,
        };
    }
}

void row_reader_close(struct row_reader *reader)
{
    for (uint32_t i = 0; i < reader->layer_count; i++) {
        struct layer_cursor *cursor = reader->layers[i].cursor;
        cursor->operations->close(cursor);
    }
    reader->layer_count = 0;
    row_merge_close(&reader->merge);
}

void row_reader_set_patience(struct row_reader *reader, const struct row_patience *patience)
{
    reader->patience = *patience;
    reader->cells_unlooked = 0;
}

static enum direction direction_of(enum row_seek seek)
{
    return seek == ROW_AT_OR_AFTER || seek == ROW_AFTER ? DIRECTION_FORWARD : DIRECTION_BACKWARD;
}

/* Negative where a lies before b in the direction of reading. */
static int compare_rows(enum direction direction, struct bytes a, struct bytes b)
{
    int order = bytes_compare(a, b);
    return direction == DIRECTION_FORWARD ? order : -order;
}

static enum status layer_seek(struct layer *layer, enum row_seek seek, struct bytes row)
{
    bool is_forward = direction_of(seek) == DIRECTION_FORWARD;
    if (is_forward && bytes_compare(row, layer->flushed.row) < 0) {
        seek = ROW_AT_OR_AFTER;
        row = layer->flushed.row;
    }
    enum status status = layer->cursor->operations->seek_row(layer->cursor, seek, row, &layer->row,
                                                             &layer->has_row);
    if (status != STATUS_OK) {
        layer->has_row = false;
        return status;
    }
    if (layer->has_row && bytes_compare(layer->row, layer->flushed.row) < 0) {
        layer->has_row = false; /* going backward, it enters what is in the base */
    }
    return STATUS_OK;
}

/*
 * Is the row that the layer stands on still its nearest?  The last seek left no row of any layer
 * between where it began and the row that it found; so when this one begins at or beyond that row,
 * a layer that stands beyond the new start, or at its end, need not be asked again.
 */
static bool stands_right(const struct layer *layer, enum row_seek seek, struct bytes row)
{
    if (!layer->has_row) {
        return true;
    }
    int order = compare_rows(direction_of(seek), layer->row, row);
    return order > 0 || (order == 0 && (seek == ROW_AT_OR_AFTER || seek == ROW_AT_OR_BEFORE));
}

static const struct layer *nearest(const struct row_reader *reader, enum direction direction)
{
    const struct layer *near = NULL;
    for (uint32_t i = 0; i < reader->layer_count; i++) {
        const struct layer *layer = &reader->layers[i];
        if (layer->has_row &&
            (near == NULL || compare_rows(direction, layer->row, near->row) < 0)) {
            near = layer;
        }
    }
    return near;
}

static struct stamp range_covered(const struct row_reader *reader, struct bytes row)
{
    struct stamp covered = STAMP_OLDEST;
    for (uint32_t i = 0; i < reader->range_delete_count; i++) {
        const struct range_delete *delete = &reader->range_deletes[i];
        if (row_range_contains(&delete->range, row)) {
            covered = stamp_later(covered, delete->stamp);
        }
    }
    return covered;
}

/* What of the row this layer's entries must not be taken from; NULL = take all. */
static const struct tablet_position *flushed_part(const struct layer *layer, struct bytes row)
{
    bool is_inside = layer->flushed.family != 0 && bytes_equal(layer->flushed.row, row);
    return is_inside ? &layer->flushed : NULL;
}

static enum status enter_row(struct row_reader *reader, struct bytes row)
{
    buffer_reset(&reader->row);
    buffer_append_bytes(&reader->row, row);
    if (reader->row.failed) {
        return STATUS_NO_MEMORY;
    }
    row_merge_begin(&reader->merge, range_covered(reader, row));
    for (uint32_t i = 0; i < reader->layer_count; i++) {
        const struct layer *layer = &reader->layers[i];
        if (layer->has_row && (layer->row.data == row.data || bytes_equal(layer->row, row))) {
            row_merge_add_layer(&reader->merge, layer->cursor, flushed_part(layer, row));
        }
    }
    return STATUS_OK;
}

/* Stand every layer on its nearest row. */
static enum status seek_layers(struct row_reader *reader, enum row_seek seek, struct bytes row)
{
    bool goes_on = reader->direction == direction_of(seek) && seek != ROW_LAST &&
                   compare_rows(reader->direction, row, buffer_bytes(&reader->row)) >= 0;
    for (uint32_t i = 0; i < reader->layer_count; i++) {
        struct layer *layer = &reader->layers[i];
        if (goes_on && stands_right(layer, seek, row)) {
            continue;
        }
        enum status status = layer_seek(layer, seek, row);
        if (status != STATUS_OK) {
            return status;
        }
    }
    return STATUS_OK;
}

enum status row_reader_seek(struct row_reader *reader,
                            enum row_seek seek,
                            struct bytes row,
                            struct bytes *ret_row,
                            bool *ret_found)
{
    row_merge_begin(&reader->merge, STAMP_OLDEST);
    enum status status = seek_layers(reader, seek, row);
    reader->direction = DIRECTION_NONE;
    if (status != STATUS_OK) {
        return status;
    }
    const struct layer *near = nearest(reader, direction_of(seek));
    if (near == NULL) {
        *ret_found = false;
        return STATUS_OK;
    }
    status = enter_row(reader, near->row);
    if (status != STATUS_OK) {
        return status;
    }
    reader->direction = direction_of(seek);
    *ret_row = buffer_bytes(&reader->row);
    *ret_found = true;
    return STATUS_OK;
}

static enum status source_rewind(void *context, uint32_t family, struct bytes qualifier)
{
    struct row_reader *reader = context;
    return row_merge_rewind(&reader->merge, family, qualifier);
}

static enum status source_next(void *context,
                               enum cell_demand demand,
                               struct cell *ret_cell,
                               bool *ret_found)
{
    struct row_reader *reader = context;
    if (reader->patience.look != NULL && ++reader->cells_unlooked == CELLS_BETWEEN_LOOKS) {
        reader->cells_unlooked = 0;
        enum status status = reader->patience.look(reader->patience.context);
        if (status != STATUS_OK) {
            return status;
        }
    }
    return row_merge_next(&reader->merge, demand, ret_cell, ret_found);
}

struct cell_source row_reader_source(struct row_reader *reader)
{
    return (struct cell_source){reader, source_rewind, source_next};
}

const struct entry *row_reader_shown(const struct row_reader *reader)
{
    return &reader->merge.shown;
}

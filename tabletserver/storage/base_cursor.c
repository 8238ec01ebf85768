/*
 * The base as a layer: rows of several extents in order, their chunks and stored tombstones.
 *
 * Two walks go side by side, over chunks and over tombstones; a row is there when one of them has
 * it.  Nothing of a chunk is decoded before its entries are asked for.
 */
#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/base_internal.h"

#define STEPS_MAX 3 /* chunks of a row passed one by one before the next row is searched for */

/* Where the walk over chunks stands, seen from the current row. */
enum place {
    PLACE_UNKNOWN,
    PLACE_ROW_START, /* on its first chunk */
    PLACE_IN_ROW,    /* on one of its chunks */
    PLACE_BEHIND,    /* on the first chunk behind it, or past the end */
};

struct base_cursor {
    struct layer_cursor layer;
    struct base_snapshot *snapshot;
    const struct base_piece *pieces;
    uint32_t piece_count;

    bool piece_open;
    uint32_t piece;
    struct buffer piece_start; /* row' of its range; empty = open */
    struct buffer piece_end;
    struct base_walk data;
    struct base_tombstone_finder finder;
    bool with_tombstones;
    struct kv_cursor *value_cursor; /* opened when first needed */

    bool row_open;
    struct buffer row;
    struct buffer row_key;
    bool row_has_data;
    bool row_has_tombstones;
    enum place place;

    struct base_tombstones tombstones;
    bool tombstones_loaded;
    size_t tombstone_next;
    const struct entry *head_row; /* deletes that cover more than the position sought */
    const struct entry *head_family;

    bool chunk_open;
    struct chunk_reader reader;
    bool cell_ready;
    struct chunk_cell cell;
    bool column_known; /* of the entry last handed out */
    uint32_t column_family;
    struct bytes column_qualifier;

    struct buffer seek;
    struct buffer qualifier;
    struct buffer column;
    struct buffer value;
};

/* --- trouble ---------------------------------------------------------------------------------- */

static enum status trouble(struct base_cursor *cursor, enum status status, const char *what)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    struct bytes key = cursor->data.stored_key;
    if (status != STATUS_CORRUPT && status != STATUS_VERSION) {
        return status;
    }
    return error_set(&cursor->snapshot->trouble, STATUS_CORRUPT,
                     "extent %llu, row %s, stored under %llu bytes: %s%s",
                     (unsigned long long)cursor->data.extent,
                     bytes_printable(buffer_bytes(&cursor->row), text),
                     (unsigned long long)key.size_bytes, what,
                     status == STATUS_VERSION ? " is of an unknown format" : " is damaged");
}

/* --- pieces ----------------------------------------------------------------------------------- */

static enum status open_piece(struct base_cursor *cursor, uint32_t index)
{
    const struct base_piece *piece = &cursor->pieces[index];
    if (cursor->piece_open && cursor->piece == index) {
        return STATUS_OK;
    }
    cursor->piece_open = false;
    buffer_reset(&cursor->piece_start);
    buffer_reset(&cursor->piece_end);
    base_key_append_row(&cursor->piece_start, piece->range.start);
    base_key_append_row(&cursor->piece_end, piece->range.end);
    if (cursor->piece_start.failed || cursor->piece_end.failed) {
        return STATUS_NO_MEMORY;
    }
    base_walk_set_extent(&cursor->data, piece->extent);
    base_tombstone_finder_forget(&cursor->finder, piece->extent);
    cursor->place = PLACE_UNKNOWN;
    cursor->piece_open = true;
    cursor->piece = index;
    return STATUS_OK;
}

/* The first piece that ends behind row; piece_count when there is none. */
static uint32_t find_piece(const struct base_cursor *cursor, struct bytes row)
{
    uint32_t low = 0;
    uint32_t high = cursor->piece_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        struct bytes end = cursor->pieces[middle].range.end;
        if (end.size_bytes == 0 || bytes_compare(end, row) > 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static bool is_below_end(const struct base_cursor *cursor, struct bytes row_key)
{
    return cursor->piece_end.size_bytes == 0 ||
           bytes_compare(row_key, buffer_bytes(&cursor->piece_end)) < 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

static enum status accept_row(struct base_cursor *cursor, struct bytes row_key)
{
    struct bytes row;
    buffer_reset(&cursor->row_key);
    buffer_append_bytes(&cursor->row_key, row_key);
    if (cursor->row_key.failed) {
        return STATUS_NO_MEMORY;
    }
    if (!base_key_unescape(buffer_bytes(&cursor->row_key), &cursor->row, &row)) {
        return cursor->row.failed ? STATUS_NO_MEMORY : trouble(cursor, STATUS_CORRUPT, "the key");
    }
    if (row.data != cursor->row.data) {
        buffer_reset(&cursor->row);
        buffer_append_bytes(&cursor->row, row);
    }
    cursor->row_open = !cursor->row.failed;
    return cursor->row.failed ? STATUS_NO_MEMORY : STATUS_OK;
}

static void leave_row(struct base_cursor *cursor)
{
    cursor->row_open = false;
    cursor->tombstones_loaded = false;
    cursor->chunk_open = false;
    cursor->cell_ready = false;
    cursor->column_known = false;
}

/* Of what the two walks found, take the nearer row. */
static enum status choose_row(struct base_cursor *cursor,
                              bool forward,
                              bool has_tombstones,
                              struct bytes tombstone_row,
                              bool *ret_found)
{
    struct bytes data_row = cursor->data.found ? base_key_row(cursor->data.key) : BYTES_EMPTY;
    bool has_data = cursor->data.found;
    *ret_found = has_data || has_tombstones;
    if (has_data && has_tombstones) {
        int order = bytes_compare(data_row, tombstone_row);
        order = forward ? order : -order;
        has_data = order <= 0;
        has_tombstones = order >= 0;
    }
    if (!*ret_found) {
        return STATUS_OK;
    }
    struct bytes row_key = has_data ? data_row : tombstone_row;
    struct bytes start = buffer_bytes(&cursor->piece_start);
    *ret_found = forward ? is_below_end(cursor, row_key) : bytes_compare(row_key, start) >= 0;
    if (!*ret_found) {
        return STATUS_OK;
    }
    cursor->row_has_data = has_data;
    cursor->row_has_tombstones = has_tombstones;
    if (forward) {
        cursor->place = has_data ? PLACE_ROW_START : PLACE_BEHIND;
    } else {
        cursor->place = has_data ? PLACE_IN_ROW : PLACE_UNKNOWN;
    }
    return accept_row(cursor, row_key);
}

/* The walk over chunks stands on the first key >= low; the tombstones follow. */
static enum status choose_forward(struct base_cursor *cursor, struct bytes low, bool *ret_found)
{
    struct bytes tombstone_row = BYTES_EMPTY;
    bool has_tombstones = false;
    if (cursor->with_tombstones) {
        enum status status = base_tombstone_find(&cursor->finder, low, &tombstone_row,
                                                 &has_tombstones);
        if (status != STATUS_OK) {
            return trouble(cursor, status, "the list of tombstones");
        }
    }
    return choose_row(cursor, true, has_tombstones, tombstone_row, ret_found);
}

/* cursor->seek := the least key of rows at or after row, or after it. */
static enum status make_low(struct base_cursor *cursor, struct bytes row, bool after)
{
    buffer_reset(&cursor->seek);
    base_key_append_row(&cursor->seek, row);
    if (after) {
        buffer_append_u8(&cursor->seek, 1); /* all keys of the row go on with 00 */
    }
    return cursor->seek.failed ? STATUS_NO_MEMORY : STATUS_OK;
}

static enum status seek_forward(struct base_cursor *cursor,
                                struct bytes row,
                                bool after,
                                bool *ret_found)
{
    enum status status = make_low(cursor, row, after);
    uint32_t index = find_piece(cursor, row);
    *ret_found = false;
    for (; status == STATUS_OK && index < cursor->piece_count && !*ret_found; index++) {
        status = open_piece(cursor, index);
        if (status != STATUS_OK) {
            break;
        }
        struct bytes low = buffer_bytes(&cursor->seek);
        struct bytes start = buffer_bytes(&cursor->piece_start);
        low = bytes_compare(low, start) < 0 ? start : low;
        cursor->place = PLACE_UNKNOWN;
        status = trouble(cursor, base_walk_seek(&cursor->data, low), "a link");
        if (status == STATUS_OK) {
            status = choose_forward(cursor, low, ret_found);
        }
    }
    return status;
}

/* From the current row: mostly the walk is there already, or a step away. */
static enum status seek_next(struct base_cursor *cursor, bool *ret_found)
{
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < STEPS_MAX &&
                    (cursor->place == PLACE_ROW_START || cursor->place == PLACE_IN_ROW);
         i++) {
        status = base_walk_next(&cursor->data);
        bool in_row = cursor->data.found &&
                      bytes_equal(base_key_row(cursor->data.key), buffer_bytes(&cursor->row_key));
        cursor->place = in_row ? PLACE_IN_ROW : PLACE_BEHIND;
    }
    buffer_reset(&cursor->seek);
    buffer_append_bytes(&cursor->seek, buffer_bytes(&cursor->row_key));
    buffer_append_u8(&cursor->seek, 1);
    if (cursor->seek.failed) {
        return STATUS_NO_MEMORY;
    }
    struct bytes low = buffer_bytes(&cursor->seek);
    if (status == STATUS_OK && cursor->place != PLACE_BEHIND) {
        status = base_walk_seek(&cursor->data, low);
    }
    status = trouble(cursor, status, "a link");
    if (status == STATUS_OK) {
        status = choose_forward(cursor, low, ret_found);
    }
    if (status != STATUS_OK || *ret_found || cursor->piece + 1 == cursor->piece_count) {
        return status;
    }
    return seek_forward(cursor, cursor->pieces[cursor->piece + 1].range.start, false, ret_found);
}

/* Rows of the open piece below high, or below its end. */
static enum status seek_piece_backward(struct base_cursor *cursor,
                                       bool has_high,
                                       struct bytes high,
                                       bool *ret_found)
{
    struct bytes end = buffer_bytes(&cursor->piece_end);
    struct bytes tombstone_row = BYTES_EMPTY;
    bool has_tombstones = false;
    if (end.size_bytes > 0 && (!has_high || bytes_compare(end, high) < 0)) {
        has_high = true;
        high = end;
    }
    if (!has_high) {
        base_walk_set_extent(&cursor->data, cursor->data.extent);
    }
    enum status status = has_high ? base_walk_seek(&cursor->data, high) : STATUS_OK;
    if (status == STATUS_OK) {
        status = base_walk_previous(&cursor->data);
    }
    if (status == STATUS_OK && cursor->with_tombstones) {
        status = base_tombstone_find_before(&cursor->finder, has_high, high, &tombstone_row,
                                            &has_tombstones);
    }
    if (status != STATUS_OK) {
        return trouble(cursor, status, "a link");
    }
    return choose_row(cursor, false, has_tombstones, tombstone_row, ret_found);
}

static enum status seek_backward(struct base_cursor *cursor,
                                 enum row_seek seek,
                                 struct bytes row,
                                 bool *ret_found)
{
    bool has_high = seek != ROW_LAST;
    enum status status = STATUS_OK;
    uint32_t index = cursor->piece_count;
    if (has_high) {
        status = make_low(cursor, row, seek == ROW_AT_OR_BEFORE);
        index = find_piece(cursor, row);
        index = index < cursor->piece_count ? index + 1 : index;
    }
    *ret_found = false;
    while (status == STATUS_OK && index > 0 && !*ret_found) {
        index--;
        status = open_piece(cursor, index);
        cursor->place = PLACE_UNKNOWN;
        if (status == STATUS_OK) {
            status = seek_piece_backward(cursor, has_high, buffer_bytes(&cursor->seek), ret_found);
        }
    }
    return status;
}

static enum status seek_row(struct layer_cursor *layer,
                            enum row_seek seek,
                            struct bytes row,
                            struct bytes *ret_row,
                            bool *ret_found)
{
    struct base_cursor *cursor = (struct base_cursor *)layer;
    enum status status = STATUS_OK;
    bool found = false;
    bool was_open = cursor->row_open;
    leave_row(cursor);
    switch (seek) {
    case ROW_AFTER:
        if (was_open && cursor->piece_open && bytes_equal(row, buffer_bytes(&cursor->row))) {
            status = seek_next(cursor, &found);
            break;
        }
        status = seek_forward(cursor, row, true, &found);
        break;
    case ROW_AT_OR_AFTER:
        status = seek_forward(cursor, row, false, &found);
        break;
    case ROW_AT_OR_BEFORE:
    case ROW_BEFORE:
    case ROW_LAST:
        status = seek_backward(cursor, seek, row, &found);
        break;
    }
    if (status != STATUS_OK) {
        leave_row(cursor);
        cursor->place = PLACE_UNKNOWN;
        return status;
    }
    if (found) {
        *ret_row = buffer_bytes(&cursor->row);
    }
    *ret_found = found;
    return STATUS_OK;
}

/* --- chunks ----------------------------------------------------------------------------------- */

/* Open the chunk that the walk stands on, unless it is another row's. */
static enum status open_chunk(struct base_cursor *cursor)
{
    struct base_walk *walk = &cursor->data;
    cursor->chunk_open = false;
    if (!walk->found || !bytes_equal(base_key_row(walk->key), buffer_bytes(&cursor->row_key))) {
        cursor->place = PLACE_BEHIND;
        return STATUS_OK;
    }
    cursor->place = PLACE_IN_ROW;
    enum status status = chunk_open(&cursor->reader, walk->value, base_seed(walk->stored_key));
    cursor->chunk_open = status == STATUS_OK;
    return trouble(cursor, status, "the chunk");
}

static enum status open_next_chunk(struct base_cursor *cursor)
{
    enum status status = trouble(cursor, base_walk_next(&cursor->data), "a link");
    return status == STATUS_OK ? open_chunk(cursor) : status;
}

static bool is_dead(const struct base_cursor *cursor, const struct chunk_cell *cell)
{
    return cursor->tombstones.count > 0 &&
           base_tombstones_kill(&cursor->tombstones, cell, cursor->reader.stamp);
}

/* Does the row's ROW_DELETE cover all of the open chunk? */
static bool is_chunk_dead(const struct base_cursor *cursor)
{
    return cursor->tombstones.count > 0 && cursor->tombstones.entries[0].kind == ENTRY_ROW_DELETE &&
           stamp_compare(cursor->reader.stamp, cursor->tombstones.entries[0].stamp) < 0;
}

/* Make the next live cell of the open chunk ready, if there is one. */
static enum status pull_from_chunk(struct base_cursor *cursor)
{
    bool found = cursor->chunk_open && !is_chunk_dead(cursor);
    while (found) {
        enum status status = chunk_next(&cursor->reader, &cursor->cell, &found);
        if (status != STATUS_OK) {
            return trouble(cursor, status, "the chunk");
        }
        if (found && !is_dead(cursor, &cursor->cell)) {
            cursor->cell_ready = true;
            return STATUS_OK;
        }
    }
    cursor->chunk_open = false;
    return STATUS_OK;
}

/* Make the next live cell of the row ready, if there is one. */
static enum status pull_cell(struct base_cursor *cursor)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !cursor->cell_ready && cursor->chunk_open) {
        status = pull_from_chunk(cursor);
        if (status == STATUS_OK && !cursor->cell_ready) {
            status = open_next_chunk(cursor);
        }
    }
    return status;
}

static bool is_ready_below(const struct base_cursor *cursor, const struct base_position *position)
{
    struct base_position at = {cursor->cell.family, cursor->cell.qualifier,
                               cursor->cell.timestamp_us};
    return cursor->cell_ready && base_position_compare(&at, position) < 0;
}

/* To the chunk that holds position. */
static enum status search_chunk(struct base_cursor *cursor, const struct base_position *position)
{
    struct base_walk *walk = &cursor->data;
    struct bytes row_key = buffer_bytes(&cursor->row_key);
    buffer_reset(&cursor->seek);
    buffer_append_bytes(&cursor->seek, row_key);
    base_key_append_position(&cursor->seek, position);
    if (cursor->seek.failed) {
        return STATUS_NO_MEMORY;
    }
    struct bytes key = buffer_bytes(&cursor->seek);
    enum status status = base_walk_seek(walk, key);
    if (status == STATUS_OK && !(walk->found && bytes_equal(walk->key, key))) {
        status = base_walk_previous(walk);
        if (status == STATUS_OK &&
            !(walk->found && bytes_equal(base_key_row(walk->key), row_key))) {
            status = base_walk_seek(walk, key);
        }
    }
    status = trouble(cursor, status, "a link");
    return status == STATUS_OK ? open_chunk(cursor) : status;
}

static enum status skip_below(struct base_cursor *cursor, const struct base_position *position)
{
    enum status status = pull_cell(cursor);
    while (status == STATUS_OK && is_ready_below(cursor, position)) {
        cursor->cell_ready = false;
        status = pull_cell(cursor);
    }
    return status;
}

/* Stand before the first live cell at or after position. */
static enum status go_to_cell(struct base_cursor *cursor, const struct base_position *position)
{
    cursor->cell_ready = false;
    cursor->chunk_open = false;
    if (!cursor->row_has_data) {
        return STATUS_OK;
    }
    if (cursor->place == PLACE_ROW_START) {
        /* Most rows are one chunk: look there before searching. */
        enum status status = open_chunk(cursor);
        if (position->family == 0) {
            return status;
        }
        bool below = true;
        while (status == STATUS_OK && cursor->chunk_open && below) {
            cursor->cell_ready = false;
            status = pull_from_chunk(cursor);
            below = is_ready_below(cursor, position);
        }
        if (status != STATUS_OK || cursor->cell_ready) {
            return status;
        }
    }
    enum status status = search_chunk(cursor, position);
    return status == STATUS_OK && position->family != 0 ? skip_below(cursor, position) : status;
}

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
                return trouble(cursor, status, "a tombstone");
            }
        }
        cursor->tombstones_loaded = true;
    }
    place_tombstones(cursor, family, qualifier);
    cursor->column_known = false;
    struct base_position position = {family, qualifier, INT64_MAX};
    return go_to_cell(cursor, family != 0 ? &position : &BASE_POSITION_ROW_START);
}

static enum status read_value(struct base_cursor *cursor, struct bytes *ret_value)
{
    struct base_reference reference;
    if (!base_reference_decode(cursor->cell.value, &reference)) {
        return trouble(cursor, STATUS_CORRUPT, "the reference of a large value");
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
    return trouble(cursor, status, "a piece of a large value");
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
    enum status status = pull_cell(cursor);
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

static bool is_in_column(const struct base_cursor *cursor, uint32_t family, struct bytes qualifier)
{
    return family == cursor->column_family && bytes_equal(qualifier, cursor->column_qualifier);
}

/* From the end of a chunk: to the next one, or if that too begins in the column, to the one that
 * the column ends in. */
static enum status open_chunk_after_column(struct base_cursor *cursor)
{
    struct base_position start;
    enum status status = open_next_chunk(cursor);
    if (status != STATUS_OK || !cursor->chunk_open) {
        return status;
    }
    if (!base_key_position(cursor->data.key, &cursor->qualifier, &start)) {
        return cursor->qualifier.failed ? STATUS_NO_MEMORY
                                        : trouble(cursor, STATUS_CORRUPT, "the key");
    }
    if (start.timestamp_us == INT64_MAX || !is_in_column(cursor, start.family, start.qualifier)) {
        return STATUS_OK;
    }
    /* column holds the qualifier; with one more 00 it is the next there could be. */
    buffer_append_u8(&cursor->column, 0);
    if (cursor->column.failed) {
        return STATUS_NO_MEMORY;
    }
    struct base_position behind = {cursor->column_family, buffer_bytes(&cursor->column), INT64_MAX};
    status = search_chunk(cursor, &behind);
    cursor->column.size_bytes--;
    cursor->column_qualifier = buffer_bytes(&cursor->column);
    return status;
}

static enum status skip_column(struct layer_cursor *layer, struct entry *ret_entry, bool *ret_found)
{
    struct base_cursor *cursor = (struct base_cursor *)layer;
    if (!cursor->column_known) {
        return next_entry(layer, ret_entry, ret_found);
    }
    buffer_reset(&cursor->column);
    buffer_append_bytes(&cursor->column, cursor->column_qualifier);
    if (cursor->column.failed) {
        return STATUS_NO_MEMORY;
    }
    cursor->column_qualifier = buffer_bytes(&cursor->column);
    while (cursor->tombstone_next < cursor->tombstones.count) {
        const struct entry *tombstone = &cursor->tombstones.entries[cursor->tombstone_next];
        if (tombstone->kind != ENTRY_COLUMN_DELETE ||
            !is_in_column(cursor, tombstone->family, tombstone->qualifier)) {
            break;
        }
        cursor->tombstone_next++;
    }
    enum status status = STATUS_OK;
    while (status == STATUS_OK) {
        if (cursor->cell_ready) {
            if (!is_in_column(cursor, cursor->cell.family, cursor->cell.qualifier)) {
                break;
            }
            cursor->cell_ready = false;
        }
        if (!cursor->chunk_open) {
            break;
        }
        status = pull_from_chunk(cursor);
        if (status == STATUS_OK && !cursor->cell_ready) {
            status = open_chunk_after_column(cursor);
        }
    }
    return status == STATUS_OK ? next_entry(layer, ret_entry, ret_found) : status;
}

/* --- opening and closing ---------------------------------------------------------------------- */

static void close_cursor(struct layer_cursor *layer)
{
    struct base_cursor *cursor = (struct base_cursor *)layer;
    base_walk_close(&cursor->data);
    base_tombstone_finder_close(&cursor->finder);
    if (cursor->value_cursor != NULL) {
        kv_cursor_close(cursor->value_cursor);
    }
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

static const struct layer_cursor_operations OPERATIONS = {
    .seek_row = seek_row,
    .seek_entry = seek_entry,
    .next_entry = next_entry,
    .skip_column = skip_column,
    .close = close_cursor,
};

/* Once a snapshot: is there any tombstone at all? */
static enum status look_for_tombstones(struct base_snapshot *snapshot, struct kv_cursor *file)
{
    const uint8_t first[1] = {BASE_SPACE_DELETE};
    struct bytes key;
    struct bytes value;
    bool found = false;
    if (snapshot->tombstones_known) {
        return STATUS_OK;
    }
    enum status status = kv_cursor_move(file, KV_SEEK, bytes_of(first, 1), &key, &value, &found);
    if (status == STATUS_OK) {
        snapshot->tombstones_exist = found && key.data[0] == BASE_SPACE_DELETE;
        snapshot->tombstones_known = true;
    }
    return status;
}

enum status base_cursor_open(struct base_snapshot *snapshot,
                             const struct base_piece *pieces,
                             uint32_t piece_count,
                             struct layer_cursor **ret_cursor)
{
    struct base_cursor *cursor = memory_allocate_zeroed(1, sizeof *cursor);
    if (cursor == NULL) {
        return STATUS_NO_MEMORY;
    }
    cursor->layer.operations = &OPERATIONS;
    cursor->snapshot = snapshot;
    cursor->pieces = pieces;
    cursor->piece_count = piece_count;
    base_tombstones_init(&cursor->tombstones);
    chunk_reader_init(&cursor->reader);
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

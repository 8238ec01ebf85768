#include "tabletserver/storage/base/base_cursor.h"

#define STEPS_MAX 3 /* chunks of a row passed one by one before the next row is searched for */

enum status base_cursor_trouble(struct base_cursor *cursor, enum status status, const char *what)
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
    cursor->place = BASE_PLACE_UNKNOWN;
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

/* Begin row and row_key with what comes from the path of the walk, which row_key is on: rows below a
 * long prefix differ only behind it. */
static enum status keep_path(struct base_cursor *cursor, struct bytes row_key)
{
    struct base_walk *walk = &cursor->data;
    size_t path = base_path_bytes(walk->depth);
    if (cursor->path_layer_moves != walk->layer_moves) {
        path = path < row_key.size_bytes ? path : row_key.size_bytes;
        buffer_reset(&cursor->row);
        buffer_reset(&cursor->row_key);
        if (!base_key_append_unescaped(&cursor->row, bytes_of(row_key.data, path))) {
            if (cursor->row.failed) {
                return STATUS_NO_MEMORY;
            }
            path = 0; /* it ends inside an escape */
            buffer_reset(&cursor->row);
        }
        buffer_append(&cursor->row_key, row_key.data, path);
        cursor->path_row_bytes = cursor->row.size_bytes;
        cursor->path_row_key_bytes = path;
        cursor->path_layer_moves = walk->layer_moves;
    }
    cursor->row.size_bytes = cursor->path_row_bytes;
    cursor->row_key.size_bytes = cursor->path_row_key_bytes;
    return cursor->row_key.failed ? STATUS_NO_MEMORY : STATUS_OK;
}

/* Does the walk stand on a link that is damaged, behind which are rows of which nothing is known? */
static bool bars_rows(const struct base_walk *walk)
{
    return walk->barred && walk->row.size_bytes == walk->key.size_bytes;
}

/* Where such a link stands, the row is the least that could be behind it.  An escape that the slice cuts goes on
 * with what stands for 00, or for 01. */
static bool complete_row(struct base_cursor *cursor, bool is_on_path)
{
    if (!is_on_path || !bars_rows(&cursor->data)) {
        return false;
    }
    buffer_append_u8(&cursor->row, 0);
    return !cursor->row.failed;
}

static enum status accept_row(struct base_cursor *cursor, struct bytes row_key, bool is_on_path)
{
    enum status status = STATUS_OK;
    if (is_on_path) {
        status = keep_path(cursor, row_key);
    } else {
        buffer_reset(&cursor->row);
        buffer_reset(&cursor->row_key);
        cursor->path_layer_moves = 0;
    }
    struct bytes rest = bytes_of(row_key.data + cursor->row_key.size_bytes,
                                 row_key.size_bytes - cursor->row_key.size_bytes);
    bool good = status == STATUS_OK &&
                (base_key_append_unescaped(&cursor->row, rest) || complete_row(cursor, is_on_path));
    buffer_append_bytes(&cursor->row_key, rest);
    cursor->row_open = good && !cursor->row_key.failed;
    if (cursor->row_open) {
        return STATUS_OK;
    }
    cursor->path_layer_moves = 0;
    return status != STATUS_OK || cursor->row.failed || cursor->row_key.failed
               ? STATUS_NO_MEMORY
               : base_cursor_trouble(cursor, STATUS_CORRUPT, "the key");
}

static void leave_row(struct base_cursor *cursor)
{
    cursor->row_open = false;
    cursor->tombstones_loaded = false;
    cursor->chunk_open = false;
    cursor->cell_ready = false;
    cursor->column_known = false;
}

/* Going backward: are there rows of the piece behind the link that bars the walk?  They lie above it, so there is no
 * telling which of them would be next. */
static bool may_be_in_piece(const struct base_cursor *cursor)
{
    struct bytes start = buffer_bytes(&cursor->piece_start);
    return cursor->data.barred && (bytes_compare(cursor->data.row, start) >= 0 ||
                                   bytes_starts_with(start, cursor->data.key));
}

/* Of what the two walks found, take the nearer row.  Where a link is damaged that is the least that could be behind it
 * (complete_row()): who reads on from before it finds no damage unless it comes to such rows. */
static enum status choose_row(struct base_cursor *cursor,
                              bool forward,
                              bool has_tombstones,
                              struct bytes tombstone_row,
                              bool *ret_found)
{
    struct bytes data_row = cursor->data.found ? cursor->data.row : BYTES_EMPTY;
    bool has_data = cursor->data.found;
    if (has_data && !forward && may_be_in_piece(cursor)) {
        return base_cursor_trouble(cursor, STATUS_CORRUPT, "a link");
    }
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
        cursor->place = has_data ? BASE_PLACE_ROW_START : BASE_PLACE_BEHIND;
    } else {
        cursor->place = has_data ? BASE_PLACE_IN_ROW : BASE_PLACE_UNKNOWN;
    }
    return accept_row(cursor, row_key, has_data);
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
            return base_cursor_trouble(cursor, status, "the list of tombstones");
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
        cursor->place = BASE_PLACE_UNKNOWN;
        status = base_cursor_trouble(cursor, base_walk_seek(&cursor->data, low), "a link");
        if (status == STATUS_OK) {
            status = choose_forward(cursor, low, ret_found);
        }
    }
    return status;
}

/* Get behind the row by steps, if it has few chunks left: cheaper than a search. */
static enum status step_behind_row(struct base_cursor *cursor)
{
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < STEPS_MAX &&
                    (cursor->place == BASE_PLACE_ROW_START || cursor->place == BASE_PLACE_IN_ROW);
         i++) {
        status = base_walk_next(&cursor->data);
        bool in_row = cursor->data.found &&
                      base_row_key_equal(cursor->data.row, buffer_bytes(&cursor->row_key));
        cursor->place = in_row ? BASE_PLACE_IN_ROW : BASE_PLACE_BEHIND;
    }
    return base_cursor_trouble(cursor, status, "a link");
}

/* From the current row: mostly the walk is there already, or a step away. */
static enum status seek_next(struct base_cursor *cursor, bool *ret_found)
{
    struct bytes low = BYTES_EMPTY;
    if (cursor->place == BASE_PLACE_ROW_START && bars_rows(&cursor->data)) {
        return base_cursor_trouble(cursor, STATUS_CORRUPT, "a link");
    }
    enum status status = step_behind_row(cursor);
    if (cursor->place != BASE_PLACE_BEHIND || cursor->with_tombstones) {
        buffer_reset(&cursor->seek);
        buffer_append_bytes(&cursor->seek, buffer_bytes(&cursor->row_key));
        buffer_append_u8(&cursor->seek, 1);
        if (cursor->seek.failed) {
            return STATUS_NO_MEMORY;
        }
        low = buffer_bytes(&cursor->seek);
    }
    if (status == STATUS_OK && cursor->place != BASE_PLACE_BEHIND) {
        status = base_cursor_trouble(cursor, base_walk_seek(&cursor->data, low), "a link");
    }
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
        return base_cursor_trouble(cursor, status, "a link");
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
        cursor->place = BASE_PLACE_UNKNOWN;
        if (status == STATUS_OK) {
            status = seek_piece_backward(cursor, has_high, buffer_bytes(&cursor->seek), ret_found);
        }
    }
    return status;
}

enum status base_cursor_seek_row(struct layer_cursor *layer,
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
        cursor->place = BASE_PLACE_UNKNOWN;
        return status;
    }
    if (found) {
        *ret_row = buffer_bytes(&cursor->row);
    }
    *ret_found = found;
    return STATUS_OK;
}

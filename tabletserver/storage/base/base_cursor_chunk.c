#include "tabletserver/storage/base/base_cursor.h"

/* Open the chunk that the walk stands on; it is the row's. */
static enum status open_own_chunk(struct base_cursor *cursor)
{
    struct base_walk *walk = &cursor->data;
    cursor->place = BASE_PLACE_IN_ROW;
    if (walk->barred) {
        return base_cursor_trouble(cursor, STATUS_CORRUPT, "a link");
    }
    enum status status = chunk_open(&cursor->reader, walk->value, base_seed(walk->stored_key));
    cursor->chunk_open = status == STATUS_OK;
    return base_cursor_trouble(cursor, status, "the chunk");
}

/* The same, unless it is another row's. */
static enum status open_chunk(struct base_cursor *cursor)
{
    const struct base_walk *walk = &cursor->data;
    cursor->chunk_open = false;
    if (!walk->found || !base_row_key_equal(walk->row, buffer_bytes(&cursor->row_key))) {
        cursor->place = BASE_PLACE_BEHIND;
        return STATUS_OK;
    }
    return open_own_chunk(cursor);
}

static enum status open_next_chunk(struct base_cursor *cursor)
{
    enum status status = base_cursor_trouble(cursor, base_walk_next(&cursor->data), "a link");
    return status == STATUS_OK ? open_chunk(cursor) : status;
}

static bool is_dead(struct base_cursor *cursor, const struct chunk_cell *cell)
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
            return base_cursor_trouble(cursor, status, "the chunk");
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
enum status base_cursor_pull_cell(struct base_cursor *cursor)
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

/* Take the walk to the chunk that holds position. */
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
        if (status == STATUS_OK && !(walk->found && base_row_key_equal(walk->row, row_key))) {
            status = base_walk_seek(walk, key);
        }
    }
    status = base_cursor_trouble(cursor, status, "a link");
    return status == STATUS_OK ? open_chunk(cursor) : status;
}

static enum status skip_below(struct base_cursor *cursor, const struct base_position *position)
{
    enum status status = base_cursor_pull_cell(cursor);
    while (status == STATUS_OK && is_ready_below(cursor, position)) {
        cursor->cell_ready = false;
        status = base_cursor_pull_cell(cursor);
    }
    return status;
}

/* Stand before the first live cell at or after position. */
enum status base_cursor_go_to_cell(struct base_cursor *cursor, const struct base_position *position)
{
    cursor->cell_ready = false;
    cursor->chunk_open = false;
    if (!cursor->row_has_data) {
        return STATUS_OK;
    }
    if (cursor->place == BASE_PLACE_ROW_START) {
        /* Most rows are one chunk: look there before searching. */
        enum status status = open_own_chunk(cursor);
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
                                        : base_cursor_trouble(cursor, STATUS_CORRUPT, "the key");
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

enum status base_cursor_pass_column(struct base_cursor *cursor)
{
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
    return status;
}

/*
 * Rows cut into the chunks of a ReadRows stream.
 *
 * What a reader of the stream relies on, and what this yields for one row:
 *
 *   row key            on the first chunk only
 *   family, qualifier  where they change; a new family brings its qualifier along
 *   timestamp, label   on the first chunk of a cell
 *   value_size         on all but the last chunk of a cell that is cut: the size of its whole value
 *   commit             on the row's last chunk
 *
 * A cell is cut only where its value does not fit the room that is left; an empty value is one
 * chunk.  `reset_row` is not needed: a row is there as a whole before its first chunk is.
 *
 *     chunk_cursor_begin(&cursor, row);
 *     while (chunk_cursor_next(&cursor, room, &chunk)) { ... }
 *
 * Everything borrows from the row.  Pure.  Thread rule: one owner.
 */
#ifndef GATEWAY_CORE_CHUNK_CURSOR_H
#define GATEWAY_CORE_CHUNK_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/include/edubba.h"

struct chunk {
    struct edubba_bytes row_key; /* empty = the row of the chunk before */
    bool has_family;
    bool has_qualifier;
    bool commit;
    struct edubba_bytes family;
    struct edubba_bytes qualifier;
    int64_t timestamp_us;
    struct edubba_bytes label; /* empty = none */
    struct edubba_bytes value;
    size_t value_size; /* 0 = the cell ends here */
};

struct chunk_cursor {
    const struct edubba_row *row;
    size_t cell;
    size_t offset; /* of the value of that cell, what was given out */
};

/* row has a cell at least; it lives until the cursor is at its end. */
void chunk_cursor_begin(struct chunk_cursor *cursor, const struct edubba_row *row);

/* The next chunk, with at most value_bytes_max (> 0) of a value; false at the row's end. */
bool chunk_cursor_next(struct chunk_cursor *cursor,
                       size_t value_bytes_max,
                       struct chunk *ret_chunk);

/* Was the last chunk given out? */
bool chunk_cursor_is_at_end(const struct chunk_cursor *cursor);

/* Was none given out yet? */
bool chunk_cursor_is_at_begin(const struct chunk_cursor *cursor);

/* What a row takes in a message that it is not cut for, at most. */
size_t chunk_cursor_row_bytes(const struct chunk_cursor *cursor);

/* What a chunk takes in a message, at most. */
size_t chunk_size_bytes(const struct chunk *chunk);

#endif /* GATEWAY_CORE_CHUNK_CURSOR_H */

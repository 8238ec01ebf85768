/*
 * One message of a ReadRows stream while it is being filled.
 *
 * Chunks are copied in: a row goes when the next one is asked for.  Of one that borrows they are not: then the
 * row stays until the message was sent or emptied.  A message is full at about 1
 * MiB, or with so many chunks.  A value up to ROW_MESSAGE_PIECE_BYTES is not cut, and no piece of a
 * cut one is smaller than that but the last; so a message holds at most ROW_MESSAGE_BYTES_MAX of
 * values, well below the 4 MiB that clients take, and no cell is sent in crumbs because a message
 * was nearly full.
 *
 * With keeps_rows_whole, for clients that need it, a row is not cut at all: one that does not fit
 * behind others begins the next message, and a message of one row is as large as that row.
 *
 * Thread rule: one owner.
 */
#ifndef GATEWAY_METHODS_READ_ROW_MESSAGE_H
#define GATEWAY_METHODS_READ_ROW_MESSAGE_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "common/base/status.h"
#include "data.pb-c.h"
#include "gateway/core/chunk_cursor.h"

#define ROW_MESSAGE_FULL_BYTES  (1024 * 1024)
#define ROW_MESSAGE_PIECE_BYTES (256 * 1024)
#define ROW_MESSAGE_BYTES_MAX   (ROW_MESSAGE_FULL_BYTES + ROW_MESSAGE_PIECE_BYTES)
#define ROW_MESSAGE_CHUNKS_MAX  4096

struct row_message {
    Google__Bigtable__V2__ReadRowsResponse__CellChunk **chunks;
    size_t chunk_count;
    size_t chunk_capacity;
    size_t size_bytes; /* of what is in it, encoded, at most */
    bool keeps_rows_whole;
    bool borrows;
    bool is_closed;     /* the next row does not fit */
    struct arena arena; /* of the chunks and their bytes */
};

/* Holds no memory until it is filled.  Borrows nothing. */
void row_message_init(struct row_message *message, bool keeps_rows_whole);
void row_message_deinit(struct row_message *message);

/* Empty again. */
void row_message_reset(struct row_message *message);

bool row_message_is_full(const struct row_message *message);

/* Chunks until the row is at its end (*ret_is_whole), or the message full.
 * Errors: STATUS_NO_MEMORY; what is in it must not be sent then. */
enum status row_message_fill(struct row_message *message,
                             struct chunk_cursor *cursor,
                             bool *ret_is_whole);

/* The response of these chunks; it borrows. */
void row_message_respond(const struct row_message *message,
                         Google__Bigtable__V2__ReadRowsResponse *ret_response);

#endif /* GATEWAY_METHODS_READ_ROW_MESSAGE_H */

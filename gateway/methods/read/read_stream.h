/*
 * One ReadRows call under way: a scan, cut into chunks, sent at the pace of its reader.
 *
 * Three things happen to a stream, on different threads: rows become ready, a message was sent, and
 * the caller goes away.  Each wakes it; whoever wakes it first steps it until nobody has woken it
 * meanwhile, so a step is never run by two.  A step
 *
 *     fills a message with chunks, as long as rows are there and it has room
 *     sends it when it is full, or when no row is there yet, if no other is on its way
 *     ends the call behind the last row, with the last message where there is one
 *
 * How far a scan has come that filters much (last_scanned_row_key) is said in messages of its own,
 * to clients that know them, when there are no rows to be sent.  It goes one way, with the rows:
 * clients end a stream that names a key twice.
 *
 * WHO OWNS IT.  `wakes` counts who has come since the step that runs began; above 0 somebody owns
 * the stream, and others only count themselves.  It begins at 1: the method owns it while the table
 * is opened.  It stays above 0 for ever once the call has been ended, so who comes late touches
 * nothing but the count; the caller may go away as late as that, and the call's arena, where the
 * stream lies, outlives it.  No row becomes ready after edubba_scan_close(), and the call is
 * ended while no message is on its way, so that is not told later either.
 *
 *     read_rows.c          what is asked for: one row, or a scan
 *     read_stream.c        steps
 *     read_stream_room.c   what of it counts with request_memory_max
 *     read_stream_end.c    ends
 *
 * Shared by these files, and by nothing else.  Thread rule: the owner, but for read_stream_wake() and
 * read_stream_cancel().
 */
#ifndef GATEWAY_METHODS_READ_READ_STREAM_H
#define GATEWAY_METHODS_READ_READ_STREAM_H

#include <stdatomic.h>

#include "common/base/buffer.h"
#include "gateway/methods/call/table_call.h"
#include "gateway/methods/read/row_message.h"

#define READ_STREAM_SCAN_BYTES (1024 * 1024) /* read ahead of the stream */
#define READ_STREAM_NO_MEMORY  "No memory for the rows; try again"

struct read_stream {
    struct table_call on; /* first */
    const Google__Bigtable__V2__ReadRowsRequest *request;
    struct edubba_scan *scan; /* NULL = not open */
    int64_t start_ns;
    atomic_uint wakes;
    atomic_bool is_sending;
    atomic_bool is_cancelled;

    /* The owner's. */
    bool is_watched;
    bool has_row; /* the cursor is inside a row */
    bool is_at_end;
    bool tells_progress;
    struct edubba_bytes scanned; /* up to here, and not told yet; empty = nothing to tell */
    struct buffer passed;        /* the last key that was told, as a row's or as scanned */
    uint64_t reserved_bytes;     /* for a large row */
    uint64_t waiting_bytes;      /* counted for the message on its way */
    uint64_t set_bytes;        /* to be reserved yet for the keys and ranges that the scan keeps */
    struct edubba_error error; /* how it ended */
    struct chunk_cursor cursor;
    struct row_message message;
    int64_t rows_returned;
    int64_t cells_returned;
};

/* Of the method, which owns it: step until somebody else does, or the call has ended. */
void read_stream_drive(struct read_stream *stream);
/* Something has happened to it; on any thread.  context: the stream. */
void read_stream_wake(void *context);
/* Its caller is gone; on any thread. */
void read_stream_cancel(void *context);

/* The row that is sent next; without cells: none. */
void read_stream_begin_row(struct read_stream *stream, const struct edubba_row *row);
/* What is left of the row that the cursor is in, as far as the message has room. */
void read_stream_fill(struct read_stream *stream);

/* --- room (read_stream_room.c): false = there is none, and it is stopped -------------------------- */

/* A large row is held whole: so many of them at a time as requests might take the memory of.  It counts until the next
 * one begins. */
bool read_stream_reserve_row(struct read_stream *stream, const struct edubba_row *row);
/* What waits for its reader: a message, and what is read ahead of it. */
bool read_stream_count_message(struct read_stream *stream);
void read_stream_uncount_message(struct read_stream *stream);

/* What a scan keeps of keys and ranges, copies and bounds made of them, where that is much; else 0:
 * few are not counted. */
uint64_t read_stream_set_bytes(const Google__Bigtable__V2__RowSet *rows);
/* Its set_bytes: once, also when the scan is opened anew.  False: there is none, and nothing else happens. */
bool read_stream_reserve_set(struct read_stream *stream);

/* --- the end (read_stream_end.c) ------------------------------------------------------------------ */

bool read_stream_wants_statistics(const Google__Bigtable__V2__ReadRowsRequest *request);
/* It ends so, once what was filled is sent. */
void read_stream_stop(struct read_stream *stream, enum edubba_code code, const char *text);
/* The last message, if there is one, and success. */
void read_stream_finish(struct read_stream *stream);
/* The call ends with the error, or the method runs again. */
void read_stream_finish_failed(struct read_stream *stream);

#endif /* GATEWAY_METHODS_READ_READ_STREAM_H */

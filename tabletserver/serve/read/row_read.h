/*
 * Reading one row through a row reader: the three ways in which the server needs it.
 * Errors of all: those of storage (entry.h), and what row_read_filtered says.
 *
 * Thread rule: no state of its own; reader, program, writer and statistics are of one thread at a time.
 */
#ifndef TABLETSERVER_SERVE_READ_ROW_READ_H
#define TABLETSERVER_SERVE_READ_ROW_READ_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/io/transport/transport.h"
#include "common/model/filter.h"
#include "common/model/mutation.h"
#include "common/wire/message.h"
#include "tabletserver/storage/rows/row_reader.h"

/* Who waits for what is read, and until when.  Stays where it is until the reader is closed. */
struct row_read_for {
    const struct transport_reply *reply;
    int64_t deadline_ns; /* monotonic */
};

/* What the reader reads of a row ends where nobody waits for it any more: STATUS_CANCELLED, STATUS_DEADLINE_EXCEEDED. */
void row_read_while_awaited(struct row_reader *reader, struct row_read_for *who);

struct row_read_statistics {
    uint64_t rows_seen;
    uint64_t cells_seen;
    uint64_t rows_returned;
    uint64_t cells_returned;
};

/*
 * Put the row the reader stands on, filtered, into the writer's block (nothing where no cell is
 * left).  Errors: STATUS_FAILED_PRECONDITION for a row over 256 MiB (it is taken back from the
 * block), STATUS_NO_MEMORY.
 */
enum status row_read_filtered(struct row_reader *reader,
                              struct bytes row,
                              const struct table *table,
                              struct filter_program *program,
                              struct row_block_writer *writer,
                              struct row_read_statistics *statistics,
                              struct error *ret_error);

/* Stand exactly on this row; *ret_found false when no layer has anything of it. */
enum status row_read_seek(struct row_reader *reader, struct bytes row, bool *ret_found);

/* Does the program let any cell of this row through? */
enum status row_read_any(struct row_reader *reader,
                         struct bytes row,
                         struct filter_program *program,
                         bool *ret_any);

/* The newest visible cell of a column; its value is good until the reader moves again. */
enum status row_read_newest(struct row_reader *reader,
                            struct bytes row,
                            uint32_t family,
                            struct bytes qualifier,
                            struct rmw_current *ret_current);

#endif /* TABLETSERVER_SERVE_READ_ROW_READ_H */

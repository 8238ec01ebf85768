/*
 * One slice of a scan: rows read at one sequence, into what one message carries.
 *
 * Private to scan.c and scan_slice.c.  Thread rule: the worker's that has the scan.
 */
#ifndef TABLETSERVER_SERVE_READ_SCAN_SLICE_H
#define TABLETSERVER_SERVE_READ_SCAN_SLICE_H

#include <stdatomic.h>

#include "tabletserver/serve/read/read_confirm.h"
#include "tabletserver/serve/read/row_read.h"
#include "tabletserver/serve/read/scan.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/storage/store/key_ring.h"

#define SCAN_SLICE_BYTES (256 * 1024) /* of rows; the last one may go beyond */

struct scan {
    struct job job;
    struct server *server;
    struct transport_reply *reply;
    struct scan_request request;
    uint64_t trace;
    int64_t received_ns;
    int64_t deadline_ns;
    uint64_t charged_bytes;
    atomic_int state;
    struct schema *schema;
    struct served served;           /* its tablet; none until it was found */
    struct filter_program *program; /* while a slice is read */
    struct bytes first;             /* key in reading order; borrowed from the request */
    struct row_set rows;            /* the request's, clipped to the tablet */
    size_t range_index;             /* the range to go on in, counted in reading order */
    struct buffer resume;           /* the last row that is done with; has_resume */
    struct buffer looking;          /* the row that is being read */
    bool has_resume;
    bool counted;          /* among what its tablet has had to do */
    struct read_wait wait; /* reads are confirmed; .asked 0 = the next slice has not asked yet */
    uint64_t rows_returned;
    uint64_t cells_seen;
    struct row_read_statistics statistics; /* since the last message */
    struct arena arena;
};

struct scan_slice {
    struct row_reader *reader;
    struct row_block_writer writer;
    struct buffer rows;
    int64_t end_ns;
    uint32_t until_clock;
    struct bytes failed_row; /* could not be read */
    bool done;               /* the scan is */
    struct key_ring *ring;   /* wants to know of one row in `every`; NULL: of none */
    uint32_t every;
    uint32_t until_told; /* so many rows are not told before the next one */
    bool told;           /* where this slice begins and ends, too: */
    struct buffer begin; /* the row before it, or its first */
};

/*
 * Read the slice, which holds empty buffers and nothing else, from where the scan stands; the scan then stands behind
 * its last row.  On errors too: what was read before is in the slice, and failed_row says which row could not be.
 * slice->rows is the caller's to free.
 *
 * Errors: STATUS_NOT_OWNER, the tablet is no longer served here; STATUS_UNAVAILABLE, STATUS_NO_MEMORY; what the filter
 * or a row's data are refused for.
 */
enum status scan_slice_read(struct scan *scan, struct scan_slice *slice, struct error *ret_error);

#endif /* TABLETSERVER_SERVE_READ_SCAN_SLICE_H */

/*
 * Slices: what a copy of a tablet is taught with when the log is not enough (docs/replication.md,
 * section 6).  A slice says what was there at one sequence, whatever memtables, chunks and tombstones it
 * came from:
 *
 *   RECORDS   exactly-once records and GC horizons; the image of the former in pieces, in order
 *   ROWS      every cell in [from, to), with its stamp.  A fold is its whole state; deletes have done
 *             their work, so none travels
 *
 *   slice   = version (1), kind (1), tablet, sequence (varints), body, checksum (8)
 *   RECORDS = clock, count of horizons, (family, rule version, zigzag horizon, sequence) ...,
 *             size of the image, offset of the piece (varints), piece (bytes)
 *   ROWS    = from, each row: row (bytes), its cells, 00; then 00, to
 *   cell    = tag, [family, qualifier (bytes)], [clock, cluster, index], zigzag timestamp,
 *             [aggregate (1)], value (bytes)          tag: 1 put, 2 fold, 4 another column, 8 another stamp
 *   from, to = 0: before everything; 1, row: at its start; 2, row, family, qualifier, zigzag timestamp;
 *             3: behind everything
 *
 * The checksum is seeded with the tablet: a slice of another fails.  Rows and cells ascend strictly and
 * lie between from and to: all of it is gone through before anything is believed.
 *
 * Pure.  Thread rule: values.  What is read borrows from the slice.
 */
#ifndef TABLETSERVER_STORAGE_COPIES_SLICE_H
#define TABLETSERVER_STORAGE_COPIES_SLICE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/byte_reader.h"
#include "common/base/error.h"
#include "tabletserver/storage/rows/row_reader.h"
#include "tabletserver/storage/store/store_meta.h"

#define SLICE_IMAGE_BYTES_MAX (UINT64_C(1) << 30)

enum slice_kind {
    SLICE_RECORDS = 1,
    SLICE_ROWS = 2,
};

struct slice_records {
    uint64_t clock; /* the highest up to the sequence */
    const struct horizon *horizons;
    uint32_t horizon_count;
    uint64_t image_bytes; /* of all pieces */
    uint64_t offset_bytes;
    struct bytes piece;
};

struct slice {
    enum slice_kind kind;
    uint64_t tablet;
    uint64_t sequence;
    struct slice_records records; /* RECORDS */
    struct tablet_position from;  /* ROWS */
    struct tablet_position to;
    struct bytes rows;
};

/* --- writing: appended to out, whose `failed` tells ------------------------------------------------- */

void slice_encode_records(const struct slice *slice, struct buffer *out);

struct slice_writer {
    struct buffer *out;
    size_t start;
    uint64_t tablet;
    bool in_row;
    struct buffer column; /* of the cell before: family, qualifier */
    uint32_t family;
    struct stamp stamp;
};

void slice_writer_begin(struct slice_writer *writer,
                        uint64_t tablet,
                        uint64_t sequence,
                        const struct tablet_position *from,
                        struct buffer *out);
void slice_writer_row(struct slice_writer *writer, struct bytes row);
/* PUT or FOLD of the row last begun. */
void slice_writer_cell(struct slice_writer *writer, const struct entry *cell);
void slice_writer_end(struct slice_writer *writer, const struct tablet_position *to);
/* Without an end: what was appended is of no use. */
void slice_writer_deinit(struct slice_writer *writer);

/* --- reading ---------------------------------------------------------------------------------------- */

/* Errors: STATUS_CORRUPT, STATUS_VERSION, STATUS_NO_MEMORY. */
enum status slice_decode(struct bytes in,
                         uint64_t tablet,
                         struct arena *arena,
                         struct slice *ret_slice,
                         struct error *ret_error);

/* The cells of ROWS, one by one. */
struct slice_reader {
    struct byte_reader in;
    bool in_row;
    struct bytes row;
    struct entry cell;
};

struct slice_reader slice_reader_of(const struct slice *slice);

/* False: that was the last.  True: reader->row and reader->cell are it. */
bool slice_reader_next(struct slice_reader *reader);

#endif /* TABLETSERVER_STORAGE_COPIES_SLICE_H */

/*
 * Chunks: consecutive cells of one row, packed.
 *
 *   offset  size
 *        0  1     format, CHUNK_FORMAT
 *        1  1     flags
 *        2  4     checksum, little-endian, of all that follows and of the two bytes before; seeded
 *                 with the caller's seed (the key that it is stored under, extent included)
 *        6  8     largest stamp: clock, little-endian
 *       14  1..   largest stamp: cluster, index (varints)
 *                 cells
 *
 *   cell    1     tag: what is the same as in the cell before is not written
 *           0..5  family (varint), unless SAME_FAMILY
 *           0..   qualifier, unless SAME_COLUMN: a byte of two nibbles (bytes shared with the
 *                 qualifier before; bytes that follow; 15 = 15 + a varint behind), the bytes
 *           0..10 timestamp, unless SAME_TIME: in a column the varint by which it is older than the
 *                 one before, else the zigzag varint of the difference; in thousands with MILLIS
 *           0..1  AGGREGATE: the kind; the upper bit (slotted) is kept for clusters that converge
 *           0..   size of the value (varint), unless SAME_SIZE
 *                 the value; with LARGE a reference to its pieces (base_value.h)
 *
 * Ten metrics of 8 bytes at one time, named by 8 to 20 bytes, cost about 20 bytes each.
 *
 * Thread rule: pure; any thread.
 */
#ifndef TABLETSERVER_STORAGE_BASE_CHUNK_H
#define TABLETSERVER_STORAGE_BASE_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/aggregate/aggregate.h"
#include "common/base/buffer.h"
#include "common/base/bytes.h"
#include "common/base/stamp.h"
#include "common/base/status.h"

#define CHUNK_FORMAT 0x11

struct chunk_cell {
    uint32_t family; /* >= 1 */
    struct bytes qualifier;
    int64_t timestamp_us;
    enum aggregate_kind aggregate; /* NONE for plain */
    bool large;                    /* value is a reference */
    struct bytes value;
};

/* Reads the cells of one chunk in order.  Init once, open as often as wanted. */
struct chunk_reader {
    const uint8_t *next;
    const uint8_t *end;
    struct stamp stamp;
    bool millis;
    bool has_large; /* some cell's value is a reference */
    bool first;
    struct chunk_cell cell;  /* the one before */
    struct buffer qualifier; /* where a shared prefix had to be put together */
};

void chunk_reader_init(struct chunk_reader *reader);
void chunk_reader_deinit(struct chunk_reader *reader);

/* data is borrowed while cells are read.
 * Errors: STATUS_CORRUPT, STATUS_VERSION (a format or flag that this code does not know). */
enum status chunk_open(struct chunk_reader *reader, struct bytes data, uint64_t seed);

/* The cell's bytes live until the next call.  *ret_found = false at the end.
 * Errors: STATUS_CORRUPT, STATUS_NO_MEMORY. */
enum status chunk_next(struct chunk_reader *reader, struct chunk_cell *ret_cell, bool *ret_found);

/* How much a cell takes behind `before` (NULL: as the first); a few bytes off where a chunk mixes
 * whole milliseconds with others. */
size_t chunk_cell_size(const struct chunk_cell *before, const struct chunk_cell *cell);

/* Appends the chunk to out, whose failure the caller checks.  cells ascend; count >= 1. */
void chunk_encode(const struct chunk_cell *cells,
                  size_t count,
                  struct stamp stamp,
                  uint64_t seed,
                  struct buffer *out);

/* Put the checksum of the chunk that begins at offset start of out in its place; chunk_encode()
 * has done it.  For tests of the decoder. */
void chunk_seal(struct buffer *out, size_t start, uint64_t seed);

/* The largest stamp alone, without a look at checksum or cells.  False when too short. */
bool chunk_peek(struct bytes data, struct stamp *ret_stamp, bool *ret_has_large);

#endif /* TABLETSERVER_STORAGE_BASE_CHUNK_H */

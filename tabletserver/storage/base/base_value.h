/*
 * Large values: cut into pieces that fill the file's pages, apart from the chunks.
 *
 * A value that does not fit a chunk beside its key leaves a REFERENCE there (number, size: varints)
 * and is kept as pieces under (PIECE, number, index):
 *
 *   up to 16 KiB   equal pieces of at most 789 bytes, so that five or more share a leaf
 *   above          pieces of 15 pages, the last one as long as it is
 *
 *   stored key     PIECE, number (6), index (2), big-endian
 *   piece          its bytes, then a checksum (8) seeded with the stored key and the extent
 *
 * Numbers rise and are never given twice, in the whole file, and PIECE is its last space: so all
 * pieces are appended at its end, which fills its pages, even when their rows are spread over all
 * extents.  docs/storage-format.md has what that gains.
 *
 * Thread rule: that of the transaction.
 */
#ifndef TABLETSERVER_STORAGE_BASE_BASE_VALUE_H
#define TABLETSERVER_STORAGE_BASE_BASE_VALUE_H

#include <stdint.h>

#include "common/base/buffer.h"
#include "tabletserver/storage/base/base_store.h"

#define BASE_REFERENCE_BYTES_MAX 20

struct base_reference {
    uint64_t number;
    uint64_t size_bytes;
};

/* Returns the bytes written to data. */
size_t base_reference_encode(const struct base_reference *reference,
                             uint8_t data[BASE_REFERENCE_BYTES_MAX]);
/* False for what is none. */
bool base_reference_decode(struct bytes bytes, struct base_reference *ret_reference);

/* How many pieces, and what they and their keys take. */
uint64_t base_value_piece_count(const struct base_reference *reference);
uint64_t base_value_stored_bytes(const struct base_reference *reference);

/* Errors: as kv_write_put(). */
enum status base_value_write(struct kv_write *write,
                             uint64_t extent,
                             uint64_t number,
                             struct bytes value);
enum status base_value_erase(struct kv_write *write, const struct base_reference *reference);

/* Appends the value to out; with out NULL it is only checked.  cursor is one of the transaction's,
 * for this alone.  Errors: STATUS_CORRUPT (a piece is missing or bad), STATUS_NO_MEMORY, STATUS_IO. */
enum status base_value_read(struct kv_cursor *cursor,
                            uint64_t extent,
                            const struct base_reference *reference,
                            struct buffer *out);

#endif /* TABLETSERVER_STORAGE_BASE_BASE_VALUE_H */

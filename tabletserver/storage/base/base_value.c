#include "tabletserver/storage/base/base_value.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/endian.h"
#include "common/base/memory.h"

#define PIECE_KEY_BYTES   9
#define CHECKSUM_BYTES    8
#define LEAF_PIECE_BYTES  789 /* with key, checksum and header a fifth of a leaf */
#define LEAF_VALUE_BYTES  16384
#define PAGES_PIECE_BYTES (15 * 4096 - 16 - CHECKSUM_BYTES) /* 16: header of LMDB's first page */
#define NUMBER_MAX        ((UINT64_C(1) << 48) - 1)
#define PIECES_MAX        65536

size_t base_reference_encode(const struct base_reference *reference,
                             uint8_t data[BASE_REFERENCE_BYTES_MAX])
{
    size_t size = varint_store(data, reference->number);
    return size + varint_store(data + size, reference->size_bytes);
}

bool base_reference_decode(struct bytes bytes, struct base_reference *ret_reference)
{
    const uint8_t *end = bytes.data + bytes.size_bytes;
    struct base_reference reference;
    size_t used = varint_load(bytes.data, end, &reference.number);
    if (used == 0) {
        return false;
    }
    size_t more = varint_load(bytes.data + used, end, &reference.size_bytes);
    if (more == 0 || used + more != bytes.size_bytes || reference.number > NUMBER_MAX ||
        reference.size_bytes > (uint64_t)PAGES_PIECE_BYTES * PIECES_MAX) {
        return false;
    }
    *ret_reference = reference;
    return true;
}

/* A piece is bound to its extent, although its key does not name it. */
static uint64_t seed_of(struct bytes stored_key, uint64_t extent)
{
    return base_seed(stored_key) ^ extent;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static uint64_t piece_bytes(uint64_t size_bytes)
{
    if (size_bytes > LEAF_VALUE_BYTES) {
        return PAGES_PIECE_BYTES;
    }
    uint64_t count = divide_up(size_bytes, LEAF_PIECE_BYTES);
    return count > 0 ? divide_up(size_bytes, count) : 1;
}

uint64_t base_value_piece_count(const struct base_reference *reference)
{
    return divide_up(reference->size_bytes, piece_bytes(reference->size_bytes));
}

uint64_t base_value_stored_bytes(const struct base_reference *reference)
{
    return reference->size_bytes +
           base_value_piece_count(reference) * (PIECE_KEY_BYTES + CHECKSUM_BYTES);
}

static struct bytes make_key(uint64_t number, uint64_t index, uint8_t key[PIECE_KEY_BYTES])
{
    ASSERT(number <= NUMBER_MAX);
    ASSERT(index < PIECES_MAX);
    key[0] = BASE_SPACE_PIECE;
    store_be64(key + 1, number << 16 | index);
    return bytes_of(key, PIECE_KEY_BYTES);
}

enum status base_value_write(struct kv_write *write,
                             uint64_t extent,
                             uint64_t number,
                             struct bytes value)
{
    uint64_t step = piece_bytes(value.size_bytes);
    uint8_t *piece = memory_allocate(step + CHECKSUM_BYTES);
    enum status status = piece != NULL ? STATUS_OK : STATUS_NO_MEMORY;
    uint64_t index = 0;

    for (uint64_t done = 0; status == STATUS_OK && done < value.size_bytes; done += step) {
        uint8_t key[PIECE_KEY_BYTES];
        struct bytes stored_key = make_key(number, index, key);
        uint64_t left = value.size_bytes - done;
        size_t size = (size_t)(left < step ? left : step);
        memcpy(piece, value.data + done, size);
        store_le64(piece + size, checksum64(piece, size, seed_of(stored_key, extent)));
        status = kv_write_put(write, stored_key, bytes_of(piece, size + CHECKSUM_BYTES));
        index++;
    }
    memory_free(piece);
    return status;
}

enum status base_value_erase(struct kv_write *write, const struct base_reference *reference)
{
    uint64_t count = base_value_piece_count(reference);
    for (uint64_t index = 0; index < count; index++) {
        uint8_t key[PIECE_KEY_BYTES];
        bool found = false; /* a missing piece is no reason to keep the others */
        enum status status = kv_write_delete(write, make_key(reference->number, index, key),
                                             &found);
        if (status != STATUS_OK) {
            return status;
        }
    }
    return STATUS_OK;
}

static bool is_good(struct bytes stored_key, struct bytes piece, uint64_t extent)
{
    size_t size = piece.size_bytes - CHECKSUM_BYTES;
    return load_le64(piece.data + size) ==
           checksum64(piece.data, size, seed_of(stored_key, extent));
}

enum status base_value_read(struct kv_cursor *cursor,
                            uint64_t extent,
                            const struct base_reference *reference,
                            struct buffer *out)
{
    uint64_t count = base_value_piece_count(reference);
    uint64_t step = piece_bytes(reference->size_bytes);
    uint64_t left = reference->size_bytes;
    for (uint64_t index = 0; index < count; index++) {
        uint8_t key[PIECE_KEY_BYTES];
        struct bytes wanted = make_key(reference->number, index, key);
        struct bytes stored_key;
        struct bytes piece;
        bool found = false;
        enum kv_move move = index == 0 ? KV_SEEK : KV_NEXT;
        enum status status = kv_cursor_move(cursor, move, wanted, &stored_key, &piece, &found);
        if (status != STATUS_OK) {
            return status;
        }
        uint64_t size = left < step ? left : step;
        if (!found || !bytes_equal(stored_key, wanted) ||
            piece.size_bytes != size + CHECKSUM_BYTES || !is_good(stored_key, piece, extent)) {
            return STATUS_CORRUPT;
        }
        if (out != NULL) {
            buffer_append(out, piece.data, (size_t)size);
        }
        left -= size;
    }
    return out != NULL && out->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

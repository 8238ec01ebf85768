/*
 * The store's metadata records: the first byte is the kind, the rest the value, whose seal is made
 * to fit, so that what is behind it is reached.  What decodes must encode to no more bytes than it
 * came from, and to the same the second time round; without the right seal nothing decodes.
 */
#include <stdlib.h>

#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "tabletserver/storage/store/store_meta.h"

#define ARENA_BYTES_MAX ((size_t)256 * 1024 * 1024)
#define NUMBER          7
#define SEAL_BYTES      8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum store_meta_kind kind_of(uint8_t byte)
{
    static const enum store_meta_kind kinds[] = {STORE_META_STORE, STORE_META_TABLET,
                                                 STORE_META_ERASURE};
    return kinds[byte % 3];
}

/* Decode and encode; false when it does not decode. */
static bool round_trip(enum store_meta_kind kind,
                       struct bytes value,
                       struct arena *arena,
                       struct buffer *out)
{
    struct store_meta_store store;
    struct store_meta_tablet tablet;
    struct store_meta_erasure erasure;
    struct error error = {0};
    enum status status = STATUS_OK;
    if (kind == STORE_META_STORE) {
        status = store_meta_decode_store(value, &store, &error);
    } else if (kind == STORE_META_TABLET) {
        status = store_meta_decode_tablet(NUMBER, value, arena, &tablet, &error);
    } else {
        status = store_meta_decode_erasure(NUMBER, value, &erasure, &error);
    }
    if (status != STATUS_OK) {
        ASSERT(error.text[0] != '\0');
    } else if (kind == STORE_META_STORE) {
        store_meta_encode_store(&store, out);
    } else if (kind == STORE_META_TABLET) {
        ASSERT(tablet.descriptor.tablet == NUMBER);
        store_meta_encode_tablet(&tablet, out);
    } else {
        store_meta_encode_erasure(NUMBER, &erasure, out);
    }
    return status == STATUS_OK;
}

static void seal(struct buffer *value, enum store_meta_kind kind)
{
    struct store_meta_key key = store_meta_key(kind, NUMBER, 0);
    uint8_t sum[SEAL_BYTES];
    store_le64(sum, checksum64(value->data, value->size_bytes, store_meta_seed(&key)));
    buffer_append(value, sum, sizeof sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct buffer value = BUFFER_INIT;
    struct buffer once = BUFFER_INIT;
    struct buffer twice = BUFFER_INIT;
    if (size < 2) {
        return 0;
    }
    enum store_meta_kind kind = kind_of(data[0]);
    arena_init(&arena, 4096, ARENA_BYTES_MAX);
    ASSERT(!round_trip(kind, bytes_of(data + 1, size - 1), &arena, &once));
    buffer_append(&value, data + 1, size - 1);
    seal(&value, kind);
    if (round_trip(kind, buffer_bytes(&value), &arena, &once)) {
        ASSERT(once.size_bytes <= value.size_bytes);
        ASSERT(round_trip(kind, buffer_bytes(&once), &arena, &twice));
        ASSERT(bytes_equal(buffer_bytes(&once), buffer_bytes(&twice)));
    }
    buffer_deinit(&value);
    buffer_deinit(&once);
    buffer_deinit(&twice);
    arena_deinit(&arena);
    return 0;
}

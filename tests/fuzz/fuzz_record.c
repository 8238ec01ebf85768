/*
 * Log record payloads: the first byte is the type, the rest the payload.  What decodes must encode
 * again (the encoder asserts the decoder's limits), to no more bytes than it came from, and to the
 * same bytes the second time round.
 */
#include <stdlib.h>

#include "tabletserver/storage/record/record.h"
#include "tabletserver/storage/record/record_replica.h"

#define ARENA_BYTES_MAX ((size_t)64 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

/* Decode and encode; false when it does not decode. */
static bool round_trip(uint8_t type, struct bytes payload, struct arena *arena, struct buffer *out)
{
    struct record_write write;
    struct record_drop_range drop;
    struct record_split split;
    struct record_gc_horizon horizon;
    struct record_frozen frozen;
    struct record_absorb absorb;
    struct record_configuration configuration;
    struct error error;
    switch (type) {
    case RECORD_WRITE:
        if (record_decode_write(payload, arena, &write, &error) != STATUS_OK) {
            return false;
        }
        record_encode_write(&write, out);
        return true;
    case RECORD_DROP_RANGE:
        if (record_decode_drop_range(payload, &drop, &error) != STATUS_OK) {
            return false;
        }
        record_encode_drop_range(&drop, out);
        return true;
    case RECORD_SPLIT:
        if (record_decode_split(payload, &split, &error) != STATUS_OK) {
            return false;
        }
        record_encode_split(&split, out);
        return true;
    case RECORD_GC_HORIZON:
        if (record_decode_gc_horizon(payload, &horizon, &error) != STATUS_OK) {
            return false;
        }
        record_encode_gc_horizon(&horizon, out);
        return true;
    case RECORD_FROZEN:
        if (record_decode_frozen(payload, &frozen, &error) != STATUS_OK) {
            return false;
        }
        record_encode_frozen(&frozen, out);
        return true;
    case RECORD_ABSORB:
        if (record_decode_absorb(payload, &absorb, &error) != STATUS_OK) {
            return false;
        }
        record_encode_absorb(&absorb, out);
        return true;
    case RECORD_CONFIGURATION:
        if (record_decode_configuration(payload, &configuration, &error) != STATUS_OK) {
            return false;
        }
        record_encode_configuration(&configuration, out);
        return true;
    default:
        return false;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct buffer once = BUFFER_INIT;
    struct buffer twice = BUFFER_INIT;
    if (size == 0) {
        return 0;
    }
    arena_init(&arena, 4096, ARENA_BYTES_MAX);
    if (round_trip(data[0], bytes_of(data + 1, size - 1), &arena, &once)) {
        require(once.size_bytes <= size - 1);
        require(round_trip(data[0], buffer_bytes(&once), &arena, &twice));
        require(bytes_equal(buffer_bytes(&once), buffer_bytes(&twice)));
    }
    buffer_deinit(&once);
    buffer_deinit(&twice);
    arena_deinit(&arena);
    return 0;
}

/*
 * Replay of a log of two small segments whose stream the input makes.
 *
 * No fuzzer guesses a checksum, so the input is a list of commands: a byte of flags, two bytes of
 * length, and that many bytes.  They become a batch (its header filled in, with true checksums
 * unless the flags say otherwise) or raw stream.  The machine must stay inside what it is given,
 * must end, and must find nothing that was not put.
 */
#include <stdlib.h>

#include "common/base/checksum.h"
#include "tabletserver/storage/log/log_replay.h"

#define SEGMENT_BYTES LOG_SEGMENT_BYTES_MIN
#define ROOM          (SEGMENT_BYTES - LOG_BLOCK_BYTES)
#define STREAM_BYTES  (2 * ROOM)
#define STEPS_MAX     100000

/* Flags of a command. */
#define FLAG_RAW          1u
#define FLAG_BAD_HEADER   2u
#define FLAG_BAD_PAYLOAD  4u
#define FLAG_NEXT_EPOCH   8u
#define FLAG_UNSYNCED     16u
#define FLAG_CLEAN_END    32u
#define FLAG_BAD_POSITION 64u
#define FLAG_FORMAT_1     128u

struct world {
    struct log_segment_header segments[2];
    uint8_t stream[STREAM_BYTES];
    size_t used;
    uint64_t epoch;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void put_batch(struct world *world, uint8_t flags, const uint8_t *bytes, size_t size)
{
    uint64_t position = LOG_POSITION_FIRST + world->used;
    const struct log_segment_header *segment = &world->segments[world->used / ROOM];
    uint64_t seed = log_batch_seed(segment->salt, segment->generation, position);
    size_t payload_bytes = (size_t)log_align(size);
    uint8_t *at = world->stream + world->used;
    if (world->used + LOG_BATCH_HEADER_BYTES + payload_bytes > STREAM_BYTES) {
        return;
    }
    world->epoch += (flags & FLAG_NEXT_EPOCH) != 0 ? 1 : 0;
    memcpy(at + LOG_BATCH_HEADER_BYTES, bytes, size);
    struct log_batch_header header = {
        .payload_bytes = (uint32_t)payload_bytes,
        .record_count = size > 0 ? bytes[0] % 4 : 0,
        .flags = (flags & FLAG_CLEAN_END) != 0 ? LOG_BATCH_CLEAN_END : 0,
        .position = (flags & FLAG_BAD_POSITION) != 0 ? position + 8 : position,
        .synced_position = (flags & FLAG_UNSYNCED) != 0 ? LOG_POSITION_FIRST : position,
        .epoch = world->epoch,
        .payload_checksum = log_payload_checksum(at + LOG_BATCH_HEADER_BYTES, payload_bytes, seed),
    };
    header.payload_checksum ^= (flags & FLAG_BAD_PAYLOAD) != 0 ? 1 : 0;
    log_batch_header_encode(&header, seed, at);
    if ((flags & FLAG_FORMAT_1) != 0) {
        store_le32(at + 36, header.flags);
        store_le64(at + 48, checksum64(at, 48, seed));
    }
    at[40] ^= (flags & FLAG_BAD_HEADER) != 0 ? 1 : 0;
    world->used += LOG_BATCH_HEADER_BYTES + payload_bytes;
}

static void put_raw(struct world *world, const uint8_t *bytes, size_t size)
{
    size_t aligned = (size_t)log_align(size);
    if (world->used + aligned <= STREAM_BYTES) {
        memcpy(world->stream + world->used, bytes, size);
        world->used += aligned;
    }
}

static void build(struct world *world, const uint8_t *data, size_t size)
{
    while (size >= 3) {
        uint8_t flags = data[0];
        size_t length = load_le16(data + 1);
        data += 3;
        size -= 3;
        length = length < size ? length : size;
        if ((flags & FLAG_RAW) != 0) {
            put_raw(world, data, length);
        } else if (world->used + LOG_BATCH_HEADER_BYTES <= STREAM_BYTES) {
            put_batch(world, flags, data, length);
        }
        data += length;
        size -= length;
    }
}

static void replay_all(struct world *world, uint64_t hint)
{
    struct log_replay replay;
    struct log_replay_output output;
    struct log_anchor anchor = {.start_segment = 1,
                                .start_position = LOG_POSITION_FIRST,
                                .epoch = 1,
                                .epoch_position = LOG_POSITION_FIRST,
                                .synced_position = LOG_POSITION_FIRST};
    uint64_t last_position = 0;
    log_replay_init(&replay, &anchor, hint);
    for (uint64_t i = 0; i < 2; i++) {
        require(log_replay_add_segment(&replay, i + 1, &world->segments[i], NULL) == STATUS_OK);
    }
    for (int step = 0;; step++) {
        require(step < STEPS_MAX);
        enum log_replay_event event = log_replay_step(&replay, &output);
        if (event == LOG_REPLAY_READ) {
            size_t offset = (size_t)(output.position - LOG_POSITION_FIRST);
            require(offset <= STREAM_BYTES && output.size_bytes <= STREAM_BYTES - offset);
            require(output.size_bytes > 0);
            memcpy(output.into, world->stream + offset, output.size_bytes);
        } else if (event == LOG_REPLAY_RECORD) {
            require(output.position >= last_position);
            require(output.position < LOG_POSITION_FIRST + world->used);
            last_position = output.position;
        } else if (event == LOG_REPLAY_END) {
            require(output.position <= LOG_POSITION_FIRST + world->used);
            require(output.position >= hint && output.position >= output.proven);
            break;
        } else {
            require(event == LOG_REPLAY_CORRUPT && output.reason != NULL);
            break;
        }
    }
    log_replay_deinit(&replay);
}

static void decode_blocks(const uint8_t *data, size_t size)
{
    static uint8_t slots[2 * LOG_BLOCK_BYTES];
    struct log_segment_header header;
    struct log_anchor anchor;
    struct error error;
    memset(slots, 0, sizeof slots);
    memcpy(slots, data, size < sizeof slots ? size : sizeof slots);
    (void)log_segment_header_decode(slots, 1, &header, &error);
    (void)log_anchor_decode(slots, 1, &anchor, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world world;
    memset(&world, 0, sizeof world);
    world.epoch = 1;
    for (uint64_t i = 0; i < 2; i++) {
        world.segments[i] = (struct log_segment_header){.store_number = 1,
                                                        .generation = i + 1,
                                                        .first_position = LOG_POSITION_FIRST +
                                                                          i * ROOM,
                                                        .salt = 7 * i,
                                                        .segment_bytes = SEGMENT_BYTES};
    }
    decode_blocks(data, size);
    if (size < 2) {
        return 0;
    }
    uint64_t hint = LOG_POSITION_FIRST + load_le16(data) / 8 * 8;
    build(&world, data + 2, size - 2);
    replay_all(&world, data[0] < 128 ? 0 : hint);
    return 0;
}

#include <criterion/criterion.h>

#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "common/base/prng.h"
#include "tabletserver/storage/log/log_format.h"

static const struct log_segment_header segment = {
    .store_number = 0x1122334455667788,
    .generation = 9,
    .first_position = LOG_POSITION_FIRST + 61440,
    .salt = 0xfeedface,
    .segment_bytes = 65536,
};

static const struct log_anchor anchor = {
    .store_number = 3,
    .counter = 12,
    .start_segment = 4,
    .start_position = 8192,
    .epoch = 77,
    .epoch_position = 9000,
    .synced_position = 10000,
    .cut = true,
};

Test(log_format, segment_header_has_these_bytes)
{
    uint8_t block[LOG_BLOCK_BYTES];
    struct log_segment_header back;
    log_segment_header_encode(&segment, block);
    cr_assert_arr_eq(block, "EDUBLOGS", 8);
    cr_assert_eq(load_le32(block + 8), 2);
    cr_assert_eq(load_le32(block + 12), 0);
    cr_assert_eq(load_le64(block + 16), segment.store_number);
    cr_assert_eq(load_le64(block + 24), segment.generation);
    cr_assert_eq(load_le64(block + 32), segment.first_position);
    cr_assert_eq(load_le64(block + 40), segment.salt);
    cr_assert_eq(load_le32(block + 48), segment.segment_bytes);
    cr_assert_eq(load_le64(block + 4088), checksum64(block, 4088, 0));
    cr_assert_eq(log_segment_header_decode(block, segment.store_number, &back, NULL), STATUS_OK);
    cr_assert_eq(back.store_number, segment.store_number);
    cr_assert_eq(back.generation, segment.generation);
    cr_assert_eq(back.first_position, segment.first_position);
    cr_assert_eq(back.salt, segment.salt);
    cr_assert_eq(back.segment_bytes, segment.segment_bytes);
    cr_assert_eq(log_segment_end(&back), segment.first_position + 65536 - 4096);
}

Test(log_format, every_flipped_bit_of_a_segment_header_is_corrupt)
{
    uint8_t block[LOG_BLOCK_BYTES];
    struct log_segment_header back = {0};
    log_segment_header_encode(&segment, block);
    for (size_t bit = 0; bit < sizeof block * 8; bit++) {
        block[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_eq(log_segment_header_decode(block, segment.store_number, &back, NULL),
                     STATUS_CORRUPT, "bit %zu", bit);
        block[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    cr_assert_eq(back.generation, 0, "an output is untouched on failure");
}

/* Change a field and make the checksum good again. */
static enum status decode_with(size_t at, uint64_t value, size_t size, struct error *error)
{
    uint8_t block[LOG_BLOCK_BYTES];
    uint8_t bytes[8];
    struct log_segment_header back;
    log_segment_header_encode(&segment, block);
    store_le64(bytes, value);
    memcpy(block + at, bytes, size);
    store_le64(block + 4088, checksum64(block, 4088, 0));
    return log_segment_header_decode(block, segment.store_number, &back, error);
}

Test(log_format, newer_versions_and_unknown_features_are_refused_as_such)
{
    struct error error = {0};
    cr_assert_eq(decode_with(8, 3, 4, &error), STATUS_VERSION);
    cr_assert_not_null(strstr(error.text, "format 3"), "%s", error.text);
    cr_assert_eq(decode_with(8, 0, 4, &error), STATUS_VERSION);
    cr_assert_eq(decode_with(12, 1, 4, &error), STATUS_VERSION);
}

Test(log_format, format_1_is_still_read)
{
    uint8_t slots[2 * LOG_BLOCK_BYTES];
    struct log_anchor back;
    cr_assert_eq(decode_with(8, 1, 4, NULL), STATUS_OK);
    for (size_t slot = 0; slot < sizeof slots; slot += LOG_BLOCK_BYTES) {
        log_anchor_encode(&anchor, slots + slot);
        store_le32(slots + slot + 8, 1);
        store_le64(slots + slot + 4088, checksum64(slots + slot, 4088, 0));
    }
    cr_assert_eq(log_anchor_decode(slots, 3, &back, NULL), STATUS_OK);
    cr_assert_eq(back.counter, anchor.counter);
}

Test(log_format, segment_headers_that_make_no_sense)
{
    struct error error = {0};
    cr_assert_eq(decode_with(16, 1, 8, &error), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, "belongs to store 1,"), "%s", error.text);
    cr_assert_eq(decode_with(24, 0, 8, NULL), STATUS_CORRUPT);
    cr_assert_eq(decode_with(32, 0, 8, NULL), STATUS_CORRUPT);
    cr_assert_eq(decode_with(32, LOG_POSITION_FIRST + 4, 8, NULL), STATUS_CORRUPT);
    cr_assert_eq(decode_with(32, UINT64_MAX - 7, 8, NULL), STATUS_CORRUPT);
    cr_assert_eq(decode_with(48, 4096, 4, NULL), STATUS_CORRUPT);
    cr_assert_eq(decode_with(48, 65537, 4, NULL), STATUS_CORRUPT);
    cr_assert_eq(decode_with(48, 65536, 4, NULL), STATUS_OK);
}

static void expect_same_anchor(const struct log_anchor *a, const struct log_anchor *b)
{
    cr_assert_eq(a->store_number, b->store_number);
    cr_assert_eq(a->counter, b->counter);
    cr_assert_eq(a->start_segment, b->start_segment);
    cr_assert_eq(a->start_position, b->start_position);
    cr_assert_eq(a->epoch, b->epoch);
    cr_assert_eq(a->epoch_position, b->epoch_position);
    cr_assert_eq(a->synced_position, b->synced_position);
    cr_assert_eq(a->cut, b->cut);
}

Test(log_format, the_anchor_is_the_newer_whole_slot)
{
    uint8_t slots[2 * LOG_BLOCK_BYTES];
    struct log_anchor newer = anchor;
    struct log_anchor back;
    newer.cut = false;
    newer.counter++;
    newer.epoch++;
    for (int swap = 0; swap < 2; swap++) {
        log_anchor_encode(swap ? &newer : &anchor, slots);
        log_anchor_encode(swap ? &anchor : &newer, slots + LOG_BLOCK_BYTES);
        size_t newer_at = swap ? 0 : LOG_BLOCK_BYTES;
        cr_assert_eq(log_anchor_decode(slots, 3, &back, NULL), STATUS_OK);
        expect_same_anchor(&back, &newer);
        slots[newer_at + 100] ^= 1; /* torn while it was written */
        cr_assert_eq(log_anchor_decode(slots, 3, &back, NULL), STATUS_OK);
        expect_same_anchor(&back, &anchor);
        slots[LOG_BLOCK_BYTES - newer_at] ^= 1;
        cr_assert_eq(log_anchor_decode(slots, 3, &back, NULL), STATUS_CORRUPT);
    }
}

Test(log_format, an_anchor_of_another_store_or_version)
{
    uint8_t slots[2 * LOG_BLOCK_BYTES];
    struct log_anchor back;
    log_anchor_encode(&anchor, slots);
    log_anchor_encode(&anchor, slots + LOG_BLOCK_BYTES);
    cr_assert_eq(log_anchor_decode(slots, 4, &back, NULL), STATUS_CORRUPT);
    for (size_t slot = 0; slot < sizeof slots; slot += LOG_BLOCK_BYTES) {
        log_anchor_encode(&anchor, slots);
        log_anchor_encode(&anchor, slots + LOG_BLOCK_BYTES);
        store_le32(slots + slot + 8, 3);
        store_le64(slots + slot + 4088, checksum64(slots + slot, 4088, 0));
        cr_assert_eq(log_anchor_decode(slots, 3, &back, NULL), STATUS_VERSION);
    }
}

/* Both slots whole, with the eight bytes at offset replaced by value. */
static enum status anchor_with(size_t offset, uint64_t value)
{
    uint8_t slots[2 * LOG_BLOCK_BYTES];
    struct log_anchor back;
    for (size_t slot = 0; slot < sizeof slots; slot += LOG_BLOCK_BYTES) {
        log_anchor_encode(&anchor, slots + slot);
        store_le64(slots + slot + offset, value);
        store_le64(slots + slot + 4088, checksum64(slots + slot, 4088, 0));
    }
    return log_anchor_decode(slots, 3, &back, NULL);
}

Test(log_format, anchors_that_make_no_sense)
{
    cr_assert_eq(anchor_with(24, UINT64_MAX), STATUS_CORRUPT, "counter");
    cr_assert_eq(anchor_with(32, 0), STATUS_CORRUPT, "start segment");
    cr_assert_eq(anchor_with(40, LOG_POSITION_FIRST - 8), STATUS_CORRUPT, "start position");
    cr_assert_eq(anchor_with(40, LOG_POSITION_FIRST + 4), STATUS_CORRUPT);
    cr_assert_eq(anchor_with(40, anchor.synced_position + 8), STATUS_CORRUPT);
    cr_assert_eq(anchor_with(40, anchor.synced_position), STATUS_OK);
    cr_assert_eq(anchor_with(48, UINT64_MAX), STATUS_CORRUPT, "epoch");
    cr_assert_eq(anchor_with(56, anchor.synced_position + 8), STATUS_CORRUPT, "epoch position");
    cr_assert_eq(anchor_with(72, 2), STATUS_CORRUPT, "flags");
    cr_assert_eq(anchor_with(72, 1), STATUS_OK);
}

static const struct log_batch_header batch = {
    .payload_bytes = 64,
    .record_count = 3,
    .flags = LOG_BATCH_CLEAN_END,
    .position = 8192,
    .synced_position = 8000,
    .epoch = 5,
    .payload_checksum = 0x1234,
};

/* What the seed mixes and what the checksum covers is part of the format. */
Test(log_format, batch_header_has_these_bytes)
{
    uint8_t bytes[LOG_BATCH_HEADER_BYTES];
    log_batch_header_encode(&batch, log_batch_seed(1, 2, batch.position), bytes);
    cr_assert_arr_eq(bytes, "EdBt", 4);
    cr_assert_eq(load_le32(bytes + 4), batch.payload_bytes);
    cr_assert_eq(load_le64(bytes + 8), batch.position);
    cr_assert_eq(load_le64(bytes + 16), batch.synced_position);
    cr_assert_eq(load_le64(bytes + 24), batch.epoch);
    cr_assert_eq(load_le32(bytes + 32), batch.record_count);
    cr_assert_eq(load_le32(bytes + 36), LOG_BATCH_CLEAN_END | LOG_BATCH_FORMAT_2);
    cr_assert_eq(load_le64(bytes + 40), batch.payload_checksum);
    cr_assert_eq(load_le64(bytes + 48), UINT64_C(0x7a5e96c3987f9af8));
}

Test(log_format, batch_headers_hold_only_in_their_place)
{
    uint8_t bytes[LOG_BATCH_HEADER_BYTES];
    struct log_batch_header back;
    uint64_t seed = log_batch_seed(1, 2, batch.position);
    log_batch_header_encode(&batch, seed, bytes);
    cr_assert_arr_eq(bytes, "EdBt", 4);
    cr_assert(log_batch_header_is_likely(bytes, batch.position));
    cr_assert_not(log_batch_header_is_likely(bytes, batch.position + 8));
    cr_assert_null(log_batch_header_decode(bytes, batch.position, seed, &back));
    cr_assert_eq(back.payload_bytes, batch.payload_bytes);
    cr_assert_eq(back.record_count, batch.record_count);
    cr_assert_eq(back.flags, batch.flags);
    cr_assert_eq(back.format, 2);
    cr_assert_eq(load_le32(bytes + 36), LOG_BATCH_CLEAN_END | LOG_BATCH_FORMAT_2);
    cr_assert_eq(back.position, batch.position);
    cr_assert_eq(back.synced_position, batch.synced_position);
    cr_assert_eq(back.epoch, batch.epoch);
    cr_assert_eq(back.payload_checksum, batch.payload_checksum);

    const uint64_t seeds[] = {
        log_batch_seed(0, 2, batch.position),
        log_batch_seed(1, 3, batch.position),
        log_batch_seed(1, 1, batch.position),
        log_batch_seed(1, 2, batch.position + 8),
    };
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        cr_assert_not_null(log_batch_header_decode(bytes, batch.position, seeds[i], &back));
    }
    cr_assert_not_null(log_batch_header_decode(bytes, batch.position + 8, seed, &back));
}

Test(log_format, every_flipped_bit_of_a_batch_header_is_seen)
{
    uint8_t bytes[LOG_BATCH_HEADER_BYTES];
    struct log_batch_header back;
    log_batch_header_encode(&batch, 7, bytes);
    for (size_t bit = 0; bit < sizeof bytes * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_not_null(log_batch_header_decode(bytes, batch.position, 7, &back));
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    cr_assert_null(log_batch_header_decode(bytes, batch.position, 7, &back));
}

Test(log_format, batch_headers_that_make_no_sense)
{
    const struct {
        size_t at;
        uint64_t value;
        size_t size;
    } changes[] = {
        {4, LOG_BATCH_PAYLOAD_BYTES_MAX + 8, 4},
        {4, 63, 4},
        {8, 8200, 8},
        {16, 8193, 8}, /* proven beyond its own begin */
        {36, 4, 4},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        uint8_t bytes[LOG_BATCH_HEADER_BYTES];
        uint8_t value[8];
        struct log_batch_header back;
        log_batch_header_encode(&batch, 7, bytes);
        store_le64(value, changes[i].value);
        memcpy(bytes + changes[i].at, value, changes[i].size);
        store_le64(bytes + 48, checksum64(bytes, 48, 7));
        const char *reason = log_batch_header_decode(bytes, batch.position, 7, &back);
        cr_assert_not_null(reason);
        cr_assert_not_null(strstr(reason, "no sense"));
    }
}

Test(log_format, records_round_trip_and_are_strict)
{
    struct prng prng = prng_of_seed(3);
    for (int i = 0; i < 200; i++) {
        uint8_t payload[64];
        struct buffer out = BUFFER_INIT;
        struct log_record back;
        memset(payload, i, sizeof payload);
        struct log_record record = {
            .type = (uint8_t)prng_next(&prng),
            .tablet = prng_next(&prng) >> prng_below(&prng, 64),
            .configuration = prng_next(&prng) >> prng_below(&prng, 64),
            .sequence = 1 + (prng_next(&prng) >> 1 >> prng_below(&prng, 63)),
            .stamp = {prng_next(&prng), (uint32_t)prng_next(&prng), (uint32_t)prng_next(&prng)},
            .payload = bytes_of(payload, prng_below(&prng, sizeof payload)),
        };
        bool replicated = record.type < LOG_RECORD_TYPE_OWN;
        record.behind = replicated ? prng_below(&prng, record.sequence) : 0;
        log_record_encode(&record, &out);
        cr_assert_leq(out.size_bytes, log_record_size_bytes_max(&record));
        struct byte_reader reader = byte_reader_of(buffer_bytes(&out));
        cr_assert(log_record_decode(&reader, 2, &back));
        cr_assert_eq(byte_reader_left(&reader), 0);
        cr_assert_eq(back.type, record.type);
        cr_assert_eq(back.tablet, record.tablet);
        cr_assert_eq(back.configuration, record.configuration);
        cr_assert_eq(back.behind, record.behind);
        cr_assert_eq(back.sequence, record.sequence);
        cr_assert_eq(stamp_compare(back.stamp, record.stamp), 0);
        cr_assert(bytes_equal(back.payload, record.payload));
        for (size_t size = 0; size < out.size_bytes; size++) {
            reader = byte_reader_of(bytes_of(out.data, size));
            cr_assert_not(log_record_decode(&reader, 2, &back));
        }
        buffer_deinit(&out);
    }
}

/* type 1, tablet 2, configuration 3, [behind 4,] sequence 5, stamp, payload "x" */
static const uint8_t record_1[] = {1, 2, 3, 5, 9, 0, 0, 0, 0, 0, 0, 0, 6, 7, 1, 'x'};
static const uint8_t record_2[] = {1, 2, 3, 4, 5, 9, 0, 0, 0, 0, 0, 0, 0, 6, 7, 1, 'x'};

Test(log_format, records_of_both_formats_have_these_bytes)
{
    struct log_record back;
    struct buffer out = BUFFER_INIT;
    struct byte_reader reader = byte_reader_of(bytes_of(record_1, sizeof record_1));
    cr_assert(log_record_decode(&reader, 1, &back));
    cr_assert_eq(byte_reader_left(&reader), 0);
    cr_assert_eq(back.sequence, 5);
    cr_assert_eq(back.behind, 0, "all that format 1 has was a lone copy's: committed when synced");
    reader = byte_reader_of(bytes_of(record_2, sizeof record_2));
    cr_assert(log_record_decode(&reader, 2, &back));
    cr_assert_eq(byte_reader_left(&reader), 0);
    cr_assert_eq(back.configuration, 3);
    cr_assert_eq(back.behind, 4);
    cr_assert_eq(back.sequence, 5);
    cr_assert_eq(back.stamp.clock, 9);
    log_record_encode(&back, &out);
    cr_assert(bytes_equal(buffer_bytes(&out), bytes_of(record_2, sizeof record_2)));
    buffer_deinit(&out);
}

Test(log_format, the_stores_own_records_say_nothing_of_commits)
{
    uint8_t own[sizeof record_1];
    struct log_record back;
    memcpy(own, record_1, sizeof own);
    own[0] = LOG_RECORD_TYPE_OWN;
    struct byte_reader reader = byte_reader_of(bytes_of(own, sizeof own));
    cr_assert(log_record_decode(&reader, 2, &back));
    cr_assert_eq(byte_reader_left(&reader), 0);
    cr_assert_eq(back.sequence, 5);
}

Test(log_format, nothing_is_further_behind_than_the_first_entry)
{
    uint8_t bytes[sizeof record_2];
    struct log_record back;
    memcpy(bytes, record_2, sizeof bytes);
    bytes[3] = 6;
    struct byte_reader reader = byte_reader_of(bytes_of(bytes, sizeof bytes));
    cr_assert_not(log_record_decode(&reader, 2, &back));
}

Test(log_format, a_batch_of_format_1_says_so_by_not_saying_anything)
{
    uint8_t bytes[LOG_BATCH_HEADER_BYTES];
    struct log_batch_header back;
    log_batch_header_encode(&batch, 7, bytes);
    store_le32(bytes + 36, LOG_BATCH_CLEAN_END);
    store_le64(bytes + 48, checksum64(bytes, 48, 7));
    cr_assert_null(log_batch_header_decode(bytes, batch.position, 7, &back));
    cr_assert_eq(back.format, 1);
    cr_assert_eq(back.flags, LOG_BATCH_CLEAN_END);
}

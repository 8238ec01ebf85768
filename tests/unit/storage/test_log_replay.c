#include <criterion/criterion.h>

#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "common/base/prng.h"
#include "tabletserver/storage/log/log_replay.h"

#define SEGMENT_BYTES 16384u
#define SEGMENT_ROOM  (SEGMENT_BYTES - LOG_BLOCK_BYTES)
#define SEGMENTS_MAX  8
#define BATCHES_MAX   64

/* A log in memory: the stream is one array. */
struct world {
    struct log_anchor anchor;
    uint64_t hint;
    struct log_segment_header segments[SEGMENTS_MAX];
    size_t segment_count;
    uint8_t stream[SEGMENTS_MAX * SEGMENT_ROOM];
    uint64_t next;
    uint64_t epoch;
    uint64_t sequence;
    uint64_t batches[BATCHES_MAX]; /* where they begin */
    size_t batch_count;
};

static struct world world;

static void begin(void)
{
    memset(&world, 0, sizeof world);
    world.anchor = (struct log_anchor){.store_number = 1,
                                       .counter = 1,
                                       .start_segment = 1,
                                       .start_position = LOG_POSITION_FIRST,
                                       .epoch = 1,
                                       .epoch_position = LOG_POSITION_FIRST,
                                       .synced_position = LOG_POSITION_FIRST};
    world.segment_count = 4;
    world.next = LOG_POSITION_FIRST;
    world.epoch = 1;
    for (size_t i = 0; i < SEGMENTS_MAX; i++) {
        world.segments[i] = (struct log_segment_header){
            .store_number = 1,
            .generation = i + 1,
            .first_position = LOG_POSITION_FIRST + i * SEGMENT_ROOM,
            .salt = 1000 + i,
            .segment_bytes = SEGMENT_BYTES,
        };
    }
}

TestSuite(log_replay, .init = begin);

static uint8_t *stream_at(uint64_t position)
{
    return world.stream + (position - LOG_POSITION_FIRST);
}

static uint64_t seed_at(uint64_t position)
{
    const struct log_segment_header
        *header = &world.segments[(position - LOG_POSITION_FIRST) / SEGMENT_ROOM];
    return log_batch_seed(header->salt, header->generation, position);
}

/* Put a batch of this payload at the end of the stream. */
static uint64_t add_payload(struct buffer *payload, uint32_t record_count, uint32_t flags)
{
    uint64_t position = world.next;
    while (payload->size_bytes % LOG_ALIGNMENT_BYTES != 0) {
        buffer_append_u8(payload, 0);
    }
    struct log_batch_header header = {
        .payload_bytes = (uint32_t)payload->size_bytes,
        .record_count = record_count,
        .flags = flags,
        .position = position,
        .synced_position = position,
        .epoch = world.epoch,
        .payload_checksum = log_payload_checksum(payload->data, payload->size_bytes,
                                                 seed_at(position)),
    };
    log_batch_header_encode(&header, seed_at(position), stream_at(position));
    if (payload->size_bytes > 0) {
        memcpy(stream_at(position) + LOG_BATCH_HEADER_BYTES, payload->data, payload->size_bytes);
    }
    world.next += LOG_BATCH_HEADER_BYTES + payload->size_bytes;
    cr_assert_lt(world.batch_count, BATCHES_MAX);
    world.batches[world.batch_count++] = position;
    buffer_deinit(payload);
    return position;
}

static uint64_t add_batch(uint32_t record_count, size_t payload_bytes)
{
    static uint8_t zeros[SEGMENTS_MAX * SEGMENT_ROOM];
    struct buffer payload = BUFFER_INIT;
    for (uint32_t i = 0; i < record_count; i++) {
        struct log_record record = {.type = 1,
                                    .tablet = 2,
                                    .sequence = world.sequence++,
                                    .payload = bytes_of(zeros, payload_bytes)};
        log_record_encode(&record, &payload);
    }
    return add_payload(&payload, record_count, 0);
}

/* One record as a program of format 1 wrote it, in a batch that says nothing of formats. */
static void add_batch_of_format_1(void)
{
    struct buffer payload = BUFFER_INIT;
    const uint8_t head[] = {1, 2, 0}; /* type, tablet, configuration */
    const uint8_t rest[8 + 3] = {0};  /* stamp, empty payload */
    buffer_append(&payload, head, sizeof head);
    buffer_append_u8(&payload, (uint8_t)world.sequence++);
    buffer_append(&payload, rest, sizeof rest);
    uint64_t position = add_payload(&payload, 1, 0);
    uint8_t *header = stream_at(position);
    store_le32(header + 36, 0);
    store_le64(header + 48, checksum64(header, 48, seed_at(position)));
}

static void add_clean_end(void)
{
    struct buffer payload = BUFFER_INIT;
    (void)add_payload(&payload, 0, LOG_BATCH_CLEAN_END);
}

struct outcome {
    enum log_replay_event event;
    struct log_replay_output output;
    uint64_t records;
    uint64_t largest_read;
};

static void check_read(const struct log_replay_output *output, struct outcome *outcome)
{
    uint64_t end = LOG_POSITION_FIRST + world.segment_count * SEGMENT_ROOM;
    cr_assert_gt(output->size_bytes, 0);
    cr_assert_geq(output->position, LOG_POSITION_FIRST);
    cr_assert_leq(output->position + output->size_bytes, end);
    if (output->size_bytes > outcome->largest_read) {
        outcome->largest_read = output->size_bytes;
    }
}

/* Replay the world; records must come with sequences 0, 1, 2, ... */
static struct outcome replay_world(struct log_replay *replay)
{
    struct outcome outcome = {.event = LOG_REPLAY_READ};
    log_replay_init(replay, &world.anchor, world.hint);
    for (size_t i = world.anchor.start_segment - 1; i < world.segment_count; i++) {
        enum status status = log_replay_add_segment(replay, i + 1, &world.segments[i], NULL);
        if (status == STATUS_NO_MEMORY) {
            outcome.event = LOG_REPLAY_NO_MEMORY;
            return outcome;
        }
        cr_assert_eq(status, STATUS_OK);
    }
    for (;;) {
        outcome.event = log_replay_step(replay, &outcome.output);
        if (outcome.event == LOG_REPLAY_READ) {
            check_read(&outcome.output, &outcome);
            memcpy(outcome.output.into, stream_at(outcome.output.position),
                   outcome.output.size_bytes);
        } else if (outcome.event == LOG_REPLAY_RECORD) {
            cr_assert_eq(outcome.output.record.sequence, outcome.records);
            outcome.records++;
        } else {
            break;
        }
    }
    /* Final is final. */
    struct log_replay_output again;
    cr_assert_eq(log_replay_step(replay, &again), outcome.event);
    cr_assert_eq(again.position, outcome.output.position);
    return outcome;
}

static struct outcome replay_once(void)
{
    struct log_replay replay;
    struct outcome outcome = replay_world(&replay);
    log_replay_deinit(&replay);
    return outcome;
}

static struct log_replay_output expect_end(uint64_t position, uint64_t records)
{
    struct outcome outcome = replay_once();
    cr_assert_eq(outcome.event, LOG_REPLAY_END, "%s", outcome.output.reason);
    cr_assert_eq(outcome.output.position, position);
    cr_assert_eq(outcome.records, records);
    return outcome.output;
}

static struct log_replay_output expect_corrupt(uint64_t position, uint64_t records)
{
    struct outcome outcome = replay_once();
    cr_assert_eq(outcome.event, LOG_REPLAY_CORRUPT);
    cr_assert_eq(outcome.output.position, position);
    cr_assert_eq(outcome.records, records);
    cr_assert_gt(outcome.output.proven, position);
    uint64_t in_stream = position - LOG_POSITION_FIRST;
    cr_assert_eq(outcome.output.segment, 1 + in_stream / SEGMENT_ROOM);
    bool missing = position == LOG_POSITION_FIRST + world.segment_count * SEGMENT_ROOM;
    cr_assert_eq(outcome.output.offset, missing ? 0 : 4096 + in_stream % SEGMENT_ROOM);
    return outcome.output;
}

Test(log_replay, an_empty_log)
{
    cr_assert_not(expect_end(LOG_POSITION_FIRST, 0).clean);
    world.segment_count = 0;
    expect_end(LOG_POSITION_FIRST, 0);
}

Test(log_replay, records_in_order_and_a_clean_end)
{
    add_batch(3, 10);
    add_batch(1, 0);
    cr_assert_not(expect_end(world.next, 4).clean);
    uint64_t last = world.next;
    add_clean_end();
    struct log_replay_output end = expect_end(world.next, 4);
    cr_assert(end.clean);
    cr_assert_eq(end.torn_bytes, 0);
    cr_assert_eq(end.proven, last); /* the last batch itself is proven by nothing */
}

Test(log_replay, a_log_of_format_1_goes_on_in_format_2_in_the_same_segment)
{
    add_batch_of_format_1();
    add_batch_of_format_1();
    add_batch(2, 10);
    expect_end(world.next, 4);
}

Test(log_replay, batches_cross_segments_wherever_the_boundary_falls)
{
    for (size_t payload_bytes = SEGMENT_ROOM - 200; payload_bytes < SEGMENT_ROOM; payload_bytes++) {
        begin();
        add_batch(1, payload_bytes);
        add_batch(2, 30);
        add_batch(1, 2 * SEGMENT_ROOM); /* larger than a segment */
        add_batch(1, 5);
        expect_end(world.next, 5);
    }
}

Test(log_replay, the_first_batch_of_each_segment_is_found)
{
    struct log_replay replay;
    add_batch(1, SEGMENT_ROOM + 100);
    uint64_t second = add_batch(1, 10);
    add_batch(1, 10);
    cr_assert_eq(replay_world(&replay).event, LOG_REPLAY_END);
    cr_assert_eq(log_replay_segment_count(&replay), 4);
    cr_assert_eq(log_replay_segment_at(&replay, 0)->first_batch_position, LOG_POSITION_FIRST);
    cr_assert_eq(log_replay_segment_at(&replay, 1)->first_batch_position, second);
    cr_assert_eq(log_replay_segment_at(&replay, 2)->first_batch_position, LOG_POSITION_NONE);
    log_replay_deinit(&replay);
}

Test(log_replay, replay_begins_where_the_anchor_says)
{
    add_batch(1, SEGMENT_ROOM + 100);
    world.sequence = 0;
    world.anchor.start_segment = 2;
    world.anchor.start_position = world.next;
    world.anchor.synced_position = world.next;
    add_batch(2, 10);
    expect_end(world.next, 2);
}

Test(log_replay, every_damaged_bit_is_a_torn_end_last_and_corruption_before)
{
    add_batch(1, 20);
    uint64_t second = add_batch(1, 20);
    uint64_t third = add_batch(1, 20);
    for (uint64_t bit = second * 8; bit < third * 8; bit++) {
        *stream_at(bit / 8) ^= (uint8_t)(1 << bit % 8);
        expect_corrupt(second, 1);
        *stream_at(bit / 8) ^= (uint8_t)(1 << bit % 8);
    }
    for (uint64_t bit = third * 8; bit < world.next * 8; bit++) {
        *stream_at(bit / 8) ^= (uint8_t)(1 << bit % 8);
        struct log_replay_output end = expect_end(third, 2);
        bool header_whole = bit / 8 >= third + LOG_BATCH_HEADER_BYTES;
        cr_assert_eq(end.torn_bytes, header_whole ? world.next - third : 0);
        *stream_at(bit / 8) ^= (uint8_t)(1 << bit % 8);
    }
}

Test(log_replay, a_later_header_is_proof_whatever_became_of_its_payload)
{
    uint64_t first = add_batch(1, 20);
    add_batch(1, 3000);
    memset(stream_at(first), 0, 64);
    memset(stream_at(world.next - 500), 0xff, 500);
    expect_corrupt(first, 0);
}

Test(log_replay, proof_is_found_in_later_segments)
{
    add_batch(1, 20);
    uint64_t bad = add_batch(1, 3 * SEGMENT_ROOM);
    add_batch(1, 20);
    memset(stream_at(bad), 0, SEGMENT_ROOM); /* a whole segment's worth lost */
    expect_corrupt(bad, 1);
}

Test(log_replay, the_hint_and_the_anchor_prove)
{
    add_batch(1, 20);
    uint64_t bad = add_batch(1, 20);
    memset(stream_at(bad), 0, 64);
    world.hint = bad;
    expect_end(bad, 1);
    world.hint = bad + 1;
    expect_corrupt(bad, 1);
    world.hint = 0;
    world.anchor.synced_position = bad + 8;
    expect_corrupt(bad, 1);
}

Test(log_replay, segments_missing_at_the_end_are_noticed_where_something_proves_them)
{
    uint64_t end = LOG_POSITION_FIRST + SEGMENT_ROOM;
    size_t overhead = LOG_BATCH_HEADER_BYTES + 24;
    add_batch(1, SEGMENT_ROOM - overhead);
    cr_assert_leq(world.next, end);
    while (world.next < end) { /* fill up to the boundary exactly */
        begin();
        overhead--;
        add_batch(1, SEGMENT_ROOM - overhead);
    }
    cr_assert_eq(world.next, end);
    add_batch(1, 100);
    world.segment_count = 1;
    expect_end(end, 1);
    world.hint = end + 100;
    cr_assert_not_null(strstr(expect_corrupt(end, 1).reason, "missing"));
}

/* It was not begun before the segment was there. */
Test(log_replay, a_batch_that_goes_beyond_the_last_segment_shows_that_one_is_missing)
{
    add_batch(1, 20);
    uint64_t large = add_batch(1, 3 * SEGMENT_ROOM);
    world.segment_count = 2;
    struct outcome outcome = replay_once();
    cr_assert_eq(outcome.event, LOG_REPLAY_CORRUPT);
    cr_assert_eq(outcome.output.position, large);
    cr_assert_eq(outcome.records, 1);
    cr_assert_not_null(strstr(outcome.output.reason, "missing"));
}

Test(log_replay, segments_must_follow_each_other)
{
    struct log_replay replay;
    struct error error = {0};
    log_replay_init(&replay, &world.anchor, 0);
    cr_assert_eq(log_replay_add_segment(&replay, 2, &world.segments[1], &error), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, "segment 1 is missing"), "%s", error.text);
    cr_assert_eq(log_replay_add_segment(&replay, 1, &world.segments[0], &error), STATUS_OK);
    cr_assert_eq(log_replay_add_segment(&replay, 3, &world.segments[2], &error), STATUS_CORRUPT);
    cr_assert_eq(log_replay_add_segment(&replay, 2, &world.segments[2], &error), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, "says that it is segment 3"), "%s", error.text);
    world.segments[1].first_position += 8;
    cr_assert_eq(log_replay_add_segment(&replay, 2, &world.segments[1], &error), STATUS_CORRUPT);
    log_replay_deinit(&replay);
}

Test(log_replay, old_batches_of_a_recycled_segment_are_nothing)
{
    /* The segment's earlier life: same positions even, but another generation. */
    world.segments[0].generation = 77;
    add_batch(1, 20);
    add_batch(1, 20);
    world.segments[0].generation = 1;
    expect_end(LOG_POSITION_FIRST, 0);
    /* Or another salt. */
    begin();
    add_batch(1, 20);
    add_batch(1, 20);
    world.segments[0].salt++;
    expect_end(LOG_POSITION_FIRST, 0);
}

Test(log_replay, batches_of_an_older_epoch_are_neither_replayed_nor_proof)
{
    add_batch(1, 20);
    uint64_t cut = add_batch(1, 20);
    add_batch(1, 20);
    /* A new epoch began at the cut, and nothing was written yet. */
    world.anchor.epoch = 2;
    world.anchor.epoch_position = cut;
    world.anchor.synced_position = cut;
    expect_end(cut, 1);
    /* The first batch of the new epoch is torn; the third of the old one is no proof. */
    *stream_at(cut) ^= 1;
    expect_end(cut, 1);
    /* It is whole: the old one, which follows directly, is not replayed after it. */
    uint64_t end = world.next;
    world.next = cut;
    world.epoch = 2;
    world.sequence = 1;
    add_batch(1, 20);
    cr_assert_lt(world.next, end);
    expect_end(world.next, 2);
}

Test(log_replay, a_later_epoch_than_the_anchors_is_taken)
{
    /* As when the newer slot of the anchor has rotted. */
    add_batch(1, 20);
    world.epoch = 2;
    add_batch(1, 20);
    expect_end(world.next, 2);
    world.epoch = 1;
    uint64_t older = add_batch(1, 20);
    expect_end(older, 2);
}

Test(log_replay, the_image_of_a_batch_in_a_value_proves_nothing)
{
    uint64_t bad = add_batch(1, 20);
    *stream_at(bad) ^= 1;
    /* A forged header for each place behind: right position and checksum, but no seed. */
    for (uint64_t position = world.next; position < world.next + 4000;
         position += LOG_BATCH_HEADER_BYTES) {
        struct log_batch_header header = {
            .position = position, .synced_position = position, .epoch = 1};
        log_batch_header_encode(&header, log_batch_seed(0, 1, position), stream_at(position));
    }
    expect_end(bad, 0);
}

static void expect_bad_payload(uint32_t record_count, const uint8_t *payload, size_t size)
{
    begin();
    struct buffer buffer = BUFFER_INIT;
    buffer_append(&buffer, payload, size);
    uint64_t position = add_payload(&buffer, record_count, 0);
    struct outcome outcome = replay_once();
    cr_assert_eq(outcome.event, LOG_REPLAY_CORRUPT);
    cr_assert_eq(outcome.output.position, position);
}

Test(log_replay, a_whole_batch_that_does_not_decode_is_corrupt)
{
    uint8_t record[32] = {1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 6, 7};
    expect_bad_payload(1, record, 16); /* its payload goes beyond the batch */
    expect_bad_payload(2, record, 24); /* one record, not two */
    expect_bad_payload(1, record, 32); /* more than padding is left over */
    record[23] = 1;
    expect_bad_payload(1, record, 24); /* padding is zero */
}

Test(log_replay, without_memory_it_says_so_wherever_it_happens)
{
    add_batch(1, 2 * SEGMENT_ROOM);
    add_batch(1, 20);
    for (uint64_t n = 0;; n++) {
        struct log_replay replay;
        memory_fail_arm(n, 1);
        struct outcome outcome = replay_world(&replay);
        memory_fail_disarm();
        log_replay_deinit(&replay);
        if (outcome.event == LOG_REPLAY_END) {
            cr_assert_gt(n, 1);
            return;
        }
        cr_assert_eq(outcome.event, LOG_REPLAY_NO_MEMORY);
    }
}

/* What must come out of a random log with one damaged byte, said by someone who knows where. */
Test(log_replay, random_logs_with_one_damaged_byte)
{
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct prng prng = prng_of_seed(seed);
        begin();
        uint64_t records_before[BATCHES_MAX];
        size_t count = 1 + prng_below(&prng, 12);
        for (size_t i = 0; i < count; i++) {
            records_before[i] = world.sequence;
            world.epoch += prng_chance(&prng, 4) ? 1 : 0;
            add_batch(1 + (uint32_t)prng_below(&prng, 4), prng_below(&prng, 900));
        }
        size_t victim = prng_below(&prng, count);
        uint64_t end = victim + 1 < count ? world.batches[victim + 1] : world.next;
        uint64_t at = world.batches[victim] + prng_below(&prng, end - world.batches[victim]);
        *stream_at(at) ^= (uint8_t)(1 + prng_below(&prng, 255));
        if (victim + 1 < count) {
            expect_corrupt(world.batches[victim], records_before[victim]);
        } else {
            expect_end(world.batches[victim], records_before[victim]);
        }
    }
}

/* Batches of replicas' messages: what is encoded comes back, whatever the type; damage is harmless. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/memory.h"
#include "common/base/prng.h"
#include "common/wire/message_parts.h"
#include "common/wire/writer.h"
#include "tabletserver/replica/replica_message.h"

#define ITEMS_MAX 64

static struct replica_configuration random_configuration(struct prng *prng)
{
    struct replica_configuration configuration = {
        .version = 1 + prng_next(prng) % 1000,
        .member_count = 1 + (uint32_t)(prng_next(prng) % REPLICA_MEMBERS_MAX)};
    configuration.leader = (uint32_t)(prng_next(prng) % configuration.member_count);
    for (uint32_t i = 0; i < configuration.member_count; i++) {
        configuration.members[i] = (struct replica_member){.server = 3 + i * 2, .store = 90 - i};
    }
    return configuration;
}

static struct replica_entry random_entry(struct prng *prng, uint8_t *room, size_t room_bytes)
{
    size_t size_bytes = prng_next(prng) % room_bytes;
    for (size_t i = 0; i < size_bytes; i++) {
        room[i] = (uint8_t)prng_next(prng);
    }
    return (struct replica_entry){
        .sequence = prng_next(prng),
        .version = prng_next(prng) % 9,
        .stamp = {prng_next(prng), (uint32_t)prng_next(prng), (uint32_t)prng_next(prng)},
        .type = (uint8_t)prng_next(prng),
        .barrier = (enum replica_barrier)(prng_next(prng) % 4),
        .lifts = prng_next(prng) % 2 == 0,
        .payload = bytes_of(room, size_bytes)};
}

static enum replica_will random_will(struct prng *prng)
{
    return (enum replica_will)(prng_next(prng) % (REPLICA_WILL_NOT + 1));
}

/* What a type of message has, besides type, version and incarnation. */
enum field {
    SEQUENCE = 1 << 0,
    COMMITTED = 1 << 1,
    PREVIOUS = 1 << 2,
    OPENER = 1 << 3,
    APPENDED = 1 << 4,
    GAP = 1 << 5,
    AS_LEARNER = 1 << 6,
    ASKS = 1 << 7,
    WILL = 1 << 8,
    LESSON = 1 << 9,
    NUMBER = 1 << 10,
    LAST = 1 << 11,
    CONFIGURATION = 1 << 12,
    ENTRY = 1 << 13,
    CONTENT = 1 << 14,
    RANGE = 1 << 15,
    DIGEST = 1 << 16,
};

static const uint32_t fields_of[] = {
    [REPLICA_OPEN] = SEQUENCE | COMMITTED | PREVIOUS | APPENDED | AS_LEARNER | CONFIGURATION,
    [REPLICA_OPENED] = SEQUENCE | COMMITTED | PREVIOUS | OPENER | AS_LEARNER | WILL,
    [REPLICA_REFUSED] = SEQUENCE | COMMITTED | PREVIOUS | OPENER | GAP,
    [REPLICA_PREPARE] = COMMITTED | PREVIOUS | OPENER | ENTRY,
    [REPLICA_PREPARED] = SEQUENCE | OPENER | APPENDED | GAP | WILL,
    [REPLICA_COMMITTED] = SEQUENCE | OPENER | ASKS,
    [REPLICA_YIELD] = SEQUENCE,
    [REPLICA_BEHIND] = 0,
    [REPLICA_DAMAGED] = OPENER,
    [REPLICA_LESSON] = SEQUENCE | OPENER | LESSON,
    [REPLICA_TEACH] = SEQUENCE | COMMITTED | OPENER | LESSON | NUMBER,
    [REPLICA_SLICE] = SEQUENCE | OPENER | LESSON | NUMBER | LAST | CONTENT,
    [REPLICA_LEARNED] = SEQUENCE | OPENER | LESSON,
    [REPLICA_DIGEST] = SEQUENCE | NUMBER | RANGE,
    [REPLICA_DIGESTED] = OPENER | NUMBER | DIGEST,
    [REPLICA_DIFFERS] = NUMBER,
};

static uint64_t number_if(struct prng *prng, bool has)
{
    return has ? prng_next(prng) : 0;
}

static bool flag_if(struct prng *prng, bool has)
{
    return has && prng_next(prng) % 2 == 0;
}

static struct bytes random_bytes(struct prng *prng, uint8_t *room, size_t room_bytes)
{
    return random_entry(prng, room, room_bytes).payload;
}

static struct replica_digest_range random_range(struct prng *prng, uint8_t *room, size_t room_bytes)
{
    return (struct replica_digest_range){.schema_version = prng_next(prng),
                                         .now_us = (int64_t)prng_next(prng),
                                         .bytes_max = prng_next(prng),
                                         .after = random_bytes(prng, room, room_bytes)};
}

static struct replica_digest random_digest(struct prng *prng, uint8_t *room, size_t room_bytes)
{
    return (struct replica_digest){.missed = prng_next(prng) % 2 == 0,
                                   .halves = {prng_next(prng), prng_next(prng)},
                                   .is_end = prng_next(prng) % 2 == 0,
                                   .last = random_bytes(prng, room, room_bytes)};
}

/* Every field that the type has is random, and the others zero, as the contract says. */
static struct replica_message random_message(struct prng *prng, uint8_t *room, size_t room_bytes)
{
    enum replica_message_type type = REPLICA_OPEN + prng_next(prng) % REPLICA_REFUSED;
    uint32_t has = fields_of[type];
    struct replica_message message = {
        .type = type,
        .version = prng_next(prng),
        .incarnation = 77,
        .sequence = number_if(prng, has & SEQUENCE),
        .committed = number_if(prng, has & COMMITTED),
        .previous_version = number_if(prng, has & PREVIOUS),
        .opener = number_if(prng, has & OPENER),
        .appended = number_if(prng, has & APPENDED),
        .lesson = number_if(prng, has & LESSON),
        .number = number_if(prng, has & NUMBER),
        .gap = flag_if(prng, has & GAP),
        .as_learner = flag_if(prng, has & AS_LEARNER),
        .asks = flag_if(prng, has & ASKS),
        .last = flag_if(prng, has & LAST),
    };
    if (has & WILL) {
        message.will = random_will(prng);
    }
    if (has & CONFIGURATION) {
        message.configuration = random_configuration(prng);
    }
    if (has & ENTRY) {
        message.entry = random_entry(prng, room, room_bytes);
    }
    if (has & CONTENT) {
        message.content = random_bytes(prng, room, room_bytes);
    }
    if (has & RANGE) {
        message.range = random_range(prng, room, room_bytes);
    }
    if (has & DIGEST) {
        message.digest = random_digest(prng, room, room_bytes);
    }
    return message;
}

static void assert_same(const struct replica_message *a, const struct replica_message *b)
{
    cr_assert_eq(a->type, b->type);
    cr_assert_eq(a->version, b->version);
    cr_assert_eq(a->incarnation, b->incarnation);
    cr_assert_eq(a->sequence, b->sequence);
    cr_assert_eq(a->committed, b->committed);
    cr_assert_eq(a->previous_version, b->previous_version);
    cr_assert_eq(a->opener, b->opener);
    cr_assert_eq(a->appended, b->appended);
    cr_assert_eq(a->gap, b->gap);
    cr_assert_eq(a->as_learner, b->as_learner);
    cr_assert_eq(a->asks, b->asks);
    cr_assert_eq(a->will, b->will);
    cr_assert(replica_configuration_equal(&a->configuration, &b->configuration));
    cr_assert_eq(a->entry.sequence, b->entry.sequence);
    cr_assert_eq(a->entry.version, b->entry.version);
    cr_assert_eq(stamp_compare(a->entry.stamp, b->entry.stamp), 0);
    cr_assert_eq(a->entry.type, b->entry.type);
    cr_assert_eq(a->entry.barrier, b->entry.barrier);
    cr_assert_eq(a->entry.lifts, b->entry.lifts);
    cr_assert(bytes_equal(a->entry.payload, b->entry.payload));
    cr_assert_eq(a->lesson, b->lesson);
    cr_assert_eq(a->number, b->number);
    cr_assert_eq(a->last, b->last);
    cr_assert(bytes_equal(a->content, b->content));
    cr_assert_eq(a->range.schema_version, b->range.schema_version);
    cr_assert_eq(a->range.now_us, b->range.now_us);
    cr_assert_eq(a->range.bytes_max, b->range.bytes_max);
    cr_assert(bytes_equal(a->range.after, b->range.after));
    cr_assert_eq(a->digest.missed, b->digest.missed);
    cr_assert_eq(a->digest.halves[0], b->digest.halves[0]);
    cr_assert_eq(a->digest.halves[1], b->digest.halves[1]);
    cr_assert_eq(a->digest.is_end, b->digest.is_end);
    cr_assert(bytes_equal(a->digest.last, b->digest.last));
}

static const struct replica_batch_head HEAD = {
    .from = {.server = 5, .store = 6}, .incarnation = 77, .to_store = 8};

Test(replica_message, batches_come_back)
{
    struct prng prng = prng_of_seed(1);
    struct arena arena;
    arena_init(&arena, 4096, 1 << 24);
    for (int round = 0; round < 500; round++) {
        static uint8_t rooms[ITEMS_MAX][300];
        struct replica_item items[ITEMS_MAX];
        struct replica_batch batch;
        struct buffer out = BUFFER_INIT;
        struct error error = {.status = STATUS_OK};
        size_t count = prng_next(&prng) % ITEMS_MAX;
        replica_batch_begin(&HEAD, &out);
        for (size_t i = 0; i < count; i++) {
            items[i].tablet = prng_next(&prng);
            items[i].message = random_message(&prng, rooms[i], sizeof rooms[i]);
            size_t before = out.size_bytes;
            replica_batch_add(items[i].tablet, &items[i].message, &out);
            cr_assert_leq(out.size_bytes - before, replica_item_bytes_max(&items[i].message));
        }
        arena_reset(&arena);
        cr_assert_eq(replica_batch_decode(buffer_bytes(&out), &arena, &batch, &error), STATUS_OK,
                     "%s", error.text);
        cr_assert_eq(memcmp(&batch.head, &HEAD, sizeof HEAD), 0);
        cr_assert_eq(batch.item_count, count);
        for (size_t i = 0; i < count; i++) {
            cr_assert_eq(batch.items[i].tablet, items[i].tablet);
            assert_same(&batch.items[i].message, &items[i].message);
        }
        buffer_deinit(&out);
    }
    arena_deinit(&arena);
}

Test(replica_message, a_server_of_before_does_not_say_whether_it_would_lead)
{
    struct arena arena;
    struct replica_batch batch;
    struct buffer out = BUFFER_INIT;
    arena_init(&arena, 4096, 1 << 20);
    replica_batch_begin(&HEAD, &out);
    wire_write_array(&out, 7);
    wire_write_u64(&out, 9);
    wire_write_u64(&out, REPLICA_PREPARED);
    for (uint64_t field = 2; field < 6; field++) { /* version, sequence, opener, appended */
        wire_write_u64(&out, field);
    }
    wire_write_bool(&out, true);
    cr_assert_eq(replica_batch_decode(buffer_bytes(&out), &arena, &batch, NULL), STATUS_OK);
    cr_assert_eq(batch.items[0].message.appended, 5);
    cr_assert_eq(batch.items[0].message.will, REPLICA_WILL_UNKNOWN);
    buffer_deinit(&out);
    arena_deinit(&arena);
}

Test(replica_message, a_server_of_before_does_not_say_how_far_its_log_goes_when_it_opens)
{
    static const struct replica_configuration ALONE = {
        .version = 2, .member_count = 1, .members = {{1, 11}}};
    struct arena arena;
    struct replica_batch batch;
    struct buffer out = BUFFER_INIT;
    arena_init(&arena, 4096, 1 << 20);
    replica_batch_begin(&HEAD, &out);
    wire_write_array(&out, 8);
    wire_write_u64(&out, 9);
    wire_write_u64(&out, REPLICA_OPEN);
    for (uint64_t field = 2; field < 6;
         field++) { /* version, sequence, committed, previous_version */
        wire_write_u64(&out, field);
    }
    wire_write_bool(&out, false);
    wire_write_configuration(&out, &ALONE);
    cr_assert_eq(replica_batch_decode(buffer_bytes(&out), &arena, &batch, NULL), STATUS_OK);
    cr_assert_eq(batch.items[0].message.previous_version, 5);
    cr_assert_eq(batch.items[0].message.appended, UINT64_MAX);
    buffer_deinit(&out);
    arena_deinit(&arena);
}

Test(replica_message, damage_is_harmless)
{
    struct prng prng = prng_of_seed(2);
    static uint8_t room[40];
    struct arena arena;
    struct replica_batch batch;
    struct buffer out = BUFFER_INIT;
    arena_init(&arena, 4096, 1 << 20);
    replica_batch_begin(&HEAD, &out);
    for (int i = 0; i < 12; i++) {
        struct replica_message message = random_message(&prng, room, sizeof room);
        replica_batch_add(9, &message, &out);
    }
    for (size_t size = 0; size < out.size_bytes; size++) {
        uint8_t *copy = memory_allocate(size + 1);
        memcpy(copy, out.data, size);
        arena_reset(&arena);
        (void)replica_batch_decode(bytes_of(copy, size), &arena, &batch, NULL);
        memory_free(copy);
    }
    for (size_t at = 0; at < out.size_bytes; at++) {
        for (unsigned value = 0; value < 256; value += 5) {
            uint8_t before = out.data[at];
            out.data[at] = (uint8_t)value;
            arena_reset(&arena);
            if (replica_batch_decode(buffer_bytes(&out), &arena, &batch, NULL) == STATUS_OK) {
                for (size_t i = 0; i < batch.item_count; i++) {
                    const struct replica_message *message = &batch.items[i].message;
                    cr_assert(message->type >= REPLICA_OPEN && message->type <= REPLICA_REFUSED);
                    cr_assert(message->type != REPLICA_OPEN ||
                              replica_configuration_is_sound(&message->configuration));
                }
            }
            out.data[at] = before;
        }
    }
    buffer_deinit(&out);
    arena_deinit(&arena);
}

Test(replica_message, what_cannot_be_is_refused_by_name)
{
    struct arena arena;
    struct replica_batch batch;
    struct buffer out = BUFFER_INIT;
    struct error error = {.status = STATUS_OK};
    arena_init(&arena, 4096, 1 << 20);
    replica_batch_begin(&HEAD, &out);
    wire_write_array(&out, 3);
    wire_write_u64(&out, 1);
    wire_write_u64(&out, REPLICA_REFUSED + 1);
    wire_write_u64(&out, 1);
    cr_assert_eq(replica_batch_decode(buffer_bytes(&out), &arena, &batch, &error),
                 STATUS_MALFORMED);
    cr_assert_not_null(strstr(error.text, "replicate.type"), "%s", error.text);
    buffer_reset(&out);
    arena_reset(&arena);
    replica_batch_begin(&HEAD, &out);
    replica_batch_add(1, &(struct replica_message){.type = REPLICA_OPEN, .version = 4}, &out);
    cr_assert_eq(replica_batch_decode(buffer_bytes(&out), &arena, &batch, &error),
                 STATUS_MALFORMED);
    cr_assert_not_null(strstr(error.text, "replicate.configuration"), "%s", error.text);

    static const uint8_t row[LIMIT_ROW_KEY_BYTES + 1];
    struct replica_message message = {.type = REPLICA_DIGEST, .version = 4};
    message.range.after = bytes_of(row, sizeof row);
    buffer_reset(&out);
    arena_reset(&arena);
    replica_batch_begin(&HEAD, &out);
    replica_batch_add(1, &message, &out);
    cr_assert_eq(replica_batch_decode(buffer_bytes(&out), &arena, &batch, &error),
                 STATUS_MALFORMED);
    cr_assert_not_null(strstr(error.text, "replicate.range.after"), "%s", error.text);
    buffer_deinit(&out);
    arena_deinit(&arena);
}

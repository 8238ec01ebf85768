#include <criterion/criterion.h>

#include "common/base/prng.h"
#include "common/io/transport/transport_inbox.h"

#define SEEDS    200
#define MESSAGES 60
#define METHOD   7

/* What has come out, and what the owner says. */
struct owner {
    struct inbox *greeted; /* the first message is its handshake; NULL: there is none */
    struct prng *prng;     /* NULL: it never wants a pause */
    struct buffer came;    /* request, size and bytes of each */
    uint32_t count;
};

static void note(struct buffer *into, uint64_t request, struct bytes payload)
{
    buffer_append(into, &request, sizeof request);
    buffer_append(into, &payload.size_bytes, sizeof payload.size_bytes);
    buffer_append_bytes(into, payload);
}

static enum status on_message(void *context,
                              const struct stream_message *message,
                              struct error *ret_error)
{
    struct owner *owner = context;
    (void)ret_error;
    cr_assert_eq(message->type, FRAME_RESPONSE);
    cr_assert_eq(message->method, METHOD);
    note(&owner->came, message->request, message->payload);
    owner->count++;
    if (owner->greeted != NULL) {
        owner->greeted->in_handshake = false;
    }
    return STATUS_OK;
}

static bool wants_pause(void *context)
{
    struct owner *owner = context;
    return owner->prng != NULL && prng_chance(owner->prng, 3);
}

static const struct inbox_events EVENTS = {.on_message = on_message, .wants_pause = wants_pause};

static void put_frame(struct buffer *wire, uint64_t request, uint8_t flags, struct bytes payload)
{
    const struct frame_header header = {.payload_bytes = (uint32_t)payload.size_bytes,
                                        .type = FRAME_RESPONSE,
                                        .flags = flags,
                                        .method = METHOD,
                                        .request = request};
    uint8_t head[FRAME_HEADER_BYTES];
    frame_header_encode(&header, payload, head);
    buffer_append(wire, head, sizeof head);
    buffer_append_bytes(wire, payload);
}

static struct bytes random_bytes(struct prng *prng, struct buffer *scratch, size_t size_bytes)
{
    buffer_reset(scratch);
    for (size_t i = 0; i < size_bytes; i++) {
        buffer_append_u8(scratch, (uint8_t)prng_next(prng));
    }
    return buffer_bytes(scratch);
}

/* Messages of all sizes, some in parts, with whole ones of other requests between these. */
static void put_messages(struct prng *prng, struct buffer *wire, struct buffer *wanted)
{
    struct buffer scratch = BUFFER_INIT;
    struct buffer parts = BUFFER_INIT;
    for (uint64_t request = 1; request <= MESSAGES; request++) {
        uint64_t part_count = prng_chance(prng, 4) ? 1 + prng_below(prng, 5) : 1;
        buffer_reset(&parts);
        for (uint64_t i = 0; i < part_count; i++) {
            size_t most = prng_chance(prng, 10) ? 3 * INBOX_BYTES : 300;
            struct bytes part = random_bytes(prng, &scratch, prng_below(prng, most));
            buffer_append_bytes(&parts, part);
            put_frame(wire, request, i + 1 < part_count ? FRAME_FLAG_MORE : 0, part);
            if (i + 1 < part_count && prng_chance(prng, 2)) {
                struct bytes whole = random_bytes(prng, &scratch, prng_below(prng, 100));
                put_frame(wire, request + MESSAGES, 0, whole);
                note(wanted, request + MESSAGES, whole);
            }
        }
        note(wanted, request, buffer_bytes(&parts));
    }
    buffer_deinit(&parts);
    buffer_deinit(&scratch);
}

/* As a socket gives it: in pieces of any size.  What it came to is that of the last piece. */
static enum inbox_progress feed(struct prng *prng,
                                struct inbox *inbox,
                                struct bytes wire,
                                struct error *ret_error)
{
    enum inbox_progress progress = INBOX_MORE;
    for (size_t at = 0; at < wire.size_bytes && progress == INBOX_MORE;) {
        size_t room = inbox_room(inbox);
        cr_assert_gt(room, 0);
        size_t most = prng_chance(prng, 2) ? room : 1 + prng_below(prng, 40);
        size_t piece = most < room ? most : room;
        piece = piece < wire.size_bytes - at ? piece : wire.size_bytes - at;
        memcpy(inbox->data + inbox->end, wire.data + at, piece);
        inbox_filled(inbox, piece);
        at += piece;
        do {
            progress = inbox_take(inbox, ret_error);
        } while (progress == INBOX_PAUSE); /* what is whole is still to be handed out */
    }
    return progress;
}

Test(transport_inbox, messages_come_out_as_they_went_in_whatever_the_pieces)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct prng prng = prng_of_seed(seed);
        struct buffer wire = BUFFER_INIT;
        struct buffer wanted = BUFFER_INIT;
        struct owner owner = {.prng = &prng, .came = BUFFER_INIT};
        struct inbox inbox;
        struct error error = {0};
        put_messages(&prng, &wire, &wanted);
        cr_assert_eq(inbox_init(&inbox, &EVENTS, &owner), STATUS_OK);
        cr_assert_eq(feed(&prng, &inbox, buffer_bytes(&wire), &error), INBOX_MORE, "seed %d: %s",
                     (int)seed, error.text);
        cr_assert(bytes_equal(buffer_bytes(&owner.came), buffer_bytes(&wanted)), "seed %d",
                  (int)seed);
        cr_assert_eq(inbox.capacity_bytes, INBOX_BYTES, "what a large frame took is given back");
        inbox_deinit(&inbox);
        buffer_deinit(&owner.came);
        buffer_deinit(&wanted);
        buffer_deinit(&wire);
    }
}

/* Whatever bit is wrong, nothing comes out of that frame. */
Test(transport_inbox, a_flipped_bit_ends_it)
{
    struct prng prng = prng_of_seed(1);
    struct buffer wire = BUFFER_INIT;
    put_frame(&wire, 1, 0, bytes_of_text("first"));
    size_t first_bytes = wire.size_bytes;
    put_frame(&wire, 2, 0, bytes_of_text("second"));
    for (size_t bit = first_bytes * 8; bit < wire.size_bytes * 8; bit++) {
        struct owner owner = {.came = BUFFER_INIT};
        struct inbox inbox;
        struct error error = {0};
        wire.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        cr_assert_eq(inbox_init(&inbox, &EVENTS, &owner), STATUS_OK);
        enum inbox_progress progress = feed(&prng, &inbox, buffer_bytes(&wire), &error);
        bool waits = progress == INBOX_MORE; /* for a frame that is said to be larger */
        cr_assert(progress == INBOX_FAILED || (waits && bit < first_bytes * 8 + 32), "bit %zu",
                  bit);
        cr_assert(waits || error.status == STATUS_MALFORMED);
        cr_assert_eq(owner.count, 1, "bit %zu", bit);
        wire.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        inbox_deinit(&inbox);
        buffer_deinit(&owner.came);
    }
    buffer_deinit(&wire);
}

static void refuses(struct buffer *wire, bool in_handshake, const char *words)
{
    struct owner owner = {.came = BUFFER_INIT};
    struct inbox inbox;
    struct error error = {0};
    cr_assert_eq(inbox_init(&inbox, &EVENTS, &owner), STATUS_OK);
    cr_assert_leq(wire->size_bytes, inbox_room(&inbox));
    inbox.in_handshake = in_handshake;
    memcpy(inbox.data, wire->data, wire->size_bytes);
    inbox_filled(&inbox, wire->size_bytes);
    cr_assert_eq(inbox_take(&inbox, &error), words == NULL ? INBOX_MORE : INBOX_FAILED);
    cr_assert(words == NULL || strstr(error.text, words) != NULL, "%s", error.text);
    inbox_deinit(&inbox);
    buffer_deinit(&owner.came);
    buffer_deinit(wire);
}

Test(transport_inbox, one_message_in_parts_at_a_time)
{
    struct buffer wire = BUFFER_INIT;
    put_frame(&wire, 1, FRAME_FLAG_MORE, bytes_of_text("a"));
    put_frame(&wire, 2, FRAME_FLAG_MORE, bytes_of_text("b"));
    refuses(&wire, false, "a second message in parts");
}

Test(transport_inbox, before_the_handshake_frames_are_small_and_whole)
{
    static const uint8_t zeros[INBOX_HANDSHAKE_BYTES_MAX + 1];
    struct buffer wire = BUFFER_INIT;
    put_frame(&wire, 1, 0, bytes_of(zeros, INBOX_HANDSHAKE_BYTES_MAX));
    refuses(&wire, true, NULL);
    put_frame(&wire, 1, 0, bytes_of(zeros, INBOX_HANDSHAKE_BYTES_MAX + 1));
    refuses(&wire, true, "before the handshake");
    put_frame(&wire, 1, FRAME_FLAG_MORE, bytes_of(zeros, 1));
    refuses(&wire, true, "before the handshake");
}

/* It may come in one piece with what ends the handshake. */
Test(transport_inbox, right_behind_the_handshake_frames_are_as_large_as_any)
{
    static const uint8_t zeros[INBOX_HANDSHAKE_BYTES_MAX + 1];
    struct buffer wire = BUFFER_INIT;
    struct inbox inbox;
    struct owner owner = {.greeted = &inbox, .came = BUFFER_INIT};
    struct error error = {0};
    put_frame(&wire, 1, 0, bytes_of_text("hello"));
    put_frame(&wire, 2, 0, bytes_of(zeros, sizeof zeros));
    cr_assert_eq(inbox_init(&inbox, &EVENTS, &owner), STATUS_OK);
    inbox.in_handshake = true;
    memcpy(inbox.data, wire.data, wire.size_bytes);
    inbox_filled(&inbox, wire.size_bytes);
    cr_assert_eq(inbox_take(&inbox, &error), INBOX_MORE, "%s", error.text);
    cr_assert_eq(owner.count, 2);
    inbox_deinit(&inbox);
    buffer_deinit(&owner.came);
    buffer_deinit(&wire);
}

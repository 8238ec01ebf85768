#include <criterion/criterion.h>

#include <malloc.h>

#include "common/base/memory.h"
#include "common/base/prng.h"
#include "common/io/transport/transport_outbox.h"

#define REQUESTS 8

/* Message i of a request begins with the request and i; the rest repeats i. */
static struct outgoing *message_of(uint64_t request, uint8_t index, size_t size_bytes)
{
    struct buffer message = BUFFER_INIT;
    uint8_t *at = buffer_reserve(&message, size_bytes + 2);
    at[0] = (uint8_t)request;
    at[1] = index;
    memset(at + 2, index, size_bytes);
    buffer_advance(&message, size_bytes + 2);
    struct outgoing *outgoing = outgoing_create(FRAME_RESPONSE, request, &message);
    cr_assert(outgoing != NULL);
    return outgoing;
}

/* Append what would be sent: a random part of the batch's segments, as a socket takes it. */
static bool send_some(struct prng *prng, struct outbox *outbox, struct buffer *wire)
{
    size_t batch_bytes = 0;
    for (size_t i = outbox->segment_first; i < outbox->segment_count; i++) {
        batch_bytes += outbox->segments[i].size_bytes;
    }
    cr_assert_gt(batch_bytes, 0);
    size_t part_bytes = prng_chance(prng, 2) ? batch_bytes : 1 + prng_below(prng, batch_bytes);
    size_t left = part_bytes;
    for (size_t i = outbox->segment_first; left > 0; i++) {
        size_t size_bytes = outbox->segments[i].size_bytes;
        size_bytes = size_bytes < left ? size_bytes : left;
        buffer_append(wire, outbox->segments[i].data, size_bytes);
        left -= size_bytes;
    }
    return outbox_advance(outbox, part_bytes);
}

/* Takes the wire apart again; how many messages of each request came, in order and undamaged. */
struct receiver {
    uint8_t received[REQUESTS + 1];
    struct buffer partial;
    uint64_t partial_request;
};

static void take_message(struct receiver *receiver, uint64_t request, struct bytes message)
{
    uint8_t index = receiver->received[request]++;
    cr_assert_eq(message.data[0], request);
    cr_assert_eq(message.data[1], index, "request %d: %d came for %d", (int)request,
                 message.data[1], index);
    for (size_t i = 2; i < message.size_bytes; i++) {
        cr_assert_eq(message.data[i], index);
    }
}

static size_t take_frame(struct receiver *receiver, struct bytes wire)
{
    struct frame_header header;
    cr_assert_geq(wire.size_bytes, FRAME_HEADER_BYTES);
    cr_assert_eq(frame_header_decode(wire.data, &header, NULL), STATUS_OK);
    struct bytes payload = bytes_of(wire.data + FRAME_HEADER_BYTES, header.payload_bytes);
    cr_assert_eq(frame_check(wire.data, payload, NULL), STATUS_OK);
    bool more = (header.flags & FRAME_FLAG_MORE) != 0;
    if (receiver->partial_request == header.request || more) {
        cr_assert(receiver->partial_request == 0 || receiver->partial_request == header.request,
                  "one message in parts at a time");
        buffer_append_bytes(&receiver->partial, payload);
        receiver->partial_request = more ? header.request : 0;
        if (!more) {
            take_message(receiver, header.request, buffer_bytes(&receiver->partial));
            buffer_reset(&receiver->partial);
        }
    } else {
        take_message(receiver, header.request, payload);
    }
    return FRAME_HEADER_BYTES + header.payload_bytes;
}

static void take_all(struct receiver *receiver, struct buffer *wire)
{
    struct bytes left = buffer_bytes(wire);
    while (left.size_bytes > 0) {
        size_t frame_bytes = take_frame(receiver, left);
        left = bytes_of(left.data + frame_bytes, left.size_bytes - frame_bytes);
    }
    buffer_reset(wire);
}

Test(outbox, any_mixture_arrives_whole_and_in_order)
{
    static const size_t sizes[] = {0,     100,     OUTBOX_INLINE_MAX, TRANSPORT_SMALL_BYTES_MAX - 2,
                                   70000, 1 << 20, 2500000,           10};
    struct prng prng = prng_of_seed(5);
    struct buffer wire = BUFFER_INIT;
    for (int round = 0; round < 15; round++) {
        struct outbox outbox;
        struct receiver receiver = {0};
        uint8_t pushed[REQUESTS + 1] = {0};
        bool sending = false;
        cr_assert_eq(outbox_init(&outbox), STATUS_OK);
        outbox.open = true;
        for (int step = 0; step < 300 || sending; step++) {
            if (step < 150 && prng_chance(&prng, 2)) {
                uint64_t request = 1 + prng_below(&prng, REQUESTS);
                size_t size_bytes = sizes[prng_below(&prng, prng_chance(&prng, 4) ? 8 : 3)];
                outbox_push(&outbox, message_of(request, pushed[request]++, size_bytes));
            }
            sending = sending || outbox_prepare(&outbox);
            if (sending) {
                sending = !send_some(&prng, &outbox, &wire);
                sending = sending || outbox_prepare(&outbox);
            }
        }
        take_all(&receiver, &wire);
        cr_assert_arr_eq(receiver.received, pushed, sizeof pushed);
        cr_assert_eq(outbox.queued_bytes, 0);
        cr_assert(outbox.sending.head == NULL);
        outbox_deinit(&outbox);
        buffer_deinit(&receiver.partial);
    }
    buffer_deinit(&wire);
}

/* Batches until the message of this request has left. */
static unsigned batches_until(struct outbox *outbox, uint64_t request, uint64_t flood_request)
{
    struct prng prng = prng_of_seed(1);
    uint8_t flood = 0;
    for (unsigned batches = 1; batches < 1000; batches++) {
        for (int i = 0; i < 2000 && flood_request != 0; i++) {
            outbox_push(outbox, message_of(flood_request, flood++, 50));
        }
        cr_assert(outbox_prepare(outbox));
        struct buffer wire = BUFFER_INIT;
        while (!send_some(&prng, outbox, &wire)) {
        }
        bool left = false;
        for (size_t at = 0; at < wire.size_bytes;) {
            struct frame_header header;
            cr_assert_eq(frame_header_decode(wire.data + at, &header, NULL), STATUS_OK);
            left |= header.request == request && (header.flags & FRAME_FLAG_MORE) == 0;
            at += FRAME_HEADER_BYTES + header.payload_bytes;
        }
        buffer_deinit(&wire);
        if (left) {
            return batches;
        }
    }
    return 1000;
}

Test(outbox, neither_large_nor_small_starves)
{
    struct outbox outbox;
    cr_assert_eq(outbox_init(&outbox), STATUS_OK);
    outbox.open = true;
    outbox_push(&outbox, message_of(1, 0, 20 << 20));
    outbox_push(&outbox, message_of(2, 0, 10));
    cr_assert_eq(batches_until(&outbox, 2, 0), 1, "the small one leaves with the first batch");
    cr_assert_leq(batches_until(&outbox, 1, 3), 21, "the large one has a frame in every batch");
    outbox_deinit(&outbox);
}

Test(outbox, only_the_greeting_leaves_before_it_is_opened)
{
    struct outbox outbox;
    struct prng prng = prng_of_seed(1);
    struct buffer wire = BUFFER_INIT;
    cr_assert_eq(outbox_init(&outbox), STATUS_OK);
    outbox_push(&outbox, message_of(1, 0, 10));
    cr_assert(!outbox_prepare(&outbox));
    outbox_push_urgent(&outbox, message_of(2, 0, 10));
    cr_assert(outbox_prepare(&outbox));
    while (!send_some(&prng, &outbox, &wire)) {
    }
    cr_assert_eq(wire.size_bytes, FRAME_HEADER_BYTES + 12);
    cr_assert(!outbox_prepare(&outbox));
    outbox.open = true;
    cr_assert(outbox_prepare(&outbox));
    outbox_deinit(&outbox);
    buffer_deinit(&wire);
}

/* --- what is held ------------------------------------------------------------------------------- */

#define HEADER_BYTES 8 /* of the heap, before each piece */

/* A message of size_bytes, written into a buffer that grew as buffers do. */
static size_t push_and_weigh(struct outbox *outbox, size_t size_bytes)
{
    struct outgoing *outgoing = message_of(1, 0, size_bytes - 2);
    outbox_push(outbox, outgoing);
    return malloc_usable_size(outgoing) + malloc_usable_size(outgoing->message.data) +
           2 * HEADER_BYTES;
}

/* What a peer lets lie is bounded by what is counted here: that must be memory, not what is said. */
Test(outbox, memory_is_counted_and_not_the_bytes_of_messages)
{
    static const size_t sizes[] = {2, 60, 100, 4097, 70000, 131000, (1 << 20) + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct outbox outbox;
        size_t held_bytes = 0;
        cr_assert_eq(outbox_init(&outbox), STATUS_OK);
        for (int count = 0; count < 50; count++) {
            held_bytes += push_and_weigh(&outbox, sizes[i]);
        }
        cr_assert_leq(held_bytes, outbox.queued_bytes + outbox.queued_bytes / 50,
                      "messages of %zu bytes", sizes[i]);
        cr_assert_leq(outbox.queued_bytes, 50 * (sizes[i] + 4096 + 256),
                      "what a large buffer has not used is given back: %zu", sizes[i]);
        outbox_deinit(&outbox);
    }
}

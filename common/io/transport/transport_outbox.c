#include "common/io/transport/transport_outbox.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

/* The heap's own for each piece, at the least; outgoing and message are two. */
#define HEAP_PIECE_BYTES 16

/* What an outgoing message holds beside its bytes.  Of a refusal that is the larger part, and of
 * refusals there may be many. */
static uint64_t held_beside_bytes(const struct outgoing *outgoing)
{
    return sizeof *outgoing + 2 * HEAP_PIECE_BYTES + outgoing->message.capacity_bytes -
           outgoing->message.size_bytes;
}

struct outgoing *outgoing_create(enum frame_type type, uint64_t request, struct buffer *message)
{
    struct outgoing *outgoing = memory_allocate_zeroed(1, sizeof *outgoing);
    if (outgoing == NULL) {
        return NULL;
    }
    outgoing->type = type;
    outgoing->request = request;
    buffer_trim(message);
    outgoing->message = *message;
    *message = BUFFER_INIT;
    return outgoing;
}

void outgoing_destroy(struct outgoing *outgoing)
{
    buffer_deinit(&outgoing->message);
    memory_free(outgoing);
}

static void list_append(struct outgoing_list *list, struct outgoing *outgoing)
{
    outgoing->next = NULL;
    if (list->tail == NULL) {
        list->head = outgoing;
    } else {
        list->tail->next = outgoing;
    }
    list->tail = outgoing;
}

static struct outgoing *list_take(struct outgoing_list *list)
{
    struct outgoing *outgoing = list->head;
    list->head = outgoing->next;
    if (list->head == NULL) {
        list->tail = NULL;
    }
    return outgoing;
}

static void list_destroy(struct outgoing_list *list)
{
    while (list->head != NULL) {
        outgoing_destroy(list_take(list));
    }
}

enum status outbox_init(struct outbox *outbox)
{
    *outbox = (struct outbox){0};
    outbox->copies = memory_allocate(OUTBOX_COPY_BYTES);
    return outbox->copies == NULL ? STATUS_NO_MEMORY : STATUS_OK;
}

void outbox_deinit(struct outbox *outbox)
{
    list_destroy(&outbox->urgent);
    list_destroy(&outbox->small);
    list_destroy(&outbox->large);
    list_destroy(&outbox->sending);
    memory_free(outbox->copies);
    *outbox = (struct outbox){0};
}

static bool list_has(const struct outgoing_list *list, uint64_t request)
{
    for (const struct outgoing *at = list->head; at != NULL; at = at->next) {
        if (at->request == request) {
            return true;
        }
    }
    return false;
}

void outbox_push(struct outbox *outbox, struct outgoing *outgoing)
{
    bool small = outgoing->message.size_bytes <= TRANSPORT_SMALL_BYTES_MAX &&
                 !list_has(&outbox->large, outgoing->request);
    outbox->queued_bytes += outgoing->message.size_bytes + held_beside_bytes(outgoing);
    list_append(small ? &outbox->small : &outbox->large, outgoing);
}

void outbox_push_urgent(struct outbox *outbox, struct outgoing *outgoing)
{
    ASSERT(outgoing->message.size_bytes <= OUTBOX_INLINE_MAX);
    outbox->queued_bytes += outgoing->message.size_bytes + held_beside_bytes(outgoing);
    list_append(&outbox->urgent, outgoing);
}

/* size_bytes more of the block of copies belong to the batch. */
static void append_copied(struct outbox *outbox, size_t size_bytes)
{
    uint8_t *start = outbox->copies + outbox->copied_bytes;
    struct outbox_segment *last = &outbox->segments[outbox->segment_count];
    if (outbox->segment_count > 0 && last[-1].data + last[-1].size_bytes == start) {
        last[-1].size_bytes += size_bytes;
    } else {
        *last = (struct outbox_segment){start, size_bytes};
        outbox->segment_count++;
    }
    outbox->copied_bytes += size_bytes;
}

static size_t next_chunk_bytes(const struct outgoing *outgoing)
{
    size_t left = outgoing->message.size_bytes - outgoing->sent_bytes;
    return left < FRAME_PAYLOAD_BYTES_MAX ? left : FRAME_PAYLOAD_BYTES_MAX;
}

/* Is there room for a frame, and for `reserved` more of any size after it? */
static bool has_room(const struct outbox *outbox, size_t chunk_bytes, size_t reserved)
{
    size_t copied = chunk_bytes <= OUTBOX_INLINE_MAX ? chunk_bytes : 0;
    size_t reserved_bytes = reserved * (FRAME_HEADER_BYTES + OUTBOX_INLINE_MAX);
    return outbox->segment_count + 2 * (1 + reserved) <= OUTBOX_SEGMENTS_MAX &&
           outbox->copied_bytes + FRAME_HEADER_BYTES + copied + reserved_bytes <= OUTBOX_COPY_BYTES;
}

/* The message's next frame goes into the batch. */
static void add_frame(struct outbox *outbox, struct outgoing *outgoing, size_t chunk_bytes)
{
    uint8_t *chunk = outgoing->message.data == NULL ? NULL
                                                    : outgoing->message.data + outgoing->sent_bytes;
    bool more = outgoing->sent_bytes + chunk_bytes < outgoing->message.size_bytes;
    struct frame_header header = {
        .payload_bytes = (uint32_t)chunk_bytes,
        .type = outgoing->type,
        .flags = (uint8_t)((more ? FRAME_FLAG_MORE : 0) |
                           (outgoing->stream ? FRAME_FLAG_STREAM : 0)),
        .method = outgoing->method,
        .request = outgoing->request,
    };
    uint8_t *copy = outbox->copies + outbox->copied_bytes;
    frame_header_encode(&header, bytes_of(chunk, chunk_bytes), copy);
    if (chunk_bytes <= OUTBOX_INLINE_MAX) {
        if (chunk_bytes > 0) {
            memcpy(copy + FRAME_HEADER_BYTES, chunk, chunk_bytes);
        }
        append_copied(outbox, FRAME_HEADER_BYTES + chunk_bytes);
    } else {
        append_copied(outbox, FRAME_HEADER_BYTES);
        outbox->segments[outbox->segment_count++] = (struct outbox_segment){chunk, chunk_bytes};
    }
    outgoing->sent_bytes += chunk_bytes;
    outbox->batch_bytes += chunk_bytes + (more ? 0 : held_beside_bytes(outgoing));
}

/* Whole messages off the list, as long as there is room. */
static void add_messages(struct outbox *outbox, struct outgoing_list *list, size_t reserved)
{
    while (list->head != NULL && has_room(outbox, list->head->message.size_bytes, reserved)) {
        struct outgoing *outgoing = list_take(list);
        bool referred = outgoing->message.size_bytes > OUTBOX_INLINE_MAX;
        add_frame(outbox, outgoing, outgoing->message.size_bytes);
        if (referred) {
            list_append(&outbox->sending, outgoing);
        } else {
            outgoing_destroy(outgoing);
        }
    }
}

/* One frame of the first large message; but a message does not begin before small ones of its
 * request that were pushed earlier (later ones are in the large queue, behind it). */
static void add_fragment(struct outbox *outbox)
{
    struct outgoing *outgoing = outbox->large.head;
    if (outgoing->sent_bytes == 0 && list_has(&outbox->small, outgoing->request)) {
        return;
    }
    size_t chunk_bytes = next_chunk_bytes(outgoing);
    ASSERT(has_room(outbox, chunk_bytes, 0));
    add_frame(outbox, outgoing, chunk_bytes);
    if (outgoing->sent_bytes == outgoing->message.size_bytes) {
        list_append(&outbox->sending, list_take(&outbox->large));
    }
}

bool outbox_prepare(struct outbox *outbox)
{
    ASSERT(outbox->segment_first == outbox->segment_count);
    outbox->segment_first = 0;
    outbox->segment_count = 0;
    outbox->copied_bytes = 0;
    if (!outbox->open) {
        add_messages(outbox, &outbox->urgent, 0);
        return outbox->segment_count > 0;
    }
    /* However many small ones there are, the large one gets its frame. */
    size_t reserved = outbox->large.head == NULL ? 0 : 1;
    add_messages(outbox, &outbox->urgent, reserved);
    add_messages(outbox, &outbox->small, reserved);
    if (outbox->large.head != NULL) {
        add_fragment(outbox);
    }
    return outbox->segment_count > 0;
}

bool outbox_advance(struct outbox *outbox, size_t sent_bytes)
{
    size_t left = sent_bytes;
    while (left > 0) {
        ASSERT(outbox->segment_first < outbox->segment_count);
        struct outbox_segment *segment = &outbox->segments[outbox->segment_first];
        size_t part = left < segment->size_bytes ? left : segment->size_bytes;
        segment->data += part;
        segment->size_bytes -= part;
        left -= part;
        outbox->segment_first += segment->size_bytes == 0;
    }
    if (outbox->segment_first < outbox->segment_count) {
        return false;
    }
    ASSERT(outbox->batch_bytes <= outbox->queued_bytes);
    outbox->queued_bytes -= outbox->batch_bytes;
    outbox->batch_bytes = 0;
    list_destroy(&outbox->sending);
    return true;
}

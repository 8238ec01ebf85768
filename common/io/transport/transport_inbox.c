#include "common/io/transport/transport_inbox.h"

#include <string.h>

#include "common/base/limits.h"
#include "common/base/memory.h"
#include "common/io/transport/transport_budget.h"

enum status inbox_init(struct inbox *inbox, const struct inbox_events *events, void *owner)
{
    *inbox = (struct inbox){.events = events, .owner = owner, .capacity_bytes = INBOX_BYTES};
    inbox->data = memory_allocate(INBOX_BYTES);
    return inbox->data != NULL ? STATUS_OK : STATUS_NO_MEMORY;
}

static enum status malformed(struct error *ret_error, const char *text)
{
    return error_set(ret_error, STATUS_MALFORMED, "%s", text);
}

static void release_partial(struct inbox_partial *partial)
{
    transport_budget_release_unfinished(&partial->charged_bytes);
    partial->active = false;
    buffer_deinit(&partial->buffer);
}

void inbox_deinit(struct inbox *inbox)
{
    release_partial(&inbox->partial);
    memory_free(inbox->data);
}

/* A frame that begins or goes on with a message in parts; delivers it when it is whole. */
static enum status take_part(struct inbox *inbox,
                             const struct frame_header *header,
                             struct bytes payload,
                             struct error *ret_error)
{
    struct inbox_partial *partial = &inbox->partial;
    if (!partial->active) {
        partial->active = true;
        partial->type = header->type;
        partial->method = header->method;
        partial->request = header->request;
    } else if (partial->request != header->request || partial->type != header->type ||
               partial->method != header->method) {
        return malformed(ret_error, "a second message in parts before the first is whole");
    }
    if (payload.size_bytes > LIMIT_MESSAGE_BYTES - partial->buffer.size_bytes) {
        return error_set(ret_error, STATUS_MALFORMED, "message of more than %d bytes",
                         LIMIT_MESSAGE_BYTES);
    }
    if (!transport_budget_charge_unfinished(payload.size_bytes, &partial->charged_bytes)) {
        return error_set(ret_error, STATUS_RESOURCE_EXHAUSTED,
                         "unfinished messages hold too much memory; send it again later");
    }
    buffer_append_bytes(&partial->buffer, payload);
    if (partial->buffer.failed) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for a message of %zu bytes",
                         partial->buffer.size_bytes + payload.size_bytes);
    }
    if ((header->flags & FRAME_FLAG_MORE) != 0) {
        return STATUS_OK;
    }
    struct stream_message message = {
        .type = header->type,
        .method = header->method,
        .request = header->request,
        .stream = (header->flags & FRAME_FLAG_STREAM) != 0,
        .payload = buffer_bytes(&partial->buffer),
        .assembled = &partial->buffer,
    };
    enum status status = inbox->events->on_message(inbox->owner, &message, ret_error);
    release_partial(partial);
    return status;
}

static enum status take_frame(struct inbox *inbox,
                              const struct frame_header *header,
                              struct bytes payload,
                              struct error *ret_error)
{
    const struct inbox_partial *partial = &inbox->partial;
    bool continues = partial->active && partial->request == header->request &&
                     partial->type == header->type;
    if (continues || (header->flags & FRAME_FLAG_MORE) != 0) {
        return take_part(inbox, header, payload, ret_error);
    }
    struct stream_message message = {
        .type = header->type,
        .method = header->method,
        .request = header->request,
        .stream = (header->flags & FRAME_FLAG_STREAM) != 0,
        .payload = payload,
    };
    return inbox->events->on_message(inbox->owner, &message, ret_error);
}

/* Is the next frame there?  *ret_frame_bytes is its size, or what must be there to know it. */
static enum status peek_frame(const struct inbox *inbox,
                              struct frame_header *ret_header,
                              size_t *ret_frame_bytes,
                              bool *ret_whole,
                              struct error *ret_error)
{
    size_t there = inbox->end - inbox->start;
    *ret_frame_bytes = FRAME_HEADER_BYTES;
    *ret_whole = false;
    if (there < FRAME_HEADER_BYTES) {
        return STATUS_OK;
    }
    const uint8_t *at = inbox->data + inbox->start;
    enum status status = frame_header_decode(at, ret_header, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    if (inbox->in_handshake && (ret_header->payload_bytes > INBOX_HANDSHAKE_BYTES_MAX ||
                                (ret_header->flags & FRAME_FLAG_MORE) != 0)) {
        return malformed(ret_error, "too large a frame before the handshake");
    }
    *ret_frame_bytes = FRAME_HEADER_BYTES + ret_header->payload_bytes;
    *ret_whole = there >= *ret_frame_bytes;
    return STATUS_OK;
}

/* Room for the rest of a frame of frame_bytes: move, grow, or shrink again. */
static enum status make_room(struct inbox *inbox, size_t frame_bytes, struct error *ret_error)
{
    size_t there = inbox->end - inbox->start;
    if (inbox->start > 0 && there > 0) {
        memmove(inbox->data, inbox->data + inbox->start, there);
    }
    inbox->start = 0;
    inbox->end = there;
    size_t wanted = frame_bytes > INBOX_BYTES ? frame_bytes : INBOX_BYTES;
    bool shrink = there == 0 && !inbox->partial.active && wanted < inbox->capacity_bytes;
    if (wanted <= inbox->capacity_bytes && !shrink) {
        return STATUS_OK;
    }
    uint8_t *in = memory_resize(inbox->data, wanted);
    if (in != NULL) {
        inbox->data = in;
        inbox->capacity_bytes = wanted;
    } else if (!shrink) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for a frame of %zu bytes", wanted);
    }
    return STATUS_OK;
}

enum inbox_progress inbox_take(struct inbox *inbox, struct error *ret_error)
{
    for (;;) {
        struct frame_header header;
        size_t frame_bytes = 0;
        bool whole = false;
        enum status status = peek_frame(inbox, &header, &frame_bytes, &whole, ret_error);
        if (status == STATUS_OK && !whole) {
            status = make_room(inbox, frame_bytes, ret_error);
            return status == STATUS_OK ? INBOX_MORE : INBOX_FAILED;
        }
        const uint8_t *at = inbox->data + inbox->start;
        struct bytes payload = bytes_of(at + FRAME_HEADER_BYTES, header.payload_bytes);
        if (status == STATUS_OK) {
            status = frame_check(at, payload, ret_error);
        }
        if (status == STATUS_OK) {
            status = take_frame(inbox, &header, payload, ret_error);
        }
        if (status != STATUS_OK) {
            return INBOX_FAILED;
        }
        inbox->start += frame_bytes;
        if (inbox->events->wants_pause(inbox->owner)) {
            return INBOX_PAUSE;
        }
    }
}

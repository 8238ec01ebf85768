/*
 * What comes on one connection, before it is a message: bytes are put in, messages come out.  No lock, no nng.
 *
 *   inbox_room(), inbox_filled() -> buffer -> frames -> messages -> on_message
 *
 * At most one message in parts is received at a time, of at most LIMIT_MESSAGE_BYTES; before the handshake a frame has
 * at most INBOX_HANDSHAKE_BYTES_MAX.  What all of them hold of unfinished messages is accounted for in
 * transport_budget.h.
 *
 * Thread rule: one at a time.
 */
#ifndef COMMON_IO_TRANSPORT_TRANSPORT_INBOX_H
#define COMMON_IO_TRANSPORT_TRANSPORT_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/wire/frame.h"

#define INBOX_HANDSHAKE_BYTES_MAX 4096
#define INBOX_BYTES               (64 * 1024) /* the buffer; more while a frame needs it */

struct stream_message {
    enum frame_type type;
    uint16_t method;
    uint64_t request;
    bool stream;
    struct bytes payload;     /* good for the call */
    struct buffer *assembled; /* came in parts: the callee may take this memory; else NULL */
};

struct inbox_events {
    /* Anything but STATUS_OK ends it with that error. */
    enum status (*on_message)(void *owner,
                              const struct stream_message *message,
                              struct error *ret_error);
    /* Enough for now?  Asked after each message. */
    bool (*wants_pause)(void *owner);
};

/* A message that arrives in parts. */
struct inbox_partial {
    bool active;
    enum frame_type type;
    uint16_t method;
    uint64_t request;
    struct buffer buffer;
    uint64_t charged_bytes; /* of the budget of all streams (transport_budget.h) */
};

struct inbox {
    const struct inbox_events *events;
    void *owner;
    bool in_handshake; /* the owner's to say; also in on_message, of what comes next */
    uint8_t *data;
    size_t capacity_bytes;
    size_t start;
    size_t end;
    struct inbox_partial partial;
};

/* Errors: STATUS_NO_MEMORY; deinit all the same. */
enum status inbox_init(struct inbox *inbox, const struct inbox_events *events, void *owner);
void inbox_deinit(struct inbox *inbox);

/* Where bytes may be put, at least one of them: data + end, up to capacity_bytes. */
static inline size_t inbox_room(const struct inbox *inbox)
{
    return inbox->capacity_bytes - inbox->end;
}

static inline void inbox_filled(struct inbox *inbox, size_t size_bytes)
{
    inbox->end += size_bytes;
}

enum inbox_progress {
    INBOX_MORE,  /* there is no whole frame: put more in */
    INBOX_PAUSE, /* the owner has enough; frames may be left */
    INBOX_FAILED,
};

/* Hand out the messages that are whole. */
enum inbox_progress inbox_take(struct inbox *inbox, struct error *ret_error);

#endif /* COMMON_IO_TRANSPORT_TRANSPORT_INBOX_H */

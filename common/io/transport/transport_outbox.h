/*
 * What waits to be sent on one connection, and how it is cut into frames and gathered into sends.
 *
 * Three queues.  URGENT is the handshake; nothing else leaves before the outbox is opened.  SMALL
 * messages (TRANSPORT_SMALL_BYTES_MAX) go out many at a time: they are copied, with their headers, into one block.  LARGE ones
 * are sent from where they lie, in frames of at most 1 MiB, one message after the other, one frame
 * in each batch: so a small message waits behind one frame of a large one at most, and a large one
 * gets its frame however many small ones there are.
 *
 * Invariants:
 *   1. Messages of one request leave in the order in which they were pushed.
 *   2. At most one message is in parts on the connection at any time.
 *   3. What a batch refers to stays until outbox_advance() has seen all of it sent.
 *
 * Thread rule: guarded by the lock of the stream around it.
 */
#ifndef COMMON_IO_TRANSPORT_TRANSPORT_OUTBOX_H
#define COMMON_IO_TRANSPORT_TRANSPORT_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/io/transport/transport.h"
#include "common/wire/frame.h"

#define OUTBOX_COPY_BYTES   (32 * 1024) /* the block of copied frames */
#define OUTBOX_INLINE_MAX   (4 * 1024)  /* payloads up to this are copied */
#define OUTBOX_SEGMENTS_MAX 8           /* as many as an nng aio takes */

struct outgoing {
    struct outgoing *next;
    uint64_t request;
    enum frame_type type;
    uint16_t method;
    bool stream; /* another message of the request follows */
    struct buffer message;
    size_t sent_bytes;
};

struct outgoing_list {
    struct outgoing *head;
    struct outgoing *tail;
};

struct outbox_segment {
    uint8_t *data;
    size_t size_bytes;
};

struct outbox {
    bool open;
    struct outgoing_list urgent;
    struct outgoing_list small;
    struct outgoing_list large;
    struct outgoing_list sending; /* the batch refers to them */
    uint64_t queued_bytes;        /* memory that all messages here hold, sent parts apart */
    uint64_t batch_bytes;         /* what the batch takes off queued_bytes when sent */
    uint8_t *copies;              /* OUTBOX_COPY_BYTES */
    size_t copied_bytes;
    struct outbox_segment segments[OUTBOX_SEGMENTS_MAX];
    size_t segment_count;
    size_t segment_first; /* the ones before are sent */
};

/* Takes over the message's memory, and gives back what of it is not used; NULL without memory: the
 * message is then still the caller's. */
struct outgoing *outgoing_create(enum frame_type type, uint64_t request, struct buffer *message);
void outgoing_destroy(struct outgoing *outgoing);

/* Errors: STATUS_NO_MEMORY. */
enum status outbox_init(struct outbox *outbox);
void outbox_deinit(struct outbox *outbox);

/* Takes ownership. */
void outbox_push(struct outbox *outbox, struct outgoing *outgoing);
void outbox_push_urgent(struct outbox *outbox, struct outgoing *outgoing);

/* Gather the next batch into segments; false when there is nothing to send.
 * Requires: the last batch is sent. */
bool outbox_prepare(struct outbox *outbox);

/* So many bytes of the batch are sent; true when that was all of it. */
bool outbox_advance(struct outbox *outbox, size_t sent_bytes);

#endif /* COMMON_IO_TRANSPORT_TRANSPORT_OUTBOX_H */

/*
 * Messages of replicas as they travel: batches between the stores of two servers (method REPLICATE,
 * docs/replication.md section 4, docs/wire.md).
 *
 *   batch = [server, incarnation, from store, to store] item item ...
 *   item  = [tablet, type, version, then the fields of its type]
 *
 * Items follow one another to the end of the message, so that a batch can grow without its number
 * being known.  The incarnation is the sending process's, of all its messages.
 *
 * Decoders follow common/wire/reader.h: bounded, nothing believed; payloads borrow from the message.
 * A configuration that is not sound, an OPEN without one, a type that is not known: the batch is
 * refused from there on.  Errors: STATUS_MALFORMED naming message and field, STATUS_NO_MEMORY.
 *
 * Pure.  Thread rule: values.
 */
#ifndef TABLETSERVER_REPLICA_REPLICA_MESSAGE_H
#define TABLETSERVER_REPLICA_REPLICA_MESSAGE_H

#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/wire/reader.h"
#include "tabletserver/replica/replica.h"

struct replica_batch_head {
    struct replica_member from;
    uint64_t incarnation;
    uint64_t to_store;
};

struct replica_item {
    uint64_t tablet;
    struct replica_message message; /* incarnation: the head's */
};

void replica_batch_begin(const struct replica_batch_head *head, struct buffer *out);
/* message.incarnation must be the head's: it is not written again. */
void replica_batch_add(uint64_t tablet, const struct replica_message *message, struct buffer *out);

/* Bytes that an item takes at most besides what it carries: payload, slice, rows. */
#define REPLICA_ITEM_BYTES_OWN 512
uint64_t replica_item_bytes_max(const struct replica_message *message);

/* Items are in the arena; their payloads in the message. */
struct replica_batch {
    struct replica_batch_head head;
    struct replica_item *items;
    size_t item_count;
};

enum status replica_batch_decode(struct bytes in,
                                 struct arena *arena,
                                 struct replica_batch *ret_batch,
                                 struct error *ret_error);

#endif /* TABLETSERVER_REPLICA_REPLICA_MESSAGE_H */

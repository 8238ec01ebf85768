/*
 * A parcel: encoded operations that travel to one server in one message: a single one, or rows of a
 * bundle.  It lies in what it carries for, which is told what becomes of it.
 *
 *      lane's queue --> batch, on its way --> each of its operations is answered, or all at once
 *
 * Invariants:
 *   (1) It is in a lane's queue, or in a batch, or in neither.
 *   (2) Nothing is told of a parcel that has left its batch.
 *
 * Thread rule: while the loop is held.
 */
#ifndef CLIENT_ROUTING_PARCEL_H
#define CLIENT_ROUTING_PARCEL_H

#include "client/loop/list.h"
#include "common/base/buffer.h"
#include "common/wire/message.h"

struct batch;
struct parcel;

struct parcel_kind {
    /* Append the operations, in order, as operation_encode() wrote them. */
    void (*write)(struct parcel *parcel, struct buffer *out);
    /* The index-th operation is answered; may come again for one that was answered before. */
    void (*on_result)(struct parcel *parcel, uint32_t index, const struct operation_result *result);
    /* This answers all that were not yet; the parcel is then in no batch. */
    void (*on_end)(struct parcel *parcel, const struct operation_result *result);
    /* The connection was closed before what was not answered yet; as on_end. */
    void (*on_closed)(struct parcel *parcel, struct bytes text);
};

struct parcel {
    struct list_link link; /* in a lane's queue */
    const struct parcel_kind *kind;
    struct batch *batch; /* NULL = not on its way */
    uint32_t place;      /* in the batch */
    uint32_t count;      /* of operations */
    size_t size_bytes;   /* of what write appends */
    int64_t deadline_ns;
    uint64_t process; /* whose identity it has, if not this one's: then it travels alone; else 0 */
    bool was_sent;
};

#endif /* CLIENT_ROUTING_PARCEL_H */

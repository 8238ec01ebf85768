/*
 * A batch: the parcels that travel in one message.
 *
 * Thread rule: while the loop is held.
 */
#ifndef CLIENT_ROUTING_BATCH_H
#define CLIENT_ROUTING_BATCH_H

#include "client/routing/lane.h"
#include "client/routing/parcel.h"

/* Nobody waits for the parcel's answers any more; they are ignored.  A batch that nobody waits for
 * at all is cancelled, which frees its place in the lane.  One that is in no batch is left alone. */
void batch_leave(struct parcel *parcel);

#endif /* CLIENT_ROUTING_BATCH_H */

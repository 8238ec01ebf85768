/*
 * A batch: the submissions that travel in one message.
 *
 * Thread rule: while the loop is held.
 */
#ifndef CLIENT_BATCH_H
#define CLIENT_BATCH_H

#include "client/lane.h"

struct batch;

/* The submission has ended before its answer; an answer to it is ignored.  A batch that nobody
 * waits for any more is cancelled, which frees its place in the lane. */
void batch_abandon(struct batch *batch, uint32_t index);

#endif /* CLIENT_BATCH_H */

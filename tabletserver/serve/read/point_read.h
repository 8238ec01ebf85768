/*
 * Point reads: the reads' part of a batch, done on a worker; few of them on the thread that brings them,
 * while a worker sleeps that would have to be woken for it (worker_pool.h).
 *
 * Thread rule: an nng thread submits; then the part is of whoever reads.
 */
#ifndef TABLETSERVER_SERVE_READ_POINT_READ_H
#define TABLETSERVER_SERVE_READ_POINT_READ_H

#include "tabletserver/serve/write/batch.h"

/* Takes over the part: it, and its batch, may be gone when this returns. */
void point_read_submit(struct part *part);

#endif /* TABLETSERVER_SERVE_READ_POINT_READ_H */

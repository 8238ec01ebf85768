/*
 * Point reads: the reads' part of a batch, done on a worker.
 */
#ifndef TABLETSERVER_SERVE_POINT_READ_H
#define TABLETSERVER_SERVE_POINT_READ_H

#include "tabletserver/serve/batch.h"

void point_read_submit(struct part *part);

#endif /* TABLETSERVER_SERVE_POINT_READ_H */

/*
 * Scans: a stream of row blocks from one tablet, slice by slice, by credit.
 *
 *            submit               slice done, credit left, more rows
 *   START ----------> QUEUED ---> RUNNING ---------------------------> QUEUED
 *                        ^           |  no credit
 *                        +-- PARKED <+           done, error, cancelled ---> gone
 *                    credit came
 *
 * A slice reads at one sequence, ends at a row boundary after SCAN_SLICE_BYTES or SCAN_SLICE_NS, and
 * then lets go of its LMDB transaction; the next one begins after the last row it looked at.
 *
 * Thread rule: called from the transport's callbacks.  A scan is one worker's at a time, or parked: then who
 * brings credit takes it over and queues it again.
 */
#ifndef TABLETSERVER_SERVE_READ_SCAN_H
#define TABLETSERVER_SERVE_READ_SCAN_H

#include "common/io/transport/transport.h"

struct server;
struct scan;

/* Decode and queue.  Takes over reply. */
void scan_start(struct server *server,
                const struct transport_request *request,
                struct transport_reply *reply);

/* The transport says that credit came or that the peer is gone; not after the last message of the scan's reply
 * was sent (transport_reply_send()), for the scan is gone then. */
void scan_progress(struct scan *scan);

#endif /* TABLETSERVER_SERVE_READ_SCAN_H */

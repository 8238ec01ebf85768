/*
 * Confirmed reads (`reads = "confirmed"`, rule 7 of docs/replication.md): before a tablet is read, the servers that
 * hold its other copies have said, since the read came, that they still stand by its lease.  So no answer depends on
 * this machine's clock.
 *
 *   nng, worker:    run() -- read_confirm_wait() --> [ list ]
 *   beacon thread:  acknowledgements -- read_confirm_look() --> worker: run() again, from there
 *
 * A round trip serves all who asked meanwhile.  Who waits is let go, too, when it would be in vain: the tablet is not
 * served any more, or the deadline has passed.
 *
 * What waits is embedded in its owner, and bounded with the requests that it belongs to (request_budget.h).
 * Thread rule: any thread, but create and destroy.
 */
#ifndef TABLETSERVER_SERVE_READ_READ_CONFIRM_H
#define TABLETSERVER_SERVE_READ_READ_CONFIRM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "tabletserver/peer/beacons.h"
#include "tabletserver/serve/sync/served_map.h"
#include "tabletserver/serve/worker_pool.h"

struct read_confirm;

/* The owner's, until it waits; and again when its job runs. */
struct read_wait {
    struct read_wait *next;
    struct job *job;
    enum job_priority priority;
    int64_t deadline_ns;  /* clock_monotonic_ns() */
    uint64_t asked;       /* what beacons_ask() gave; 0 = not yet */
    struct served served; /* what is to be read, with references */
};

enum read_confirm_outcome {
    READ_CONFIRM_WAITS,      /* the job runs on a worker when there is something else to be said */
    READ_CONFIRM_CONFIRMED,  /* it may be read */
    READ_CONFIRM_NOT_SERVED, /* a lease is over, or the tablet another's */
    READ_CONFIRM_LATE,
    READ_CONFIRM_STOPPED, /* nobody will confirm it any more */
};

/* Errors: STATUS_NO_MEMORY. */
enum status read_confirm_create(struct worker_pool *workers, struct read_confirm **ret_confirm);
/* When nothing waits.  NULL is fine. */
void read_confirm_destroy(struct read_confirm *confirm);

/* The references in wait->served are taken over, whatever comes of it. */
enum read_confirm_outcome read_confirm_wait(struct read_confirm *confirm, struct read_wait *wait);

/* Let go of who need not wait any more. */
void read_confirm_look(struct read_confirm *confirm);

/* Nobody will confirm anything any more: let go of all, and let nobody wait. */
void read_confirm_stop(struct read_confirm *confirm);

#endif /* TABLETSERVER_SERVE_READ_READ_CONFIRM_H */

/*
 * A link: the lane to one server, with what has gathered for it.
 *
 * Who adds to it and who lets go may be any thread; one thread, that of lanes.c, looks after its connection: dials,
 * hangs up, dials again.
 */
#ifndef TABLETSERVER_PEER_LANE_LINK_H
#define TABLETSERVER_PEER_LANE_LINK_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/error.h"
#include "common/io/mailbox.h"
#include "common/io/transport/transport.h"
#include "tabletserver/peer/lanes.h"
#include "tabletserver/peer/server_address.h"

/* What has gone by all links. */
struct lane_counts {
    atomic_uint_fast64_t batches_sent;
    atomic_uint_fast64_t items_sent;
    atomic_uint_fast64_t bytes_sent;
    atomic_uint_fast64_t items_lost;
};

/* What all links share; outlives them. */
struct lane_shared {
    struct lanes_options options;
    struct mailbox *wake; /* of the thread that looks after them: there is something to look at */
    struct lane_counts counts;
};

/* What has gathered for one store of theirs from one store of ours. */
struct lane_outbox;

/* The mutex covers all but what is said to be the thread's. */
struct lane_link {
    struct lane_link *next; /* of lanes.c's list, which only grows */
    struct lane_shared *shared;
    uint64_t server;
    pthread_mutex_t mutex;
    struct lane_outbox *outboxes;            /* in the order of their turns */
    atomic_bool has_items;                   /* some outbox has */
    struct transport_connection *connection; /* NULL: none, or being closed */
    uint64_t request;
    uint32_t in_flight;
    bool large_in_flight; /* one that small ones would overtake: nothing else leaves */
    int64_t progress_ns;  /* of the last answer, or of the first batch after none was on its way */
    /* The connection is broken, and the thread is to close it.  Not under the mutex, as it may be
     * said from inside of a send. */
    atomic_bool broken;
    atomic_bool is_other; /* it leads to another server; set by a callback of it */
    char address[SERVER_ADDRESS_BYTES_MAX + 1];
    char dialled[SERVER_ADDRESS_BYTES_MAX + 1]; /* the thread's: what the connection is to */
    int64_t redial_ns;                          /* the thread's */
    bool was_ready;                             /* said in the log */
};

/* NULL without memory.  It has no address, so nothing is dialled yet. */
struct lane_link *lane_link_create(struct lane_shared *shared, uint64_t server);
/* After lane_link_end(). */
void lane_link_destroy(struct lane_link *link);

/* Of up to SERVER_ADDRESS_BYTES_MAX; "" = hang up.  Any thread. */
void lane_link_set_address(struct lane_link *link, const char *address);

/* Add a message to what goes from one store to another; its entry's payload is copied.  False: there is no room, or no
 * memory.  Any thread, but one a pair of stores. */
bool lane_link_add(struct lane_link *link,
                   uint64_t from_store,
                   uint64_t to_store,
                   uint64_t tablet,
                   const struct replica_message *message);

/* Let go what may leave.  Any thread. */
void lane_link_flush(struct lane_link *link);

/* Hang up what is broken, late or has moved; dial where there is no connection and it is time to.  The thread's. */
void lane_link_look_after(struct lane_link *link, int64_t now_ns);

/* Hang up, for good.  When the thread is gone. */
void lane_link_end(struct lane_link *link);

#endif /* TABLETSERVER_PEER_LANE_LINK_H */

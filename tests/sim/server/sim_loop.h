/*
 * One of a tablet server's stores, with what production's store loop has around it: the host of its copies and the
 * locks of its rows.  A server has several, each on a disk of its own (sim_stores.h); what they share is
 * the server's: leases, the heartbeat, the map of what is served.
 */
#ifndef TESTS_SIM_SERVER_SIM_LOOP_H
#define TESTS_SIM_SERVER_SIM_LOOP_H

#include "tabletserver/serve/sync/served_map.h"
#include "tabletserver/tablet/row_lock.h"
#include "tests/sim/store/sim_store.h"

struct sim_server;
struct host;

struct sim_loop {
    struct sim_server *server;
    struct sim_store store;
    struct row_lock_table *locks;
    struct host *host; /* NULL: the server does not replicate */
    uint64_t clock;    /* of the step */
};

static inline struct sim_loop *sim_loop_of(const struct sim_tablet *tablet)
{
    return tablet->store->callbacks.context;
}

/* NULL: it is no store of this server's, or not any more. */
struct sim_loop *sim_loop_of_store(const struct sim_server *server, uint64_t store);

/* --- what is served: production's map, over all stores of a server ------------------------------- */

/* From now on it is found. */
void sim_served_add(struct sim_tablet *tablet);
/* Those, of the same store, are found in the place of these: no lookup sees a gap between. */
void sim_served_replace(const struct sim_tablet *const removed[],
                        uint32_t removed_count,
                        struct sim_tablet *const added[],
                        uint32_t added_count);

/* NULL: there is none. */
struct sim_tablet *sim_served_find(const struct sim_server *server,
                                   uint64_t table,
                                   struct bytes row);
/* The one with the last rows below end, if it reaches there. */
struct sim_tablet *sim_served_find_before(const struct sim_server *server,
                                          uint64_t table,
                                          struct bytes end);

#endif /* TESTS_SIM_SERVER_SIM_LOOP_H */

/*
 * What sim_write*.c call of one another: the write order of a simulated tablet server's store loop.
 */
#ifndef TESTS_SIM_SERVER_SIM_WRITE_PARTS_H
#define TESTS_SIM_SERVER_SIM_WRITE_PARTS_H

#include "tests/sim/server/sim_server.h"

/* To the tablet of its row, as it is now, or answered. */
void sim_write_route(struct sim_server *server, struct sim_work *work);

/* --- sim_write_gather.c --------------------------------------------------------------------------- */

/* By which a retry is known. */
struct request_id sim_write_identity(const struct sim_work *work);
/* True: go on and apply it.  False: the work has been dealt with. */
bool sim_write_is_new(struct sim_server *server, struct sim_tablet *tablet, struct sim_work *work);
/* Answered when that is committed. */
void sim_write_pend(struct sim_server *server,
                    struct sim_order *order,
                    struct sim_work *work,
                    uint64_t sequence);
/* Its changes go into the log with the next flush, and it is answered when they are committed. */
void sim_write_gather(struct sim_server *server,
                      struct sim_tablet *tablet,
                      struct sim_work *work,
                      const struct change *changes,
                      size_t change_count);
/* The same, of mutations: resolved by the schema as it is now, or answered with what is wrong. */
void sim_write_resolve(struct sim_server *server,
                       struct sim_tablet *tablet,
                       struct sim_work *work,
                       const struct mutation *mutations,
                       size_t mutation_count);
/* Give out what was gathered. */
void sim_write_flush(struct sim_server *server, struct sim_tablet *tablet);

/* --- sim_write_hold.c ----------------------------------------------------------------------------- */

/* Is a change of who serves going on, which has not taken long yet? */
bool sim_write_must_hold(struct sim_server *server, struct sim_tablet *tablet);

/* --- sim_write_barrier.c -------------------------------------------------------------------------- */

/* DropRowRange: as a barrier. */
void sim_write_append_drop(struct sim_server *server,
                           struct sim_tablet *tablet,
                           struct sim_work *work);
/* Work that waits behind a barrier, in its order: put there; all of it taken out (a list), and routed again. */
void sim_write_defer(struct sim_order *order, struct sim_work *work);
struct sim_work *sim_write_take_deferred(struct sim_order *order);
void sim_write_release_deferred(struct sim_server *server, struct sim_work *work);
/* A barrier goes ahead once no row of its tablet is locked.  The tablet may be gone after it. */
void sim_write_try_barrier(struct sim_server *server, struct sim_tablet *tablet);

#endif /* TESTS_SIM_SERVER_SIM_WRITE_PARTS_H */

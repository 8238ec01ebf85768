/*
 * Confirmed reads of a simulated tablet server, as serve/read/read_confirm.c has them: what is to be read waits until
 * the servers of the tablet's other copies have acknowledged a beacon that was sent after it came.
 */
#ifndef TESTS_SIM_SERVER_SIM_CONFIRM_H
#define TESTS_SIM_SERVER_SIM_CONFIRM_H

#include "tests/sim/server/sim_server.h"

/* The number of a question to all peers; 0 = reads are not confirmed in this seed. */
uint64_t sim_confirm_ask(struct sim_server *server);

/* Has it to be waited for?  Not where the tablet is not served: that is found out when it is read. */
bool sim_confirm_is_awaited(const struct sim_server *server,
                            const struct sim_tablet *tablet,
                            uint64_t asked);

/* Until the next look: a read, or a scan's message, which is copied. */
void sim_confirm_await_read(struct sim_server *server, struct sim_work *work);
void sim_confirm_await_scan(struct sim_server *server,
                            const struct sim_message *message,
                            uint64_t asked);

/* Something may have been confirmed, or nothing is served any more. */
void sim_confirm_look(struct sim_server *server);

void sim_confirm_destroy(struct sim_server *server);

#endif /* TESTS_SIM_SERVER_SIM_CONFIRM_H */

/*
 * The network: frames from node to node, which may be lost, doubled, late, out of order or damaged.
 *
 * It is worse than what production runs over: connections there keep the order.  So what holds here
 * holds there.
 */
#ifndef TESTS_SIM_WORLD_SIM_NETWORK_H
#define TESTS_SIM_WORLD_SIM_NETWORK_H

#include "tests/sim/sim.h"

/* Takes the message's memory. */
void sim_network_send(struct sim *sim, uint32_t from, const struct sim_effect *effect);

/* Open what has arrived: false when the frame is damaged, which its checksums must tell. */
bool sim_network_open(struct sim *sim,
                      const struct sim_event *event,
                      struct sim_message *ret_message);

void sim_network_heal(struct sim *sim);

#endif /* TESTS_SIM_WORLD_SIM_NETWORK_H */

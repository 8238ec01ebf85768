/* Writes to a tablet that is handed over, split, or about to be led here wait until that is over, or has taken too
 * long, as those of tabletserver/serve/write/write_hold.c. */
#include "tests/sim/server/sim_host.h"
#include "tests/sim/server/sim_server.h"
#include "tests/sim/server/sim_write_parts.h"

#include "tabletserver/host/host.h"

#define HOLD_NS (100 * SIM_MS)

bool sim_write_must_hold(struct sim_server *server, struct sim_tablet *tablet)
{
    struct sim_order *order = sim_order_of(tablet);
    if (!server->replicates || tablet->copy.hosted == NULL ||
        !host_is_changing(sim_stored(tablet))) {
        order->hold_until_ns = 0;
        return false;
    }
    if (order->hold_until_ns == 0) {
        order->hold_until_ns = server->sim->now_ns + HOLD_NS;
    }
    return server->sim->now_ns < order->hold_until_ns;
}

static void release(struct sim_server *server, struct sim_tablet *tablet)
{
    struct sim_order *order = sim_order_of(tablet);
    if (order != NULL && !order->blocked && order->deferred_first != NULL &&
        !sim_write_must_hold(server, tablet)) {
        sim_write_release_deferred(server, sim_write_take_deferred(order));
    }
}

/* To route may end tablets and make others, which are looked at with the next step. */
void sim_write_release_held(struct sim_server *server)
{
    for (uint32_t i = 0; i < server->loop_count; i++) {
        const struct sim_store *store = &server->loops[i]->store;
        for (uint32_t k = 0; k < store->tablet_count; k++) {
            release(server, store->tablets[k]);
        }
    }
}

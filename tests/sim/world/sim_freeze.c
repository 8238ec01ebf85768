#include "tests/sim/world/sim_freeze.h"

#include "tests/sim/server/sim_server.h"
#include "tests/sim/world/sim_draw.h"

#define SALT    UINT64_C(0x667265657a65)
#define MILLION 1000000

void sim_freeze_draw(struct sim *sim)
{
    struct sim_settings *settings = &sim->settings;
    sim->freezing = prng_of_seed(sim->seed ^ SALT);
    settings->reads_confirmed = settings->replicas > 1 && prng_chance(&sim->freezing, 4);
    if (settings->reads_confirmed && !prng_chance(&sim->freezing, 3)) {
        settings->freeze = 100000 + (uint32_t)prng_below(&sim->freezing, 500000);
        settings->fault_interval_ns = settings->fault_interval_ns == 0
                                          ? SIM_S
                                          : settings->fault_interval_ns;
        settings->late = 0; /* what that tells is rare, and needs its servers there */
        if (!prng_chance(&sim->freezing, 3)) {
            sim_draw_calm(settings);
            settings->freeze = MILLION;
        }
    }
}

int64_t sim_freeze_ns(const struct sim *sim, uint32_t node)
{
    const struct sim_node *one = &sim->nodes[node];
    int64_t until_ns = sim->now_ns < one->frozen_until_ns ? sim->now_ns : one->frozen_until_ns;
    return one->frozen_ns + until_ns - one->frozen_from_ns;
}

void sim_freeze_end(struct sim *sim, uint32_t node)
{
    struct sim_node *one = &sim->nodes[node];
    one->frozen_ns = sim_freeze_ns(sim, node);
    one->frozen_from_ns = one->frozen_until_ns = 0;
}

static uint32_t led_by(const struct sim_server *server)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < server->loop_count; i++) {
        const struct sim_store *store = &server->loops[i]->store;
        for (uint32_t k = 0; k < store->tablet_count; k++) {
            const struct sim_tablet *tablet = store->tablets[k];
            count += tablet->replicated && !tablet->hidden && sim_host_may_serve(server, tablet);
        }
    }
    return count;
}

/* Who leads most; 0 = nobody leads anything, or one is frozen already. */
static uint32_t choose(const struct sim *sim)
{
    uint32_t best = 0;
    uint32_t most = 0;
    for (uint32_t node = 1; node <= sim->settings.server_count; node++) {
        const struct sim_server *server = sim->servers[node - 1];
        if (sim->nodes[node].frozen_until_ns > sim->now_ns) {
            return 0;
        }
        uint32_t count = server == NULL ? 0 : led_by(server);
        if (count > most) {
            most = count;
            best = node;
        }
    }
    return best;
}

static void cut_off(struct sim *sim, uint32_t node, int64_t until_ns)
{
    for (uint32_t i = 1; i <= sim->settings.server_count; i++) {
        sim->links[node][i].parted_until_ns = until_ns;
        sim->links[i][node].parted_until_ns = until_ns;
    }
}

static void stop_clients(struct sim *sim, int64_t until_ns)
{
    for (uint32_t i = 0; i < sim->settings.client_count; i++) {
        if (prng_chance(&sim->freezing, 2)) {
            sim->nodes[1 + sim->settings.server_count + i].paused_until_ns = until_ns;
        }
    }
}

void sim_freeze_begin(struct sim *sim)
{
    struct prng *prng = &sim->freezing;
    uint32_t chance = sim->settings.freeze;
    if (chance == 0 || prng_below(prng, MILLION) >= chance) {
        return;
    }
    uint32_t node = choose(sim);
    if (node == 0) {
        return;
    }
    struct sim_node *one = &sim->nodes[node];
    int64_t until_ns = sim->now_ns + (int64_t)(1000 + prng_below(prng, 5000)) * SIM_MS;
    sim_freeze_end(sim, node);
    one->frozen_from_ns = sim->now_ns;
    one->frozen_until_ns = until_ns;
    cut_off(sim, node, until_ns + (int64_t)prng_below(prng, 2000) * SIM_MS);
    stop_clients(sim, until_ns + (int64_t)prng_below(prng, 50) * SIM_MS);
    sim->statistics.freezes++;
    sim_trace(sim, "server %u is frozen, and its clock with it", node);
}

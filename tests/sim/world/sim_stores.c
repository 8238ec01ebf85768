#include "tests/sim/world/sim_stores.h"

#include "tests/sim/server/sim_server.h"

#define SALT UINT64_C(0x73746f726573)

/* What was let go in one store is asked for in another one where tablets leave servers, and come back. */
static void draw_moves(struct sim *sim)
{
    struct sim_settings *settings = &sim->settings;
    settings->keep_outsiders_ns = (int64_t)(1 + prng_below(&sim->stores, 20)) * SIM_S;
    if (settings->drained == 0 && settings->server_count > settings->replicas &&
        prng_chance(&sim->stores, 2)) {
        settings->drained = 1 + (uint32_t)prng_below(&sim->stores, settings->server_count);
        settings->late = 0;
    }
}

/* They are nothing where all have one. */
static bool is_planted(enum sim_planted planted)
{
    return planted == SIM_PLANTED_REMOVED_FROM_FIRST_STORE ||
           planted == SIM_PLANTED_REPORTED_AS_FIRST_STORES ||
           planted == SIM_PLANTED_NONE_MADE_BESIDE;
}

void sim_stores_draw(struct sim *sim)
{
    struct prng *prng = &sim->stores;
    *prng = prng_of_seed(sim->seed ^ SALT);
    bool several = prng_chance(prng, 4) || is_planted(sim->planted);
    bool alike = prng_chance(prng, 2);
    for (uint32_t i = 0; i < SIM_SERVERS_MAX; i++) {
        uint32_t drawn = alike ? 2 : 1 + (uint32_t)prng_below(prng, SIM_STORES_MAX);
        sim->settings.stores[i] = several ? drawn : 1;
    }
    if (several && sim->settings.replicas > 1) {
        draw_moves(sim);
    }
}

bool sim_stores_differ(const struct sim *sim)
{
    for (uint32_t i = 0; i < sim->settings.server_count; i++) {
        if (sim->settings.stores[i] > 1) {
            return true;
        }
    }
    return false;
}

static bool is_tidy(const struct sim_server *server)
{
    for (uint32_t i = 0; i < server->loop_count; i++) {
        const struct sim_store *store = &server->loops[i]->store;
        for (uint32_t k = 0; k < store->tablet_count; k++) {
            for (uint32_t j = 0; j < i; j++) {
                struct sim_store *other = &server->loops[j]->store;
                if (sim_store_find(other, store->tablets[k]->tablet) != NULL) {
                    return false;
                }
            }
        }
    }
    return true;
}

bool sim_stores_are_tidy(const struct sim *sim)
{
    bool tidy = true;
    for (uint32_t i = 0; i < sim->settings.server_count && sim->settings.replicas > 1; i++) {
        tidy = tidy && (sim->servers[i] == NULL || is_tidy(sim->servers[i]));
    }
    return tidy;
}

uint32_t sim_stores_any(struct sim *sim, uint32_t node)
{
    uint32_t count = sim->settings.stores[node - 1];
    return count == 1 ? 0 : (uint32_t)prng_below(&sim->stores, count);
}

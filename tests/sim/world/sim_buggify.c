#include "tests/sim/world/sim_buggify.h"

#include "tests/sim/sim.h"

#define SALT        UINT64_C(0x62756767696679)
#define MILLION     1000000
#define ONE_OF      4      /* sites act in a seed */
#define CHANCE_MOST 200000 /* of one that does, at an occasion */

void sim_buggify_draw(struct sim *sim)
{
    struct sim_buggify *buggify = &sim->buggify;
    buggify->prng = prng_of_seed(sim->seed ^ SALT);
    for (int i = 0; i < SIM_SITES && sim->settings.fault_interval_ns != 0; i++) {
        bool acts = prng_chance(&buggify->prng, ONE_OF);
        uint32_t chance = 1 + (uint32_t)prng_below(&buggify->prng, CHANCE_MOST);
        buggify->chances[i] = acts ? chance : 0;
    }
}

bool sim_buggify(struct sim *sim, enum sim_site site)
{
    struct sim_buggify *buggify = &sim->buggify;
    if (buggify->chances[site] == 0 || sim->healed || sim->quiet ||
        prng_below(&buggify->prng, MILLION) >= buggify->chances[site]) {
        return false;
    }
    buggify->counts[site]++;
    sim_trace(sim, "buggify: %s", sim_site_name(site));
    return true;
}

const char *sim_site_name(enum sim_site site)
{
    static const char *const names[] = {
#define SIM_SITE_NAME(name, constant) [SIM_SITE_##constant] = (name),
        SIM_SITE_LIST(SIM_SITE_NAME)
#undef SIM_SITE_NAME
    };
    return names[site];
}

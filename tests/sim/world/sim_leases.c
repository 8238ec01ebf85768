#include "tests/sim/world/sim_leases.h"

#include "common/base/assert.h"
#include "tests/sim/server/sim_server.h"

#define SALT UINT64_C(0x6c656173657321)

static const struct lease_settings AS_EVER = {.beacon_ns = 250 * SIM_MS,
                                              .lease_ns = LEASE_EARLIER_LEASE_NS,
                                              .grace_ns = LEASE_EARLIER_GRACE_NS,
                                              .drift_ppm = 50000};
static const struct lease_settings SHORT = {.beacon_ns = 100 * SIM_MS,
                                            .lease_ns = 500 * SIM_MS,
                                            .grace_ns = 700 * SIM_MS,
                                            .drift_ppm = 50000};
static const struct lease_settings LONG = {.beacon_ns = 500 * SIM_MS,
                                           .lease_ns = 2500 * SIM_MS,
                                           .grace_ns = 3500 * SIM_MS,
                                           .drift_ppm = 50000};

static const struct lease_settings *any(struct prng *prng)
{
    const struct lease_settings *const all[] = {&AS_EVER, &SHORT, &LONG};
    return all[prng_below(prng, sizeof all / sizeof *all)];
}

void sim_leases_draw(struct sim *sim)
{
    struct sim_leases *leases = &sim->leases;
    leases->prng = prng_of_seed(sim->seed ^ SALT);
    leases->stays = &AS_EVER;
    leases->other = &AS_EVER;
    bool is_planted = sim->planted == SIM_PLANTED_UNFIT_LEASE_GIVEN; /* what hides it is off */
    if (sim->settings.replicas == 1 ||
        (!is_planted && (sim->settings.late > 0 || !prng_chance(&leases->prng, 3)))) {
        return;
    }
    if (!is_planted && prng_chance(&leases->prng, 4)) { /* alike */
        leases->stays = any(&leases->prng);
        leases->other = leases->stays;
    } else if (!is_planted && prng_chance(&leases->prng, 3)) {
        leases->stays = any(&leases->prng);
        leases->other = any(&leases->prng);
    } else { /* as far apart as can be */
        bool grows = prng_chance(&leases->prng, 2);
        leases->stays = grows ? &LONG : &SHORT;
        leases->other = grows ? &SHORT : &LONG;
    }
}

bool sim_leases_differ(const struct sim *sim)
{
    return sim->leases.stays != &AS_EVER || sim->leases.other != &AS_EVER;
}

static struct sim_server_disk *disk_of(const struct sim *sim, uint32_t node)
{
    return sim->disks[node - 1];
}

void sim_leases_start(struct sim *sim, uint32_t node, struct lease_settings *ret_settings)
{
    struct sim_leases *leases = &sim->leases;
    struct sim_server_disk *disk = disk_of(sim, node);
    bool is_other = !sim->healed && leases->other != leases->stays && prng_chance(&leases->prng, 2);
    int64_t former_ns = disk->noted_grace_ns != 0 ? disk->noted_grace_ns : LEASE_EARLIER_GRACE_NS;
    *ret_settings = is_other ? *leases->other : *leases->stays;
    disk->noted_grace_ns = former_ns > ret_settings->grace_ns ? former_ns : ret_settings->grace_ns;
    leases->set_grace_ns[node] = ret_settings->grace_ns;
    leases->outlived_ns[node] = sim_boot_ns(sim, node) + former_ns;
    ret_settings->former_grace_ns = former_ns;
    if (sim_leases_differ(sim)) {
        sim_trace(sim, "server %u: lease %lld ms, grace %lld ms, before it %lld ms", node,
                  (long long)(ret_settings->lease_ns / SIM_MS),
                  (long long)(ret_settings->grace_ns / SIM_MS), (long long)(former_ns / SIM_MS));
    }
}

void sim_leases_settle(struct sim *sim, uint32_t node)
{
    if (sim_boot_ns(sim, node) >= sim->leases.outlived_ns[node]) {
        disk_of(sim, node)->noted_grace_ns = sim->leases.set_grace_ns[node];
    }
}

void sim_leases_put_right(struct sim *sim)
{
    const struct sim_leases *leases = &sim->leases;
    for (uint32_t node = 1; node <= sim->settings.server_count; node++) {
        if (sim->nodes[node].alive && leases->other != leases->stays &&
            leases->set_grace_ns[node] != leases->stays->grace_ns) {
            sim_kill(sim, node, false);
            sim_start(sim, node);
        }
    }
}

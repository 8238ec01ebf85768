#include "tests/sim/world/sim_quorum.h"

#include "tests/sim/checker/sim_checker.h"
#include "tests/sim/world/sim_faults.h"

#define SALT    UINT64_C(0x71756f72756d)
#define FOREVER (INT64_MAX / 4) /* and what is added to it is no less */

void sim_quorum_draw(struct sim *sim)
{
    struct sim_settings *settings = &sim->settings;
    struct prng prng = prng_of_seed(sim->seed ^ SALT);
    uint32_t left = settings->server_count - 1 - (settings->drained != 0);
    if (settings->replicas > 1 && left >= settings->min_in_sync && prng_chance(&prng, 2)) {
        settings->away_server = (enum sim_away)(SIM_AWAY_DOWN + prng_below(&prng, 3));
    }
    if (settings->masters > 1 && prng_chance(&prng, 2)) {
        settings->away_master = (enum sim_away)(SIM_AWAY_DOWN + prng_below(&prng, 3));
    }
}

bool sim_quorum_is_away(const struct sim *sim, uint32_t node)
{
    const struct sim_absence *away = &sim->away;
    return away->now && ((away->server != 0 && node == away->server) ||
                         (away->lacks_master && node == away->master));
}

uint32_t sim_quorum_servers(const struct sim *sim)
{
    uint32_t count = sim->settings.server_count;
    bool lacks = sim->away.now && sim->away.server != 0;
    return lacks ? count - 1 - (sim->settings.drained != 0) : count;
}

/* --- taking away ---------------------------------------------------------------------------------- */

static void cut(struct sim *sim, uint32_t node, bool one_way)
{
    for (uint32_t i = 0; i < sim->node_count; i++) {
        sim->links[node][i].cut = true;
        sim->links[i][node].cut = !one_way;
    }
}

static void take_away(struct sim *sim, uint32_t node, enum sim_away how)
{
    static const char *const words[] = {
        [SIM_AWAY_NOT] = "there",
        [SIM_AWAY_DOWN] = "down",
        [SIM_AWAY_CUT] = "cut off",
        [SIM_AWAY_MUTE] = "not heard",
    };
    sim_trace(sim, "node %u stays away: %s", node, words[how]);
    if (how != SIM_AWAY_DOWN) {
        cut(sim, node, how == SIM_AWAY_MUTE);
    } else if (sim->nodes[node].alive) {
        sim_kill(sim, node, sim_chance(sim, sim->settings.power_cut));
    }
    if (how != SIM_AWAY_DOWN && !sim->nodes[node].alive) {
        sim_start(sim, node);
    }
    if (sim_is_master(sim, node)) {
        sim->nodes[node].no_etcd_until_ns = FOREVER;
    }
}

/* What it had on its way to masters is lost, else it might yet become a tablet's only member. */
static void choose_server(struct sim *sim)
{
    uint32_t count = sim->settings.server_count;
    uint32_t first = (uint32_t)prng_below(&sim->prng, count);
    sim_faults_forget_proposals(sim);
    for (uint32_t i = 0; i < count && sim->away.server == 0; i++) {
        uint32_t node = 1 + (first + i) % count;
        sim->away.server = sim_faults_may_lose(sim, node) ? node : 0;
    }
}

void sim_quorum_begin(struct sim *sim)
{
    const struct sim_settings *settings = &sim->settings;
    struct sim_absence *away = &sim->away;
    if (settings->away_server != SIM_AWAY_NOT && sim_checker_main_table(sim->checker) != 0) {
        choose_server(sim);
    }
    away->lacks_master = settings->away_master != SIM_AWAY_NOT;
    away->now = away->server != 0 || away->lacks_master;
    if (!away->now) {
        return;
    }
    sim->statistics.quorums++;
    if (away->server != 0) {
        take_away(sim, away->server, settings->away_server);
    }
    if (away->lacks_master) {
        away->master = sim_master_node(sim, (uint32_t)prng_below(&sim->prng, settings->masters));
        take_away(sim, away->master, settings->away_master);
    }
    sim_checker_on_catalog(sim->checker, sim->coordinator); /* what is settled is less now */
}

static void bring_back(struct sim *sim, uint32_t node)
{
    for (uint32_t i = 0; i < sim->node_count; i++) {
        sim->links[node][i].cut = false;
        sim->links[i][node].cut = false;
    }
    /* What it had asked of etcd, for ever, is not answered any more: a process would give up its reign for that. */
    if (sim->nodes[node].no_etcd_until_ns > 0 && sim->nodes[node].alive) {
        sim_kill(sim, node, false);
    }
    sim->nodes[node].no_etcd_until_ns = 0;
    if (!sim->nodes[node].alive) {
        sim_start(sim, node);
    }
}

void sim_quorum_end(struct sim *sim)
{
    struct sim_absence *away = &sim->away;
    sim_trace(sim, "who stayed away is back");
    away->now = false;
    if (away->server != 0) {
        bring_back(sim, away->server);
    }
    if (away->lacks_master) {
        bring_back(sim, away->master);
    }
    sim_checker_on_catalog(sim->checker, sim->coordinator);
}

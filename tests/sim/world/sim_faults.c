#include "tests/sim/world/sim_faults.h"

#include "common/base/assert.h"
#include "tests/sim/master/sim_catalog.h"
#include "tests/sim/master/sim_etcd.h"
#include "tests/sim/server/sim_server.h"
#include "tests/sim/world/sim_draw.h"
#include "tests/sim/world/sim_freeze.h"
#include "tests/sim/world/sim_late.h"
#include "tests/sim/world/sim_leases.h"
#include "tests/sim/world/sim_leave.h"
#include "tests/sim/world/sim_network.h"
#include "tests/sim/world/sim_quorum.h"
#include "tests/sim/world/sim_rot.h"
#include "tests/sim/world/sim_stores.h"

#define TURN_WITHOUT_FAULTS_NS (200 * SIM_MS)
#define HEALED_TIMEOUT_NS      (2 * SIM_S)
#define HEALED_BASE_NS         (100 * SIM_MS)

/* --- making ----------------------------------------------------------------------------------- */

static uint32_t any_node(struct sim *sim)
{
    return (uint32_t)prng_below(&sim->prng, sim->node_count);
}

static void kill_one(struct sim *sim, uint32_t node)
{
    if (sim->nodes[node].alive) {
        sim_kill(sim, node, sim_chance(sim, sim->settings.power_cut));
    }
}

static uint32_t any_master(struct sim *sim)
{
    uint32_t masters = sim->settings.masters;
    return masters == 1 ? SIM_MASTER
                        : sim_master_node(sim, (uint32_t)prng_below(&sim->prng, masters));
}

static void kill_masters(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->settings.masters; i++) {
        kill_one(sim, sim_master_node(sim, i));
    }
}

static void kill_some(struct sim *sim)
{
    const struct sim_settings *settings = &sim->settings;
    if (sim_chance(sim, settings->kill_server)) {
        kill_one(sim, 1 + (uint32_t)prng_below(&sim->prng, settings->server_count));
    }
    if (sim_chance(sim, settings->kill_master)) {
        kill_one(sim, any_master(sim));
    }
    if (sim_chance(sim, settings->kill_all)) {
        kill_masters(sim);
        for (uint32_t i = 1; i <= settings->server_count; i++) {
            kill_one(sim, i);
        }
    }
}

/* One way, both ways, or a node from all others. */
static void cut_some(struct sim *sim)
{
    uint32_t a = any_node(sim);
    uint32_t b = any_node(sim);
    uint64_t how = prng_below(&sim->prng, 4);
    sim_trace(sim, "cut %u %u how %llu", a, b, (unsigned long long)how);
    sim->links[a][b].cut = true;
    if (how == 1) {
        sim->links[b][a].cut = true;
    }
    for (uint32_t i = 0; i < sim->node_count && how == 2; i++) {
        sim->links[a][i].cut = true;
        sim->links[i][a].cut = prng_chance(&sim->prng, 2);
    }
}

static void mend_some(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->node_count; i++) {
        for (uint32_t j = 0; j < sim->node_count; j++) {
            if (sim->links[i][j].cut && prng_chance(&sim->prng, 4)) {
                sim->links[i][j].cut = false;
            }
        }
    }
}

static void clog_some(struct sim *sim)
{
    uint32_t a = any_node(sim);
    int64_t until_ns = sim->now_ns + sim_draw_spread_ns(sim, 10 * SIM_MS, 3 * SIM_S);
    bool all = prng_chance(&sim->prng, 3);
    uint32_t b = any_node(sim);
    for (uint32_t i = 0; i < sim->node_count; i++) {
        if (all || i == b) {
            sim->links[a][i].clogged_until_ns = until_ns;
            sim->links[i][a].clogged_until_ns = until_ns;
        }
    }
}

static void step_clock(struct sim *sim)
{
    uint64_t most_us = (uint64_t)sim->settings.clock_skew_us + 1000;
    uint32_t node = (uint32_t)prng_below(&sim->prng, sim->settings.server_count + 1);
    node = node == SIM_MASTER ? any_master(sim) : node;
    sim->nodes[node].wall_offset_us = (int64_t)prng_below(&sim->prng, 2 * most_us) -
                                      (int64_t)most_us;
}

/* For about as long as leases last, or longer. */
static int64_t some_leases_ns(struct sim *sim)
{
    return sim->now_ns + (int64_t)sim_draw_between(sim, 200, 6000) * SIM_MS;
}

static void part_servers(struct sim *sim)
{
    uint32_t a = (uint32_t)sim_draw_between(sim, 1, sim->settings.server_count);
    bool one_way = prng_chance(&sim->prng, 4);
    int64_t until_ns = some_leases_ns(sim);
    sim_trace(sim, "server %u is parted from the others%s", a, one_way ? ", one way" : "");
    for (uint32_t i = 1; i <= sim->settings.server_count; i++) {
        sim->links[a][i].parted_until_ns = until_ns;
        sim->links[i][a].parted_until_ns = one_way ? 0 : until_ns;
    }
}

static void pause_server(struct sim *sim)
{
    uint32_t a = (uint32_t)sim_draw_between(sim, 1, sim->settings.server_count);
    sim_trace(sim, "server %u is stopped", a);
    sim->nodes[a].paused_until_ns = some_leases_ns(sim);
}

/* One master does not reach it, or it is down: then nobody leads for a while. */
static void lose_etcd(struct sim *sim, uint32_t one, bool all)
{
    int64_t until_ns = some_leases_ns(sim);
    for (uint32_t i = 0; i < sim->settings.masters; i++) {
        uint32_t node = sim_master_node(sim, i);
        if (all || node == one) {
            sim_trace(sim, "master %u does not reach the coordinator", node);
            sim->nodes[node].no_etcd_until_ns = until_ns;
        }
    }
}

/* Longer than a reign lasts without being renewed, or not. */
static void disturb_masters(struct sim *sim)
{
    if (sim_chance(sim, sim->settings.no_etcd)) {
        lose_etcd(sim, any_master(sim), prng_chance(&sim->prng, 3));
    }
    if (sim_chance(sim, sim->settings.pause_master)) {
        uint32_t node = any_master(sim);
        sim_trace(sim, "master %u is stopped", node);
        sim->nodes[node].paused_until_ns = some_leases_ns(sim);
    }
}

/* --- disks ------------------------------------------------------------------------------------ */

struct survey {
    const struct sim *sim;
    const struct sim_store_disk *lost; /* so many, of one server */
    uint32_t lost_count;
    bool safe;
};

static bool is_lost(const struct survey *survey, uint64_t store)
{
    for (uint32_t i = 0; i < survey->lost_count; i++) {
        if (survey->lost[i].number == store) {
            return true;
        }
    }
    return false;
}

static bool has_lost(const struct survey *survey, const struct replica_configuration *members)
{
    bool lost = false;
    for (uint32_t i = 0; i < members->member_count; i++) {
        lost = lost || is_lost(survey, members->members[i].store);
    }
    return lost;
}

/* What was committed is in the log of each member of the catalog's configuration (I3): another one will do.
 * While one of them is bad none is lost: who has not heard of it may be removing others. */
static void survey_tablet(void *context, const struct tablet_record *record)
{
    struct survey *survey = context;
    const struct replica_configuration *members = &record->configuration;
    bool bad = false;
    bool other = !has_lost(survey, members);
    for (uint32_t i = 0; i < members->member_count; i++) {
        uint64_t store = members->members[i].store;
        if (!is_lost(survey, store) && sim_rot_has_disk(survey->sim, store)) {
            other = true;
            bad = bad || !sim_rot_is_sound(survey->sim, store, record->number);
        }
    }
    survey->safe = survey->safe && other && !bad;
}

bool sim_faults_may_lose_store(const struct sim *sim, uint32_t node, uint32_t store)
{
    struct survey survey = {
        .sim = sim, .lost = &sim->disks[node - 1]->stores[store], .lost_count = 1, .safe = true};
    sim_catalog_tablets(sim, survey_tablet, &survey);
    return survey.safe;
}

bool sim_faults_may_lose(const struct sim *sim, uint32_t node)
{
    const struct sim_server_disk *disk = sim->disks[node - 1];
    struct survey survey = {
        .sim = sim, .lost = disk->stores, .lost_count = disk->store_count, .safe = true};
    sim_catalog_tablets(sim, survey_tablet, &survey);
    return survey.safe;
}

static void forget_proposals(struct sim *sim, uint32_t node)
{
    sim_etcd_lose_commits(sim); /* first: of a master that is killed some are done yet */
    kill_masters(sim);
    for (uint32_t i = 0; i < sim->settings.masters; i++) {
        sim_heap_drop_messages(&sim->heap, node, sim_master_node(sim, i));
    }
}

void sim_faults_forget_proposals(struct sim *sim)
{
    for (uint32_t node = 1; node <= sim->settings.server_count; node++) {
        forget_proposals(sim, node);
    }
}

/* With the server goes what is on its way from it, and, with the masters, what they have not done yet: none of
 * it may make the lost store a tablet's only one afterwards. */
static void lose_disk(struct sim *sim)
{
    uint32_t node = (uint32_t)sim_draw_between(sim, 1, sim->settings.server_count);
    kill_one(sim, node);
    forget_proposals(sim, node);
    uint32_t store = sim_stores_any(sim, node);
    if (sim_faults_may_lose_store(sim, node, store)) {
        sim_wipe(sim, node, store);
    }
}

static void stall_disk(struct sim *sim)
{
    uint32_t node = (uint32_t)sim_draw_between(sim, 1, sim->settings.server_count);
    uint32_t store = sim_stores_any(sim, node);
    sim_trace(sim, "disk %u of server %u stands still", store, node);
    sim->nodes[node].stalled_until_ns[store] = some_leases_ns(sim);
}

static void fill_disk(struct sim *sim)
{
    uint32_t node = (uint32_t)sim_draw_between(sim, 1, sim->settings.server_count);
    uint32_t store = sim_stores_any(sim, node);
    sim_trace(sim, "disk %u of server %u is full", store, node);
    sim->nodes[node].full_until_ns[store] = some_leases_ns(sim);
}

static void disturb_replicas(struct sim *sim)
{
    if (sim_chance(sim, sim->settings.wipe)) {
        lose_disk(sim);
    }
    if (sim_chance(sim, sim->settings.stall)) {
        stall_disk(sim);
    }
    if (sim_chance(sim, sim->settings.full)) {
        fill_disk(sim);
    }
    if (sim_chance(sim, sim->settings.part)) {
        part_servers(sim);
    }
    if (sim_chance(sim, sim->settings.pause)) {
        pause_server(sim);
    }
    if (sim_chance(sim, sim->settings.late)) {
        sim_late_begin(sim);
    }
    if (sim_chance(sim, sim->settings.rot)) {
        sim_rot_begin(sim);
    }
    sim_rot_log_begin(sim);
    sim_leave_begin(sim);
    sim_freeze_begin(sim);
}

void sim_faults_turn(struct sim *sim)
{
    const struct sim_settings *settings = &sim->settings;
    int64_t next_ns = settings->fault_interval_ns;
    if (next_ns == 0 || sim->quiet) {
        next_ns = TURN_WITHOUT_FAULTS_NS;
    } else {
        kill_some(sim);
        mend_some(sim);
        if (sim_chance(sim, settings->cut)) {
            cut_some(sim);
        }
        if (sim_chance(sim, settings->clog)) {
            clog_some(sim);
        }
        if (sim_chance(sim, settings->clock_step)) {
            step_clock(sim);
        }
        if (settings->replicas > 1) {
            disturb_replicas(sim);
        }
        if (settings->masters > 1) {
            disturb_masters(sim);
        }
    }
    sim_heap_add(&sim->heap,
                 &(struct sim_event){.time_ns = sim->now_ns + sim_about_ns(sim, next_ns),
                                     .kind = SIM_EVENT_FAULT});
}

void sim_faults_heal(struct sim *sim)
{
    struct sim_settings *settings = &sim->settings;
    sim_trace(sim, "healed");
    sim->healed = true;
    settings->fault_interval_ns = 0;
    settings->kill_in_step = 0;
    settings->kill_again = 0;
    settings->commit_failure = 0;
    if (settings->attempt_timeout_ns < HEALED_TIMEOUT_NS) {
        settings->attempt_timeout_ns = HEALED_TIMEOUT_NS; /* some disks are slower than patience */
    }
    if (settings->base_mean_ns > HEALED_BASE_NS) {
        settings
            ->base_mean_ns = HEALED_BASE_NS; /* else a learner's slices alone outlast patience */
    }
    sim_network_heal(sim);
    /* Who is stopped goes on when its time is over: what came for it meanwhile comes then, and it must not hear the
     * rest before (its timers would, and it would sleep with one eye open). */
    for (uint32_t i = 0; i < sim->node_count; i++) {
        for (uint32_t k = 0; k < SIM_STORES_MAX; k++) {
            sim->nodes[i].stalled_until_ns[k] = 0;
            sim->nodes[i].full_until_ns[k] = 0;
        }
        sim->nodes[i].no_etcd_until_ns = 0;
    }
    sim_leases_put_right(sim);
    sim_quorum_begin(sim);
    for (uint32_t i = 0; i < sim->node_count; i++) {
        if (!sim->nodes[i].alive && !sim_quorum_is_away(sim, i)) {
            sim_start(sim, i);
        }
    }
}

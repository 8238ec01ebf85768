#include "tests/sim/world/sim_faults.h"

#include "common/base/assert.h"
#include "tests/sim/checker/sim_checker.h"
#include "tests/sim/master/sim_catalog.h"
#include "tests/sim/master/sim_etcd.h"
#include "tests/sim/server/sim_server.h"
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
#define MASTERS_SALT           UINT64_C(0x6d617374657273)
#define REPLICATION_SALT       UINT64_C(0x7265706c69636173)
#define CLOCKS_COUNTED_ON_PPM  24500  /* from real time: elections allow for 5 % between two */
#define CLOCKS_APART_PPM       500000 /* more: then two masters act at once */

/* --- drawing ---------------------------------------------------------------------------------- */

static uint64_t between(struct sim *sim, uint64_t low, uint64_t high)
{
    return low + prng_below(&sim->prng, high - low + 1);
}

/* Over orders of magnitude: 1, 2, 4 ... times low, up to high. */
static int64_t spread_ns(struct sim *sim, int64_t low_ns, int64_t high_ns)
{
    int64_t value_ns = low_ns;
    while (value_ns < high_ns && !prng_chance(&sim->prng, 4)) {
        value_ns *= 2;
    }
    return value_ns + (int64_t)prng_below(&sim->prng, (uint64_t)value_ns);
}

/* Off in half of the seeds; else anything up to most. */
static uint32_t maybe(struct sim *sim, uint32_t most)
{
    return prng_chance(&sim->prng, 2) ? (uint32_t)between(sim, 1, most) : 0;
}

static void draw_workload(struct sim *sim)
{
    struct sim_settings *settings = &sim->settings;
    settings->server_count = (uint32_t)between(sim, 1, SIM_SERVERS_MAX);
    settings->client_count = (uint32_t)between(sim, 1, SIM_CLIENTS_MAX);
    settings->operations_per_client = (uint32_t)between(sim, 50, 300);
    settings->window = (uint32_t)between(sim, 1, 8);
    settings->think_ns = spread_ns(sim, 1 * SIM_MS, 100 * SIM_MS);
    settings->operation_deadline_ns = prng_chance(&sim->prng, 4)
                                          ? spread_ns(sim, 500 * SIM_MS, 10 * SIM_S)
                                          : 0;
    settings->attempt_timeout_ns = spread_ns(sim, 30 * SIM_MS, 1 * SIM_S);
    settings->row_count = (uint32_t)between(sim, 1, prng_chance(&sim->prng, 2) ? 4 : 40);
    for (int i = 0; i <= SIM_OPERATION_SCAN; i++) {
        settings->weights[i] = prng_chance(&sim->prng, 3) ? 0 : (uint32_t)between(sim, 1, 10);
    }
    settings->weights[SIM_OPERATION_PUT] += 1;
    settings->weights[SIM_OPERATION_SCAN] = settings->weights[SIM_OPERATION_SCAN] > 2 ? 2 : 1;
    settings->admin = prng_chance(&sim->prng, 2);
    settings->splits_by_hand = prng_chance(&sim->prng, 3);
    settings->soft_limit_bytes = prng_chance(&sim->prng, 3) ? UINT64_C(1) << 30
                                                            : between(sim, 200, 4000);
    settings->initial_splits = (uint32_t)between(sim, 0, 3);
}

static void draw_machines(struct sim *sim)
{
    struct sim_settings *settings = &sim->settings;
    settings->latency_min_ns = (int64_t)between(sim, 10000, 500000);
    settings->latency_mean_ns = spread_ns(sim, 100000, 10 * SIM_MS);
    settings->loss = maybe(sim, 150000);
    settings->duplication = maybe(sim, 200000);
    settings->slow = maybe(sim, 50000);
    settings->corruption = maybe(sim, 5000);
    settings->sync_mean_ns = spread_ns(sim, 100000, 50 * SIM_MS);
    settings->base_mean_ns = spread_ns(sim, 1 * SIM_MS, 300 * SIM_MS);
    settings->commit_mean_ns = spread_ns(sim, 500000, 50 * SIM_MS);
    settings->commit_failure = prng_chance(&sim->prng, 4) ? (uint32_t)between(sim, 1, 200000) : 0;
    settings->server_timeout_ns = spread_ns(sim, 300 * SIM_MS, 3 * SIM_S);
    settings->place_timeout_ns = spread_ns(sim, 100 * SIM_MS, 5 * SIM_S);
    settings->splits_per_server = (uint32_t)between(sim, 1, 4);
    settings->flush_interval_ns = spread_ns(sim, 20 * SIM_MS, 3 * SIM_S);
    settings->flush_pieces = (uint32_t)between(sim, 1, 5);
    settings->evaluate_mean_ns = spread_ns(sim, 10000, 5 * SIM_MS);
    settings->scan_slice_rows = (uint32_t)between(sim, 1, prng_chance(&sim->prng, 2) ? 5 : 100);
}

static void draw_teaching(struct sim_settings *settings, struct prng *prng)
{
    settings->reading_mean_ns = (int64_t)(1 + prng_below(prng, 40)) * SIM_MS;
    settings->slice_bytes = 200U << prng_below(prng, 6);
    settings->teach_bytes_a_second = prng_chance(prng, 2) ? 0 : 10000U << prng_below(prng, 6);
    settings->teach_patience_ns = (int64_t)(10 + prng_below(prng, 20)) * SIM_S;
    settings->learn_timeout_ns = (int64_t)(1 + prng_below(prng, 20)) * SIM_S;
    settings->compare_period_ns = prng_chance(prng, 2)
                                      ? 0
                                      : (int64_t)(1 + prng_below(prng, 20)) * SIM_S;
    settings->compare_range_bytes = 50U << prng_below(prng, 8);
}

/* Of a generator of its own, so that what a seed with one copy means does not depend on it. */
static void draw_replication(struct sim *sim)
{
    struct sim_settings *settings = &sim->settings;
    struct prng prng = prng_of_seed(sim->seed ^ REPLICATION_SALT);
    settings->replicas = prng_chance(&prng, 2) ? 3 : 1;
    settings->min_in_sync = 1;
    if (settings->replicas == 1) {
        return;
    }
    settings->server_count = 3;
    settings->min_in_sync = 1 + (uint32_t)prng_below(&prng, 2);
    settings->entries_kept = prng_chance(&prng, 2) ? 0 : (uint32_t)prng_below(&prng, 300);
    settings->part = prng_chance(&prng, 2) ? 0 : (uint32_t)prng_below(&prng, 500000);
    settings->pause = prng_chance(&prng, 2) ? 0 : (uint32_t)prng_below(&prng, 500000);
    settings->window_bytes_max = prng_chance(&prng, 3) ? 2000 : 1 << 20;
    for (uint32_t i = 1; i <= SIM_SERVERS_MAX && prng_chance(&prng, 2); i++) {
        settings->rate_ppm[i] = (int32_t)prng_below(&prng, 49000) - 24500;
    }
    draw_teaching(settings, &prng);
    settings->wipe = prng_chance(&prng, 2) ? 0 : (uint32_t)prng_below(&prng, 100000);
    settings->stall = prng_chance(&prng, 2) ? 0 : (uint32_t)prng_below(&prng, 300000);
    settings->full = prng_chance(&prng, 2) ? 0 : (uint32_t)prng_below(&prng, 300000);
    settings->replace_after_ns = (int64_t)(1 + prng_below(&prng, 20)) * SIM_S;
    settings->late = prng_chance(&prng, 2) ? 0 : (uint32_t)prng_below(&prng, 500000);
    if (prng_chance(&prng, 6)) { /* two copies: there is a third server to go to */
        settings->drained = 1 + (uint32_t)prng_below(&prng, settings->server_count);
        settings->replicas = 2;
        settings->late = 0;
    }
    settings->rot = prng_chance(&prng, 2) ? 0 : (uint32_t)prng_below(&prng, 400000);
    settings->merges = !prng_chance(&prng, 3);
    if (settings->merges) { /* what takes several round trips needs a run that lasts a while */
        settings->initial_splits = 1 + (uint32_t)prng_below(&prng, 3);
        settings->operations_per_client *= 2;
        settings->think_ns += 20 * SIM_MS;
    }
    if (prng_chance(&prng,
                    2)) { /* spare servers: what is lost is replaced, what is drained moves */
        settings->server_count += 1 + (uint32_t)prng_below(&prng, 2);
        settings->replicas = 3;
    }
    settings->last_ns = prng_chance(&prng, 2) ? 10 * SIM_S : 0;
}

/* Of a generator of its own, too. */
static void draw_masters(struct sim *sim)
{
    struct sim_settings *settings = &sim->settings;
    struct prng prng = prng_of_seed(sim->seed ^ MASTERS_SALT);
    settings->late_commits = prng_chance(&prng, 2);
    settings->masters = prng_chance(&prng, 2) ? 2 : 1;
    if (settings->masters == 1) {
        return;
    }
    settings->late = 0; /* it tells of a world with one */
    settings->no_etcd = prng_chance(&prng, 2) ? 0 : (uint32_t)prng_below(&prng, 400000);
    settings->pause_master = prng_chance(&prng, 2) ? 0 : (uint32_t)prng_below(&prng, 400000);
    settings->clocks_apart = prng_chance(&prng, 4);
    int32_t most_ppm = settings->clocks_apart ? CLOCKS_APART_PPM : CLOCKS_COUNTED_ON_PPM;
    for (uint32_t i = 0; i < settings->masters; i++) {
        settings->rate_ppm[sim_master_node(sim, i)] = (int32_t)prng_below(&prng,
                                                                          2 * (uint64_t)most_ppm) -
                                                      most_ppm;
    }
}

void sim_faults_draw(struct sim *sim)
{
    struct sim_settings *settings = &sim->settings;
    draw_workload(sim);
    draw_machines(sim);
    settings->fault_interval_ns = prng_chance(&sim->prng, 8)
                                      ? 0
                                      : spread_ns(sim, 50 * SIM_MS, 2 * SIM_S);
    settings->kill_server = maybe(sim, 400000);
    settings->kill_master = maybe(sim, 300000);
    settings->kill_all = maybe(sim, 60000);
    settings->power_cut = prng_chance(&sim->prng, 3)
                              ? 0
                              : (uint32_t)between(sim, 50000,
                                                  prng_chance(&sim->prng, 2) ? 300000 : 1000000);
    settings->kill_in_step = maybe(sim, 3000);
    settings->kill_again = maybe(sim, 800000);
    settings->cut = maybe(sim, 300000);
    settings->clog = maybe(sim, 300000);
    settings->clock_step = maybe(sim, 200000);
    settings->clock_skew_us = prng_chance(&sim->prng, 2) ? (int64_t)between(sim, 1000, 120000000)
                                                         : 0;
    settings->restart_mean_ns = spread_ns(sim, 20 * SIM_MS, 2 * SIM_S);
    settings->faults_end_ns = (int64_t)between(sim, 3, 20) * SIM_S;
    if (settings->fault_interval_ns == 0) {
        settings->kill_in_step = 0;
    }
    draw_replication(sim);
    draw_masters(sim);
    sim_stores_draw(sim);
    sim_rules_draw(sim);
    sim_rot_log_draw(sim);
    sim_quorum_draw(sim);
    sim_leave_draw(sim);
    sim_freeze_draw(sim);
    sim_late_draw(sim);
    sim_leases_draw(sim);
    sim_buggify_draw(sim);
}

void sim_faults_calm(struct sim_settings *settings)
{
    settings->kill_server = settings->kill_master = settings->kill_all = settings->kill_in_step = 0;
    settings->pause = settings->part = settings->wipe = settings->stall = settings->full = 0;
    settings->cut = settings->clog = settings->no_etcd = settings->pause_master = 0;
    settings->rot = settings->rot_log = settings->leave = settings->late = settings->freeze = 0;
    settings->faults_end_ns = 20 * SIM_S;
    settings->operations_per_client *= 3;
}

void sim_faults_describe(const struct sim *sim, struct buffer *out)
{
    const struct sim_settings *s = &sim->settings;
    buffer_append_format(
        out,
        "masters %u replicas %u drained %u merges %d servers %u clients %u x %u window %u rows %u soft limit %llu admin %d | loss %u dup %u "
        "slow %u | kills %u master %u all %u step %u power %u cut %u clog %u clock %u skew %lld us rot %u log %u away %d %d leave %u %d confirmed %d freeze %u rules %d%s leases %lld %lld ms stores %u %u %u %u %u",
        s->masters, s->replicas, s->drained, s->merges, s->server_count, s->client_count,
        s->operations_per_client, s->window, s->row_count, (unsigned long long)s->soft_limit_bytes,
        s->admin, s->loss, s->duplication, s->slow, s->kill_server, s->kill_master, s->kill_all,
        s->kill_in_step, s->power_cut, s->cut, s->clog, s->clock_step, (long long)s->clock_skew_us,
        s->rot, s->rot_log, (int)s->away_server, (int)s->away_master, s->leave, s->leave_in_the_end,
        s->reads_confirmed, s->freeze, sim->rules.on, sim->rules.changes ? ", change" : "",
        (long long)(sim->leases.stays->lease_ns / SIM_MS),
        (long long)(sim->leases.other->lease_ns / SIM_MS), s->stores[0], s->stores[1], s->stores[2],
        s->stores[3], s->stores[4]);
}

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
    int64_t until_ns = sim->now_ns + spread_ns(sim, 10 * SIM_MS, 3 * SIM_S);
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
    return sim->now_ns + (int64_t)between(sim, 200, 6000) * SIM_MS;
}

static void part_servers(struct sim *sim)
{
    uint32_t a = (uint32_t)between(sim, 1, sim->settings.server_count);
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
    uint32_t a = (uint32_t)between(sim, 1, sim->settings.server_count);
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
    uint32_t node = (uint32_t)between(sim, 1, sim->settings.server_count);
    kill_one(sim, node);
    forget_proposals(sim, node);
    uint32_t store = sim_stores_any(sim, node);
    if (sim_faults_may_lose_store(sim, node, store)) {
        sim_wipe(sim, node, store);
    }
}

static void stall_disk(struct sim *sim)
{
    uint32_t node = (uint32_t)between(sim, 1, sim->settings.server_count);
    uint32_t store = sim_stores_any(sim, node);
    sim_trace(sim, "disk %u of server %u stands still", store, node);
    sim->nodes[node].stalled_until_ns[store] = some_leases_ns(sim);
}

static void fill_disk(struct sim *sim)
{
    uint32_t node = (uint32_t)between(sim, 1, sim->settings.server_count);
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

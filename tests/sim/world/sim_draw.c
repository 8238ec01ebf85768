#include "tests/sim/world/sim_draw.h"

#include "tests/sim/checker/sim_checker.h"
#include "tests/sim/world/sim_freeze.h"
#include "tests/sim/world/sim_late.h"
#include "tests/sim/world/sim_leases.h"
#include "tests/sim/world/sim_leave.h"
#include "tests/sim/world/sim_quorum.h"
#include "tests/sim/world/sim_rot.h"
#include "tests/sim/world/sim_stores.h"

#define MASTERS_SALT          UINT64_C(0x6d617374657273)
#define REPLICATION_SALT      UINT64_C(0x7265706c69636173)
#define CLOCKS_COUNTED_ON_PPM 24500  /* from real time: elections allow for 5 % between two */
#define CLOCKS_APART_PPM      500000 /* more: then two masters act at once */

uint64_t sim_draw_between(struct sim *sim, uint64_t low, uint64_t high)
{
    return low + prng_below(&sim->prng, high - low + 1);
}

int64_t sim_draw_spread_ns(struct sim *sim, int64_t low_ns, int64_t high_ns)
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
    return prng_chance(&sim->prng, 2) ? (uint32_t)sim_draw_between(sim, 1, most) : 0;
}

static void draw_workload(struct sim *sim)
{
    struct sim_settings *settings = &sim->settings;
    settings->server_count = (uint32_t)sim_draw_between(sim, 1, SIM_SERVERS_MAX);
    settings->client_count = (uint32_t)sim_draw_between(sim, 1, SIM_CLIENTS_MAX);
    settings->operations_per_client = (uint32_t)sim_draw_between(sim, 50, 300);
    settings->window = (uint32_t)sim_draw_between(sim, 1, 8);
    settings->think_ns = sim_draw_spread_ns(sim, 1 * SIM_MS, 100 * SIM_MS);
    settings->operation_deadline_ns = prng_chance(&sim->prng, 4)
                                          ? sim_draw_spread_ns(sim, 500 * SIM_MS, 10 * SIM_S)
                                          : 0;
    settings->attempt_timeout_ns = sim_draw_spread_ns(sim, 30 * SIM_MS, 1 * SIM_S);
    settings->row_count = (uint32_t)sim_draw_between(sim, 1, prng_chance(&sim->prng, 2) ? 4 : 40);
    for (int i = 0; i <= SIM_OPERATION_SCAN; i++) {
        settings->weights[i] = prng_chance(&sim->prng, 3) ? 0
                                                          : (uint32_t)sim_draw_between(sim, 1, 10);
    }
    settings->weights[SIM_OPERATION_PUT] += 1;
    settings->weights[SIM_OPERATION_SCAN] = settings->weights[SIM_OPERATION_SCAN] > 2 ? 2 : 1;
    settings->admin = prng_chance(&sim->prng, 2);
    settings->splits_by_hand = prng_chance(&sim->prng, 3);
    settings->soft_limit_bytes = prng_chance(&sim->prng, 3) ? UINT64_C(1) << 30
                                                            : sim_draw_between(sim, 200, 4000);
    settings->initial_splits = (uint32_t)sim_draw_between(sim, 0, 3);
}

static void draw_machines(struct sim *sim)
{
    struct sim_settings *settings = &sim->settings;
    settings->latency_min_ns = (int64_t)sim_draw_between(sim, 10000, 500000);
    settings->latency_mean_ns = sim_draw_spread_ns(sim, 100000, 10 * SIM_MS);
    settings->loss = maybe(sim, 150000);
    settings->duplication = maybe(sim, 200000);
    settings->slow = maybe(sim, 50000);
    settings->corruption = maybe(sim, 5000);
    settings->sync_mean_ns = sim_draw_spread_ns(sim, 100000, 50 * SIM_MS);
    settings->base_mean_ns = sim_draw_spread_ns(sim, 1 * SIM_MS, 300 * SIM_MS);
    settings->commit_mean_ns = sim_draw_spread_ns(sim, 500000, 50 * SIM_MS);
    settings->commit_failure = prng_chance(&sim->prng, 4)
                                   ? (uint32_t)sim_draw_between(sim, 1, 200000)
                                   : 0;
    settings->server_timeout_ns = sim_draw_spread_ns(sim, 300 * SIM_MS, 3 * SIM_S);
    settings->place_timeout_ns = sim_draw_spread_ns(sim, 100 * SIM_MS, 5 * SIM_S);
    settings->splits_per_server = (uint32_t)sim_draw_between(sim, 1, 4);
    settings->flush_interval_ns = sim_draw_spread_ns(sim, 20 * SIM_MS, 3 * SIM_S);
    settings->flush_pieces = (uint32_t)sim_draw_between(sim, 1, 5);
    settings->evaluate_mean_ns = sim_draw_spread_ns(sim, 10000, 5 * SIM_MS);
    settings->scan_slice_rows = (uint32_t)sim_draw_between(sim, 1,
                                                           prng_chance(&sim->prng, 2) ? 5 : 100);
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

void sim_draw_settings(struct sim *sim)
{
    struct sim_settings *settings = &sim->settings;
    draw_workload(sim);
    draw_machines(sim);
    settings->fault_interval_ns = prng_chance(&sim->prng, 8)
                                      ? 0
                                      : sim_draw_spread_ns(sim, 50 * SIM_MS, 2 * SIM_S);
    settings->kill_server = maybe(sim, 400000);
    settings->kill_master = maybe(sim, 300000);
    settings->kill_all = maybe(sim, 60000);
    settings->power_cut = prng_chance(&sim->prng, 3)
                              ? 0
                              : (uint32_t)sim_draw_between(
                                    sim, 50000, prng_chance(&sim->prng, 2) ? 300000 : 1000000);
    settings->kill_in_step = maybe(sim, 3000);
    settings->kill_again = maybe(sim, 800000);
    settings->cut = maybe(sim, 300000);
    settings->clog = maybe(sim, 300000);
    settings->clock_step = maybe(sim, 200000);
    settings->clock_skew_us = prng_chance(&sim->prng, 2)
                                  ? (int64_t)sim_draw_between(sim, 1000, 120000000)
                                  : 0;
    settings->restart_mean_ns = sim_draw_spread_ns(sim, 20 * SIM_MS, 2 * SIM_S);
    settings->faults_end_ns = (int64_t)sim_draw_between(sim, 3, 20) * SIM_S;
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

void sim_draw_calm(struct sim_settings *settings)
{
    settings->kill_server = settings->kill_master = settings->kill_all = settings->kill_in_step = 0;
    settings->pause = settings->part = settings->wipe = settings->stall = settings->full = 0;
    settings->cut = settings->clog = settings->no_etcd = settings->pause_master = 0;
    settings->rot = settings->rot_log = settings->leave = settings->late = settings->freeze = 0;
    settings->faults_end_ns = 20 * SIM_S;
    settings->operations_per_client *= 3;
}

void sim_draw_describe(const struct sim *sim, struct buffer *out)
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

#include "tests/sim/world/sim_late.h"

#include "common/base/assert.h"
#include "tests/sim/master/sim_catalog.h"
#include "tests/sim/world/sim_draw.h"

#define SALT    UINT64_C(0x6c617465)
#define MILLION 1000000

/* The acts after the first, in order. */
enum act {
    ACT_RESTARTS, /* the heir, which has proposed itself; it and the primary hear each other again */
    ACT_STARTS,
    ACT_TAKEN, /* the proposal arrives */
    ACT_RESTARTS_AGAIN,
    ACT_STARTS_AGAIN,
    ACT_OVER,
};

#define DOWN_NS (20 * SIM_MS)
#define AWAY_NS (2 * SIM_S) /* longer than a lease */

void sim_late_draw(struct sim *sim)
{
    struct sim_settings *settings = &sim->settings;
    struct prng prng = prng_of_seed(sim->seed ^ SALT);
    if (settings->late == 0) {
        return;
    }
    settings->reads_confirmed = false;
    if (settings->fault_interval_ns > 0 && prng_chance(&prng, 2)) {
        sim_draw_calm(settings);
        settings->late = MILLION;
    }
}

static int64_t some_ms(struct sim *sim, uint64_t low, uint64_t high)
{
    return (int64_t)(low + prng_below(&sim->prng, high - low + 1)) * SIM_MS;
}

static void expect(struct sim *sim, enum act act, int64_t time_ns)
{
    sim_heap_add(
        &sim->heap,
        &(struct sim_event){.time_ns = time_ns, .kind = SIM_EVENT_LATE, .number = (uint64_t)act});
}

static void part(struct sim *sim, uint32_t a, uint32_t b, int64_t until_ns)
{
    sim->links[a][b].parted_until_ns = until_ns;
    sim->links[b][a].parted_until_ns = until_ns;
}

/* --- whom it befalls ---------------------------------------------------------------------------- */

struct survey {
    struct sim *sim;
    uint64_t seen; /* tablets that would do; each is chosen with the same chance */
};

static bool is_up(const struct sim *sim, struct replica_member member)
{
    return sim_is_server(sim, (uint32_t)member.server) && sim->nodes[member.server].alive;
}

static void consider(struct survey *survey, const struct replica_configuration *members)
{
    struct sim *sim = survey->sim;
    if (members->member_count < 2 || prng_below(&sim->prng, ++survey->seen) != 0) {
        return;
    }
    uint64_t other = 1 + prng_below(&sim->prng, members->member_count - 1);
    struct replica_member leader = members->members[members->leader];
    struct replica_member heir = members
                                     ->members[(members->leader + other) % members->member_count];
    sim->late.running = is_up(sim, leader) && is_up(sim, heir);
    sim->late.leader = (uint32_t)leader.server;
    sim->late.heir = (uint32_t)heir.server;
}

static void survey_tablet(void *context, const struct tablet_record *record)
{
    consider(context, &record->configuration);
}

/* --- the acts ----------------------------------------------------------------------------------- */

void sim_late_begin(struct sim *sim)
{
    struct survey survey = {.sim = sim};
    struct sim_late *late = &sim->late;
    if (late->running) {
        return;
    }
    sim_catalog_tablets(sim, survey_tablet, &survey);
    if (!late->running) {
        return;
    }
    sim_trace(sim, "a proposal of server %u, to lead in place of %u, comes late", late->heir,
              late->leader);
    int64_t restarts_ns = sim->now_ns + some_ms(sim, 2200, 2800);
    int64_t taken_ns = restarts_ns + some_ms(sim, 300, 900);
    part(sim, late->leader, late->heir, restarts_ns);
    part(sim, late->leader, SIM_MASTER, taken_ns + AWAY_NS);
    sim->links[late->heir][SIM_MASTER].clogged_until_ns = taken_ns;
    expect(sim, ACT_RESTARTS, restarts_ns);
    expect(sim, ACT_STARTS, restarts_ns + DOWN_NS);
    expect(sim, ACT_TAKEN, taken_ns);
    if (!prng_chance(&sim->prng, 4)) {
        int64_t again_ns = taken_ns + some_ms(sim, 50, 400);
        expect(sim, ACT_RESTARTS_AGAIN, again_ns);
        expect(sim, ACT_STARTS_AGAIN, again_ns + DOWN_NS);
    }
    expect(sim, ACT_OVER, taken_ns + AWAY_NS);
}

void sim_late_act(struct sim *sim, uint64_t act)
{
    struct sim_late *late = &sim->late;
    bool up = sim->nodes[late->heir].alive;
    if (sim->healed) {
        return;
    }
    switch ((enum act)act) {
    case ACT_RESTARTS:
    case ACT_RESTARTS_AGAIN:
        if (up) {
            sim_kill(sim, late->heir, sim_chance(sim, sim->settings.power_cut));
        }
        break;
    case ACT_STARTS:
    case ACT_STARTS_AGAIN:
        if (!up) {
            sim_start(sim, late->heir);
        }
        break;
    case ACT_TAKEN:
        for (uint32_t i = 1; i <= sim->settings.server_count; i++) {
            part(sim, late->leader, i, sim->now_ns + AWAY_NS);
        }
        break;
    case ACT_OVER:
        late->running = false;
        break;
    }
}

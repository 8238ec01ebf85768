#include "tests/sim/world/sim_leave.h"

#include "tests/sim/master/sim_catalog.h"
#include "tests/sim/master/sim_master.h"
#include "tests/sim/server/sim_server.h"
#include "tests/sim/world/sim_quorum.h"

#define SALT        UINT64_C(0x6c65617665)
#define MILLION     1000000
#define PATIENCE_NS (2 * SIM_S) /* as LEAVE_GRACE_NS in serve/server.c */
#define LOOK_NS     (5 * SIM_MS)

void sim_leave_draw(struct sim *sim)
{
    struct prng *prng = &sim->leaving.prng;
    *prng = prng_of_seed(sim->seed ^ SALT);
    if (sim->settings.replicas > 1) {
        sim->settings.leave = prng_chance(prng, 2) ? 0 : (uint32_t)prng_below(prng, 300000);
        if (sim->settings.late > 0) {
            sim->settings.leave = 0; /* what that tells is rare, and needs its servers there */
        }
        sim->settings.leave_in_the_end = prng_chance(prng, 2);
    }
}

static void look_again(struct sim *sim, uint32_t node)
{
    sim_heap_add(&sim->heap, &(struct sim_event){.time_ns = sim->now_ns + LOOK_NS,
                                                 .kind = SIM_EVENT_LEAVE,
                                                 .node = node,
                                                 .life = sim->nodes[node].life});
}

static void tell(struct sim *sim, uint32_t node)
{
    struct sim_server *server = sim->servers[node - 1];
    sim_trace(sim, "server %u is to end", node);
    sim->statistics.leaves++;
    server->leaving = true;
    server->leaves_at_ns = sim->now_ns + PATIENCE_NS;
    look_again(sim, node);
}

static uint32_t any_server(struct sim *sim)
{
    return 1 + (uint32_t)prng_below(&sim->leaving.prng, sim->settings.server_count);
}

void sim_leave_begin(struct sim *sim)
{
    uint32_t chance = sim->settings.leave;
    if (chance == 0 || prng_below(&sim->leaving.prng, MILLION) >= chance) {
        return;
    }
    uint32_t node = any_server(sim);
    if (sim->nodes[node].alive && !sim->servers[node - 1]->leaving) {
        tell(sim, node);
    }
}

/* One is active, can change the catalog, and all servers ask that one.  Nobody can take over before (rule 14), and
 * masters may have just changed. */
static bool master_is_found(const struct sim *sim)
{
    bool found = true;
    for (uint32_t i = 0; i < sim->settings.server_count; i++) {
        const struct sim_server *server = sim->servers[i];
        const struct sim_master *asked = server == NULL ? NULL : sim_master_of(sim, server->master);
        found = found && asked != NULL && asked->catalog != NULL && !sim_master_stands_still(asked);
    }
    return found;
}

struct survey {
    uint32_t node;
    struct sim_lead before;
    bool as_before;
    struct sim_lead now; /* any one */
};

static void survey_tablet(void *context, const struct tablet_record *record)
{
    struct survey *survey = context;
    const struct replica_configuration *members = &record->configuration;
    if (members->member_count > 1 && replica_configuration_leader(members).server == survey->node) {
        survey->now = (struct sim_lead){record->number, members->version};
        survey->as_before = survey->as_before || (survey->now.tablet == survey->before.tablet &&
                                                  survey->now.version == survey->before.version);
    }
}

/* Who leaves when all is well has others that can lead, and in the catalog they do.  (What it thinks itself may be of a
 * tablet that is no more.)  But for one that it has just been given, which was wished before it said that it leaves. */
static void end(struct sim *sim, uint32_t node)
{
    struct sim_leaving *leaving = &sim->leaving;
    struct survey survey = {.node = node, .before = leaving->lead};
    sim_catalog_tablets(sim, survey_tablet, &survey);
    if (node != leaving->last || survey.now.tablet == 0) {
        sim_kill(sim, node, false);
    } else if (survey.as_before) {
        sim_fail(sim, "server %u was to end, and leads tablet %llu still", node,
                 (unsigned long long)survey.before.tablet);
    } else {
        leaving->lead = survey.now;
        sim->servers[node - 1]->leaves_at_ns = sim->now_ns + PATIENCE_NS;
        look_again(sim, node);
    }
}

void sim_leave_act(struct sim *sim, const struct sim_event *event)
{
    uint32_t node = event->node;
    sim_server_on_leave(sim->servers[node - 1], &sim->effects);
    sim_perform(sim, node);
    if (!sim->nodes[node].alive || sim->nodes[node].life != event->life) {
        return; /* killed in that step */
    }
    struct sim_server *server = sim->servers[node - 1];
    if (node == sim->leaving.last && !master_is_found(sim)) {
        server->leaves_at_ns = sim->now_ns + PATIENCE_NS;
    }
    if (sim_host_leads_count(server) == 0 || sim->now_ns >= server->leaves_at_ns) {
        end(sim, node);
    } else {
        look_again(sim, node);
    }
}

/* All are there: that nobody is under way is part of all being well. */
bool sim_leave_in_the_end(struct sim *sim)
{
    if (!sim->settings.leave_in_the_end || sim->leaving.last != 0) {
        return false;
    }
    sim->leaving.last = any_server(sim);
    tell(sim, sim->leaving.last);
    return true;
}

bool sim_leave_is_under_way(const struct sim *sim)
{
    bool leaves = sim->settings.leave != 0 || sim->settings.leave_in_the_end;
    bool under_way = false;
    for (uint32_t i = 0; i < sim->settings.server_count && leaves; i++) {
        const struct sim_server *server = sim->servers[i];
        bool looks = !sim_quorum_is_away(sim, i + 1);
        under_way = under_way || (looks && (server == NULL || server->leaving));
    }
    return under_way;
}

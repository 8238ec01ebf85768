#include "common/base/assert.h"
#include "tests/sim/server/sim_server.h"

/*
 * A server looks at its tablets now and then, where there are rules of garbage collection (sim_rules.h): as
 * storage/upkeep's passes do, each server in its own time, by its own clock and by the schema that it has.
 */

/* When all is healed (production's is ten minutes).  Where hardly an entry is kept for learners, each that comes has a
 * lesson begin anew, and a lesson of small slices takes half a minute. */
#define HEALED_INTERVAL_NS (30 * SIM_S)

#define TRUSTED_US INT64_C(1000000)

static int64_t wall_us(const struct sim_server *server)
{
    return sim_wall_us(server->sim, server->node);
}

void sim_upkeep_start(struct sim_server *server)
{
    const struct sim_rules *rules = &server->sim->rules;
    bool rests = server->sim->healed && rules->interval_ns < HEALED_INTERVAL_NS;
    if (rules->on) {
        sim_effects_timer(
            server->effects, SIM_TIMER_COLLECT,
            sim_about_ns(server->sim, rests ? HEALED_INTERVAL_NS : rules->interval_ns));
    }
}

/* As server_clock.h has it: while it and the master's differ by a second nothing is collected. */
static bool trusts_clock(const struct sim_server *server)
{
    int64_t ahead_us = wall_us(server) - sim_true_us(server->sim);
    return ahead_us < TRUSTED_US && ahead_us > -TRUSTED_US;
}

static bool is_open(const struct sim_tablet *tablet)
{
    const struct sim_order *order = tablet->context;
    return order != NULL && !order->blocked && !tablet->hidden && !tablet->splitting &&
           !tablet->merging;
}

/* What gives out may be the end of a reign, and a tablet may be another one after it. */
static void look(struct sim_server *server, struct sim_store *store)
{
    bool found = false;
    for (uint32_t i = 0; i < store->tablet_count && trusts_clock(server); i++) {
        struct sim_tablet *tablet = store->tablets[i];
        const struct table *schema = sim_server_schema(server, tablet->table);
        if (!is_open(tablet) || schema == NULL) {
            continue;
        }
        sim_collect_say(store, tablet, schema, wall_us(server));
        sim_collect_erase(store, tablet, schema);
        found = sim_collect_find(store, tablet, schema, wall_us(server)) || found;
    }
    if (found) {
        sim_effects_timer(server->effects, store->index * SIM_TIMER_KINDS + SIM_TIMER_COLLECTED,
                          sim_about_ns(server->sim, server->sim->rules.append_mean_ns));
    }
}

void sim_upkeep_look(struct sim_server *server)
{
    for (uint32_t i = 0; i < server->loop_count; i++) {
        look(server, &server->loops[i]->store);
    }
    sim_upkeep_start(server);
}

void sim_upkeep_append(struct sim_server *server, uint64_t index)
{
    struct sim_store *store = &server->loops[index]->store;
    struct sim_tablet *tablet = sim_store_find(store, store->collection.tablet);
    ASSERT(store->collection.full);
    store->collection.full = false;
    if (tablet != NULL && is_open(tablet)) {
        sim_collect_append(store, tablet, sim_server_schema(server, tablet->table),
                           wall_us(server));
    }
}

#include "tests/sim/server/sim_server.h"
#include "tests/sim/world/sim_faults.h"
#include "tests/sim/world/sim_rot.h"
#include "tests/sim/world/sim_stores.h"

#define SALT    UINT64_C(0x726f74206c6f67)
#define MILLION 1000000

void sim_rot_log_draw(struct sim *sim)
{
    struct prng *prng = &sim->rot_prng;
    *prng = prng_of_seed(sim->seed ^ SALT);
    if (sim->settings.replicas > 1 && prng_chance(prng, 3)) {
        sim->settings.rot_log = 1 + (uint32_t)prng_below(prng, 600000);
    }
}

static bool is_drawn(struct sim *sim)
{
    return sim->settings.rot_log > 0 && !sim->quiet && !sim->healed &&
           prng_below(&sim->rot_prng, MILLION) < sim->settings.rot_log;
}

static void turn_bad(struct sim *sim, uint32_t node, uint32_t store)
{
    struct sim_log_disk *log = &sim->disks[node - 1]->stores[store].log;
    if (sim_faults_may_lose_store(sim, node, store) && sim_log_rot(log, &sim->rot_prng)) {
        sim_trace(sim, "server %u: its log turns bad at %llu", node,
                  (unsigned long long)log->rot.position);
        sim->statistics.log_rots++;
    }
}

/* What was acknowledged under a configuration of before may lie there only: that is not promised back. */
static void undo(struct sim *sim, uint32_t node, struct sim_store_disk *store)
{
    sim_trace(sim, "server %u: its log is whole again", node);
    sim_log_rot_undo(&store->log);
    sim->statistics.log_rots_undone++;
}

void sim_rot_log_begin(struct sim *sim)
{
    if (is_drawn(sim)) {
        uint32_t node = 1 + (uint32_t)prng_below(&sim->rot_prng, sim->settings.server_count);
        turn_bad(sim, node, sim_stores_any(sim, node));
    }
}

static void start(struct sim *sim, uint32_t node, uint32_t index)
{
    struct sim_store_disk *store = &sim->disks[node - 1]->stores[index];
    if (is_drawn(sim)) {
        turn_bad(sim, node, index);
    }
    if (!sim_log_rots(&store->log)) {
        return;
    }
    if (!sim->healed) {
        sim_faults_forget_proposals(sim);
    }
    if (sim->healed || !sim_faults_may_lose_store(sim, node, index)) {
        undo(sim, node, store);
    } else if (sim_store_only_copy(store) != NULL) {
        sim_trace(sim, "server %u: its log is refused, as tablet %llu may have no other copy", node,
                  (unsigned long long)sim_store_only_copy(store)->tablet);
        sim->statistics.log_refusals++;
        sim_wipe(sim, node, index);
    }
}

void sim_rot_log_start(struct sim *sim, uint32_t node)
{
    for (uint32_t i = 0; i < sim->settings.stores[node - 1]; i++) {
        start(sim, node, i);
    }
}

void sim_rot_log_was_cut(struct sim *sim, uint32_t node)
{
    bool power_cut = sim->settings.power_cut > 0;
    if (prng_chance(&sim->rot_prng, 2)) {
        sim_heap_add(&sim->heap,
                     &(struct sim_event){.time_ns = sim->now_ns + 1 +
                                                    (int64_t)prng_below(&sim->rot_prng, 2 * SIM_MS),
                                         .kind = SIM_EVENT_KILL,
                                         .node = node,
                                         .life = sim->nodes[node].life,
                                         .number = power_cut});
    }
}

bool sim_rot_log_hides(struct sim_store *store, uint64_t position)
{
    bool hides = sim_log_rots(&store->disk->log) && position >= store->disk->log.rot.position;
    store->sim->statistics.log_not_read += hides;
    return hides;
}

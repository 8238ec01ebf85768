#include "tests/sim/world/sim_phases.h"

#include "tests/sim/checker/sim_checker.h"
#include "tests/sim/client/sim_admin.h"
#include "tests/sim/client/sim_client.h"
#include "tests/sim/server/sim_server.h"
#include "tests/sim/world/sim_faults.h"
#include "tests/sim/world/sim_leave.h"
#include "tests/sim/world/sim_quorum.h"
#include "tests/sim/world/sim_rot.h"
#include "tests/sim/world/sim_stores.h"

#define LIVENESS_NS      (120 * SIM_S) /* all must be well within it, of no slice */
#define LESSONS_NS       (900 * SIM_S) /* and within this whatever is taught */
#define QUIET_NS         (10 * SIM_S)
#define HEALED_TASKS_MAX 40 /* of a client */
#define QUORUM_TASKS_MAX 30
#define TASKS_MIN        10 /* where there is a quorum, and after it */

/* --- is all well? --------------------------------------------------------------------------------- */

static bool clients_are(const struct sim *sim, bool (*is)(const struct sim_client *client))
{
    for (uint32_t i = 0; i < sim->settings.client_count; i++) {
        if (!is(sim->clients[i])) {
            return false;
        }
    }
    return true;
}

static bool servers_are_calm(const struct sim *sim)
{
    bool calm = true;
    for (uint32_t i = 0; i < sim->settings.server_count && sim->settings.replicas > 1; i++) {
        bool looks = sim->servers[i] != NULL && !sim_quorum_is_away(sim, i + 1);
        calm = calm && (!looks || sim_host_is_calm(sim->servers[i]));
    }
    return calm;
}

static bool copies_are_sound(const struct sim *sim)
{
    return (sim->settings.rot == 0 && sim->settings.rot_log == 0) || sim_rot_is_over(sim);
}

/* What was let go may go when all who should have a copy have one. */
static bool stores_are_tidy(const struct sim *sim)
{
    return sim->away.now || sim_stores_are_tidy(sim);
}

static bool is_well(const struct sim *sim)
{
    return clients_are(sim, sim_client_is_done) && sim_admin_is_idle(sim->admin) &&
           sim_checker_is_settled(sim->checker) && servers_are_calm(sim) && copies_are_sound(sim) &&
           !sim_leave_is_under_way(sim) && stores_are_tidy(sim);
}

static void fail(struct sim *sim)
{
    sim_fail(sim,
             "no end within %d s after healing%s: clients %s, administrator %s, catalog %s, "
             "barriers %s, copies %s%s",
             (int)((sim->now_ns - sim->phase_ns) / SIM_S), sim->away.now ? " a quorum" : "",
             clients_are(sim, sim_client_is_done) ? "done" : "not done",
             sim_admin_is_idle(sim->admin) ? "idle" : "busy", sim_checker_unsettled(sim->checker),
             servers_are_calm(sim) ? "lifted" : "stand", copies_are_sound(sim) ? "sound" : "bad",
             stores_are_tidy(sim) ? "" : ", two of one tablet in one server");
}

/* --- from one to the next ------------------------------------------------------------------------- */

/* Where tablets are to be merged, faults begin when there are some. */
static bool faults_end(struct sim *sim)
{
    bool serves = sim_checker_main_table(sim->checker) != 0 && sim_checker_is_settled(sim->checker);
    if (sim->quiet && (serves || sim->now_ns > QUIET_NS)) {
        sim->quiet = false;
        sim->quiet_ns = sim->now_ns;
    }
    return !sim->quiet && sim->now_ns >= sim->quiet_ns + sim->settings.faults_end_ns;
}

/* What each client does in this phase: some of what it has left, but at least so much. */
static void hand_out_tasks(struct sim *sim, uint32_t least, uint32_t most)
{
    for (uint32_t i = 0; i < sim->settings.client_count; i++) {
        uint32_t tasks = sim->clients[i]->tasks_left;
        tasks = tasks > most ? most : tasks;
        tasks = tasks < least ? least : tasks;
        sim_client_work(sim->clients[i], tasks, &sim->effects);
        sim_perform(sim, sim->clients[i]->node);
    }
}

static void end_faults(struct sim *sim)
{
    sim_faults_heal(sim);
    sim->phase_ns = sim->now_ns;
    hand_out_tasks(sim, sim->away.now ? TASKS_MIN : 0,
                   sim->away.now ? QUORUM_TASKS_MAX : HEALED_TASKS_MAX);
}

static void go_on(struct sim *sim)
{
    sim->phase_ns = sim->now_ns;
    sim->final_count = 0;
    hand_out_tasks(sim, TASKS_MIN, TASKS_MIN);
}

/* One after the other, each table that is there is scanned, both ways; then the phase is over. */
static void scan_next(struct sim *sim)
{
    uint64_t numbers[SIM_SIDE_TABLES_MAX + 1];
    uint32_t count = sim_checker_live_tables(sim->checker, numbers);
    if (sim->final_count == 2 * count && sim->away.now) {
        sim_quorum_end(sim);
        go_on(sim);
        return;
    }
    if (sim->final_count == 2 * count && sim_leave_in_the_end(sim)) {
        go_on(sim);
        return;
    }
    if (sim->final_count == 2 * count) {
        sim->done = true;
        return;
    }
    struct sim_task *task = sim_checker_final_scan(sim->checker, numbers[sim->final_count / 2],
                                                   sim->final_count % 2 == 1);
    task->final = true;
    sim->final_count++;
    sim_client_do(sim->clients[0], task, &sim->effects);
    sim_perform(sim, sim->clients[0]->node);
}

/* Whoever is taught slice by slice comes to an end, and one store after the other takes its time; so does a scan of
 * one row a slice, each confirmed by other servers.  But for ever nobody is taught, nor reads. */
static bool takes_too_long(struct sim *sim)
{
    uint64_t slices = sim->statistics.slices + sim->statistics.scan_slices;
    if (sim->slices_seen != slices) {
        sim->slices_seen = slices;
        sim->slice_ns = sim->now_ns;
    }
    int64_t since_ns = sim->slice_ns > sim->phase_ns ? sim->slice_ns : sim->phase_ns;
    return sim->now_ns > since_ns + LIVENESS_NS || sim->now_ns > sim->phase_ns + LESSONS_NS;
}

void sim_phases_look(struct sim *sim)
{
    if (sim->healed && is_well(sim)) {
        scan_next(sim);
    } else if (sim->healed && takes_too_long(sim)) {
        fail(sim);
    } else if (!sim->healed && (faults_end(sim) || (clients_are(sim, sim_client_is_done) &&
                                                    sim_admin_is_idle(sim->admin)))) {
        end_faults(sim);
    }
}

#include "master/placement/balance.h"

#include "master/placement/balance_work.h"

struct balance_decision *work_decide(struct balance_work *work,
                                     enum balance_kind kind,
                                     enum balance_reason reason,
                                     const struct balance_tablet_input *tablet)
{
    struct balance_decisions *decisions = work->decisions;
    if (decisions->count == BALANCE_DECISIONS_MAX) {
        return NULL;
    }
    struct balance_decision *decision = &decisions->items[decisions->count++];
    *decision = (struct balance_decision){
        .kind = kind,
        .reason = reason,
        .table = tablet->table,
        .tablet = tablet->tablet,
        .key = BYTES_EMPTY,
    };
    return decision;
}

/* --- what there is to do, as things are wanted ---------------------------------------------------- */

/* A tablet that is not where it should be keeps those busy that it leaves and that it goes to. */
static void count_moving(struct balance_work *work, const struct balance_tablet_input *tablet)
{
    uint32_t leader = work_leader(&tablet->now);
    uint32_t wanted = work_leader(&tablet->wanted);

    for (uint32_t i = 0; i < tablet->now.count; i++) {
        uint32_t server = tablet->now.servers[i];
        work->servers[server].moving += !work_has_member(&tablet->wanted, server) ||
                                        (server == leader && leader != wanted);
    }
    for (uint32_t i = 0; i < tablet->wanted.count; i++) {
        uint32_t server = tablet->wanted.servers[i];
        work->servers[server].moving += !work_has_member(&tablet->now, server) ||
                                        (server == wanted && leader != wanted);
    }
}

static void count_load(struct balance_work *work, const struct balance_tablet_input *tablet)
{
    for (uint32_t i = 0; i < tablet->wanted.count; i++) {
        work->servers[tablet->wanted.servers[i]].load_ns += i == tablet->wanted.leader
                                                                ? work_cost_led(tablet->state)
                                                                : work_cost_followed(tablet->state);
    }
}

static void look_at_tablets(struct balance_work *work)
{
    const struct balance_snapshot *snapshot = work->snapshot;

    for (size_t i = 0; i < snapshot->tablet_count; i++) {
        const struct balance_tablet_input *tablet = &snapshot->tablets[i];
        balance_tablet_pass(tablet->state, snapshot->now_ns);
        if (!tablet->settled) {
            count_moving(work, tablet);
        }
        if (balance_cost(&tablet->state->slow) > 0) {
            count_load(work, tablet);
        }
    }
}

static void look_at_servers(struct balance_work *work)
{
    for (uint32_t i = 0; i < work->snapshot->server_count; i++) {
        const struct balance_server_input *server = work_server(work, i);
        if (server->usable) {
            work->usable_count++;
            work->load_ns += server->capacity_ns > 0 ? work->servers[i].load_ns : 0;
            work->capacity_ns += server->capacity_ns;
        }
    }
}

/* --- the round ----------------------------------------------------------------------------------- */

enum status balance_round(const struct balance_settings *settings,
                          const struct balance_snapshot *snapshot,
                          struct arena *arena,
                          struct balance_decisions *ret_decisions)
{
    struct balance_work work = {
        .settings = settings,
        .snapshot = snapshot,
        .arena = arena,
        .decisions = ret_decisions,
        .tablet_count = snapshot->tablet_count,
    };

    *ret_decisions = (struct balance_decisions){.count = 0};
    ret_decisions->items = arena_allocate_array(arena, BALANCE_DECISIONS_MAX,
                                                sizeof *ret_decisions->items);
    work.servers = arena_allocate_array(arena, snapshot->server_count + 1, sizeof *work.servers);
    work.decided = arena_allocate_array(arena, snapshot->tablet_count + 1, sizeof *work.decided);
    if (ret_decisions->items == NULL || work.servers == NULL || work.decided == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < snapshot->server_count; i++) {
        work.servers[i] = (struct server_work){.first = BALANCE_NOBODY};
    }
    memset(work.decided, 0, (snapshot->tablet_count + 1) * sizeof *work.decided);
    look_at_tablets(&work);
    look_at_servers(&work);
    work_split(&work);
    if (!work_move(&work)) {
        ret_decisions->count = 0;
        return STATUS_NO_MEMORY;
    }
    work_merge(&work);
    return STATUS_OK;
}

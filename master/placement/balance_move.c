#include "master/placement/balance_work.h"

#define COLDEST_MAX 8 /* servers that are looked at as targets of a move */

/* A step that makes it better. */
struct step {
    const struct balance_tablet_input *tablet;
    enum balance_kind kind;
    uint32_t from;
    uint32_t to;
    double cost_ns; /* that goes along */
    double worse;   /* use of the busier one of the two, after it */
};

/* --- may it be so? ------------------------------------------------------------------------------- */

static bool takes_more(const struct balance_work *work, uint32_t server)
{
    return work_server(work, server)->usable && work_server(work, server)->capacity_ns > 0 &&
           work->servers[server].moving < work->settings->moves_per_server;
}

static bool may_go(const struct balance_work *work, const struct balance_tablet_input *tablet)
{
    const struct balance_tablet *state = tablet->state;
    bool stays = state->moved_ns != 0 &&
                 work->snapshot->now_ns - state->moved_ns < work->settings->move_pause_ns;
    return tablet->settled && tablet->may_move && !tablet->pinned && !stays &&
           !work->decided[tablet - work->snapshot->tablets];
}

/* Would its copies lie in fewer zones?  `from` = the server whose copy goes. */
static bool loses_zone(const struct balance_work *work,
                       const struct balance_members *members,
                       uint32_t from,
                       uint32_t to)
{
    uint32_t old_zone = work_server(work, from)->zone;
    uint32_t new_zone = work_server(work, to)->zone;
    bool old_stays = false;
    bool new_is_new = true;

    for (uint32_t i = 0; i < members->count; i++) {
        if (members->servers[i] != from) {
            uint32_t zone = work_server(work, members->servers[i])->zone;
            old_stays = old_stays || zone == old_zone;
            new_is_new = new_is_new && zone != new_zone;
        }
    }
    return !old_stays && !new_is_new;
}

/* Is the step one that makes it better (balance.h, 2)?  Then *best is the better one of both. */
static void weigh(const struct balance_work *work, struct step *step, struct step *best)
{
    double mean = work_mean(work);
    double band = mean * (1 + work->settings->imbalance_percent / 100.0);
    double before = work_use(work, step->from);
    double left = before - step->cost_ns / work_server(work, step->from)->capacity_ns;
    double gained = work_use(work, step->to) +
                    step->cost_ns / work_server(work, step->to)->capacity_ns;

    step->worse = left > gained ? left : gained;
    if (step->worse > before - mean * work->settings->impact_permille / 1000.0 ||
        (gained > band && gained > left)) {
        return;
    }
    if (best->tablet == NULL || step->worse < best->worse) {
        *best = *step;
    }
}

/* --- targets ------------------------------------------------------------------------------------- */

/* The servers with the least to do that have room, least first. */
static size_t find_coldest(const struct balance_work *work, uint32_t coldest[COLDEST_MAX])
{
    size_t count = 0;

    for (uint32_t i = 0; i < work->snapshot->server_count; i++) {
        size_t at = count;
        if (!takes_more(work, i) || work_server(work, i)->full) {
            continue;
        }
        while (at > 0 && work_use(work, i) < work_use(work, coldest[at - 1])) {
            at--;
        }
        if (at == COLDEST_MAX) {
            continue;
        }
        count += count < COLDEST_MAX;
        for (size_t j = count - 1; j > at; j--) {
            coldest[j] = coldest[j - 1];
        }
        coldest[at] = i;
    }
    return count;
}

static uint32_t find_target(const struct balance_work *work,
                            const struct balance_tablet_input *tablet,
                            uint32_t from,
                            const uint32_t *coldest,
                            size_t coldest_count)
{
    for (size_t i = 0; i < coldest_count; i++) {
        if (!work_has_member(&tablet->wanted, coldest[i]) &&
            !loses_zone(work, &tablet->wanted, from, coldest[i])) {
            return coldest[i];
        }
    }
    return BALANCE_NOBODY;
}

static uint32_t find_follower(const struct balance_work *work,
                              const struct balance_tablet_input *tablet)
{
    uint32_t best = BALANCE_NOBODY;
    for (uint32_t i = 0; i < tablet->wanted.count; i++) {
        uint32_t server = tablet->wanted.servers[i];
        if (i != tablet->wanted.leader && takes_more(work, server) &&
            (best == BALANCE_NOBODY || work_use(work, server) < work_use(work, best))) {
            best = server;
        }
    }
    return best;
}

/* --- taking a step ------------------------------------------------------------------------------- */

static bool take(struct balance_work *work, const struct step *step, enum balance_reason reason)
{
    struct server_work *from = &work->servers[step->from];
    struct server_work *to = &work->servers[step->to];
    struct balance_decision *decision = work_decide(work, step->kind, reason, step->tablet);

    if (decision == NULL) {
        return false;
    }
    decision->from = work_server(work, step->from)->server;
    decision->to = work_server(work, step->to)->server;
    decision->figures.share_permille = work_permille(step->cost_ns /
                                                     work_server(work, step->from)->capacity_ns);
    decision->figures.limit_permille = work_permille(
        work_mean(work) * (1 + work->settings->imbalance_percent / 100.0));
    decision->figures.operations = work_count(step->tablet->state->slow.operations);
    decision->figures.from_permille = work_permille(work_use(work, step->from));
    decision->figures.to_permille = work_permille(work_use(work, step->to));
    decision->figures.mean_permille = work_permille(work_mean(work));
    balance_describe(decision);
    from->load_ns -= step->cost_ns;
    to->load_ns += step->cost_ns;
    from->moving++;
    to->moving++;
    step->tablet->state->moved_ns = work->snapshot->now_ns;
    work->decided[step->tablet - work->snapshot->tablets] = true;
    return true;
}

/* --- what was split ahead ------------------------------------------------------------------------- */

/* What is to come to a tablet that was split ahead, and has not. */
static double awaited_cost(const struct balance_work *work, const struct balance_tablet *state)
{
    bool is_awaited = state->awaited_cost > 0 &&
                      work->snapshot->now_ns - state->ahead_ns < work->settings->ahead_awaited_ns;
    double missing = state->awaited_cost - work_cost_led(state);
    return is_awaited && missing > 0 ? missing : 0;
}

/* Away from where the writer is now, while there is nothing in it. */
static void place_ahead(struct balance_work *work, const struct balance_tablet_input *tablet)
{
    uint32_t coldest[COLDEST_MAX];
    uint32_t from = work_leader(&tablet->wanted);
    struct step step = {.tablet = tablet, .kind = BALANCE_LEAD, .from = from};

    if (from == BALANCE_NOBODY || work_server(work, from)->capacity_ns <= 0) {
        return;
    }
    step.cost_ns = awaited_cost(work, tablet->state);
    step.to = find_follower(work, tablet);
    if (step.to == BALANCE_NOBODY) {
        size_t count = find_coldest(work, coldest);
        step.kind = BALANCE_MOVE;
        step.to = find_target(work, tablet, from, coldest, count);
    }
    if (step.to != BALANCE_NOBODY && work_use(work, step.to) < work_use(work, from)) {
        (void)take(work, &step, BALANCE_AHEAD);
    }
    tablet->state->ahead = false;
}

/*
 * While they are placed, what each server has to await counts as its load: of writers who append at the same
 * rate, as salted ones do, each would be led to the same server otherwise, the one that is coldest now.  It counts
 * for nothing else: where they are it is there already.
 */
static bool place_all_ahead(struct balance_work *work)
{
    const struct balance_snapshot *snapshot = work->snapshot;
    double *loads_ns = arena_allocate_array(work->arena, snapshot->server_count + 1,
                                            sizeof *loads_ns);
    if (loads_ns == NULL) {
        return false;
    }
    for (size_t i = 0; i < snapshot->server_count; i++) {
        loads_ns[i] = work->servers[i].load_ns;
    }
    for (size_t i = 0; i < snapshot->tablet_count; i++) {
        uint32_t leader = work_leader(&snapshot->tablets[i].wanted);
        if (leader != BALANCE_NOBODY) {
            work->servers[leader].load_ns += awaited_cost(work, snapshot->tablets[i].state);
        }
    }
    for (size_t i = 0; i < snapshot->tablet_count; i++) {
        const struct balance_tablet_input *tablet = &snapshot->tablets[i];
        if (tablet->state->ahead && tablet->settled && tablet->may_move && !tablet->pinned &&
            !work->decided[i]) {
            place_ahead(work, tablet);
        }
    }
    for (size_t i = 0; i < snapshot->server_count; i++) {
        work->servers[i].load_ns = loads_ns[i];
    }
    return true;
}

/* --- busy servers -------------------------------------------------------------------------------- */

/* Copies on busy servers, in lists by server.  False without memory. */
static bool list_copies(struct balance_work *work, struct copy_link **ret_links)
{
    const struct balance_snapshot *snapshot = work->snapshot;
    size_t count = 0;

    for (size_t i = 0; i < snapshot->tablet_count; i++) {
        count += snapshot->tablets[i].wanted.count;
    }
    struct copy_link *links = arena_allocate_array(work->arena, count + 1, sizeof *links);
    if (links == NULL) {
        return false;
    }
    count = 0;
    for (size_t i = snapshot->tablet_count; i > 0; i--) {
        const struct balance_tablet_input *tablet = &snapshot->tablets[i - 1];
        for (uint32_t j = 0; j < tablet->wanted.count; j++) {
            struct server_work *server = &work->servers[tablet->wanted.servers[j]];
            if (server->busy && balance_cost(&tablet->state->slow) > 0) {
                links[count] = (struct copy_link){(uint32_t)(i - 1), server->first};
                server->first = (uint32_t)count++;
            }
        }
    }
    *ret_links = links;
    return true;
}

/* The best hand-over of what it leads. */
static void look_for_lead(const struct balance_work *work,
                          const struct copy_link *links,
                          uint32_t server,
                          struct step *best)
{
    for (uint32_t at = work->servers[server].first; at != BALANCE_NOBODY; at = links[at].next) {
        const struct balance_tablet_input *tablet = &work->snapshot->tablets[links[at].tablet];
        struct step step = {.tablet = tablet, .kind = BALANCE_LEAD, .from = server};
        if (work_leader(&tablet->wanted) != server || tablet->wanted.count < 2 ||
            !may_go(work, tablet)) {
            continue;
        }
        step.to = find_follower(work, tablet);
        step.cost_ns = work_cost_led(tablet->state) - work_cost_followed(tablet->state);
        if (step.to != BALANCE_NOBODY) {
            weigh(work, &step, best);
        }
    }
}

static void look_for_move(const struct balance_work *work,
                          const struct copy_link *links,
                          uint32_t server,
                          struct step *best)
{
    uint32_t coldest[COLDEST_MAX];
    size_t coldest_count = find_coldest(work, coldest);

    for (uint32_t at = work->servers[server].first; at != BALANCE_NOBODY; at = links[at].next) {
        const struct balance_tablet_input *tablet = &work->snapshot->tablets[links[at].tablet];
        struct step step = {.tablet = tablet, .kind = BALANCE_MOVE, .from = server};
        if (!may_go(work, tablet)) {
            continue;
        }
        step.to = find_target(work, tablet, server, coldest, coldest_count);
        step.cost_ns = work_leader(&tablet->wanted) == server ? work_cost_led(tablet->state)
                                                              : work_cost_followed(tablet->state);
        if (step.to != BALANCE_NOBODY) {
            weigh(work, &step, best);
        }
    }
}

static void relieve(struct balance_work *work, const struct copy_link *links, uint32_t server)
{
    double band = work_mean(work) * (1 + work->settings->imbalance_percent / 100.0);

    while (work->servers[server].moving < work->settings->moves_per_server &&
           work_use(work, server) > band) {
        struct step best = {.tablet = NULL};
        look_for_lead(work, links, server, &best);
        if (best.tablet == NULL) {
            look_for_move(work, links, server, &best);
        }
        if (best.tablet == NULL || !take(work, &best, BALANCE_IMBALANCE)) {
            return;
        }
    }
}

/* The busiest of those that are to be relieved yet. */
static uint32_t next_busy(const struct balance_work *work)
{
    uint32_t best = BALANCE_NOBODY;
    for (uint32_t i = 0; i < work->snapshot->server_count; i++) {
        if (work->servers[i].busy &&
            (best == BALANCE_NOBODY || work_use(work, i) > work_use(work, best))) {
            best = i;
        }
    }
    return best;
}

/* Since when does each have more to do than the others? */
static size_t find_busy(struct balance_work *work)
{
    const struct balance_settings *settings = work->settings;
    int64_t now_ns = work->snapshot->now_ns;
    double over = settings->imbalance_percent / 100.0;
    size_t busy = 0;

    for (uint32_t i = 0; i < work->snapshot->server_count; i++) {
        struct balance_server *state = work_server(work, i)->state;
        double use = work_use(work, i);
        bool counts = work_server(work, i)->usable && use >= settings->idle_percent / 100.0;
        bool is_over = counts && use > work_mean(work) * (1 + over);
        bool is_far = counts && use > work_mean(work) * (1 + settings->imbalance_far_times * over);
        state->over_ns = !is_over ? 0 : state->over_ns == 0 ? now_ns : state->over_ns;
        state->far_ns = !is_far ? 0 : state->far_ns == 0 ? now_ns : state->far_ns;
        work->servers[i].busy = (is_over &&
                                 now_ns - state->over_ns >= settings->imbalance_after_ns) ||
                                (is_far &&
                                 now_ns - state->far_ns >= settings->imbalance_after_far_ns);
        busy += work->servers[i].busy;
    }
    return busy;
}

bool work_move(struct balance_work *work)
{
    struct copy_link *links = NULL;
    size_t busy = find_busy(work);

    if (!place_all_ahead(work)) {
        return false;
    }
    if (busy == 0 || work->usable_count < 2) {
        return true;
    }
    if (!list_copies(work, &links)) {
        return false;
    }
    for (uint32_t server = next_busy(work); server != BALANCE_NOBODY; server = next_busy(work)) {
        relieve(work, links, server);
        work->servers[server].busy = false;
    }
    return true;
}

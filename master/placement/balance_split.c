#include "master/placement/balance_cut.h"
#include "master/placement/balance_work.h"

/* A tablet, looked at. */
struct hot {
    const struct balance_tablet_input *tablet;
    double share; /* of its server's time */
    bool over;
    bool far;
};

static struct hot look_at(const struct balance_work *work,
                          const struct balance_tablet_input *tablet)
{
    const struct balance_settings *settings = work->settings;
    const struct balance_tablet *state = tablet->state;
    uint32_t leader = work_leader(&tablet->now);
    double capacity_ns = leader == BALANCE_NOBODY ? 0 : work_server(work, leader)->capacity_ns;
    double limit = settings->split_percent / 100.0;
    double rate = (double)settings->split_rate;
    struct hot hot = {.tablet = tablet};

    hot.share = capacity_ns > 0 ? balance_cost(&state->quick) / capacity_ns : 0;
    hot.over = hot.share > limit || (rate > 0 && state->quick.operations > rate);
    hot.far = hot.share > limit * settings->far_times ||
              (rate > 0 && state->quick.operations > rate * settings->far_times);
    return hot;
}

static void forget_refusals(struct balance_tablet *state)
{
    state->refused = BALANCE_REASON_NONE;
    memset(state->refused_ns, 0, sizeof state->refused_ns);
}

/* Since when is it so? */
static void follow(const struct balance_work *work, const struct hot *hot)
{
    struct balance_tablet *state = hot->tablet->state;
    int64_t now_ns = work->snapshot->now_ns;

    state->over_ns = !hot->over ? 0 : state->over_ns == 0 ? now_ns : state->over_ns;
    state->far_ns = !hot->far ? 0 : state->far_ns == 0 ? now_ns : state->far_ns;
    if (hot->share > work_cold_limit(work)) {
        state->warm_ns = now_ns;
    }
    if (!hot->over) {
        forget_refusals(state);
    }
}

static bool is_ripe(const struct balance_work *work, const struct hot *hot)
{
    const struct balance_tablet *state = hot->tablet->state;
    int64_t now_ns = work->snapshot->now_ns;
    return (hot->over && now_ns - state->over_ns >= work->settings->split_after_ns) ||
           (hot->far && now_ns - state->far_ns >= work->settings->split_after_far_ns);
}

static void put_figures(const struct balance_work *work,
                        const struct hot *hot,
                        struct event_figures *figures)
{
    const struct balance_tablet *state = hot->tablet->state;
    figures->share_permille = work_permille(hot->share);
    figures->limit_permille = work->settings->split_percent * 10;
    figures->operations = work_count(state->quick.operations);
    figures->observations = work_count(state->observations);
    if (hot->tablet->detail != NULL) {
        figures->appended_permille = hot->tablet->detail->load.appended_permille;
    }
}

/* Said when it is not what was said last; but of two that alternate each once in refusal_pause. */
static void refuse(struct balance_work *work,
                   const struct hot *hot,
                   enum balance_reason reason,
                   const struct cut *cut)
{
    struct balance_tablet *state = hot->tablet->state;
    int64_t *said_ns = &state->refused_ns[reason - BALANCE_POPULAR_KEY];
    int64_t now_ns = work->snapshot->now_ns;
    if (state->refused == reason ||
        (*said_ns != 0 && now_ns - *said_ns < work->settings->refusal_pause_ns)) {
        return;
    }
    struct balance_decision *decision = work_decide(work, BALANCE_REFUSE, reason, hot->tablet);
    if (decision == NULL) {
        return;
    }
    state->refused = reason;
    *said_ns = now_ns;
    put_figures(work, hot, &decision->figures);
    if (cut != NULL) {
        decision->key = cut->key;
        decision->sampled = cut->sampled;
        decision->figures.key_permille = work_permille(cut->key_share);
        decision->figures.crossing_permille = work_permille(cut->crossing);
    }
    balance_describe(decision);
}

static struct balance_decision *decide(struct balance_work *work,
                                       const struct hot *hot,
                                       enum balance_reason reason,
                                       const struct bytes *rows,
                                       size_t row_count)
{
    struct bytes *copy = arena_allocate_array(work->arena, row_count, sizeof *copy);
    struct balance_decision *decision = copy == NULL
                                            ? NULL
                                            : work_decide(work, BALANCE_SPLIT, reason, hot->tablet);
    if (decision == NULL) {
        return NULL;
    }
    memcpy(copy, rows, row_count * sizeof *copy);
    decision->rows = copy;
    decision->row_count = row_count;
    put_figures(work, hot, &decision->figures);
    work->decided[hot->tablet - work->snapshot->tablets] = true;
    work->tablet_count += row_count;
    forget_refusals(hot->tablet->state);
    hot->tablet->state->over_ns = 0; /* should it fail, it is not tried again at once */
    hot->tablet->state->far_ns = 0;
    return decision;
}

/* --- who appends --------------------------------------------------------------------------------- */

static bool is_monotonic(const struct balance_work *work, const struct hot *hot)
{
    const struct balance_rate *quick = &hot->tablet->state->quick;
    const struct balance_detail *detail = hot->tablet->detail;
    return detail != NULL &&
           detail->load.appended_permille >= work->settings->monotonic_percent * 10 &&
           quick->write_cost >= quick->read_cost;
}

static void split_ahead(struct balance_work *work, const struct hot *hot)
{
    struct balance_tablet *state = hot->tablet->state;
    int64_t now_ns = work->snapshot->now_ns;
    struct bytes row;

    bool paused = state->ahead_ns != 0 && now_ns - state->ahead_ns < work->settings->ahead_pause_ns;
    refuse(work, hot, BALANCE_MONOTONIC, NULL);
    if (paused || !cut_ahead(hot->tablet->detail, &hot->tablet->range,
                             (uint64_t)work->settings->ahead_by_ns, work->arena, &row)) {
        return;
    }
    struct balance_decision *decision = decide(work, hot, BALANCE_AHEAD, &row, 1);
    if (decision != NULL) {
        state->ahead_ns = now_ns;
        state->refused = BALANCE_MONOTONIC;
        balance_describe(decision);
    }
}

/* --- cuts ---------------------------------------------------------------------------------------- */

/* As many for each server, or some have twice what others have: six pieces are two, two, one and one for four. */
static uint32_t even_out(uint32_t pieces, size_t servers, uint32_t most)
{
    size_t more = (pieces + servers - 1) / servers * servers;
    size_t fewer = most / servers * servers;
    return more <= most ? (uint32_t)more : fewer > 0 ? (uint32_t)fewer : most;
}

/* Two, but of what is far over as many as it takes, and as many for every server. */
static uint32_t pieces_of(const struct balance_work *work, const struct hot *hot)
{
    double limit = work->settings->split_percent / 100.0;
    double pieces = hot->share / (limit * work->settings->piece_percent / 100.0);
    uint32_t most = work->settings->pieces_max;

    most = most < BALANCE_PIECES_MAX ? most : BALANCE_PIECES_MAX;
    if (!hot->far || most < 2) {
        return 2;
    }
    pieces = pieces > 2 ? pieces : 2;
    return even_out(pieces < most ? (uint32_t)pieces : most, work->usable_count, most);
}

static bool waits_long(const struct balance_work *work, const struct balance_tablet *state)
{
    return state->over_ns != 0 &&
           work->snapshot->now_ns - state->over_ns >= 2 * work->settings->split_after_ns;
}

static void split_by_load(struct balance_work *work, const struct hot *hot)
{
    const struct balance_tablet *state = hot->tablet->state;
    uint32_t uneven = hot->far ? work->settings->uneven_far_percent
                               : work->settings->uneven_percent;
    struct cut cut;

    if (hot->tablet->detail == NULL && !waits_long(work, state)) {
        return; /* it will be said where its load is, or its averages still fall */
    }
    if (hot->tablet->detail == NULL ||
        state->observations < (double)work->settings->observations_min) {
        refuse(work, hot, BALANCE_TOO_FEW, NULL);
        return;
    }
    const struct cut_wanted wanted = {
        .detail = hot->tablet->detail,
        .range = &hot->tablet->range,
        .read_cost = state->quick.read_cost,
        .write_cost = state->quick.write_cost,
        .pieces = pieces_of(work, hot),
        .off_max = uneven / 100.0,
        .crossing_max = work->settings->crossing_percent / 100.0,
    };
    enum balance_reason reason = cut_choose(&wanted, &cut);
    if (reason != BALANCE_REASON_NONE) {
        refuse(work, hot, reason, &cut);
        return;
    }
    struct balance_decision *decision = decide(work, hot, hot->far ? BALANCE_FAR_OVER : BALANCE_HOT,
                                               cut.rows, cut.count);
    if (decision != NULL) {
        decision->figures.off_permille = work_permille(cut.off);
        decision->figures.crossing_permille = work_permille(cut.crossing);
        balance_describe(decision);
    }
}

/* For as many parts as one may be split into at once. */
static bool has_room(const struct balance_work *work)
{
    return work->tablet_count + work->settings->pieces_max <= work->snapshot->tablets_max;
}

static void consider(struct balance_work *work, const struct hot *hot)
{
    const struct balance_tablet *state = hot->tablet->state;
    bool cooling = state->split_ns != 0 &&
                   work->snapshot->now_ns - state->split_ns < work->settings->split_pause_ns;

    if (work->usable_count < 2 || !hot->tablet->may_move) { /* its parts would stay where it is */
        refuse(work, hot, BALANCE_ALONE, NULL);
    } else if (!has_room(work)) {
        refuse(work, hot, BALANCE_LIMIT, NULL);
    } else if (is_monotonic(work, hot)) {
        split_ahead(work, hot);
    } else if (cooling && !hot->far) {
        refuse(work, hot, BALANCE_COOLING_DOWN, NULL);
    } else {
        split_by_load(work, hot);
    }
}

void work_split(struct balance_work *work)
{
    const struct balance_snapshot *snapshot = work->snapshot;

    for (size_t i = 0; i < snapshot->tablet_count; i++) {
        const struct balance_tablet_input *tablet = &snapshot->tablets[i];
        if (balance_cost(&tablet->state->quick) <= 0 && tablet->state->over_ns == 0) {
            continue;
        }
        const struct hot hot = look_at(work, tablet);
        follow(work, &hot);
        if (is_ripe(work, &hot) && tablet->settled && tablet->may_split && !tablet->pinned) {
            consider(work, &hot);
        }
    }
}

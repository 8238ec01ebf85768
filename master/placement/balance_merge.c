#include "master/placement/balance_work.h"

/*
 * Merges.  A part of a split should be half as hot as the limit (piece_percent); below half of that again two
 * of them together are cold (merge_percent).  So what is merged has to get four times as hot before it is split
 * again; and to grow fourfold (merge_size_percent).
 */

static bool has_rested(const struct balance_work *work, const struct balance_tablet *state)
{
    int64_t now_ns = work->snapshot->now_ns;
    int64_t split_ns = state->split_ns != 0 ? state->split_ns : state->since_ns;
    return now_ns - state->since_ns >= work->settings->merge_after_ns &&
           now_ns - state->warm_ns >= work->settings->merge_after_ns &&
           now_ns - split_ns >= work->settings->merge_after_split_ns && state->over_ns == 0;
}

/* A merge that was begun is not taken back for minutes, and until it is done its tablets are neither split nor
 * moved for load: it is not begun where a member may be gone for long. */
static bool are_there(const struct balance_work *work, const struct balance_members *members)
{
    bool all = true;
    for (uint32_t i = 0; i < members->count; i++) {
        all = all && work_server(work, members->servers[i])->usable;
    }
    return all;
}

static bool is_fit(const struct balance_work *work, const struct balance_tablet_input *tablet)
{
    return tablet->settled && are_there(work, &tablet->wanted) && tablet->may_merge &&
           !tablet->pinned && !tablet->state->ahead &&
           !work->decided[tablet - work->snapshot->tablets] && has_rested(work, tablet->state);
}

/* How much both would take of the time of the left one's server, on which they would be. */
static double share_of(const struct balance_work *work,
                       const struct balance_tablet_input *left,
                       const struct balance_tablet_input *right)
{
    uint32_t leader = work_leader(&left->now);
    double capacity_ns = leader == BALANCE_NOBODY ? 0 : work_server(work, leader)->capacity_ns;
    double cost = balance_cost(&left->state->slow) + balance_cost(&right->state->slow);
    return capacity_ns > 0 ? cost / capacity_ns : cost > 0 ? 1 : 0;
}

static bool is_small(const struct balance_work *work,
                     const struct balance_tablet_input *left,
                     const struct balance_tablet_input *right)
{
    uint64_t limit = left->soft_limit_bytes < right->soft_limit_bytes ? left->soft_limit_bytes
                                                                      : right->soft_limit_bytes;
    return (double)left->size_bytes + (double)right->size_bytes <=
           (double)limit * work->settings->merge_size_percent / 100.0;
}

void work_merge(struct balance_work *work)
{
    const struct balance_snapshot *snapshot = work->snapshot;
    const double limit = work_cold_limit(work);
    size_t merging = 0;

    for (size_t i = 0; i < snapshot->tablet_count;
         i++) { /* both parts count: two of them, one merge */
        merging += !snapshot->tablets[i].settled && !snapshot->tablets[i].lost;
    }
    for (size_t i = 1; i < snapshot->tablet_count; i++) {
        const struct balance_tablet_input *left = &snapshot->tablets[i - 1];
        const struct balance_tablet_input *right = &snapshot->tablets[i];
        if (merging / 2 >= work->settings->merges_max) {
            return;
        }
        if (left->table != right->table || right->start_by_hand || right->apart ||
            !is_fit(work, left) || !is_fit(work, right) || !is_small(work, left, right)) {
            continue;
        }
        double share = share_of(work, left, right);
        if (share >= limit) {
            continue;
        }
        struct balance_decision *decision = work_decide(work, BALANCE_MERGE, BALANCE_COLD, left);
        if (decision == NULL) {
            return;
        }
        decision->right = right->tablet;
        decision->figures.share_permille = work_permille(share);
        decision->figures.limit_permille = work_permille(limit);
        balance_describe(decision);
        work->decided[i - 1] = true;
        work->decided[i] = true;
        merging += 2;
    }
}

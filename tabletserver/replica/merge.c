#include "tabletserver/replica/merge.h"

static bool is_absorbing(const struct merge_half *half)
{
    return half->standing.sequence != 0 && half->standing.barrier == REPLICA_BARRIER_ABSORB;
}

static bool is_frozen(const struct merge_half *half)
{
    return half->standing.sequence != 0 && half->standing.barrier == REPLICA_BARRIER_FROZEN;
}

bool merge_is_under_way(const struct merge_look *look)
{
    return is_absorbing(&look->left) || is_frozen(&look->right);
}

void merge_begin(struct merge *merge, const struct merge_settings *settings)
{
    *merge = (struct merge){.settings = *settings,
                            .frozen_max_ns = settings->frozen_max_ns,
                            .wait_ns = settings->wait_ns,
                            .from_ns = 0,
                            .frozen_ns = REPLICA_NEVER};
}

static int64_t doubled(int64_t value, int64_t top)
{
    return value < top / 2 ? value * 2 : top;
}

/* --- left --------------------------------------------------------------------------------------- */

/* Versions rise: what is guarded by one that is no more can never be taken. */
bool merge_is_void(const struct merge_look *look)
{
    return is_absorbing(&look->left) &&
           (look->void_told || look->left.standing.version < look->left.version ||
            look->named_version < look->right.version);
}

bool merge_must_lift(const struct merge_look *look)
{
    return look->left.leads && look->left.committed && merge_is_void(look);
}

/* --- right -------------------------------------------------------------------------------------- */

/* So that it does not begin again at once. */
static void put_off(struct merge *merge, int64_t now_ns)
{
    merge->from_ns = now_ns + merge->wait_ns;
    merge->wait_ns = doubled(merge->wait_ns, merge->settings.wait_top_ns);
    merge->frozen_max_ns = doubled(merge->frozen_max_ns, merge->settings.frozen_top_ns);
}

static enum merge_step thaw(struct merge *merge, const struct merge_look *look)
{
    if (!look->right.committed) {
        return MERGE_WAIT;
    }
    if (merge->frozen_ns != REPLICA_NEVER) {
        merge->frozen_ns = REPLICA_NEVER;
        put_off(merge, look->now_ns);
    }
    return MERGE_THAW;
}

static bool is_given_up(const struct merge *merge, const struct merge_look *look)
{
    return !look->wished || !look->aligned || !look->left.leads ||
           look->now_ns - merge->frozen_ns >= merge->frozen_max_ns;
}

/* It stands under the version that it has. */
static enum merge_step go_on(const struct merge *merge, const struct merge_look *look)
{
    const struct merge_half *left = &look->left;
    const struct merge_half *right = &look->right;
    if (!right->committed) {
        return MERGE_WAIT;
    }
    if (is_given_up(merge, look)) {
        return MERGE_RENEW;
    }
    bool may = left->standing.sequence == 0 && left->calm && right->calm && right->told &&
               right->flushed;
    return may ? MERGE_ABSORB : MERGE_WAIT;
}

static enum merge_step look_after_right(struct merge *merge, const struct merge_look *look)
{
    const struct merge_half *right = &look->right;
    bool stale = right->standing.version < right->version;
    if (merge->frozen_ns == REPLICA_NEVER && !stale) {
        merge->frozen_ns = look->now_ns;
    }
    if (!right->leads) {
        return MERGE_WAIT;
    }
    return stale ? thaw(merge, look) : go_on(merge, look);
}

/* --- both --------------------------------------------------------------------------------------- */

static enum merge_step start(struct merge *merge, const struct merge_look *look)
{
    const struct merge_half *left = &look->left;
    const struct merge_half *right = &look->right;
    merge->frozen_ns = REPLICA_NEVER;
    if (!look->wished) {
        return MERGE_WAIT;
    }
    if (!left->flushed || !right->flushed) {
        return MERGE_FLUSH;
    }
    bool may = look->aligned && left->leads && right->leads && left->calm && right->calm &&
               left->standing.sequence == 0 && right->standing.sequence == 0 &&
               look->now_ns >= merge->from_ns;
    return may ? MERGE_FREEZE : MERGE_WAIT;
}

enum merge_step merge_next(struct merge *merge, const struct merge_look *look)
{
    return is_frozen(&look->right) ? look_after_right(merge, look) : start(merge, look);
}

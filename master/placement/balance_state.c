#include "master/placement/balance_state.h"

#define SECOND_NS    INT64_C(1000000000)
#define RATE_NOTHING 1.0 /* less is none: averages end at last */

void balance_settings_default(struct balance_settings *settings)
{
    *settings = (struct balance_settings){
        .enabled = true,
        .split_percent = 25,
        .split_rate = 0,
        .split_after_ns = 10 * SECOND_NS,
        .split_after_far_ns = 3 * SECOND_NS,
        .far_times = 2,
        .split_pause_ns = 60 * SECOND_NS,
        .pieces_max = 8,
        .piece_percent = 50,
        .uneven_percent = 25,
        .uneven_far_percent = 50,
        .crossing_percent = 50,
        .refusal_pause_ns = 60 * SECOND_NS,
        .observations_min = 100,
        .monotonic_percent = 50,
        .ahead_by_ns = 6 * SECOND_NS,
        .ahead_pause_ns = 10 * SECOND_NS,
        .ahead_awaited_ns = 20 * SECOND_NS,
        .merge_percent = 25,
        .merge_size_percent = 25,
        .merge_after_ns = 300 * SECOND_NS,
        .merge_after_split_ns = 3600 * SECOND_NS,
        .merges_max = 4,
        .imbalance_percent = 10,
        .imbalance_after_ns = 60 * SECOND_NS,
        .imbalance_after_far_ns = 5 * SECOND_NS,
        .imbalance_far_times = 5,
        .impact_permille = 5,
        .idle_percent = 5,
        .move_pause_ns = 60 * SECOND_NS,
        .moves_per_server = 6,
    };
}

const char *balance_reason_name(enum balance_reason reason)
{
    static const char *const names[] = {
        [BALANCE_REASON_NONE] = "none",
        [BALANCE_HOT] = "hot",
        [BALANCE_FAR_OVER] = "far_over",
        [BALANCE_AHEAD] = "ahead",
        [BALANCE_SIZE] = "size",
        [BALANCE_COLD] = "cold",
        [BALANCE_IMBALANCE] = "imbalance",
        [BALANCE_POPULAR_KEY] = "popular_key",
        [BALANCE_MONOTONIC] = "monotonic",
        [BALANCE_TOO_FEW] = "too_few",
        [BALANCE_COOLING_DOWN] = "cooling_down",
        [BALANCE_TOO_WIDE] = "too_wide",
        [BALANCE_ALONE] = "alone",
        [BALANCE_LIMIT] = "limit",
    };
    return (unsigned)reason <= BALANCE_REASON_LAST ? names[reason] : "unknown";
}

/* --- averages ----------------------------------------------------------------------------------- */

/* The weight of what has happened in elapsed_ns against all before it. */
static double weight_of(int64_t elapsed_ns, int64_t over_ns)
{
    return (double)elapsed_ns / (double)(elapsed_ns + over_ns);
}

static void approach(double *value, double to, double weight)
{
    *value += (to - *value) * weight;
    if (*value < RATE_NOTHING) {
        *value = 0;
    }
}

static void average(struct balance_rate *rate, const struct balance_rate *now, double weight)
{
    approach(&rate->read_cost, now->read_cost, weight);
    approach(&rate->write_cost, now->write_cost, weight);
    approach(&rate->operations, now->operations, weight);
}

static void step(struct balance_tablet *state, const struct balance_rate *now, int64_t elapsed_ns)
{
    average(&state->quick, now, weight_of(elapsed_ns, BALANCE_QUICK_NS));
    average(&state->slow, now, weight_of(elapsed_ns, BALANCE_SLOW_NS));
    state->observations *= 1 - weight_of(elapsed_ns, BALANCE_OBSERVATIONS_NS);
}

void balance_tablet_measure(struct balance_tablet *state,
                            const struct load_figures *figures,
                            uint64_t observations,
                            uint64_t elapsed_ns,
                            int64_t now_ns)
{
    if (elapsed_ns == 0) {
        return;
    }
    const double per_second = (double)SECOND_NS / (double)elapsed_ns;
    const struct balance_rate now = {
        .read_cost = (double)figures->read_cpu_ns * per_second,
        .write_cost = (double)figures->write_cpu_ns * per_second,
        .operations = ((double)figures->reads + (double)figures->writes) * per_second,
    };
    step(state, &now,
         elapsed_ns > (uint64_t)BALANCE_SLOW_NS ? BALANCE_SLOW_NS : (int64_t)elapsed_ns);
    state->observations += (double)observations;
    state->stepped_ns = now_ns;
}

void balance_tablet_pass(struct balance_tablet *state, int64_t now_ns)
{
    const struct balance_rate nothing = {0};

    if (state->since_ns == 0) {
        state->since_ns = now_ns;
    }
    if (now_ns - state->stepped_ns >= BALANCE_SILENCE_NS) {
        if (state->slow.operations > 0 || balance_cost(&state->slow) > 0) {
            step(state, &nothing, BALANCE_SILENCE_NS);
        }
        state->stepped_ns = now_ns;
    }
}

/* --- splits and merges --------------------------------------------------------------------------- */

static struct balance_rate part_of(const struct balance_rate *whole, double reads, double writes)
{
    double cost = balance_cost(whole);
    struct balance_rate part = {
        .read_cost = whole->read_cost * reads,
        .write_cost = whole->write_cost * writes,
    };
    part.operations = cost > 0 ? whole->operations * balance_cost(&part) / cost : 0;
    return part;
}

void balance_tablet_split(const struct balance_tablet *parent,
                          double reads_left,
                          double writes_left,
                          bool ahead,
                          int64_t now_ns,
                          struct balance_tablet *ret_left,
                          struct balance_tablet *ret_right)
{
    struct balance_tablet child = {
        .stepped_ns = now_ns,
        .since_ns = parent->since_ns,
        .warm_ns = parent->warm_ns,
        .split_ns = now_ns,
        .moved_ns = parent->moved_ns,
        .ahead_ns = ahead ? now_ns : parent->ahead_ns,
        /* Who has most of the load has been as busy before, under another number: a table that grows fast
         * is split by size again and again. */
        .over_ns = parent->over_ns,
        .far_ns = parent->far_ns,
    };
    *ret_left = child;
    ret_left->refused = ahead ? BALANCE_MONOTONIC : BALANCE_REASON_NONE; /* it has been said */
    ret_left->quick = part_of(&parent->quick, reads_left, writes_left);
    ret_left->slow = part_of(&parent->slow, reads_left, writes_left);
    *ret_right = child;
    ret_right->quick = part_of(&parent->quick, 1 - reads_left, 1 - writes_left);
    ret_right->slow = part_of(&parent->slow, 1 - reads_left, 1 - writes_left);
    ret_right->ahead = ahead;
    ret_right->awaited_cost = !ahead ? 0
                              : parent->quick.write_cost > parent->slow.write_cost
                                  ? parent->quick.write_cost
                                  : parent->slow.write_cost;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct balance_rate sum_of(const struct balance_rate *a, const struct balance_rate *b)
{
    return (struct balance_rate){
        .read_cost = a->read_cost + b->read_cost,
        .write_cost = a->write_cost + b->write_cost,
        .operations = a->operations + b->operations,
    };
}

void balance_tablet_merge(const struct balance_tablet *left,
                          const struct balance_tablet *right,
                          struct balance_tablet *ret_merged)
{
    const struct balance_tablet merged = {
        .quick = sum_of(&left->quick, &right->quick),
        .slow = sum_of(&left->slow, &right->slow),
        .stepped_ns = later(left->stepped_ns, right->stepped_ns),
        .since_ns = later(left->since_ns, right->since_ns),
        .warm_ns = later(left->warm_ns, right->warm_ns),
        .split_ns = later(left->split_ns, right->split_ns),
        .moved_ns = later(left->moved_ns, right->moved_ns),
        .ahead_ns = later(left->ahead_ns, right->ahead_ns),
    };
    *ret_merged = merged;
}

/*
 * One round at work: what balance_round() hands to its parts.  For files of this folder only.
 */
#ifndef MASTER_PLACEMENT_BALANCE_WORK_H
#define MASTER_PLACEMENT_BALANCE_WORK_H

#include "master/placement/balance.h"

#define BALANCE_NOBODY UINT32_MAX

/* A server, as things are wanted, and as this round decides on. */
struct server_work {
    double load_ns;  /* of CPU time a second */
    uint32_t moving; /* tablets on their way to or from it */
    uint32_t first;  /* tablet with a copy wanted here: links[] leads on; only of busy servers */
    bool busy;       /* above the mean for long enough: it is to be relieved */
};

/* A copy of a tablet on a busy server. */
struct copy_link {
    uint32_t tablet;
    uint32_t next; /* in links; BALANCE_NOBODY ends */
};

struct balance_work {
    const struct balance_settings *settings;
    const struct balance_snapshot *snapshot;
    struct arena *arena;
    struct balance_decisions *decisions;
    struct server_work *servers;
    bool *decided; /* by tablet: nothing else in this round */
    size_t usable_count;
    size_t tablet_count; /* splits of this round counted in */
    double load_ns;      /* of all usable servers */
    double capacity_ns;
};

static inline const struct balance_server_input *work_server(const struct balance_work *work,
                                                             uint32_t server)
{
    return &work->snapshot->servers[server];
}

/* Of its time; 0 where it has none. */
static inline double work_use(const struct balance_work *work, uint32_t server)
{
    double capacity_ns = work->snapshot->servers[server].capacity_ns;
    return capacity_ns > 0 ? work->servers[server].load_ns / capacity_ns : 0;
}

/* Of its server's time.  Two tablets that take less together are merged; one that takes more is warm. */
static inline double work_cold_limit(const struct balance_work *work)
{
    const struct balance_settings *settings = work->settings;
    return settings->split_percent / 100.0 * settings->merge_percent / 100.0;
}

static inline double work_mean(const struct balance_work *work)
{
    return work->capacity_ns > 0 ? work->load_ns / work->capacity_ns : 0;
}

static inline uint32_t work_leader(const struct balance_members *members)
{
    return members->count == 0 ? BALANCE_NOBODY : members->servers[members->leader];
}

static inline bool work_has_member(const struct balance_members *members, uint32_t server)
{
    for (uint32_t i = 0; i < members->count; i++) {
        if (members->servers[i] == server) {
            return true;
        }
    }
    return false;
}

static inline double work_cost_led(const struct balance_tablet *state)
{
    return balance_cost(&state->slow);
}

static inline double work_cost_followed(const struct balance_tablet *state)
{
    return state->slow.write_cost * BALANCE_SECONDARY_SHARE;
}

static inline uint32_t work_permille(double share)
{
    return share <= 0 ? 0 : share >= 4000 ? 4000000 : (uint32_t)(share * 1000 + 0.5);
}

/* What reports claim may be more than can be counted. */
static inline uint64_t work_count(double value)
{
    return value <= 0 ? 0 : value >= 1e18 ? UINT64_C(1000000000000000000) : (uint64_t)value;
}

/* Room for one more decision, all zero but what is known of the tablet; NULL when the round is full. */
struct balance_decision *work_decide(struct balance_work *work,
                                     enum balance_kind kind,
                                     enum balance_reason reason,
                                     const struct balance_tablet_input *tablet);

/* balance_split.c: what is hot: cut, or refused. */
void work_split(struct balance_work *work);
/* balance_merge.c: what is cold. */
void work_merge(struct balance_work *work);
/* balance_move.c: what was split ahead is placed; busy servers are relieved.  False without memory. */
bool work_move(struct balance_work *work);

#endif /* MASTER_PLACEMENT_BALANCE_WORK_H */

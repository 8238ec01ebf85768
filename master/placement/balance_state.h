/*
 * What balancing keeps from round to round: load made smooth, since when it has been so, and what was
 * done last.  All zero is a tablet or server of which nothing is known yet.
 *
 * Two averages are kept of each figure: one over about BALANCE_QUICK_NS, which splits go by, and one
 * over BALANCE_SLOW_NS, which everything else goes by.  A tablet that is in no report for
 * BALANCE_SILENCE_NS has had nothing to do.
 *
 * Thread rule: one owner.  Pure: time comes in.
 */
#ifndef MASTER_PLACEMENT_BALANCE_STATE_H
#define MASTER_PLACEMENT_BALANCE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/message.h"

#define BALANCE_QUICK_NS        INT64_C(1000000000)
#define BALANCE_SLOW_NS         INT64_C(10000000000)
#define BALANCE_SILENCE_NS      INT64_C(3000000000)
#define BALANCE_OBSERVATIONS_NS INT64_C(10000000000)
#define BALANCE_PIECES_MAX      16

struct balance_settings {
    bool enabled;
    /* SPLIT.  A tablet is hot that takes more than split_percent of its server's time, or has more than
     * split_rate operations a second (0 = no rate is too high); it is far above with far_times as much. */
    uint32_t split_percent;
    uint64_t split_rate;
    uint32_t far_times;
    int64_t split_after_ns;      /* a tablet that has been hot for so long is split, */
    int64_t split_after_far_ns;  /* one that has been far above for so long */
    int64_t split_pause_ns;      /* between two splits of a tablet, unless it is far above */
    uint32_t pieces_max;         /* that one far above is split into, up to BALANCE_PIECES_MAX */
    uint32_t piece_percent;      /* how hot each of these should be, in percent of split_percent */
    uint32_t uneven_percent;     /* |left - right| of the load of both sides of a cut, at most */
    uint32_t uneven_far_percent; /* the same of one far above: a worse cut is better than none */
    /* No cut where so many percent of the operations, or more, touch both sides of it. */
    uint32_t crossing_percent;
    /* Until a refusal is said again, where another one was said meanwhile. */
    int64_t refusal_pause_ns;
    uint32_t observations_min; /* samples of where the load is: with fewer no cut is made */
    /* With so many of the writes appending, a cut in the middle parts nothing. */
    uint32_t monotonic_percent;

    /* SPLIT ahead of a writer that appends: at the row that it will have reached by then.  A split and a
     * move take less. */
    int64_t ahead_by_ns;
    int64_t ahead_pause_ns;   /* between two of them in a tablet */
    int64_t ahead_awaited_ns; /* until the writer has come, and shows in averages */

    /* MERGE.  Two neighbours are cold that take less than so much of split_percent together; 0 = none are. */
    uint32_t merge_percent;
    uint32_t merge_size_percent;  /* of the soft limit: how large both may be together */
    int64_t merge_after_ns;       /* neighbours that have been cold for so long are merged, */
    int64_t merge_after_split_ns; /* if neither came of a split within this time */
    uint32_t merges_max;          /* under way at once */

    /* LEAD and MOVE.  A server has too much to do that uses imbalance_percent more than the mean. */
    uint32_t imbalance_percent;
    int64_t imbalance_after_ns;     /* it is relieved when that has been so for so long, */
    int64_t imbalance_after_far_ns; /* or imbalance_far_times as much for so long */
    uint32_t imbalance_far_times;
    /* Of the mean: by so much the busier server must be less busy after a move. */
    uint32_t impact_permille;
    uint32_t idle_percent; /* of its time: a server that uses less is not relieved of anything */
    int64_t move_pause_ns; /* a tablet stays for so long where it was moved to */
    uint32_t moves_per_server; /* under way at once, to and from it */
};

void balance_settings_default(struct balance_settings *settings);

/* Why something was decided, or refused. */
enum balance_reason {
    BALANCE_REASON_NONE = 0,
    BALANCE_HOT,          /* SPLIT: above the share for long enough */
    BALANCE_FAR_OVER,     /* SPLIT: above twice the share */
    BALANCE_AHEAD,        /* SPLIT ahead of who appends; LEAD, MOVE of what came of it */
    BALANCE_SIZE,         /* SPLIT that a server asked for: above the tablet's soft limit */
    BALANCE_COLD,         /* MERGE */
    BALANCE_IMBALANCE,    /* LEAD, MOVE */
    BALANCE_POPULAR_KEY,  /* REFUSE: one row takes so much that no row parts the load */
    BALANCE_MONOTONIC,    /* REFUSE: rows are appended: a cut in the middle would part nothing */
    BALANCE_TOO_FEW,      /* REFUSE: too few observations of where its load is */
    BALANCE_COOLING_DOWN, /* REFUSE: it was split a moment ago */
    BALANCE_TOO_WIDE,     /* REFUSE: scans would touch both sides of every cut */
    BALANCE_ALONE,        /* REFUSE: there is no other server to take a part */
    BALANCE_LIMIT,        /* REFUSE: there are as many tablets as there may be */
};

#define BALANCE_REASON_LAST BALANCE_LIMIT
#define BALANCE_REFUSALS    (BALANCE_REASON_LAST - BALANCE_POPULAR_KEY + 1)

const char *balance_reason_name(enum balance_reason reason); /* "popular_key" */

/* Where in a tablet its load is: what a report said last that said anything of it. */
struct balance_detail {
    struct load_detail load;
    uint64_t operations; /* reads and writes that the report was about */
    uint64_t elapsed_ns; /* and its time */
};

/* ns of CPU time a second, and operations a second. */
struct balance_rate {
    double read_cost;
    double write_cost;
    double operations;
};

static inline double balance_cost(const struct balance_rate *rate)
{
    return rate->read_cost + rate->write_cost;
}

/* A tablet.  Times are 0 when it never happened, as far as is known. */
struct balance_tablet {
    struct balance_rate quick;
    struct balance_rate slow;
    double observations; /* in about BALANCE_OBSERVATIONS_NS */
    int64_t stepped_ns;  /* the averages are as of this time */
    int64_t since_ns;    /* when it was first seen */
    int64_t over_ns;     /* since when it has been above split_percent or split_rate */
    int64_t far_ns;      /* since when it has been far above them */
    int64_t warm_ns;     /* when it was last too warm to be merged */
    int64_t split_ns;    /* when it came of a split */
    int64_t moved_ns;    /* when LEAD or MOVE was decided for it */
    int64_t ahead_ns;    /* when it, or the tablet that it came of, was split ahead */
    bool ahead;          /* it is the right-hand one of such a split, and has not been placed yet */
    double awaited_cost; /* then: what the writer that is to come will take */
    /* Which refusal was said last; and when each of them was, since the tablet was last not refused. */
    enum balance_reason refused;
    int64_t refused_ns[BALANCE_REFUSALS]; /* from BALANCE_POPULAR_KEY on */
};

struct balance_server {
    int64_t over_ns; /* since when it has been above the mean by imbalance_percent */
    int64_t far_ns;  /* and by five times that */
};

/* A report of its primary: figures of the time elapsed_ns. */
void balance_tablet_measure(struct balance_tablet *state,
                            const struct load_figures *figures,
                            uint64_t observations,
                            uint64_t elapsed_ns,
                            int64_t now_ns);

/* Nobody reported: what follows from the time that has passed. */
void balance_tablet_pass(struct balance_tablet *state, int64_t now_ns);

/* Of a split: reads_left and writes_left are the shares of its load before the row, 0 to 1. */
void balance_tablet_split(const struct balance_tablet *parent,
                          double reads_left,
                          double writes_left,
                          bool ahead,
                          int64_t now_ns,
                          struct balance_tablet *ret_left,
                          struct balance_tablet *ret_right);

void balance_tablet_merge(const struct balance_tablet *left,
                          const struct balance_tablet *right,
                          struct balance_tablet *ret_merged);

#endif /* MASTER_PLACEMENT_BALANCE_STATE_H */

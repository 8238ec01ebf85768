/*
 * edubba_hotspots.h -- where a cluster's load is.
 *
 * Tablet servers count what each of their tablets has to do and tell the master each second. A
 * tablet that takes 1 % or more of its server's CPU time for a minute is HOT, and the master
 * remembers it: that minute, its range of rows as it was then, and what it did.  It remembers the
 * last 14 days, or less where much is hot (65 536 minutes of tablets in all), in memory: a master
 * that is started anew knows nothing of what was before.
 *
 * Of the tablets that are busy they tell which of their rows it is, too, and the master says in words what
 * that means for the table's keys: edubba_list_hot_keys(), edubba_advise().
 *
 * THREADS, ERRORS, MEMORY as in edubba.h.  The calls block, until a master has answered or the
 * client's deadline_ms has passed; not to be called in completions.
 */
#ifndef EDUBBA_HOTSPOTS_H
#define EDUBBA_HOTSPOTS_H

#include "edubba.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tablet that was hot. */
struct edubba_hot_tablet {
    const char *table;
    uint64_t tablet;           /* its number; a split makes two others of it */
    uint64_t server;           /* that served it */
    struct edubba_bytes start; /* its rows, the first included */
    struct edubba_bytes end;   /* and this one not; empty = open */
    int64_t start_us;          /* when: a minute of the master's clock, or what there is of one */
    int64_t end_us;
    double cpu_percent;       /* of the CPU time that its server had */
    double read_cpu_percent;  /* of these, for reads */
    double write_cpu_percent; /* and writes */
    uint64_t reads;           /* in this time: rows asked for by key, and scans begun */
    uint64_t read_rows;       /* looked at */
    uint64_t read_bytes;      /* of answers */
    uint64_t writes;          /* operations, each on one row */
    uint64_t write_cells;
    uint64_t write_bytes;
};

/* Which of them: times are microseconds since 1970. */
struct edubba_hot_window {
    int64_t start_us;
    int64_t end_us;      /* 0 = until now; the minute that is not over yet is listed too */
    int64_t interval_us; /* of each tablet only its hottest minute in every interval that begins at
                            a multiple of this; 0 = all its minutes; INT64_MAX = one in the whole
                            window */
};

/* Hot tablets of all tables that are still there, the hottest first.  *tablets: edubba_free() it.
 * Errors: EDUBBA_INVALID_ARGUMENT (an interval below 0), EDUBBA_UNAVAILABLE,
 * EDUBBA_DEADLINE_EXCEEDED. */
enum edubba_code edubba_list_hot_tablets(struct edubba_client *client,
                                         const struct edubba_hot_window *window,
                                         struct edubba_hot_tablet **tablets,
                                         size_t *count,
                                         struct edubba_error *error);

/* --- where in a tablet its load is --------------------------------------------------------------- */

/* Rows from this one to the next point's; the last one's go to the tablet's end.  Each point stands for
 * about as much load as any other, where no row is too popular for that. */
struct edubba_hot_point {
    struct edubba_bytes row;
    double reads;    /* a second: rows read by key, and rows that scans looked at */
    double writes;   /* a second */
    double crossing; /* scans a second that touched rows before it and rows from it on */
};

/* A row that is touched often. */
struct edubba_hot_key {
    struct edubba_bytes row;
    double reads; /* a second, at least */
    double writes;
};

/* A tablet that was busy when its server told of it last: 100 operations a second or more, 1 000 rows
 * that scans looked at, 1 MiB, or reads that took 1 % of the time.  Rates are of about the last ten
 * seconds before that, and made of samples. */
struct edubba_hot_keys {
    const char *table;
    uint64_t tablet;
    uint64_t server;
    struct edubba_bytes start; /* its rows, as now */
    struct edubba_bytes end;
    int64_t age_us;           /* since it was told */
    double cpu_percent;       /* of the CPU time that its server may use */
    double read_cpu_percent;  /* of these, for reads */
    double write_cpu_percent; /* and writes */
    double reads;             /* a second: rows asked for by key, and scans begun */
    double read_rows;         /* looked at */
    double read_bytes;
    double writes;
    double write_bytes;
    double read_wait_us; /* on average: from the request's arrival until it is begun */
    double read_latency_us;
    double write_wait_us;
    double write_latency_us;
    double appended_percent; /* of the writes: to rows above all that were written before */
    uint64_t observations;   /* sampled operations behind it */
    const struct edubba_hot_point *points; /* ascending */
    size_t point_count;
    const struct edubba_hot_key *keys; /* the most frequent first; none where no row is */
    size_t key_count;
};

/* Of a table, or of all where table is ""; those that take most of their server's time first, up to
 * count_max (0 = as many as fit an answer, 1000 at most).  *more: there are others.  Nothing is told of
 * tablets that were not busy in the last ten minutes.  *list: edubba_free() it.
 * Errors: EDUBBA_NOT_FOUND, EDUBBA_UNAVAILABLE, EDUBBA_DEADLINE_EXCEEDED. */
enum edubba_code edubba_list_hot_keys(struct edubba_client *client,
                                      const char *table,
                                      uint32_t count_max,
                                      struct edubba_hot_keys **list,
                                      size_t *count,
                                      bool *more,
                                      struct edubba_error *error);

/* --- what it says about the table's keys ---------------------------------------------------------- */

enum edubba_advice_kind {
    EDUBBA_ADVICE_BALANCED = 1,      /* nothing is to be said against them */
    EDUBBA_ADVICE_TOO_FEW = 2,       /* too little was seen to say anything */
    EDUBBA_ADVICE_POPULAR_KEY = 3,   /* one row takes much of the load */
    EDUBBA_ADVICE_MONOTONIC = 4,     /* rows only grow at the end of a tablet */
    EDUBBA_ADVICE_NARROW_RANGE = 5,  /* few tablets of many take most of the load */
    EDUBBA_ADVICE_HIGH_PRESSURE = 6, /* a tablet takes most of what its server may use */
    EDUBBA_ADVICE_LARGE_ROWS = 7,
};

struct edubba_advice {
    int kind;             /* enum edubba_advice_kind, or one of a newer master */
    double share_percent; /* of the table's load; of its server's CPU time for HIGH_PRESSURE */
    uint64_t tablet;      /* 0 = it is about the table */
    struct edubba_bytes start;
    struct edubba_bytes end;
    struct edubba_bytes key; /* POPULAR_KEY */
    const char *text;        /* a sentence */
    const char *pattern;     /* of schemas that cures it: "field promotion", "salting"; "" = none */
    const char *cure;        /* a sentence; "" = none */
};

/* What it is said by. */
struct edubba_advice_basis {
    uint64_t observations; /* sampled operations */
    uint64_t operations_per_second;
    uint64_t tablet_count; /* of the table */
    uint64_t busy_count;   /* of these, tablets that were busy */
    int64_t age_us;        /* since the newest of it was told; 0 where nothing was */
};

/* What is to be said of the table's keys, the worst first; at least one.  basis may be NULL.
 * *advice: edubba_free() it.
 * Errors: EDUBBA_NOT_FOUND, EDUBBA_UNAVAILABLE, EDUBBA_DEADLINE_EXCEEDED. */
enum edubba_code edubba_advise(struct edubba_client *client,
                               const char *table,
                               struct edubba_advice **advice,
                               size_t *count,
                               struct edubba_advice_basis *basis,
                               struct edubba_error *error);

/* --- what is done about it ------------------------------------------------------------------------- */

/* What was decided about load, and what came of it; or why nothing could be.  Shares are in percent,
 * 0 where they do not apply. */
struct edubba_event {
    uint64_t number;
    uint64_t change; /* rises with every event and with every outcome */
    int64_t time_us;
    int64_t ended_us; /* 0 = it is under way */
    const char *kind; /* "split", "merge", "lead" (another replica leads), "move", "refuse" */
    /* "hot", "far_over", "ahead", "size", "cold", "imbalance"; of a refusal "popular_key",
     * "monotonic", "too_few", "cooling_down", "too_wide", "alone", "limit"; or another one of a newer
     * master. */
    const char *reason;
    /* "under_way", "done", "given_up", "unknown" (its master is gone); of a refusal "refused" */
    const char *outcome;
    const char *text; /* a sentence, with its numbers */
    const char *why;  /* given_up: what was in the way; unknown: why; else "" */
    const char *table;
    uint64_t tablet;
    uint64_t right; /* merge: the other one */
    uint64_t from;  /* lead, move: servers */
    uint64_t to;
    struct edubba_bytes start; /* the tablet's rows then */
    struct edubba_bytes end;
    struct edubba_bytes row; /* split: the first cut */
    uint32_t row_count;      /* split: how many */
    struct edubba_bytes key; /* popular_key: that row */
    double share_percent;    /* of its server's CPU time, that the tablet takes */
    double limit_percent;    /* the bound that it is above; merge: below */
    double key_percent;      /* popular_key: of the tablet's load */
    double crossing_percent; /* of the operations, that a cut would part */
    double appended_percent; /* of the writes */
    double off_percent;      /* split: how unequal its parts are */
    double from_percent; /* lead, move: that the servers used of their time; and the mean of all */
    double to_percent;
    double mean_percent;
    uint64_t operations; /* a second */
    uint64_t observations;
    uint64_t size_bytes;  /* split by size: what is stored in the tablet, */
    uint64_t limit_bytes; /* and the bound that it is above */
};

/* Events of a table (NULL = all) whose change is above after (0 = all that the master has: the last
 * 4 096, also those of masters before it), ascending by change.  Asked with the last one's change it tells
 * what is new: an event comes again when it has ended.  *events: edubba_free() it; untouched, as *count, by
 * what fails.
 * Errors as above; a table that is gone is found as long as there are events of it. */
enum edubba_code edubba_list_events(struct edubba_client *client,
                                    const char *table,
                                    uint64_t after,
                                    struct edubba_event **events,
                                    size_t *count,
                                    struct edubba_error *error);

#ifdef __cplusplus
}
#endif

#endif /* EDUBBA_HOTSPOTS_H */

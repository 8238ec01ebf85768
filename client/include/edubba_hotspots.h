/*
 * edubba_hotspots.h -- where a cluster's load is.
 *
 * Tablet servers count what each of their tablets has to do and tell the master each second. A
 * tablet that takes 1 % or more of its server's CPU time for a minute is HOT, and the master
 * remembers it: that minute, its range of rows as it was then, and what it did.  It remembers the
 * last 14 days, or less where much is hot (65 536 minutes of tablets in all), in memory: a master
 * that is started anew knows nothing of what was before.
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

/* What was decided about load, and what came of it; or why nothing could be.  Shares are in percent,
 * 0 where they do not apply. */
struct edubba_event {
    uint64_t number;
    uint64_t change; /* rises with every event and with every outcome */
    int64_t time_us;
    int64_t ended_us; /* 0 = it is under way */
    const char *kind; /* "split", "merge", "lead" (another replica leads), "move", "refuse" */
    const char
        *reason; /* "hot", "far_over", "ahead", "cold", "imbalance"; of a refusal "popular_key",
                             "monotonic", "too_few", "cooling_down", "too_wide", "alone"; or another */
    const char *outcome; /* "under_way", "done", "given_up"; of a refusal "refused" */
    const char *text;    /* a sentence, with its numbers */
    const char *why;     /* given_up: what was in the way; else "" */
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
};

/* Events of a table (NULL = all) whose change is above after (0 = all that the master has: some
 * thousands, in memory), ascending by change.  Asked with the last one's change it tells what is new: an
 * event comes again when it has ended.  *events: edubba_free() it.  Errors as above. */
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

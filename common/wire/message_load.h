/*
 * Messages about load: part of message.h, which every user includes.
 *
 * How it is measured, and what is made of it, stands in docs/hotspots.md.
 */
#ifndef COMMON_WIRE_MESSAGE_LOAD_H
#define COMMON_WIRE_MESSAGE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/model/row_set.h"

/* --- in a sync: what tablets have had to do ----------------------------------------------------- */

/* Operations that were carried out; reads and writes apart. */
struct load_figures {
    uint64_t reads;      /* rows asked for by key, and scans begun */
    uint64_t read_rows;  /* looked at, whether or not a filter let them through */
    uint64_t read_bytes; /* of answers */
    uint64_t read_cpu_ns;
    uint64_t writes; /* operations, each on one row */
    uint64_t write_cells;
    uint64_t write_bytes; /* of rows, qualifiers and values */
    uint64_t write_cpu_ns;
    /* Times by the clock, from the request's arrival, added up over all reads, and over all writes.
     * A tablet of an older server has none. */
    uint64_t read_wait_ns;    /* until it was begun */
    uint64_t read_latency_ns; /* until its answer, or the first of a scan, was ready */
    uint64_t read_latency_max_ns;
    uint64_t write_wait_ns;    /* until it went into the log */
    uint64_t write_latency_ns; /* until it could be answered: synced, and on other copies */
    uint64_t write_latency_max_ns;
};

/* Rows from this point to the next one; the last point's go to the tablet's end. */
struct load_point {
    struct bytes row;
    uint64_t reads; /* rows read by key, and rows that scans looked at */
    uint64_t writes;
    uint64_t crossing; /* scans that touched rows before this point and rows from it on */
};

/* A row that was touched often. */
struct load_key {
    struct bytes row;
    uint64_t reads;
    uint64_t writes;
};

#define LOAD_POINTS_MAX 32 /* of a tablet in a report */
#define LOAD_KEYS_MAX   8

/*
 * Where in a tablet its load was, made of sampled operations and scaled up to all of them.  Told of tablets
 * that are busy; of others there are no points.  The first point's row may be the tablet's start; points
 * ascend, and each stands for about as much load as any other, where no row is too popular for that.
 */
struct load_detail {
    const struct load_point *points;
    size_t point_count;
    const struct load_key *keys; /* the most frequent, most frequent first */
    size_t key_count;
    uint64_t observations;      /* sampled operations behind it */
    uint32_t appended_permille; /* of the writes: to rows above all that were written before */
    uint64_t window_ns; /* what points lie in: the last seconds, the newest most; 0 = not said */
};

struct tablet_load {
    uint64_t tablet;
    struct load_figures figures;
    struct load_detail detail;
};

/* What a server has had to do since the report before this one.  It goes along with every sync
 * until one that carried it is answered; a number that was taken already is passed over. */
struct load_report {
    uint64_t number;      /* rises by one, from 1 with each incarnation; 0 = nothing to report */
    uint64_t elapsed_ns;  /* since the report before */
    uint64_t capacity_ns; /* CPU time that the server could have used in it */
    const struct tablet_load *tablets; /* those that had anything to do */
    size_t tablet_count;
};

/* --- the hot tablets that a master makes of it --------------------------------------------------- */

/* A tablet that took a good part of its server's time for about a minute. */
struct hot_tablet {
    uint64_t number; /* ascending; 0 = its minute is not over: others will follow for it */
    uint64_t table;
    struct bytes table_name;
    uint64_t tablet;
    uint64_t server;
    struct row_range range; /* as it was then */
    int64_t start_us;       /* wall clock of the master */
    int64_t end_us;
    uint64_t capacity_ns; /* of its server, in this time */
    struct load_figures figures;
};

struct list_hot_tablets_request {
    int64_t start_us; /* of a window; what overlaps it is listed */
    int64_t end_us;
    uint64_t after;     /* what the page before said as next; 0 = from the first on */
    uint32_t count_max; /* 0 = as many as fit */
};

struct list_hot_tablets_response {
    const struct hot_tablet *tablets; /* in order of time; those of number 0 last */
    size_t tablet_count;
    uint64_t next; /* others follow: ask again, after this number; 0 = that was all */
};

/* --- where in a tablet the load is: the newest that each one's server has told --------------------- */

struct list_hot_keys_request {
    struct bytes table; /* name; empty = all */
    uint32_t count_max; /* of tablets; 0 = as many as fit */
};

/* A tablet that was busy when it was heard of last.  Divide by elapsed_ns for rates. */
struct hot_keys {
    uint64_t table;
    struct bytes table_name;
    uint64_t tablet;
    uint64_t server;
    struct row_range range;
    uint64_t age_us;     /* since it was heard */
    uint64_t elapsed_ns; /* that the figures are about: some of the last seconds, the newest most */
    uint64_t capacity_ns;
    struct load_figures figures;
    struct load_detail detail; /* of the newest report */
};

struct list_hot_keys_response {
    const struct hot_keys *tablets; /* those that take most of their server first */
    size_t tablet_count;
    bool more; /* there are others, that take less */
};

/* --- what is wrong with a table's row keys, in words ------------------------------------------------ */

enum advice_kind {
    ADVICE_BALANCED = 1,      /* nothing to be said against it */
    ADVICE_TOO_FEW = 2,       /* too little was seen to say anything */
    ADVICE_POPULAR_KEY = 3,   /* one row takes much of the load */
    ADVICE_MONOTONIC = 4,     /* rows only grow at the end of a tablet */
    ADVICE_NARROW_RANGE = 5,  /* few tablets of many, or few rows of a tablet, take most */
    ADVICE_HIGH_PRESSURE = 6, /* a tablet takes most of what its server can do */
    ADVICE_LARGE_ROWS = 7,    /* rows so large that few of them are much work */
};

/* "popular_key", "monotonic": for programs.  "unknown" for another. */
const char *advice_kind_name(uint32_t kind);

struct advise_request {
    struct bytes table; /* name */
};

struct advice_finding {
    uint32_t kind;           /* enum advice_kind; another = of a newer version */
    uint32_t share_permille; /* of the table's load; of the tablet's server for HIGH_PRESSURE */
    uint64_t tablet;         /* 0 = it is about the table */
    struct row_range range; /* what it is about; all of the table where nothing narrower is meant */
    struct bytes key;       /* POPULAR_KEY */
    struct bytes text;      /* a sentence */
    struct bytes pattern;   /* that cures it, as schema-patterns call it; may be empty */
    struct bytes cure;      /* how, in a sentence; may be empty */
};

struct advise_response {
    const struct advice_finding *findings; /* the worst first; at least one */
    size_t finding_count;
    uint64_t observations; /* sampled operations behind it */
    uint64_t operations_per_second;
    uint64_t tablet_count; /* of the table, */
    uint64_t busy_count;   /* and of these: those that there is something to be said about */
    uint64_t age_us; /* since the newest of what it is said by was told; 0 where nothing was */
};

#endif /* COMMON_WIRE_MESSAGE_LOAD_H */

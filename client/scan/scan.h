/*
 * Scans: rows of a set in key order, tablet after tablet.
 *
 *   loop side      plan -> route -> call on a bulk lane -> messages      (scan_run.c)
 *                                                            |
 *                         chunks, under the scan's lock      v
 *   caller's side  rows one by one, out of the chunk in hand           (scan.c)
 *
 * CREDIT.  What was granted to servers and has not come yet, plus what has come and is not consumed,
 * is buffer_bytes (a server may exceed it by one slice).  A consumed chunk is granted again.
 *
 * Every message says how far the server is; the plan goes on behind that whatever happens, so no
 * row is lost and none comes twice.
 *
 * A scan is freed while the loop is held, after edubba_scan_close().
 */
#ifndef CLIENT_SCAN_SCAN_H
#define CLIENT_SCAN_SCAN_H

#include "client/core/scan_plan.h"
#include "client/routing/lane.h"
#include "client/routing/route.h"
#include "client/routing/table.h"

/* What differs between a scan of one set and the merge of several scans. */
struct scan_source {
    enum edubba_code (*next)(struct edubba_scan *scan,
                             const struct edubba_row **row,
                             struct edubba_error *error);
    enum edubba_code (*poll)(struct edubba_scan *scan,
                             const struct edubba_row **row,
                             bool *ready,
                             void (*on_ready)(void *context),
                             void *context,
                             struct edubba_error *error);
    bool (*progress)(struct edubba_scan *scan, struct edubba_bytes *row); /* NULL = never any */
    bool (*failed_row)(const struct edubba_scan *scan, struct edubba_bytes *row); /* NULL = never */
    void (*statistics)(const struct edubba_scan *scan, struct edubba_scan_statistics *statistics);
    void (*close)(struct edubba_scan *scan);
};

struct edubba_scan {
    const struct scan_source *source;
};

struct plain_scan {
    struct edubba_scan scan;
    struct edubba_client *client;
    uint64_t table;
    uint64_t rows_limit; /* 0 = none */
    uint64_t buffer_bytes;
    uint32_t deadline_ms;
    bool reversed;
    bool tells_progress;
    struct arena arena; /* of the set and the filter */
    const struct filter *filter_tree;
    struct row_set set;

    /* Loop side. */
    struct task start_task;
    struct task close_task;
    struct call call;
    struct scan_plan plan;
    struct row_range asked; /* what the call covers at most */
    bool is_paused;
    struct buffer row; /* whose tablet comes next */
    struct buffer asked_start;
    struct buffer asked_end;
    struct route_waiter waiter;
    struct timer timer;
    struct retry retry;
    int64_t progress_ns;
    uint64_t rows_received;
    struct error trouble;
    uint32_t address; /* of the last attempt; LOCATION_NOT_SERVED = none, or it found no server */

    /* Under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct task credit_task;
    bool credit_is_posted;
    uint64_t credit_bytes;   /* consumed and not granted again */
    uint64_t buffered_bytes; /* received and not consumed */
    struct link_event *first_chunk;
    struct link_event **last_chunk;
    bool has_ended;
    struct error end;         /* STATUS_OK = all rows were there */
    struct buffer failed_row; /* what that is about; empty = no row; as it is once it has ended */
    void (*on_ready)(void *context);
    void *on_ready_context;
    bool is_telling;        /* on_ready runs */
    struct buffer progress; /* how far the servers are; empty = nothing new, or not asked for */
    struct edubba_scan_statistics statistics;

    /* Caller's side. */
    struct link_event *chunk;
    struct arena row_arena;
    struct edubba_row row_now;
    struct buffer progress_given;
    uint64_t rows_given;
};

/* Begin; while the loop is held. */
void scan_run_start(struct plain_scan *scan);

/* Consumed bytes are granted again; while the loop is held. */
void scan_run_credit(struct plain_scan *scan);

/* Stop all that goes on; while the loop is held. */
void scan_run_stop(struct plain_scan *scan);

#endif /* CLIENT_SCAN_SCAN_H */

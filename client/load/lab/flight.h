/*
 * A flight: the requests of one phase of an experiment, many at a time, and what is counted of them.
 *
 * As in client/load/run.h a SLOT is a place for one request in flight.  In the closed loop its completion
 * starts the next; in the open loop it goes back to a thread that starts requests when they are due, and
 * latency counts from that time.
 *
 * Every success is counted at the tablet that its row lies in, by the map that the main thread last
 * listed.  What is shared is behind one lock, which is held for a few hundred nanoseconds.
 *
 * Invariants:
 *   (1) A slot has one request at a time, and belongs to who started it until that has ended.
 *   (2) Every event and query that was started is counted once.
 *   (3) After lab_flight_wait() has said so nothing is in flight.
 *
 * Thread rule: completions and the starter as said; all functions here the main thread's.
 */
#ifndef CLIENT_LOAD_LAB_FLIGHT_H
#define CLIENT_LOAD_LAB_FLIGHT_H

#include <pthread.h>
#include <stdatomic.h>

#include "client/load/core/tally.h"
#include "client/load/lab/core/report/result.h"

struct lab_client {
    struct edubba_client *client;
    struct edubba_table *table;
};

enum lab_flight_kind {
    LAB_FLIGHT_HISTORY, /* the first events, each once, as fast as may be */
    LAB_FLIGHT_WRITES,
    LAB_FLIGHT_QUERIES,
};

struct lab_slot {
    struct lab_flight *flight;
    struct lab_client *client;
    struct lab_slot *next; /* in the open loop's list */
    int64_t begun_ns;
    struct lab_event event;
    size_t key_count; /* rows that it writes or reads */
    struct lab_slot_key {
        size_t size;
        uint8_t data[LAB_KEY_BYTES_MAX];
    } keys[LAB_ROWS_MAX];
    struct edubba_scan *scan;
    uint64_t rows;
    uint64_t bytes; /* of what a query was given */
};

/* The last row of a tablet, as writes showed it. */
struct lab_mark {
    bool is_known; /* `before` is */
    size_t before_size;
    size_t now_size;                   /* 0 = nothing was written yet */
    uint8_t before[LAB_KEY_BYTES_MAX]; /* at the last look */
    uint8_t now[LAB_KEY_BYTES_MAX];
};

struct lab_flight {
    /* said before */
    const struct lab_experiment *experiment;
    const struct lab_variant *variant;
    struct lab_world world;
    enum lab_flight_kind kind;
    size_t query;
    struct lab_client *clients;
    uint64_t client_count;
    uint64_t in_flight; /* of each client */
    double rate;        /* 0 = closed loop */
    uint64_t first;     /* event */
    uint64_t count;     /* of events; 0 = no end */
    /* shared and changing */
    _Atomic uint64_t started;
    _Atomic bool stop;
    struct load_tally *tally;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t active; /* slots that are not parked */
    struct lab_slot *slots;
    struct lab_slot *free; /* open loop */
    struct lab_slot *free_last;
    pthread_t starter;
    bool starter_runs;
    int64_t begun_ns;
    uint64_t late; /* open loop: requests that came due and were never sent */
    const struct lab_map *map;
    uint64_t *operations; /* by tablet of the map, since the last look */
    struct lab_mark *marks;
    uint64_t events; /* written, ended well */
    uint64_t rows_seen;
    uint64_t rows_found;
    uint64_t cells_seen;
    uint64_t bytes_given;
    uint64_t judged;
    uint64_t behind;
    struct lab_frequent by_row;
    struct lab_frequent by_who;
    int64_t *given;   /* sums: acknowledged; NULL = none */
    int64_t *doubted; /* that may or may not have been added */
    char first_error[LAB_ERROR_BYTES];
};

/* Allocate; what is said before is set, and begins as all 0.  False: no memory.  deinit in any case. */
bool lab_flight_init(struct lab_flight *flight);
void lab_flight_deinit(struct lab_flight *flight);

/* The tablets are these from now on (they must live until the flight has ended).  ret_operations, with
 * LAB_TABLETS_MAX places, gets what was done by tablet of the map before, since the last look. */
void lab_flight_look(struct lab_flight *flight,
                     const struct lab_map *map,
                     uint64_t *ret_operations);

/* Start.  False: no thread to be had. */
bool lab_flight_start(struct lab_flight *flight);

/* Start nothing more; queries under way are cut off. */
void lab_flight_stop(struct lab_flight *flight);

/* Wait until all has ended, or until_ns; false = not yet. */
bool lab_flight_wait(struct lab_flight *flight, int64_t until_ns);

/* --- between flight.c, write.c and ask.c ------------------------------------------------------- */

/* What became of a start. */
enum lab_start {
    LAB_ON_ITS_WAY, /* not to be touched any more */
    LAB_ENDED,      /* already, and counted */
};

enum lab_start lab_write_start(struct lab_slot *slot);
enum lab_start lab_query_start(struct lab_slot *slot);

/* The slot's request has ended and is counted: go on. */
void lab_slot_ended(struct lab_slot *slot);

/* Count its success or failure, and its latency.  rows: written or returned. */
void lab_slot_count(struct lab_slot *slot, enum edubba_code code, const char *text, uint64_t rows);

/* Nothing could even be sent: there is no sense in going on. */
void lab_slot_refused(struct lab_slot *slot, enum edubba_code code, const char *text);

/* A row was read: at the tablet it lies in.  Takes the lock. */
void lab_flight_count_row(struct lab_flight *flight, const void *row, size_t size);

#endif /* CLIENT_LOAD_LAB_FLIGHT_H */

/*
 * A phase of load: requests in flight, what they count, and its end.
 *
 * A SLOT is a place for one request in flight.  It is started, its completion comes (those of a
 * client never two at a time), it counts, and is started again:
 *
 *   closed loop        the completion itself starts the next: no thread of ours, no hand-over
 *   with threads       the completion hands the slot to its client's starter thread, which starts
 *   or a rate          it at once, or when the next request is due
 *
 * Nothing is allocated for a request; what slots share is a few atomic counts.
 *
 * Invariants:
 *   (1) A slot has one request at a time, and belongs to who started it until that has ended.
 *   (2) Every row submitted is counted once, under its outcome.
 *   (3) After load_run_wait() nothing is in flight.
 *
 * Thread rule: slots as said; all else the main thread's.
 */
#ifndef CLIENT_LOAD_RUN_H
#define CLIENT_LOAD_RUN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "client/load/core/options.h"
#include "client/load/core/row_check.h"
#include "client/load/core/row_place.h"
#include "client/load/core/schedule.h"
#include "client/load/core/tally.h"
#include "client/load/core/zipfian.h"
#include "client/load/inserts.h"
#include "client/load/sheet.h"
#include "edubba.h"

#define LOAD_FAMILY     "data"
#define LOAD_SUM_FAMILY "sum"

struct load_slot;

/* A row of a request. */
struct load_item {
    struct load_slot *slot;
    uint64_t number;
};

struct load_slot {
    struct load_client *client;
    struct load_slot *next; /* of its client's that are free */
    uint64_t random;
    int64_t begun_ns; /* in the open loop: when it was due */
    enum load_kind kind;
    _Atomic uint32_t left; /* rows not ended; one more while they are being submitted */
    uint64_t first;        /* number of its first operation in this phase */
    uint32_t count;        /* of rows */
    uint32_t rows_ok;      /* the completions' */
    struct edubba_scan *scan;
    struct edubba_filter *filter; /* of reads; NULL = the whole row */
    uint64_t scan_rows;           /* those below --records, as far as their keys tell, each once */
    uint64_t scan_rows_wanted;    /* 0 = all of the table */
    struct load_row_place scan_place;
    struct edubba_bytes scan_end; /* lasts for ever */
    struct load_item *items;
    uint8_t *values; /* of the row being submitted */
    struct edubba_mutation *mutations;
};

struct load_client {
    struct load_run *run;
    struct edubba_client *client;
    struct edubba_table *table;
    struct load_starter *starter; /* NULL = completions start the next */
    struct load_slot *free;   /* its starter's: the one last used first, as it is in the caches */
    struct load_client *next; /* its starter's: of those that have a free slot */
    struct load_slot *slots;
    struct load_tally *tallies;            /* by kind */
    struct load_sheet sheets[LOAD_SHEETS]; /* of batches */
};

struct load_run {
    const struct load_options *options; /* complete */
    const struct load_workload *workload;
    bool is_load;
    enum load_key_form keys;
    enum load_distribution distribution;
    uint64_t batch;
    uint64_t in_flight;
    uint64_t operations; /* 0 = no end */
    double duration_s;   /* 0 = no end */
    double warmup_s;
    double rate;
    uint64_t thread_count;
    int64_t begun_ns;
    /* shared, and not changed while it runs */
    uint8_t *pool;
    struct load_field *fields; /* ascending by name */
    struct load_shape shape;   /* of rows, made of these */
    struct load_zipfian scrambled;
    struct load_zipfian zipfian; /* of the records there are at first */
    uint64_t choices;            /* keys that zipfian chooses from */
    struct load_client *clients;
    uint64_t client_count;
    struct load_starter *starters;
    struct load_sums *sums; /* NULL = not verified */
    /* shared and changing */
    _Atomic uint64_t started;
    _Atomic bool stop;
    struct load_inserts inserts;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t active; /* slots that are not parked */
    struct edubba_error first_error;
    struct edubba_error fatal; /* EDUBBA_OK, or why a request could not even be submitted */
    char first_wrong[LOAD_FAULT_BYTES]; /* "" = nothing that was verified is wrong */
};

int64_t load_now_ns(void);

/* A change that ended so may or may not have been made. */
static inline bool load_outcome_is_unknown(enum edubba_code code)
{
    return code == EDUBBA_DEADLINE_EXCEEDED || code == EDUBBA_UNAVAILABLE;
}

/* Allocate; what is said about the phase is set before.  False: no memory.  deinit in any case. */
bool load_run_init(struct load_run *run);
void load_run_deinit(struct load_run *run);

/* Start all slots.  False: no thread to be had. */
bool load_run_start(struct load_run *run);

/* Wait until all has ended, or until_ns; false = not yet. */
bool load_run_wait(struct load_run *run, int64_t until_ns);

/* Sum of all clients; tallies by kind. */
void load_run_gather(const struct load_run *run, struct load_tally *ret_tallies);

/* --- of requests (request.c) ------------------------------------------------------------------ */

enum load_start {
    LOAD_PARKED,     /* the phase is over for this slot */
    LOAD_ON_ITS_WAY, /* not to be touched any more: its completion may be running */
    LOAD_ENDED,      /* already, and counted */
};

/* Start one request.  begun_ns 0 = now. */
enum load_start load_slot_start(struct load_slot *slot, int64_t begun_ns);

/* Start requests in the slot until one is on its way, or it is parked. */
void load_slot_go(struct load_slot *slot);

/* The request has ended and is counted: go on. */
void load_slot_ended(struct load_slot *slot);

void load_slot_park(struct load_slot *slot);

struct load_tally *load_slot_tally(const struct load_slot *slot);
uint64_t load_slot_choose(struct load_slot *slot, uint64_t index);
void load_slot_count_error(struct load_slot *slot, enum edubba_code code, const char *text);

/* A row of the slot's request has ended. */
void load_slot_row_ended(struct load_slot *slot, uint64_t number, enum edubba_code code);

/* Nothing was sent: there is no sense in going on. */
void load_slot_submit_failed(struct load_slot *slot, enum edubba_code code, const char *text);

/* All rows have ended: count the request. */
void load_slot_count_request(struct load_slot *slot);

/* --- of rows that were read (verify.c) -------------------------------------------------------- */

/* Count the values of the row that was read as this one; with --verify, look at them. */
void load_slot_take_row(struct load_slot *slot, uint64_t number, const struct edubba_row *row);

/* The next row of the slot's scan.  False: it has no place there (it came twice, or the scan went
 * back), which with --verify counts as wrong. */
bool load_slot_take_scanned(struct load_slot *slot, const struct edubba_row *row);

/* --- of batches of changes (batch.c) ---------------------------------------------------------- */

/* Does the slot's request change many rows at once? */
bool load_batch_is(const struct load_slot *slot);

/* Start it: as load_slot_start, whose part it is. */
enum load_start load_batch_start(struct load_slot *slot);

/* --- of scans (scans.c) ----------------------------------------------------------------------- */

bool load_scan_start(struct load_slot *slot);

/* --- of threads (starter.c) ------------------------------------------------------------------- */

void load_starter_take(struct load_starter *starter, struct load_slot *slot);

#endif /* CLIENT_LOAD_RUN_H */

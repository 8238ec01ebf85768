/*
 * A bundle: the rows of one edubba_submit_rows, on their way to one completion.
 *
 *                       +--> part --> parcel of one lane --+--> answered, row by row --+
 *      new --> (route) -+--> part --> ...                  |                           +--> completion
 *                       +--> submission of a single row <--+ not where it was looked for
 *
 * Rows that are located travel together, encoded once, under one timer and without memory of their
 * own.  What a server has too much to do for (UNAVAILABLE) is tried again together too, after a
 * pause of the part's.  A row that is not located, or not where it was sent, goes on as a
 * submission; so does one with an identity that the caller gave.  In any case it is the same bytes that are sent again, and so the same identity.
 *
 * Invariants:
 *   (1) The completion is called exactly once, when the last row has ended.
 *   (2) All rows' identities are unfinished until then.
 *   (3) Rows of one server are queued in their order, on one lane; those that are tried again, on any.
 *
 * Thread rule: made by the submitting thread, then the loop's.
 */
#ifndef CLIENT_OPERATIONS_BUNDLE_H
#define CLIENT_OPERATIONS_BUNDLE_H

#include "client/core/retry.h"
#include "client/core/row_table.h"
#include "client/operations/admission.h"
#include "client/routing/parcel.h"

#define BUNDLE_PART_ROWS  128 /* small enough to fill a message, and to leave room in one, well */
#define BUNDLE_PART_BYTES (64 * 1024)

/* The rows of a parcel. */
struct bundle_part {
    struct parcel parcel;
    struct bundle *bundle;
    struct bundle_part *next;
    struct server_lane *lane; /* good while the parcel is queued, or on its way */
    struct row_slice slice;
    uint32_t left;  /* rows still TOGETHER: not answered */
    uint32_t again; /* rows that are AGAIN */
    bool is_timed;  /* the times of their first attempts are told as they stay: it was sent */
    struct retry retry;
    struct timer timer; /* of the pause before the next attempt */
    char *trouble;      /* why that is needed; NULL = it is not, or no memory */
};

struct bundle {
    struct task task;
    struct edubba_client *client;
    struct admission admission;
    uint64_t table;
    uint32_t deadline_ms;
    int64_t deadline_ns;
    struct timer timer;
    struct row_table rows;
    struct bundle_part *parts; /* the last one first */
    struct bundle_part first_part;
    uint64_t *processes; /* of rows whose identity is another process's, else 0; NULL = of none */
    uint32_t holds;      /* it does not end meanwhile */
    edubba_rows_completion completion;
    void *context;
    uint8_t memory[]; /* of rows */
};

/* Room for so many rows; client, admission, completion and all else are the caller's to set, who adds
 * the rows.  NULL without memory. */
struct bundle *bundle_make(size_t row_count);

/* One that was not started. */
void bundle_free(struct bundle *bundle);

/* Send it on its way. */
void bundle_start(struct bundle *bundle);

/* Whose identity the row has, if not this process's; else 0. */
uint64_t bundle_process(const struct bundle *bundle, uint32_t row);

/* The row, of capacity rows, has it.  Errors: STATUS_NO_MEMORY. */
enum status bundle_set_process(struct bundle *bundle,
                               size_t capacity,
                               uint32_t row,
                               uint64_t process);

/* The row's operation, and where in it the key ends. */
uint8_t *bundle_encoded(struct bundle *bundle, uint32_t row, size_t *ret_key_end);

/* A row that went on alone has ended. */
void bundle_end_row(struct bundle *bundle, uint32_t row, enum edubba_code code, struct bytes text);

#endif /* CLIENT_OPERATIONS_BUNDLE_H */

/*
 * A submission: one operation on its way from edubba_submit to its completion, or one row of a
 * bundle that goes on alone.
 *
 *            +--------- LOCATING <--------+
 *            v                            |
 *   new -> (route) -> in a parcel --> (failed) -> PAUSED -+
 *            ^              |                             |
 *            +--------------|-----------------------------+
 *                           v
 *                         (ended)    also from anywhere, when the deadline has passed
 *
 * It is encoded once, at submit, with its identity; every attempt sends the same bytes.  So the
 * caller's memory is free after submit, and a retry is recognised as one.  The one thing that is not
 * known at submit is the clock of the server that will judge it: the time of the first attempt is told
 * in that when it is sent for the first time, and stays.
 *
 * Invariants:
 *   (1) The completion is called, or the bundle told, exactly once.
 *   (2) Its identity does not change, and is unfinished until no more attempt will be made.
 *
 * Thread rule: made by the submitting thread, then the loop's.
 */
#ifndef CLIENT_OPERATIONS_SUBMISSION_H
#define CLIENT_OPERATIONS_SUBMISSION_H

#include "client/loop/client.h"
#include "client/operations/admission.h"
#include "client/routing/batch.h"
#include "client/routing/route.h"

/* A minute less than servers remember: a retry is always let in, or nobody waits for it. */
#define DEADLINE_MAX_MS ((uint32_t)(LIMIT_DEDUPE_WINDOW_US / 1000 - 60000))

struct bundle;

struct submission {
    struct task task;
    struct parcel parcel;
    struct edubba_client *client;
    struct admission admission; /* nothing, of a bundle's row */
    struct bundle *bundle;      /* NULL = on its own from the beginning */
    uint32_t bundle_row;
    enum operation_kind kind;
    uint64_t table;
    uint32_t deadline_ms;
    uint32_t address; /* of the last attempt; LOCATION_NOT_SERVED = none, or it found no server */
    int64_t deadline_ns;
    bool is_paused;
    bool is_timed;  /* the time of its first attempt is told as it stays */
    size_t key_end; /* in encoded */
    struct retry retry;
    struct timer timer;
    struct route_waiter waiter; /* while it is being located */
    edubba_completion completion;
    void *context;
    char *trouble; /* what the last attempt met; NULL = nothing */
    struct bytes row;
    uint8_t *encoded; /* as operation_encode wrote it: parcel.size_bytes of them */
    uint8_t memory[];
};

/* Encode the operation, give it an identity (NULL: the client's next) and send it on its way.  Waits
 * for room unless this is the loop.  Errors: STATUS_NO_MEMORY, STATUS_INVALID_ARGUMENT. */
enum status submission_start(struct edubba_client *client,
                             struct operation *operation,
                             const struct edubba_identity *identity,
                             uint32_t deadline_ms,
                             edubba_completion completion,
                             void *context,
                             struct error *ret_error);

/* A row of a bundle goes on alone; its last attempt, if any, went to address.  One of the next three
 * follows.  NULL without memory. */
struct submission *submission_of_row(struct bundle *bundle,
                                     uint32_t row,
                                     bool was_sent,
                                     uint32_t address);

/* Send it to whom holds its row. */
void submission_route(struct submission *submission);

/* A server has answered it; what result points to lives for the call. */
void submission_on_result(struct submission *submission, const struct operation_result *result);

/* The connection was closed before an answer. */
void submission_on_closed(struct submission *submission, struct bytes text);

/* The deadline of a call: what it asked for, or the client's. */
uint32_t submission_deadline_ms(const struct edubba_client *client, uint32_t asked_ms);

/* Text of a deadline that has passed; address and trouble as client_append_waited_for() has them. */
void submission_say_expired(const struct edubba_client *client,
                            uint32_t deadline_ms,
                            uint32_t address,
                            const char *trouble,
                            struct error *ret_error);

/* The moment of a first attempt that began then, in a server's clock, as far as one is known. */
int64_t submission_first_attempt_us(struct edubba_client *client, int64_t begun_ns);

#endif /* CLIENT_OPERATIONS_SUBMISSION_H */

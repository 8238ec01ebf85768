/*
 * A submission: one operation on its way from edubba_submit to its completion.
 *
 *            +--------- LOCATING <--------+
 *            v                            |
 *   new -> (route) -> QUEUED -> SENT -> (failed) -> PAUSED -+
 *            ^                    |                         |
 *            +--------------------|-------------------------+
 *                                 v
 *                               (ended)    also from anywhere, when the deadline has passed
 *
 * It is encoded once, at submit, with its identity; every attempt sends the same bytes.  So the
 * caller's memory is free after submit, and a retry is recognised as one.
 *
 * Invariants:
 *   (1) The completion is called exactly once.
 *   (2) Its identity does not change, and is unfinished until no more attempt will be made.
 *
 * Thread rule: made by the submitting thread, then the loop's.
 */
#ifndef CLIENT_SUBMISSION_H
#define CLIENT_SUBMISSION_H

#include "client/batch.h"
#include "client/client.h"
#include "client/route.h"

enum submission_state {
    SUBMISSION_LOCATING,
    SUBMISSION_QUEUED,
    SUBMISSION_SENT,
    SUBMISSION_PAUSED,
};

struct submission {
    struct task task;
    struct list_link link; /* in a lane's queue */
    struct edubba_client *client;
    enum submission_state state;
    enum operation_kind kind;
    uint64_t table;
    uint64_t ticket;
    uint64_t sequence; /* 0 = a read */
    uint32_t deadline_ms;
    uint32_t address; /* of the last attempt */
    int64_t deadline_ns;
    struct retry retry;
    bool was_sent;
    struct timer timer;
    struct route_waiter waiter; /* LOCATING */
    struct batch *batch;        /* SENT */
    uint32_t index;             /* in the batch */
    edubba_completion completion;
    void *context;
    char *trouble; /* what the last attempt met; NULL = nothing */
    struct bytes row;
    struct bytes encoded; /* as operation_encode wrote it */
    uint8_t memory[];
};

/* Encode the operation, give it an identity and send it on its way.  Waits for room unless this is
 * the loop.  Errors: STATUS_NO_MEMORY, STATUS_INVALID_ARGUMENT. */
enum status submission_start(struct edubba_client *client,
                             struct operation *operation,
                             uint32_t deadline_ms,
                             edubba_completion completion,
                             void *context,
                             struct error *ret_error);

/* A server has answered it; what result points to lives for the call. */
void submission_on_result(struct submission *submission, const struct operation_result *result);

/* The connection was closed before an answer. */
void submission_on_closed(struct submission *submission, struct bytes text);

/* Wait until all that were started are completed. */
void submission_wait_for_all(struct edubba_client *client);

#endif /* CLIENT_SUBMISSION_H */

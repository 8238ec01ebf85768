/*
 * A batch: one OPERATIONS request on its way through the server.
 *
 *   nng thread        decode; cut into PARTS: one for the reads, one for each store with writes
 *     |        \
 *   worker     store loop ... log ... store loop        each part completes its operations
 *     |        /
 *   batch_send        the results that a part has ready go out in one message; the message that
 *                     answers the last operation ends the request
 *
 * Everything a batch needs lives in its arena, filled before any part is handed out and only read
 * after; results belong to the part that completes them.  The batch goes with its last result.
 * What an evaluation found out may be large: it is the work's own and goes with its answer.
 *
 * Thread rule: a part belongs to the thread that works on it; batch_send from any thread.
 */
#ifndef TABLETSERVER_SERVE_WRITE_BATCH_H
#define TABLETSERVER_SERVE_WRITE_BATCH_H

#include <pthread.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/io/transport/transport.h"
#include "tabletserver/serve/read/read_confirm.h"
#include "tabletserver/serve/worker_pool.h"
#include "tabletserver/tablet/row_lock.h"

/* What one request may need beside its bytes: a message of very small parts grows when decoded. */
#define REQUEST_ARENA_BYTES_MAX ((size_t)256 << 20)

struct batch;
struct evaluation;
struct server;
struct store_loop;

/* One operation of a batch. */
struct work {
    struct row_waiter waiter; /* while it waits for its row */
    struct work *next;        /* in one list at a time: deferred, pending, completed */
    struct part *part;
    const struct operation *operation;
    uint64_t sequence;             /* of its log record, once appended */
    struct bytes result;           /* what a duplicate is to be told; lives until it is appended */
    uint64_t reigns_over;          /* its tablet's (write_order.h), when the evaluation began */
    bool duplicate;                /* waits for the first attempt's commit */
    struct evaluation *evaluation; /* CHECK_AND_MUTATE, READ_MODIFY_WRITE; until it is answered */
    struct operation_result answer;
};

struct part {
    struct job job;    /* the reads' part */
    struct part *next; /* in the loop's list of parts with something to send */
    struct batch *batch;
    struct store_loop *loop; /* NULL: the reads' part, or the answers known at once */
    struct work *first;      /* what is to be done, in order */
    struct work *last;
    uint32_t work_count;    /* in that list, when it was handed out */
    struct read_wait wait;  /* the reads' part, where reads are confirmed: .asked 0 = not yet */
    struct work *completed; /* ready to be sent */
    uint32_t completed_count;
    struct buffer rows; /* the reads' row blocks */
};

struct batch {
    struct server *server;
    struct transport_reply *reply;
    struct request_head head;
    struct operations_request request;
    enum lane lane;
    int64_t received_ns;
    int64_t deadline_ns;    /* monotonic; INT64_MAX = none */
    pthread_mutex_t lock;   /* orders messages; guards remaining */
    uint32_t remaining;     /* operations not yet answered */
    uint64_t charged_bytes; /* of the server's budget for requests under way */
    /* Noted as reads' in that budget: charged_bytes where it only reads, else 0. */
    uint64_t noted_bytes;
    struct part *parts; /* one for each loop, then reads, then immediate answers */
    struct work *works; /* one for each operation */
    struct arena arena;
};

/* Decode and hand out.  Takes over reply.  On an nng thread. */
void batch_start(struct server *server,
                 const struct transport_request *request,
                 struct transport_reply *reply);

/* This operation is answered: put it on its part's list for the next batch_send. */
void batch_complete(struct work *work);
/* The same with an error. text is copied. */
void batch_fail(struct work *work, enum status status, const char *text);

/* Answer all of the batch at once with an error.  Requires: all that it asks for is in this part, and
 * nothing of it is answered or completed. */
void batch_refuse(struct part *part, enum status status, const char *text);

/* Send what the part has ready.  The batch may be gone when it returns. */
void batch_send(struct part *part);

/* Answer that the row is not served here, with where it is if that is known. */
void batch_redirect(struct work *work);

#endif /* TABLETSERVER_SERVE_WRITE_BATCH_H */

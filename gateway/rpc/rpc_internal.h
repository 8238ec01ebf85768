/*
 * What the files of rpc share.
 *
 * EVENTS.  A tag of a completion queue is a struct rpc_event in the object that waits for it; the
 * queue's thread calls `run` with whether the operation worked.
 *
 * A CALL IS HELD by its method until what ends it has gone out, by the operation that tells of its
 * end where it is watched, by each send under way, and by each thread inside of a function that starts one; the last to
 * let go frees it.  So a server whose calls have all been freed is used by nobody.
 *
 * WHAT ENDS A CALL is sent by the thread of its queue, whoever has said it: those that are ready go out
 * together, fewer threads wait for each other inside of libgrpc, and what it tells of the end finds its
 * thread awake.  While few calls run it is sent by who has it: one change of threads less to wait for.
 *
 * WHAT IS SENT stays ours until the operation that sends it has ended: messages, trailers.
 *
 * MEMORY OF CALLS is used again: a call that has ended is kept, with the block that its arena begins with and
 * the array that its headers were in, for the next one; so many of them as run at a time as a rule.
 */
#ifndef GATEWAY_RPC_RPC_INTERNAL_H
#define GATEWAY_RPC_RPC_INTERNAL_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include "gateway/rpc/rpc.h"

#define RPC_END_OPERATIONS_MAX 4 /* headers, message, status, and whether the caller is gone */

/* That have ended and are kept: a gateway with few clients runs no more at a time. */
#define RPC_CALLS_KEPT_MAX 256

/* A request of a kilobyte, what it is decoded to, and what its method keeps. */
#define RPC_CALL_BLOCK_BYTES 4096

struct rpc_event {
    void (*run)(struct rpc_event *event, bool ok);
};

/* Where a call of a method will arrive; some for each method and queue. */
struct rpc_slot {
    struct rpc_event event; /* first */
    struct rpc_server *server;
    struct rpc_thread *thread;       /* of the queue */
    const struct rpc_method *method; /* NULL = any that is not served */
    void *registration;
    grpc_call *call;
    grpc_metadata_array metadata;
    grpc_call_details details; /* of what is not served */
    gpr_timespec deadline;
    grpc_byte_buffer *payload;
};

/* Runs what a queue brings, and sends what calls of it end with. */
struct rpc_thread {
    struct rpc_server *server;
    grpc_completion_queue *queue;
    pthread_t thread;
    struct rpc_event woken;
    pthread_mutex_t lock;         /* of what follows */
    struct rpc_call *ready;       /* to be sent, in this order */
    struct rpc_call **ready_last; /* where the next is linked */
    bool is_asleep;               /* or about to: who has something for it wakes it */
};

struct rpc_server {
    struct rpc_settings settings;
    grpc_server *server;
    struct rpc_thread *threads; /* one a queue */
    uint32_t queue_count;
    uint32_t thread_count; /* that run */
    struct rpc_slot *slots;
    size_t slot_count;
    bool is_started;
    bool is_draining;
    atomic_uint_fast64_t request_bytes;
    struct rpc_event stopped;
    pthread_mutex_t lock;
    pthread_cond_t changed;             /* on the monotonic clock */
    atomic_uint_fast64_t calls_running; /* changes under lock */
    uint64_t slots_armed; /* wait for a call, or their arrival for a thread; under lock */
    struct rpc_call *kept[RPC_CALLS_KEPT_MAX]; /* have ended; under lock */
    uint32_t kept_count;
    bool is_stopped; /* libgrpc has let go of all calls and connections; under lock */
    char address[128];
};

struct rpc_call {
    struct rpc_server *server;
    const struct rpc_method *method;
    grpc_call *call;
    grpc_metadata_array metadata;
    gpr_timespec deadline;
    int64_t start_ns;
    uint64_t request_bytes; /* counted for it */
    struct arena arena;
    atomic_uint holders;
    bool sent_headers;

    struct rpc_event sent;
    grpc_byte_buffer *sending;
    void (*on_sent)(void *context);
    void *on_sent_context;

    struct rpc_thread *thread; /* sends what ends it */
    struct rpc_call *next_ready;
    grpc_op end[RPC_END_OPERATIONS_MAX];
    size_t end_count;
    grpc_slice end_text;
    struct rpc_event finished;
    grpc_byte_buffer *answer; /* NULL = none */
    grpc_metadata details;    /* its value is ours to let go */

    bool is_watched; /* closed tells of its end; else finished does */
    struct rpc_event closed;
    int is_closed_by_caller; /* what libgrpc says at the end */
    pthread_mutex_t lock;    /* of what follows, and held while an operation is started */
    bool is_cancelled;
    void (*on_cancelled)(void *context);
    void *on_cancelled_context;
    alignas(max_align_t) uint8_t block[RPC_CALL_BLOCK_BYTES]; /* the arena's first */
};

/* Start operations of a call; event runs when they have ended, each time on the call's queue.  The
 * caller holds the call.  One thread at a time is let in, as libgrpc demands: what was started may
 * have ended, on another thread, before this returns. */
void rpc_call_start(struct rpc_call *call,
                    const grpc_op *operations,
                    size_t count,
                    struct rpc_event *event);

/* Start what ends the call.  The caller holds it, or is its thread. */
void rpc_call_send_end(struct rpc_call *call);

/* A call has come, and is counted as running: make it, of one that was kept or NULL, and let its method run.
 * Takes what the slot holds. */
void rpc_call_begin(struct rpc_slot *slot, struct rpc_call *kept);

/* Of one that is kept no longer. */
void rpc_call_free(struct rpc_call *call);

void rpc_call_hold(struct rpc_call *call);
void rpc_call_release(struct rpc_call *call);

/* Errors: none; rpc_thread_start(): false, there is no thread to be had. */
void rpc_thread_init(struct rpc_thread *thread,
                     struct rpc_server *server,
                     grpc_completion_queue *queue);
void rpc_thread_deinit(struct rpc_thread *thread);
bool rpc_thread_start(struct rpc_thread *thread);

/* Until the queue is shut down and empty. */
void rpc_thread_run(struct rpc_thread *thread);

/* What ends the call is ready: send it, or have its thread send it with what else is.  From any thread; takes the
 * method's hold. */
void rpc_thread_end_call(struct rpc_call *call);

/* Returns a call that was kept, with an empty array for headers, or NULL. */
struct rpc_call *rpc_server_call_begun(struct rpc_server *server);
/* The last thing that anyone does with a call: the server may be gone when this returns.  call NULL: there was
 * no memory for one. */
void rpc_server_call_ended(struct rpc_server *server, struct rpc_call *call);

#define RPC_PEM_BYTES_MAX (1024 * 1024) /* of a file */

/* NULL when libgrpc says no. */
grpc_server *rpc_options_make_server(const struct rpc_settings *settings);

/* Errors: those of file_read_whole() for the PEM files; STATUS_IO. */
enum status rpc_options_make_credentials(const struct rpc_settings *settings,
                                         grpc_server_credentials **ret_credentials,
                                         struct error *ret_error);

#endif /* GATEWAY_RPC_RPC_INTERNAL_H */

/*
 * What rpc_server.c and rpc_call.c share.
 *
 * EVENTS.  A tag of a completion queue is a struct rpc_event in the object that waits for it; the
 * queue's thread calls `run` with whether the operation worked.
 *
 * A CALL IS HELD by its method until it is finished, by the operation that tells of its end, and by
 * each send under way; the last to let go frees it.
 */
#ifndef GATEWAY_RPC_RPC_INTERNAL_H
#define GATEWAY_RPC_RPC_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>

#include "gateway/rpc/rpc.h"

struct rpc_event {
    void (*run)(struct rpc_event *event, bool ok);
};

/* Where the next call of a method will arrive; one a method and queue. */
struct rpc_slot {
    struct rpc_event event;
    struct rpc_server *server;
    grpc_completion_queue *queue;
    const struct rpc_method *method; /* NULL = any that is not served */
    void *registration;
    grpc_call *call;
    grpc_metadata_array metadata;
    grpc_call_details details;
    gpr_timespec deadline;
    grpc_byte_buffer *payload;
};

struct rpc_server {
    struct rpc_settings settings;
    grpc_server *server;
    grpc_completion_queue **queues;
    pthread_t *threads;
    uint32_t thread_count; /* that run */
    struct rpc_slot *slots;
    size_t slot_count;
    atomic_uint_fast64_t request_bytes; /* of calls not finished */
    atomic_uint_fast64_t calls_running;
    struct rpc_event stopped;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_stopped; /* all calls have ended; under lock */
    char address[128];
};

struct rpc_call {
    struct rpc_server *server;
    const struct rpc_method *method;
    grpc_call *call;
    grpc_metadata_array metadata;
    gpr_timespec deadline;
    int64_t start_ns;
    uint64_t request_bytes; /* charged */
    struct arena arena;
    atomic_uint holders;
    bool sent_headers;

    struct rpc_event sent;
    void (*on_sent)(void *context);
    void *on_sent_context;

    struct rpc_event finished;

    struct rpc_event closed;
    int is_closed_by_caller; /* what libgrpc says at the end */
    pthread_mutex_t lock;
    bool is_cancelled; /* under lock */
    void (*on_cancelled)(void *context);
    void *on_cancelled_context;
};

/* A call has come: make it, and let its method run. */
void rpc_call_begin(struct rpc_slot *slot);

#endif /* GATEWAY_RPC_RPC_INTERNAL_H */

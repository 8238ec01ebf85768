/*
 * Calls over gRPC, on libgrpc's C core.
 *
 * A server listens at one address and has one completion queue a core, each with a thread.  A call
 * comes with its one message (none of the methods that are served streams requests) and is handed
 * to its method on such a thread.  The method starts what it needs and returns; nothing in here
 * waits.  It ends the call exactly once, from any thread, with rpc_finish() or rpc_answer().
 *
 *     unary     rpc_answer(call, &response), or rpc_finish(call, status)
 *     stream    rpc_send(call, &message, on_sent, context), one at a time; then rpc_finish()
 *
 * BACK-PRESSURE.  on_sent comes when libgrpc has handed the message to the network, which waits for
 * its reader.  So a stream holds one message.
 *
 * CANCELLATION.  When the caller goes away or its deadline passes, on_cancelled (if one was set) is
 * called once, on a thread of the server, and the call still has to be finished.  What is sent then
 * goes nowhere.
 *
 * MEMORY.  A call has an arena that lives until it is finished; messages are decoded into it.  Bytes
 * of all messages that are held at a time are bounded; a call beyond that is refused with
 * EDUBBA_UNAVAILABLE before its method sees it.
 */
#ifndef GATEWAY_RPC_RPC_H
#define GATEWAY_RPC_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "client/include/edubba.h"
#include "common/base/arena.h"
#include "common/base/bytes.h"
#include "common/base/error.h"

struct rpc_server;
struct rpc_call;

struct rpc_method {
    const char *path; /* "/google.bigtable.v2.Bigtable/ReadRows" */
    /* Of its request; NULL = the message is not looked at. */
    const ProtobufCMessageDescriptor *request;
    /* request is decoded, and lives as long as the call. */
    void (*run)(void *context, struct rpc_call *call, const ProtobufCMessage *request);
};

struct rpc_settings {
    const char *address; /* "127.0.0.1:8086" */
    const struct rpc_method *methods;
    size_t method_count;
    void *context; /* of all methods */
    uint32_t thread_count;
    uint64_t request_memory_max;
    uint64_t message_bytes_max; /* of one that comes in */
    uint32_t keepalive_min_ms;  /* pings may come that often, without calls too */
    /* Told of each call that ended, for metrics: on any thread. */
    void (*on_ended)(void *context, size_t method, enum edubba_code code, int64_t duration_ns);
};

/* What ends a call that failed. */
struct rpc_status {
    enum edubba_code code;
    const char *text;
    struct bytes details; /* an encoded google.rpc.Status; empty = none */
};

/* Errors: STATUS_IO (the address is in use, or none), STATUS_NO_MEMORY. */
enum status rpc_server_open(const struct rpc_settings *settings,
                            struct rpc_server **ret_server,
                            struct error *ret_error);

/* "127.0.0.1:41234": with the port that the system chose, when 0 was asked for. */
const char *rpc_server_address(const struct rpc_server *server);

/* No new calls from now on; waits for those that run, up to patience_ms, then cancels them. */
void rpc_server_drain(struct rpc_server *server, uint32_t patience_ms);
void rpc_server_close(struct rpc_server *server); /* after draining */

/* --- calls -------------------------------------------------------------------------------------- */

struct arena *rpc_call_arena(struct rpc_call *call);

/* Milliseconds that the caller still waits, 1 to most_ms. */
uint32_t rpc_call_patience_ms(const struct rpc_call *call, uint32_t most_ms);

/* The value of a header, BYTES_EMPTY if there is none; lives as long as the call. */
struct bytes rpc_call_header(const struct rpc_call *call, const char *name);

/* Set before the method returns; called at once if the caller is gone already. */
void rpc_call_on_cancelled(struct rpc_call *call, void (*on_cancelled)(void *context), void *context);
bool rpc_call_is_cancelled(const struct rpc_call *call);

/* Encode and send.  Not while another is under way; on_sent is called once, also when the caller
 * is gone.  Returns STATUS_NO_MEMORY when nothing was sent and on_sent is not called. */
enum status rpc_send(struct rpc_call *call,
                     const ProtobufCMessage *message,
                     void (*on_sent)(void *context),
                     void *context);

/* The end of a call: one message and success; or a status. The call must not be touched after. */
void rpc_answer(struct rpc_call *call, const ProtobufCMessage *message);
void rpc_finish(struct rpc_call *call, const struct rpc_status *status);
/* With neither message nor error: the end of a stream. */
void rpc_finish_ok(struct rpc_call *call);
/* With this text, or with a sentence that says it in printf's way. */
void rpc_fail(struct rpc_call *call, enum edubba_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif /* GATEWAY_RPC_RPC_H */

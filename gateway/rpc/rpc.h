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
 * BACK-PRESSURE.  on_sent comes when libgrpc has handed the whole message to the network, which
 * waits for its reader.  So a stream holds one message.
 *
 * CANCELLATION.  When the caller of a call that is watched goes away, or its deadline passes,
 * on_cancelled (if one was set) is called once, on a thread of the server, and the call still has
 * to be finished.  What is sent then goes nowhere.  It may still be running while another thread
 * finishes the call, but does not begin after that.  A call may be finished while a send is under
 * way: on_sent comes in any case, perhaps after.  The arena outlives both.
 *
 * MEMORY.  A call has an arena that lives until it is finished and no callback of its own runs;
 * requests are decoded into it.  What all requests take that are held at a time is bounded by
 * request_memory_max: first what comes in and is decoded, then what it was decoded to, and
 * something for the call itself, and its headers.  A call beyond that is refused with EDUBBA_UNAVAILABLE before its
 * method sees it; one that runs alone is always let in.  A request that decodes to more than could
 * ever be held is refused with EDUBBA_RESOURCE_EXHAUSTED.  What a method takes from the arena
 * beside its request, and what it answers, is not counted: large things it reserves.  Messages that are still on their
 * way in are libgrpc's, which is given twice request_memory_max and ends streams beyond it.
 *
 * Thread rule: functions of one call are called by one thread at a time, but for rpc_call_arena()'s
 * use, which is the method's affair, and rpc_call_is_cancelled(), which any thread may ask.
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
    /* Of its request; NULL = the message is not looked at, and request is NULL. */
    const ProtobufCMessageDescriptor *request;
    /* request is decoded, and lives as long as the call. */
    void (*run)(void *context, struct rpc_call *call, const ProtobufCMessage *request);
};

#define RPC_STREAMS_MAX_DEFAULT 1024

struct rpc_settings {
    const char *address;              /* "127.0.0.1:8086", "[::]:8086" */
    const struct rpc_method *methods; /* live as long as the server; each path once */
    size_t method_count;
    void *context; /* of all methods */
    uint32_t thread_count;
    uint64_t request_memory_max;
    uint64_t message_bytes_max; /* of one that comes in; under 2 GiB */
    uint32_t keepalive_min_ms;  /* pings may come that often, without calls too */
    uint32_t streams_max;       /* calls at a time on one connection; 0 = the default */
    /* PEM files.  certificate_file NULL = plaintext; client_ca_file NULL = clients need none. */
    const char *certificate_file; /* with the chain behind it */
    const char *key_file;
    const char *client_ca_file; /* who signs the certificates that clients must have */
    /* Each of the server's threads calls it before it waits, and after so many calls in a row: what
     * methods gathered starts now.  May be NULL. */
    void (*on_idle)(void *context);
    /* Told of each call of a method that ended, for metrics: on any thread; may be NULL. */
    void (*on_ended)(void *context, size_t method, enum edubba_code code, int64_t duration_ns);
};

/* What ends a call that failed. */
struct rpc_status {
    enum edubba_code code;
    const char *text; /* cut where it is longer than RPC_TEXT_BYTES_MAX */
    /* An encoded google.rpc.Status; empty = none.  More than RPC_DETAILS_BYTES_MAX are left out:
     * clients take 8 KiB of trailers, and end the call with another status above it. */
    struct bytes details;
};

#define RPC_TEXT_BYTES_MAX    1000
#define RPC_DETAILS_BYTES_MAX 5632

/* Errors: STATUS_IO (the address is in use, or none; or libgrpc takes the certificate or the key
 * for none), STATUS_INVALID_ARGUMENT (a certificate without a key), those of file_read_whole() for
 * the PEM files, STATUS_NO_MEMORY. */
enum status rpc_server_open(const struct rpc_settings *settings,
                            struct rpc_server **ret_server,
                            struct error *ret_error);

/* "127.0.0.1:41234": with the port that the system chose, when 0 was asked for. */
const char *rpc_server_address(const struct rpc_server *server);

/* No new calls from now on; waits for those that run, up to patience_ms, then cancels them and
 * waits until their methods have finished them.  Clients are told to go elsewhere; a connection
 * without calls whose client does not go is closed.  Once. */
void rpc_server_drain(struct rpc_server *server, uint32_t patience_ms);

/* Without a drain before, calls that run are cancelled.  No thread is inside of a function of the
 * server or of its calls when it returns. */
void rpc_server_close(struct rpc_server *server);

/* It does not listen any more, and never will: calls on the connections that there are go on, others do not come. */
bool rpc_server_accepts_no_more(void);

/* What the requests that are held now are counted with. */
uint64_t rpc_server_request_bytes(const struct rpc_server *server);

/* --- calls ----------------------------------------------------------------------------------- */

struct arena *rpc_call_arena(struct rpc_call *call);

/* Count so many bytes with the requests' until the call has ended; false = they are too many.  What is reserved leaves an
 * eighth of the memory to requests, where other calls are there. */
bool rpc_call_reserve(struct rpc_call *call, uint64_t size_bytes);

/* Count what goes out as its answer, until its reader has taken it; small ones count with each call.  False = what is
 * counted is too much already: of a change, which is done, only above all that there is. */
bool rpc_call_reserve_answer(struct rpc_call *call,
                             const ProtobufCMessage *message,
                             bool is_change);

/* So many of those that it has reserved do not count any more. */
void rpc_call_give_back(struct rpc_call *call, uint64_t size_bytes);

/* What a call could reserve yet if it were the only one: more is too much at any time. */
uint64_t rpc_call_reserve_max(const struct rpc_call *call);

/* Milliseconds that the caller still waits, 1 to most_ms (at least 1). */
uint32_t rpc_call_patience_ms(const struct rpc_call *call, uint32_t most_ms);

/* The value of a header (name in lower case), BYTES_EMPTY if there is none; lives as long as the
 * call.  Of one that ends with "-bin" it is what base64 held. */
struct bytes rpc_call_header(const struct rpc_call *call, const char *name);

/* From now on it is known whether the caller is gone.  Not for what is submitted at once and goes
 * its way in any case: it costs libgrpc an operation and us an event.  Again is fine. */
void rpc_call_watch(struct rpc_call *call);

/* Watches it.  Set once, before the call is finished; called at once if the caller is gone already. */
void rpc_call_on_cancelled(struct rpc_call *call,
                           void (*on_cancelled)(void *context),
                           void *context);
/* Of one that is watched. */
bool rpc_call_is_cancelled(const struct rpc_call *call);

/* Encode and send; message may go as soon as it returns.  Not while another is under way (but in
 * its on_sent); on_sent is called once, on a thread of the server, also when the caller is gone.
 * Errors: STATUS_NO_MEMORY (nothing was sent, and on_sent is not called). */
enum status rpc_send(struct rpc_call *call,
                     const ProtobufCMessage *message,
                     void (*on_sent)(void *context),
                     void *context);

/*
 * The end of a call: one message and success; or a status. The call must not be touched after.
 *
 * Without memory for the message rpc_answer() ends it UNAVAILABLE, and callers try that again: it is for calls that have
 * changed nothing, or what may be done twice.  rpc_answer_change(), for the others, ends it UNKNOWN.
 */
void rpc_answer(struct rpc_call *call, const ProtobufCMessage *message);
void rpc_answer_change(struct rpc_call *call, const ProtobufCMessage *message);
void rpc_finish(struct rpc_call *call, const struct rpc_status *status);
/* With neither message nor error: the end of a stream. */
void rpc_finish_ok(struct rpc_call *call);
/* With this text, or with a sentence that says it in printf's way. */
void rpc_fail(struct rpc_call *call, enum edubba_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif /* GATEWAY_RPC_RPC_H */

/*
 * Transport: framed messages over nng byte streams.  Nothing outside this folder includes nng.
 *
 * nng's byte streams with our own framing, and not its request/reply sockets: those re-send a
 * request on their own, and cannot carry many requests at once (docs/wire.md).
 *
 * A listener accepts connections, does the handshake, reassembles messages and hands each to
 * on_request; the answer goes back through a transport_reply.  A connection dials, does the
 * handshake, and carries any number of requests at a time.  Everything is bounded: frame and
 * message size, requests and bytes in flight per connection, connections per listener, and what all
 * connections hold together; a peer that does not read is not read from either, and a bad message closes that connection only.
 *
 * Callbacks run on nng's threads, of which there are two a core: they must hand over, or do little,
 * as a read of a few rows is, and never on all of them at once.  No callback is
 * made after the close function of its object has returned.
 */
#ifndef COMMON_IO_TRANSPORT_TRANSPORT_H
#define COMMON_IO_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/wire/frame.h"
#include "common/wire/message.h"

/* Messages up to this size arrive in the order in which they were sent; they overtake larger ones. */
#define TRANSPORT_SMALL_BYTES_MAX (64 * 1024)

/* "tcp://127.0.0.1:7401", "ipc:///path"; later "tls+tcp://...". */

/* Is this address reachable from this machine only (loopback, ipc)? */
bool transport_address_is_local(const char *address);

/* --- listening -------------------------------------------------------------------------------- */

struct transport_listener;
struct transport_reply; /* one request's way back; must be finished exactly once */

struct transport_request {
    enum method method;
    struct request_head head;
    struct bytes body; /* owned by the reply: good until it is finished */
    enum lane lane;
    uint64_t peer_process; /* from its HELLO */
    int64_t received_ns;   /* monotonic */
};

struct transport_listener_options {
    const char *address;
    const char *agent;
    uint64_t process;
    bool insecure; /* allow an address that is not local without TLS */
    uint32_t connections_max;
    uint32_t requests_max; /* in flight per connection, streams apart; reading pauses above */
    uint64_t connection_bytes_max; /* queued to one peer before reading from it pauses */
    void *context;
    void (*on_request)(void *context,
                       const struct transport_request *request,
                       struct transport_reply *reply);
    /* Credit arrived, or the peer cancelled or went away (transport_reply_cancelled() then says
     * so).  May come until the reply is finished. */
    void (*on_progress)(void *context, struct transport_reply *reply);
    int64_t (*now_us)(void *context); /* wall clock for HELLO_ACK */
};

/* Errors: STATUS_FAILED_PRECONDITION (address not local and not insecure; port in use: names it),
 * STATUS_INVALID_ARGUMENT (bad address), STATUS_NO_MEMORY, STATUS_IO. */
enum status transport_listen(const struct transport_listener_options *options,
                             struct transport_listener **ret_listener,
                             struct error *ret_error);

/* The port really bound, for address ":0". */
uint16_t transport_listener_port(const struct transport_listener *listener);

/* Tell all peers to go away, give replies in flight grace_ms to finish, then close.  Not from a
 * callback.  Replies not finished by then are cancelled and must still be finished. */
void transport_listener_close(struct transport_listener *listener, uint32_t grace_ms);

/* Close connections that have taken nothing for stalled_ms of a good part of what is queued, if that
 * is more than may be altogether.  Now and then, from any thread; not from a callback. */
void transport_listener_drop_stalled(struct transport_listener *listener, uint32_t stalled_ms);

/* For the layer above: NULL at first. */
void transport_reply_set_context(struct transport_reply *reply, void *context);
void *transport_reply_context(const struct transport_reply *reply);

/* Send one message of the answer: head and body are one buffer made by response_head_encode and
 * the method's encoder; its memory is taken over.  last = the reply is finished and gone.
 * From any thread; messages of one reply go out in the order of the calls.  The last one waits for
 * an on_progress call of this reply that runs in another thread (not if made from inside it): none
 * comes after it.  Without memory the connection is closed: the peer must not wait for ever. */
void transport_reply_send(struct transport_reply *reply, struct buffer *message, bool last);

/* Short form for an answer that is only a status. */
void transport_reply_fail(struct transport_reply *reply, enum status status, const char *text);

/* The same for want of room.  To refuse costs a good part of what a small request costs, so who goes
 * on asking would keep this side busy with refusing: the peer is not read from for a while, and
 * what it sends waits in its socket.  During on_request. */
void transport_reply_refuse(struct transport_reply *reply, enum status status, const char *text);

/*
 * The answer is a stream, which needs the peer's credit to go on.  From now on it does not count as
 * a request in flight: were reading to pause for it, the credit or the cancellation that ends it
 * would never be heard.  A connection may have TRANSPORT_STREAMS_MAX.  False: it has; fail the reply
 * then.  Once, while nobody else has the reply.
 */
#define TRANSPORT_STREAMS_MAX 4096
bool transport_reply_begin_stream(struct transport_reply *reply, uint64_t credit_bytes);

/* Stream bytes that may be sent now without exceeding the peer's credit. */
int64_t transport_reply_credit(const struct transport_reply *reply);

/* Bytes queued to this peer and not yet on their way. */
uint64_t transport_reply_queued_bytes(const struct transport_reply *reply);

/* All peers together have more queued than they may (transport_budget.h), and with answer_bytes more
 * this one would have a good part of it: do not answer so much, but say that it may ask again. */
bool transport_reply_must_wait(const struct transport_reply *reply, uint64_t answer_bytes);
/* The peer has not taken anything for half a second, and more than so much lies there for it: to add
 * to it would be work for nothing. */
bool transport_reply_is_stalled(const struct transport_reply *reply, uint64_t above_bytes);
bool transport_reply_cancelled(const struct transport_reply *reply);

/* Read nothing more from this peer until the reply is finished: there is little room for requests.
 * For one that ends whatever the peer does: it is not heard meanwhile, its credit neither.  During
 * on_request, before the reply is handed on. */
void transport_reply_hold_peer(struct transport_reply *reply);

/* --- dialling --------------------------------------------------------------------------------- */

struct transport_connection;

struct transport_connection_options {
    const char *address;
    const char *agent;
    uint64_t process;
    enum lane lane;
    uint32_t connect_timeout_ms;
    void *context;
    /* The handshake is done: ack borrowed for the call.  Requests may be sent before; they wait. */
    void (*on_ready)(void *context, const struct hello_ack *ack);
    /* A message of the answer to request; stream = more messages of it follow. */
    void (*on_response)(void *context, uint64_t request, struct bytes message, bool stream);
    /* All requests without an end have failed (whether executed is unknown); send no more. */
    void (*on_closed)(void *context, const struct error *error);
};

/* Starts dialling and returns. */
enum status transport_connect(const struct transport_connection_options *options,
                              struct transport_connection **ret_connection,
                              struct error *ret_error);

/* Closes; no callback is made any more after it returns, and on_closed not for this reason. Not
 * from a callback. */
void transport_connection_close(struct transport_connection *connection);

/* message: request_head_encode and the method's body; its memory is taken over on success and may
 * be on STATUS_CLOSED; what is left in it is the caller's, so buffer_deinit() after the call is
 * always right.  request numbers are the caller's, rising, from 1.  Errors: STATUS_CLOSED (also
 * once told to go away), STATUS_RESOURCE_EXHAUSTED (too many bytes queued), STATUS_NO_MEMORY. */
enum status transport_connection_send(struct transport_connection *connection,
                                      uint64_t request,
                                      enum method method,
                                      struct buffer *message);
void transport_connection_credit(struct transport_connection *connection,
                                 uint64_t request,
                                 uint64_t bytes);
void transport_connection_cancel(struct transport_connection *connection, uint64_t request);

#endif /* COMMON_IO_TRANSPORT_TRANSPORT_H */

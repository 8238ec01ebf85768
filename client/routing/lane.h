/*
 * Lanes: one connection to one server for one kind of traffic, and the batches of operations.
 *
 * A lane connects when there is something to send, and again after it was closed, with growing
 * pauses.  What goes over it is a CALL: a request and the messages that answer it.
 *
 * NATURAL BATCHING.  Parcels of operations queue here.  Up to messages_per_lane batches are on their
 * way at a time, of full ones LANE_FULL_FACTOR times as many; when one is answered, everything that
 * queued up meanwhile travels in the next.
 *
 * Invariants:
 *   (1) Every call that was accepted ends in exactly one of: a last message, on_closed, lane_cancel.
 *   (2) A call's messages come in order, and none after its end.
 *
 * Thread rule: while the loop is held.
 */
#ifndef CLIENT_ROUTING_LANE_H
#define CLIENT_ROUTING_LANE_H

#include "client/loop/client.h"
#include "common/io/transport/transport.h"

#define LANE_KINDS            4
#define LANE_BATCH_BYTES      (512 * 1024)
#define LANE_BATCH_OPERATIONS 1024
#define LANE_FULL_FACTOR      4
#define LANE_SHARE_MIN        8 /* what fits in a message however little is in flight */
#define LANE_SILENT_NS        (INT64_C(2000) * 1000 * 1000)

struct parcel;
struct silence;

/* Something that a connection told; owned by whoever keeps it, freed with memory_free(). */
struct link_event {
    struct task task;
    struct link *link;
    enum link_event_kind {
        LINK_READY,
        LINK_RESPONSE,
        LINK_CLOSED,
    } kind;
    bool stream; /* more messages of the request follow */
    uint64_t request;
    enum status status; /* LINK_CLOSED */
    size_t size_bytes;
    struct bytes rows; /* for a scan: the rows in data */
    uint8_t data[];    /* the message, or the text of an error */
};

struct call {
    struct list_link link; /* in its lane's calls */
    uint64_t request;
    struct server_lane *lane; /* NULL = not on its way */
    bool may_be_received;     /* in on_closed: the handshake was done, so it may have arrived */
    /* The event may be kept (true), else the lane frees it. */
    bool (*on_message)(struct call *call, struct link_event *event);
    void (*on_closed)(struct call *call, enum status status, struct bytes text);
};

struct server_lane {
    struct list_link dirty; /* in client->dirty_lanes */
    struct edubba_client *client;
    uint32_t address;
    enum lane kind;
    struct link *connected; /* NULL = none */
    bool ready;             /* its handshake is done */
    int64_t heard_ns;       /* when something last came */
    int64_t asked_ns;       /* since when something was asked and nothing came; 0 = it did */
    uint32_t failures;      /* in a row */
    int64_t connect_at_ns;  /* not earlier */
    struct timer connect_timer;
    uint64_t request_last;
    struct list_link calls;
    struct list_link queue; /* of parcels */
    uint32_t batches_in_flight;
    struct silence *silence; /* NULL: a lane for control, whose requests watch for themselves */
};

/* The first lane of its kind to an address; NULL without memory. */
struct server_lane *lane_get(struct edubba_client *client, uint32_t address, enum lane kind);

/* The one of the client's `connections` for the next operation: an idle one while there is one,
 * else they take turns.  NULL without memory. */
struct server_lane *lane_choose(struct edubba_client *client, uint32_t address, enum lane kind);

/* Send a call.  The message is taken over, also on failure.  Errors: STATUS_UNAVAILABLE (closed a
 * moment ago: not to be dialled yet), those of dialling, STATUS_RESOURCE_EXHAUSTED, NO_MEMORY. */
enum status lane_call(struct server_lane *lane,
                      struct call *call,
                      enum method method,
                      struct buffer *message,
                      struct error *ret_error);

/* Nobody waits for it any more.  One that is not on its way is left alone. */
void lane_cancel(struct call *call);

/* The same, as no answer has come for too long.  Where nothing at all has come over the lane for
 * LANE_SILENT_NS, and nobody else waits for it, its connection is given up: a machine on the way may have
 * forgotten it, and never says so. */
void lane_cancel_unanswered(struct call *call);

/* More of its stream is welcome. */
void lane_credit(struct call *call, uint64_t bytes);

/* Queue a parcel for the next batch; it is sent when the loop has settled. */
void lane_enqueue(struct server_lane *lane, struct parcel *parcel);

/* There may be something to send. */
void lane_mark(struct server_lane *lane);

/* Send what is queued, as far as batches may be on their way.  (batch.c) */
void lane_pump(struct server_lane *lane);

/* Begin to connect, if it is not and may.  Errors: as lane_call. */
enum status lane_connect(struct server_lane *lane, struct error *ret_error);

/* Close its connection as if it had broken, if it has one. */
void lane_give_up(struct server_lane *lane, struct bytes text);

/* What is queued is to look for another way; the connection is left as it is. */
void lane_turn_away(struct server_lane *lane, struct bytes text);

/* Is it waited for, or connected, and something came since then? */
bool lane_is_in_use(const struct server_lane *lane, int64_t since_ns);

/* Addresses get other numbers: numbers has them by the old ones, LOCATION_NOT_SERVED = it has none any
 * more, and its lanes, which wait for nothing, go.  False without memory: nothing was changed. */
bool lanes_renumber(struct edubba_client *client, const uint32_t *numbers, uint32_t kept_count);

/* Close all connections and free all lanes; no call is on its way. */
void lanes_destroy(struct edubba_client *client);

#endif /* CLIENT_ROUTING_LANE_H */

/*
 * Messages: every request and response that our processes exchange, as structs.
 *
 * Encoded with MessagePack: each message is an array whose elements are the fields in the order of
 * the struct; a reader ignores extra elements at the end of an array (that is how a later version
 * adds one) and takes a missing trailing one as zero.  docs/wire.md lists methods and fields.
 *
 * Decoding is bounded: every count is checked against the bytes that remain before anything is
 * allocated; nesting is at most MESSAGE_DEPTH_MAX; decoded bytes borrow from the message; arrays
 * are in the arena.  Errors of every decode: STATUS_MALFORMED naming the message and field,
 * STATUS_NO_MEMORY.  Encoders append to a buffer, which may fail: check buffer->failed.
 *
 * This module is pure.
 */
#ifndef COMMON_WIRE_MESSAGE_H
#define COMMON_WIRE_MESSAGE_H

#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/model/schema.h"
#include "common/wire/message_catalog.h"
#include "common/wire/message_events.h"
#include "common/wire/message_heat.h"
#include "common/wire/message_load.h"
#include "common/wire/message_replica.h"
#include "common/wire/message_rows.h"
#include "common/wire/message_sync.h"

#define MESSAGE_DEPTH_MAX   48
#define WIRE_VERSION        1
#define WIRE_VERSION_OLDEST 1

/* Numbers are sent: never reuse one. */
enum method {
    /* a tablet server answers */
    METHOD_OPERATIONS = 1, /* struct operations_request -> stream of operations_response */
    METHOD_SCAN = 2,       /* struct scan_request -> stream of scan_response, by credit */
    METHOD_SAMPLE = 3,     /* struct sample_request -> sample_response */
    /* a tablet server and the master answer */
    METHOD_LOCATE = 16, /* struct locate_request -> locate_response */
    METHOD_STATUS = 17, /* nothing -> one string of JSON: what `ebt debug bundle` gathers */
    /* the master answers */
    METHOD_CREATE_TABLE = 32,     /* create_table_request -> table_response */
    METHOD_DELETE_TABLE = 33,     /* table_name_request -> table_response (as it was) */
    METHOD_ALTER_TABLE = 34,      /* alter_table_request -> table_response */
    METHOD_GET_TABLE = 35,        /* table_name_request -> table_response */
    METHOD_LIST_TABLES = 36,      /* nothing -> tables_response */
    METHOD_SPLIT_TABLET = 37,     /* split_request -> split_response */
    METHOD_LIST_SERVERS = 38,     /* nothing -> servers_response */
    METHOD_PUT_DOCUMENTS = 39,    /* put_documents_request -> put_documents_response */
    METHOD_LIST_DOCUMENTS = 40,   /* list_documents_request -> list_documents_response */
    METHOD_LIST_HOT_TABLETS = 41, /* list_hot_tablets_request -> list_hot_tablets_response */
    METHOD_DRAIN_SERVER = 42,     /* drain_server_request -> drain_server_response */
    METHOD_MERGE_TABLETS = 43,    /* merge_request -> merge_response */
    METHOD_MASTER = 44,           /* nothing -> master_response: any master, active or not */
    METHOD_RECOVER = 45,          /* recover_request -> recover_response */
    METHOD_LIST_HOT_KEYS = 46,    /* list_hot_keys_request -> list_hot_keys_response */
    METHOD_ADVISE = 47,           /* advise_request -> advise_response */
    METHOD_SYNC = 48,             /* a tablet server's heartbeat: sync_request -> sync_response */
    METHOD_PROPOSE = 49,          /* a tablet server's: propose_request -> propose_response */
    METHOD_LIST_EVENTS = 50,      /* list_events_request -> list_events_response */
    METHOD_LIST_HEAT = 51,        /* another master's: list_heat_request -> list_heat_response */
    /* a tablet server answers another one (tabletserver/replica: lease_message.h, replica_message.h) */
    METHOD_BEACON = 64,    /* beacon -> beacon_ack */
    METHOD_REPLICATE = 65, /* a batch of replica_message.h -> nothing */
};

enum lane {
    LANE_CONTROL = 0, /* admin, locate, sync */
    LANE_SMALL = 1,   /* operations: writes */
    LANE_READ = 2,    /* operations: point reads */
    LANE_BULK = 3,    /* scans */
};

/* --- handshake -------------------------------------------------------------------------------- */

struct hello {
    uint32_t version_oldest; /* spoken by the dialler */
    uint32_t version_newest;
    uint64_t features; /* bits; unknown ones are ignored */
    uint32_t lane;
    struct bytes agent; /* "libedubba/0.1.0", "edubba-tabletserver/0.1.0" */
    uint64_t process;   /* client id or server number; random for clients */
};

struct hello_ack {
    uint32_t status; /* enum status; not OK: the connection is closed after it, text says why */
    struct bytes text;
    uint32_t version;
    uint64_t features;
    struct bytes agent;
    uint64_t process;
    int64_t now_us; /* the listener's clock: clients tell attempt times in it */
};

void hello_encode(const struct hello *hello, struct buffer *out);
enum status hello_decode(struct bytes in, struct hello *ret_hello, struct error *ret_error);
void hello_ack_encode(const struct hello_ack *ack, struct buffer *out);
enum status hello_ack_decode(struct bytes in, struct hello_ack *ret_ack, struct error *ret_error);

/* --- head of every request; then the method's body -------------------------------------------- */

struct request_head {
    uint32_t deadline_ms; /* what is left of the caller's patience; 0 = none given */
    uint64_t trace;       /* request id in logs of all processes */
};

/* --- head of every response; then the method's body when status is OK ------------------------- */

struct response_head {
    uint32_t status; /* enum status */
    struct bytes text;
};

/* The body of an UNAVAILABLE answer of a master that is not the active one. */
struct standby_response {
    struct bytes active; /* the address of the one that is; empty = it is not known, or is this one,
                            which does not know whether it still is */
};

void request_head_encode(const struct request_head *head, struct buffer *out);
void response_head_encode(const struct response_head *head, struct buffer *out);

/* The rest of the message after the head is *ret_body. */
enum status request_head_decode(struct bytes in,
                                struct request_head *ret_head,
                                struct bytes *ret_body,
                                struct error *ret_error);
enum status response_head_decode(struct bytes in,
                                 struct response_head *ret_head,
                                 struct bytes *ret_body,
                                 struct error *ret_error);

/* X(name): each has  void NAME_encode(const struct NAME *, struct buffer *)  and
 * enum status NAME_decode(struct bytes, struct arena *, struct NAME *, struct error *). */
#define MESSAGE_LIST(X)          \
    X(sample_request)            \
    X(sample_response)           \
    X(locate_request)            \
    X(locate_response)           \
    X(create_table_request)      \
    X(standby_response)          \
    X(master_response)           \
    X(table_name_request)        \
    X(alter_table_request)       \
    X(table_response)            \
    X(tables_response)           \
    X(split_request)             \
    X(split_response)            \
    X(servers_response)          \
    X(sync_request)              \
    X(sync_response)             \
    X(put_documents_request)     \
    X(put_documents_response)    \
    X(list_documents_request)    \
    X(list_documents_response)   \
    X(list_hot_tablets_request)  \
    X(list_hot_tablets_response) \
    X(propose_request)           \
    X(propose_response)          \
    X(drain_server_request)      \
    X(drain_server_response)     \
    X(merge_request)             \
    X(merge_response)            \
    X(recover_request)           \
    X(recover_response)          \
    X(list_hot_keys_request)     \
    X(list_hot_keys_response)    \
    X(advise_request)            \
    X(advise_response)           \
    X(list_events_request)       \
    X(list_events_response)      \
    X(list_heat_request)         \
    X(list_heat_response)

#define MESSAGE_DECLARE(name)                                                                 \
    void name##_encode(const struct name *message, struct buffer *out);                       \
    enum status name##_decode(struct bytes in, struct arena *arena, struct name *ret_message, \
                              struct error *ret_error);
MESSAGE_LIST(MESSAGE_DECLARE)
#undef MESSAGE_DECLARE

/* A table's schema alone: the catalog stores it in this form too. */
void table_encode(const struct table *table, struct buffer *out);
enum status table_decode(struct bytes in,
                         struct arena *arena,
                         struct table *ret_table,
                         struct error *ret_error);

#endif /* COMMON_WIRE_MESSAGE_H */

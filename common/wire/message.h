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

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/base/replica_configuration.h"
#include "common/base/stamp.h"
#include "common/model/cell.h"
#include "common/model/filter.h"
#include "common/model/mutation.h"
#include "common/model/row_set.h"
#include "common/model/schema.h"
#include "common/wire/message_events.h"
#include "common/wire/message_heat.h"
#include "common/wire/message_load.h"
#include "common/wire/message_replica.h"

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

/* --- rows ------------------------------------------------------------------------------------- */

/* A cell with its family by name, as clients see it. */
struct row_cell {
    struct bytes family;
    struct bytes qualifier;
    int64_t timestamp_us;
    struct bytes value;
    struct bytes label;
};

struct row {
    struct bytes key;
    const struct row_cell *cells;
    size_t cell_count;
};

/*
 * Rows are encoded one after the other into a ROW BLOCK, cell by cell, without knowing their number
 * in advance; a family's name and a qualifier are written only where they change.  The block is
 * opaque bytes to the messages that carry it.
 */
struct row_block_writer {
    struct buffer *out; /* the block grows here */
    size_t row_start;   /* where the open row began, to take it back */
    size_t count_at;    /* where its cell count goes */
    uint32_t cell_count;
    uint32_t row_count;
    uint32_t family;     /* of the last cell written in this row; 0 = none */
    size_t qualifier_at; /* offset and size in out of the last qualifier written */
    size_t qualifier_bytes;
    int64_t timestamp_us; /* of the last cell written in this row; 0 at its start */
};

void row_block_writer_init(struct row_block_writer *writer, struct buffer *out);
void row_block_begin_row(struct row_block_writer *writer, struct bytes key);
void row_block_add_cell(struct row_block_writer *writer,
                        struct bytes family_name,
                        const struct cell *cell);
/* A row without cells is taken back; true if it stayed. */
bool row_block_end_row(struct row_block_writer *writer);
/* Forget the open row. */
void row_block_abandon_row(struct row_block_writer *writer);

/* Take the next row off the block; cells in the arena; *ret_found false at its end. */
enum status row_block_next(struct bytes *block,
                           struct arena *arena,
                           struct row *ret_row,
                           bool *ret_found,
                           struct error *ret_error);

/* --- operations: many small requests in one message ------------------------------------------- */

enum operation_kind {
    OPERATION_MUTATE = 1,           /* one row's mutations, atomic */
    OPERATION_READ = 2,             /* one row */
    OPERATION_CHECK_AND_MUTATE = 3, /* one row */
    OPERATION_READ_MODIFY_WRITE = 4,
    OPERATION_DROP_RANGE = 5, /* row = a key of the tablet that is meant; range is clipped to it */
};

/* Mirrors struct request_id of storage/record.h; client 0 = no exactly-once. */
struct operation_identity {
    uint64_t sequence;
    int64_t first_attempt_us;
};

struct operation {
    enum operation_kind kind;
    uint64_t table; /* number */
    struct bytes row;
    struct operation_identity identity; /* all but READ */
    const struct mutation *mutations;   /* MUTATE; CHECK_AND_MUTATE: when matched */
    size_t mutation_count;
    const struct mutation *otherwise; /* CHECK_AND_MUTATE: when not matched */
    size_t otherwise_count;
    const struct filter *filter;  /* READ; CHECK_AND_MUTATE: predicate; NULL = none */
    size_t filter_bytes;          /* set by the decoder: encoded size of filter */
    const struct rmw_rule *rules; /* READ_MODIFY_WRITE */
    size_t rule_count;
    struct row_range range; /* DROP_RANGE */
};

struct operations_request {
    uint64_t client;           /* for exactly-once; 0 = none */
    uint64_t first_unfinished; /* lowest sequence the client still waits for */
    const struct operation *operations;
    size_t operation_count; /* <= LIMIT_OPERATIONS_PER_MESSAGE */
};

/* Where a tablet is. */
struct location {
    uint64_t tablet;
    uint64_t table;
    uint64_t configuration; /* version: a higher one is newer knowledge */
    struct row_range range;
    uint64_t server;            /* number; 0 = not served now */
    struct bytes address;       /* "tcp://127.0.0.1:7401"; empty when server is 0 */
    uint32_t state;             /* enum tablet_state */
    const struct bytes *others; /* where the members are that do not lead: whom to ask when the
                                   primary is gone, and nobody else answers */
    size_t other_count;
};

enum tablet_state {
    TABLET_CREATING = 1,
    TABLET_SERVING = 2,
    TABLET_UNAVAILABLE = 3, /* its data cannot be found: never recreated empty */
    TABLET_SPLITTING = 4,
    /* No state of a record: told in a detailed answer, and shown, in place of SERVING or SPLITTING where
     * nobody has led the tablet for so long that it counts as lost. */
    TABLET_NOT_LED = 5,
};

struct operation_result {
    uint32_t index;  /* of the operation in the request */
    uint32_t status; /* enum status; NOT_OWNER carries a location where one is known */
    struct bytes text;
    bool matched;      /* CHECK_AND_MUTATE */
    struct bytes rows; /* a row block of at most one row: READ, READ_MODIFY_WRITE */
    bool has_location;
    struct location location;
};

struct operations_response {
    const struct operation_result
        *results; /* any order; every index exactly once over the stream */
    size_t result_count;
};

void operations_request_encode(const struct operations_request *request, struct buffer *out);

/* For a sender that keeps operations encoded, to send the same bytes again: a request's beginning,
 * which count times what operation_encode() wrote must follow. */
void operations_request_begin(uint64_t client,
                              uint64_t first_unfinished,
                              size_t count,
                              struct buffer *out);
/* Returns where, in what it appended, the bytes of the row's key begin. */
size_t operation_encode(const struct operation *operation, struct buffer *out);

enum status operations_request_decode(struct bytes in,
                                      struct arena *arena,
                                      struct operations_request *ret_request,
                                      struct error *ret_error);
void operations_response_encode(const struct operations_response *response, struct buffer *out);
enum status operations_response_decode(struct bytes in,
                                       struct arena *arena,
                                       struct operations_response *ret_response,
                                       struct error *ret_error);

/* --- scans ------------------------------------------------------------------------------------ */

/* Covers what of rows lies in the tablet that holds the first key of rows (the last one if
 * reversed); the last response says where to go on. */
struct scan_request {
    uint64_t table;
    const struct row_range *rows; /* normalised */
    size_t row_range_count;
    const struct filter *filter;
    size_t filter_bytes; /* set by the decoder */
    uint64_t rows_limit; /* 0 = none */
    bool reversed;
    uint64_t credit_bytes; /* how much may be sent before a FRAME_CREDIT */
};

struct scan_response {
    struct bytes rows;         /* row block */
    struct bytes last_scanned; /* everything up to it is done, shown or filtered out */
    bool done;                 /* the last one of the stream */
    struct row_range tablet;   /* done: the tablet's range: go on at its end (start if reversed) */
    uint64_t rows_seen;        /* statistics, since the last response */
    uint64_t cells_seen;
    uint64_t rows_returned;
    uint64_t cells_returned;
    bool has_location; /* done with NOT_OWNER in the head: where it is */
    struct location location;
};

/* With another error in the head there may be a body, too: then last_scanned is the row that cannot
 * be read, whose key the head's text may show only in part. */

void scan_request_encode(const struct scan_request *request, struct buffer *out);
enum status scan_request_decode(struct bytes in,
                                struct arena *arena,
                                struct scan_request *ret_request,
                                struct error *ret_error);
void scan_response_encode(const struct scan_response *response, struct buffer *out);
enum status scan_response_decode(struct bytes in,
                                 struct scan_response *ret_response,
                                 struct error *ret_error);

/* --- sample row keys: of the one tablet that holds row ---------------------------------------- */

struct sample_request {
    uint64_t table;
    struct bytes row;
};

struct sample {
    struct bytes row;
    uint64_t offset_bytes; /* from the tablet's start */
};

struct sample_response {
    struct row_range tablet;
    uint64_t total_bytes;
    const struct sample *samples;
    size_t sample_count;
};

/* --- catalog ---------------------------------------------------------------------------------- */

struct locate_request {
    uint64_t table; /* number; 0 = by name */
    struct bytes name;
    struct bytes row;   /* from the tablet that holds this row on */
    uint32_t count_max; /* 0 = 100 */
    bool detailed;      /* what the master knows of replicas is wanted, too */
};

struct locate_response {
    struct table table;               /* schema as known */
    const struct location *locations; /* ascending by range */
    size_t location_count;
    const struct located_replicas
        *replicas; /* of each location; or none, where nobody has asked, or
                                                a tablet server answers, who does not know */
    size_t replicas_count;
};

struct create_table_request {
    struct table table; /* numbers and versions are given by the master */
    const struct bytes *splits;
    size_t split_count;
};

struct table_name_request {
    struct bytes name;
};

enum master_state {
    MASTER_ACTIVE = 1,
    MASTER_STANDBY = 2,
    MASTER_IN_DOUBT = 3, /* it led, and does not know whether it still does: it does nothing */
};

struct master_response {
    uint64_t cluster;
    uint32_t state;      /* enum master_state */
    uint64_t reign;      /* its own; 0 = it does not lead, or is the only master there can be */
    struct bytes active; /* where the active one is, as far as it knows */
};

enum alter_kind {
    ALTER_CREATE_FAMILY = 1, /* family */
    ALTER_UPDATE_GC = 2,     /* family.name, family.gc */
    ALTER_DROP_FAMILY = 3,   /* family.name */
    ALTER_PROTECT = 4,       /* flag = deletion protection */
    ALTER_REPLICATION = 5,   /* replicas, min_in_sync; 0 = as it is */
    ALTER_PINNED = 6,        /* flag = nothing is done about its load */
};

struct alteration {
    enum alter_kind kind;
    struct family family;
    bool flag;
    uint32_t replicas;
    uint32_t min_in_sync;
};

/* All or none, in order. */
struct alter_table_request {
    struct bytes name;
    const struct alteration *alterations;
    size_t alteration_count;
};

struct table_response {
    struct table table;
    uint32_t tablet_count;
};

struct tables_response {
    const struct table_response *tables;
    size_t table_count;
};

struct split_request {
    struct bytes table; /* name */
    struct bytes row;   /* first row of the new right tablet */
};

struct split_response {
    uint64_t left_tablet;
    uint64_t right_tablet;
};

struct store_information {
    uint64_t number;
    struct bytes folder;
    uint32_t condition; /* enum store_condition */
    uint64_t used_bytes;
    uint64_t free_bytes;
    uint32_t tablet_count;
    uint64_t catalog; /* generation of the catalog that it belongs to; 0 = was told none yet */
    uint64_t catalog_version; /* the highest that it was told of that */
};

struct server_information {
    uint64_t number;
    struct bytes address;      /* where clients reach it */
    struct bytes http_address; /* metrics and health */
    struct bytes zone;
    uint64_t incarnation; /* rises with every start */
    bool alive;
    int64_t last_heard_us;
    uint32_t tablet_count; /* that have a replica on it which counts */
    const struct store_information *stores;
    size_t store_count;
    bool draining;           /* its tablets are being moved away */
    uint32_t leading_count;  /* of its tablets: those whose primary it is */
    uint32_t unopened_count; /* stores that it should have, and could not open */
    uint32_t stuck_count;    /* draining: copies that no other server can take as things are */
};

struct servers_response {
    uint64_t cluster;    /* number, from the catalog */
    uint64_t generation; /* of the catalog */
    const struct server_information *servers;
    size_t server_count;
};

/* --- documents: named bytes that the master keeps for others ------------------------------------ */

struct document {
    struct bytes name;
    struct bytes content;
    uint64_t version; /* the catalog's when it was put: a name never has the same one twice */
};

/* All of them or none, in one transaction. */
struct put_documents_request {
    /* 1 to LIMIT_DOCUMENTS_PER_PUT, each of another name of 1 to LIMIT_DOCUMENT_NAME_BYTES; content
     * up to LIMIT_DOCUMENT_BYTES, empty = delete it; version: that it must have, 0 = there must be
     * none */
    const struct document *documents;
    size_t document_count;
};

struct put_documents_response {
    bool applied;     /* false: a version was another, and nothing has changed */
    uint64_t version; /* applied: of all that were put; else that one's; 0 = there is none */
    uint64_t index;   /* not applied: of the first document that has another version */
};

struct list_documents_request {
    struct bytes prefix; /* of the names */
    struct bytes start;  /* from this name on */
    uint32_t count_max;  /* 0 = as many as fit an answer */
};

struct list_documents_response {
    const struct document *documents; /* ascending by name */
    size_t document_count;
    bool more; /* others follow: ask again, from behind the last one's name */
};

/* --- sync: a tablet server's heartbeat, and what it should do ----------------------------------
 *
 * Level-triggered: the server says what it has; the master answers with everything that changed in
 * the catalog since the version the server knows (tablets of all servers, so that any server can
 * answer "where is"), and the server makes its own state match: create, split, drop.  Lost or
 * repeated syncs do no harm.
 */

/* How a tablet stands on the server that reports it. */
enum held_state {
    HELD_SERVING = 1,
    HELD_CREATED = 2, /* durable and empty, first report */
    HELD_FAILED = 3,  /* its store is down; text says why */
};

struct held_tablet {
    uint64_t tablet;
    uint64_t store;
    enum held_state state;
    uint64_t size_bytes;
    bool wants_split; /* over its soft limit, cut found: */
    struct bytes split_row;
    uint64_t version; /* of the configuration that it has; 0 = a server that does not replicate */
    enum held_role role; /* under that version */
    uint64_t committed;  /* sequence */
    bool damaged;        /* what it has counts for nothing, until it is taught anew */
};

struct sync_request {
    struct server_information server;
    uint64_t known_version; /* of the catalog; 0 = nothing known */
    uint64_t known_generation;
    bool full; /* held lists everything; else only what changed */
    const struct held_tablet *held;
    size_t held_count;
    struct load_report load;
    bool replicates; /* it proposes, and looks at goals; else the master decides alone */
    bool leaving;    /* the process is about to end, and to lead nothing more */
};

struct assigned_tablet {
    struct location location;
    uint64_t store;  /* on that server */
    uint64_t parent; /* it came from splitting this one; 0 = none */
    uint64_t soft_limit_bytes;
    bool removed; /* gone from the catalog; with a store: the copy in that store alone may go */
    struct replica_configuration configuration; /* version 0 when removed */
    struct goal goal;                           /* told to members and to those who should be */
    uint64_t absorbed; /* it came from merging this one into parent; 0 = none */
    bool
        recovered; /* that configuration was chosen by hand: what its member has is what there is */
    bool hurried;  /* somebody waits for its goal: who has to be taught is taught quickly */
};

/* Where a server is to be found by the others. */
struct server_address {
    uint64_t server;
    struct bytes address;
};

struct sync_response {
    uint64_t generation;
    uint64_t version; /* after this response */
    bool reset;       /* the server knew another generation: forget the map first */
    bool more;        /* sync again at once for the rest */
    const struct assigned_tablet *tablets;
    size_t tablet_count;
    const struct table *tables; /* changed schemas */
    size_t table_count;
    const uint64_t *dropped_tables;
    size_t dropped_table_count;
    uint32_t interval_ms;                 /* sync again after */
    const struct server_address *servers; /* those that are new or changed */
    size_t server_count;
    uint64_t
        newest_version; /* of the catalog now, whatever this response tells; 0 = an older master */
    uint64_t predecessor; /* generation of the one that it was ordered to succeed; 0 = none */
};

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

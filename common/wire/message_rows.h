/*
 * Messages about rows, which tablet servers answer: part of message.h, which every user includes.
 */
#ifndef COMMON_WIRE_MESSAGE_ROWS_H
#define COMMON_WIRE_MESSAGE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/base/stamp.h"
#include "common/model/cell.h"
#include "common/model/filter.h"
#include "common/model/mutation.h"
#include "common/model/row_set.h"

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

/* Mirrors struct request_id of tabletserver/storage/record/record.h; client 0 = no exactly-once. */
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
    /* In any order; over all messages of the stream every index comes exactly once. */
    const struct operation_result *results;
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

/* Tell another time of the first attempt in what operation_encode() wrote of a write, whose row's key
 * ends key_end bytes behind its beginning.  Times that take fewer than 9 bytes (the first hour of
 * 1970, and before) are left, and not taken: what is written keeps its size. */
void operation_set_first_attempt(uint8_t *encoded, size_t key_end, int64_t first_attempt_us);

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

#endif /* COMMON_WIRE_MESSAGE_ROWS_H */

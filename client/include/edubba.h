/*
 * edubba.h -- the C client of Edubba, a tablet-server cluster with Cloud Bigtable's data model.
 *
 * DATA.  A table holds rows sorted by key (1 to 4 096 bytes, any bytes, bytewise order).  A row
 * holds cells: (family, qualifier, timestamp) -> value.  Timestamps are microseconds since 1970;
 * several timestamps of one column are its versions, newest first.  Families are made beforehand
 * and are plain or aggregate (intsum, intmin, intmax, inthll, byteshll): an aggregate cell is
 * written by adding to it, without reading.  Changes of one row in one call are atomic; calls on
 * several rows are not.
 *
 * EXAMPLE.
 *
 *     #include <edubba.h>
 *
 *     struct edubba_error error;
 *     struct edubba_client *client;
 *     struct edubba_table *table;
 *     struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
 *     if (edubba_client_open(&options, &client, &error) != EDUBBA_OK ||
 *         edubba_table_open(client, "METRIC", &table, &error) != EDUBBA_OK) {
 *         fprintf(stderr, "%s\n", error.text);
 *         exit(1);
 *     }
 *     struct edubba_mutation set = edubba_set_cell("METRIC", EDUBBA_TEXT("CPU/CPU1_USR"),
 *                                                  EDUBBA_NOW, EDUBBA_TEXT("17.5"));
 *     if (edubba_mutate_row(table, EDUBBA_TEXT("server1.bbb.com#1426535612045"), &set, 1, &error)
 *         != EDUBBA_OK) {
 *         fprintf(stderr, "%s\n", error.text);
 *     }
 *     edubba_table_close(table);
 *     edubba_client_close(client);
 *
 * ERRORS.  Every call returns an edubba_code (the canonical gRPC numbers) and, where it takes a
 * struct edubba_error, a sentence that names what was wrong.  `error` may be NULL.
 *
 * EXACTLY ONCE.  Calls are retried inside their deadline when a server is away or a tablet has
 * moved.  Every mutation carries an identity, so a retry is never applied twice, restarts of
 * servers included; EDUBBA_DEADLINE_EXCEEDED and EDUBBA_UNAVAILABLE mean that a mutation may or may
 * not have been applied, once.
 *
 * ORDER.  Operations in flight at the same time have no order, not even on one row.  Wait for the
 * completion of one before submitting another that must come after it.
 *
 * THREADS.  A client and its tables may be used from any number of threads.  A scan, a row, a
 * filter and a key belong to one thread at a time.  Completions run on the client's own threads,
 * which include those that carry the network's traffic (nng's), one at a time for one client: they
 * may submit, and must not block (on a lock that is held for long, a disk, another completion) or
 * call the blocking functions, for nothing of the client goes on meanwhile.
 *
 * FORK.  A child that fork() has made has none of the client's threads: until it calls exec() it must
 * not touch what was opened before, and where a client has ever been opened it can open none.  So fork
 * first, then open.
 *
 * MEMORY.  What is passed in is copied before the call returns, unless said otherwise.  Bytes
 * handed to a completion live for the call.  What a function returns to be freed says how.
 * Free with the named function only; every free function accepts NULL.
 */
#ifndef EDUBBA_H
#define EDUBBA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EDUBBA_VERSION "0.1.0"

/* --- bytes and errors ------------------------------------------------------------------------- */

struct edubba_bytes {
    const void *data;
    size_t size;
};

#define EDUBBA_NOTHING ((struct edubba_bytes){NULL, 0})

static inline struct edubba_bytes edubba_bytes_of(const void *data, size_t size)
{
    struct edubba_bytes bytes = {data, size};
    return bytes;
}

/* Of NUL-terminated text. */
static inline struct edubba_bytes edubba_bytes_of_text(const char *text)
{
    return edubba_bytes_of(text, strlen(text));
}

#define EDUBBA_TEXT(text) edubba_bytes_of_text(text)

enum edubba_code {
    EDUBBA_OK = 0,
    EDUBBA_CANCELLED = 1,
    EDUBBA_UNKNOWN = 2,
    EDUBBA_INVALID_ARGUMENT = 3,
    EDUBBA_DEADLINE_EXCEEDED = 4,
    EDUBBA_NOT_FOUND = 5,
    EDUBBA_ALREADY_EXISTS = 6,
    EDUBBA_PERMISSION_DENIED = 7,
    EDUBBA_RESOURCE_EXHAUSTED = 8,
    EDUBBA_FAILED_PRECONDITION = 9,
    EDUBBA_ABORTED = 10,
    EDUBBA_OUT_OF_RANGE = 11,
    EDUBBA_UNIMPLEMENTED = 12,
    EDUBBA_INTERNAL = 13,
    EDUBBA_UNAVAILABLE = 14,
    EDUBBA_DATA_LOSS = 15,
    EDUBBA_UNAUTHENTICATED = 16,
};

struct edubba_error {
    enum edubba_code code;
    char text[512];
};

/* "NOT_FOUND" ...; never NULL. */
const char *edubba_code_name(enum edubba_code code);

/* --- client ----------------------------------------------------------------------------------- */

struct edubba_client;
struct edubba_table;

struct edubba_options {
    /* Up to 16 addresses, comma-separated: "tcp://127.0.0.1:7400".  Tablet servers may stand behind
     * the masters: while no master answers, these tell where tables are. */
    const char *masters;
    /* Your program, for the servers' logs, in up to 256 bytes; NULL = "libedubba" and its version. */
    const char *agent;
    /* Of these, and of connections, 0 is what EDUBBA_OPTIONS_DEFAULT has. */
    uint32_t deadline_ms;   /* of a call that has none of its own */
    uint32_t in_flight_max; /* operations and entries not completed; submitting waits above */
    uint64_t in_flight_bytes_max;
    /* On their way over one connection at once, up to 1 024; of full ones four times as many. */
    uint32_t messages_per_lane;
    /* Connections to one server for reads, and as many for writes: 1 to 1 024.  Operations take
     * turns on them, so more of them means smaller batches: for a network that is slow on one
     * connection, or to behave like many small clients. */
    uint32_t connections;
    /* edubba_client_open, calls that only a master answers (tables, servers) and edubba_status give
     * up when for so long nobody they ask has taken a connection; 0 = when deadline_ms has passed. */
    uint32_t unreachable_ms;
    /* Told what a call has met that is tried again, and for how long it has been, each time; called
     * as completions are.  NULL = nobody. */
    void (*on_trouble)(void *context, uint32_t waited_ms, const char *text);
    void *trouble_context;
};

/* masters NULL, or empty = environment EDUBBA_MASTERS, else tcp://127.0.0.1:7400. */
#define EDUBBA_OPTIONS_DEFAULT                                             \
    {                                                                      \
        NULL, NULL, 60000, 16384, UINT64_C(256) << 20, 4, 1, 0, NULL, NULL \
    }

/* Waits until a master, or else a tablet server, answers, or deadline_ms or unreachable_ms is over.
 * Errors: EDUBBA_UNAVAILABLE (names the addresses tried), EDUBBA_INVALID_ARGUMENT (what is no
 * address, or above a limit), EDUBBA_UNIMPLEMENTED (tls+tcp://), EDUBBA_FAILED_PRECONDITION (versions
 * do not match; in a process that was forked from one that had opened a client). */
enum edubba_code edubba_client_open(const struct edubba_options *options,
                                    struct edubba_client **client,
                                    struct edubba_error *error);

/* Waits for operations in flight, up to their deadlines.  All tables and scans closed before. */
void edubba_client_close(struct edubba_client *client);

/* Errors: EDUBBA_NOT_FOUND (a master said so), EDUBBA_UNAVAILABLE (nobody asked knows it, and no
 * master answers), EDUBBA_DEADLINE_EXCEEDED. */
enum edubba_code edubba_table_open(struct edubba_client *client,
                                   const char *name,
                                   struct edubba_table **table,
                                   struct edubba_error *error);
void edubba_table_close(struct edubba_table *table);

/* --- mutations -------------------------------------------------------------------------------- */

#define EDUBBA_NOW (INT64_C(-1)) /* the server's time, in edubba_set_cell */

enum edubba_mutation_kind {
    EDUBBA_SET_CELL = 1,
    EDUBBA_ADD_TO_CELL = 2,
    EDUBBA_MERGE_TO_CELL = 3,
    EDUBBA_DELETE_FROM_COLUMN = 4,
    EDUBBA_DELETE_FROM_FAMILY = 5,
    EDUBBA_DELETE_FROM_ROW = 6,
};

enum edubba_input_kind {
    EDUBBA_INPUT_NULL = 0,
    EDUBBA_INPUT_INT64 = 1,
    EDUBBA_INPUT_BYTES = 2,
    EDUBBA_INPUT_RAW = 3,
};

struct edubba_mutation {
    enum edubba_mutation_kind kind;
    struct edubba_bytes family;
    struct edubba_bytes qualifier;
    int64_t timestamp_us;
    int64_t start_us; /* EDUBBA_DELETE_FROM_COLUMN: [start_us, end_us); end_us 0 = for ever */
    int64_t end_us;
    enum edubba_input_kind input; /* EDUBBA_ADD_TO_CELL, EDUBBA_MERGE_TO_CELL */
    int64_t integer;
    struct edubba_bytes value;
};

struct edubba_mutation edubba_set_cell(const char *family,
                                       struct edubba_bytes qualifier,
                                       int64_t timestamp_us,
                                       struct edubba_bytes value);
/* Add an integer to a cell of an intsum, intmin, intmax or inthll family. */
struct edubba_mutation edubba_add_int64(const char *family,
                                        struct edubba_bytes qualifier,
                                        int64_t timestamp_us,
                                        int64_t input);
/* Add bytes to a cell of a byteshll family. */
struct edubba_mutation edubba_add_bytes(const char *family,
                                        struct edubba_bytes qualifier,
                                        int64_t timestamp_us,
                                        struct edubba_bytes input);
/* Merge a state as reads return it. */
struct edubba_mutation edubba_merge_state(const char *family,
                                          struct edubba_bytes qualifier,
                                          int64_t timestamp_us,
                                          struct edubba_bytes state);
/* All versions: 0, 0. */
struct edubba_mutation edubba_delete_from_column(const char *family,
                                                 struct edubba_bytes qualifier,
                                                 int64_t start_us,
                                                 int64_t end_us);
struct edubba_mutation edubba_delete_from_family(const char *family);
struct edubba_mutation edubba_delete_from_row(void);

/* --- filters ---------------------------------------------------------------------------------- */

/*
 * Each function makes a filter; those that take filters own them afterwards.  NULL when memory
 * runs out; a NULL child makes NULL of its parent, so only the root needs a look.  Rules are
 * checked by the server: see the errors of the read.
 */
struct edubba_filter;
void edubba_filter_free(struct edubba_filter *filter);

struct edubba_filter *edubba_filter_pass_all(void);
struct edubba_filter *edubba_filter_block_all(void);
struct edubba_filter *edubba_filter_chain(struct edubba_filter *const *filters, size_t count);
struct edubba_filter *edubba_filter_interleave(struct edubba_filter *const *filters, size_t count);
/* if_true or if_false may be NULL: no output there. */
struct edubba_filter *edubba_filter_condition(struct edubba_filter *predicate,
                                              struct edubba_filter *if_true,
                                              struct edubba_filter *if_false);
struct edubba_filter *edubba_filter_sink(void);
struct edubba_filter *edubba_filter_row_key_regex(struct edubba_bytes pattern);
struct edubba_filter *edubba_filter_row_sample(double probability);
struct edubba_filter *edubba_filter_family_regex(struct edubba_bytes pattern);
struct edubba_filter *edubba_filter_qualifier_regex(struct edubba_bytes pattern);
struct edubba_filter *edubba_filter_value_regex(struct edubba_bytes pattern);
struct edubba_filter *edubba_filter_timestamp_range(int64_t start_us, int64_t end_us);
struct edubba_filter *edubba_filter_cells_per_row_offset(int64_t count);
struct edubba_filter *edubba_filter_cells_per_row_limit(int64_t count);
struct edubba_filter *edubba_filter_cells_per_column_limit(int64_t count);
struct edubba_filter *edubba_filter_strip_value(void);
struct edubba_filter *edubba_filter_label(struct edubba_bytes label);
struct edubba_filter *edubba_filter_value_bitmask(struct edubba_bytes mask);

/* NULL data = unbounded on that side; of rows, so is an empty one. */
struct edubba_bounds {
    struct edubba_bytes start;
    struct edubba_bytes end;
    bool start_open; /* exclude start; default is include */
    bool end_closed; /* include end; default is exclude */
};
struct edubba_filter *edubba_filter_column_range(const char *family,
                                                 const struct edubba_bounds *bounds);
struct edubba_filter *edubba_filter_value_range(const struct edubba_bounds *bounds);

/* --- rows ------------------------------------------------------------------------------------- */

struct edubba_cell {
    struct edubba_bytes family;
    struct edubba_bytes qualifier;
    int64_t timestamp_us;
    struct edubba_bytes value; /* of an aggregate cell: its state */
    struct edubba_bytes label;
};

/* Families in creation order, qualifiers ascending, newest first. */
struct edubba_row {
    struct edubba_bytes key;
    const struct edubba_cell *cells;
    size_t cell_count;
};

/* The number in an aggregate cell: the integer, or an HLL sketch's estimate.  Only for cells of
 * families that are not EDUBBA_PLAIN (edubba_get_table() tells): bytes do not say what they are, so
 * any 8 bytes of a plain cell, "greeting" too, would be taken for an integer.
 * Errors: EDUBBA_INVALID_ARGUMENT for what can be neither. */
enum edubba_code edubba_aggregate_value(struct edubba_bytes state, int64_t *value);

/* --- single operations, blocking -------------------------------------------------------------- */

/*
 * From now on calls of this thread that block, of this and the other parts, give up after so many
 * milliseconds, with EDUBBA_DEADLINE_EXCEEDED; 0 = after the client's deadline_ms, as at first.
 * For threads that work for somebody whose patience differs from request to request.  Not those of
 * scans, which have a deadline of their own, nor what waits for others: for room in flight,
 * edubba_drain(), edubba_client_close().
 */
void edubba_thread_deadline(uint32_t deadline_ms);

enum edubba_code edubba_mutate_row(struct edubba_table *table,
                                   struct edubba_bytes row,
                                   const struct edubba_mutation *mutations,
                                   size_t count,
                                   struct edubba_error *error);

/*
 * By what a change is known when it comes again.  The library gives each one an identity of its own
 * and so does it once, however often it has to send it.  A caller that may itself be asked twice for
 * one change, by somebody who retries, gives it the same identity each time: then it is done once
 * whatever process asks, within 15 minutes of the first attempt.  Later it is refused with
 * EDUBBA_FAILED_PRECONDITION.  Another change of that tablet under it is answered like the first, not made.
 *
 * The numbers are to be unlike anybody else's: random, or hashes.  Servers remember clients for 15
 * minutes: use few a quarter of an hour.  Such a change travels in a message of its own.
 */
struct edubba_identity {
    uint64_t client;          /* not 0 */
    uint64_t sequence;        /* not 0 */
    int64_t first_attempt_us; /* since 1970 */
};

struct edubba_entry {
    struct edubba_bytes row;
    const struct edubba_mutation *mutations;
    size_t count;
    const struct edubba_identity *identity; /* NULL = the library gives one */
};

/* Each entry is atomic, all together are not, and share one deadline: those that had no room in flight
 * until it passed were not sent.  errors: NULL, or entry_count places, each set.
 * Returns EDUBBA_OK when all entries are; else the code of the first that failed. */
enum edubba_code edubba_mutate_rows(struct edubba_table *table,
                                    const struct edubba_entry *entries,
                                    size_t entry_count,
                                    struct edubba_error *errors);

/* *row is NULL where the row has no cells (and the call is EDUBBA_OK); else edubba_row_free() it.
 * filter is borrowed for the call; NULL = all cells. */
enum edubba_code edubba_read_row(struct edubba_table *table,
                                 struct edubba_bytes key,
                                 const struct edubba_filter *filter,
                                 struct edubba_row **row,
                                 struct edubba_error *error);
void edubba_row_free(struct edubba_row *row);

/* predicate NULL = "the row has any cell". */
enum edubba_code edubba_check_and_mutate_row(struct edubba_table *table,
                                             struct edubba_bytes row,
                                             const struct edubba_filter *predicate,
                                             const struct edubba_mutation *if_true,
                                             size_t true_count,
                                             const struct edubba_mutation *if_false,
                                             size_t false_count,
                                             bool *matched,
                                             struct edubba_error *error);

enum edubba_rmw_kind {
    EDUBBA_APPEND = 1,
    EDUBBA_INCREMENT = 2,
};

struct edubba_rmw_rule {
    enum edubba_rmw_kind kind;
    struct edubba_bytes family;
    struct edubba_bytes qualifier;
    struct edubba_bytes append;
    int64_t increment;
};

/* *result: the cells written; edubba_row_free() it. */
enum edubba_code edubba_read_modify_write_row(struct edubba_table *table,
                                              struct edubba_bytes row,
                                              const struct edubba_rmw_rule *rules,
                                              size_t count,
                                              struct edubba_row **result,
                                              struct edubba_error *error);

/* --- single operations, asynchronous ---------------------------------------------------------- */

enum edubba_operation_kind {
    EDUBBA_OPERATION_MUTATE = 1,
    EDUBBA_OPERATION_READ = 2,
    EDUBBA_OPERATION_CHECK_AND_MUTATE = 3,
    EDUBBA_OPERATION_READ_MODIFY_WRITE = 4,
};

struct edubba_operation {
    enum edubba_operation_kind kind;
    struct edubba_bytes row;
    const struct edubba_mutation *mutations; /* MUTATE; CHECK_AND_MUTATE: if the predicate holds */
    size_t mutation_count;
    const struct edubba_mutation *otherwise; /* CHECK_AND_MUTATE */
    size_t otherwise_count;
    const struct edubba_filter *filter; /* READ; CHECK_AND_MUTATE: predicate */
    const struct edubba_rmw_rule *rules;
    size_t rule_count;
    uint32_t deadline_ms;                   /* 0 = the client's */
    const struct edubba_identity *identity; /* NULL = the library gives one; of no use to a READ */
};

struct edubba_result {
    enum edubba_code code;
    const char *text;             /* of an error; else "" */
    bool matched;                 /* CHECK_AND_MUTATE */
    const struct edubba_row *row; /* READ, READ_MODIFY_WRITE; NULL = no cells */
};

typedef void (*edubba_completion)(void *context, const struct edubba_result *result);

/*
 * Submit and return.  The completion (not NULL) is called once, also after an error, but not when
 * edubba_submit itself returns one (bad arguments, no memory).  What is submitted while requests
 * are on their way travels together with the next: no need to batch by hand.
 * Waits while in_flight_max or in_flight_bytes_max is reached, except in a completion; that is part of
 * its deadline.
 */
enum edubba_code edubba_submit(struct edubba_table *table,
                               const struct edubba_operation *operation,
                               edubba_completion completion,
                               void *context,
                               struct edubba_error *error);

/* --- many rows, asynchronous ------------------------------------------------------------------ */

struct edubba_row_failure {
    size_t entry; /* its number in the call */
    enum edubba_code code;
    const char *text;
};

struct edubba_rows_result {
    enum edubba_code code; /* EDUBBA_OK: all entries are; else that of the first that failed */
    size_t entry_count;
    const struct edubba_row_failure *failures; /* ascending by entry; the others are EDUBBA_OK */
    size_t failure_count;
};

typedef void (*edubba_rows_completion)(void *context, const struct edubba_rows_result *result);

/*
 * Change many rows with one completion: as edubba_submit of each entry, at a fraction of the cost.
 * Each entry is atomic and has an identity and an outcome of its own, all together are not: rows go
 * to the servers that hold them, and only those that have to be are tried again.  The completion,
 * which must not be NULL, is called exactly once, when the last entry has ended; what cannot be sent
 * (a key that is too long) is a failure of that entry.  No order is promised, not even within a row.
 *
 * deadline_ms 0 = the client's.  At most 100 000 entries (0 is fine), and as many mutations, a call.
 * Waits while in_flight_max or in_flight_bytes_max is reached, except in a completion; every entry
 * counts, and a call is let in whole, so what is in flight may exceed them by one call a thread.
 * Errors (nothing is sent then, and the completion is not called): EDUBBA_INVALID_ARGUMENT (too many
 * of them, no completion), EDUBBA_RESOURCE_EXHAUSTED (no memory).
 */
enum edubba_code edubba_submit_rows(struct edubba_table *table,
                                    const struct edubba_entry *entries,
                                    size_t entry_count,
                                    uint32_t deadline_ms,
                                    edubba_rows_completion completion,
                                    void *context,
                                    struct edubba_error *error);

/* Wait until everything submitted before is completed. */
void edubba_drain(struct edubba_client *client);

/* --- scans ------------------------------------------------------------------------------------ */

struct edubba_scan;

struct edubba_scan_options {
    const struct edubba_bytes *keys; /* single rows */
    size_t key_count;
    const struct edubba_bounds *ranges; /* no keys and no ranges = the whole table */
    size_t range_count;
    const struct edubba_filter *filter; /* copied */
    uint64_t rows_limit;                /* 0 = none */
    bool reversed;
    uint32_t deadline_ms;  /* without a word of how far it is; 0 = the client's */
    uint64_t buffer_bytes; /* read ahead; 0 = 4 MiB, and servers send no more ahead than that */
    bool tells_progress;   /* on_ready also comes for what edubba_scan_progress() tells */
};

struct edubba_scan_statistics {
    uint64_t rows_seen;
    uint64_t rows_returned;
    uint64_t cells_seen;
    uint64_t cells_returned;
};

/* Rows come in key order, each as of one moment; there is no snapshot over rows.
 * Errors: EDUBBA_INVALID_ARGUMENT (bad range). */
enum edubba_code edubba_scan_open(struct edubba_table *table,
                                  const struct edubba_scan_options *options,
                                  struct edubba_scan **scan,
                                  struct edubba_error *error);

/* The next row, waiting for it; *row is NULL at the end.  Lives until the next call on the scan. */
enum edubba_code edubba_scan_next(struct edubba_scan *scan,
                                  const struct edubba_row **row,
                                  struct edubba_error *error);

/* The same without waiting: *ready false = nothing yet; on_ready is then called once, from a
 * thread of the client, when there is. */
enum edubba_code edubba_scan_poll(struct edubba_scan *scan,
                                  const struct edubba_row **row,
                                  bool *ready,
                                  void (*on_ready)(void *context),
                                  void *context,
                                  struct edubba_error *error);

/* Where a scan is that filters much, when edubba_scan_poll() had nothing to give: all rows up to
 * this one, itself included, were given or filtered out (when reversed: from it on).  *row lives
 * until the next call on the scan.  False: nothing new since the last time, or the scan was not
 * opened with tells_progress, or it is a salted one. */
bool edubba_scan_progress(struct edubba_scan *scan, struct edubba_bytes *row);
/* Which row the error is about (one too large to be read), whole.  False: none, or a salted scan. */
bool edubba_scan_failed_row(const struct edubba_scan *scan, struct edubba_bytes *row);

/* After the end. */
void edubba_scan_statistics(const struct edubba_scan *scan,
                            struct edubba_scan_statistics *statistics);

/* May be called at any time: the servers stop reading. */
void edubba_scan_close(struct edubba_scan *scan);

/* Scan [prefix#start, prefix#end) under each of salt_count salts (edubba_keys.h; 1 to 65 536) in
 * parallel and give the rows merged, in the order of their keys without the salt field.  Keys and
 * ranges of options are without salt.  buffer_bytes is divided among the salts, but each reads 64 KiB
 * ahead at least. */
enum edubba_code edubba_scan_open_salted(struct edubba_table *table,
                                         const struct edubba_scan_options *options,
                                         uint32_t salt_count,
                                         struct edubba_scan **scan,
                                         struct edubba_error *error);

#ifdef __cplusplus
}
#endif

#include "edubba_tables.h"

#endif /* EDUBBA_H */

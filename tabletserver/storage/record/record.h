/*
 * What a log record says: the payload of each record type.  Offset tables: docs/storage-format.md.
 *
 * A WRITE carries one or more ENTRIES, each one row's resolved changes with the exactly-once
 * identity of the request that made them and, for conditional requests, the result to be repeated
 * to a duplicate.  Numbers are stored: never reuse one.
 *
 * Decoding trusts nothing: every length is checked against what remains.  Decoded bytes borrow
 * from the payload; arrays are in the arena.
 */
#ifndef TABLETSERVER_STORAGE_RECORD_RECORD_H
#define TABLETSERVER_STORAGE_RECORD_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/model/mutation.h"
#include "common/model/row_set.h"

enum record_type {
    RECORD_WRITE = 1,
    RECORD_DROP_RANGE = 2, /* DropRowRange, clipped to the tablet */
    RECORD_SPLIT = 3,      /* the tablet ends here; two children begin */
    RECORD_GC_HORIZON = 4, /* cells of a family older than this may be dropped for good */
    /* record_replica.h */
    RECORD_SPLIT_ABORTED = 5,
    RECORD_FROZEN = 6,
    RECORD_THAWED = 7,
    RECORD_ABSORB = 8,
    RECORD_ABSORB_ABORTED = 9,
    /* the store's own: in no replicated log (LOG_RECORD_TYPE_OWN) */
    RECORD_CONFIGURATION = 16,
    RECORD_CONVERSION = 17, /* the tablet became what its barrier says */
};

/* Exactly once, as in RIFL: who asked, which of its requests, and what it still waits for. */
struct request_id {
    uint64_t client;           /* 0 = no identity: applied without dedupe */
    uint64_t sequence;         /* rises by one per operation of that client */
    uint64_t first_unfinished; /* lowest sequence the client still waits for */
    int64_t first_attempt_us;  /* in the servers' time */
};

struct record_entry {
    struct bytes row;
    struct request_id request;
    struct bytes result;          /* to be repeated to a duplicate; empty = plain success */
    const struct change *changes; /* may be none: a check-and-mutate that wrote nothing */
    size_t change_count;
};

struct record_write {
    const struct record_entry *entries;
    size_t entry_count;
};

struct record_drop_range {
    struct row_range range;
    struct request_id request;
};

struct record_split {
    struct bytes key; /* first row of the right child */
    uint64_t left_tablet;
    uint64_t right_tablet;
};

struct record_gc_horizon {
    uint32_t family;
    uint64_t rule_version; /* the schema version the rule came from */
    int64_t horizon_us;
};

/* Append the payload to out (which may fail: check out->failed). */
void record_encode_write(const struct record_write *write, struct buffer *out);
void record_encode_drop_range(const struct record_drop_range *drop, struct buffer *out);
void record_encode_split(const struct record_split *split, struct buffer *out);
void record_encode_gc_horizon(const struct record_gc_horizon *horizon, struct buffer *out);

/* Errors: STATUS_CORRUPT with what is wrong, STATUS_NO_MEMORY. */
enum status record_decode_write(struct bytes payload,
                                struct arena *arena,
                                struct record_write *ret_write,
                                struct error *ret_error);
enum status record_decode_drop_range(struct bytes payload,
                                     struct record_drop_range *ret_drop,
                                     struct error *ret_error);
enum status record_decode_split(struct bytes payload,
                                struct record_split *ret_split,
                                struct error *ret_error);
enum status record_decode_gc_horizon(struct bytes payload,
                                     struct record_gc_horizon *ret_horizon,
                                     struct error *ret_error);

#endif /* TABLETSERVER_STORAGE_RECORD_RECORD_H */

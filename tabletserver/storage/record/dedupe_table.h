/*
 * The tables behind dedupe.h, for its own files only: clients and records, found by hash, kept in
 * order of age, and each client's records in a heap by sequence so that trimming takes the lowest.
 *
 *     clients   hash by id; list, longest not heard of first
 *     records   hash by (client, span of sequences); list, oldest first; pairing heap in their client
 *
 * One record stands for all requests of a client that one log record brought without results, as far
 * as their sequences lie in one SPAN (64 of them, aligned): a bundle of 100 rows is two or three
 * records, not 100.  Limits count requests, not records.
 *
 * Everything that ages does so by keep_until_us, in the servers' time by stamp clocks: the latest
 * moment at which a retry could still be let in by the age rule.  A client is kept at least as long
 * as its records.  Nothing is ever iterated in hash order.
 *
 * EMERGENCY MEMORY.  Records and clients are ordinary allocations.  Only when one fails is a piece
 * of a block taken that dedupe_reserve() made for that; it is freed when the last piece in it is.
 */
#ifndef TABLETSERVER_STORAGE_RECORD_DEDUPE_TABLE_H
#define TABLETSERVER_STORAGE_RECORD_DEDUPE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/pairing_heap.h"
#include "tabletserver/storage/record/dedupe.h"

struct dedupe_block {
    size_t size_bytes;
    size_t used_bytes;
    size_t piece_count; /* not yet freed */
    uint64_t data[];
};

#define DEDUPE_SPAN 64 /* bits of `requests` */

struct dedupe_record {
    struct pairing_node node; /* first; in its client's heap, by its lowest sequence */
    struct dedupe_record *hash_next;
    struct dedupe_record **hash_at; /* what points to it in its chain */
    struct dedupe_record *older;    /* list by age */
    struct dedupe_record *newer;
    struct dedupe_client *client;
    struct dedupe_block *block; /* NULL = an allocation of its own */
    uint64_t log_sequence;      /* 0 = committed long ago */
    int64_t keep_until_us;
    uint64_t requests; /* bit i: the request with the span's sequence i is on record */
    uint32_t result_size;
    uint8_t result[];
};

struct dedupe_client {
    struct dedupe_client *hash_next;
    struct dedupe_client *older;
    struct dedupe_client *newer;
    struct pairing_heap records;
    struct dedupe_block *block;
    uint64_t id;
    uint64_t first_unfinished;
    uint64_t highest; /* no record above it was ever added: most requests need no search */
    int64_t keep_until_us;
    uint32_t index; /* of the last encoding */
};

struct dedupe {
    struct dedupe_limits limits;
    struct dedupe_client **client_buckets;
    struct dedupe_record **record_buckets;
    size_t client_bucket_count; /* powers of two */
    size_t record_bucket_count;
    struct dedupe_client *oldest_client;
    struct dedupe_client *newest_client;
    struct dedupe_record *oldest_record;
    struct dedupe_record *newest_record;
    uint32_t client_count;
    uint32_t record_count;  /* in the hash */
    uint32_t request_count; /* on record */
    uint64_t result_bytes;
    uint64_t committed_sequence;
    struct dedupe_block *emergency; /* NULL until dedupe_reserve() */
};

/* The first sequence of the record's span. */
static inline uint64_t dedupe_record_span(const struct dedupe_record *record)
{
    return record->node.key & ~(uint64_t)(DEDUPE_SPAN - 1);
}

static inline bool dedupe_record_has(const struct dedupe_record *record, uint64_t sequence)
{
    uint64_t offset = sequence - dedupe_record_span(record);
    return offset < DEDUPE_SPAN && ((record->requests >> offset) & 1) != 0;
}

static inline uint32_t dedupe_record_requests(const struct dedupe_record *record)
{
    return (uint32_t)__builtin_popcountll(record->requests);
}

/* The client's record with the lowest sequence; NULL = it has none. */
static inline struct dedupe_record *dedupe_client_lowest(const struct dedupe_client *client)
{
    return (struct dedupe_record *)client->records.lowest;
}

enum status dedupe_table_init(struct dedupe *dedupe);
void dedupe_table_deinit(struct dedupe *dedupe);

struct dedupe_client *dedupe_table_client(const struct dedupe *dedupe, uint64_t id);
struct dedupe_record *dedupe_table_record(const struct dedupe *dedupe,
                                          const struct dedupe_client *client,
                                          uint64_t sequence);

/* A new one, as the newest; NULL without memory. */
struct dedupe_client *dedupe_table_add_client(struct dedupe *dedupe, uint64_t id);

/* A request that is not on record yet, by log record log_sequence: into the client's newest record
 * or one of its own, as the newest; NULL without memory. */
struct dedupe_record *dedupe_table_add_request(struct dedupe *dedupe,
                                               struct dedupe_client *client,
                                               uint64_t sequence,
                                               struct bytes result,
                                               uint64_t log_sequence,
                                               int64_t keep_until_us);

/* Keep it until then at least.  The client becomes the newest; a record's place stays. */
void dedupe_table_touch_client(struct dedupe *dedupe,
                               struct dedupe_client *client,
                               int64_t keep_until_us);

/* Raise first_unfinished and forget the client's requests below it.  Where records of one span
 * overlap, some stay until the lowest of these goes. */
void dedupe_table_trim(struct dedupe *dedupe,
                       struct dedupe_client *client,
                       uint64_t first_unfinished);

/* Forget records and clients that need not be kept at now_us any more, oldest first, at most so
 * many all in all. */
void dedupe_table_expire(struct dedupe *dedupe, int64_t now_us, uint32_t count_max);

/* Forget the records that log records above that sequence brought. */
void dedupe_table_drop_above(struct dedupe *dedupe, uint64_t log_sequence);

/* Bytes of emergency memory that a record of a new client may take. */
size_t dedupe_table_record_size_bytes(size_t result_size);

/* Have that many bytes of emergency memory.  Errors: STATUS_NO_MEMORY. */
enum status dedupe_table_reserve(struct dedupe *dedupe, size_t size_bytes);

/* Give emergency memory back that is not in use. */
void dedupe_table_release(struct dedupe *dedupe);

/* Put a client or record that was just added in its place by age, searching from `*at` on (NULL =
 * from the oldest); *at is then the place for the next one, not older. */
void dedupe_table_place_client(struct dedupe *dedupe,
                               struct dedupe_client *client,
                               struct dedupe_client **at);
void dedupe_table_place_record(struct dedupe *dedupe,
                               struct dedupe_record *record,
                               struct dedupe_record **at);

#endif /* TABLETSERVER_STORAGE_RECORD_DEDUPE_TABLE_H */

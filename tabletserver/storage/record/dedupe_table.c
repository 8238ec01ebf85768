#include "tabletserver/storage/record/dedupe_table.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/base/mix.h"

#define BUCKET_COUNT_MIN    16
#define EMERGENCY_BYTES_MIN (16 * 1024)

/* --- memory -------------------------------------------------------------------------------------- */

static size_t round_up(size_t size_bytes)
{
    return (size_bytes + 7) & ~(size_t)7;
}

static size_t record_size(size_t result_size)
{
    return round_up(offsetof(struct dedupe_record, result) + result_size);
}

size_t dedupe_table_record_size_bytes(size_t result_size)
{
    return record_size(result_size) + round_up(sizeof(struct dedupe_client));
}

enum status dedupe_table_reserve(struct dedupe *dedupe, size_t size_bytes)
{
    struct dedupe_block *old = dedupe->emergency;
    if (old != NULL && old->size_bytes - old->used_bytes >= size_bytes) {
        return STATUS_OK;
    }
    size_t size = size_bytes > EMERGENCY_BYTES_MIN ? round_up(size_bytes) : EMERGENCY_BYTES_MIN;
    struct dedupe_block *block = memory_allocate(sizeof *block + size);
    if (block == NULL) {
        return STATUS_NO_MEMORY;
    }
    *block = (struct dedupe_block){.size_bytes = size};
    if (old != NULL && old->piece_count == 0) {
        memory_free(old); /* else the last of its pieces frees it */
    }
    dedupe->emergency = block;
    return STATUS_OK;
}

void dedupe_table_release(struct dedupe *dedupe)
{
    if (dedupe->emergency != NULL && dedupe->emergency->piece_count == 0) {
        memory_free(dedupe->emergency);
        dedupe->emergency = NULL;
    }
}

/* *ret_block is the block that the memory is from, NULL for an allocation of its own. */
static void *allocate_piece(struct dedupe *dedupe,
                            size_t size_bytes,
                            struct dedupe_block **ret_block)
{
    *ret_block = NULL;
    void *memory = memory_allocate(size_bytes);
    struct dedupe_block *block = dedupe->emergency;
    if (memory != NULL || block == NULL || block->size_bytes - block->used_bytes < size_bytes) {
        return memory;
    }
    memory = (uint8_t *)block->data + block->used_bytes;
    block->used_bytes += size_bytes;
    block->piece_count++;
    *ret_block = block;
    return memory;
}

static void free_piece(struct dedupe *dedupe, void *piece, struct dedupe_block *block)
{
    if (block == NULL) {
        memory_free(piece);
        return;
    }
    ASSERT(block->piece_count > 0);
    block->piece_count--;
    if (block->piece_count > 0) {
        return;
    }
    if (block == dedupe->emergency) {
        block->used_bytes = 0;
    } else {
        memory_free(block);
    }
}

/* --- hashing ------------------------------------------------------------------------------------- */

/* The address is a seed that a client cannot know; no order that anyone sees depends on it. */
static size_t client_bucket(const struct dedupe *dedupe, uint64_t id, size_t bucket_count)
{
    return mix64(mix64(id ^ (uintptr_t)dedupe) + (uintptr_t)dedupe) & (bucket_count - 1);
}

static size_t record_bucket(const struct dedupe *dedupe,
                            uint64_t client,
                            uint64_t sequence,
                            size_t bucket_count)
{
    uint64_t span = sequence / DEDUPE_SPAN;
    return mix64(mix64(client ^ (uintptr_t)dedupe) + mix64(span + (uintptr_t)dedupe)) &
           (bucket_count - 1);
}

static void hash_record(struct dedupe_record **bucket, struct dedupe_record *record)
{
    record->hash_next = *bucket;
    record->hash_at = bucket;
    if (*bucket != NULL) {
        (*bucket)->hash_at = &record->hash_next;
    }
    *bucket = record;
}

/* Growing is an improvement, not a need: without memory the chains just get longer. */
static void grow_clients(struct dedupe *dedupe)
{
    size_t count = dedupe->client_bucket_count * 2;
    struct dedupe_client **buckets = memory_allocate_zeroed(count, sizeof(void *));
    if (buckets == NULL) {
        return;
    }
    for (struct dedupe_client *client = dedupe->oldest_client; client != NULL;
         client = client->newer) {
        size_t bucket = client_bucket(dedupe, client->id, count);
        client->hash_next = buckets[bucket];
        buckets[bucket] = client;
    }
    memory_free(dedupe->client_buckets);
    dedupe->client_buckets = buckets;
    dedupe->client_bucket_count = count;
}

static void grow_records(struct dedupe *dedupe)
{
    size_t count = dedupe->record_bucket_count * 2;
    struct dedupe_record **buckets = memory_allocate_zeroed(count, sizeof(void *));
    if (buckets == NULL) {
        return;
    }
    for (struct dedupe_record *record = dedupe->oldest_record; record != NULL;
         record = record->newer) {
        hash_record(&buckets[record_bucket(dedupe, record->client->id, record->node.key, count)],
                    record);
    }
    memory_free(dedupe->record_buckets);
    dedupe->record_buckets = buckets;
    dedupe->record_bucket_count = count;
}

static void unhash_client(struct dedupe *dedupe, const struct dedupe_client *client)
{
    struct dedupe_client **at =
        &dedupe->client_buckets[client_bucket(dedupe, client->id, dedupe->client_bucket_count)];
    while (*at != client) {
        at = &(*at)->hash_next;
    }
    *at = client->hash_next;
}

static void unhash_record(const struct dedupe_record *record)
{
    *record->hash_at = record->hash_next;
    if (record->hash_next != NULL) {
        record->hash_next->hash_at = record->hash_at;
    }
}

/* --- lists by age -------------------------------------------------------------------------------- */

/* Between `older` (NULL = nobody) and the one after it. */
static void insert_client(struct dedupe *dedupe,
                          struct dedupe_client *client,
                          struct dedupe_client *older)
{
    client->older = older;
    client->newer = older != NULL ? older->newer : dedupe->oldest_client;
    *(older != NULL ? &older->newer : &dedupe->oldest_client) = client;
    *(client->newer != NULL ? &client->newer->older : &dedupe->newest_client) = client;
}

static void unlist_client(struct dedupe *dedupe, const struct dedupe_client *client)
{
    *(client->older != NULL ? &client->older->newer : &dedupe->oldest_client) = client->newer;
    *(client->newer != NULL ? &client->newer->older : &dedupe->newest_client) = client->older;
}

static void insert_record(struct dedupe *dedupe,
                          struct dedupe_record *record,
                          struct dedupe_record *older)
{
    record->older = older;
    record->newer = older != NULL ? older->newer : dedupe->oldest_record;
    *(older != NULL ? &older->newer : &dedupe->oldest_record) = record;
    *(record->newer != NULL ? &record->newer->older : &dedupe->newest_record) = record;
}

static void unlist_record(struct dedupe *dedupe, const struct dedupe_record *record)
{
    *(record->older != NULL ? &record->older->newer : &dedupe->oldest_record) = record->newer;
    *(record->newer != NULL ? &record->newer->older : &dedupe->newest_record) = record->older;
}

void dedupe_table_place_client(struct dedupe *dedupe,
                               struct dedupe_client *client,
                               struct dedupe_client **at)
{
    unlist_client(dedupe, client);
    struct dedupe_client *older = *at;
    struct dedupe_client *next = older != NULL ? older->newer : dedupe->oldest_client;
    while (next != NULL && next->keep_until_us <= client->keep_until_us) {
        older = next;
        next = next->newer;
    }
    insert_client(dedupe, client, older);
    *at = client;
}

void dedupe_table_place_record(struct dedupe *dedupe,
                               struct dedupe_record *record,
                               struct dedupe_record **at)
{
    unlist_record(dedupe, record);
    struct dedupe_record *older = *at;
    struct dedupe_record *next = older != NULL ? older->newer : dedupe->oldest_record;
    while (next != NULL && next->keep_until_us <= record->keep_until_us) {
        older = next;
        next = next->newer;
    }
    insert_record(dedupe, record, older);
    *at = record;
}

/* --- dropping ----------------------------------------------------------------------------------- */

static void drop_record(struct dedupe *dedupe, struct dedupe_record *record)
{
    struct dedupe_client *client = record->client;
    pairing_heap_remove(&client->records, &record->node);
    unhash_record(record);
    unlist_record(dedupe, record);
    dedupe->record_count--;
    dedupe->request_count -= dedupe_record_requests(record);
    dedupe->result_bytes -= record->result_size;
    free_piece(dedupe, record, record->block);
}

static void drop_client(struct dedupe *dedupe, struct dedupe_client *client)
{
    ASSERT(client->records.lowest == NULL);
    unhash_client(dedupe, client);
    unlist_client(dedupe, client);
    dedupe->client_count--;
    free_piece(dedupe, client, client->block);
}

/* --- in common use ------------------------------------------------------------------------------- */

enum status dedupe_table_init(struct dedupe *dedupe)
{
    dedupe->client_buckets = memory_allocate_zeroed(BUCKET_COUNT_MIN, sizeof(void *));
    dedupe->record_buckets = memory_allocate_zeroed(BUCKET_COUNT_MIN, sizeof(void *));
    dedupe->client_bucket_count = BUCKET_COUNT_MIN;
    dedupe->record_bucket_count = BUCKET_COUNT_MIN;
    bool is_done = dedupe->client_buckets != NULL && dedupe->record_buckets != NULL;
    return is_done ? STATUS_OK : STATUS_NO_MEMORY;
}

void dedupe_table_deinit(struct dedupe *dedupe)
{
    while (dedupe->oldest_record != NULL) {
        drop_record(dedupe, dedupe->oldest_record);
    }
    while (dedupe->oldest_client != NULL) {
        drop_client(dedupe, dedupe->oldest_client);
    }
    memory_free(dedupe->client_buckets);
    memory_free(dedupe->record_buckets);
    memory_free(dedupe->emergency);
}

struct dedupe_client *dedupe_table_client(const struct dedupe *dedupe, uint64_t id)
{
    size_t bucket = client_bucket(dedupe, id, dedupe->client_bucket_count);
    struct dedupe_client *client = dedupe->client_buckets[bucket];
    while (client != NULL && client->id != id) {
        client = client->hash_next;
    }
    return client;
}

struct dedupe_record *dedupe_table_record(const struct dedupe *dedupe,
                                          const struct dedupe_client *client,
                                          uint64_t sequence)
{
    if (sequence > client->highest) {
        return NULL;
    }
    size_t bucket = record_bucket(dedupe, client->id, sequence, dedupe->record_bucket_count);
    struct dedupe_record *record = dedupe->record_buckets[bucket];
    while (record != NULL && (record->client != client || !dedupe_record_has(record, sequence))) {
        record = record->hash_next;
    }
    return record;
}

struct dedupe_client *dedupe_table_add_client(struct dedupe *dedupe, uint64_t id)
{
    struct dedupe_block *block = NULL;
    struct dedupe_client *client = allocate_piece(dedupe, round_up(sizeof(struct dedupe_client)),
                                                  &block);
    if (client == NULL) {
        return NULL;
    }
    if (dedupe->client_count >= dedupe->client_bucket_count) {
        grow_clients(dedupe);
    }
    size_t bucket = client_bucket(dedupe, id, dedupe->client_bucket_count);
    *client = (struct dedupe_client){
        .hash_next = dedupe->client_buckets[bucket],
        .block = block,
        .id = id,
    };
    dedupe->client_buckets[bucket] = client;
    insert_client(dedupe, client, dedupe->newest_client);
    dedupe->client_count++;
    return client;
}

/* The record that the request before came into, if this one may join it. */
static struct dedupe_record *joinable(const struct dedupe_client *client,
                                      uint64_t sequence,
                                      struct bytes result,
                                      uint64_t log_sequence,
                                      int64_t keep_until_us)
{
    struct dedupe_record *record = (struct dedupe_record *)client->records.newest;
    bool is_joinable = record != NULL && record->log_sequence == log_sequence &&
                       record->keep_until_us == keep_until_us && record->result_size == 0 &&
                       result.size_bytes == 0 && sequence > record->node.key &&
                       sequence - dedupe_record_span(record) < DEDUPE_SPAN;
    return is_joinable ? record : NULL;
}

static struct dedupe_record *add_record(struct dedupe *dedupe,
                                        struct dedupe_client *client,
                                        uint64_t sequence,
                                        struct bytes result)
{
    struct dedupe_block *block = NULL;
    struct dedupe_record *record = allocate_piece(dedupe, record_size(result.size_bytes), &block);
    if (record == NULL) {
        return NULL;
    }
    if (dedupe->record_count >= dedupe->record_bucket_count) {
        grow_records(dedupe);
    }
    *record = (struct dedupe_record){
        .client = client,
        .block = block,
        .result_size = (uint32_t)result.size_bytes,
    };
    if (result.size_bytes > 0) {
        memcpy(record->result, result.data, result.size_bytes);
    }
    size_t bucket = record_bucket(dedupe, client->id, sequence, dedupe->record_bucket_count);
    hash_record(&dedupe->record_buckets[bucket], record);
    insert_record(dedupe, record, dedupe->newest_record);
    pairing_heap_insert(&client->records, &record->node, sequence);
    dedupe->record_count++;
    dedupe->result_bytes += result.size_bytes;
    return record;
}

struct dedupe_record *dedupe_table_add_request(struct dedupe *dedupe,
                                               struct dedupe_client *client,
                                               uint64_t sequence,
                                               struct bytes result,
                                               uint64_t log_sequence,
                                               int64_t keep_until_us)
{
    struct dedupe_record *record = joinable(client, sequence, result, log_sequence, keep_until_us);
    if (record == NULL) {
        record = add_record(dedupe, client, sequence, result);
        if (record == NULL) {
            return NULL;
        }
        record->log_sequence = log_sequence;
        record->keep_until_us = keep_until_us;
    }
    record->requests |= UINT64_C(1) << (sequence - dedupe_record_span(record));
    client->highest = sequence > client->highest ? sequence : client->highest;
    dedupe->request_count++;
    return record;
}

void dedupe_table_touch_client(struct dedupe *dedupe,
                               struct dedupe_client *client,
                               int64_t keep_until_us)
{
    if (keep_until_us > client->keep_until_us) {
        client->keep_until_us = keep_until_us;
    }
    unlist_client(dedupe, client);
    insert_client(dedupe, client, dedupe->newest_client);
}

static uint64_t highest_of(const struct dedupe_record *record)
{
    uint64_t above = (uint64_t)__builtin_clzll(record->requests);
    return dedupe_record_span(record) + DEDUPE_SPAN - 1 - above;
}

/* Forget the requests below first_unfinished of a record that reaches beyond it. */
static void cut_record(struct dedupe *dedupe,
                       struct dedupe_record *record,
                       uint64_t first_unfinished)
{
    uint64_t from = first_unfinished - dedupe_record_span(record);
    dedupe->request_count -= dedupe_record_requests(record);
    record->requests &= UINT64_MAX << from;
    dedupe->request_count += dedupe_record_requests(record);
}

void dedupe_table_trim(struct dedupe *dedupe,
                       struct dedupe_client *client,
                       uint64_t first_unfinished)
{
    if (first_unfinished > client->first_unfinished) {
        client->first_unfinished = first_unfinished;
    }
    struct dedupe_record *lowest = dedupe_client_lowest(client);
    while (lowest != NULL && highest_of(lowest) < client->first_unfinished) {
        drop_record(dedupe, lowest);
        lowest = dedupe_client_lowest(client);
    }
    if (lowest != NULL && lowest->node.key < client->first_unfinished) {
        cut_record(dedupe, lowest, client->first_unfinished);
    }
}

void dedupe_table_expire(struct dedupe *dedupe, int64_t now_us, uint32_t count_max)
{
    uint32_t count = 0;
    struct dedupe_record *record = dedupe->oldest_record;
    for (; record != NULL && record->keep_until_us < now_us && count < count_max; count++) {
        drop_record(dedupe, record);
        record = dedupe->oldest_record;
    }
    struct dedupe_client *client = dedupe->oldest_client;
    for (; client != NULL && client->keep_until_us < now_us && count < count_max; count++) {
        struct dedupe_record *lowest = dedupe_client_lowest(client);
        if (lowest != NULL) { /* a record behind a younger one in the list by age */
            drop_record(dedupe, lowest);
        } else {
            drop_client(dedupe, client);
            client = dedupe->oldest_client;
        }
    }
}

void dedupe_table_drop_above(struct dedupe *dedupe, uint64_t log_sequence)
{
    /* They came last.  What an image brought stands among them by age, with a sequence of 0. */
    struct dedupe_record *record = dedupe->newest_record;
    while (record != NULL && (record->log_sequence == 0 || record->log_sequence > log_sequence)) {
        struct dedupe_record *older = record->older;
        if (record->log_sequence > log_sequence) {
            drop_record(dedupe, record);
        }
        record = older;
    }
}

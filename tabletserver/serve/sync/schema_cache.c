#include "tabletserver/serve/sync/schema_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "common/io/file.h"
#include "common/wire/message.h"

/*
 * The file:
 *   offset size
 *        0    8  magic "EBTABLES"
 *        8    8  checksum of what follows, seed 0
 *       16    .  for each table: length (4, little-endian), table_encode()
 */
#define MAGIC             "EBTABLES"
#define FILE_HEADER_BYTES 16
/* What was written must be read again, or the server does not start; masters are allowed 10 000 000 tables (tables_max),
 * and 10 000 of them take 600 MB where all have as many families, and rules of them, as there may be. */
#define FILE_BYTES_MAX     (UINT64_C(1) << 40)
#define SCHEMA_ARENA_BYTES 4096

struct schema {
    atomic_uint references;
    bool distrusted; /* any version replaces it; guarded by the cache's lock */
    struct arena arena;
    struct table table;
};

struct schema_cache {
    pthread_mutex_t lock;
    struct schema **items; /* in no order: few, and looked up once a request */
    uint32_t count;
    uint32_t capacity;
    char path[4096];
};

static struct schema *schema_create(const struct table *table)
{
    struct schema *schema = memory_allocate_zeroed(1, sizeof *schema);
    if (schema == NULL) {
        return NULL;
    }
    atomic_init(&schema->references, 1);
    arena_init(&schema->arena, SCHEMA_ARENA_BYTES, SIZE_MAX);
    if (table_copy(&schema->arena, table, &schema->table) != STATUS_OK) {
        arena_deinit(&schema->arena);
        memory_free(schema);
        return NULL;
    }
    return schema;
}

struct schema *schema_retain(struct schema *schema)
{
    atomic_fetch_add(&schema->references, 1);
    return schema;
}

void schema_release(struct schema *schema)
{
    if (schema != NULL && atomic_fetch_sub(&schema->references, 1) == 1) {
        arena_deinit(&schema->arena);
        memory_free(schema);
    }
}

const struct table *schema_table(const struct schema *schema)
{
    return &schema->table;
}

static uint32_t index_of(const struct schema_cache *cache, uint64_t table)
{
    uint32_t i = 0;
    while (i < cache->count && cache->items[i]->table.number != table) {
        i++;
    }
    return i;
}

struct schema *schema_cache_find(struct schema_cache *cache, uint64_t table)
{
    struct schema *schema = NULL;
    pthread_mutex_lock(&cache->lock);
    uint32_t i = index_of(cache, table);
    if (i < cache->count) {
        schema = cache->items[i];
        atomic_fetch_add(&schema->references, 1);
    }
    pthread_mutex_unlock(&cache->lock);
    return schema;
}

struct schema *schema_cache_find_by_name(struct schema_cache *cache, struct bytes name)
{
    struct schema *schema = NULL;
    pthread_mutex_lock(&cache->lock);
    for (uint32_t i = 0; i < cache->count; i++) {
        struct schema *each = cache->items[i];
        if (bytes_equal(each->table.id, name) &&
            (schema == NULL || each->table.number > schema->table.number)) {
            schema = each;
        }
    }
    if (schema != NULL) {
        (void)schema_retain(schema);
    }
    pthread_mutex_unlock(&cache->lock);
    return schema;
}

static bool make_room(struct schema_cache *cache)
{
    if (cache->count < cache->capacity) {
        return true;
    }
    uint32_t capacity = cache->capacity * 2 + 8;
    struct schema **items = memory_resize(cache->items, capacity * sizeof(struct schema *));
    if (items == NULL) {
        return false;
    }
    cache->items = items;
    cache->capacity = capacity;
    return true;
}

enum status schema_cache_put(struct schema_cache *cache,
                             const struct table *table,
                             bool *ret_changed)
{
    enum status status = STATUS_OK;
    bool changed = false;

    pthread_mutex_lock(&cache->lock);
    uint32_t i = index_of(cache, table->number);
    if (i == cache->count || cache->items[i]->distrusted ||
        cache->items[i]->table.version < table->version) {
        struct schema *schema = make_room(cache) ? schema_create(table) : NULL;
        if (schema == NULL) {
            status = STATUS_NO_MEMORY;
        } else if (i < cache->count) {
            schema_release(cache->items[i]);
            cache->items[i] = schema;
            changed = true;
        } else {
            cache->items[cache->count++] = schema;
            changed = true;
        }
    }
    pthread_mutex_unlock(&cache->lock);
    if (ret_changed != NULL) {
        *ret_changed = changed;
    }
    return status;
}

void schema_cache_distrust(struct schema_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    for (uint32_t i = 0; i < cache->count; i++) {
        cache->items[i]->distrusted = true;
    }
    pthread_mutex_unlock(&cache->lock);
}

void schema_cache_remove(struct schema_cache *cache, uint64_t table)
{
    pthread_mutex_lock(&cache->lock);
    uint32_t i = index_of(cache, table);
    if (i < cache->count) {
        schema_release(cache->items[i]);
        cache->items[i] = cache->items[--cache->count];
    }
    pthread_mutex_unlock(&cache->lock);
}

static enum status load_tables(struct schema_cache *cache, struct bytes in, struct error *ret_error)
{
    struct arena arena;
    enum status status = STATUS_OK;

    arena_init(&arena, SCHEMA_ARENA_BYTES, SIZE_MAX);
    while (in.size_bytes > 0 && status == STATUS_OK) {
        uint32_t length = in.size_bytes >= 4 ? load_le32(in.data) : 0;
        if (in.size_bytes < 4 || length > in.size_bytes - 4) {
            status = error_set(ret_error, STATUS_CORRUPT, "%s: cut short", cache->path);
            break;
        }
        struct table table;
        struct error reason = {.status = STATUS_OK};
        status = table_decode(bytes_of(in.data + 4, length), &arena, &table, ret_error);
        if (status == STATUS_OK && table_check(&table, &reason) != STATUS_OK) {
            status = error_set(ret_error, STATUS_CORRUPT,
                               "%s: %s; remove the file, a master will tell again", cache->path,
                               reason.text);
        }
        if (status == STATUS_OK) {
            status = schema_cache_put(cache, &table, NULL);
        }
        in = bytes_drop_front(in, 4 + length);
    }
    arena_deinit(&arena);
    return status;
}

static enum status load_file(struct schema_cache *cache, struct error *ret_error)
{
    struct buffer content = BUFFER_INIT;
    enum status status = file_read_whole(cache->path, FILE_BYTES_MAX, &content, ret_error);

    if (status == STATUS_NOT_FOUND) {
        status = STATUS_OK;
    } else if (status == STATUS_OK) {
        size_t size = content.size_bytes;
        if (size < FILE_HEADER_BYTES || memcmp(content.data, MAGIC, 8) != 0 ||
            load_le64(content.data + 8) !=
                checksum64(content.data + FILE_HEADER_BYTES, size - FILE_HEADER_BYTES, 0)) {
            status = error_set(ret_error, STATUS_CORRUPT,
                               "%s: bad checksum; remove the file, a master will tell again",
                               cache->path);
        } else {
            struct bytes tables = bytes_of(content.data + FILE_HEADER_BYTES,
                                           size - FILE_HEADER_BYTES);
            status = load_tables(cache, tables, ret_error);
        }
    }
    buffer_deinit(&content);
    return status;
}

enum status schema_cache_open(const char *path,
                              struct schema_cache **ret_cache,
                              struct error *ret_error)
{
    struct schema_cache *cache = memory_allocate_zeroed(1, sizeof *cache);
    if (cache == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for the schema cache");
    }
    pthread_mutex_init(&cache->lock, NULL);
    (void)snprintf(cache->path, sizeof cache->path, "%s", path);
    enum status status = load_file(cache, ret_error);
    if (status != STATUS_OK) {
        schema_cache_close(cache);
        return status;
    }
    *ret_cache = cache;
    return STATUS_OK;
}

void schema_cache_close(struct schema_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    for (uint32_t i = 0; i < cache->count; i++) {
        schema_release(cache->items[i]);
    }
    pthread_mutex_destroy(&cache->lock);
    memory_free(cache->items);
    memory_free(cache);
}

static void encode_all(struct schema_cache *cache, struct buffer *out)
{
    uint8_t header[FILE_HEADER_BYTES] = MAGIC;
    buffer_append(out, header, sizeof header);
    pthread_mutex_lock(&cache->lock);
    for (uint32_t i = 0; i < cache->count && !out->failed; i++) {
        static const uint8_t no_length[4];
        size_t at = out->size_bytes;
        buffer_append(out, no_length, sizeof no_length);
        table_encode(&cache->items[i]->table, out);
        if (!out->failed) {
            store_le32(out->data + at, (uint32_t)(out->size_bytes - at - 4));
        }
    }
    pthread_mutex_unlock(&cache->lock);
    if (!out->failed) {
        store_le64(out->data + 8, checksum64(out->data + FILE_HEADER_BYTES,
                                             out->size_bytes - FILE_HEADER_BYTES, 0));
    }
}

enum status schema_cache_save(struct schema_cache *cache, struct error *ret_error)
{
    struct buffer content = BUFFER_INIT;
    enum status status = STATUS_OK;

    encode_all(cache, &content);
    if (content.failed) {
        status = error_set(ret_error, STATUS_NO_MEMORY, "no memory to save %s", cache->path);
    } else {
        status = file_write_atomic(cache->path, content.data, content.size_bytes, ret_error);
    }
    buffer_deinit(&content);
    return status;
}

void schema_cache_visit(struct schema_cache *cache,
                        void (*visit)(void *context, const struct table *table),
                        void *context)
{
    pthread_mutex_lock(&cache->lock);
    for (uint32_t i = 0; i < cache->count; i++) {
        visit(context, &cache->items[i]->table);
    }
    pthread_mutex_unlock(&cache->lock);
}

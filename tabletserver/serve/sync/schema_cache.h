/*
 * The schema cache: the tables this server knows, by number.
 *
 * Fed by the master's sync answers and kept in a file beside the stores, so that a server that
 * restarts while no master is there goes on serving what it holds.
 *
 * Thread rule: any thread, but for open and close, and for save, which is one thread's (of two at once
 * the older might be the file's).  A table handed out is immutable and lives until it is given back.
 */
#ifndef TABLETSERVER_SERVE_SYNC_SCHEMA_CACHE_H
#define TABLETSERVER_SERVE_SYNC_SCHEMA_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/model/schema.h"

struct schema_cache;
struct schema; /* one table, counted */

/* path: the file; what it holds is loaded.  A missing file is an empty cache.
 * Errors: STATUS_CORRUPT, STATUS_IO, STATUS_NO_MEMORY. */
enum status schema_cache_open(const char *path,
                              struct schema_cache **ret_cache,
                              struct error *ret_error);
void schema_cache_close(struct schema_cache *cache);

/* NULL when the table is not known. */
struct schema *schema_cache_find(struct schema_cache *cache, uint64_t table);
/* Of several that were made by one name, one after another, the last. */
struct schema *schema_cache_find_by_name(struct schema_cache *cache, struct bytes name);
struct schema *schema_retain(struct schema *schema);
void schema_release(struct schema *schema); /* NULL is fine */
const struct table *schema_table(const struct schema *schema);

/* Newer versions replace, older ones are passed over.  The table passes table_check().
 * Errors: STATUS_NO_MEMORY; then nothing has changed. */
enum status schema_cache_put(struct schema_cache *cache,
                             const struct table *table,
                             bool *ret_changed);

/* The master's catalog is another one now (restored from a copy, say): of every table, whatever
 * version comes next replaces what is here. */
void schema_cache_distrust(struct schema_cache *cache);
void schema_cache_remove(struct schema_cache *cache, uint64_t table);

/* Write the file, synced. */
enum status schema_cache_save(struct schema_cache *cache, struct error *ret_error);

/* Under the cache's lock: visit calls nothing of the cache. */
void schema_cache_visit(struct schema_cache *cache,
                        void (*visit)(void *context, const struct table *table),
                        void *context);

#endif /* TABLETSERVER_SERVE_SYNC_SCHEMA_CACHE_H */

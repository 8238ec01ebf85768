/*
 * Which server holds which row: what the client has learnt so far.
 *
 *   table -> [start, end) -> tablet, configuration, server
 *            sorted by start, disjoint; gaps are what nobody has asked for yet
 *
 * Knowledge comes from masters (LOCATE) and from wrong-server answers of tablet servers, and it
 * may be old.  The configuration version says which of two pieces is newer.
 *
 * Invariants:
 *   (1) Ranges of one table are disjoint and ascending.
 *   (2) A piece of knowledge never replaces one with a higher configuration, unless that one is
 *       doubted and the new one comes from a master: after a restore of the catalog versions may
 *       be lower, and the master's word is the last.
 *   (3) What is doubted is not found, but kept, so that an even older answer cannot take its place.
 *
 * Addresses are interned: equal addresses have equal numbers, from 0 on, never reused.  Memory
 * grows with the tablets that were met of tables that are not forgotten.
 *
 * This module is pure.  Thread rule: one owner.
 */
#ifndef CLIENT_CORE_LOCATION_CACHE_H
#define CLIENT_CORE_LOCATION_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/wire/message.h"

#define LOCATION_NOT_SERVED UINT32_MAX
#define LOCATION_OTHERS_MAX (REPLICA_MEMBERS_MAX - 1)

struct location_entry {
    uint64_t tablet;
    uint64_t configuration;
    struct row_range range; /* owned by the cache */
    uint32_t address;       /* number of the address; LOCATION_NOT_SERVED */
    bool doubted;
    uint8_t other_count;
    uint32_t others[LOCATION_OTHERS_MAX]; /* of the members that did not lead: they hear first who
                                             does now */
};

struct location_cache_table; /* one table's entries */

struct location_cache {
    struct location_cache_table *tables; /* ascending by number */
    size_t table_count;
    size_t table_capacity;
    char **addresses;
    uint32_t address_count;
    uint32_t address_capacity;
};

void location_cache_init(struct location_cache *cache);
void location_cache_deinit(struct location_cache *cache);

/* The number of an address, new or known.  Errors: STATUS_NO_MEMORY. */
enum status location_cache_intern(struct location_cache *cache,
                                  struct bytes address,
                                  uint32_t *ret_address);

/* NUL-terminated; lives as long as the cache. */
const char *location_cache_address(const struct location_cache *cache, uint32_t address);

/* Learn.  from_master: see invariant 2.  Older knowledge is dropped silently.
 * Errors: STATUS_NO_MEMORY (the range is then unknown, or as before). */
enum status location_cache_put(struct location_cache *cache,
                               const struct location *location,
                               bool from_master);

/* Who holds row?  NULL = unknown.  Good until the next put or forget. */
const struct location_entry *location_cache_find(const struct location_cache *cache,
                                                 uint64_t table,
                                                 struct bytes row);

/* The same, doubted or not: whom to ask when the master does not answer. */
const struct location_entry *location_cache_recall(const struct location_cache *cache,
                                                   uint64_t table,
                                                   struct bytes row);

/* The server at address has denied it, or does not answer: doubt what says that it holds row.  An
 * entry that names another server meanwhile is newer knowledge, and stays. */
void location_cache_invalidate(struct location_cache *cache,
                               uint64_t table,
                               struct bytes row,
                               uint32_t address);

/* Doubt all that overlaps range: it keeps a master's word away, and that is the last. */
void location_cache_doubt(struct location_cache *cache,
                          uint64_t table,
                          const struct row_range *range);

/* The table is gone, or nobody has it open any more. */
void location_cache_forget_table(struct location_cache *cache, uint64_t table);

/* Invariant 1, by ASSERT; for tests and the simulator. */
void location_cache_check(const struct location_cache *cache);

#endif /* CLIENT_CORE_LOCATION_CACHE_H */

/*
 * Searches that only bring memory closer.
 *
 * In a table that is larger than the processor's caches a search for a row is a chain of some
 * fifteen cache misses, each waiting for the one before.  But the rows of a batch are known before
 * they are applied; so each that is foreseen starts a search of its own, and everything foreseen or
 * applied after it takes all of them one step on, fetching for each what its next step will look
 * at.  The misses then overlap, and when a row's turn comes its way is in the cache.
 *
 * It is a hint and nothing else: no result depends on it, and it may be wrong or dropped.
 *
 * For the memtable's own files only; the writer's.
 */
#ifndef TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_WARMUP_H
#define TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_WARMUP_H

#include "common/base/bytes.h"
#include "tabletserver/storage/memtable/memtable_nodes.h"

/* A row will be applied, after those that were pushed before it. */
void memtable_warmup_push(struct memtable *memtable, struct bytes key);

/* The oldest is being applied; nothing where there is none. */
void memtable_warmup_pop(struct memtable *memtable);

void memtable_warmup_deinit(struct memtable *memtable);

#endif /* TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_WARMUP_H */

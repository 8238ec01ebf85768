/*
 * The catalog's documents: named bytes that others than the master understand, in order of names.
 *
 * An entry is one piece of memory.  Room for those that come is reserved before a change is made
 * durable, so that applying it cannot fail.
 *
 * Thread rule: one owner.  Pure.
 */
#ifndef MASTER_CORE_STATE_DOCUMENT_MAP_H
#define MASTER_CORE_STATE_DOCUMENT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "master/core/record/record.h"

struct document_entry {
    struct document_record record; /* its bytes are in this allocation */
};

struct document_map {
    struct document_entry **entries; /* ascending by name */
    size_t count;
    size_t capacity;
    uint64_t size_bytes; /* of all: document_size_bytes() */
};

/* A copy; NULL without memory. */
struct document_entry *document_entry_create(const struct document_record *record);
void document_entry_destroy(struct document_entry *entry); /* NULL is fine */

/* What a document counts towards LIMIT_DOCUMENTS_BYTES. */
static inline uint64_t document_size_bytes(struct bytes name, struct bytes content)
{
    return name.size_bytes + content.size_bytes + LIMIT_DOCUMENT_EXTRA_BYTES;
}

void document_map_init(struct document_map *map);
void document_map_deinit(struct document_map *map); /* with all entries */

/* Make room for so many more.  Errors: STATUS_NO_MEMORY. */
enum status document_map_reserve(struct document_map *map, size_t count);

/* Where the first name at or after this one is; count if there is none. */
size_t document_map_index(const struct document_map *map, struct bytes name);

/* NULL when there is none. */
struct document_entry *document_map_get(const struct document_map *map, struct bytes name);

/* Takes entry over; one of the same name is destroyed.  Requires: room was reserved. */
void document_map_put(struct document_map *map, struct document_entry *entry);

/* Requires: it is there. */
void document_map_remove(struct document_map *map, struct bytes name);

/* While loading: at the end, whatever its name is; document_map_sort() puts them in order, once.
 * Returns false where two have one name. */
void document_map_append(struct document_map *map, struct document_entry *entry);
bool document_map_sort(struct document_map *map);

/* Abort unless they are in order and their size is what it is said to be. */
void document_map_check(const struct document_map *map);

#endif /* MASTER_CORE_STATE_DOCUMENT_MAP_H */

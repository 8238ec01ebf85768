/*
 * The memtable's rows: finding them, for the writer and for readers, and linking new ones.
 * For the memtable's own files only; memtable_nodes.h has the structure and the thread rule.
 */
#ifndef TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_ROWS_H
#define TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_ROWS_H

#include "tabletserver/storage/memtable/memtable_nodes.h"

/* The first eight bytes behind what all rows are expected to begin with, as a number that sorts
 * like the key, as far as it goes. */
uint64_t memtable_key_prefix(const struct memtable *memtable, struct bytes key);

struct bytes memtable_row_key(const struct memtable_row *row);

/* It will be looked at soon: what stands in front of its first cell is brought into the cache. */
void memtable_row_fetch(const struct memtable_row *row); /* NULL is fine */

static inline uint64_t memtable_row_first_sequence(const struct memtable_row *row)
{
    return atomic_load_explicit(&row->first_sequence, memory_order_relaxed);
}

/* The cell that lies in the row itself. */
struct memtable_cell *memtable_row_first_cell(const struct memtable_row *row);

/* --- readers; rows made after `sequence` are passed over ---------------------------------------- */

/* The first row >= key (or > key, with after); NULL when there is none. */
const struct memtable_row *memtable_row_at_or_after(const struct memtable *memtable,
                                                    uint64_t sequence,
                                                    struct bytes key,
                                                    bool after);

/* The last row < key (or <= key, with at). */
const struct memtable_row *memtable_row_before(const struct memtable *memtable,
                                               uint64_t sequence,
                                               struct bytes key,
                                               bool at);

const struct memtable_row *memtable_row_last(const struct memtable *memtable, uint64_t sequence);

/* The next row. */
const struct memtable_row *memtable_row_next(const struct memtable_row *row, uint64_t sequence);

/* --- the writer --------------------------------------------------------------------------------- */

/* Stand the finger on key's row and return it, or on the row before it and return NULL. */
struct memtable_row *memtable_row_find(struct memtable *memtable, struct bytes key);

/* Bytes that memtable_row_make() takes before the first cell; at most that. */
size_t memtable_row_size_bytes(struct bytes key, unsigned height);

/*
 * A row for key in memory of memtable_row_size_bytes(key, height) and room for its first cell,
 * which the caller builds at memtable_row_first_cell() before it links the row right behind the
 * finger, where memtable_row_find() left it.
 */
struct memtable_row *memtable_row_make(void *memory,
                                       struct bytes key,
                                       unsigned height,
                                       uint64_t sequence);
void memtable_row_link(struct memtable *memtable, struct memtable_row *row);

/* All of the row's changes are taken out, or, of such a row, the next one comes. */
void memtable_row_drop(struct memtable *memtable, struct memtable_row *row);
void memtable_row_revive(struct memtable *memtable, struct memtable_row *row, uint64_t sequence);

/* For tests: every level's rows ascend, and its prefixes are those of its rows. */
bool memtable_rows_check(const struct memtable *memtable);

#endif /* TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_ROWS_H */

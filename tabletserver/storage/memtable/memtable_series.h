/*
 * Where the last row of each series went.
 *
 * Time series arrive interleaved: a row of one host, then one of another, each behind the last row
 * of its own.  A search from the top would compare with the host's rows on ten levels, a cache miss
 * each, since they differ only at their keys' ends.  So a table remembers, by what stands before
 * the last eight bytes of a key, where the last row of that series was linked; the next one mostly
 * goes right behind it.
 *
 * It is a hint: whether the place is right is checked against the rows themselves.  Where keys have
 * no series the hints miss, and the table is given up.
 *
 * For the memtable's own files only; the writer's.
 */
#ifndef TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_SERIES_H
#define TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_SERIES_H

#include "tabletserver/storage/memtable/memtable_nodes.h"

/* Bring near what memtable_series_find() will look at; false when it would find nothing. */
bool memtable_series_fetch(struct memtable *memtable, struct bytes key);

/*
 * Stand the row finger where key belongs, if that is on or right behind its series' last row.
 * False: the finger is as it was.
 */
bool memtable_series_find(struct memtable *memtable, struct bytes key);

/* A row was linked, and the row finger stands on it. */
void memtable_series_note(struct memtable *memtable, struct bytes key);

void memtable_series_deinit(struct memtable *memtable);

#endif /* TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_SERIES_H */

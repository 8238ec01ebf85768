/*
 * Where the heat map's columns are kept across restarts: folder/heat (console_file.h).
 *
 *   key:   layer (1), table (8), when it began in us (8), all big-endian
 *   value: checksum of key and rest (8), end in us (8), rows as heat_column.h packs them
 *
 * Thread rule: one owner.
 */
#ifndef MASTER_CONSOLE_HEAT_STORE_H
#define MASTER_CONSOLE_HEAT_STORE_H

#include "master/console/console_file.h"
#include "master/heat/heat_map.h"

struct heat_store;

/* Never fails: NULL = nothing is kept, and the log says why. */
struct heat_store *heat_store_open(const char *folder, const struct console_owner *owner);
void heat_store_close(struct heat_store *store); /* NULL is fine */

/* Everything that is there into the map, which has looked at the clock (heat_map_age()).  What is damaged is left out,
 * and erased with the next save; so is, by heat_store_gone(), what the map does not keep (heat_map_restore()). */
void heat_store_load(struct heat_store *store, struct heat_map *map);

/* Note that a stored column is no more; it is erased with the next save. */
void heat_store_gone(struct heat_store *store, uint64_t table, size_t layer, int64_t start_us);

/* Write what is new, erase what is gone, one transaction.  What fails is tried again with the next save. */
void heat_store_save(struct heat_store *store, struct heat_map *map);

/* Why the last save failed, a literal; NULL = it did not. */
const char *heat_store_trouble(const struct heat_store *store);

#endif /* MASTER_CONSOLE_HEAT_STORE_H */

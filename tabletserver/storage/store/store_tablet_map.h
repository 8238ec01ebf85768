/*
 * Tablets of a store by their numbers: those that are served in one map, those that end in another.
 *
 * Open addressing, at most half full; what is taken out leaves no mark, as what stands behind it moves up.  So each call
 * takes the same time however many there are.
 *
 * Thread rule: as the list that it belongs to (store_internal.h).
 */
#ifndef TABLETSERVER_STORAGE_STORE_STORE_TABLET_MAP_H
#define TABLETSERVER_STORAGE_STORE_STORE_TABLET_MAP_H

#include <stdint.h>

#include "common/base/status.h"

struct store_tablet;

struct store_tablet_map {
    struct store_tablet **slots; /* NULL = free */
    uint32_t slot_count;         /* a power of two, or 0 */
    uint32_t count;
};

/* Room for so many in all, so that putting them in cannot fail.  Errors: STATUS_NO_MEMORY. */
enum status store_tablet_map_reserve(struct store_tablet_map *map, uint32_t count);
void store_tablet_map_put(struct store_tablet_map *map, struct store_tablet *tablet);
/* It is there. */
void store_tablet_map_remove(struct store_tablet_map *map, const struct store_tablet *tablet);
/* NULL: none has this number; of several any. */
struct store_tablet *store_tablet_map_find(const struct store_tablet_map *map, uint64_t number);
void store_tablet_map_deinit(struct store_tablet_map *map);

#endif /* TABLETSERVER_STORAGE_STORE_STORE_TABLET_MAP_H */

/*
 * A hash map from numbers (never 0) to pointers: how the catalog finds a tablet by its number.
 *
 * Linear probing, at most half full; removal shifts back, so there are no tombstones.  It is never
 * iterated: what leaves the catalog must not depend on hash order.
 *
 * Room is reserved before a change is made durable, so that applying it cannot fail.
 *
 * Thread rule: one owner at a time.  Pure.
 */
#ifndef MASTER_CORE_STATE_NUMBER_MAP_H
#define MASTER_CORE_STATE_NUMBER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

struct number_map_slot {
    uint64_t number; /* 0 = free */
    void *value;
};

struct number_map {
    struct number_map_slot *slots;
    size_t capacity; /* 0 or a power of two */
    size_t count;
};

void number_map_init(struct number_map *map);
void number_map_deinit(struct number_map *map);

/* Make room for count more.  Errors: STATUS_NO_MEMORY. */
enum status number_map_reserve(struct number_map *map, size_t count);

/* NULL when there is none. */
void *number_map_get(const struct number_map *map, uint64_t number);

/* Insert or replace; returns the value replaced, NULL if none.  Requires: room was reserved. */
void *number_map_put(struct number_map *map, uint64_t number, void *value);

/* Returns the value removed, NULL if there was none. */
void *number_map_remove(struct number_map *map, uint64_t number);

#endif /* MASTER_CORE_STATE_NUMBER_MAP_H */

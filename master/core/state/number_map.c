#include "master/core/state/number_map.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

#define CAPACITY_MIN 16

/* Numbers are dense or random; a multiplication spreads both. */
static size_t home_of(uint64_t number, size_t capacity)
{
    uint64_t mixed = number * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(mixed ^ (mixed >> 32)) & (capacity - 1);
}

/* The slot that holds number, or the free one where it would go. */
static size_t find(const struct number_map *map, uint64_t number)
{
    size_t at = home_of(number, map->capacity);
    while (map->slots[at].number != 0 && map->slots[at].number != number) {
        at = (at + 1) & (map->capacity - 1);
    }
    return at;
}

void number_map_init(struct number_map *map)
{
    *map = (struct number_map){0};
}

void number_map_deinit(struct number_map *map)
{
    memory_free(map->slots);
    *map = (struct number_map){0};
}

enum status number_map_reserve(struct number_map *map, size_t count)
{
    size_t capacity = map->capacity < CAPACITY_MIN ? CAPACITY_MIN : map->capacity;
    struct number_map grown = {0};

    while (capacity / 2 < map->count + count) {
        capacity *= 2;
    }
    if (capacity == map->capacity) {
        return STATUS_OK;
    }
    grown.slots = memory_allocate_zeroed(capacity, sizeof *grown.slots);
    if (grown.slots == NULL) {
        return STATUS_NO_MEMORY;
    }
    grown.capacity = capacity;
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].number != 0) {
            (void)number_map_put(&grown, map->slots[i].number, map->slots[i].value);
        }
    }
    ASSERT(grown.count == map->count);
    memory_free(map->slots);
    *map = grown;
    return STATUS_OK;
}

void *number_map_get(const struct number_map *map, uint64_t number)
{
    if (map->count == 0 || number == 0) {
        return NULL;
    }
    return map->slots[find(map, number)].value;
}

void *number_map_put(struct number_map *map, uint64_t number, void *value)
{
    ASSERT(number != 0);
    ASSERT(value != NULL);
    ASSERT(map->capacity > 0);
    size_t at = find(map, number);
    void *replaced = map->slots[at].value;
    if (replaced == NULL) {
        ASSERT(map->count < map->capacity / 2);
        map->count++;
    }
    map->slots[at] = (struct number_map_slot){number, value};
    return replaced;
}

void *number_map_remove(struct number_map *map, uint64_t number)
{
    if (map->count == 0) {
        return NULL;
    }
    size_t mask = map->capacity - 1;
    size_t hole = find(map, number);
    void *removed = map->slots[hole].value;
    if (removed == NULL) {
        return NULL;
    }
    /* Whatever could have been probed past the hole moves into it. */
    for (size_t at = (hole + 1) & mask; map->slots[at].number != 0; at = (at + 1) & mask) {
        size_t home = home_of(map->slots[at].number, map->capacity);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole] = (struct number_map_slot){0};
    map->count--;
    return removed;
}

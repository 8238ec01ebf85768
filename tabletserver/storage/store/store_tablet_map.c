#include "tabletserver/storage/store/store_tablet_map.h"

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/store/store_tablet_state.h"

#define SLOTS_MIN 64

static uint32_t next(const struct store_tablet_map *map, uint32_t slot)
{
    return (slot + 1) & (map->slot_count - 1);
}

/* Where a tablet of this number would best stand. */
static uint32_t home_of(const struct store_tablet_map *map, uint64_t number)
{
    uint64_t mixed = number * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(mixed >> 32) & (map->slot_count - 1);
}

enum status store_tablet_map_reserve(struct store_tablet_map *map, uint32_t count)
{
    struct store_tablet_map larger = {.slot_count = SLOTS_MIN};
    if (count <= map->slot_count / 2) {
        return STATUS_OK;
    }
    while (larger.slot_count / 4 < count) {
        larger.slot_count *= 2;
    }
    larger.slots = memory_allocate_zeroed(larger.slot_count, sizeof(struct store_tablet *));
    if (larger.slots == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < map->slot_count; i++) {
        if (map->slots[i] != NULL) {
            store_tablet_map_put(&larger, map->slots[i]);
        }
    }
    memory_free(map->slots);
    *map = larger;
    return STATUS_OK;
}

void store_tablet_map_put(struct store_tablet_map *map, struct store_tablet *tablet)
{
    ASSERT(map->count < map->slot_count / 2);
    uint32_t slot = home_of(map, tablet->descriptor.tablet);
    while (map->slots[slot] != NULL) {
        slot = next(map, slot);
    }
    map->slots[slot] = tablet;
    map->count++;
}

/* So many slots behind its home is what stands there. */
static uint32_t distance(const struct store_tablet_map *map, uint32_t slot)
{
    uint32_t home = home_of(map, map->slots[slot]->descriptor.tablet);
    return (slot - home) & (map->slot_count - 1);
}

/* What stands behind the gap, and could stand in it, moves up: a search ends at the first free slot. */
static void close_gap(struct store_tablet_map *map, uint32_t gap)
{
    for (uint32_t at = next(map, gap); map->slots[at] != NULL; at = next(map, at)) {
        if (distance(map, at) >= ((at - gap) & (map->slot_count - 1))) {
            map->slots[gap] = map->slots[at];
            gap = at;
        }
    }
    map->slots[gap] = NULL;
}

void store_tablet_map_remove(struct store_tablet_map *map, const struct store_tablet *tablet)
{
    uint32_t slot = home_of(map, tablet->descriptor.tablet);
    while (map->slots[slot] != tablet) {
        ASSERT(map->slots[slot] != NULL);
        slot = next(map, slot);
    }
    close_gap(map, slot);
    map->count--;
}

struct store_tablet *store_tablet_map_find(const struct store_tablet_map *map, uint64_t number)
{
    if (map->count == 0) {
        return NULL;
    }
    uint32_t slot = home_of(map, number);
    while (map->slots[slot] != NULL && map->slots[slot]->descriptor.tablet != number) {
        slot = next(map, slot);
    }
    return map->slots[slot];
}

void store_tablet_map_deinit(struct store_tablet_map *map)
{
    memory_free(map->slots);
    *map = (struct store_tablet_map){0};
}

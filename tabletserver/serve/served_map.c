#include "tabletserver/serve/served_map.h"

#include <pthread.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"

/* Sorted by (table, start of range). */
struct served_map {
    pthread_rwlock_t lock;
    struct served *items;
    uint32_t count;
    uint32_t capacity;
};

void served_ref(const struct served *served)
{
    store_tablet_ref(served->tablet);
    if (served->serving != NULL) {
        serving_ref(served->serving);
    }
}

void served_release(const struct served *served)
{
    store_tablet_unref(served->tablet);
    serving_unref(served->serving);
}

bool served_holds(const struct served *served)
{
    return served->serving == NULL || serving_holds(served->serving, clock_monotonic_ns());
}

static const struct row_range *range_of(const struct served *served)
{
    return &store_tablet_describe(served->tablet)->range;
}

static int compare(const struct served *served, uint64_t table, struct bytes start)
{
    if (served->table != table) {
        return served->table < table ? -1 : 1;
    }
    return bytes_compare(range_of(served)->start, start);
}

/* How many items stand before (table, start), those equal to it included if `equal_too`. */
static uint32_t count_before(const struct served_map *map,
                             uint64_t table,
                             struct bytes start,
                             bool equal_too)
{
    uint32_t low = 0;
    uint32_t high = map->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = compare(&map->items[middle], table, start);
        if (order < 0 || (order == 0 && equal_too)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

enum status served_map_create(struct served_map **ret_map)
{
    struct served_map *map = memory_allocate_zeroed(1, sizeof *map);
    if (map == NULL) {
        return STATUS_NO_MEMORY;
    }
    /* Or lookups without end would keep a store loop from serving a new tablet. */
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    int result = pthread_rwlock_init(&map->lock, &attributes);
    ASSERT(result == 0);
    pthread_rwlockattr_destroy(&attributes);
    *ret_map = map;
    return STATUS_OK;
}

void served_map_destroy(struct served_map *map)
{
    if (map == NULL) {
        return;
    }
    for (uint32_t i = 0; i < map->count; i++) {
        served_release(&map->items[i]);
    }
    pthread_rwlock_destroy(&map->lock);
    memory_free(map->items);
    memory_free(map);
}

static bool make_room(struct served_map *map, uint32_t added_count)
{
    uint32_t needed = map->count + added_count;
    if (needed <= map->capacity) {
        return true;
    }
    uint32_t capacity = needed * 2;
    struct served *items = memory_resize(map->items, capacity * sizeof *items);
    if (items == NULL) {
        return false;
    }
    map->items = items;
    map->capacity = capacity;
    return true;
}

static void take_out(struct served_map *map, const struct store_tablet *removed)
{
    for (uint32_t i = 0; i < map->count; i++) {
        if (map->items[i].tablet == removed) {
            served_release(&map->items[i]);
            map->count -= 1;
            memmove(&map->items[i], &map->items[i + 1], (map->count - i) * sizeof *map->items);
            return;
        }
    }
}

static void put_in(struct served_map *map, const struct served *added)
{
    uint32_t at = count_before(map, added->table, range_of(added)->start, false);
    memmove(&map->items[at + 1], &map->items[at], (map->count - at) * sizeof *map->items);
    map->items[at] = *added;
    map->count += 1;
    served_ref(added);
}

enum status served_map_replace(struct served_map *map,
                               const struct store_tablet *removed,
                               const struct served *added,
                               uint32_t added_count)
{
    enum status status = STATUS_OK;

    pthread_rwlock_wrlock(&map->lock);
    if (!make_room(map, added_count)) {
        status = STATUS_NO_MEMORY;
    } else {
        if (removed != NULL) {
            take_out(map, removed);
        }
        for (uint32_t i = 0; i < added_count; i++) {
            put_in(map, &added[i]);
        }
    }
    pthread_rwlock_unlock(&map->lock);
    return status;
}

bool served_map_find(struct served_map *map,
                     uint64_t table,
                     struct bytes row,
                     struct served *ret_served)
{
    bool found = false;

    pthread_rwlock_rdlock(&map->lock);
    uint32_t count = count_before(map, table, row, true);
    if (count > 0) {
        const struct served *served = &map->items[count - 1];
        if (served->table == table && row_range_contains(range_of(served), row)) {
            *ret_served = *served;
            served_ref(served);
            found = true;
        }
    }
    pthread_rwlock_unlock(&map->lock);
    return found;
}

bool served_map_find_before(struct served_map *map,
                            uint64_t table,
                            struct bytes end,
                            struct served *ret_served)
{
    bool found = false;

    pthread_rwlock_rdlock(&map->lock);
    uint32_t count = end.size_bytes > 0 ? count_before(map, table, end, false)
                                        : count_before(map, table + 1, BYTES_EMPTY, false);
    if (count > 0) {
        const struct served *served = &map->items[count - 1];
        struct bytes last = range_of(served)->end;
        bool reaches = last.size_bytes == 0 ||
                       (end.size_bytes > 0 && bytes_compare(last, end) >= 0);
        if (served->table == table && reaches) {
            *ret_served = *served;
            served_ref(served);
            found = true;
        }
    }
    pthread_rwlock_unlock(&map->lock);
    return found;
}

uint32_t served_map_count(struct served_map *map)
{
    pthread_rwlock_rdlock(&map->lock);
    uint32_t count = map->count;
    pthread_rwlock_unlock(&map->lock);
    return count;
}

void served_map_visit(struct served_map *map,
                      void (*visit)(void *context, const struct served *served),
                      void *context)
{
    pthread_rwlock_rdlock(&map->lock);
    for (uint32_t i = 0; i < map->count; i++) {
        visit(context, &map->items[i]);
    }
    pthread_rwlock_unlock(&map->lock);
}

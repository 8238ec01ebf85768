#include "tabletserver/serve/sync/location_map.h"

#include <pthread.h>
#include <stdalign.h>

#include "common/base/memory.h"

/* One allocation: the location and the bytes it borrows. */
struct item {
    struct location location;
    alignas(max_align_t) uint8_t bytes[];
};

/* Sorted by (table, start); they do not overlap.  What a tablet came of has a lower number, whatever was split
 * or merged in between, so of two that overlap the higher one is right, in whatever order they are told. */
struct location_map {
    pthread_rwlock_t lock;
    struct item **items;
    uint32_t count;
    uint32_t capacity;
};

enum status location_map_create(struct location_map **ret_map)
{
    struct location_map *map = memory_allocate_zeroed(1, sizeof *map);
    if (map == NULL) {
        return STATUS_NO_MEMORY;
    }
    pthread_rwlock_init(&map->lock, NULL);
    *ret_map = map;
    return STATUS_OK;
}

void location_map_destroy(struct location_map *map)
{
    if (map == NULL) {
        return;
    }
    location_map_clear(map);
    pthread_rwlock_destroy(&map->lock);
    memory_free(map->items);
    memory_free(map);
}

static struct bytes copy_to(uint8_t **at, struct bytes bytes)
{
    uint8_t *to = *at;
    if (bytes.size_bytes > 0) {
        memcpy(to, bytes.data, bytes.size_bytes);
    }
    *at = to + bytes.size_bytes;
    return bytes_of(to, bytes.size_bytes);
}

static size_t bytes_needed(const struct location *location)
{
    size_t needed = location->range.start.size_bytes + location->range.end.size_bytes +
                    location->address.size_bytes;
    for (size_t i = 0; i < location->other_count; i++) {
        needed += sizeof(struct bytes) + location->others[i].size_bytes;
    }
    return needed;
}

/* at: aligned for anything. */
static void copy_into(struct location *to, const struct location *from, uint8_t *at)
{
    struct bytes *others = (struct bytes *)(void *)at;

    at += from->other_count * sizeof *others;
    for (size_t i = 0; i < from->other_count; i++) {
        others[i] = copy_to(&at, from->others[i]);
    }
    *to = *from;
    to->others = others;
    to->range.start = copy_to(&at, from->range.start);
    to->range.end = copy_to(&at, from->range.end);
    to->address = copy_to(&at, from->address);
}

static int compare(const struct location *a, uint64_t table, struct bytes start)
{
    if (a->table != table) {
        return a->table < table ? -1 : 1;
    }
    return bytes_compare(a->range.start, start);
}

/* Items up to and including (table, start). */
static uint32_t count_up_to(const struct location_map *map, uint64_t table, struct bytes start)
{
    uint32_t low = 0;
    uint32_t high = map->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare(&map->items[middle]->location, table, start) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void take_out(struct location_map *map, uint64_t tablet)
{
    for (uint32_t i = 0; i < map->count; i++) {
        if (map->items[i]->location.tablet == tablet) {
            memory_free(map->items[i]);
            map->count -= 1;
            memmove(&map->items[i], &map->items[i + 1], (map->count - i) * sizeof(struct item *));
            return;
        }
    }
}

/* The items that overlap it: [*ret_first, return value). */
static uint32_t overlapping(const struct location_map *map,
                            const struct location *location,
                            uint32_t *ret_first)
{
    const struct bytes end = location->range.end;
    uint32_t first = count_up_to(map, location->table, location->range.start);
    if (first > 0 && map->items[first - 1]->location.table == location->table &&
        row_range_contains(&map->items[first - 1]->location.range, location->range.start)) {
        first -= 1;
    }
    uint32_t last = first;
    while (
        last < map->count && map->items[last]->location.table == location->table &&
        (end.size_bytes == 0 || bytes_compare(map->items[last]->location.range.start, end) < 0)) {
        last += 1;
    }
    *ret_first = first;
    return last;
}

/* Is something newer known: of itself, or of what came of it? */
static bool is_old(const struct location *known, const struct location *location)
{
    return known->tablet == location->tablet ? known->configuration > location->configuration
                                             : known->tablet > location->tablet;
}

static bool make_room(struct location_map *map)
{
    if (map->count < map->capacity) {
        return true;
    }
    uint32_t capacity = map->capacity * 2 + 16;
    struct item **items = memory_resize(map->items, capacity * sizeof(struct item *));
    if (items == NULL) {
        return false;
    }
    map->items = items;
    map->capacity = capacity;
    return true;
}

/* In the place of those from first on and below last; there is room. */
static void put_in(struct location_map *map, uint32_t first, uint32_t last, struct item *item)
{
    for (uint32_t i = first; i < last; i++) {
        memory_free(map->items[i]);
    }
    memmove(&map->items[first + 1], &map->items[last], (map->count - last) * sizeof(struct item *));
    map->items[first] = item;
    map->count = map->count - (last - first) + 1;
}

/* As it may be shown.  A tablet that is still being created may yet be placed elsewhere, even if its
 * server has made it and its report was lost: whoever wrote to it there would have written to
 * nowhere. */
static struct location reachable(const struct location *from)
{
    struct location location = *from;
    if (location.state == TABLET_CREATING) {
        location.server = 0;
        location.address = BYTES_EMPTY;
        location.other_count = 0;
    }
    return location;
}

enum status location_map_put(struct location_map *map, const struct location *told)
{
    const struct location shown = reachable(told);
    const struct location *location = &shown;
    enum status status = STATUS_OK;
    struct item *item = memory_allocate(sizeof *item + bytes_needed(location));
    if (item == NULL) {
        return STATUS_NO_MEMORY;
    }
    copy_into(&item->location, location, item->bytes);

    pthread_rwlock_wrlock(&map->lock);
    uint32_t first = 0;
    uint32_t last = overlapping(map, location, &first);
    bool old = false;
    for (uint32_t i = first; i < last; i++) {
        old = old || is_old(&map->items[i]->location, location);
    }
    if (old || !make_room(map)) {
        status = old ? STATUS_OK : STATUS_NO_MEMORY;
        memory_free(item);
    } else {
        put_in(map, first, last, item);
    }
    pthread_rwlock_unlock(&map->lock);
    return status;
}

void location_map_remove(struct location_map *map, uint64_t tablet)
{
    pthread_rwlock_wrlock(&map->lock);
    take_out(map, tablet);
    pthread_rwlock_unlock(&map->lock);
}

void location_map_remove_table(struct location_map *map, uint64_t table)
{
    pthread_rwlock_wrlock(&map->lock);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < map->count; i++) {
        if (map->items[i]->location.table == table) {
            memory_free(map->items[i]);
        } else {
            map->items[kept++] = map->items[i];
        }
    }
    map->count = kept;
    pthread_rwlock_unlock(&map->lock);
}

void location_map_clear(struct location_map *map)
{
    pthread_rwlock_wrlock(&map->lock);
    for (uint32_t i = 0; i < map->count; i++) {
        memory_free(map->items[i]);
    }
    map->count = 0;
    pthread_rwlock_unlock(&map->lock);
}

static bool copy_out(const struct location *from,
                     struct arena *arena,
                     struct location *ret_location)
{
    uint8_t *at = arena_allocate(arena, bytes_needed(from));
    if (at != NULL) {
        copy_into(ret_location, from, at);
    }
    return at != NULL;
}

bool location_map_find(struct location_map *map,
                       uint64_t table,
                       struct bytes row,
                       struct arena *arena,
                       struct location *ret_location)
{
    struct location *locations = NULL;
    size_t count = 0;
    if (location_map_list(map, table, row, 1, arena, &locations, &count) != STATUS_OK ||
        count == 0 || !row_range_contains(&locations[0].range, row)) {
        return false;
    }
    *ret_location = locations[0];
    return true;
}

enum status location_map_list(struct location_map *map,
                              uint64_t table,
                              struct bytes row,
                              uint32_t count_max,
                              struct arena *arena,
                              struct location **ret_locations,
                              size_t *ret_count)
{
    struct location *locations = arena_allocate_array(arena, count_max, sizeof *locations);
    enum status status = locations == NULL ? STATUS_NO_MEMORY : STATUS_OK;
    size_t count = 0;

    pthread_rwlock_rdlock(&map->lock);
    uint32_t i = count_up_to(map, table, row);
    i = i > 0 ? i - 1 : 0;
    for (; status == STATUS_OK && i < map->count && count < count_max; i++) {
        const struct location *location = &map->items[i]->location;
        bool above = location->range.end.size_bytes == 0 ||
                     bytes_compare(location->range.end, row) > 0;
        if (location->table != table || !above) {
            if (location->table > table) {
                break;
            }
            continue;
        }
        status = copy_out(location, arena, &locations[count]) ? STATUS_OK : STATUS_NO_MEMORY;
        count += status == STATUS_OK;
    }
    pthread_rwlock_unlock(&map->lock);
    if (status == STATUS_OK) {
        *ret_locations = locations;
        *ret_count = count;
    }
    return status;
}

uint32_t location_map_count(struct location_map *map, uint64_t table)
{
    uint32_t count = 0;
    pthread_rwlock_rdlock(&map->lock);
    for (uint32_t i = 0; i < map->count; i++) {
        count += map->items[i]->location.table == table;
    }
    pthread_rwlock_unlock(&map->lock);
    return count;
}

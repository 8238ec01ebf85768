#include "tabletserver/serve/sync/served_map.h"

#include <pthread.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"

/*
 * Those that are looked up stand first, sorted by (table, start of range); they do not overlap.  Behind them,
 * in no order, are those of which something else came that is here too: what a split or merge has left
 * behind.  A tablet has a higher number than what it came of, so of two that overlap the lower one is over.
 * Of two copies of one tablet, in two stores of this server, the one that came last is looked up, unless the other
 * one leads: one of them was let go, and is kept for a time.
 */
struct number_list {
    uint64_t *items; /* in no order: there are few */
    size_t count;
    size_t capacity;
};

struct served_map {
    pthread_rwlock_t lock;
    struct served *items;
    uint32_t live; /* so many are looked up */
    uint32_t count;
    uint32_t capacity;
    struct number_list expected; /* tablets that are being made */
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

bool served_confirmed(const struct served *served, uint64_t asked)
{
    return served->serving == NULL ||
           serving_confirmed(served->serving, asked, clock_monotonic_ns());
}

uint64_t served_opening(const struct served *served)
{
    return served->serving == NULL ? 0 : serving_opening(served->serving);
}

bool served_held(const struct served *served, uint64_t opening)
{
    return served->serving == NULL || serving_held(served->serving, opening, clock_monotonic_ns());
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
    uint32_t high = map->live;
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
    memory_free(map->expected.items);
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

static uint64_t number_of(const struct served *served)
{
    return store_tablet_describe(served->tablet)->tablet;
}

static void move(struct served_map *map, uint32_t from, uint32_t to)
{
    struct served moved = map->items[from];
    if (from < to) {
        memmove(&map->items[from], &map->items[from + 1], (to - from) * sizeof moved);
    } else {
        memmove(&map->items[to + 1], &map->items[to], (from - to) * sizeof moved);
    }
    map->items[to] = moved;
}

/* The live ones that overlap it: [*ret_first, return value). */
static uint32_t overlapping(const struct served_map *map,
                            const struct served *served,
                            uint32_t *ret_first)
{
    const struct row_range *range = range_of(served);
    uint32_t first = count_before(map, served->table, range->start, true);
    if (first > 0 && map->items[first - 1].table == served->table &&
        row_range_contains(range_of(&map->items[first - 1]), range->start)) {
        first -= 1;
    }
    uint32_t last = first;
    while (last < map->live && map->items[last].table == served->table &&
           (range->end.size_bytes == 0 ||
            bytes_compare(range_of(&map->items[last])->start, range->end) < 0)) {
        last += 1;
    }
    *ret_first = first;
    return last;
}

/* The last one of all, which is not looked up, is from now on, unless it is over; those that it makes so are
 * looked up no more. */
static void settle(struct served_map *map, uint32_t at)
{
    uint32_t first = 0;
    uint32_t last = overlapping(map, &map->items[at], &first);
    for (uint32_t i = first; i < last; i++) {
        if (number_of(&map->items[i]) > number_of(&map->items[at])) {
            return;
        }
    }
    for (; first < last; last--) {
        move(map, first, map->live - 1);
        map->live -= 1;
    }
    move(map, at, first);
    map->live += 1;
}

static void take_out(struct served_map *map, const struct store_tablet *removed)
{
    uint32_t at = 0;
    while (at < map->count && map->items[at].tablet != removed) {
        at++;
    }
    if (at == map->count) {
        return;
    }
    served_release(&map->items[at]);
    move(map, at, map->count - 1);
    map->count -= 1;
    if (at < map->live) {
        map->live -= 1;
        for (uint32_t i = map->live; i < map->count; i++) { /* it may have hidden one */
            settle(map, i);
        }
    }
}

static void put_in(struct served_map *map, const struct served *added)
{
    map->items[map->count] = *added;
    map->count += 1;
    served_ref(added);
    settle(map, map->count - 1);
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

/* --- what is being made --------------------------------------------------------------------------- */

static size_t find_number(const struct number_list *list, uint64_t number)
{
    size_t at = 0;
    while (at < list->count && list->items[at] != number) {
        at++;
    }
    return at;
}

static bool add_number(struct number_list *list, uint64_t number)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity * 2 + 16;
        uint64_t *items = memory_resize(list->items, capacity * sizeof *items);
        if (items == NULL) {
            return false;
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = number;
    return true;
}

static bool has_tablet(const struct served_map *map, uint64_t tablet)
{
    for (uint32_t i = 0; i < map->count; i++) {
        if (number_of(&map->items[i]) == tablet) {
            return true;
        }
    }
    return false;
}

bool served_map_expect(struct served_map *map, uint64_t tablet)
{
    pthread_rwlock_wrlock(&map->lock);
    bool is_new = !has_tablet(map, tablet) &&
                  find_number(&map->expected, tablet) == map->expected.count &&
                  add_number(&map->expected, tablet);
    pthread_rwlock_unlock(&map->lock);
    return is_new;
}

void served_map_expect_no_more(struct served_map *map, uint64_t tablet)
{
    pthread_rwlock_wrlock(&map->lock);
    struct number_list *list = &map->expected;
    size_t at = find_number(list, tablet);
    if (at < list->count) {
        list->items[at] = list->items[--list->count];
    }
    pthread_rwlock_unlock(&map->lock);
}

/* --- looking up ------------------------------------------------------------------------------------ */

static bool leads_rather(const struct served *other, const struct served *found)
{
    if (other->serving == NULL || found->serving == NULL) {
        return false;
    }
    struct serving_view theirs = serving_look(other->serving);
    struct serving_view its = serving_look(found->serving);
    return theirs.role == REPLICA_PRIMARY &&
           (its.role != REPLICA_PRIMARY || theirs.version > its.version);
}

/* The same tablet's copy that is meant, of those that are here: mostly there is one. */
static const struct served *meant(const struct served_map *map, const struct served *found)
{
    const struct served *best = found;
    for (uint32_t i = map->live; i < map->count; i++) {
        const struct served *other = &map->items[i];
        if (number_of(other) == number_of(found) && leads_rather(other, best)) {
            best = other;
        }
    }
    return best;
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
            *ret_served = *meant(map, served);
            served_ref(ret_served);
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
            *ret_served = *meant(map, served);
            served_ref(ret_served);
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

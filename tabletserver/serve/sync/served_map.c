#include "tabletserver/serve/sync/served_map.h"

#include <pthread.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"

/*
 * Those that are looked up stand first, sorted by (table, start of range); they do not overlap.  Behind them,
 * sorted by their numbers, are those of which something else came that is here too: what a split or merge has
 * left behind.  A tablet has a higher number than what it came of, so of two that overlap the lower one is over.
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

/* There is room. */
static void insert_at(struct served_map *map, uint32_t at, struct served item)
{
    memmove(&map->items[at + 1], &map->items[at], (map->count - at) * sizeof item);
    map->items[at] = item;
    map->count += 1;
}

static struct served remove_at(struct served_map *map, uint32_t at)
{
    struct served item = map->items[at];
    map->count -= 1;
    memmove(&map->items[at], &map->items[at + 1], (map->count - at) * sizeof item);
    return item;
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

/* Of those that are not looked up the first with this number or a higher one: its place, or theirs. */
static uint32_t first_hidden(const struct served_map *map, uint64_t number)
{
    uint32_t low = map->live;
    uint32_t high = map->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (number_of(&map->items[middle]) < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Is something that came of it looked up; or, by_copies, another copy of it? */
static bool is_over(const struct served_map *map, const struct served *served, bool by_copies)
{
    uint32_t first = 0;
    uint32_t last = overlapping(map, served, &first);
    for (uint32_t i = first; i < last; i++) {
        uint64_t number = number_of(&map->items[i]);
        if (number > number_of(served) || (by_copies && number == number_of(served))) {
            return true;
        }
    }
    return false;
}

static void hide(struct served_map *map, struct served over)
{
    insert_at(map, first_hidden(map, number_of(&over)), over);
}

/* It is looked up from now on, in the place of those that it makes be over. */
static void show(struct served_map *map, struct served shown)
{
    uint32_t first = 0;
    uint32_t last = overlapping(map, &shown, &first);
    for (; first < last; last--) {
        struct served over = remove_at(map, first);
        map->live -= 1;
        hide(map, over);
    }
    insert_at(map, first, shown);
    map->live += 1;
}

/* What it has hidden; the highest number first, as it is not over by those below. */
static void show_those_below(struct served_map *map, const struct served *removed)
{
    struct row_range both;
    for (uint32_t i = map->count; i-- > map->live;) {
        const struct served *item = &map->items[i];
        if (item->table == removed->table &&
            row_range_intersect(range_of(item), range_of(removed), &both) &&
            !is_over(map, item, true)) {
            uint64_t number = number_of(item);
            show(map, remove_at(map, i));
            i = first_hidden(map, number);
        }
    }
}

static void take_out(struct served_map *map, const struct store_tablet *tablet)
{
    uint32_t at = 0;
    while (at < map->count && map->items[at].tablet != tablet) {
        at++;
    }
    if (at == map->count) {
        return;
    }
    struct served removed = remove_at(map, at);
    if (at < map->live) {
        map->live -= 1;
        show_those_below(map, &removed);
    }
    served_release(&removed);
}

static void put_in(struct served_map *map, const struct served *added)
{
    served_ref(added);
    if (is_over(map, added, false)) {
        hide(map, *added);
    } else {
        show(map, *added);
    }
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

static bool has_tablet(const struct served_map *map, const struct store_tablet_descriptor *tablet)
{
    uint32_t at = count_before(map, tablet->table, tablet->range.start, false);
    bool shown = at < map->live &&
                 compare(&map->items[at], tablet->table, tablet->range.start) == 0 &&
                 number_of(&map->items[at]) == tablet->tablet;
    uint32_t hidden = first_hidden(map, tablet->tablet);
    return shown || (hidden < map->count && number_of(&map->items[hidden]) == tablet->tablet);
}

bool served_map_expect(struct served_map *map, const struct store_tablet_descriptor *tablet)
{
    pthread_rwlock_wrlock(&map->lock);
    bool is_new = !has_tablet(map, tablet) &&
                  find_number(&map->expected, tablet->tablet) == map->expected.count &&
                  add_number(&map->expected, tablet->tablet);
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
    uint64_t number = number_of(found);
    for (uint32_t i = first_hidden(map, number);
         i < map->count && number_of(&map->items[i]) == number; i++) {
        if (leads_rather(&map->items[i], best)) {
            best = &map->items[i];
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

#include "client/load/lab/core/map.h"

#include <stdlib.h>

static int compare(struct edubba_bytes a, const void *data, size_t size)
{
    size_t common = a.size < size ? a.size : size;
    int order = common > 0 ? memcmp(a.data, data, common) : 0;
    return order != 0 ? order : a.size < size ? -1 : a.size > size;
}

static char *keep(struct edubba_bytes bytes, char *at, struct edubba_bytes *ret_copy)
{
    if (bytes.size > 0) {
        memcpy(at, bytes.data, bytes.size);
    }
    *ret_copy = edubba_bytes_of(at, bytes.size);
    return at + bytes.size;
}

/* Who leads it, and where its copies are to be. */
static void take_copies(struct lab_tablet *tablet, const struct edubba_tablet_replicas *from)
{
    bool is_served = strcmp(from->state, "serving") == 0 || strcmp(from->state, "splitting") == 0;
    tablet->server = 0;
    tablet->wanted_count = 0;
    for (size_t i = 0; i < from->replica_count; i++) {
        const struct edubba_replica *replica = &from->replicas[i];
        if (is_served && replica->is_primary) {
            tablet->server = replica->server;
        }
        if (replica->is_wanted && tablet->wanted_count < LAB_COPIES_MAX) {
            tablet->wanted[tablet->wanted_count++] = replica->server;
        }
    }
}

static bool is_wanted_on(const struct lab_tablet *tablet, uint64_t server)
{
    bool wanted = false;
    for (size_t i = 0; i < tablet->wanted_count; i++) {
        wanted = wanted || tablet->wanted[i] == server;
    }
    return wanted;
}

struct lab_map *lab_map_create(const struct edubba_tablet_replicas *tablets, size_t count)
{
    size_t bytes = sizeof(struct lab_map) + count * sizeof(struct lab_tablet);
    size_t keys = 0;
    if (count == 0 || count > LAB_TABLETS_MAX) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        keys += tablets[i].start.size + tablets[i].end.size;
    }
    struct lab_map *map = malloc(bytes + keys);
    if (map == NULL) {
        return NULL;
    }
    char *at = (char *)map + bytes;
    map->count = count;
    for (size_t i = 0; i < count; i++) {
        struct lab_tablet *tablet = &map->tablets[i];
        tablet->number = tablets[i].number;
        take_copies(tablet, &tablets[i]);
        at = keep(tablets[i].start, at, &tablet->start);
        at = keep(tablets[i].end, at, &tablet->end);
    }
    return map;
}

void lab_map_destroy(struct lab_map *map)
{
    free(map);
}

size_t lab_map_find(const struct lab_map *map, const void *row, size_t size)
{
    size_t low = 0;
    size_t high = map->count;
    while (high - low > 1) { /* tablets[low].start <= row < tablets[high].start */
        size_t middle = low + (high - low) / 2;
        if (compare(map->tablets[middle].start, row, size) <= 0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

bool lab_map_is_equal(const struct lab_map *a, const struct lab_map *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (a->tablets[i].number != b->tablets[i].number ||
            a->tablets[i].server != b->tablets[i].server) {
            return false;
        }
    }
    return true;
}

/* Index behind the last tablet that begins before `end`. */
static size_t behind(const struct lab_map *map, size_t from, struct edubba_bytes end)
{
    size_t at = from;
    while (at < map->count &&
           (end.size == 0 || compare(map->tablets[at].start, end.data, end.size) < 0)) {
        at++;
    }
    return at;
}

static bool ends_are_equal(struct edubba_bytes a, struct edubba_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

void lab_map_compare(const struct lab_map *before,
                     const struct lab_map *after,
                     void (*on_change)(void *context, const struct lab_map_change *change),
                     void *context)
{
    size_t old = 0;
    size_t new = 0;
    while (old < before->count && new < after->count) {
        /* The least stretches of both that cover the same rows. */
        size_t old_end = old + 1;
        size_t new_end = new + 1;
        while (!ends_are_equal(before->tablets[old_end - 1].end, after->tablets[new_end - 1].end)) {
            size_t old_next = behind(before, old_end, after->tablets[new_end - 1].end);
            size_t new_next = behind(after, new_end, before->tablets[old_next - 1].end);
            if (old_next == old_end && new_next == new_end) {
                break; /* no map of a whole table: nothing can be said of the rest */
            }
            old_end = old_next;
            new_end = new_next;
        }
        size_t old_count = old_end - old;
        size_t new_count = new_end - new;
        const struct lab_tablet *was = &before->tablets[old];
        const struct lab_tablet *is = &after->tablets[new];
        struct lab_map_change change = {.tablet = was->number};
        if (new_count > old_count) {
            change.kind = LAB_SPLIT;
            change.pieces = new_count - old_count + 1;
            on_change(context, &change);
        } else if (new_count < old_count) {
            change.kind = LAB_MERGE;
            change.tablet = is->number;
            change.pieces = old_count - new_count + 1;
            on_change(context, &change);
        } else if (old_count == 1 && was->server != is->server && was->server != 0 &&
                   is->server != 0) {
            change.kind = is_wanted_on(is, was->server) ? LAB_HANDED_OVER : LAB_MOVED;
            change.from = was->server;
            change.to = is->server;
            on_change(context, &change);
        }
        old = old_end;
        new = new_end;
    }
}

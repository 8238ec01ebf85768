#include "client/load/lab/core/timeline.h"

#include <stdlib.h>

#define SERVERS_MAX 1000

bool lab_timeline_init(struct lab_timeline *timeline)
{
    *timeline = (struct lab_timeline){
        .maps = calloc(LAB_MAPS_MAX, sizeof *timeline->maps),
        .moments = calloc(LAB_MOMENTS_MAX, sizeof *timeline->moments),
        .changes = calloc(LAB_CHANGES_MAX, sizeof *timeline->changes),
    };
    return timeline->maps != NULL && timeline->moments != NULL && timeline->changes != NULL;
}

void lab_timeline_deinit(struct lab_timeline *timeline)
{
    for (size_t i = 0; i < timeline->map_count; i++) {
        lab_map_destroy(timeline->maps[i]);
    }
    for (size_t i = 0; i < timeline->moment_count; i++) {
        free(timeline->moments[i].operations);
    }
    free(timeline->maps);
    free(timeline->moments);
    free(timeline->changes);
    *timeline = (struct lab_timeline){0};
}

/* --- as time goes on -------------------------------------------------------------------------- */

struct noting {
    struct lab_timeline *timeline;
    double at_s;
};

static void note(void *context, const struct lab_map_change *change)
{
    const struct noting *noting = context;
    struct lab_timeline *timeline = noting->timeline;
    switch (change->kind) {
    case LAB_SPLIT:
        timeline->splits += change->pieces - 1;
        break;
    case LAB_MERGE:
        timeline->merges += change->pieces - 1;
        break;
    case LAB_HANDED_OVER:
        timeline->hand_overs++;
        break;
    case LAB_MOVED:
        timeline->moves++;
        break;
    }
    if (timeline->change_count < LAB_CHANGES_MAX) {
        struct lab_map_change *kept = &timeline->changes[timeline->change_count++];
        *kept = *change;
        kept->at_s = noting->at_s;
    }
}

const struct lab_map *lab_timeline_map(const struct lab_timeline *timeline)
{
    return timeline->map_count > 0 ? timeline->maps[timeline->map_count - 1] : NULL;
}

bool lab_timeline_look(struct lab_timeline *timeline, struct lab_map *map, double at_s)
{
    const struct lab_map *last = lab_timeline_map(timeline);
    struct noting noting = {timeline, at_s};
    if (map == NULL || (last != NULL && lab_map_is_equal(last, map)) ||
        timeline->map_count == LAB_MAPS_MAX) {
        lab_map_destroy(map);
        return false;
    }
    if (last != NULL) {
        lab_map_compare(last, map, note, &noting);
    }
    timeline->maps[timeline->map_count++] = map;
    return true;
}

/* No place is left: it becomes part of the last one, if that has the same map. */
static void add_to_last(struct lab_moment *last,
                        const struct lab_moment *moment,
                        const uint64_t *operations,
                        size_t count)
{
    if (last->map != moment->map) {
        return;
    }
    last->to_s = moment->to_s;
    last->total += moment->total;
    last->errors += moment->errors;
    last->p99_ns = moment->p99_ns > last->p99_ns ? moment->p99_ns : last->p99_ns;
    for (size_t i = 0; i < count; i++) {
        last->operations[i] += operations[i];
    }
}

bool lab_timeline_add(struct lab_timeline *timeline,
                      const struct lab_moment *moment,
                      const uint64_t *operations,
                      size_t count)
{
    if (timeline->moment_count == LAB_MOMENTS_MAX) {
        add_to_last(&timeline->moments[LAB_MOMENTS_MAX - 1], moment, operations, count);
        return true;
    }
    uint64_t *copy = calloc(count, sizeof *copy);
    if (copy == NULL) {
        return false;
    }
    struct lab_moment *kept = &timeline->moments[timeline->moment_count++];
    *kept = *moment;
    kept->operations = copy;
    memcpy(copy, operations, count * sizeof *copy);
    return true;
}

/* --- what it comes to ------------------------------------------------------------------------- */

static const struct lab_map *map_of(const struct lab_timeline *timeline, size_t moment)
{
    return timeline->maps[timeline->moments[moment].map];
}

/* Add to the number's share, which is made where there is room. */
static size_t add(
    struct lab_share *shares, size_t count, size_t max, uint64_t number, uint64_t operations)
{
    size_t at = 0;
    while (at < count && shares[at].number != number) {
        at++;
    }
    if (at == count && count == max) {
        return count;
    }
    if (at == count) {
        shares[count++] = (struct lab_share){.number = number};
    }
    shares[at].operations += operations;
    return count;
}

static void set_shares(struct lab_share *shares, size_t count)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++) {
        all += shares[i].operations;
    }
    for (size_t i = 0; i < count; i++) {
        shares[i].share = all > 0 ? (double)shares[i].operations / (double)all : 0;
    }
}

static int by_number(const void *a, const void *b)
{
    uint64_t left = ((const struct lab_share *)a)->number;
    uint64_t right = ((const struct lab_share *)b)->number;
    return left < right ? -1 : left > right;
}

static int busiest_first(const void *a, const void *b)
{
    uint64_t left = ((const struct lab_share *)a)->operations;
    uint64_t right = ((const struct lab_share *)b)->operations;
    return left > right ? -1 : left < right ? 1 : by_number(a, b);
}

size_t lab_timeline_servers(const struct lab_timeline *timeline,
                            struct lab_share *shares,
                            size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < timeline->moment_count; i++) {
        const struct lab_map *map = map_of(timeline, i);
        for (size_t j = 0; j < map->count; j++) {
            count = add(shares, count, max, map->tablets[j].server,
                        timeline->moments[i].operations[j]);
        }
    }
    set_shares(shares, count);
    qsort(shares, count, sizeof *shares, by_number);
    return count;
}

size_t lab_timeline_tablets(const struct lab_timeline *timeline,
                            struct lab_share *shares,
                            size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < timeline->moment_count; i++) {
        const struct lab_map *map = map_of(timeline, i);
        for (size_t j = 0; j < map->count; j++) {
            count = add(shares, count, max, map->tablets[j].number,
                        timeline->moments[i].operations[j]);
        }
    }
    set_shares(shares, count);
    qsort(shares, count, sizeof *shares, busiest_first);
    return count;
}

static uint64_t server_operations(const struct lab_timeline *timeline,
                                  size_t moment,
                                  uint64_t server)
{
    const struct lab_map *map = map_of(timeline, moment);
    uint64_t operations = 0;
    for (size_t i = 0; i < map->count; i++) {
        if (map->tablets[i].server == server) {
            operations += timeline->moments[moment].operations[i];
        }
    }
    return operations;
}

static uint64_t all_of(const struct lab_timeline *timeline, size_t moment)
{
    const struct lab_map *map = map_of(timeline, moment);
    uint64_t operations = 0;
    for (size_t i = 0; i < map->count; i++) {
        operations += timeline->moments[moment].operations[i];
    }
    return operations;
}

double lab_moment_server_share(const struct lab_timeline *timeline, size_t moment, uint64_t server)
{
    uint64_t all = all_of(timeline, moment);
    return all > 0 ? (double)server_operations(timeline, moment, server) / (double)all : 0;
}

uint64_t lab_timeline_operations(const struct lab_timeline *timeline)
{
    uint64_t operations = 0;
    for (size_t i = 0; i < timeline->moment_count; i++) {
        operations += all_of(timeline, i);
    }
    return operations;
}

double lab_timeline_busiest_tablet(const struct lab_timeline *timeline)
{
    uint64_t busiest = 0;
    uint64_t all = lab_timeline_operations(timeline);
    for (size_t i = 0; i < timeline->moment_count; i++) {
        const struct lab_map *map = map_of(timeline, i);
        uint64_t most = 0;
        for (size_t j = 0; j < map->count; j++) {
            uint64_t operations = timeline->moments[i].operations[j];
            most = operations > most ? operations : most;
        }
        busiest += most;
    }
    return all > 0 ? (double)busiest / (double)all : 0;
}

double lab_timeline_busiest_server(const struct lab_timeline *timeline)
{
    uint64_t busiest = 0;
    uint64_t all = lab_timeline_operations(timeline);
    for (size_t i = 0; i < timeline->moment_count; i++) {
        struct lab_share shares[SERVERS_MAX];
        const struct lab_map *map = map_of(timeline, i);
        size_t count = 0;
        uint64_t most = 0;
        for (size_t j = 0; j < map->count; j++) {
            count = add(shares, count, SERVERS_MAX, map->tablets[j].server,
                        timeline->moments[i].operations[j]);
        }
        for (size_t j = 0; j < count; j++) {
            most = shares[j].operations > most ? shares[j].operations : most;
        }
        busiest += most;
    }
    return all > 0 ? (double)busiest / (double)all : 0;
}

/*
 * A timeline: what each tablet had to do from moment to moment, and what became of the tablets.
 *
 *   map A ────────────────────> map B ──────────> ...      as the cluster lists them
 *   │ moment │ moment │ moment │ moment │ ...              operations by tablet of the map then valid
 *                              └ changes: splits, merges, moves, hand-overs between A and B
 *
 * Invariants:
 *   (1) Moments are in order of time and do not overlap.
 *   (2) A moment's operations are those of its tablets, added up.
 *   (3) All is bounded: what comes behind the last place adds to it.
 *
 * Pure but for the heap; thread rule: the caller's.
 */
#ifndef CLIENT_LOAD_LAB_CORE_TIMELINE_H
#define CLIENT_LOAD_LAB_CORE_TIMELINE_H

#include "client/load/lab/core/map.h"

#define LAB_MOMENTS_MAX 1000
#define LAB_MAPS_MAX    1000
#define LAB_CHANGES_MAX 1000

struct lab_moment {
    double from_s;
    double to_s;
    size_t map;           /* the index of the one that was valid */
    uint64_t *operations; /* by tablet of the map */
    uint64_t total;
    uint64_t errors;
    uint64_t p99_ns; /* of the requests of the moment; 0 = none */
};

struct lab_timeline {
    struct lab_map **maps;
    size_t map_count;
    struct lab_moment *moments;
    size_t moment_count;
    struct lab_map_change *changes;
    size_t change_count; /* kept */
    uint64_t splits;     /* seen: a split into three counts twice */
    uint64_t merges;
    uint64_t moves;      /* another server leads, and has the copy in place of the one that did */
    uint64_t hand_overs; /* another one of the copies leads */
};

/* False: no memory. deinit in any case. */
bool lab_timeline_init(struct lab_timeline *timeline);
void lab_timeline_deinit(struct lab_timeline *timeline);

/* The table looks so at that time.  Takes ownership of the map (NULL = not known: as before).  True: it
 * is another than before, and the last of maps. */
bool lab_timeline_look(struct lab_timeline *timeline, struct lab_map *map, double at_s);

/* The map that is valid now; NULL before the first. */
const struct lab_map *lab_timeline_map(const struct lab_timeline *timeline);

/* A moment is over: operations by tablet of its map (count of them).  False: no memory. */
bool lab_timeline_add(struct lab_timeline *timeline,
                      const struct lab_moment *moment,
                      const uint64_t *operations,
                      size_t count);

/* --- what it comes to ------------------------------------------------------------------------- */

struct lab_share {
    uint64_t number; /* of a tablet or server */
    uint64_t operations;
    double share; /* of all; those of all servers, or all tablets, add up to 1 */
};

/* Servers by number, tablets the busiest first; at most `max`.  Returns how many. */
size_t lab_timeline_servers(const struct lab_timeline *timeline,
                            struct lab_share *shares,
                            size_t max);
size_t lab_timeline_tablets(const struct lab_timeline *timeline,
                            struct lab_share *shares,
                            size_t max);

/* The share of a server in a moment, from 0 to 1; 0 where nothing was done. */
double lab_moment_server_share(const struct lab_timeline *timeline, size_t moment, uint64_t server);

/* What the busiest took AT A TIME: the sum over moments of the busiest one's, of the sum of all. */
double lab_timeline_busiest_tablet(const struct lab_timeline *timeline);
double lab_timeline_busiest_server(const struct lab_timeline *timeline);

uint64_t lab_timeline_operations(const struct lab_timeline *timeline);

#endif /* CLIENT_LOAD_LAB_CORE_TIMELINE_H */

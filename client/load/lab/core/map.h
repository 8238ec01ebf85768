/*
 * A map: the tablets of a table at one moment, in the order of their rows, without gap.
 *
 * Immutable once made; compared with a later one it tells what became of the tablets between the two.
 *
 * Pure but for the heap; thread rule: the caller's.
 */
#ifndef CLIENT_LOAD_LAB_CORE_MAP_H
#define CLIENT_LOAD_LAB_CORE_MAP_H

#include "edubba_replicas.h"

#define LAB_TABLETS_MAX 4096
#define LAB_COPIES_MAX  8

struct lab_tablet {
    uint64_t number;
    uint64_t server; /* 0 = not served then */
    struct edubba_bytes start;
    struct edubba_bytes end;         /* empty = to the last row */
    uint64_t wanted[LAB_COPIES_MAX]; /* servers that are to have a copy */
    size_t wanted_count;
};

struct lab_map {
    size_t count;
    struct lab_tablet tablets[];
};

/* A copy of what the cluster listed, in order.  NULL: no memory, nothing in it, or more than
 * LAB_TABLETS_MAX.  lab_map_destroy() it. */
struct lab_map *lab_map_create(const struct edubba_tablet_replicas *tablets, size_t count);
void lab_map_destroy(struct lab_map *map);

/* The index of the tablet that the row lies in. */
size_t lab_map_find(const struct lab_map *map, const void *row, size_t size);

/* The same tablets on the same servers? */
bool lab_map_is_equal(const struct lab_map *a, const struct lab_map *b);

enum lab_change_kind {
    LAB_SPLIT,       /* `tablet` into `pieces` */
    LAB_MERGE,       /* `pieces` into `tablet` */
    LAB_HANDED_OVER, /* `tablet`: another of its copies leads; the one that did stays */
    LAB_MOVED, /* `tablet`: another server leads it, and the one that did is to have no copy of it */
};

struct lab_map_change {
    double at_s;
    enum lab_change_kind kind;
    uint64_t tablet;
    size_t pieces;
    uint64_t from; /* servers, of a hand-over or a move */
    uint64_t to;
};

/* What became of the tablets of `before`: calls back for each change, at_s left 0.  A tablet that is
 * both split and led elsewhere between the two is one split. */
void lab_map_compare(const struct lab_map *before,
                     const struct lab_map *after,
                     void (*on_change)(void *context, const struct lab_map_change *change),
                     void *context);

#endif /* CLIENT_LOAD_LAB_CORE_MAP_H */

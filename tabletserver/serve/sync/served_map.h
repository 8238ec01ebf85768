/*
 * The served map: which tablet of this server, and which of its store loops, a row belongs to.
 *
 * Written by store loops as tablets come, split, merge and go; looked up for every operation.  Of what a split
 * or merge has left behind none is found in the place of what came of it, in whatever order they came here; nor is
 * a copy that was let go, of a tablet that another store of this server leads.
 * Thread rule: any thread.
 */
#ifndef TABLETSERVER_SERVE_SYNC_SERVED_MAP_H
#define TABLETSERVER_SERVE_SYNC_SERVED_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "tabletserver/host/serving.h"
#include "tabletserver/storage/store/store.h"

struct served_map;
struct store_loop;

struct served {
    uint64_t table;
    struct store_tablet *tablet;
    struct store_loop *loop;
    struct serving *serving; /* whether it may be told what was read; NULL: whenever */
};

enum status served_map_create(struct served_map **ret_map);
/* Gives back the references it holds.  NULL is fine. */
void served_map_destroy(struct served_map *map);

/* Take removed (NULL: none) out and put added (with a reference of its own for each) in, at once:
 * no lookup sees a gap between.  Errors: STATUS_NO_MEMORY; then nothing has changed. */
enum status served_map_replace(struct served_map *map,
                               const struct store_tablet *removed,
                               const struct served *added,
                               uint32_t added_count);

/*
 * A tablet is about to be made: to be called before, by whichever store loop; false where it is here already, or is
 * being made, in whichever store (or without memory: come again).  Where there are no replicas nothing tells which of two
 * copies is meant.  It is over when it was put in, or was not made.
 */
bool served_map_expect(struct served_map *map, const struct store_tablet_descriptor *tablet);
void served_map_expect_no_more(struct served_map *map, uint64_t tablet);

/* References to what it names: the caller's, who gives them back. */
void served_ref(const struct served *served);
void served_release(const struct served *served);

/* Is it served here at this moment? */
bool served_holds(const struct served *served);

/* The same, and have the servers of its other copies confirmed that since beacons_ask() gave `asked`? */
bool served_confirmed(const struct served *served, uint64_t asked);

/* Before a snapshot is taken, and after: may be told what is read from it? */
uint64_t served_opening(const struct served *served);
bool served_held(const struct served *served, uint64_t opening);

/* The tablet that holds row, with references for the caller (served_release). */
bool served_map_find(struct served_map *map,
                     uint64_t table,
                     struct bytes row,
                     struct served *ret_served);

/* For reversed scans: the tablet that holds the last keys below end (empty = the very last). */
bool served_map_find_before(struct served_map *map,
                            uint64_t table,
                            struct bytes end,
                            struct served *ret_served);

uint32_t served_map_count(struct served_map *map);

/* Call back for each, under the map's lock: keep it short. */
void served_map_visit(struct served_map *map,
                      void (*visit)(void *context, const struct served *served),
                      void *context);

#endif /* TABLETSERVER_SERVE_SYNC_SERVED_MAP_H */

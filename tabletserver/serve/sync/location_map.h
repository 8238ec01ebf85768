/*
 * The location map: where every tablet of the cluster is, as the master last told this server.
 *
 * So that any tablet server can answer "where is this row", and a wrong-server answer can say who
 * is right.  Kept in memory only; versions of configurations decide which of two is newer, and of two tablets
 * that overlap the one with the higher number came of the other.
 * Thread rule: any thread.
 */
#ifndef TABLETSERVER_SERVE_SYNC_LOCATION_MAP_H
#define TABLETSERVER_SERVE_SYNC_LOCATION_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/wire/message.h"

struct location_map;

enum status location_map_create(struct location_map **ret_map);
void location_map_destroy(struct location_map *map); /* NULL is fine */

/* Copied; of a tablet that is still being created it is not said where, as the master does not say
 * it to clients either.  An older configuration of a tablet that is known is passed over, and so is a tablet of
 * which something else came that is known; those that it came of are known no more.
 * Errors: STATUS_NO_MEMORY; then nothing has changed. */
enum status location_map_put(struct location_map *map, const struct location *location);
void location_map_remove(struct location_map *map, uint64_t tablet);
/* All tablets of a table that is no more. */
void location_map_remove_table(struct location_map *map, uint64_t table);
void location_map_clear(struct location_map *map);

/* The location of the tablet that holds row; its bytes are copied into the arena. */
bool location_map_find(struct location_map *map,
                       uint64_t table,
                       struct bytes row,
                       struct arena *arena,
                       struct location *ret_location);

/* Up to count_max locations from the one that holds row on, in key order. */
enum status location_map_list(struct location_map *map,
                              uint64_t table,
                              struct bytes row,
                              uint32_t count_max,
                              struct arena *arena,
                              struct location **ret_locations,
                              size_t *ret_count);

/* How many tablets of the table are known. */
uint32_t location_map_count(struct location_map *map, uint64_t table);

#endif /* TABLETSERVER_SERVE_SYNC_LOCATION_MAP_H */

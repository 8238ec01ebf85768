/*
 * The heat map of a cluster: of each table, what was done where in its key space, over 14 days.
 *
 *   load reports ---> running rows of a table ---> columns, ageing (heat_layers.h) ---> the oldest go
 *   sizes of tablets --^                             |
 *                                                    +---> heat_grid.h: a picture of a window
 *
 * Invariants:
 *   1. What is taken in is in exactly one place: sums over time and keys are what was reported, until it
 *      is old or in the way.
 *   2. It is bounded: columns by bytes_max, running rows by rows_max, tables by HEAT_TABLES_MAX.
 *   3. Without memory something is missing, and nothing else happens.
 *
 * Time is the master's wall clock.  What lies in the future of one that was set back is dropped.
 *
 * Pure.  Thread rule: one owner.
 */
#ifndef MASTER_HEAT_HEAT_MAP_H
#define MASTER_HEAT_HEAT_MAP_H

#include "master/core/load/located_load.h"
#include "master/core/state/number_map.h"
#include "master/heat/heat_layers.h"

#define HEAT_TABLES_MAX   4096
#define HEAT_ROWS_MAX     1024 /* running, of a table, where there are few tables */
#define HEAT_ROWS_ALL_MAX 65536
#define HEAT_BYTES_MAX    (UINT64_C(64) << 20)
#define HEAT_FIGURES_MAX  (UINT64_C(1) << 46) /* of one report: more is not believed */

struct heat_map {
    struct list tables; /* of struct heat_table */
    struct number_map by_number;
    size_t table_count;
    uint64_t bytes_max;
    /* Of columns: those that were there when room was made last, and what was put since. */
    uint64_t bytes_most;
    size_t rows_all_max;
    int64_t now_us;
    uint64_t sweep; /* number of the one under way, or the last */
    struct heat_gone_to gone;
};

/* gone: told of stored columns that are dropped; may not call back. */
void heat_map_init(struct heat_map *map, uint64_t bytes_max, const struct heat_gone_to *gone);
void heat_map_deinit(struct heat_map *map);

/* NULL: nothing is known of it. */
struct heat_table *heat_map_table(const struct heat_map *map, uint64_t number);

/* Take a report in. */
void heat_map_take(struct heat_map *map, const struct located_report *report, int64_t now_us);

/* Which tablets there are, and how large: begin, name each of every table, end.  Tables that were not named
 * are forgotten. */
void heat_map_sweep_begin(struct heat_map *map);
void heat_map_sweep(struct heat_map *map,
                    uint64_t table,
                    const struct row_range *range,
                    uint64_t size_bytes);
void heat_map_sweep_end(struct heat_map *map);

/* Do what is due; about once a second.  ending: nothing comes after it, make what is running a column. */
void heat_map_age(struct heat_map *map, int64_t now_us, bool ending);

/* A column from the file, taken over: the oldest of all go for it, out of the file too, and that may be this one.
 * One that lies in the future, as the clock was set back while nobody ran, goes out of the file at once.
 * False: it is no column of a file, of the future, or no memory.  Requires: the map knows the time (heat_map_age()). */
bool heat_map_restore(struct heat_map *map,
                      uint64_t table,
                      size_t layer,
                      struct heat_column *column);

/* A column from elsewhere, taken over: the oldest of all go for it.  False: there is one, or no memory; it is gone. */
bool heat_map_put(struct heat_map *map, uint64_t table, size_t layer, struct heat_column *column);

uint64_t heat_map_column_bytes(const struct heat_map *map);

#endif /* MASTER_HEAT_HEAT_MAP_H */

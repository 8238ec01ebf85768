/*
 * The history of one table: columns of four widths, the older the wider.
 *
 *   reports --> running rows --(5 s)--> fine columns --(a minute)--> minutes --> 10 minutes --> hours
 *                                       last 10 min                  6 h         4 days         14 days
 *
 * Fine columns are extra: what they say is in the minutes, too, once those are over.  Of the others each
 * moment is in exactly one.
 *
 * Pure.  Thread rule: one owner.
 */
#ifndef MASTER_HEAT_HEAT_LAYERS_H
#define MASTER_HEAT_HEAT_LAYERS_H

#include "master/core/state/list.h"
#include "master/heat/heat_column.h"

#define HEAT_LAYERS 4

struct heat_layer {
    struct heat_column **columns; /* ascending by time */
    size_t count;
    size_t capacity;
};

struct heat_table {
    struct list_link link;
    uint64_t number;
    struct heat_rows rows;   /* running */
    int64_t start_us;        /* when they began */
    bool busy;               /* something was counted in them */
    int64_t minutes_made_us; /* fine columns that began before it are in minutes */
    uint64_t sweep;          /* the last one that named it */
    struct heat_layer layers[HEAT_LAYERS];
    size_t column_bytes;
};

/* A stored column that is there no more. */
typedef void (*heat_gone)(void *context,
                          const struct heat_table *table,
                          size_t layer,
                          int64_t start_us);

struct heat_gone_to {
    heat_gone gone;
    void *context;
};

/* Do what is due by the clock: at most one join of each layer, and much that is old.  ending: make a minute
 * of what there is, however short. */
void heat_table_age(struct heat_table *table,
                    int64_t now_us,
                    bool ending,
                    const struct heat_gone_to *gone);

/* Of the time between nobody knows anything: what is running ends with the first, and begins anew with the second. */
void heat_table_skip(struct heat_table *table, int64_t from_us, int64_t to_us);

/* Put in where its time is; false: something is there, or no memory: the column is the caller's. */
bool heat_table_put(struct heat_table *table, size_t layer, struct heat_column *column);

/* Drop the oldest column of all; false: there is none. */
bool heat_table_drop_oldest(struct heat_table *table, const struct heat_gone_to *gone);
/* When that began; INT64_MAX = there is none. */
int64_t heat_table_oldest_us(const struct heat_table *table);

/* Drop what is dated later. */
void heat_table_drop_after(struct heat_table *table,
                           int64_t now_us,
                           const struct heat_gone_to *gone);

void heat_table_destroy(struct heat_table *table, const struct heat_gone_to *gone);

#endif /* MASTER_HEAT_HEAT_LAYERS_H */

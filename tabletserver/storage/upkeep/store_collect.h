/*
 * What garbage collection asks the loop to log: horizons, and deletes of cells that have expired.
 *
 * One collection per store goes back and forth: the work thread fills it, the loop appends what is
 * in it and gives it back.  Between finding a cell and deleting it things may have changed, so the loop
 * passes over
 *
 *   a row          that was written again: the next pass looks at it anew
 *   all of it      if the table was given other rules meanwhile, by which a newer write must be judged;
 *                  if some of what was read has been dropped from the log since (it was prepared and never
 *                  committed): what looked too old beside that may be the newest there is;
 *                  if others have written under a newer schema than the one that it was judged by
 *
 * Such a delete is small in memory, but the flush that carries it out has to read and to free all
 * that it dooms, a thousand times as much.  So what is doomed and not yet flushed is counted: from
 * STORE_COLLECT_DOOMED_BYTES on its memtables are flushed first, and collecting waits.  Otherwise
 * a quiet hour would leave seconds of flushing to the first minute of writes.  (What a restart finds
 * in the log is not counted; it is flushed as it comes.)
 */
#ifndef TABLETSERVER_STORAGE_UPKEEP_STORE_COLLECT_H
#define TABLETSERVER_STORAGE_UPKEEP_STORE_COLLECT_H

#include "tabletserver/storage/store/store_internal.h"

#define STORE_COLLECT_ROWS_MAX     64
#define STORE_COLLECT_CHANGES_MAX  256
#define STORE_COLLECT_DOOMED_BYTES (UINT64_C(64) * 1024 * 1024)

struct store_collect_row {
    struct bytes row;
    uint32_t first_change;
    uint32_t change_count;
    uint64_t doomed_bytes; /* of the cells that these changes delete */
};

struct store_collection {
    atomic_bool busy; /* it is being filled, or on its way to the loop and back */
    struct store_event event;
    struct store_tablet *tablet; /* with a reference */
    uint64_t cut_count;          /* the tablet's, before the rows were read */
    uint64_t sequence;           /* as of which the rows were read */
    uint64_t clock;        /* the highest stamp clock then: what came later has a higher one */
    uint64_t rule_version; /* of the schema by whose rules they were judged */
    struct record_gc_horizon horizons[LIMIT_FAMILIES_PER_TABLE];
    uint32_t horizon_count;
    struct store_collect_row rows[STORE_COLLECT_ROWS_MAX];
    uint32_t row_count;
    struct change changes[STORE_COLLECT_CHANGES_MAX];
    uint32_t change_count;
    uint64_t doomed_bytes; /* of all rows */
    struct arena arena;
};

/* Work thread. */
bool store_collection_is_free(struct store *store);        /* false without memory, too */
bool store_collection_may_doom(const struct store *store); /* false: flushes have to catch up */
void store_collection_begin(struct store_collection *collection, struct store_tablet *tablet);
void store_collection_send(struct store_collection *collection);
void store_collection_end(struct store_collection *collection);

/* One step through the rows of a tablet, for rules that need more than age; *ret_more: the pass is
 * not over.  What it found is on its way to the loop. */
enum status store_collect_versions(struct store_tablet *tablet,
                                   const struct table *table,
                                   int64_t now_us,
                                   uint32_t step_cells,
                                   bool *ret_more);

#endif /* TABLETSERVER_STORAGE_UPKEEP_STORE_COLLECT_H */

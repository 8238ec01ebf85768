/* Which tablet of a store is asked for: by number, by row, by what ends there. */
#include "tests/sim/store/sim_store.h"

struct sim_tablet *sim_store_find_any(struct sim_store *store, uint64_t tablet)
{
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        if (store->tablets[i]->tablet == tablet) {
            return store->tablets[i];
        }
    }
    return NULL;
}

struct sim_tablet *sim_store_find(struct sim_store *store, uint64_t number)
{
    struct sim_tablet *tablet = sim_store_find_any(store, number);
    return tablet != NULL && !tablet->hidden ? tablet : NULL;
}

/* What two were merged into is when its host has taken that up. */
static bool is_served(const struct sim_tablet *tablet, uint64_t table)
{
    return !tablet->hidden && tablet->context != NULL && tablet->table == table;
}

/* Of two that overlap something else came of the one with the lower number. */
static bool is_over(const struct sim_store *store, const struct sim_tablet *tablet)
{
    bool older_last = store->sim->planted == SIM_PLANTED_OLDER_COPY_FOUND;
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        const struct sim_tablet *other = store->tablets[i];
        struct row_range both;
        if (other != tablet && is_served(other, tablet->table) &&
            (other->tablet > tablet->tablet) != older_last &&
            row_range_intersect(&other->range, &tablet->range, &both)) {
            return true;
        }
    }
    return false;
}

/* As tabletserver/serve/sync/served_map.c. */
struct sim_tablet *sim_store_find_row(struct sim_store *store, uint64_t table, struct bytes row)
{
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        struct sim_tablet *tablet = store->tablets[i];
        if (is_served(tablet, table) && row_range_contains(&tablet->range, row) &&
            !is_over(store, tablet)) {
            return tablet;
        }
    }
    return NULL;
}

struct sim_tablet *sim_store_find_before(struct sim_store *store, uint64_t table, struct bytes end)
{
    struct sim_tablet *found = NULL;
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        struct sim_tablet *tablet = store->tablets[i];
        bool begins = end.size_bytes == 0 || bytes_compare(tablet->range.start, end) < 0;
        bool last = found == NULL || bytes_compare(found->range.start, tablet->range.start) < 0;
        if (is_served(tablet, table) && begins && last && !is_over(store, tablet)) {
            found = tablet;
        }
    }
    return found;
}

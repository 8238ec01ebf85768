#include "tests/sim/server/sim_loop.h"

#include "common/base/assert.h"
#include "tests/sim/server/sim_host.h"
#include "tests/sim/server/sim_server.h"

struct sim_loop *sim_loop_of_store(const struct sim_server *server, uint64_t store)
{
    for (uint32_t i = 0; i < server->loop_count; i++) {
        if (server->loops[i]->store.disk->number == store) {
            return server->loops[i];
        }
    }
    return NULL;
}

/* --- what is served ----------------------------------------------------------------------------- */

static struct served_map *map_of(const struct sim_tablet *tablet)
{
    return sim_loop_of(tablet)->server->served;
}

static struct served describe(struct sim_tablet *tablet)
{
    return (struct served){.table = tablet->table,
                           .tablet = sim_stored(tablet),
                           .loop = (struct store_loop *)(void *)sim_loop_of(tablet),
                           .serving = tablet->copy.hosted != NULL ? host_serving(sim_stored(tablet))
                                                                  : NULL};
}

void sim_served_add(struct sim_tablet *tablet)
{
    sim_served_replace(NULL, 0, &tablet, 1);
}

void sim_served_replace(const struct sim_tablet *const removed[],
                        uint32_t removed_count,
                        struct sim_tablet *const added[],
                        uint32_t added_count)
{
    struct served items[2];
    struct served_map *map = map_of(removed_count > 0 ? removed[0] : added[0]);
    ASSERT(added_count <= 2);
    for (uint32_t i = 0; i < added_count; i++) {
        items[i] = describe(added[i]);
    }
    for (uint32_t i = 1; i < removed_count; i++) {
        ASSERT(served_map_replace(map, sim_stored(removed[i]), NULL, 0) == STATUS_OK);
    }
    ASSERT(served_map_replace(map, removed_count > 0 ? sim_stored(removed[0]) : NULL, items,
                              added_count) == STATUS_OK);
}

/* Planted: of two that overlap it is the one that something else came of. */
static struct sim_tablet *find_oldest(const struct sim_server *server,
                                      uint64_t table,
                                      struct bytes row,
                                      struct sim_tablet *found)
{
    for (uint32_t i = 0; i < server->loop_count; i++) {
        const struct sim_store *store = &server->loops[i]->store;
        for (uint32_t k = 0; k < store->tablet_count; k++) {
            struct sim_tablet *tablet = store->tablets[k];
            if (tablet->context != NULL && !tablet->hidden && tablet->table == table &&
                row_range_contains(&tablet->range, row) &&
                (found == NULL || tablet->tablet < found->tablet)) {
                found = tablet;
            }
        }
    }
    return found;
}

/* The map keeps it: nothing else goes on before this is over.  One that was split or merged, and has not been taken out
 * yet, serves nobody. */
static struct sim_tablet *take(const struct served *served)
{
    struct sim_tablet *tablet = (struct sim_tablet *)(void *)served->tablet;
    served_release(served);
    return tablet->hidden ? NULL : tablet;
}

struct sim_tablet *sim_served_find(const struct sim_server *server,
                                   uint64_t table,
                                   struct bytes row)
{
    struct served served;
    struct sim_tablet *found = served_map_find(server->served, table, row, &served) ? take(&served)
                                                                                    : NULL;
    return server->sim->planted == SIM_PLANTED_OLDER_COPY_FOUND
               ? find_oldest(server, table, row, found)
               : found;
}

struct sim_tablet *sim_served_find_before(const struct sim_server *server,
                                          uint64_t table,
                                          struct bytes end)
{
    struct served served;
    return served_map_find_before(server->served, table, end, &served) ? take(&served) : NULL;
}

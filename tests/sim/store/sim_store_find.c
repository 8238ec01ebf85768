/* Which tablet of a store is asked for: by number. */
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

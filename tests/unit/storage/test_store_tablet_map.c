#include <criterion/criterion.h>

#include "common/base/memory.h"
#include "common/base/prng.h"
#include "tabletserver/storage/store/store_tablet_map.h"
#include "tabletserver/storage/store/store_tablet_state.h"

#define TABLETS 3000

static struct store_tablet *tablets[TABLETS];
static bool inside[TABLETS];
static struct store_tablet_map map;

static void begin(void)
{
    for (uint32_t i = 0; i < TABLETS; i++) {
        tablets[i] = memory_allocate_zeroed(1, sizeof *tablets[i]);
        cr_assert_not_null(tablets[i]);
        tablets[i]->descriptor.tablet = i / 2 * 5 + 1; /* some in a row, and each number twice */
    }
}

static void finish(void)
{
    store_tablet_map_deinit(&map);
    for (uint32_t i = 0; i < TABLETS; i++) {
        memory_free(tablets[i]);
    }
}

TestSuite(store_tablet_map, .init = begin, .fini = finish);

static void expect_what_is_inside(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < TABLETS; i++) {
        const struct store_tablet *found = store_tablet_map_find(&map,
                                                                 tablets[i]->descriptor.tablet);
        bool any = inside[i / 2 * 2] || inside[i / 2 * 2 + 1];
        cr_assert_eq(found != NULL, any);
        cr_assert(!any || (inside[i / 2 * 2] && found == tablets[i / 2 * 2]) ||
                  (inside[i / 2 * 2 + 1] && found == tablets[i / 2 * 2 + 1]));
        count += inside[i] ? 1 : 0;
    }
    cr_assert_eq(map.count, count);
}

Test(store_tablet_map, what_is_put_in_is_found_until_it_is_taken_out)
{
    struct prng prng = prng_of_seed(7);
    cr_assert_null(store_tablet_map_find(&map, 1));
    for (uint32_t round = 0; round < 40; round++) {
        for (uint32_t i = 0; i < 2000; i++) {
            uint64_t at = prng_below(&prng, TABLETS);
            cr_assert_eq(store_tablet_map_reserve(&map, map.count + 1), STATUS_OK);
            if (inside[at]) {
                store_tablet_map_remove(&map, tablets[at]);
            } else {
                store_tablet_map_put(&map, tablets[at]);
            }
            inside[at] = !inside[at];
        }
        expect_what_is_inside();
    }
}

/* A map that marked what was taken out would have no free slot left, and look through all of them. */
Test(store_tablet_map, however_many_have_come_and_gone_a_search_is_short)
{
    cr_assert_eq(store_tablet_map_reserve(&map, 10), STATUS_OK);
    for (uint64_t i = 0; i < 100000; i++) {
        tablets[0]->descriptor.tablet = i;
        store_tablet_map_put(&map, tablets[0]);
        store_tablet_map_remove(&map, tablets[0]);
    }
    for (uint32_t i = 0; i < map.slot_count; i++) {
        cr_assert_null(map.slots[i]);
    }
}

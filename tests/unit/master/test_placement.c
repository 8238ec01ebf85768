#include <criterion/criterion.h>

#include "common/base/prng.h"
#include "master/core/state/number_map.h"
#include "master/placement/placement.h"

static struct placement_store store_of(uint64_t server, uint64_t store, const char *zone)
{
    return (struct placement_store){
        .server = server,
        .store = store,
        .zone = bytes_of_text(zone),
        .usable = true,
        .free_bytes = UINT64_C(1) << 40,
    };
}

static size_t choose(struct placement_store *stores, size_t count, uint64_t avoid)
{
    size_t index = SIZE_MAX;
    cr_assert(placement_choose(stores, count, avoid, &index));
    return index;
}

Test(placement, spreads_over_zones_before_servers_before_stores)
{
    struct placement_store stores[] = {
        store_of(1, 11, "a"), store_of(1, 12, "a"), store_of(2, 21, "a"),
        store_of(3, 31, "b"), store_of(3, 32, "b"),
    };
    cr_assert_eq(choose(stores, 5, 0), 0); /* first of all */
    cr_assert_eq(choose(stores, 5, 0), 3); /* the other zone */
    cr_assert_eq(choose(stores, 5, 0), 2); /* zone a has two servers: the one without */
    for (int i = 0; i < 27; i++) {
        (void)choose(stores, 5, 0);
    }
    cr_assert_eq(stores[0].tablet_count + stores[1].tablet_count, 10);
    cr_assert_eq(stores[2].tablet_count, 10);
    cr_assert_eq(stores[3].tablet_count, 5);
    cr_assert_eq(stores[4].tablet_count, 5);
}

Test(placement, fewest_tablets_then_most_free_space)
{
    struct placement_store stores[] = {store_of(1, 11, ""), store_of(2, 21, ""),
                                       store_of(3, 31, "")};
    stores[0].tablet_count = 4;
    stores[1].tablet_count = 2;
    stores[2].tablet_count = 2;
    stores[2].free_bytes++;
    cr_assert_eq(choose(stores, 3, 0), 2);
    cr_assert_eq(choose(stores, 3, 0), 1);
}

Test(placement, unusable_is_never_chosen_low_and_avoided_only_last)
{
    struct placement_store stores[] = {store_of(1, 11, ""), store_of(2, 21, ""),
                                       store_of(3, 31, "")};
    stores[0].usable = false;
    stores[1].free_bytes = PLACEMENT_FREE_BYTES_LOW - 1;
    cr_assert_eq(choose(stores, 3, 0), 2);
    cr_assert_eq(choose(stores, 3, 3), 1, "avoided: even the low one is better");
    stores[1].usable = false;
    cr_assert_eq(choose(stores, 3, 3), 2, "no other: taken all the same");
    stores[2].usable = false;
    size_t index = 7;
    cr_assert_not(placement_choose(stores, 3, 0, &index));
    cr_assert_eq(index, 7);
    cr_assert_not(placement_choose(stores, 0, 0, &index));
}

Test(placement, copies_of_a_tablet_go_to_different_servers_and_zones)
{
    struct placement_store stores[] = {
        store_of(1, 11, "a"), store_of(1, 12, "a"), store_of(2, 21, "a"),
        store_of(3, 31, "b"), store_of(4, 41, "b"),
    };
    size_t index = 0;
    stores[3].tablet_count = 50; /* zone b is fuller: another zone is worth more */
    stores[4].tablet_count = 60;
    placement_begin(stores, 5, 0);
    cr_assert_eq(choose(stores, 5, 0), 0);
    placement_take(stores, 5, 1);
    cr_assert_eq(choose(stores, 5, 0), 3);
    placement_take(stores, 5, 3);
    cr_assert_eq(choose(stores, 5, 0), 2, "both zones have one: the emptiest");
    placement_take(stores, 5, 2);
    cr_assert_eq(choose(stores, 5, 0), 4);
    placement_take(stores, 5, 4);
    cr_assert(!placement_choose(stores, 5, 0, &index), "never two in one server");
    placement_begin(stores, 5, 0);
    cr_assert(placement_choose(stores, 5, 0, &index), "but for the next tablet");
}

/* Six servers, three copies: after the first three only the other three are as good.  Yet over many
 * tablets every two servers have some together. */
Test(placement, not_always_the_same_servers_have_copies_together)
{
    struct placement_store stores[6];
    unsigned together[6][6] = {{0}};
    for (uint64_t i = 0; i < 6; i++) {
        stores[i] = store_of(i + 1, 10 * i + 1, "");
    }
    for (uint64_t tablet = 1; tablet <= 200; tablet++) {
        size_t chosen[3];
        placement_begin(stores, 6, tablet);
        for (size_t i = 0; i < 3; i++) {
            chosen[i] = choose(stores, 6, 0);
            placement_take(stores, 6, stores[chosen[i]].server);
        }
        for (size_t i = 0; i < 9; i++) {
            together[chosen[i / 3]][chosen[i % 3]]++;
        }
    }
    for (size_t i = 0; i < 6; i++) {
        cr_assert_eq(together[i][i], 100);
        for (size_t j = 0; j < 6; j++) {
            cr_assert_geq(together[i][j], 20, "%zu and %zu: %u", i, j, together[i][j]);
        }
    }
}

Test(placement, the_server_that_leads_the_fewest_leads_the_next)
{
    struct placement_store stores[] = {store_of(1, 11, ""), store_of(2, 21, ""),
                                       store_of(2, 22, ""), store_of(3, 31, "")};
    size_t chosen[] = {0, 1, 3};
    stores[0].lead_count = 3;
    stores[1].lead_count = 1;
    stores[2].lead_count = 2; /* another disk of the same server */
    stores[3].lead_count = 2;
    placement_lead(stores, 4, chosen, 3);
    cr_assert_eq(chosen[0], 3);
    cr_assert_eq(stores[3].lead_count, 3);
    cr_assert_eq(chosen[1] + chosen[2], 1, "the others are still there");
}

Test(number_map, agrees_with_an_array)
{
    static uint64_t values[512];
    static bool there[512];
    struct number_map map;
    struct prng prng = prng_of_seed(3);
    size_t count = 0;

    number_map_init(&map);
    cr_assert_null(number_map_get(&map, 5));
    cr_assert_null(number_map_remove(&map, 5));
    for (int i = 0; i < 200000; i++) {
        uint64_t number = 1 + prng_below(&prng, 511);
        if (prng_chance(&prng, 2)) {
            cr_assert_eq(number_map_reserve(&map, 1), STATUS_OK);
            cr_assert_eq(number_map_put(&map, number, &values[number]),
                         there[number] ? &values[number] : NULL);
            count += !there[number];
            there[number] = true;
        } else {
            cr_assert_eq(number_map_remove(&map, number), there[number] ? &values[number] : NULL);
            count -= there[number];
            there[number] = false;
        }
        uint64_t other = 1 + prng_below(&prng, 511);
        cr_assert_eq(number_map_get(&map, other), there[other] ? &values[other] : NULL);
        cr_assert_eq(map.count, count);
    }
    number_map_deinit(&map);
}

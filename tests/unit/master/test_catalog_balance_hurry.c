/* Which goals are hurried, and until when: those that relieve a server, and who has fewer copies than it should. */
#include "tests/support/catalog_load.h"

TestSuite(catalog_balance, .init = start, .fini = stop, .timeout = 300);

static size_t count_hurried(void)
{
    size_t count = 0;
    for (size_t i = 0; i < SERVERS; i++) {
        count += servers[i].hurried_count;
    }
    return count;
}

static bool is_any_in_a_hurry(void)
{
    bool any = false;
    for (size_t i = 0; i < SERVERS; i++) {
        for (size_t j = 0; j < servers[i].view_count; j++) {
            any = any || servers[i].views[j].hurried;
        }
    }
    return any;
}

Test(catalog_balance, what_relieves_a_server_is_hurried_until_it_is_done)
{
    make_table(1);
    spread_load(24, 96);
    seconds(40);
    cr_assert_geq(count_events("move", "imbalance", "done"), 4);
    cr_assert_geq(count_hurried(), 4);
    seconds(120);
    cr_assert_not(is_any_in_a_hurry());
    load_count = 0;
    seconds(60);
    size_t before = count_hurried();
    (void)drain(driver_locate(&driver, "t", "").locations[0].server, true);
    seconds(20);
    cr_assert_eq(count_hurried(), before, "it is over with the goal that was hurried");
}

Test(catalog_balance, what_nobody_waits_for_is_not_hurried)
{
    make_table(1);
    uint64_t before = driver_locate(&driver, "t", "").locations[0].server;
    (void)drain(before, true);
    seconds(10);
    cr_assert_neq(driver_locate(&driver, "t", "").locations[0].server, before);
    cr_assert_eq(count_hurried(), 0);
}

Test(catalog_balance, who_has_fewer_copies_than_it_should_is_hurried)
{
    make_table(3);
    struct replica_view view = newest_view(driver_locate(&driver, "t", "").locations[0].tablet);
    uint32_t other = view.configuration.leader == 0 ? 1 : 0;
    cr_assert_eq(count_hurried(), 0);
    servers[view.configuration.members[other].server - 1].down = true;
    for (int i = 0; i < 1000 && count_hurried() == 0; i++) {
        second();
    }
    cr_assert_gt(count_hurried(), 0);
    for (int i = 0; i < 1000 && is_any_in_a_hurry(); i++) {
        second();
    }
    cr_assert_not(is_any_in_a_hurry());
}

/* It cannot be split or moved before it is where it was to go: nobody else is there to take it meanwhile. */
Test(catalog_balance, what_has_become_hot_on_its_way_is_hurried)
{
    make_table(1);
    uint64_t there = driver_locate(&driver, "t", "").locations[0].server;
    (void)drain(there, true);
    for (size_t i = 0; i < SERVERS; i++) {
        servers[i].down = i != there - 1;
    }
    second();
    cr_assert_eq(count_hurried(), 0);
    spread_load(24, 96);
    seconds(5);
    cr_assert_gt(servers[there - 1].hurried_count, 0);
    for (size_t i = 0; i < SERVERS; i++) {
        servers[i].down = false;
    }
    seconds(60);
    cr_assert_neq(driver_locate(&driver, "t", "").locations[0].server, there);
}

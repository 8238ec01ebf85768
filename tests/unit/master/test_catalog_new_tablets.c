/* New tablets that have never served where they were put: another of their stores leads, or they are placed again. */
#include "tests/support/replica_fixture.h"

TestSuite(new_tablets, .init = start, .fini = stop, .timeout = 300);

/* Its servers are told, and that it is there would be said with the next sync. */
static struct replica_view told_of_a_new_tablet(uint32_t copies)
{
    driver.settings.place_timeout_ns = 2 * SECOND_NS;
    catalog_destroy(driver.catalog);
    driver_load(&driver);
    replicas_settle(&driver, servers, SERVERS);
    (void)create_table("t", copies, copies - 1, NULL, 0);
    for (size_t i = 0; i < SERVERS; i++) {
        (void)replica_sync(&driver, &servers[i]);
    }
    return newest_view(tablet_at("t", ""));
}

/* Whoever was to lead may have begun to, and have been heard by its secondaries alone: one of these waits for
 * what it has granted. */
Test(new_tablets, a_new_tablet_that_is_placed_again_is_led_by_one_that_was_a_secondary)
{
    struct replica_view before = told_of_a_new_tablet(3);
    struct replica_server *first = leader_server(&before);
    first->down = true;
    wait_idle(10 * SECOND_NS);
    struct replica_view after = newest_view(tablet_at("t", ""));
    cr_assert_gt(after.configuration.version, before.configuration.version);
    struct replica_member leads = replica_configuration_leader(&after.configuration);
    cr_assert_neq(server_of(leads.server), first);
    cr_assert(replica_configuration_has(&before.configuration, leads));
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].state, TABLET_SERVING);
}

/* Who is new has nothing of what may have been written, and could remove those who have: it is taught instead.
 * (Simulator, seed 903861: two servers served the same tablet.) */
Test(new_tablets, a_new_tablet_that_is_placed_again_has_no_member_that_was_none)
{
    struct replica_view before = told_of_a_new_tablet(2);
    leader_server(&before)->down = true;
    struct replica_view after = before;
    while (after.configuration.version == before.configuration.version) {
        for (size_t i = 0; i < SERVERS; i++) {
            if (!servers[i].down) {
                (void)replica_sync(&driver, &servers[i]);
            }
        }
        driver_pass(&driver, SECOND_NS / 4);
        driver_forget_replies(&driver);
        after = newest_view(tablet_at("t", ""));
    }
    cr_assert_eq(replica_configuration_change(&before.configuration, &after.configuration),
                 REPLICA_CHANGE_REPLACE);
    wait_idle(10 * SECOND_NS);
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].state, TABLET_SERVING);
}

Test(new_tablets, a_new_tablet_is_not_led_by_a_secondary_that_is_damaged)
{
    struct replica_view before = told_of_a_new_tablet(2);
    struct replica_server *second = server_of(other_member(&before).server);
    (void)replica_sync(&driver, second);
    leader_server(&before)->down = true;
    fake_held(&second->fake, before.tablet)->damaged = true;
    wait_idle(10 * SECOND_NS);
    struct replica_view after = newest_view(tablet_at("t", ""));
    cr_assert_eq(after.configuration.version, before.configuration.version);
    fake_held(&second->fake, before.tablet)->damaged = false;
    wait_idle(10 * SECOND_NS);
    after = newest_view(tablet_at("t", ""));
    cr_assert_eq(leader_server(&after), second);
}

/* It may have known of a version, and lost its log: then it is damaged as soon as it hears of it.  (Simulator, seed 13159792.) */
Test(new_tablets, a_new_tablet_is_not_led_by_a_secondary_that_knows_of_no_version)
{
    struct replica_view before = told_of_a_new_tablet(2);
    struct replica_server *second = server_of(other_member(&before).server);
    (void)replica_sync(&driver, second);
    leader_server(&before)->down = true;
    struct held_tablet *held = fake_held(&second->fake, before.tablet);
    enum held_state state = held->state;
    cr_assert_neq(state, HELD_CREATED);
    held->state = HELD_CREATED;
    wait_idle(10 * SECOND_NS);
    cr_assert_eq(held->state, HELD_CREATED);
    struct replica_view after = newest_view(tablet_at("t", ""));
    cr_assert_eq(after.configuration.version, before.configuration.version);
    held->state = state;
    wait_idle(10 * SECOND_NS);
    after = newest_view(tablet_at("t", ""));
    cr_assert_eq(leader_server(&after), second);
}

/* Then nobody serves it, or will: it is begun elsewhere, or on what is there instead. */
Test(new_tablets, a_new_tablet_whose_disks_are_all_gone_is_placed_anew)
{
    struct replica_view before = told_of_a_new_tablet(2);
    for (size_t i = 0; i < SERVERS; i++) {
        if (replica_configuration_has(&before.configuration, replica_server_member(&servers[i]))) {
            servers[i].fake.stores[0].number += 1000;
            fake_drop(&servers[i].fake, before.tablet);
        }
    }
    wait_idle(10 * SECOND_NS);
    struct replica_view after = newest_view(tablet_at("t", ""));
    cr_assert_gt(after.configuration.version, before.configuration.version);
    cr_assert_eq(
        replica_configuration_find(&before.configuration,
                                   replica_configuration_leader(&after.configuration).store),
        before.configuration.member_count);
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].state, TABLET_SERVING);
}

/* It leads, though it was not heard to say so: a proposal says as much. */
Test(new_tablets, a_new_tablet_whose_primary_has_removed_the_others_is_not_placed_again)
{
    struct replica_view before = told_of_a_new_tablet(2);
    struct replica_server *first = leader_server(&before);
    struct proposal remove = members_of(
        &before, replica_configuration_remove(&before.configuration, other_member(&before).store));
    struct proposed answer = propose_as(replica_server_member(first), remove);
    cr_assert_eq(answer.configuration.member_count, 1);
    first->down = true;
    wait_idle(10 * SECOND_NS);
    struct replica_view after = newest_view(tablet_at("t", ""));
    cr_assert_eq(after.configuration.version, answer.configuration.version);
    cr_assert_eq(leader_server(&after), first);
}

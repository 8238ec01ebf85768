/* Outsiders: which copies may go, and when (docs/replication.md, section 10). */
#include "tests/support/replica_fixture.h"

TestSuite(outsiders, .init = start, .fini = stop, .timeout = 300);

/* Is the copy on the server named as removed in the answer to its report? */
static bool is_sent_away(struct replica_server *server, uint64_t tablet)
{
    struct sync_response response = replica_sync(&driver, server);
    for (size_t i = 0; i < response.tablet_count; i++) {
        if (response.tablets[i].removed && response.tablets[i].location.tablet == tablet) {
            cr_assert_eq(response.tablets[i].store, server->fake.stores[0].number);
            return true;
        }
    }
    return false;
}

Test(outsiders, an_outsider_is_kept_until_all_others_were_there_for_keep_outsiders)
{
    driver.settings.keep_outsiders_ns = 100 * SECOND_NS;
    catalog_destroy(driver.catalog);
    driver_load(&driver);
    replicas_settle(&driver, servers, SERVERS);
    make_replicated("t");
    uint64_t tablet = tablet_at("t", "");
    struct replica_view before = newest_view(tablet);
    struct replica_server *old = server_of(other_member(&before).server);
    (void)drain(old->fake.number, true);
    replicas_work(&driver, servers, SERVERS, 4 * 5);
    cr_assert_not_null(fake_held(&old->fake, tablet));
    struct replica_view view = newest_view(tablet);
    cr_assert(!replica_configuration_has(&view.configuration, replica_server_member(old)));
    wait_idle(90 * SECOND_NS);
    cr_assert(!is_sent_away(old, tablet), "not long enough");
    /* a member less: the time begins again when there is another one */
    view = newest_view(tablet);
    struct replica_member gone = other_member(&view);
    struct replica_member leader = replica_configuration_leader(&view.configuration);
    struct proposal remove = members_of(
        &view, replica_configuration_remove(&view.configuration, gone.store));
    struct proposed answer = propose_as(leader, remove);
    cr_assert(is_taken(&answer, &remove));
    wait_idle(120 * SECOND_NS);
    cr_assert(!is_sent_away(old, tablet), "there are but two");
    cr_assert(!is_sent_away(server_of(gone.server), tablet), "the goal names it");
    replicas_work(&driver, servers, SERVERS, 4);
    wait_idle(90 * SECOND_NS);
    cr_assert(!is_sent_away(old, tablet));
    driver_crash(&driver);
    wait_idle(90 * SECOND_NS);
    cr_assert(!is_sent_away(old, tablet), "a master that starts waits all of it");
    wait_idle(20 * SECOND_NS);
    cr_assert_null(fake_held(&old->fake, tablet), "now it was sent away");
    for (size_t i = 0; i < SERVERS; i++) {
        cr_assert(!is_sent_away(&servers[i], tablet), "nobody else is");
    }
}

/* Who has a copy that counts no more of a tablet that was split at m meanwhile; it is down. */
static struct replica_server *away_from_a_split(uint64_t *ret_tablet)
{
    driver.settings.keep_outsiders_ns = 20 * SECOND_NS;
    catalog_destroy(driver.catalog);
    driver_load(&driver);
    replicas_settle(&driver, servers, SERVERS);
    make_replicated("t");
    uint64_t tablet = tablet_at("t", "");
    struct replica_view before = newest_view(tablet);
    struct replica_server *old = server_of(other_member(&before).server);
    (void)drain(old->fake.number, true);
    replicas_work(&driver, servers, SERVERS, 4 * 5);
    old->down = true;
    (void)driver_split(&driver, "t", "m");
    replicas_work(&driver, servers, SERVERS, 4);
    *ret_tablet = tablet;
    return old;
}

/* From when it is back. */
static void expect_kept_for_20_s(struct replica_server *old, uint64_t tablet)
{
    old->down = false;
    cr_assert(!is_sent_away(old, tablet));
    wait_idle(10 * SECOND_NS);
    cr_assert_not_null(fake_held(&old->fake, tablet));
    wait_idle(30 * SECOND_NS);
    cr_assert_null(fake_held(&old->fake, tablet));
}

Test(outsiders, a_copy_of_a_tablet_that_was_split_goes_when_both_parts_are_whole)
{
    uint64_t tablet = 0;
    struct replica_server *old = away_from_a_split(&tablet);
    cr_assert_eq(driver_locate(&driver, "t", "").location_count, 2);
    expect_kept_for_20_s(old, tablet);
}

/* Its parts are asked for, and one of them was not there to be asked: it stayed for as long as the master's process lived
 * (simulator, seed 40221). */
Test(outsiders, a_copy_of_a_tablet_whose_part_was_split_in_turn_goes_when_all_are_whole)
{
    uint64_t tablet = 0;
    struct replica_server *old = away_from_a_split(&tablet);
    (void)driver_split(&driver, "t", "c");
    replicas_work(&driver, servers, SERVERS, 4);
    cr_assert_eq(driver_locate(&driver, "t", "").location_count, 3);
    expect_kept_for_20_s(old, tablet);
}

Test(outsiders, a_member_that_has_not_converted_yet_is_not_told_to_forget_the_parent)
{
    make_replicated("t");
    uint64_t tablet = tablet_at("t", "");
    struct replica_view before = newest_view(tablet);
    struct replica_server *slow = server_of(other_member(&before).server);
    slow->down = true;
    (void)driver_split(&driver, "t", "m");
    struct replica_server *leader = leader_server(&before);
    (void)replica_sync(&driver, leader);
    struct proposal split = replica_split_proposal(leader, replica_view(leader, tablet));
    cr_assert_eq(propose_as(replica_server_member(leader), split).outcome, PROPOSED_SPLIT);
    for (int i = 0; i < 3; i++) { /* it reports the parent, and knows of the children */
        uint64_t request = fake_send(&driver, &slow->fake);
        struct sync_response response;
        cr_assert_eq(
            sync_response_decode(driver_body(&driver, request), &driver.arena, &response, NULL),
            STATUS_OK);
        for (size_t j = 0; j < response.tablet_count; j++) {
            cr_assert(!response.tablets[j].removed);
        }
        driver_pass(&driver, 700 * SECOND_NS);
    }
    struct locate_response where = driver_locate(&driver, "t", "");
    cr_assert_eq(where.locations[0].state, TABLET_SERVING, "nor are the children missing");
}

/* A member of the merged one that was taught it, and still has a half: nothing will be made of that. */
Test(outsiders, what_a_merge_left_in_a_store_that_has_the_one_goes_and_not_before)
{
    const struct bytes splits[] = {bytes_of_text("m")};
    struct buffer body = BUFFER_INIT;
    const struct merge_request merge = {bytes_of_text("t"), bytes_of_text("m")};
    driver.settings.keep_outsiders_ns = 20 * SECOND_NS;
    catalog_destroy(driver.catalog);
    driver_load(&driver);
    replicas_settle(&driver, servers, SERVERS);
    (void)create_table("t", 3, 2, splits, 1);
    replicas_settle(&driver, servers, SERVERS);
    uint64_t left = tablet_at("t", "");
    merge_request_encode(&merge, &body);
    (void)driver_send(&driver, METHOD_MERGE_TABLETS, &body);
    replicas_work(&driver, servers, SERVERS, 30);
    uint64_t merged = tablet_at("t", "");
    cr_assert_eq(merged, tablet_at("t", "x"));
    struct replica_view view = newest_view(merged);
    struct replica_server *late = server_of(other_member(&view).server);
    uint64_t store = replica_server_member(late).store;
    fake_hold(&late->fake, left, store, HELD_SERVING);
    wait_idle(10 * SECOND_NS);
    cr_assert_not_null(fake_held(&late->fake, left), "not long enough");
    fake_drop(&late->fake, merged); /* as if it had to be made of it */
    late->down = true;
    wait_idle(30 * SECOND_NS);
    late->down = false;
    for (int i = 0; i < 3; i++) {
        (void)fake_send(&driver, &late->fake);
    }
    cr_assert_not_null(fake_held(&late->fake, left));
    fake_hold(&late->fake, merged, store, HELD_SERVING);
    wait_idle(30 * SECOND_NS);
    cr_assert_null(fake_held(&late->fake, left));
    cr_assert_not_null(fake_held(&late->fake, merged));
}

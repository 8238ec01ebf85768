/* Goals: a copy that is wished for in another store of its server than has it (docs/replication.md, rule 17). */
#include "tests/support/replica_fixture.h"

TestSuite(goals_beside, .init = start, .fini = stop, .timeout = 300);

/* The tablet's secondary is removed, and comes back in another store of that server: returns where. */
static struct replica_member come_back_beside(uint64_t tablet)
{
    struct replica_view view = newest_view(tablet);
    struct replica_member secondary = other_member(&view);
    struct replica_member disk = add_disk(secondary.server);
    view.configuration = propose_members(
        &view, replica_configuration_remove(&view.configuration, secondary.store));
    (void)propose_members(&view, replica_configuration_add(&view.configuration, disk));
    return disk;
}

static bool is_wished(uint64_t tablet, struct replica_member member)
{
    struct replica_view view = newest_view(tablet);
    return goal_has(&view.goal, member);
}

static void make(uint32_t replicas, const struct bytes *splits, size_t split_count)
{
    uint64_t request = create_table("t", replicas, 1, splits, split_count);
    replicas_settle(&driver, servers, SERVERS);
    (void)driver_body(&driver, request);
    driver_forget_replies(&driver);
}

Test(goals_beside, where_none_can_be_spared_the_store_that_has_it_is_wished_for)
{
    make(2, NULL, 0);
    uint64_t tablet = tablet_at("t", "");
    struct replica_member other = come_back_beside(tablet);
    wait_idle(5 * SECOND_NS);
    cr_assert(is_wished(tablet, other));
    cr_assert_eq(newest_view(tablet).goal.member_count, 2);
}

Test(goals_beside, where_one_can_be_spared_it_is_brought_to_the_store_that_was_wished_for)
{
    make(3, NULL, 0);
    uint64_t tablet = tablet_at("t", "");
    struct replica_member other = come_back_beside(tablet);
    wait_idle(5 * SECOND_NS);
    cr_assert_not(is_wished(tablet, other));
}

static uint64_t order_merge(void)
{
    struct buffer body = BUFFER_INIT;
    const struct merge_request merge = {bytes_of_text("t"), bytes_of_text("m"), false};
    merge_request_encode(&merge, &body);
    return driver_send(&driver, METHOD_MERGE_TABLETS, &body);
}

/* A copy that was being taught in another store when it was ordered. */
Test(goals_beside, a_merge_that_cannot_be_done_is_taken_back_and_its_waiter_told)
{
    const struct bytes splits[] = {bytes_of_text("m")};
    make(2, splits, 1);
    struct replica_view left = newest_view(tablet_at("t", ""));
    struct replica_view right = newest_view(tablet_at("t", "x"));
    struct replica_member away = other_member(&right);
    right.configuration = propose_members(
        &right, replica_configuration_remove(&right.configuration, away.store));
    uint64_t server = replica_configuration_leader(&right.configuration).server;
    struct replica_member wished = left.configuration.members[0].server == server
                                       ? left.configuration.members[1]
                                       : left.configuration.members[0];
    struct replica_member disk = add_disk(wished.server);

    uint64_t ordered = order_merge();
    (void)propose_members(&right, replica_configuration_add(&right.configuration, disk));
    driver_pass(&driver, 3 * SECOND_NS);
    driver_assert_refused(&driver, ordered, STATUS_ABORTED, "taken back");
}

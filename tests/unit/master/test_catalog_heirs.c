/* Proposals of splits and merges, and what is told of tablets that are gone (docs/replication.md, section 7). */
#include "tests/support/catalog_memory.h"
#include "tests/support/replica_fixture.h"

TestSuite(heirs, .init = start, .fini = stop, .timeout = 300);

/* --- what became of a tablet ------------------------------------------------------------------ */

Test(heirs, a_tablet_that_is_gone_is_said_to_be_with_what_came_of_it)
{
    make_replicated("t");
    struct replica_view view = newest_view(tablet_at("t", ""));
    struct replica_member leader = replica_configuration_leader(&view.configuration);
    struct proposal renewal = members_of(&view, view.configuration);
    renewal.next.version++;
    renewal.tablet = 999;
    cr_assert_eq(propose_as(leader, renewal).outcome, PROPOSED_UNKNOWN);
    renewal.tablet = view.tablet;
    uint64_t request = driver_by_name(&driver, METHOD_DELETE_TABLE, "t");
    replicas_settle(&driver, servers, SERVERS);
    (void)driver_body(&driver, request);
    cr_assert_eq(propose_as(leader, renewal).outcome, PROPOSED_DROPPED);
    driver_crash(&driver);
    cr_assert_eq(propose_as(leader, renewal).outcome, PROPOSED_DROPPED);
}

Test(heirs, a_split_is_wished_proposed_and_taken_with_the_numbers_that_were_given)
{
    make_replicated("t");
    uint64_t tablet = tablet_at("t", "");
    uint64_t request = driver_split(&driver, "t", "m");
    replicas_settle(&driver, servers, SERVERS);
    cr_assert_null(driver_reply(&driver, request), "it waits for the primary");
    cr_assert_eq(driver_locate(&driver, "t", "").location_count, 1);
    struct replica_view view = newest_view(tablet);
    cr_assert_eq(view.goal.wish, GOAL_SPLIT);
    struct replica_server *leader = leader_server(&view);
    struct replica_member self = replica_server_member(leader);
    struct proposal split = replica_split_proposal(leader, replica_view(leader, tablet));

    struct proposal wrong = split;
    wrong.row = bytes_of_text("n");
    assert_refused(self, wrong, "at another row");
    wrong = split;
    wrong.right++;
    assert_refused(self, wrong, "with another number");
    wrong = split;
    wrong.next.version++;
    assert_refused(self, wrong, "at a version too high");
    wrong = split;
    wrong.next = replica_configuration_remove(&split.next, other_member(&view).store);
    wrong.next.version = split.next.version;
    assert_refused(self, wrong, "with other members");
    assert_refused(other_member(&view), split, "by a secondary");

    struct proposed answer = propose_as(self, split);
    cr_assert_eq(answer.outcome, PROPOSED_SPLIT);
    cr_assert_eq(answer.left, split.left);
    cr_assert_eq(answer.right, split.right);
    struct split_response response;
    cr_assert_eq(
        split_response_decode(driver_body(&driver, request), &driver.arena, &response, NULL),
        STATUS_OK);
    cr_assert_eq(response.right_tablet, split.right);
    replicas_settle(&driver, servers, SERVERS);
    struct locate_response where = driver_locate(&driver, "t", "");
    cr_assert_eq(where.location_count, 2);
    cr_assert_eq(where.locations[1].state, TABLET_SERVING, "it is done when the catalog has it");
    cr_assert_eq(where.locations[1].configuration, view.configuration.version + 1);
    driver_crash(&driver); /* nothing is remembered but by the children */
    answer = propose_as(self, split);
    cr_assert_eq(answer.outcome, PROPOSED_SPLIT);
    cr_assert_eq(answer.left, split.left);
    cr_assert_eq(answer.right, split.right);
}

Test(heirs, a_split_by_size_is_a_wish_where_the_primary_proposes)
{
    make_replicated("t");
    struct replica_view view = newest_view(tablet_at("t", ""));
    struct held_tablet *held = fake_held(&leader_server(&view)->fake, view.tablet);
    held->size_bytes = UINT64_C(20) << 20;
    held->wants_split = true;
    held->split_row = bytes_of_text("m");
    replicas_settle(&driver, servers, SERVERS);
    cr_assert_eq(newest_view(view.tablet).goal.wish, GOAL_SPLIT);
    replicas_work(&driver, servers, SERVERS, 4);
    struct locate_response where = driver_locate(&driver, "t", "");
    cr_assert_eq(where.location_count, 2);
    cr_assert_eq(where.locations[0].state, TABLET_SERVING);
}

/* --- merges ----------------------------------------------------------------------------------- */

static uint64_t order_merge(const char *name, const char *row)
{
    struct buffer body = BUFFER_INIT;
    const struct merge_request merge = {bytes_of_text(name), bytes_of_text(row)};
    merge_request_encode(&merge, &body);
    return driver_send(&driver, METHOD_MERGE_TABLETS, &body);
}

Test(heirs, two_neighbours_are_brought_together_and_merged)
{
    const struct bytes splits[] = {bytes_of_text("m")};
    uint64_t request = create_table("t", 3, 2, splits, 1);
    replicas_settle(&driver, servers, SERVERS);
    (void)driver_body(&driver, request);
    uint64_t left = tablet_at("t", "");
    uint64_t right = tablet_at("t", "m");
    request = order_merge("t", "n");
    driver_assert_refused(&driver, request, STATUS_INVALID_ARGUMENT, "begins at row 'n'");
    request = order_merge("t", "m");
    replicas_settle(&driver, servers, SERVERS);
    driver_assert_refused(&driver, driver_split(&driver, "t", "c"), STATUS_UNAVAILABLE, "merged");
    for (int i = 0; i < 30 && driver_reply(&driver, request) == NULL; i++) {
        for (size_t j = 0; j < SERVERS; j++) {
            (void)replica_sync(&driver, &servers[j]);
            (void)replica_propose(&driver, &servers[j], servers, SERVERS);
        }
    }
    struct merge_response response;
    cr_assert_eq(
        merge_response_decode(driver_body(&driver, request), &driver.arena, &response, NULL),
        STATUS_OK);
    struct locate_response where = driver_locate(&driver, "t", "");
    cr_assert_eq(where.location_count, 1);
    cr_assert_eq(where.locations[0].tablet, response.merged_tablet);
    cr_assert_eq(where.locations[0].range.end.size_bytes, 0);
    for (int i = 0; i < 2; i++) {
        struct proposal late = {.kind = PROPOSAL_MERGE,
                                .tablet = left,
                                .base = 1,
                                .next = newest_view(response.merged_tablet).configuration,
                                .right = right,
                                .right_base = 1,
                                .merged = response.merged_tablet};
        struct proposed answer = propose_as(replica_server_member(&servers[0]), late);
        cr_assert_eq(answer.outcome, PROPOSED_MERGED);
        cr_assert_eq(answer.merged, response.merged_tablet);
        late.tablet = right;
        cr_assert_eq(propose_as(replica_server_member(&servers[0]), late).merged,
                     response.merged_tablet);
        driver_crash(&driver);
    }
}

Test(heirs, a_merge_is_guarded_by_both_versions)
{
    const struct bytes splits[] = {bytes_of_text("m")};
    uint64_t request = create_table("t", 1, 1, splits, 1);
    replicas_settle(&driver, servers, SERVERS);
    (void)driver_body(&driver, request);
    uint64_t left = tablet_at("t", "");
    uint64_t right = tablet_at("t", "m");
    (void)order_merge("t", "m");
    struct proposal merge = {0};
    for (int i = 0; i < 30 && merge.kind == 0;
         i++) { /* until only the merge itself is left to do */
        for (size_t j = 0; j < SERVERS; j++) {
            struct proposal next;
            (void)replica_sync(&driver, &servers[j]);
            if (replica_wants(&servers[j], servers, SERVERS, &next, 1) == 1 &&
                next.kind == PROPOSAL_MERGE) {
                merge = next;
                break;
            }
            (void)replica_propose(&driver, &servers[j], servers, SERVERS);
        }
    }
    cr_assert_eq(merge.tablet, left);
    cr_assert_eq(merge.right, right);
    struct replica_view view = newest_view(right);
    struct replica_member leader = replica_configuration_leader(&view.configuration);
    struct proposal renewal = members_of(&view, view.configuration);
    renewal.next.version++;
    cr_assert_eq(propose_as(leader, renewal).configuration.version, renewal.next.version);
    struct proposed answer = propose_as(leader, merge);
    cr_assert_eq(answer.outcome, PROPOSED_CONFIGURATION, "the right one has moved on");
    cr_assert_eq(answer.configuration.version, merge.base);
    cr_assert_eq(answer.right_version, renewal.next.version, "that settles it");
    struct proposal of_none = merge;
    of_none.right = 1000;
    answer = propose_as(leader, of_none);
    cr_assert_eq(answer.outcome, PROPOSED_CONFIGURATION);
    cr_assert_eq(answer.right_version, UINT64_MAX, "so does one that is gone");
    merge.right_base = renewal.next.version;
    merge.next.version = (merge.base > merge.right_base ? merge.base : merge.right_base) + 1;
    cr_assert_eq(propose_as(leader, merge).outcome, PROPOSED_MERGED);
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].configuration, merge.next.version,
                 "above both");
}

/* --- memory ----------------------------------------------------------------------------------- */

Test(heirs, without_memory_a_split_is_refused_and_nothing_has_changed)
{
    make_replicated("t");
    uint64_t tablet = tablet_at("t", "");
    (void)driver_split(&driver, "t", "m");
    replicas_settle(&driver, servers, SERVERS);
    struct replica_view view = newest_view(tablet);
    struct replica_server *leader = leader_server(&view);
    struct proposal split = replica_split_proposal(leader, replica_view(leader, tablet));
    const struct propose_request propose = {leader->fake.number, &split, 1};
    for (uint64_t after = 0; driver.transaction == 0; after++) {
        struct buffer body = BUFFER_INIT;
        propose_request_encode(&propose, &body);
        (void)driver_send_without_memory(&driver, METHOD_PROPOSE, &body, after);
        cr_assert_lt(after, 200);
        cr_assert(driver.transaction == 0 || after > 5);
    }
    (void)driver_commit(&driver);
    cr_assert_eq(driver_locate(&driver, "t", "").location_count, 2);
}

Test(heirs, what_is_durable_is_applied_without_memory_and_the_answer_comes_the_next_time)
{
    make_replicated("t");
    struct replica_view view = newest_view(tablet_at("t", ""));
    struct replica_member leader = replica_configuration_leader(&view.configuration);
    struct proposal renewal = members_of(&view, view.configuration);
    renewal.next.version++;
    renewal.proposer = leader.store;
    driver.hold_commits = true;
    uint64_t request = driver_propose(&driver, leader.server, &renewal, 1);
    driver_commit_without_memory(&driver, 0);
    driver.hold_commits = false;
    cr_assert_neq(driver_reply(&driver, request)->status, STATUS_OK);
    struct proposed answer = propose_as(leader, renewal);
    cr_assert(is_taken(&answer, &renewal));
}

/* Goals: what the master wishes, and what it must not do for it (docs/replication.md, section 10). */
#include "tests/support/replica_fixture.h"

TestSuite(goals, .init = start, .fini = stop, .timeout = 300);

/* --- helpers ------------------------------------------------------------------------------------ */

/* Tablets cut at b, c, d, ... */
static void make_many(const char *name, uint32_t replicas, size_t tablets)
{
    static const char *const letters = "abcdefghijklmnopqrstuvwxyz";
    struct bytes splits[25];
    cr_assert_leq(tablets, 26);
    for (size_t i = 1; i < tablets; i++) {
        splits[i - 1] = bytes_of((const uint8_t *)letters + i, 1);
    }
    uint64_t request = create_table(name, replicas, 1, splits, tablets - 1);
    replicas_settle(&driver, servers, SERVERS);
    (void)driver_body(&driver, request);
    driver_forget_replies(&driver);
}

static size_t count_members_on(uint64_t server)
{
    size_t count = 0;
    struct locate_response where = driver_locate(&driver, "t", "");
    for (size_t i = 0; i < where.location_count; i++) {
        struct replica_view view = newest_view(where.locations[i].tablet);
        for (uint32_t j = 0; j < view.configuration.member_count; j++) {
            count += view.configuration.members[j].server == server;
        }
    }
    return count;
}

static size_t count_leads_on(uint64_t server)
{
    size_t count = 0;
    struct locate_response where = driver_locate(&driver, "t", "");
    for (size_t i = 0; i < where.location_count; i++) {
        count += where.locations[i].server == server;
    }
    return count;
}

/* --- placing ------------------------------------------------------------------------------------ */

Test(goals, copies_lie_in_different_zones_where_there_are_enough)
{
    static const char *const zones[] = {"a", "a", "b", "b", "c", "c"};
    for (size_t i = 0; i < SERVERS; i++) {
        servers[i].fake.zone = zones[i];
    }
    replicas_settle(&driver, servers, SERVERS);
    make_many("t", 3, 12);
    struct locate_response where = driver_locate(&driver, "t", "");
    for (size_t i = 0; i < where.location_count; i++) {
        struct replica_view view = newest_view(where.locations[i].tablet);
        bool seen[3] = {false};
        for (uint32_t j = 0; j < 3; j++) {
            seen[(view.configuration.members[j].server - 1) / 2] = true;
        }
        cr_assert(seen[0] && seen[1] && seen[2]);
    }
    for (uint64_t server = 1; server <= SERVERS; server++) {
        cr_assert_eq(count_members_on(server), 6, "and are spread");
        cr_assert_eq(count_leads_on(server), 2);
    }
}

/* --- what is lost ------------------------------------------------------------------------------- */

Test(goals, a_store_that_was_not_heard_of_for_replace_after_is_replaced)
{
    make_replicated("t");
    uint64_t tablet = tablet_at("t", "");
    struct replica_view before = newest_view(tablet);
    struct replica_member lost = other_member(&before);
    server_of(lost.server)->down = true;
    replicas_work(&driver, servers, SERVERS, 4 * 58);
    struct replica_view view = newest_view(tablet);
    cr_assert_eq(view.configuration.member_count, 2, "its primary removed it");
    cr_assert(goal_has(&view.goal, lost), "but it may come back");
    replicas_work(&driver, servers, SERVERS, 4 * 4);
    view = newest_view(tablet);
    cr_assert(!goal_has(&view.goal, lost));
    cr_assert_eq(view.configuration.member_count, 3);
    cr_assert(replica_has_all(&view));
}

Test(goals, a_server_that_comes_back_in_time_gets_its_copies_back)
{
    make_replicated("t");
    uint64_t tablet = tablet_at("t", "");
    struct replica_view before = newest_view(tablet);
    struct replica_server *leader = leader_server(&before);
    leader->down = true;
    replicas_work(&driver, servers, SERVERS, 4 * 20);
    struct replica_view view = newest_view(tablet);
    cr_assert_neq(leader_server(&view), leader, "another one took over");
    leader->down = false;
    replicas_work(&driver, servers, SERVERS, 4 * 5);
    view = newest_view(tablet);
    cr_assert(replica_configuration_same_members(&view.configuration, &before.configuration));
    cr_assert_eq(leader_server(&view), leader, "and it leads again what it should lead");
}

Test(goals, a_store_is_given_up_only_for_another_one)
{
    make_many("t", 3, 1);
    uint64_t tablet = tablet_at("t", "");
    struct replica_view before = newest_view(tablet);
    for (size_t i = 0; i < SERVERS; i++) { /* only two of its servers are left in the world */
        servers[i].down = !replica_configuration_has(&before.configuration,
                                                     replica_server_member(&servers[i]));
    }
    server_of(other_member(&before).server)->down = true;
    replicas_work(&driver, servers, SERVERS, 4 * 90);
    struct replica_view view = newest_view(tablet);
    cr_assert_eq(view.configuration.member_count, 2);
    cr_assert_eq(view.goal.member_count, 3);
    cr_assert(goal_has(&view.goal, other_member(&before)));
    for (size_t i = 0; i < SERVERS; i++) {
        servers[i].down = servers[i].down &&
                          replica_server_member(&servers[i]).store == other_member(&before).store;
    }
    replicas_work(&driver, servers, SERVERS, 4 * 5);
    cr_assert_eq(newest_view(tablet).configuration.member_count, 3, "as soon as there is one");
}

Test(goals, a_tablet_without_a_living_member_keeps_its_goal)
{
    make_many("t", 1, 1);
    uint64_t tablet = tablet_at("t", "");
    struct replica_view before = newest_view(tablet);
    struct replica_server *only = leader_server(&before);
    only->down = true;
    replicas_work(&driver, servers, SERVERS, 4 * 90);
    only->down = false;
    replicas_work(&driver, servers, SERVERS, 4);
    struct replica_view view = newest_view(tablet);
    cr_assert(goal_has(&view.goal, replica_server_member(only)));
    cr_assert(replica_configuration_equal(&view.configuration, &before.configuration));
}

Test(goals, a_master_that_starts_gives_every_server_its_time)
{
    make_replicated("t");
    uint64_t tablet = tablet_at("t", "");
    struct replica_view before = newest_view(tablet);
    struct replica_member lost = other_member(&before);
    server_of(lost.server)->down = true;
    replicas_work(&driver, servers, SERVERS, 4 * 50);
    driver_crash(&driver);
    replicas_work(&driver, servers, SERVERS, 4 * 50);
    struct replica_view view = newest_view(tablet);
    cr_assert(goal_has(&view.goal, lost));
    replicas_work(&driver, servers, SERVERS, 4 * 15);
    view = newest_view(tablet);
    cr_assert(!goal_has(&view.goal, lost));
}

Test(goals, a_disk_that_failed_in_a_living_server_is_replaced_too)
{
    make_replicated("t");
    uint64_t tablet = tablet_at("t", "");
    struct replica_view before = newest_view(tablet);
    struct replica_member lost = other_member(&before);
    server_of(lost.server)->fake.stores[0].condition = 2;
    replicas_work(&driver, servers, SERVERS, 4 * 65);
    struct replica_view view = newest_view(tablet);
    cr_assert(!goal_has(&view.goal, lost));
    cr_assert(!replica_configuration_has(&view.configuration, lost));
    cr_assert(replica_has_all(&view));
}

static size_t commits;
static size_t puts_most;

static void count_commit(void)
{
    commits++;
    puts_most = driver.put_count > puts_most ? driver.put_count : puts_most;
}

/* Its 500 copies: half of them led by it or another.  One configuration each when it dies, one goal
 * after replace_after, one configuration when the new copy is there; and nothing else. */
Test(goals, a_dead_server_with_five_hundred_copies_costs_few_transactions)
{
    static char keys[999][8];
    static struct bytes splits[999];
    for (size_t i = 0; i < 999; i++) {
        snprintf(keys[i], sizeof keys[i], "%04zu", i);
        splits[i] = bytes_of_text(keys[i]);
    }
    uint64_t request = create_table("t", 3, 2, splits, 999);
    replicas_settle(&driver, servers, SERVERS);
    (void)driver_body(&driver, request);
    replicas_work(&driver, servers, SERVERS, 4);
    size_t copies = servers[0].fake.held_count;
    cr_assert_eq(copies, 500);
    driver.on_committed = count_commit;
    replicas_work(&driver, servers, SERVERS, 4);
    cr_assert_eq(commits, 0, "nothing is changed for nothing");
    servers[0].down = true;
    replicas_work(&driver, servers, SERVERS, 4 * 50);
    size_t deaths = commits;
    cr_assert_leq(deaths, 40, "%zu", deaths); /* five proposers, each in messages of its own */
    commits = 0;
    replicas_work(&driver, servers, SERVERS, 4 * 30);
    cr_assert_leq(commits, 60, "%zu", commits);
    cr_assert_leq(puts_most, 128, "%zu", puts_most);
    for (size_t i = 1; i < SERVERS; i++) {
        cr_assert_geq(servers[i].fake.held_count, 590, "%zu", servers[i].fake.held_count);
        cr_assert_leq(servers[i].fake.held_count, 610, "all others share them, not some");
    }
    commits = 0;
    replicas_work(&driver, servers, SERVERS, 4 * 5);
    cr_assert_leq(commits, 20, "only who leads is still spread: %zu", commits);
}

/* --- draining ----------------------------------------------------------------------------------- */

Test(goals, draining_moves_a_few_at_a_time_until_nothing_is_left)
{
    make_many("t", 3, 24);
    size_t at_first = count_members_on(1);
    cr_assert_eq(at_first, 12);
    struct drain_server_response progress = drain(1, true);
    cr_assert(progress.draining);
    cr_assert_eq(progress.member_count, 12);
    wait_idle(10 * SECOND_NS);
    progress = drain(1, true);
    cr_assert_eq(progress.member_count, 12, "nobody has moved anything");
    cr_assert_eq(progress.goal_count, 6, "six are on their way");
    cr_assert_eq(progress.stuck_count, 0, "the other six wait for their turn");
    driver_crash(&driver);
    wait_idle(3 * SECOND_NS);
    progress = drain(1, true);
    cr_assert_eq(progress.goal_count, 6, "it is remembered, and so are those");
    replicas_work(&driver, servers, SERVERS, 4 * 20);
    progress = drain(1, true);
    cr_assert_eq(progress.member_count, 0);
    cr_assert_eq(progress.goal_count, 0);
    cr_assert_eq(count_members_on(1), 0);
    cr_assert_eq(count_leads_on(1), 0);
    make_replicated("u");
    struct replica_view view = newest_view(tablet_at("u", ""));
    cr_assert(!replica_configuration_has(&view.configuration, replica_server_member(&servers[0])),
              "and nothing new comes");
    progress = drain(1, false);
    cr_assert(!progress.draining);
}

Test(goals, a_lone_copy_is_moved_by_being_joined_first)
{
    make_many("t", 1, 1);
    uint64_t tablet = tablet_at("t", "");
    struct replica_view before = newest_view(tablet);
    uint64_t server = replica_configuration_leader(&before.configuration).server;
    (void)drain(server, true);
    replicas_work(&driver, servers, SERVERS, 4 * 5);
    struct replica_view view = newest_view(tablet);
    cr_assert_eq(view.configuration.member_count, 1);
    cr_assert_neq(replica_configuration_leader(&view.configuration).server, server);
    cr_assert_eq(view.configuration.version, before.configuration.version + 3,
                 "add, yield, remove");
}

Test(goals, a_server_that_is_not_known_cannot_be_drained)
{
    struct buffer body = BUFFER_INIT;
    const struct drain_server_request request = {77, true};
    drain_server_request_encode(&request, &body);
    driver_assert_refused(&driver, driver_send(&driver, METHOD_DRAIN_SERVER, &body),
                          STATUS_NOT_FOUND, "server 77");
}

/* --- who leads ---------------------------------------------------------------------------------- */

/* 24 tablets with all their copies on servers 1 to 3, none of which 1 leads; nobody is drained any more. */
static void let_one_lead_nothing(bool leaving)
{
    make_many("t", 3, 24);
    for (size_t i = 1; i < SERVERS; i++) {
        (void)drain(i + 1, i >= 3); /* all copies come to three servers */
    }
    replicas_work(&driver, servers, SERVERS, 4 * 40);
    /* which cannot be: there are but two others; the leading goes all the same */
    cr_assert_eq(drain(1, true).stuck_count, 24);
    replicas_work(&driver, servers, SERVERS, 4 * 10);
    servers[0].fake.leaving = leaving;
    replicas_settle(&driver, servers, SERVERS);
    for (size_t i = 0; i < SERVERS; i++) {
        (void)drain(i + 1, false);
    }
    cr_assert_eq(count_members_on(1), 24);
    cr_assert_eq(count_leads_on(1), 0);
}

Test(goals, who_leads_is_spread_again_when_it_has_come_together)
{
    let_one_lead_nothing(false);
    replicas_work(&driver, servers, SERVERS, 4 * 40);
    for (uint64_t server = 1; server <= 3; server++) {
        size_t leads = count_leads_on(server);
        cr_assert_geq(leads, 7, "server %lu leads %zu", (unsigned long)server, leads);
        cr_assert_leq(leads, 9, "server %lu leads %zu", (unsigned long)server, leads);
    }
}

Test(goals, a_server_whose_process_is_about_to_end_is_given_nothing_to_lead)
{
    let_one_lead_nothing(true);
    replicas_work(&driver, servers, SERVERS, 4 * 40);
    cr_assert_eq(count_leads_on(1), 0);
    servers[0].fake.leaving = false; /* its next process is there */
    replicas_work(&driver, servers, SERVERS, 4 * 40);
    cr_assert_geq(count_leads_on(1), 7);
}

Test(goals, nor_is_a_new_tablet_put_there)
{
    servers[0].fake.leaving = true;
    replicas_settle(&driver, servers, SERVERS);
    make_many("t", 3, 12);
    cr_assert_eq(count_members_on(1), 0);
}

/* Whoever is refused because of that is told to wait, and not to ask for fewer copies; and may be told at once. */
Test(goals, who_is_refused_because_of_one_that_is_about_to_end_is_told_so)
{
    servers[0].fake.leaving = true;
    replicas_settle(&driver, servers, SERVERS);
    driver_assert_refused(
        &driver, create_table("t", SERVERS, 1, NULL, 0), STATUS_UNAVAILABLE,
        "of 6 that are alive 5 can take one, and 1 is being stopped just now. Try "
        "again when it is back");
    make_many("u", 1, 1);
    const struct alteration more = {.kind = ALTER_REPLICATION, .replicas = SERVERS};
    driver_assert_refused(&driver, driver_alter(&driver, "u", &more, 1), STATUS_UNAVAILABLE,
                          "1 is being stopped just now");
    for (size_t i = 1; i < SERVERS; i++) {
        servers[i].fake.leaving = true;
    }
    replicas_settle(&driver, servers, SERVERS);
    driver_assert_refused(
        &driver, create_table("v", 1, 1, NULL, 0), STATUS_UNAVAILABLE,
        "each tablet is to have 1 copy, on as many tablet servers: of 6 that are alive 0 can "
        "take one, and 6 are being stopped just now. Try again when they are back");
}

/* A drained one would not help when it is back. */
Test(goals, who_is_refused_for_another_reason_is_told_that_one)
{
    (void)drain(1, true);
    servers[0].fake.leaving = true;
    replicas_settle(&driver, servers, SERVERS);
    driver_assert_refused(&driver, create_table("t", SERVERS, 1, NULL, 0), STATUS_UNAVAILABLE,
                          "of 6 that are alive 5 have one. Start more");
}

/* --- merges that are taken back ----------------------------------------------------------------- */

static uint64_t order_merge(bool withdrawn)
{
    struct buffer body = BUFFER_INIT;
    const struct merge_request merge = {bytes_of_text("t"), bytes_of_text("m"), withdrawn};
    merge_request_encode(&merge, &body);
    return driver_send(&driver, METHOD_MERGE_TABLETS, &body);
}

Test(goals, an_order_to_merge_is_taken_back_while_it_has_not_been_carried_out)
{
    const struct bytes splits[] = {bytes_of_text("m")};
    (void)create_table("t", 3, 2, splits, 1);
    replicas_settle(&driver, servers, SERVERS);
    uint64_t left = tablet_at("t", "");
    driver_assert_refused(&driver, order_merge(true), STATUS_FAILED_PRECONDITION,
                          "nothing to take");
    for (size_t i = 0; i < SERVERS; i++) {
        servers[i].never_merges = true;
    }
    (void)order_merge(false);
    replicas_work(&driver, servers, SERVERS, 8);
    driver_crash(&driver); /* the order stands in the catalog, and so does that it is taken back */
    replicas_settle(&driver, servers, SERVERS);
    (void)driver_body(&driver, order_merge(true));
    driver_crash(&driver);
    for (size_t i = 0; i < SERVERS; i++) {
        servers[i].never_merges = false;
    }
    replicas_work(&driver, servers, SERVERS, 40);
    cr_assert_eq(tablet_at("t", ""), left);
    cr_assert_neq(tablet_at("t", "x"), left);
    (void)order_merge(false);
    replicas_work(&driver, servers, SERVERS, 40);
    cr_assert_eq(tablet_at("t", ""), tablet_at("t", "x"), "it may be ordered again");
}

Test(goals, who_waits_for_a_merge_hears_that_it_was_taken_back)
{
    const struct bytes splits[] = {bytes_of_text("m")};
    (void)create_table("t", 3, 2, splits, 1);
    replicas_settle(&driver, servers, SERVERS);
    uint64_t ordered = order_merge(false);
    (void)driver_body(&driver, order_merge(true));
    driver_pass(&driver, SECOND_NS);
    driver_assert_refused(&driver, ordered, STATUS_ABORTED, "taken back");
}

/* --- older servers ------------------------------------------------------------------------------ */

Test(goals, servers_that_do_not_replicate_are_decided_for_as_ever)
{
    for (size_t i = 0; i < SERVERS; i++) {
        servers[i].fake.replicates = false;
    }
    driver_crash(&driver);
    for (size_t i = 0; i < SERVERS; i++) {
        fake_sync(&driver, &servers[i].fake);
    }
    uint64_t request = create_table("t", 1, 1, NULL, 0);
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < SERVERS; i++) {
            fake_sync(&driver, &servers[i].fake);
        }
    }
    (void)driver_body(&driver, request);
    struct location where = driver_locate(&driver, "t", "").locations[0];
    (void)drain(where.server, true);
    for (int round = 0; round < 100; round++) {
        for (size_t i = 0; i < SERVERS; i++) {
            fake_sync(&driver, &servers[i].fake);
        }
        driver_pass(&driver, SECOND_NS);
        driver_forget_replies(&driver);
    }
    cr_assert_eq(drain(where.server, true).goal_count, 1, "its goal is left alone");
    request = driver_split(&driver, "t", "m");
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].state, TABLET_SPLITTING);
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < SERVERS; i++) {
            fake_sync(&driver, &servers[i].fake);
        }
    }
    (void)driver_body(&driver, request);
    cr_assert_eq(driver_locate(&driver, "t", "").locations[1].state, TABLET_SERVING);
}

Test(goals, an_older_server_that_becomes_a_newer_one_takes_goals)
{
    for (size_t i = 0; i < SERVERS; i++) {
        servers[i].fake.replicates = false;
    }
    replicas_settle(&driver, servers, SERVERS);
    uint64_t request = create_table("t", 1, 1, NULL, 0);
    replicas_settle(&driver, servers, SERVERS);
    (void)driver_body(&driver, request);
    uint64_t tablet = tablet_at("t", "");
    struct location before = driver_locate(&driver, "t", "").locations[0];
    for (size_t i = 0; i < SERVERS; i++) {
        servers[i].fake.replicates = true;
        servers[i].fake.incarnation++;
        servers[i].fake.known_version = 0;
    }
    (void)drain(before.server, true);
    replicas_work(&driver, servers, SERVERS, 4 * 5);
    struct replica_view view = newest_view(tablet);
    cr_assert_neq(leader_server(&view)->fake.number, before.server);
    cr_assert_eq(view.configuration.member_count, 1);
}

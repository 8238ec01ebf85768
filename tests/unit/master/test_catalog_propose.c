/* Proposals, rule by rule: docs/replication.md, rule 12 and section 10. */
#include "tests/support/replica_fixture.h"

TestSuite(propose, .init = start, .fini = stop, .timeout = 300);

/* --- the first configuration ------------------------------------------------------------------ */

Test(propose, a_table_with_three_replicas_has_three_members_on_different_servers)
{
    make_replicated("t");
    struct replica_view view = newest_view(tablet_at("t", ""));
    cr_assert_eq(view.configuration.version, 1);
    cr_assert_eq(view.configuration.member_count, 3);
    cr_assert_eq(view.state, TABLET_SERVING);
    cr_assert(replica_has_all(&view), "the goal is what was made");
    struct driver_reply *reply = driver_reply(&driver,
                                              driver_by_name(&driver, METHOD_GET_TABLE, "t"));
    cr_assert_eq(reply->status, STATUS_OK);
    struct table_response table = driver_table(&driver, reply->request);
    cr_assert_eq(table.table.replicas, 3);
    cr_assert_eq(table.table.min_in_sync, 2);
}

Test(propose, a_table_that_does_not_say_has_as_many_replicas_as_the_cluster_says)
{
    catalog_destroy(driver.catalog);
    driver.settings.replicas = 2;
    driver.settings.min_in_sync = 2;
    driver_load(&driver);
    replicas_settle(&driver, servers, SERVERS);
    uint64_t request = create_table("t", 0, 0, NULL, 0);
    replicas_settle(&driver, servers, SERVERS);
    cr_assert_eq(driver_table(&driver, request).table.replicas, 2);
    cr_assert_eq(driver_table(&driver, request).table.min_in_sync, 2);
    request = create_table("one", 1, 0, NULL, 0);
    replicas_settle(&driver, servers, SERVERS);
    cr_assert_eq(driver_table(&driver, request).table.min_in_sync, 1, "never above the replicas");
}

Test(propose, too_many_replicas_and_too_few_servers_are_refused_by_name)
{
    uint64_t request = create_table("t", LIMIT_REPLICAS + 1, 1, NULL, 0);
    driver_assert_refused(&driver, request, STATUS_INVALID_ARGUMENT, "replicas are too many");
    request = create_table("t", 2, 3, NULL, 0);
    driver_assert_refused(&driver, request, STATUS_INVALID_ARGUMENT, "min_in_sync is 3");
    for (size_t i = 2; i < SERVERS; i++) {
        servers[i].down = true;
    }
    driver_pass(&driver, 4 * SECOND_NS);
    replicas_settle(&driver, servers, SERVERS);
    request = create_table("t", 3, 2, NULL, 0);
    driver_assert_refused(&driver, request, STATUS_UNAVAILABLE, "3 replicas need");
    servers[2].down = false;
    servers[2].fake.replicates = false;
    replicas_settle(&driver, servers, SERVERS);
    request = create_table("t", 3, 2, NULL, 0);
    driver_assert_refused(&driver, request, STATUS_UNAVAILABLE, "of 3 that are alive 2 have one");
}

Test(propose, a_tablet_of_several_copies_serves_when_its_primary_has_opened_them)
{
    uint64_t request = create_table("t", 3, 2, NULL, 0);
    for (size_t i = 0; i < SERVERS; i++) {
        (void)replica_sync(&driver, &servers[i]);
    }
    struct replica_view view = newest_view(1);
    struct replica_server *leader = leader_server(&view);
    for (size_t i = 0; i < SERVERS; i++) { /* all of them are there, but nobody has opened them */
        struct held_tablet *held = fake_held(&servers[i].fake, view.tablet);
        if (held != NULL) {
            held->state = HELD_CREATED;
            held->role = HELD_AS_SECONDARY;
        }
        (void)fake_send(&driver, &servers[i].fake);
    }
    cr_assert_null(driver_reply(&driver, request));
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].state, TABLET_CREATING);
    replica_match(leader, replica_view(leader, view.tablet));
    fake_held(&leader->fake, view.tablet)->version = view.configuration.version + 1;
    (void)fake_send(&driver, &leader->fake);
    cr_assert_null(driver_reply(&driver, request), "of another version");
    fake_held(&leader->fake, view.tablet)->version = view.configuration.version;
    (void)fake_send(&driver, &leader->fake);
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].state, TABLET_SERVING);
    cr_assert_eq(driver_locate(&driver, "t", "").locations[0].server, leader->fake.number);
}

Test(propose, a_first_configuration_whose_primary_never_comes_is_made_anew)
{
    uint64_t request = create_table("t", 3, 2, NULL, 0);
    driver.now_ns += SECOND_NS;
    struct sync_response map = replica_sync(&driver, &servers[SERVERS - 1]);
    cr_assert_eq(map.tablet_count, 1);
    struct replica_configuration first = map.tablets[0].configuration;
    struct replica_server *dead = server_of(replica_configuration_leader(&first).server);
    dead->down = true;
    driver_pass(&driver, 4 * SECOND_NS);
    for (int i = 0; i < 4; i++) {
        replicas_settle(&driver, servers, SERVERS);
        driver_pass(&driver, SECOND_NS);
    }
    (void)driver_body(&driver, request);
    struct replica_view view = newest_view(1);
    cr_assert_eq(replica_configuration_change(&first, &view.configuration), REPLICA_CHANGE_REPLACE);
    cr_assert(!replica_configuration_has(&view.configuration, replica_server_member(dead)));
    replicas_work(&driver, servers, SERVERS, 10);
    view = newest_view(1);
    cr_assert_eq(view.configuration.member_count, 3);
    cr_assert(replica_has_all(&view), "and so is its goal");
    struct proposal late = {.kind = PROPOSAL_MEMBERS, .tablet = 1, .base = first.version};
    late.next = first;
    late.next.version++;
    struct proposed answer = propose_as(replica_configuration_leader(&first), late);
    cr_assert(replica_configuration_equal(&answer.configuration, &view.configuration),
              "the one who comes too late is told");
}

/* --- what is taken ---------------------------------------------------------------------------- */

Test(propose, the_primary_renews_adds_and_removes)
{
    make_replicated("t");
    uint64_t tablet = tablet_at("t", "");
    struct replica_view view = newest_view(tablet);
    struct replica_member leader = replica_configuration_leader(&view.configuration);
    struct proposal renewal = members_of(&view, view.configuration);
    renewal.next.version++;
    struct proposed answer = propose_as(leader, renewal);
    cr_assert(is_taken(&answer, &renewal));

    view.configuration = answer.configuration;
    struct proposal add = members_of(
        &view, replica_configuration_add(&view.configuration, outsider(&view)));
    answer = propose_as(leader, add);
    cr_assert(is_taken(&answer, &add));

    view.configuration = answer.configuration;
    struct proposal remove = members_of(
        &view, replica_configuration_remove(&view.configuration, other_member(&view).store));
    answer = propose_as(leader, remove);
    cr_assert(is_taken(&answer, &remove));
    cr_assert_eq(answer.configuration.version, 4);
    driver_crash(&driver);
    answer = propose_as(leader, remove);
    cr_assert_eq(answer.configuration.version, 4, "the same answer, and it was durable");
    cr_assert(is_taken(&answer, &remove), "asking again says that it was taken");
}

Test(propose, a_secondary_takes_the_lead_with_or_without_the_one_before)
{
    make_replicated("t");
    struct replica_view view = newest_view(tablet_at("t", ""));
    struct replica_member old_leader = replica_configuration_leader(&view.configuration);
    struct replica_member secondary = other_member(&view);
    struct proposal yield = members_of(
        &view, replica_configuration_lead(&view.configuration, secondary.store, false));
    struct proposed answer = propose_as(secondary, yield);
    cr_assert(is_taken(&answer, &yield));

    view.configuration = answer.configuration;
    struct proposal replace = members_of(
        &view, replica_configuration_lead(&view.configuration, old_leader.store, true));
    answer = propose_as(old_leader, replace);
    cr_assert(is_taken(&answer, &replace));
    cr_assert_eq(answer.configuration.member_count, 2);
    struct location where = driver_locate(&driver, "t", "").locations[0];
    cr_assert_eq(where.server, old_leader.server, "clients are told of the new primary");
    cr_assert_eq(where.configuration, 3);
}

/* --- what is not ------------------------------------------------------------------------------ */

Test(propose, nobody_else_proposes_anything)
{
    make_replicated("t");
    struct replica_view view = newest_view(tablet_at("t", ""));
    const struct replica_configuration *now = &view.configuration;
    struct replica_member leader = replica_configuration_leader(now);
    struct replica_member secondary = other_member(&view);
    struct replica_member stranger = outsider(&view);
    struct proposal renewal = members_of(&view, *now);
    renewal.next.version++;
    assert_refused(secondary, renewal, "a secondary renews");
    assert_refused(stranger, renewal, "a stranger renews");
    struct proposal add = members_of(&view, replica_configuration_add(now, stranger));
    assert_refused(secondary, add, "a secondary adds");
    assert_refused(stranger, add, "a stranger adds itself");
    struct proposal remove = members_of(&view, replica_configuration_remove(now, secondary.store));
    assert_refused(secondary, remove, "a secondary removes itself");
    struct proposal lead = members_of(&view,
                                      replica_configuration_lead(now, secondary.store, true));
    assert_refused(leader, lead, "the primary names its successor");
    assert_refused(stranger, lead, "a stranger names one");
    /* the right store, said by a server that has not got it */
    assert_refused((struct replica_member){stranger.server, leader.store}, renewal,
                   "another server");
}

Test(propose, one_change_at_a_time_on_the_version_that_is_there)
{
    make_replicated("t");
    struct replica_view view = newest_view(tablet_at("t", ""));
    const struct replica_configuration *now = &view.configuration;
    struct replica_member leader = replica_configuration_leader(now);
    struct proposal skipped = members_of(&view, *now);
    skipped.next.version += 2;
    assert_refused(leader, skipped, "a version is left out");
    struct proposal old = members_of(&view, *now);
    old.base--;
    assert_refused(leader, old, "an old base");
    struct proposal early = members_of(&view, *now);
    early.base++;
    early.next.version += 2;
    assert_refused(leader, early, "a base that is not there yet");
    struct proposal two = members_of(&view, replica_configuration_add(now, outsider(&view)));
    two.next = replica_configuration_remove(&two.next, other_member(&view).store);
    two.next.version = two.base + 1;
    assert_refused(leader, two, "one is added, one removed");
    struct proposal unknown = members_of(
        &view, replica_configuration_add(now, (struct replica_member){99, 990}));
    assert_refused(leader, unknown, "a server that nobody knows");
}

Test(propose, of_two_proposals_for_one_version_the_first_is_taken_and_both_hear_of_it)
{
    make_replicated("t");
    struct replica_view view = newest_view(tablet_at("t", ""));
    struct replica_member leader = replica_configuration_leader(&view.configuration);
    struct replica_member secondary = other_member(&view);
    struct proposal renewal = members_of(&view, view.configuration);
    renewal.next.version++;
    renewal.proposer = leader.store;
    struct proposal lead = members_of(
        &view, replica_configuration_lead(&view.configuration, secondary.store, true));
    lead.proposer = secondary.store;
    driver.hold_commits = true;
    (void)driver_create(&driver, "x", NULL, 0); /* something is under way */
    uint64_t first = driver_propose(&driver, leader.server, &renewal, 1);
    uint64_t second = driver_propose(&driver, secondary.server, &lead, 1);
    (void)driver_commit(&driver);
    cr_assert_neq(driver.transaction, 0, "both are judged in one transaction");
    cr_assert_null(driver_reply(&driver, first), "nothing is told before it is durable");
    cr_assert_null(driver_reply(&driver, second));
    driver.hold_commits = false;
    (void)driver_commit(&driver);
    cr_assert(is_taken(&driver_proposed(&driver, first).answers[0], &renewal));
    cr_assert(is_taken(&driver_proposed(&driver, second).answers[0], &renewal),
              "the loser is told of the winner");
}

Test(propose, a_failed_commit_is_no_answer_and_the_proposal_may_come_again)
{
    make_replicated("t");
    struct replica_view view = newest_view(tablet_at("t", ""));
    struct replica_member leader = replica_configuration_leader(&view.configuration);
    struct proposal renewal = members_of(&view, view.configuration);
    renewal.next.version++;
    renewal.proposer = leader.store;
    coordinator_memory_fail(driver.coordinator, 0, 1);
    uint64_t request = driver_propose(&driver, leader.server, &renewal, 1);
    driver_assert_refused(&driver, request, STATUS_UNAVAILABLE, "nothing was changed");
    struct proposed answer = propose_as(leader, renewal);
    cr_assert(is_taken(&answer, &renewal));
}

/* Its server comes with another disk, and no goal names the old one. */
static struct replica_member forgotten_store(const struct replica_view *view)
{
    struct replica_member member = outsider(view);
    server_of(member.server)->fake.stores[0].number += 1000;
    replicas_settle(&driver, servers, SERVERS);
    return member;
}

/* Simulator, seed 28015488: the commit of such a proposal had failed, and it was said again when the disk was gone. */
Test(propose, a_store_that_was_forgotten_is_recorded_with_the_proposal_that_adds_it)
{
    make_replicated("t");
    struct replica_view view = newest_view(tablet_at("t", ""));
    struct replica_member leader = replica_configuration_leader(&view.configuration);
    struct replica_member gone = forgotten_store(&view);
    struct proposal add = members_of(&view, replica_configuration_add(&view.configuration, gone));
    coordinator_memory_fail(driver.coordinator, 0, 1);
    add.proposer = leader.store;
    uint64_t request = driver_propose(&driver, leader.server, &add, 1);
    driver_assert_refused(&driver, request, STATUS_UNAVAILABLE, "nothing was changed");
    struct proposed answer = propose_as(leader, add);
    cr_assert(is_taken(&answer, &add));
    catalog_destroy(driver.catalog);
    driver_load(&driver); /* and it is a sound catalog, as it was written */
    replicas_settle(&driver, servers, SERVERS);

    view.configuration = answer.configuration;
    struct proposal remove = members_of(
        &view, replica_configuration_remove(&view.configuration, gone.store));
    answer = propose_as(leader, remove);
    cr_assert(is_taken(&answer, &remove));
}

Test(propose, of_two_forgotten_stores_of_a_server_one_is_recorded_at_a_time)
{
    static const char *const names[] = {"t", "u"};
    struct replica_view views[2];
    struct proposal adds[2];
    struct replica_member leaders[2];
    uint64_t requests[2];
    uint64_t server = SERVERS;
    servers[server - 1].fake.replicates = false; /* so no goal names it */
    replicas_settle(&driver, servers, SERVERS);
    for (uint64_t i = 0; i < 2; i++) {
        make_replicated(names[i]);
        views[i] = newest_view(tablet_at(names[i], ""));
        const struct replica_configuration *members = &views[i].configuration;
        const struct replica_member forgotten = {server, 5000 + i};
        leaders[i] = replica_configuration_leader(members);
        adds[i] = members_of(&views[i], replica_configuration_add(members, forgotten));
        adds[i].proposer = leaders[i].store;
    }
    driver.hold_commits = true;
    (void)driver_create(&driver, "x", NULL, 0); /* something is under way */
    for (size_t i = 0; i < 2; i++) {
        requests[i] = driver_propose(&driver, leaders[i].server, &adds[i], 1);
    }
    driver.hold_commits = false;
    (void)driver_commit(&driver);
    cr_assert(is_taken(&driver_proposed(&driver, requests[0]).answers[0], &adds[0]));
    cr_assert_not(is_taken(&driver_proposed(&driver, requests[1]).answers[0], &adds[1]));
    struct proposed again = propose_as(leaders[1], adds[1]);
    cr_assert(is_taken(&again, &adds[1]));
}

Test(propose, malformed_and_empty_requests_are_answered)
{
    struct buffer body = BUFFER_INIT;
    buffer_append_u8(&body, 0x91);
    uint64_t request = driver_send(&driver, METHOD_PROPOSE, &body);
    driver_assert_refused(&driver, request, STATUS_INVALID_ARGUMENT, "propose_request");
    request = driver_propose(&driver, 1, NULL, 0);
    cr_assert_eq(driver_proposed(&driver, request).answer_count, 0);
}

static uint64_t propose_as_process(struct replica_server *server,
                                   const struct proposal *proposal,
                                   uint64_t incarnation)
{
    const struct propose_request propose = {server->fake.number, proposal, 1, incarnation};
    struct buffer body = BUFFER_INIT;
    propose_request_encode(&propose, &body);
    return driver_send(&driver, METHOD_PROPOSE, &body);
}

/* A copied folder has the number and the store, and knows what was; not the process that was let in. */
Test(propose, another_process_of_a_server_is_neither_heard_nor_told_anything)
{
    make_replicated("t");
    struct replica_view view = newest_view(tablet_at("t", ""));
    struct replica_server *leader = leader_server(&view);
    uint64_t incarnation = leader->fake.incarnation;
    struct proposal renewal = members_of(&view, view.configuration);
    renewal.next.version++;
    renewal.proposer = replica_server_member(leader).store;
    driver_assert_refused(&driver, propose_as_process(leader, &renewal, incarnation + 1),
                          STATUS_PERMISSION_DENIED, "another process");
    driver_crash(&driver); /* of the next master nobody has been let in yet */
    driver_assert_refused(&driver, propose_as_process(leader, &renewal, incarnation + 1),
                          STATUS_PERMISSION_DENIED, "another process");
    uint64_t request = propose_as_process(leader, &renewal, incarnation);
    struct propose_response response = driver_proposed(&driver, request);
    cr_assert(is_taken(&response.answers[0], &renewal), "what the records say is enough");
}

/* --- many ------------------------------------------------------------------------------------- */

/* docs/replication.md, section 10: a server that dies is a thousand configurations in about ten
 * transactions. */
Test(propose, a_server_with_a_thousand_tablets_dies)
{
    static char keys[999][8];
    static struct bytes splits[999];
    for (size_t i = 0; i < 999; i++) {
        snprintf(keys[i], sizeof keys[i], "%04zu", i);
        splits[i] = bytes_of_text(keys[i]);
    }
    for (size_t i = 3; i < SERVERS; i++) { /* three have all of them */
        servers[i].down = true;
    }
    driver_pass(&driver, 4 * SECOND_NS);
    replicas_settle(&driver, servers, SERVERS);
    uint64_t request = create_table("t", 3, 2, splits, 999);
    for (int i = 0; i < 8; i++) {
        replicas_settle(&driver, servers, SERVERS);
    }
    (void)driver_body(&driver, request);
    struct replica_server *dead = &servers[0];
    size_t led = 0;
    for (size_t i = 0; i < dead->view_count; i++) {
        led += replica_configuration_leader(&dead->views[i].configuration).server == 1;
    }
    cr_assert_geq(led, 330);
    cr_assert_leq(led, 337, "who leads is spread from the beginning");
    dead->down = true;
    driver_forget_replies(&driver);

    /* All propose at once, in messages of a hundred; then the transactions go their way. */
    static struct proposal proposals[2][1024];
    uint64_t requests[32];
    size_t request_count = 0;
    size_t proposal_count = 0;
    driver.hold_commits = true;
    for (size_t j = 1; j < 3; j++) {
        size_t found = replica_wants(&servers[j], servers, SERVERS, proposals[j - 1], 1024);
        for (size_t at = 0; at < found; at += LIMIT_PROPOSALS_PER_MESSAGE) {
            size_t left = found - at;
            requests[request_count++] = driver_propose(
                &driver, servers[j].fake.number, proposals[j - 1] + at,
                left < LIMIT_PROPOSALS_PER_MESSAGE ? left : LIMIT_PROPOSALS_PER_MESSAGE);
        }
        proposal_count += found;
    }
    /* the dead one's tablets are claimed by both others: one of each pair is taken */
    cr_assert_eq(proposal_count, 1000 + led);
    size_t transactions = 0;
    while (driver.transaction != 0) {
        cr_assert_leq(driver.put_count, 128, "an etcd transaction has 128 operations");
        (void)driver_commit(&driver);
        transactions++;
    }
    cr_assert_leq(transactions, 14, "%zu", transactions);
    size_t answered = 0;
    for (size_t i = 0; i < request_count; i++) {
        struct propose_response response = driver_proposed(&driver, requests[i]);
        for (size_t k = 0; k < response.answer_count; k++) {
            cr_assert_eq(response.answers[k].configuration.version, 2);
            cr_assert_eq(response.answers[k].configuration.member_count, 2);
            cr_assert(!replica_configuration_has(&response.answers[k].configuration,
                                                 replica_server_member(dead)));
        }
        answered += response.answer_count;
    }
    cr_assert_eq(answered, proposal_count);
    struct locate_response where = driver_locate(&driver, "t", "");
    cr_assert_eq(where.location_count, 1000);
    for (size_t i = 0; i < where.location_count; i++) {
        cr_assert_eq(where.locations[i].configuration, 2, "one configuration each");
        cr_assert_neq(where.locations[i].server, 1);
    }
}

/*
 * A catalog with six servers that replicate, driven by the test.
 */
#ifndef TESTS_SUPPORT_REPLICA_FIXTURE_H
#define TESTS_SUPPORT_REPLICA_FIXTURE_H

#include "tests/support/replica_server.h"

#define SERVERS 6

__attribute__((unused)) static struct driver driver;
__attribute__((unused)) static struct replica_server servers[SERVERS];

__attribute__((unused)) static void start(void)
{
    driver_init(&driver);
    for (uint64_t i = 0; i < SERVERS; i++) {
        replica_server_init(&servers[i], i + 1);
    }
    replicas_settle(&driver, servers, SERVERS);
    driver_forget_replies(&driver);
}

__attribute__((unused)) static void stop(void)
{
    for (uint64_t i = 0; i < SERVERS; i++) {
        replica_server_deinit(&servers[i]);
    }
    driver_deinit(&driver);
}

__attribute__((unused)) static uint64_t create_table(const char *name,
                                                     uint32_t replicas,
                                                     uint32_t min_in_sync,
                                                     const struct bytes *splits,
                                                     size_t split_count)
{
    struct family families[] = {{.name = bytes_of_text("f")}};
    struct buffer body = BUFFER_INIT;
    const struct create_table_request create = {
        .table = {.id = bytes_of_text(name),
                  .families = families,
                  .family_count = 1,
                  .replicas = replicas,
                  .min_in_sync = min_in_sync},
        .splits = splits,
        .split_count = split_count,
    };
    create_table_request_encode(&create, &body);
    return driver_send(&driver, METHOD_CREATE_TABLE, &body);
}

/* Three copies of each tablet. */
__attribute__((unused)) static void make_replicated(const char *name)
{
    uint64_t request = create_table(name, 3, 2, NULL, 0);
    replicas_settle(&driver, servers, SERVERS);
    (void)driver_body(&driver, request);
    driver_forget_replies(&driver);
}

__attribute__((unused)) static uint64_t tablet_at(const char *name, const char *row)
{
    return driver_locate(&driver, name, row).locations[0].tablet;
}

/* As its members know it; the newest. */
__attribute__((unused)) static struct replica_view newest_view(uint64_t tablet)
{
    struct replica_view newest = {0};
    for (size_t i = 0; i < SERVERS; i++) {
        const struct replica_view *view = replica_view(&servers[i], tablet);
        bool newer = view != NULL && view->configuration.version >= newest.configuration.version;
        /* the goal is told to those whom it concerns alone */
        if (newer && (view->goal.member_count > 0 || newest.goal.member_count == 0)) {
            newest = *view;
        }
    }
    cr_assert_neq(newest.tablet, 0);
    return newest;
}

__attribute__((unused)) static struct replica_server *server_of(uint64_t number)
{
    return &servers[number - 1];
}

__attribute__((unused)) static struct replica_server *leader_server(const struct replica_view *view)
{
    return server_of(replica_configuration_leader(&view->configuration).server);
}

/* A member that does not lead. */
__attribute__((unused)) static struct replica_member other_member(const struct replica_view *view)
{
    return view->configuration.members[view->configuration.leader == 0 ? 1 : 0];
}

/* A server that has no copy. */
__attribute__((unused)) static struct replica_member outsider(const struct replica_view *view)
{
    for (size_t i = 0; i < SERVERS; i++) {
        struct replica_member member = replica_server_member(&servers[i]);
        if (!replica_configuration_has(&view->configuration, member)) {
            return member;
        }
    }
    cr_assert_fail("every server has a copy");
    return (struct replica_member){0, 0};
}

/* One proposal of a store, answered. */
__attribute__((unused)) static struct proposed propose_as(struct replica_member proposer,
                                                          struct proposal proposal)
{
    proposal.proposer = proposer.store;
    uint64_t request = driver_propose(&driver, proposer.server, &proposal, 1);
    struct propose_response response = driver_proposed(&driver, request);
    cr_assert_eq(response.answer_count, 1);
    return response.answers[0];
}

__attribute__((unused)) static struct proposal members_of(const struct replica_view *view,
                                                          struct replica_configuration next)
{
    return (struct proposal){.kind = PROPOSAL_MEMBERS,
                             .tablet = view->tablet,
                             .base = view->configuration.version,
                             .next = next};
}

/* Is the answer that the proposal is in force? */
__attribute__((unused)) static bool is_taken(const struct proposed *proposed,
                                             const struct proposal *proposal)
{
    return proposed->outcome == PROPOSED_CONFIGURATION &&
           replica_configuration_equal(&proposed->configuration, &proposal->next);
}

/* By whoever leads; returns the configuration, which is in force. */
__attribute__((unused)) static struct replica_configuration propose_members(
    const struct replica_view *view, struct replica_configuration next)
{
    struct proposal proposal = members_of(view, next);
    struct proposed answer = propose_as(replica_configuration_leader(&view->configuration),
                                        proposal);
    cr_assert(is_taken(&answer, &proposal));
    return answer.configuration;
}

/* A disk more in that server; known to the catalog when this returns. */
__attribute__((unused)) static struct replica_member add_disk(uint64_t server)
{
    struct fake_server *fake = &server_of(server)->fake;
    struct replica_member disk = {server, server * 10 + 1};
    fake->stores[fake->store_count++] = (struct store_information){
        .number = disk.store, .folder = bytes_of_text("more"), .free_bytes = UINT64_C(1) << 30};
    (void)replica_sync(&driver, server_of(server));
    return disk;
}

/* Refused: the answer is the configuration that is there. */
__attribute__((unused)) static void assert_refused(struct replica_member proposer,
                                                   struct proposal proposal,
                                                   const char *why)
{
    struct replica_view before = newest_view(proposal.tablet);
    struct proposed answer = propose_as(proposer, proposal);
    cr_assert_eq(answer.outcome, PROPOSED_CONFIGURATION, "%s", why);
    cr_assert(replica_configuration_equal(&answer.configuration, &before.configuration), "%s", why);
}

__attribute__((unused)) static struct drain_server_response drain(uint64_t server, bool draining)
{
    struct buffer body = BUFFER_INIT;
    const struct drain_server_request request = {server, draining};
    struct drain_server_response response;
    drain_server_request_encode(&request, &body);
    uint64_t number = driver_send(&driver, METHOD_DRAIN_SERVER, &body);
    cr_assert_eq(
        drain_server_response_decode(driver_body(&driver, number), &driver.arena, &response, NULL),
        STATUS_OK);
    return response;
}

/* Everybody syncs while time passes; nobody proposes. */
__attribute__((unused)) static void wait_idle(int64_t ns)
{
    for (int64_t end_ns = driver.now_ns + ns; driver.now_ns < end_ns;) {
        for (size_t i = 0; i < SERVERS; i++) {
            if (!servers[i].down) {
                (void)replica_sync(&driver, &servers[i]);
            }
        }
        driver_pass(&driver, SECOND_NS);
        driver_forget_replies(&driver);
    }
}

#endif /* TESTS_SUPPORT_REPLICA_FIXTURE_H */

/*
 * A tablet server that replicates, as far as the master can see it: it knows what it was told, holds
 * what it was taught, proposes what the goals want, and may be told to lie.  For tests of the
 * master's core; nothing here stores a row.
 */
#ifndef TESTS_SUPPORT_REPLICA_SERVER_H
#define TESTS_SUPPORT_REPLICA_SERVER_H

#include "tests/support/catalog_driver.h"

#define REPLICA_VIEWS_MAX 2048
#define REPLICA_ROW_BYTES 16

/* What it was told of a tablet last. */
struct replica_view {
    uint64_t tablet;
    uint32_t state;
    uint64_t parent;
    uint64_t absorbed;
    struct replica_configuration configuration;
    struct goal goal;
    bool hurried;
    char row[REPLICA_ROW_BYTES]; /* of the goal */
};

struct replica_server {
    struct fake_server fake;
    bool down;         /* says and hears nothing */
    bool never_merges; /* it never proposes a merge, whoever wishes it */
    struct replica_view *views;
    size_t view_count;
    size_t hurried_count; /* so often it was told to hurry */
};

static inline void replica_server_init(struct replica_server *server, uint64_t number)
{
    *server = (struct replica_server){0};
    fake_init(&server->fake, number);
    server->fake.replicates = true;
    server->views = memory_allocate_zeroed(REPLICA_VIEWS_MAX, sizeof *server->views);
    cr_assert_not_null(server->views);
}

static inline void replica_server_deinit(struct replica_server *server)
{
    memory_free(server->views);
}

static inline struct replica_member replica_server_member(const struct replica_server *server)
{
    return (struct replica_member){server->fake.number, server->fake.stores[0].number};
}

static inline struct replica_view *replica_view(struct replica_server *server, uint64_t tablet)
{
    for (size_t i = 0; i < server->view_count; i++) {
        if (server->views[i].tablet == tablet) {
            return &server->views[i];
        }
    }
    return NULL;
}

static inline void replica_forget(struct replica_server *server, uint64_t tablet)
{
    struct replica_view *view = replica_view(server, tablet);
    if (view != NULL) {
        *view = server->views[--server->view_count];
    }
}

/* --- what it is told -------------------------------------------------------------------------- */

/* The copy follows the newest configuration that is known here: made, taught, converted. */
static inline void replica_match(struct replica_server *server, const struct replica_view *view)
{
    struct replica_member self = replica_server_member(server);
    const struct replica_configuration *configuration = &view->configuration;
    bool member = replica_configuration_has(configuration, self);
    bool leads = member && replica_configuration_leader(configuration).server == self.server;

    if (member) {
        fake_hold(&server->fake, view->tablet, self.store, HELD_CREATED);
        fake_drop(&server->fake, view->parent);
        fake_drop(&server->fake, view->absorbed);
    }
    struct held_tablet *held = fake_held(&server->fake, view->tablet);
    if (held != NULL) {
        held->version = configuration->version;
        held->role = leads ? HELD_AS_PRIMARY : member ? HELD_AS_SECONDARY : HELD_AS_OUTSIDER;
        held->state = HELD_SERVING;
    }
}

static inline void replica_learn(struct replica_server *server, const struct assigned_tablet *told)
{
    struct replica_view *view = replica_view(server, told->location.tablet);

    if (view == NULL) {
        cr_assert_lt(server->view_count, REPLICA_VIEWS_MAX);
        view = &server->views[server->view_count++];
        *view = (struct replica_view){.tablet = told->location.tablet};
    }
    if (told->configuration.version < view->configuration.version) {
        return; /* rule 1 */
    }
    view->state = told->location.state;
    view->parent = told->parent;
    view->absorbed = told->absorbed;
    view->configuration = told->configuration;
    view->goal = told->goal;
    view->hurried = told->hurried;
    server->hurried_count += told->hurried;
    cr_assert_leq(told->goal.row.size_bytes, REPLICA_ROW_BYTES);
    if (told->goal.row.size_bytes > 0) {
        memcpy(view->row, told->goal.row.data, told->goal.row.size_bytes);
    }
    view->goal.row = BYTES_EMPTY; /* view->row is it: views move */
    view->goal.row.size_bytes = told->goal.row.size_bytes;
    replica_match(server, view);
    replica_forget(server, told->parent);
    replica_forget(server, told->absorbed);
}

/* Take the answer in; returns it, for whoever wants to look. */
static inline struct sync_response replica_take(struct driver *driver,
                                                struct replica_server *server,
                                                uint64_t request)
{
    struct sync_response response;
    cr_assert_eq(
        sync_response_decode(driver_body(driver, request), &driver->arena, &response, NULL),
        STATUS_OK);
    if (response.reset) {
        server->view_count = 0;
    }
    for (size_t i = 0; i < response.tablet_count; i++) {
        const struct assigned_tablet *told = &response.tablets[i];
        const struct held_tablet *held = fake_held(&server->fake, told->location.tablet);
        if (!told->removed) {
            replica_learn(server, told);
        } else if (held != NULL && held->store == told->store) {
            fake_drop(&server->fake, told->location.tablet);
        }
    }
    server->fake.known_version = response.version;
    server->fake.known_generation = response.generation;
    return response;
}

static inline struct sync_response replica_sync(struct driver *driver,
                                                struct replica_server *server)
{
    return replica_take(driver, server, fake_send(driver, &server->fake));
}

static inline void replicas_settle(struct driver *driver,
                                   struct replica_server *servers,
                                   size_t count)
{
    for (int round = 0; round < 6; round++) {
        for (size_t i = 0; i < count; i++) {
            if (!servers[i].down) {
                (void)replica_sync(driver, &servers[i]);
            }
        }
        driver->now_ns += 10000000;
    }
}

/* --- what it proposes ------------------------------------------------------------------------- */

static inline uint64_t driver_propose(struct driver *driver,
                                      uint64_t server,
                                      const struct proposal *proposals,
                                      size_t count)
{
    struct buffer body = BUFFER_INIT;
    const struct propose_request propose = {server, proposals, count};
    propose_request_encode(&propose, &body);
    return driver_send(driver, METHOD_PROPOSE, &body);
}

/* Of an OK answer. */
static inline struct propose_response driver_proposed(struct driver *driver, uint64_t request)
{
    struct propose_response response;
    cr_assert_eq(
        propose_response_decode(driver_body(driver, request), &driver->arena, &response, NULL),
        STATUS_OK);
    return response;
}

/* What it hears of its proposals. */
static inline void replica_hear(struct replica_server *server,
                                const struct propose_response *response)
{
    for (size_t i = 0; i < response->answer_count; i++) {
        const struct proposed *proposed = &response->answers[i];
        struct replica_view *view = replica_view(server, proposed->tablet);
        if (view != NULL && proposed->outcome == PROPOSED_CONFIGURATION &&
            proposed->configuration.version > view->configuration.version) {
            view->configuration = proposed->configuration;
            replica_match(server, view);
        } else if (view != NULL && proposed->outcome != PROPOSED_CONFIGURATION) {
            replica_forget(server, proposed->tablet); /* the next sync tells what came of it */
        }
    }
}

static inline struct proposal replica_members_proposal(const struct replica_server *server,
                                                       const struct replica_view *view,
                                                       struct replica_configuration next)
{
    return (struct proposal){.kind = PROPOSAL_MEMBERS,
                             .tablet = view->tablet,
                             .base = view->configuration.version,
                             .proposer = server->fake.stores[0].number,
                             .next = next};
}

static inline bool replica_is_up(const struct replica_server *servers,
                                 size_t count,
                                 uint64_t number)
{
    for (size_t i = 0; i < count; i++) {
        if (servers[i].fake.number == number) {
            return !servers[i].down;
        }
    }
    return false;
}

static inline bool goal_has(const struct goal *goal, struct replica_member member)
{
    for (uint32_t i = 0; i < goal->member_count; i++) {
        if (goal->members[i].store == member.store) {
            return true;
        }
    }
    return false;
}

/* Rule 10, seen by one who knows everything: itself instead of a primary that is down. */
static inline bool replica_take_over(const struct replica_server *server,
                                     const struct replica_view *view,
                                     struct proposal *ret_proposal)
{
    struct replica_member self = replica_server_member(server);
    if (!replica_configuration_has(&view->configuration, self)) {
        return false;
    }
    *ret_proposal = replica_members_proposal(
        server, view, replica_configuration_lead(&view->configuration, self.store, true));
    return true;
}

/* Whom it would put out: a member that is down; once the others are there, one that is not wanted. */
static inline bool replica_remove(const struct replica_server *server,
                                  const struct replica_server *servers,
                                  size_t count,
                                  const struct replica_view *view,
                                  struct proposal *ret_proposal)
{
    const struct replica_configuration *configuration = &view->configuration;
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        struct replica_member member = configuration->members[i];
        bool whole = configuration->member_count > view->goal.member_count;
        bool unwanted = view->goal.member_count > 0 && whole && !goal_has(&view->goal, member);
        if (i != configuration->leader &&
            (!replica_is_up(servers, count, member.server) || unwanted)) {
            *ret_proposal = replica_members_proposal(
                server, view, replica_configuration_remove(configuration, member.store));
            return true;
        }
    }
    return false;
}

static inline bool replica_add(const struct replica_server *server,
                               const struct replica_server *servers,
                               size_t count,
                               const struct replica_view *view,
                               struct proposal *ret_proposal)
{
    const struct replica_configuration *configuration = &view->configuration;
    for (uint32_t i = 0; i < view->goal.member_count; i++) {
        struct replica_member member = view->goal.members[i];
        bool clash = false; /* another copy on that server must go first */
        for (uint32_t j = 0; j < configuration->member_count; j++) {
            clash = clash || configuration->members[j].server == member.server;
        }
        if (!clash && configuration->member_count < REPLICA_MEMBERS_MAX &&
            replica_is_up(servers, count, member.server)) {
            *ret_proposal = replica_members_proposal(
                server, view, replica_configuration_add(configuration, member));
            return true;
        }
    }
    return false;
}

static inline bool replica_has_all(const struct replica_view *view)
{
    if (view->configuration.member_count != view->goal.member_count) {
        return false;
    }
    for (uint32_t i = 0; i < view->goal.member_count; i++) {
        if (!replica_configuration_has(&view->configuration, view->goal.members[i])) {
            return false;
        }
    }
    return true;
}

static inline struct proposal replica_split_proposal(const struct replica_server *server,
                                                     const struct replica_view *view)
{
    struct proposal split = replica_members_proposal(server, view, view->configuration);
    split.kind = PROPOSAL_SPLIT;
    split.next.version++;
    split.left = view->goal.left;
    split.right = view->goal.right;
    split.row = bytes_of(view->row, view->goal.row.size_bytes);
    return split;
}

/* Both parts must be where the goal wants them. */
static inline bool replica_merge(struct replica_server *server,
                                 const struct replica_view *left,
                                 struct proposal *ret_proposal)
{
    const struct replica_view *right = replica_view(server, left->goal.right);
    struct replica_member self = replica_server_member(server);
    if (right == NULL || right->goal.wish != GOAL_MERGE || !replica_has_all(right) ||
        replica_configuration_leader(&right->configuration).server != self.server) {
        return false;
    }
    struct proposal merge = replica_members_proposal(server, left, left->configuration);
    merge.kind = PROPOSAL_MERGE;
    merge.right = right->tablet;
    merge.right_base = right->configuration.version;
    merge.merged = left->goal.merged;
    merge.next.version = (merge.base > merge.right_base ? merge.base : merge.right_base) + 1;
    *ret_proposal = merge;
    return true;
}

/* The next step towards what is wished, if it is this server's to propose. */
static inline bool replica_next_step(struct replica_server *server,
                                     const struct replica_server *servers,
                                     size_t count,
                                     const struct replica_view *view,
                                     struct proposal *ret_proposal)
{
    const struct replica_configuration *configuration = &view->configuration;
    struct replica_member self = replica_server_member(server);
    struct replica_member leader = replica_configuration_leader(configuration);
    bool member = replica_configuration_has(configuration, self);

    if (leader.server != self.server) {
        if (!replica_is_up(servers, count, leader.server)) {
            return replica_take_over(server, view, ret_proposal);
        }
        /* rule 14: the primary yields to the one who should lead, or it is not wanted itself */
        bool named = view->goal.leader == self.store;
        bool instead = view->goal.leader == 0 && !goal_has(&view->goal, leader) &&
                       goal_has(&view->goal, self);
        if (member && (named || instead)) {
            *ret_proposal = replica_members_proposal(
                server, view, replica_configuration_lead(configuration, self.store, false));
            return true;
        }
        return false;
    }
    if (replica_remove(server, servers, count, view, ret_proposal) ||
        replica_add(server, servers, count, view, ret_proposal)) {
        return true;
    }
    if (view->goal.wish == GOAL_SPLIT) {
        *ret_proposal = replica_split_proposal(server, view);
        return true;
    }
    return view->goal.wish == GOAL_MERGE && !server->never_merges &&
           view->goal.left == view->tablet && replica_has_all(view) &&
           replica_merge(server, view, ret_proposal);
}

/* All that it would propose now, up to count_max, from its first_view-th tablet on. */
static inline size_t replica_wants(struct replica_server *server,
                                   const struct replica_server *servers,
                                   size_t count,
                                   struct proposal *proposals,
                                   size_t count_max)
{
    size_t found = 0;
    for (size_t i = 0; i < server->view_count && found < count_max; i++) {
        found += replica_next_step(server, servers, count, &server->views[i], &proposals[found]);
    }
    return found;
}

/* One message of proposals, and its answer; how many there were. */
static inline size_t replica_propose(struct driver *driver,
                                     struct replica_server *server,
                                     const struct replica_server *servers,
                                     size_t count)
{
    static struct proposal proposals[LIMIT_PROPOSALS_PER_MESSAGE];
    size_t found = replica_wants(server, servers, count, proposals, LIMIT_PROPOSALS_PER_MESSAGE);
    if (found > 0) {
        uint64_t request = driver_propose(driver, server->fake.number, proposals, found);
        struct propose_response response = driver_proposed(driver, request);
        replica_hear(server, &response);
    }
    return found;
}

/* Rounds in which everybody who is up syncs and proposes; time passes. */
static inline void replicas_work(struct driver *driver,
                                 struct replica_server *servers,
                                 size_t count,
                                 int rounds)
{
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++) {
            if (!servers[i].down) {
                (void)replica_sync(driver, &servers[i]);
                (void)replica_propose(driver, &servers[i], servers, count);
            }
        }
        driver_pass(driver, SECOND_NS / 4);
        driver_forget_replies(driver);
    }
}

#endif /* TESTS_SUPPORT_REPLICA_SERVER_H */

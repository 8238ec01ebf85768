/*
 * The catalog of replicated tablets against a truth, by seed: servers that propose what goals want,
 * die, come back, and lie (old bases, not members, more than one change, doubled, late); commits that
 * fail, cleanly or with an unknown outcome; masters that start again from their records.
 *
 * The truth is what the coordinator holds: it is read from outside after every commit, by the
 * records' format alone, and judged by rules written for this test.
 *
 *   (1) A version of a tablet is one configuration for ever, and the next is one more.
 *   (2) It came of a proposal that was sent for it, by who may propose it (rule 12); but for what was
 *       never served, and for what a split or merge replaces.
 *   (3) Members lie on different servers; goals name as many stores as the table wants, on different
 *       servers; tablets cover the key space.
 *   (4) Nothing is told, to anyone, that was not committed.
 *   (5) Nothing is named as removed too early.
 *   (6) When nothing fails any more: all goals are reached, a lost server is replaced, a drained one
 *       is empty, splits and merges are done.
 */
#include "tests/model/catalog_replica_told.h"

/* --- commits ---------------------------------------------------------------------------------- */

static void restart_master(void)
{
    model.open_count = 0; /* nobody will ever be answered */
    driver_crash(&model.driver);
}

static void resolve_commit(void)
{
    struct driver *driver = &model.driver;
    if (driver->transaction == 0) {
        return;
    }
    switch (below(20)) {
    case 0:
        restart_master();
        break;
    case 1:
        cr_assert_eq(coordinator_commit(driver->coordinator, driver->puts, driver->put_count, NULL),
                     STATUS_OK);
        read_truth();
        restart_master();
        break;
    case 2:
        coordinator_memory_fail(driver->coordinator, 0, 1);
        (void)driver_commit(driver);
        break;
    default:
        (void)driver_commit(driver);
        break;
    }
}

/* --- servers ---------------------------------------------------------------------------------- */

static struct replica_server *any_server_up(void)
{
    struct replica_server *server = &model.servers[below(SERVERS)];
    return server->down ? NULL : server;
}

static void sync_one(struct replica_server *server)
{
    expect(fake_send(&model.driver, &server->fake), server->fake.number, true);
    take_replies();
}

/* Keeps what is sent: a copy of it may be under way for ever. */
static void send_proposals(uint64_t server, const struct proposal *proposals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cr_assert_lt(model.sent_count, SENT_MAX);
        struct sent *sent = &model.sent[model.sent_count++];
        *sent = (struct sent){server, proposals[i], ""};
        keep_key(proposals[i].row, sent->row);
    }
    expect(driver_propose(&model.driver, server, proposals, count), server, false);
    take_replies();
}

static void propose_honestly(struct replica_server *server)
{
    static struct proposal proposals[LIMIT_PROPOSALS_PER_MESSAGE];
    size_t found = replica_wants(server, model.servers, SERVERS, proposals,
                                 1 + below(LIMIT_PROPOSALS_PER_MESSAGE));
    if (found > 0) {
        send_proposals(server->fake.number, proposals, found);
    }
}

static struct replica_configuration any_configuration(uint64_t version)
{
    struct replica_configuration any = {.version = version};
    uint64_t first = 1 + below(SERVERS);
    uint64_t count = 1 + below(LIES_MEMBERS);
    for (uint64_t server = first; server <= SERVERS && any.member_count < count; server++) {
        if (!chance(3) || server == SERVERS) {
            any.members[any.member_count++] = (struct replica_member){server, server * 10};
        }
    }
    any.leader = (uint32_t)below(any.member_count);
    return any;
}

/* Anything about a tablet that somebody knows, mostly wrong. */
static void propose_a_lie(struct replica_server *server)
{
    if (server->view_count == 0) {
        return;
    }
    const struct replica_view *view = &server->views[below(server->view_count)];
    struct proposal lie = {.kind = (enum proposal_kind)(1 + below(3)),
                           .tablet = chance(20) ? below(NUMBERS_MAX) : view->tablet,
                           .base = view->configuration.version + below(3) - 1,
                           .proposer = chance(4) ? 10 * (1 + below(SERVERS))
                                                 : server->fake.stores[0].number,
                           .left = view->goal.left,
                           .right = chance(2) ? view->goal.right : view->tablet + below(3),
                           .row = bytes_of_text("m"),
                           .right_base = 1 + below(20),
                           .merged = view->goal.merged + below(2)};
    lie.next = chance(2) ? any_configuration(lie.base + 1) : view->configuration;
    lie.next.version = chance(8) ? 1 + below(30) : lie.base + 1;
    if (chance(3)) {
        lie.next.leader = (uint32_t)below(lie.next.member_count);
    }
    model.lies++;
    send_proposals(server->fake.number, &lie, 1);
}

static void repeat_something(void)
{
    if (model.sent_count > 0) {
        size_t window = model.sent_count < 200 || chance(4) ? model.sent_count : 200;
        struct sent old = model.sent[model.sent_count - 1 - below(window)];
        old.proposal.row = bytes_of_text(old.row);
        expect(driver_propose(&model.driver, old.server, &old.proposal, 1), old.server, false);
        take_replies();
    }
}

/* --- people ----------------------------------------------------------------------------------- */

static void order_something(void)
{
    static char row[3];
    struct buffer body = BUFFER_INIT;
    const char *name = names[below(TABLES)];
    uint64_t number = 1 + below(NUMBERS_MAX - 1);
    snprintf(row, sizeof row, "%c%c", (char)('a' + below(26)), (char)('a' + below(26)));
    if (chance(3)) {
        (void)driver_split(&model.driver, name, row);
    } else if (chance(3)) {
        for (int i = 0; i < 200 && !model.tablets[number].there; i++) {
            number = 1 + below(NUMBERS_MAX - 1) % (64 + (uint64_t)i * 8);
        }
        const struct merge_request merge = {bytes_of_text(name),
                                            bytes_of_text(model.tablets[number].start)};
        merge_request_encode(&merge, &body);
        (void)driver_send(&model.driver, METHOD_MERGE_TABLETS, &body);
    } else {
        const struct drain_server_request drain = {1 + below(SERVERS), chance(3)};
        drain_server_request_encode(&drain, &body);
        (void)driver_send(&model.driver, METHOD_DRAIN_SERVER, &body);
    }
    take_replies();
}

/* --- a life ----------------------------------------------------------------------------------- */

static void one_step(void)
{
    struct replica_server *server = any_server_up();
    switch (below(16)) {
    case 0:
        model.servers[below(SERVERS)].down = chance(3);
        break;
    case 1:
        if (chance(3)) {
            order_something();
        }
        break;
    case 2:
        repeat_something();
        break;
    case 3:
        if (server != NULL) {
            propose_a_lie(server);
        }
        break;
    case 4:
        driver_pass(&model.driver, (int64_t)below(4) * SECOND_NS);
        take_replies();
        break;
    case 5:
        if (chance(10)) {
            restart_master();
        }
        break;
    case 6:
    case 7:
    case 8:
        if (server != NULL) {
            propose_honestly(server);
        }
        break;
    case 9:
    case 10:
    case 11:
        resolve_commit();
        take_replies();
        break;
    default:
        if (server != NULL) {
            sync_one(server);
        }
        break;
    }
}

/* Nothing fails any more; time passes. */
static void work(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < SERVERS; i++) {
            if (!model.servers[i].down) {
                sync_one(&model.servers[i]);
                propose_honestly(&model.servers[i]);
            }
        }
        driver_pass(&model.driver, SECOND_NS / 2);
        take_replies();
    }
}

static uint32_t goal_set(const struct known_tablet *known)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < known->goal.store_count; i++) {
        set |= 1U << (known->goal.stores[i] / 10);
    }
    return set;
}

/* (6); without: servers that nothing may be on. */
static void check_all_reached(uint32_t without, const char *when)
{
    for (uint64_t i = 1; i < NUMBERS_MAX; i++) {
        const struct known_tablet *known = &model.tablets[i];
        if (!known->there) {
            continue;
        }
        unsigned long number = (unsigned long)i;
        cr_assert_eq(known->state, TABLET_SERVING, "%s: tablet %lu does not serve", when, number);
        cr_assert_eq(known->goal.wish, GOAL_STAY, "%s: tablet %lu: wish %d", when, number,
                     (int)known->goal.wish);
        cr_assert_eq(set_of(&known->configuration), goal_set(known),
                     "%s: tablet %lu has members %x, goal %x", when, number,
                     set_of(&known->configuration), goal_set(known));
        cr_assert_eq(set_of(&known->configuration) & without, 0, "%s: tablet %lu on %x", when,
                     number, set_of(&known->configuration));
        cr_assert(known->goal.leader == 0 ||
                      known->goal.leader == leader_of(&known->configuration) * 10,
                  "%s: tablet %lu is led by another", when, number);
    }
}

static void set_drain(uint64_t server, bool draining)
{
    struct buffer body = BUFFER_INIT;
    const struct drain_server_request drain = {server, draining};
    drain_server_request_encode(&drain, &body);
    (void)driver_send(&model.driver, METHOD_DRAIN_SERVER, &body);
    take_replies();
}

static void heal(void)
{
    model.driver.hold_commits = false;
    if (model.driver.transaction != 0) {
        (void)driver_commit(&model.driver);
    }
    for (uint64_t i = 1; i <= SERVERS; i++) {
        model.servers[i - 1].down = false;
        set_drain(i, false);
    }
    work(200);
    check_all_reached(0, "healed");
    model.servers[SERVERS - 1].down = true;
    set_drain(1, true);
    work(300);
    check_all_reached(1U << SERVERS | 1U << 1, "one lost, one drained");
    model.servers[SERVERS - 1].down = false;
    work(40); /* what it has left is taken away */
    for (size_t i = 0; i < SERVERS; i++) {
        const struct fake_server *fake = &model.servers[i].fake;
        for (size_t j = 0; j < fake->held_count; j++) {
            const struct known_tablet *known = &model.tablets[fake->held[j].tablet];
            bool counts = known->there && (set_of(&known->configuration) & 1U << fake->number) != 0;
            /* what came of it is gone in turn: the catalog has forgotten, and leaves it alone */
            bool forgotten = !known->there && parts_of(fake->held[j].tablet) < 2;
            cr_assert(counts || forgotten, "server %lu keeps tablet %lu for ever",
                      (unsigned long)fake->number, (unsigned long)fake->held[j].tablet);
        }
    }
}

static void create(size_t table)
{
    struct family families[] = {{.name = bytes_of_text("f")}};
    const struct bytes splits[] = {bytes_of_text("g"), bytes_of_text("p")};
    struct buffer body = BUFFER_INIT;
    const struct create_table_request create = {.table = {.id = bytes_of_text(names[table]),
                                                          .families = families,
                                                          .family_count = 1,
                                                          .replicas = replicas_of[table],
                                                          .min_in_sync = 1},
                                                .splits = splits,
                                                .split_count = 2};
    create_table_request_encode(&create, &body);
    (void)driver_send(&model.driver, METHOD_CREATE_TABLE, &body);
    take_replies();
}

static void begin(uint64_t seed)
{
    memset(&model, 0, sizeof model);
    model.prng = prng_of_seed(seed);
    model.tablets = memory_allocate_zeroed(NUMBERS_MAX, sizeof *model.tablets);
    model.sent = memory_allocate_zeroed(SENT_MAX, sizeof *model.sent);
    driver_init(&model.driver);
    catalog_destroy(model.driver.catalog);
    model.driver.settings.replace_after_ns = 5 * SECOND_NS;
    model.driver.settings.keep_outsiders_ns = KEEP_NS;
    model.driver.on_committed = read_truth;
    driver_load(&model.driver);
    for (uint64_t i = 0; i < SERVERS; i++) {
        replica_server_init(&model.servers[i], i + 1);
        sync_one(&model.servers[i]);
    }
    for (size_t i = 0; i < TABLES; i++) {
        create(i);
    }
    model.driver.hold_commits = true;
}

static void end(void)
{
    for (size_t i = 0; i < SERVERS; i++) {
        replica_server_deinit(&model.servers[i]);
    }
    for (size_t i = 0; i < NUMBERS_MAX; i++) {
        memory_free(model.tablets[i].history);
    }
    memory_free(model.tablets);
    memory_free(model.sent);
    driver_deinit(&model.driver);
}

static void run(uint64_t seed)
{
    begin(seed);
    for (int i = 0; i < STEPS; i++) {
        one_step();
    }
    uint64_t taken = model.taken;
    heal();
    printf("seed %lu: %lu configurations in trouble, %lu after; %lu splits, %lu merges; %lu lies; "
           "%lu transactions\n",
           (unsigned long)seed, (unsigned long)taken, (unsigned long)(model.taken - taken),
           (unsigned long)model.splits, (unsigned long)model.merges, (unsigned long)model.lies,
           (unsigned long)model.readings);
    (void)fflush(stdout);
    cr_assert_gt(taken, 20, "the seed shows nothing");
    end();
}

/* CATALOG_SEED=n runs that seed alone. */
Test(catalog_replica_model, proposals_and_goals_hold_through_trouble, .timeout = 500)
{
    const char *only = getenv("CATALOG_SEED");
    uint64_t first = only == NULL ? 1 : strtoull(only, NULL, 10);
    uint64_t last = only == NULL ? SEEDS : first;
    for (uint64_t seed = first; seed <= last; seed++) {
        printf("seed %lu\n", (unsigned long)seed);
        (void)fflush(stdout);
        run(seed);
    }
}

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
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>

#include "common/base/prng.h"
#include "tests/support/replica_server.h"

#define SERVERS      6
#define NUMBERS_MAX  8192
#define SENT_MAX     65536
#define OPEN_MAX     4096
#define STEPS        2500
#define SEEDS        25
#define KEEP_NS      (10 * SECOND_NS)
#define TABLES       2
#define KEY_BYTES    8
#define LIES_MEMBERS 4

struct known_tablet {
    bool there;
    uint64_t table;
    uint32_t state;
    uint64_t parent;
    uint64_t absorbed;
    struct replica_configuration configuration;
    struct tablet_goal goal;
    char start[KEY_BYTES];
    char end[KEY_BYTES];
    int64_t members_ns;                    /* since when it has these members */
    uint64_t seen;                         /* the reading that found it */
    struct replica_configuration *history; /* by version, from first_version on */
    uint64_t first_version;
    size_t version_count;
};

/* A proposal that was sent: it may arrive again at any time. */
struct sent {
    uint64_t server;
    struct proposal proposal;
    char row[KEY_BYTES];
};

struct open {
    uint64_t request;
    uint64_t server; /* 0 = somebody else's */
    bool sync;
};

static struct {
    struct driver driver;
    struct prng prng;
    struct replica_server servers[SERVERS];
    struct known_tablet *tablets; /* by number */
    struct sent *sent;
    size_t sent_count;
    struct open open[OPEN_MAX];
    size_t open_count;
    uint64_t readings;
    uint64_t taken; /* proposals that became configurations; of these: */
    uint64_t splits;
    uint64_t merges;
    uint64_t lies;
} model;

static const char *const names[TABLES] = {"alpha", "beta"};
static const uint32_t replicas_of[TABLES] = {3, 2};

static uint64_t below(uint64_t bound)
{
    return prng_below(&model.prng, bound);
}

static bool chance(uint64_t one_in)
{
    return prng_chance(&model.prng, one_in);
}

/* --- the truth -------------------------------------------------------------------------------- */

static void keep_key(struct bytes bytes, char key[KEY_BYTES])
{
    cr_assert_lt(bytes.size_bytes, KEY_BYTES);
    memset(key, 0, KEY_BYTES);
    if (bytes.size_bytes > 0) {
        memcpy(key, bytes.data, bytes.size_bytes);
    }
}

static uint32_t set_of(const struct replica_configuration *configuration)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        cr_assert_eq(configuration->members[i].store, configuration->members[i].server * 10);
        cr_assert_eq(set & 1U << configuration->members[i].server, 0, "two copies in one server");
        set |= 1U << configuration->members[i].server;
    }
    cr_assert_neq(set, 0);
    return set;
}

static uint64_t leader_of(const struct replica_configuration *configuration)
{
    return configuration->members[configuration->leader].server;
}

/* Rule 12, on fingers. */
static bool may_propose(const struct replica_configuration *from,
                        const struct replica_configuration *to,
                        uint64_t proposer)
{
    uint32_t before = set_of(from);
    uint32_t after = set_of(to);
    int come = __builtin_popcount(after & ~before);
    int gone = __builtin_popcount(before & ~after);
    if ((before & 1U << proposer) == 0 || leader_of(to) != proposer) {
        return false;
    }
    if (leader_of(from) == proposer) {
        return come + gone <= 1;
    }
    return come == 0 && (gone == 0 || (gone == 1 && (after & 1U << leader_of(from)) == 0));
}

static bool same(const struct replica_configuration *a, const struct replica_configuration *b)
{
    return a->version == b->version && set_of(a) == set_of(b) && leader_of(a) == leader_of(b);
}

/* (2) */
static bool was_proposed(uint64_t tablet,
                         const struct replica_configuration *from,
                         const struct replica_configuration *to)
{
    for (size_t i = 0; i < model.sent_count; i++) {
        const struct sent *sent = &model.sent[i];
        if (sent->proposal.kind == PROPOSAL_MEMBERS && sent->proposal.tablet == tablet &&
            sent->proposal.base == from->version && sent->proposal.proposer == sent->server * 10 &&
            same(&sent->proposal.next, to) && may_propose(from, to, sent->server)) {
            return true;
        }
    }
    return false;
}

/* A split or merge of these, by their primary. */
static bool was_replaced(enum proposal_kind kind,
                         const struct known_tablet *left,
                         uint64_t number,
                         const struct replica_configuration *to)
{
    for (size_t i = 0; i < model.sent_count; i++) {
        const struct sent *sent = &model.sent[i];
        if (sent->proposal.kind == kind && sent->proposal.tablet == number &&
            sent->proposal.base == left->configuration.version &&
            sent->server == leader_of(&left->configuration) && same(&sent->proposal.next, to)) {
            return true;
        }
    }
    return false;
}

/* (1) */
static void remember(struct known_tablet *known, const struct replica_configuration *configuration)
{
    if (known->version_count == 0) {
        known->first_version = configuration->version;
    }
    cr_assert_eq(configuration->version, known->first_version + known->version_count);
    known->history = memory_resize(known->history,
                                   (known->version_count + 1) * sizeof *known->history);
    known->history[known->version_count++] = *configuration;
    known->configuration = *configuration;
}

static void see_change(struct known_tablet *known, const struct tablet_record *record)
{
    const struct replica_configuration *from = &known->configuration;
    const struct replica_configuration *to = &record->configuration;
    if (to->version == from->version) {
        cr_assert(same(from, to), "tablet %lu changed under version %lu",
                  (unsigned long)record->number, (unsigned long)to->version);
        return;
    }
    cr_assert_eq(to->version, from->version + 1, "tablet %lu", (unsigned long)record->number);
    if (known->state != TABLET_CREATING || record->state != TABLET_CREATING) {
        cr_assert(was_proposed(record->number, from, to), "nobody may have proposed it");
        model.taken++;
    } else if (was_proposed(record->number, from, to)) {
        model.taken++;
    }
    if (set_of(from) != set_of(to)) {
        known->members_ns = model.driver.now_ns;
    }
    remember(known, to);
}

/* Before those that it replaces are found to be gone. */
static void see_new(struct known_tablet *known, const struct tablet_record *record)
{
    const struct replica_configuration *to = &record->configuration;
    cr_assert_eq(known->version_count, 0, "number %lu came again", (unsigned long)record->number);
    keep_key(record->range.start, known->start);
    keep_key(record->range.end, known->end);
    if (record->parent == 0) {
        cr_assert_eq(to->version, 1);
        cr_assert_eq(record->state, TABLET_CREATING);
    } else {
        const struct known_tablet *parent = &model.tablets[record->parent];
        const struct known_tablet *right = &model.tablets[record->absorbed];
        uint64_t version = parent->configuration.version;
        cr_assert(parent->there);
        cr_assert_eq(set_of(to), set_of(&parent->configuration));
        cr_assert_eq(leader_of(to), leader_of(&parent->configuration));
        if (record->absorbed != 0) {
            cr_assert(right->there);
            cr_assert_eq(set_of(to), set_of(&right->configuration));
            cr_assert_eq(leader_of(to), leader_of(&right->configuration));
            version = right->configuration.version > version ? right->configuration.version
                                                             : version;
        }
        cr_assert_eq(to->version, version + 1);
        cr_assert(was_replaced(record->absorbed != 0 ? PROPOSAL_MERGE : PROPOSAL_SPLIT, parent,
                               record->parent, to));
        model.taken++;
        model.splits += record->absorbed == 0 &&
                        memcmp(known->start, parent->start, KEY_BYTES) != 0;
        model.merges += record->absorbed != 0;
    }
    known->there = true;
    known->table = record->table;
    known->parent = record->parent;
    known->absorbed = record->absorbed;
    known->members_ns = model.driver.now_ns;
    remember(known, to);
}

/* (3) for goals */
static void see_goal(const struct tablet_record *record)
{
    uint32_t set = 0;
    cr_assert_eq(record->goal.store_count, replicas_of[record->table - 1]);
    for (uint32_t i = 0; i < record->goal.store_count; i++) {
        uint64_t server = record->goal.stores[i] / 10;
        cr_assert_eq(record->goal.stores[i] % 10, 0);
        cr_assert(server >= 1 && server <= SERVERS, "a store that nobody knows");
        cr_assert_eq(set & 1U << server, 0);
        set |= 1U << server;
    }
}

/* Records come in order of key: what replaces others has higher numbers, and is found after them. */
static enum status read_record(void *context,
                               struct bytes key,
                               struct bytes value,
                               struct error *ret_error)
{
    char kind = 0;
    uint64_t number = 0;
    struct tablet_record record;
    (void)context;
    cr_assert_eq(record_key_decode(key, &kind, &number, ret_error), STATUS_OK);
    if (kind != RECORD_KIND_TABLET) {
        return STATUS_OK;
    }
    cr_assert_eq(tablet_record_decode(number, value, &record, ret_error), STATUS_OK);
    cr_assert_lt(number, NUMBERS_MAX);
    struct known_tablet *known = &model.tablets[number];
    (void)set_of(&record.configuration);
    see_goal(&record);
    if (known->there) {
        see_change(known, &record);
    } else {
        see_new(known, &record);
    }
    known->state = record.state;
    known->goal = record.goal;
    known->seen = model.readings;
    return STATUS_OK;
}

/* (3): each begins where another ends, in as many steps as there are tablets. */
static void see_cover(uint64_t table)
{
    size_t count = 0;
    size_t walked = 0;
    char at[KEY_BYTES] = {0};
    for (uint64_t i = 1; i < NUMBERS_MAX; i++) {
        count += model.tablets[i].there && model.tablets[i].table == table;
    }
    while (count > 0 && (walked == 0 || at[0] != 0)) {
        uint64_t found = 0;
        for (uint64_t i = 1; i < NUMBERS_MAX; i++) {
            const struct known_tablet *known = &model.tablets[i];
            if (known->there && known->table == table && memcmp(known->start, at, KEY_BYTES) == 0) {
                cr_assert_eq(found, 0, "two tablets begin at '%s'", at);
                found = i;
            }
        }
        cr_assert_neq(found, 0, "no tablet begins at '%s'", at);
        memcpy(at, model.tablets[found].end, KEY_BYTES);
        walked++;
        cr_assert_leq(walked, count);
    }
    cr_assert_eq(walked, count);
}

static void read_truth(void)
{
    bool changed = false;
    model.readings++;
    cr_assert_eq(coordinator_load(model.driver.coordinator, read_record, NULL, NULL), STATUS_OK);
    for (uint64_t i = 1; i < NUMBERS_MAX; i++) {
        struct known_tablet *known = &model.tablets[i];
        if (known->there && known->seen != model.readings) {
            known->there = false;
        }
        changed = changed || (known->there && known->version_count == 1);
    }
    if (changed) {
        for (uint64_t table = 1; table <= TABLES; table++) {
            see_cover(table);
        }
    }
}

/* --- what is told ----------------------------------------------------------------------------- */

/* (4) */
static void check_told(uint64_t tablet, const struct replica_configuration *configuration)
{
    const struct known_tablet *known = &model.tablets[tablet];
    uint64_t at = configuration->version - known->first_version;
    cr_assert_lt(at, known->version_count, "tablet %lu: version %lu is told, and not committed",
                 (unsigned long)tablet, (unsigned long)configuration->version);
    cr_assert(same(&known->history[at], configuration));
}

/* (5) for one that is there. */
static void check_whole_without(const struct known_tablet *known, uint64_t store)
{
    cr_assert_geq(known->configuration.member_count, replicas_of[known->table - 1]);
    cr_assert_eq(set_of(&known->configuration) & 1U << (store / 10), 0, "a member is removed");
    cr_assert(!tablet_goal_names(&known->goal, store), "one that is wanted is removed");
    cr_assert_geq(model.driver.now_ns - known->members_ns, KEEP_NS, "too early");
}

/* How much of one that is gone lives on in what came of it: 2 = all. */
static unsigned parts_of(uint64_t tablet)
{
    unsigned parts = 0;
    for (uint64_t i = 1; i < NUMBERS_MAX; i++) {
        const struct known_tablet *known = &model.tablets[i];
        if (known->there && (known->parent == tablet || known->absorbed == tablet)) {
            parts += known->absorbed != 0 ? 2 : 1;
        }
    }
    return parts;
}

/* What came of it has gone on in turn: then all that there is must stand well, and it must not be one
 * that a wish will yet make. */
static void check_forgotten(uint64_t tablet)
{
    for (uint64_t i = 1; i < NUMBERS_MAX; i++) {
        const struct known_tablet *known = &model.tablets[i];
        if (!known->there) {
            continue;
        }
        cr_assert_eq(known->state, TABLET_SERVING, "tablet %lu goes while %lu is not there",
                     (unsigned long)tablet, (unsigned long)i);
        cr_assert_geq(known->configuration.member_count, replicas_of[known->table - 1]);
        cr_assert_geq(model.driver.now_ns - known->members_ns, KEEP_NS, "too early");
        cr_assert(known->goal.wish == GOAL_STAY ||
                      (known->goal.left != tablet && known->goal.right != tablet &&
                       known->goal.merged != tablet),
                  "tablet %lu is still to come", (unsigned long)tablet);
    }
}

static void check_removed(uint64_t tablet, uint64_t store)
{
    if (model.tablets[tablet].there) {
        check_whole_without(&model.tablets[tablet], store);
        return;
    }
    if (parts_of(tablet) != 2) {
        check_forgotten(tablet);
        return;
    }
    for (uint64_t i = 1; i < NUMBERS_MAX; i++) {
        const struct known_tablet *known = &model.tablets[i];
        if (known->there && (known->parent == tablet || known->absorbed == tablet)) {
            check_whole_without(known, store);
        }
    }
}

static struct open *find_open(uint64_t request)
{
    for (size_t i = 0; i < model.open_count; i++) {
        if (model.open[i].request == request) {
            return &model.open[i];
        }
    }
    return NULL;
}

static void take_sync(struct replica_server *server, uint64_t request, bool lost)
{
    struct sync_response response;
    cr_assert_eq(sync_response_decode(driver_body(&model.driver, request), &model.driver.arena,
                                      &response, NULL),
                 STATUS_OK);
    for (size_t i = 0; i < response.tablet_count; i++) {
        const struct assigned_tablet *told = &response.tablets[i];
        if (told->removed) {
            check_removed(told->location.tablet, told->store);
        } else {
            check_told(told->location.tablet, &told->configuration);
        }
    }
    if (!lost && !server->down) {
        (void)replica_take(&model.driver, server, request);
    }
}

static void take_proposed(struct replica_server *server,
                          const struct driver_reply *reply,
                          bool lost)
{
    if (reply->status != STATUS_OK) {
        cr_assert_eq(reply->status, STATUS_UNAVAILABLE, "%s", reply->text);
        return;
    }
    struct propose_response response = driver_proposed(&model.driver, reply->request);
    for (size_t i = 0; i < response.answer_count; i++) {
        const struct proposed *proposed = &response.answers[i];
        if (proposed->outcome == PROPOSED_CONFIGURATION) {
            check_told(proposed->tablet, &proposed->configuration);
            /* where commits are not held, the next one may have followed the answer already */
            cr_assert(!model.driver.hold_commits ||
                          proposed->configuration.version ==
                              model.tablets[proposed->tablet].configuration.version,
                      "not the newest");
        } else if (proposed->outcome == PROPOSED_SPLIT && proposed->left != 0) {
            cr_assert_eq(model.tablets[proposed->left].parent, proposed->tablet);
            cr_assert_eq(model.tablets[proposed->right].parent, proposed->tablet);
            cr_assert(strcmp(model.tablets[proposed->left].start,
                             model.tablets[proposed->right].start) < 0);
        } else if (proposed->outcome == PROPOSED_MERGED) {
            const struct known_tablet *merged = &model.tablets[proposed->merged];
            cr_assert(merged->parent == proposed->tablet || merged->absorbed == proposed->tablet);
        }
    }
    if (!lost && !server->down) {
        replica_hear(server, &response);
    }
}

static void take_replies(void)
{
    for (size_t i = 0; i < model.driver.reply_count; i++) {
        struct driver_reply *reply = &model.driver.replies[i];
        struct open *open = find_open(reply->request);
        bool lost = chance(10);
        if (open == NULL || open->server == 0) {
            continue;
        }
        struct replica_server *server = &model.servers[open->server - 1];
        if (open->sync && reply->status == STATUS_OK) {
            take_sync(server, reply->request, lost);
        } else if (!open->sync) {
            take_proposed(server, reply, lost);
        }
        *open = model.open[--model.open_count];
    }
    driver_forget_replies(&model.driver);
}

static void expect(uint64_t request, uint64_t server, bool sync)
{
    cr_assert_lt(model.open_count, OPEN_MAX);
    model.open[model.open_count++] = (struct open){request, server, sync};
}

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

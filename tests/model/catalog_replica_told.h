/*
 * What the catalog tells servers, judged by that truth: rules (4) and (5).
 */
#ifndef TESTS_MODEL_CATALOG_REPLICA_TOLD_H
#define TESTS_MODEL_CATALOG_REPLICA_TOLD_H

#include "tests/model/catalog_replica_truth.h"

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

#endif /* TESTS_MODEL_CATALOG_REPLICA_TOLD_H */

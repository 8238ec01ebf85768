/*
 * What the coordinator holds of replicated tablets, read from outside after every commit, and judged: rules (1) to (3)
 * of test_catalog_replica_model.c.
 */
#ifndef TESTS_MODEL_CATALOG_REPLICA_TRUTH_H
#define TESTS_MODEL_CATALOG_REPLICA_TRUTH_H

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

#endif /* TESTS_MODEL_CATALOG_REPLICA_TRUTH_H */

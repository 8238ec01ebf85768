/*
 * One replica, step by step: events in, effects looked at.  Servers 1, 2, 3... have stores 11, 12, 13...
 */
#ifndef TESTS_SUPPORT_REPLICA_STEPS_H
#define TESTS_SUPPORT_REPLICA_STEPS_H

#include <criterion/criterion.h>

#include "common/base/memory.h"
#include "tabletserver/replica/replica.h"

#define MS   INT64_C(1000000)
#define SELF UINT64_C(70) /* incarnation of the replica under test */
#define PEER UINT64_C(50) /* and of the others: 50 + server */

__attribute__((unused)) static const struct replica_settings SETTINGS = {
    .resend_ns = 200 * MS,
    .commit_idle_ns = 20 * MS,
    .open_timeout_ns = 500 * MS,
    .prepare_timeout_ns = 3000 * MS,
    .last_ns = 10000 * MS,
    .propose_ns = 1000 * MS,
    .stagger_ns = 300 * MS,
    .alone_ns = 60000 * MS,
    .window_bytes_max = 100000,
    .min_in_sync = 2,
};

struct steps {
    struct replica *replica;
    struct replica_effects effects; /* of the last step */
    enum status status;
    int64_t now_ns;
    struct replica_settings settings;
};

__attribute__((unused)) static struct replica_member store_of(uint64_t server)
{
    return (struct replica_member){server, server + 10};
}

/* Servers 1 to count, led by one of them. */
__attribute__((unused)) static struct replica_configuration members_of(uint64_t version,
                                                                       uint32_t count,
                                                                       uint64_t leader)
{
    struct replica_configuration configuration = {
        .version = version, .member_count = count, .leader = (uint32_t)leader - 1};
    for (uint32_t i = 0; i < count; i++) {
        configuration.members[i] = store_of(i + 1);
    }
    return configuration;
}

__attribute__((unused)) static struct replica_entry entry_of(uint64_t sequence, uint64_t version)
{
    return (struct replica_entry){
        .sequence = sequence, .version = version, .payload = bytes_of_text("payload")};
}

/* --- looking at effects ------------------------------------------------------------------------- */

__attribute__((unused)) static const struct replica_effect *find_effect(
    const struct steps *steps, enum replica_effect_type type)
{
    for (uint32_t i = 0; i < steps->effects.count; i++) {
        if (steps->effects.items[i].type == type) {
            return &steps->effects.items[i];
        }
    }
    return NULL;
}

__attribute__((unused)) static bool has_effect(const struct steps *steps,
                                               enum replica_effect_type type)
{
    return find_effect(steps, type) != NULL;
}

/* server 0: to whoever. */
__attribute__((unused)) static const struct replica_message *find_sent(
    const struct steps *steps, enum replica_message_type type, uint64_t server)
{
    for (uint32_t i = 0; i < steps->effects.count; i++) {
        const struct replica_effect *effect = &steps->effects.items[i];
        if (effect->type == REPLICA_EFFECT_SEND && effect->message.type == type &&
            (server == 0 || effect->to.server == server)) {
            return &effect->message;
        }
    }
    return NULL;
}

/* The proposal that the last step sent. */
__attribute__((unused)) static const struct replica_proposal *proposed(const struct steps *steps)
{
    const struct replica_effect *effect = find_effect(steps, REPLICA_EFFECT_PROPOSE);
    return effect == NULL ? NULL : &effect->proposal;
}

/* --- steps -------------------------------------------------------------------------------------- */

__attribute__((unused)) static void step(struct steps *steps, struct replica_event event)
{
    event.now_ns = steps->now_ns;
    steps->status = replica_step(steps->replica, &event, &steps->effects);
    replica_check(steps->replica);
}

__attribute__((unused)) static void tick_at(struct steps *steps, int64_t now_ns)
{
    steps->now_ns = now_ns;
    step(steps, (struct replica_event){.type = REPLICA_EVENT_TICK});
}

__attribute__((unused)) static struct steps begin_with(struct replica_recovered recovered)
{
    struct steps steps = {.settings = SETTINGS, .now_ns = 10000 * MS};
    recovered.self = recovered.self.store == 0 ? store_of(1) : recovered.self;
    recovered.incarnation = SELF;
    cr_assert_eq(
        replica_create(&steps.settings, &recovered, steps.now_ns, &steps.replica, &steps.effects),
        STATUS_OK);
    replica_check(steps.replica);
    return steps;
}

__attribute__((unused)) static void end(struct steps *steps)
{
    replica_destroy(steps->replica);
}

__attribute__((unused)) static enum status write_entry(struct steps *steps)
{
    step(steps, (struct replica_event){.type = REPLICA_EVENT_WRITE, .entry = entry_of(0, 0)});
    return steps->status;
}

__attribute__((unused)) static void synced(struct steps *steps, uint64_t sequence)
{
    step(steps, (struct replica_event){.type = REPLICA_EVENT_SYNCED, .sequence = sequence});
}

__attribute__((unused)) static void configured(struct steps *steps)
{
    step(steps, (struct replica_event){.type = REPLICA_EVENT_CONFIGURED});
}

__attribute__((unused)) static void told(struct steps *steps,
                                         struct replica_configuration configuration)
{
    step(steps,
         (struct replica_event){.type = REPLICA_EVENT_CATALOG, .configuration = configuration});
}

__attribute__((unused)) static void held(struct steps *steps, uint64_t server, bool present)
{
    step(steps, (struct replica_event){
                    .type = REPLICA_EVENT_HELD, .from = store_of(server), .present = present});
}

__attribute__((unused)) static void received(struct steps *steps,
                                             uint64_t server,
                                             struct replica_message message)
{
    message.incarnation = message.incarnation == 0 ? PEER + server : message.incarnation;
    step(steps, (struct replica_event){
                    .type = REPLICA_EVENT_RECEIVE, .from = store_of(server), .message = message});
}

/* To the primary under test. */
__attribute__((unused)) static void opened(struct steps *steps,
                                           uint64_t server,
                                           uint64_t version,
                                           uint64_t prepared)
{
    received(steps, server,
             (struct replica_message){
                 .type = REPLICA_OPENED, .version = version, .opener = SELF, .sequence = prepared});
}

__attribute__((unused)) static void prepared(struct steps *steps,
                                             uint64_t server,
                                             uint64_t version,
                                             uint64_t sequence)
{
    received(steps, server,
             (struct replica_message){.type = REPLICA_PREPARED,
                                      .version = version,
                                      .opener = SELF,
                                      .sequence = sequence,
                                      .appended = sequence});
}

/* To the follower under test. */
__attribute__((unused)) static struct replica_message open_of(
    struct replica_configuration configuration, uint64_t start, bool as_learner)
{
    return (struct replica_message){.type = REPLICA_OPEN,
                                    .version = configuration.version,
                                    .configuration = configuration,
                                    .sequence = start,
                                    .appended = UINT64_MAX,
                                    .as_learner = as_learner};
}

__attribute__((unused)) static struct replica_message prepare_of(uint64_t version,
                                                                 uint64_t sequence,
                                                                 uint64_t entry_version,
                                                                 uint64_t committed)
{
    return (struct replica_message){.type = REPLICA_PREPARE,
                                    .version = version,
                                    .committed = committed,
                                    .entry = entry_of(sequence, entry_version)};
}

/* Server 1 leads `count` members under version 2, which all have opened and lease; nothing written. */
__attribute__((unused)) static struct steps lead(uint32_t count)
{
    struct replica_configuration configuration = members_of(1, count, 1);
    struct steps steps = begin_with((struct replica_recovered){
        .configuration = configuration, .role = REPLICA_SECONDARY, .flags = {.opened = true}});
    told(&steps, members_of(2, count, 1));
    configured(&steps);
    for (uint64_t server = 2; server <= count; server++) {
        held(&steps, server, true);
        opened(&steps, server, 2, 0);
    }
    cr_assert(replica_look(steps.replica).serving);
    return steps;
}

/* Server 1 follows server 2 under version 2 of `count` members, opened, with nothing. */
__attribute__((unused)) static struct steps follow(uint32_t count)
{
    struct steps steps = begin_with((struct replica_recovered){0});
    received(&steps, 2, open_of(members_of(2, count, 2), 0, false));
    configured(&steps);
    cr_assert_not_null(find_sent(&steps, REPLICA_OPENED, 2));
    return steps;
}

/* The master wishes for the first `count` stores, led by `leader`; 0 = by whichever. */
__attribute__((unused)) static void wish(struct steps *steps, uint32_t count, uint64_t leader)
{
    struct replica_event goal = {.type = REPLICA_EVENT_GOAL, .goal_leader = leader};
    goal.goal_members.count = count;
    for (uint32_t i = 0; i < count; i++) {
        goal.goal_members.members[i] = store_of(i + 1);
    }
    step(steps, goal);
}

__attribute__((unused)) static void taught(struct steps *steps,
                                           uint64_t server,
                                           uint64_t version,
                                           uint64_t sequence)
{
    struct replica_event event = {.type = REPLICA_EVENT_TEACHING,
                                  .from = store_of(server),
                                  .sequence = sequence,
                                  .version = version,
                                  .incarnation = PEER + server};
    step(steps, event);
    event.type = REPLICA_EVENT_TAUGHT;
    step(steps, event);
}

__attribute__((unused)) static void opened_as_learner(struct steps *steps,
                                                      uint64_t server,
                                                      uint64_t version)
{
    received(steps, server,
             (struct replica_message){
                 .type = REPLICA_OPENED, .version = version, .opener = SELF, .as_learner = true});
}

#endif /* TESTS_SUPPORT_REPLICA_STEPS_H */

#include "common/base/replica_configuration.h"

#include <stddef.h>

#include "common/base/assert.h"

/* --- helpers ------------------------------------------------------------------------------------ */

static bool same_member(struct replica_member a, struct replica_member b)
{
    return a.server == b.server && a.store == b.store;
}

/* How many members of `of` are none of `in`. */
static uint32_t count_missing(const struct replica_configuration *of,
                              const struct replica_configuration *in)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < of->member_count; i++) {
        missing += replica_configuration_has(in, of->members[i]) ? 0 : 1;
    }
    return missing;
}

static struct replica_configuration next_of(const struct replica_configuration *configuration)
{
    struct replica_configuration next = *configuration;
    next.version++;
    return next;
}

/* Put in where its server belongs; the index of the leader moves along. */
static void insert(struct replica_configuration *configuration, struct replica_member member)
{
    ASSERT(configuration->member_count < REPLICA_MEMBERS_MAX);
    uint32_t at = configuration->member_count;
    while (at > 0 && configuration->members[at - 1].server > member.server) {
        configuration->members[at] = configuration->members[at - 1];
        at--;
    }
    configuration->members[at] = member;
    configuration->member_count++;
    configuration->leader += configuration->leader >= at ? 1 : 0;
}

/* Requires: it is not the leader. */
static void take_out(struct replica_configuration *configuration, uint32_t at)
{
    ASSERT(at < configuration->member_count);
    ASSERT(at != configuration->leader);
    configuration->member_count--;
    for (uint32_t i = at; i < configuration->member_count; i++) {
        configuration->members[i] = configuration->members[i + 1];
    }
    configuration->members[configuration->member_count] = (struct replica_member){0, 0};
    configuration->leader -= configuration->leader > at ? 1 : 0;
}

/* --- public ------------------------------------------------------------------------------------- */

bool replica_configuration_has(const struct replica_configuration *configuration,
                               struct replica_member member)
{
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        if (same_member(configuration->members[i], member)) {
            return true;
        }
    }
    return false;
}

struct replica_member replica_configuration_leader(
    const struct replica_configuration *configuration)
{
    return configuration->members[configuration->leader];
}

bool replica_configuration_same_members(const struct replica_configuration *a,
                                        const struct replica_configuration *b)
{
    return a->member_count == b->member_count && count_missing(a, b) == 0;
}

bool replica_configuration_is_sound(const struct replica_configuration *configuration)
{
    if (configuration->version == 0 || configuration->member_count == 0 ||
        configuration->member_count > REPLICA_MEMBERS_MAX ||
        configuration->leader >= configuration->member_count) {
        return false;
    }
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        struct replica_member member = configuration->members[i];
        if (member.server == 0 || member.store == 0 ||
            (i > 0 && configuration->members[i - 1].server >= member.server)) {
            return false;
        }
        for (uint32_t j = 0; j < i; j++) {
            if (configuration->members[j].store == member.store) {
                return false;
            }
        }
    }
    return true;
}

uint32_t replica_configuration_find(const struct replica_configuration *configuration,
                                    uint64_t store)
{
    uint32_t index = 0;
    while (index < configuration->member_count && configuration->members[index].store != store) {
        index++;
    }
    return index;
}

bool replica_configuration_is_leader(const struct replica_configuration *configuration,
                                     uint64_t store)
{
    return configuration->member_count > 0 &&
           replica_configuration_leader(configuration).store == store;
}

bool replica_configuration_equal(const struct replica_configuration *a,
                                 const struct replica_configuration *b)
{
    if (a->version != b->version || a->member_count != b->member_count || a->leader != b->leader) {
        return false;
    }
    return count_missing(a, b) == 0;
}

enum replica_change replica_configuration_change(const struct replica_configuration *from,
                                                 const struct replica_configuration *to)
{
    replica_configuration_check(from);
    if (!replica_configuration_is_sound(to) || to->version != from->version + 1) {
        return REPLICA_CHANGE_BAD;
    }
    bool same_leader = same_member(replica_configuration_leader(from),
                                   replica_configuration_leader(to));
    uint32_t gone = count_missing(from, to);
    uint32_t come = count_missing(to, from);
    if (same_leader && gone + come <= 1) {
        if (gone + come == 0) {
            return REPLICA_CHANGE_NONE;
        }
        return come == 1 ? REPLICA_CHANGE_ADD : REPLICA_CHANGE_REMOVE;
    }
    if (!same_leader && come == 0 && gone == 0) {
        return REPLICA_CHANGE_YIELD;
    }
    /* The new leader was a member, as nobody has come; the one who is gone is the old leader. */
    if (!same_leader && come == 0 && gone == 1 &&
        !replica_configuration_has(to, replica_configuration_leader(from))) {
        return REPLICA_CHANGE_REPLACE;
    }
    return REPLICA_CHANGE_BAD;
}

struct replica_configuration replica_configuration_add(
    const struct replica_configuration *configuration, struct replica_member member)
{
    struct replica_configuration next = next_of(configuration);
    insert(&next, member);
    replica_configuration_check(&next);
    return next;
}

struct replica_configuration replica_configuration_remove(
    const struct replica_configuration *configuration, uint64_t store)
{
    struct replica_configuration next = next_of(configuration);
    take_out(&next, replica_configuration_find(configuration, store));
    replica_configuration_check(&next);
    return next;
}

struct replica_configuration replica_configuration_lead(
    const struct replica_configuration *configuration, uint64_t store, bool without_old_leader)
{
    struct replica_configuration next = next_of(configuration);
    next.leader = replica_configuration_find(configuration, store);
    ASSERT(next.leader < next.member_count);
    if (without_old_leader) {
        ASSERT(next.leader != configuration->leader);
        take_out(&next, configuration->leader);
    }
    replica_configuration_check(&next);
    return next;
}

struct replica_union replica_union_of(const struct replica_configuration *a,
                                      const struct replica_configuration *b)
{
    struct replica_union both = {.count = a->member_count};
    for (uint32_t i = 0; i < a->member_count; i++) {
        both.members[i] = a->members[i];
    }
    for (uint32_t i = 0; b != NULL && i < b->member_count; i++) {
        if (replica_configuration_has(a, b->members[i])) {
            continue;
        }
        ASSERT(both.count < REPLICA_PEERS_MAX);
        uint32_t at = both.count++;
        while (at > 0 && both.members[at - 1].server > b->members[i].server) {
            both.members[at] = both.members[at - 1];
            at--;
        }
        both.members[at] = b->members[i];
    }
    return both;
}

void replica_configuration_check(const struct replica_configuration *configuration)
{
    ASSERT(replica_configuration_is_sound(configuration));
}

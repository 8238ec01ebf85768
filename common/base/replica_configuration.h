/*
 * Configurations: which replicas of a tablet count, and which of them leads (rule 12 of docs/replication.md,
 * whose rules are quoted; how they follow one another is modelled in tests/model/replication).
 *
 * A configuration is a value: it never changes; a new one has a higher version.  For what is in
 * doubt (rule 9) the members of the old one and of the proposed one are needed together: the union.
 *
 * Invariants, checked by replica_configuration_check():
 *   (1) 1 to REPLICA_MEMBERS_MAX members, ascending by server; no server and no store twice.
 *   (2) The leader is one of them.
 *   (3) The version is not 0: version 0 means "no configuration".
 *
 * Pure.  Thread rule: values.
 */
#ifndef COMMON_BASE_REPLICA_CONFIGURATION_H
#define COMMON_BASE_REPLICA_CONFIGURATION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/limits.h"

#define REPLICA_MEMBERS_MAX (LIMIT_REPLICAS + 1)      /* of one configuration */
#define REPLICA_PEERS_MAX   (REPLICA_MEMBERS_MAX + 1) /* of a union: a change adds one at most */

/* A replica is known by its store: a wiped disk is another one.  0 = nobody. */
struct replica_member {
    uint64_t server;
    uint64_t store;
};

struct replica_configuration {
    uint64_t version;
    uint32_t member_count;
    uint32_t leader; /* index of the primary */
    struct replica_member members[REPLICA_MEMBERS_MAX];
};

/*
 * A version's low half counts; its high half is the era: it rises, and the low half begins anew, when a person has
 * chosen what the tablet is from then on (rule 18).  What another copy has of an era before is of a history that was
 * given up, however far it goes.
 */
#define REPLICA_ERA_SHIFT 32

static inline uint64_t replica_version_era(uint64_t version)
{
    return version >> REPLICA_ERA_SHIFT;
}

static inline uint64_t replica_version_of_next_era(uint64_t version)
{
    return (replica_version_era(version) + 1) << REPLICA_ERA_SHIFT;
}

/* The members of two configurations, each once, ascending by server. */
struct replica_union {
    uint32_t count;
    struct replica_member members[REPLICA_PEERS_MAX];
};

enum replica_change {
    REPLICA_CHANGE_NONE,    /* the same but for the version: a renewal (rule 2) */
    REPLICA_CHANGE_ADD,     /* one member more, same leader */
    REPLICA_CHANGE_REMOVE,  /* one member less, not the leader; same leader */
    REPLICA_CHANGE_REPLACE, /* another leader, the old one is out (rule 10) */
    REPLICA_CHANGE_YIELD,   /* another leader, the same members (rule 14) */
    REPLICA_CHANGE_BAD,     /* none of these: nobody may propose it */
};

/* Index of the store among the members; member_count when it is none. */
uint32_t replica_configuration_find(const struct replica_configuration *configuration,
                                    uint64_t store);

bool replica_configuration_is_leader(const struct replica_configuration *configuration,
                                     uint64_t store);

bool replica_configuration_equal(const struct replica_configuration *a,
                                 const struct replica_configuration *b);

/* Is there a member with this server and this store? */
bool replica_configuration_has(const struct replica_configuration *configuration,
                               struct replica_member member);

/* Who leads.  Requires: sound. */
struct replica_member replica_configuration_leader(
    const struct replica_configuration *configuration);

/* The same members, whatever version and leader. */
bool replica_configuration_same_members(const struct replica_configuration *a,
                                        const struct replica_configuration *b);

/* The invariants, as a judgement: what others send is judged before it is believed. */
bool replica_configuration_is_sound(const struct replica_configuration *configuration);

/* What becomes of `from` by `to`, and whether that is a legal step: to.version is one more, the
 * change is one of those above.  The master judges proposals by this too. */
enum replica_change replica_configuration_change(const struct replica_configuration *from,
                                                 const struct replica_configuration *to);

/* The same with the next version, and one member more, one less, or another leader.  Require: it
 * is not / is / is a member; adding: below REPLICA_MEMBERS_MAX; removing: not the leader. */
struct replica_configuration replica_configuration_add(
    const struct replica_configuration *configuration, struct replica_member member);
struct replica_configuration replica_configuration_remove(
    const struct replica_configuration *configuration, uint64_t store);
struct replica_configuration replica_configuration_lead(
    const struct replica_configuration *configuration, uint64_t store, bool without_old_leader);

/* Both together; b NULL = a alone.  Requires: they are the same but for one change.  For tests. */
struct replica_union replica_union_of(const struct replica_configuration *a,
                                      const struct replica_configuration *b);

/* Abort unless the invariants hold. */
void replica_configuration_check(const struct replica_configuration *configuration);

#endif /* COMMON_BASE_REPLICA_CONFIGURATION_H */

/*
 * What must hold in a world of replicas, seen from outside: I1 to I9 of docs/replication.md.
 */
#ifndef TESTS_MODEL_REPLICA_TRUTH_H
#define TESTS_MODEL_REPLICA_TRUTH_H

#include "tests/model/replica_disk.h"

static inline bool may_serve_now(const struct world *world, const struct server *server)
{
    if (!server->up || !server->serving) {
        return false;
    }
    if (world->planted == PLANTED_LEASE_NOT_LOOKED_AT) {
        return true;
    }
    const struct replica_configuration *own = &server->disk.configuration;
    for (uint32_t i = 0; i < server->serving_peers.count; i++) {
        const struct replica_member *peer = &server->serving_peers.members[i];
        if (world->planted == PLANTED_OLD_MEMBERS_LEASES &&
            replica_configuration_find(own, peer->store) == own->member_count) {
            continue;
        }
        if (server->held_until_ns[peer->server - 1] <= clock_at(server, world->now_ns)) {
            return false;
        }
    }
    return true;
}

/* I1: (version, sequence) names one entry.  But for a lone primary's, which may give the name of what
 * it had not synced to another one after a restart (rule 2): then learners drop what they had. */
static inline void note_given(struct world *world, uint64_t sequence, struct cell cell)
{
    MUST(world, cell.version < VERSIONS);
    if (world->lone[cell.version]) {
        return;
    }
    uint64_t size = SEQUENCES * 2;
    uint64_t at = (sequence * 31 + cell.version * 7919) % size;
    for (uint64_t tries = 0; world->given[at].id != 0; tries++) {
        MUST(world, tries < size);
        if (world->given[at].version == cell.version && world->given_sequence[at] == sequence) {
            if (world->given[at].id != cell.id) {
                fail(world, "I1: one version and sequence, two entries");
            }
            return;
        }
        at = (at + 1) % size;
    }
    world->given[at] = cell;
    world->given_sequence[at] = sequence;
}

/* I6, I2: what is committed is the same for all, and durable where it is committed. */
static inline void note_committed(struct world *world,
                                  const struct server *server,
                                  uint64_t sequence,
                                  struct cell cell)
{
    struct committed_entry *known = &world->committed[sequence];
    if (known->cell.id == 0) {
        MUST(world, sequence == world->committed_end + 1);
        known->cell = cell;
        world->committed_end = sequence;
        world->dirty = true;
    }
    if (known->cell.id != cell.id || known->cell.version != cell.version) {
        fail(world, "I6: two replicas have committed different entries");
    }
    if (!disk_has(&server->disk, sequence, cell)) {
        fail(world, "I2: committed, but not durable there");
    }
}

/* I9, and that it is committed at all. */
static inline void note_acknowledged(struct world *world, uint64_t sequence)
{
    struct committed_entry *known = &world->committed[sequence];
    uint32_t logs = 0;
    for (uint32_t i = 0; i < world->server_count; i++) {
        logs += disk_has(&world->servers[i].disk, sequence, known->cell) ? 1 : 0;
    }
    if (logs < world->settings.min_in_sync) {
        fail(world, "I9: acknowledged with too few logs");
    }
    if (!known->acknowledged) {
        known->acknowledged = true;
        world->acknowledged++;
    }
    if (sequence > world->acknowledged_end) {
        world->acknowledged_end = sequence;
    }
}

static inline bool has_all_committed(const struct world *world, const struct disk *disk)
{
    for (uint64_t at = 1; at <= world->committed_end; at++) {
        if (!disk_has(disk, at, world->committed[at].cell)) {
            return false;
        }
    }
    return true;
}

/* It is whole again, as a member of a version after the one that may have been proposed when it went back. */
static inline void end_old_age(struct server *server, bool whole)
{
    const struct disk *disk = &server->disk;
    if (whole && disk->end >= server->old_end && disk->flags.opened &&
        disk->role != REPLICA_LEARNER && disk->configuration.version > server->old_version + 1) {
        server->old_store = 0;
    }
}

static inline void check_members(struct world *world)
{
    for (uint32_t i = 0; i < world->newest.member_count; i++) {
        struct replica_member member = world->newest.members[i];
        struct server *server = &world->servers[member.server - 1];
        if (member.store != server->member.store) {
            continue; /* wiped */
        }
        bool whole = has_all_committed(world, &server->disk);
        if (is_old(server)) {
            end_old_age(server, whole);
        } else if (!whole) {
            fail(world, "I3: a member has not what was committed");
        }
    }
}

static inline void check_world(struct world *world)
{
    uint32_t serving = 0;
    for (uint32_t i = 0; i < world->server_count; i++) {
        const struct server *server = &world->servers[i];
        if (server->up && world->gone_back == 0 &&
            replica_look(server->replica).trouble == REPLICA_IS_DAMAGED) {
            fail(world, "rule 3: a replica that disagrees with its primary");
        }
        if (!may_serve_now(world, server)) {
            continue;
        }
        serving++;
        if (replica_look(server->replica).committed < world->acknowledged_end) {
            fail(world, "I5: who serves does not show what was acknowledged");
        }
    }
    if (serving > 1) {
        fail(world, "I4: two serve");
    }
    if (world->dirty) {
        world->dirty = false;
        check_members(world);
    }
}

/* I8.  What is known is more than what is synced: an adopted version is on its way to the disk. */
static inline void check_version(const struct world *world,
                                 const struct server *server,
                                 uint64_t version)
{
    if (version != replica_look(server->replica).configuration.version) {
        fail(world, "I8: acknowledged or granted, not under the highest version that is known");
    }
}

/* I7: a message says only what is durable. */
static inline void check_message(const struct world *world,
                                 const struct server *server,
                                 const struct replica_message *message)
{
    if (message->type == REPLICA_BEHIND || message->type == REPLICA_DAMAGED) {
        return; /* it has less than it should: that promises nothing, and may be said of what was just told */
    }
    if (message->version != server->disk.configuration.version) {
        fail(world, "I7: an act under a version that is not synced");
    }
    bool promises = message->type == REPLICA_OPENED || message->type == REPLICA_PREPARED;
    if (promises) {
        check_version(world, server, message->version);
    }
    if (promises && message->sequence > server->disk.end) {
        fail(world, "I7: told before durable");
    }
    if (message->type == REPLICA_OPENED &&
        (!server->disk.flags.opened ||
         (message->as_learner != (server->disk.role == REPLICA_LEARNER)))) {
        fail(world, "I7: opened before that is synced");
    }
}

#endif /* TESTS_MODEL_REPLICA_TRUTH_H */

/*
 * What is done to a world of replicas: clients write and repeat themselves, servers die, stop, lose their disks, or find older
 * ones in their place.
 */
#ifndef TESTS_MODEL_REPLICA_TROUBLE_H
#define TESTS_MODEL_REPLICA_TROUBLE_H

#include "tests/model/replica_arrivals.h"

/* --- clients ------------------------------------------------------------------------------------ */

static struct server *some_server(struct world *world)
{
    return &world->servers[prng_below(&world->prng, world->server_count)];
}

/* The id of what was written; 0: refused. */
static uint64_t write_at(struct world *world, struct server *server)
{
    uint64_t id = world->next_id + 1;
    if (!may_serve_now(world, server) || is_paused(world, server) ||
        replica_look(server->replica).appended + 2 >= SEQUENCES) {
        return 0;
    }
    struct replica_event event = {.type = REPLICA_EVENT_WRITE};
    event.entry.payload = bytes_of(&id, sizeof id);
    enum status status = step_replica(world, server, &event);
    drain(world, server);
    if (status != STATUS_OK) {
        MUST(world, status == STATUS_UNAVAILABLE || status == STATUS_RESOURCE_EXHAUSTED ||
                        status == STATUS_NOT_OWNER);
        world->refused++;
        return 0;
    }
    return ++world->next_id;
}

/* A client that was told "unknown" comes again, and exactly-once records answer (rules 5 and 6). */
static void retry_at(struct world *world, const struct server *server)
{
    if (!may_serve_now(world, server) || is_paused(world, server)) {
        return;
    }
    struct replica_view view = replica_look(server->replica);
    bool acknowledges = view.acknowledges || world->planted == PLANTED_FEW_ACKNOWLEDGE;
    if (acknowledges && view.committed > 0) {
        note_acknowledged(world, 1 + prng_below(&world->prng, view.committed));
    }
}

/* --- trouble ------------------------------------------------------------------------------------ */

static void wish(struct world *world)
{
    world->goal = (struct replica_union){0};
    uint32_t wanted = world->replicas;
    uint32_t first = (uint32_t)prng_below(&world->prng, world->server_count);
    for (uint32_t i = 0; i < world->server_count; i++) {
        uint32_t at = (first + i) % world->server_count;
        if (wanted > 0 && !world->servers[at].dead) {
            world->goal.members[world->goal.count++] = world->servers[at].member;
            wanted--;
        }
    }
    world->goal_leader = 0;
    if (prng_chance(&world->prng, 2)) {
        world->goal_leader = world->goal.members[prng_below(&world->prng, world->goal.count)].store;
    }
}

static bool is_newest_member(const struct world *world, uint64_t store)
{
    return replica_configuration_find(&world->newest, store) < world->newest.member_count;
}

/* A member's copy, or its end.  Also where it was lost before it was a member: its addition was on its way to the master
 * (seed 92941). */
static bool one_is_lost(const struct world *world)
{
    bool lost = false;
    for (uint32_t i = 0; i < world->newest.member_count; i++) {
        struct replica_member member = world->newest.members[i];
        const struct server *server = &world->servers[member.server - 1];
        lost = lost || server->member.store != member.store || is_old(server);
    }
    return lost;
}

/* Only what can be survived: one lost member at a time, of three or more. */
static void wipe(struct world *world, struct server *server)
{
    bool counts = is_newest_member(world, server->member.store);
    if (counts && (one_is_lost(world) || world->newest.member_count < 3)) {
        return;
    }
    if (server->up) {
        stop(world, server);
    }
    disk_wipe(&server->disk);
    server->told = 0;
    server->member.store++; /* 100 a server: never one of another's */
    start(world, server);
    for (uint32_t i = 0; i < world->goal.count; i++) {
        if (world->goal.members[i].server == server->member.server) {
            world->goal_leader = 0;
            world->goal.members[i] = server->member;
        }
    }
}

/* A copy of its folder that was made earlier is put back while it is down.  One such disk at a time, and
 * two other members: whether those two are heard is for the rest of the weather. */
static void go_back(struct world *world, struct server *server)
{
    if (world->newest.member_count < 3 || one_is_lost(world) || server->disk.durable < 2) {
        return;
    }
    if (server->up) {
        stop(world, server);
    }
    struct disk *disk = &server->disk;
    uint64_t furthest = prng_chance(&world->prng, 2) ? disk->durable : 8;
    uint64_t back = 1 +
                    prng_below(&world->prng, furthest < disk->durable ? furthest : disk->durable);
    server->old_store = server->member.store;
    server->old_end = disk->end;
    server->old_version = world->newest.version;
    disk_go_back(world, disk, disk->count - (uint32_t)back);
    server->told = disk->count;
    world->gone_back++;
    if (prng_chance(&world->prng, 2)) {
        start(world, server);
    }
}

static void cause_trouble(struct world *world)
{
    const struct weather *weather = &world->weather;
    /* Trouble seldom comes alone. */
    struct server *server = prng_chance(&world->prng, 2) ? &world->servers[world->last_troubled]
                                                         : some_server(world);
    world->last_troubled = server->index;
    uint64_t sum = weather->crash_weight + weather->isolate_weight + weather->pause_weight +
                   weather->cut_weight + weather->wipe_weight + weather->goal_weight +
                   weather->master_weight + weather->old_weight + 1;
    uint64_t choice = prng_below(&world->prng, sum);
    if (choice < weather->crash_weight) {
        bool stays_down = server->up && prng_chance(&world->prng, 2);
        if (server->up) {
            stop(world, server);
        }
        if (!stays_down) {
            start(world, server);
        }
        return;
    }
    choice -= weather->crash_weight;
    if (choice < weather->isolate_weight) {
        server->isolated_until_ns = world->now_ns + some_ns(world, 5 * SECOND);
        return;
    }
    choice -= weather->isolate_weight;
    if (choice < weather->pause_weight) {
        server->paused_until_ns = server->up ? world->now_ns + some_ns(world, 5 * SECOND) : 0;
        return;
    }
    choice -= weather->pause_weight;
    if (choice < weather->cut_weight) {
        uint64_t other = prng_below(&world->prng, world->server_count);
        world->cut[server->index][other] = !world->cut[server->index][other];
        return;
    }
    choice -= weather->cut_weight;
    if (choice < weather->wipe_weight) {
        wipe(world, server);
    } else if (choice < weather->wipe_weight + weather->goal_weight) {
        wish(world);
    } else if (choice < weather->wipe_weight + weather->goal_weight + weather->master_weight) {
        world->master_down_until_ns = world->now_ns + some_ns(world, 4 * SECOND);
    } else if (choice < weather->wipe_weight + weather->goal_weight + weather->master_weight +
                            weather->old_weight) {
        go_back(world, server);
    }
}

#endif /* TESTS_MODEL_REPLICA_TROUBLE_H */

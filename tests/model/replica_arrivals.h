/*
 * What arrives in a world of replicas: proposals at the master, messages, words and answers at servers.
 */
#ifndef TESTS_MODEL_REPLICA_ARRIVALS_H
#define TESTS_MODEL_REPLICA_ARRIVALS_H

#include "tests/model/replica_shell.h"

/* --- the master --------------------------------------------------------------------------------- */

static void tell_newest(struct world *world, uint32_t to)
{
    if (chance(world, world->weather.answers_lost_per_mille) || is_isolated(world, to)) {
        return;
    }
    struct event *event = schedule(world, world->now_ns + travel_ns(world), EVENT_TOLD);
    event->to = to;
    event->configuration = world->newest;
    event->goal = world->goal;
    event->goal_leader = world->goal_leader;
}

/* Rule 12. */
static bool is_proposable(const struct world *world, const struct event *event)
{
    const struct replica_configuration *next = &event->proposal.next;
    struct replica_configuration base = world->newest;
    base.version = event->proposal.base;
    enum replica_change change = replica_configuration_change(&base, next);
    if (event->proposal.base != world->newest.version && world->planted != PLANTED_NO_COMPARE) {
        return false;
    }
    if (world->planted == PLANTED_NO_COMPARE) {
        return next->version == event->proposal.base + 1;
    }
    uint64_t proposer = event->from_member.store;
    return change != REPLICA_CHANGE_BAD && replica_configuration_is_leader(next, proposer);
}

static void on_proposed(struct world *world, const struct event *event)
{
    if (world->master_down_until_ns > world->now_ns) {
        return;
    }
    if (is_proposable(world, event)) {
        uint64_t version = world->newest.version + 1;
        world->added += event->proposal.next.member_count > world->newest.member_count ? 1 : 0;
        world->removed += event->proposal.next.member_count < world->newest.member_count ? 1 : 0;
        world->newest = event->proposal.next;
        world->newest.version = version;
        MUST(world, version < VERSIONS);
        world->lone[version] = world->newest.member_count == 1;
        world->dirty = true;
    }
    tell_newest(world, event->from);
}

/* --- what arrives ------------------------------------------------------------------------------- */

static void on_message(struct world *world, struct server *server, struct event *event)
{
    if (event->to_member.store != server->member.store) {
        return; /* another store lay there */
    }
    struct replica_event received = {
        .type = REPLICA_EVENT_RECEIVE, .from = event->from_member, .message = event->message};
    if (event->message.type == REPLICA_PREPARE) {
        received.message.entry.payload = bytes_of(&event->id, sizeof event->id);
    }
    tell(world, server, received);
}

static void on_read(struct world *world, struct server *server, const struct event *event)
{
    const struct disk *disk = &server->disk;
    uint64_t id = 0;
    struct replica_event read = {
        .type = REPLICA_EVENT_READ, .from = event->to_member, .sequence = event->sequence};
    read.present = event->sequence <= disk->end &&
                   event->sequence + world->weather.log_kept > disk->end;
    if (read.present) {
        id = disk->cells[event->sequence].id;
        read.entry = (struct replica_entry){.sequence = event->sequence,
                                            .version = disk->cells[event->sequence].version,
                                            .payload = bytes_of(&id, sizeof id)};
    }
    tell(world, server, read);
}

static void say_taught(struct world *world,
                       struct server *teacher,
                       const struct event *event,
                       uint64_t sequence)
{
    struct replica_event said = {.type = REPLICA_EVENT_TEACHING,
                                 .from = event->from_member,
                                 .sequence = sequence,
                                 .version = event->version,
                                 .incarnation = event->from_incarnation};
    tell(world, teacher, said);
    said.type = REPLICA_EVENT_TAUGHT;
    tell(world, teacher, said);
    world->taught++;
}

/* Until it is whole, or one of both processes is gone. */
static void teach_later(struct world *world, const struct event *event)
{
    struct event *later = schedule(world, world->now_ns + SECOND, EVENT_TEACH);
    int64_t at_ns = later->at_ns;
    *later = *event;
    later->at_ns = at_ns;
}

/* The log still has what it needs, or else (and sometimes so) it is taught a base. */
static void on_teach(struct world *world, const struct event *event)
{
    struct server *teacher = &world->servers[event->from];
    struct server *learner = &world->servers[event->to];
    if (!teacher->up || teacher->incarnation != event->from_incarnation || !learner->up ||
        learner->member.store != event->to_member.store || event->count != teacher->teaching) {
        return;
    }
    struct replica_view view = replica_look(teacher->replica);
    if (view.role != REPLICA_PRIMARY || view.configuration.version != event->version) {
        return;
    }
    bool is_idle = learner->told == learner->disk.count;
    if (is_paused(world, teacher) || is_paused(world, learner) || !is_idle) {
        teach_later(world, event);
        return;
    }
    struct event back = {.from_member = learner->member,
                         .from_incarnation = learner->incarnation,
                         .version = event->version};
    if (world->planted == PLANTED_TAUGHT_EARLY) {
        say_taught(world, teacher, &back, view.committed);
        return;
    }
    bool by_log = event->sequence + world->weather.log_kept > view.committed &&
                  prng_chance(&world->prng, 2);
    struct replica_view has = replica_look(learner->replica);
    bool moved = has.synced > event->sequence;
    if (has.configuration.version != event->version) {
        return;
    }
    /* What it has counts for nothing: it is taught all of it anew (section 9). */
    bool anew = has.trouble == REPLICA_IS_DAMAGED;
    if (!anew && (by_log || moved || has.synced >= view.committed)) {
        say_taught(world, teacher, &back,
                   has.synced < view.committed ? has.synced : view.committed);
        return;
    }
    teach_later(world, event);
    if (has.role != REPLICA_LEARNER || has.appended > view.committed ||
        (!anew && has.appended == view.committed)) {
        return;
    }
    struct record *record = disk_append(&learner->disk, RECORD_TAUGHT);
    record->sequence = view.committed;
    record->teacher = teacher->incarnation;
    record->teacher_version = event->version;
    record->teacher_server = teacher->member.server;
    record->taught = calloc(view.committed + 1, sizeof *record->taught);
    memcpy(record->taught, teacher->disk.cells, (view.committed + 1) * sizeof *record->taught);
    begin_sync(world, learner);
}

static void on_sync(struct world *world, struct server *server, const struct event *event)
{
    if (!server->up || server->incarnation != event->incarnation) {
        return;
    }
    disk_sync(world, &server->disk, event->count);
    if (is_paused(world, server)) { /* the process hears of it later */
        struct event *later = schedule(world, server->paused_until_ns, EVENT_SYNC);
        uint64_t order = later->order;
        int64_t at_ns = later->at_ns;
        *later = *event;
        later->order = order;
        later->at_ns = at_ns;
        return;
    }
    server->syncing = false;
    if (server->stalled) {
        server->stalled = false;
        (void)enqueue(world, server, REPLICA_EVENT_STALLED);
    }
    tell_synced(world, server, event->count);
    begin_sync(world, server);
}

static void on_told(struct world *world, struct server *server, const struct event *event)
{
    tell(world, server,
         (struct replica_event){.type = REPLICA_EVENT_GOAL,
                                .goal_members = event->goal,
                                .goal_leader = event->goal_leader});
    tell(world, server,
         (struct replica_event){.type = REPLICA_EVENT_CATALOG,
                                .configuration = event->configuration,
                                .present = !world->founded});
}

static void on_lease_message(struct world *world, struct server *server, struct event *event)
{
    struct lease_event heard = {.type = event->kind == EVENT_BEACON ? LEASE_EVENT_BEACON
                                                                    : LEASE_EVENT_ACKNOWLEDGEMENT,
                                .peer = event->from + 1,
                                .beacon = event->beacon,
                                .acknowledgement = event->acknowledgement};
    heard.acknowledgement.exceptions = event->exceptions;
    step_lease(world, server, heard);
    drain(world, server);
}

static void on_stall(struct world *world, struct server *server, const struct event *event)
{
    if (server->syncing && server->told < event->count) {
        server->stalled = true;
        tell(world, server, (struct replica_event){.type = REPLICA_EVENT_STALLED, .present = true});
    }
}

/* Of a process that is stopped, everything waits. */
static bool wait_for_process(struct world *world, const struct event *event)
{
    const struct server *server = &world->servers[event->to];
    if (!is_paused(world, server)) {
        return false;
    }
    struct event *later = schedule(world, server->paused_until_ns, event->kind);
    int64_t at_ns = later->at_ns;
    *later = *event;
    later->at_ns = at_ns;
    return true;
}

static void arrive_at_server(struct world *world, struct event *event)
{
    struct server *server = &world->servers[event->to];
    if (!server->up || (event->incarnation != 0 && event->incarnation != server->incarnation) ||
        wait_for_process(world, event)) {
        return;
    }
    if (event->kind == EVENT_MESSAGE) {
        on_message(world, server, event);
    } else if (event->kind == EVENT_READ) {
        on_read(world, server, event);
    } else if (event->kind == EVENT_TAUGHT) {
        say_taught(world, server, event, event->sequence);
    } else if (event->kind == EVENT_TOLD) {
        on_told(world, server, event);
    } else if (event->kind == EVENT_STALL) {
        on_stall(world, server, event);
    } else {
        on_lease_message(world, server, event);
    }
}

static void arrive(struct world *world, struct event *event)
{
    switch (event->kind) {
    case EVENT_SYNC:
        on_sync(world, &world->servers[event->to], event);
        break;
    case EVENT_PROPOSED:
        on_proposed(world, event);
        break;
    case EVENT_ASKED:
        if (world->master_down_until_ns <= world->now_ns) {
            tell_newest(world, event->from);
        }
        break;
    case EVENT_TEACH:
        on_teach(world, event);
        break;
    case EVENT_MESSAGE:
    case EVENT_BEACON:
    case EVENT_ACKNOWLEDGEMENT:
    case EVENT_STALL:
    case EVENT_TOLD:
    case EVENT_READ:
    case EVENT_TAUGHT:
        arrive_at_server(world, event);
        break;
    }
}

#endif /* TESTS_MODEL_REPLICA_ARRIVALS_H */

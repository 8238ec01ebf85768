/*
 * Replicas, with the real lease modules, in worlds by seed: messages are lost, doubled, late and
 * reordered, networks cut one way, processes killed and stopped, disks wiped and slow, clocks at rates
 * 5 % apart, proposals answered late or never.  After every step everything is looked at from outside
 * (replica_truth.h).  Then all is healed but perhaps one server, and a new write must be acknowledged
 * within a stated time, with all that ever was acknowledged before it.
 * One disk may be replaced by an earlier copy of itself (rules 19 to 21).
 *
 * And bugs are planted, one after the other; each must be found.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/forked.h"

#include "tests/model/replica_shell.h"

#define FAULTS_NS (12 * SECOND)
#define HEALED_NS (40 * SECOND) /* within which a new write is acknowledged */
#define ROUND_NS  (25 * MS)

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
    if (by_log || moved || has.synced >= view.committed) {
        say_taught(world, teacher, &back,
                   has.synced < view.committed ? has.synced : view.committed);
        return;
    }
    teach_later(world, event);
    if (has.role != REPLICA_LEARNER || has.appended >= view.committed) {
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
                                .configuration = event->configuration});
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

/* A member's copy, or its end. */
static bool one_is_lost(const struct world *world)
{
    bool lost = world->wiped_store != 0 && is_newest_member(world, world->wiped_store);
    for (uint32_t i = 0; i < world->newest.member_count; i++) {
        lost = lost || is_old(&world->servers[world->newest.members[i].server - 1]);
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
    if (counts) {
        world->wiped_store = server->member.store;
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

/* --- running ------------------------------------------------------------------------------------ */

static int64_t wake_ns(const struct world *world, const struct server *server)
{
    if (!server->up) {
        return INT64_MAX;
    }
    int64_t clock_ns = lease_deadline_ns(server->lease);
    int64_t deadline_ns = replica_deadline_ns(server->replica);
    clock_ns = deadline_ns < clock_ns ? deadline_ns : clock_ns;
    for (uint32_t i = 0; i < world->server_count; i++) {
        if (server->held[i] && server->held_until_ns[i] < clock_ns) {
            clock_ns = server->held_until_ns[i];
        }
    }
    int64_t earliest_ns = is_paused(world, server) ? server->paused_until_ns : world->now_ns;
    if (clock_ns <= clock_at(server, earliest_ns)) {
        return earliest_ns;
    }
    return clock_ns == INT64_MAX ? INT64_MAX : true_time_of(server, clock_ns);
}

static void wake(struct world *world, struct server *server)
{
    int64_t clock_ns = clock_at(server, world->now_ns);
    for (uint32_t i = 0; i < world->server_count; i++) {
        if (server->held[i] && server->held_until_ns[i] <= clock_ns) {
            tell_held(world, server, i, false);
        }
    }
    if (lease_deadline_ns(server->lease) <= clock_ns) {
        step_lease(world, server, (struct lease_event){.type = LEASE_EVENT_TICK});
    }
    drain(world, server);
    if (replica_deadline_ns(server->replica) <= clock_ns) {
        tell(world, server, (struct replica_event){.type = REPLICA_EVENT_TICK});
    }
}

/* All that happens up to then; who wakes for ever at one time has a deadline that it does not meet. */
static void run_until(struct world *world, int64_t until_ns)
{
    uint64_t steps_at_once = 0;
    for (;;) {
        struct server *next = NULL;
        int64_t at_ns = world->heap_count > 0 ? world->heap[0].at_ns : INT64_MAX;
        for (uint32_t i = 0; i < world->server_count; i++) {
            int64_t server_ns = wake_ns(world, &world->servers[i]);
            if (server_ns < at_ns) {
                at_ns = server_ns;
                next = &world->servers[i];
            }
        }
        if (at_ns > until_ns) {
            world->now_ns = until_ns;
            return;
        }
        steps_at_once = at_ns > world->now_ns ? 0 : steps_at_once + 1;
        MUST(world, steps_at_once < 100000);
        world->now_ns = at_ns > world->now_ns ? at_ns : world->now_ns;
        if (next != NULL) {
            wake(world, next);
        } else {
            struct event event = take_soonest(world);
            arrive(world, &event);
        }
        check_world(world);
    }
}

static void tell_all(struct world *world)
{
    for (uint32_t i = 0; i < world->server_count; i++) {
        if (world->master_down_until_ns <= world->now_ns) {
            tell_newest(world, i);
        }
    }
}

static void run_faults(struct world *world)
{
    for (uint32_t round = 0; world->now_ns < FAULTS_NS; round++) {
        if (round % 12 == 0) {
            tell_all(world);
        }
        if (chance(world, world->weather.fault_per_mille)) {
            cause_trouble(world);
        }
        for (uint32_t i = 0; i < world->server_count; i++) {
            if (chance(world, 150)) {
                (void)write_at(world, &world->servers[i]);
            }
        }
        retry_at(world, some_server(world));
        check_world(world);
        run_until(world, world->now_ns + ROUND_NS);
    }
}

/* Nothing fails any more, but a server that the others can do without may stay dead. */
static void heal(struct world *world)
{
    world->weather = (struct weather){
        .delay_ns = 2 * MS, .sync_ns = 2 * MS, .log_kept = world->weather.log_kept};
    memset(world->cut, 0, sizeof world->cut);
    world->master_down_until_ns = 0;
    if (world->newest.member_count >= 3 && !is_newest_member(world, world->wiped_store) &&
        world->gone_back == 0 && prng_chance(&world->prng, 2)) {
        struct server *server = some_server(world);
        server->dead = true;
        if (server->up) {
            stop(world, server);
        }
    }
    for (uint32_t i = 0; i < world->server_count; i++) {
        struct server *server = &world->servers[i];
        server->paused_until_ns = 0;
        server->isolated_until_ns = 0;
        if (!server->up && !server->dead) {
            start(world, server);
        }
    }
    wish(world);
}

static void check_healed(struct world *world, const struct server *server)
{
    uint64_t committed = replica_look(server->replica).committed;
    for (uint64_t at = 1; at <= world->committed_end; at++) {
        MUST(world, !world->committed[at].acknowledged || at <= committed);
        MUST(world, disk_has(&server->disk, at, world->committed[at].cell));
    }
}

/* Section 5, what cannot be known: a removal that it had proposed in its former life was taken, so the disk that
 * went back is the only member.  It knows that it lacks something, and serves nobody. */
static bool is_left_to_the_doubtful(const struct world *world)
{
    const struct server *server = &world->servers[world->newest.members[0].server - 1];
    return world->newest.member_count == 1 && is_old(server) && server->up &&
           replica_look(server->replica).trouble == REPLICA_IS_DOUBTFUL;
}

static void run_healed(struct world *world)
{
    int64_t begun_ns = world->now_ns;
    int64_t until_ns = begun_ns + HEALED_NS;
    for (uint32_t round = 0; world->now_ns < until_ns; round++) {
        if (round % 10 == 0) {
            tell_all(world);
        }
        for (uint32_t i = 0; i < world->server_count; i++) {
            struct server *server = &world->servers[i];
            uint64_t id = write_at(world, server);
            run_until(world, world->now_ns + (id != 0 ? 30 * MS : MS));
            struct committed_entry *last = &world->committed[world->committed_end];
            if (id != 0 && last->cell.id == id && last->acknowledged) {
                world->healed_ns = (uint64_t)(world->now_ns - begun_ns);
                check_healed(world, server);
                return;
            }
        }
        run_until(world, world->now_ns + ROUND_NS);
    }
    if (is_left_to_the_doubtful(world)) {
        world->forsaken++;
        return;
    }
    fail(world, "healed, and no new write is acknowledged in time");
}

/* --- making ------------------------------------------------------------------------------------- */

/* Swarm: each kind of trouble is left out in some worlds, and rules in others. */
static struct weather draw_weather(struct prng *prng)
{
    static const uint64_t LOST[] = {0, 0, 10, 100, 300};
    static const uint64_t RARE[] = {0, 20, 300};
    static const uint64_t LATE[] = {0, 0, 200, 700};
    static const uint64_t FAULTS[] = {10, 30, 80, 200};
    return (struct weather){
        .lost_per_mille = LOST[prng_below(prng, 5)],
        .doubled_per_mille = LOST[prng_below(prng, 5)],
        .late_per_mille = RARE[prng_below(prng, 3)],
        .proposal_late_per_mille = LATE[prng_below(prng, 4)],
        .late_ns = (1 + (int64_t)prng_below(prng, 5)) * SECOND,
        .delay_ns = prng_chance(prng, 3) ? 80 * MS : 2 * MS,
        .sync_ns = prng_chance(prng, 4) ? 300 * MS : 4 * MS,
        .stall_per_mille = prng_chance(prng, 3) ? 10 : 0,
        .fault_per_mille = FAULTS[prng_below(prng, 4)],
        .crash_weight = prng_below(prng, 4) * 2,
        .pause_weight = prng_below(prng, 4) * 2,
        .cut_weight = prng_below(prng, 4) * 2,
        .isolate_weight = prng_below(prng, 4) * 2,
        .wipe_weight = prng_chance(prng, 3) ? 1 : 0,
        .old_weight = prng_chance(prng, 3) ? 4 : 0,
        .goal_weight = prng_below(prng, 4),
        .master_weight = prng_below(prng, 3),
        .answers_lost_per_mille = LOST[prng_below(prng, 5)],
        .log_kept = prng_chance(prng, 2) ? 20 : SEQUENCES,
    };
}

static struct world *make_world(uint64_t seed, enum planted planted)
{
    struct world *world = calloc(1, sizeof *world);
    world->seed = seed;
    world->planted = planted;
    world->prng = prng_of_seed(seed);
    world->weather = draw_weather(&world->prng);
    world->server_count = 3 + (uint32_t)prng_below(&world->prng, 3);
    world->replicas = prng_chance(&world->prng, 6) ? 1 : 2 + (uint32_t)prng_below(&world->prng, 2);
    world->settings = (struct replica_settings){
        .resend_ns = 200 * MS,
        .commit_idle_ns = 20 * MS,
        .open_timeout_ns = 500 * MS,
        .prepare_timeout_ns = 3 * SECOND,
        .propose_ns = SECOND,
        .stagger_ns = 500 * MS,
        .alone_ns = planted == PLANTED_ALONE_AT_ONCE ? 0 : 20 * SECOND,
        .window_bytes_max = prng_chance(&world->prng, 3) ? 600 : 65536,
        .min_in_sync = world->replicas < 2 ? 1 : 2,
    };
    world->lease_settings = (struct lease_settings){
        .beacon_ns = 250 * MS, .lease_ns = 1400 * MS, .grace_ns = 2000 * MS, .drift_ppm = 50000};
    for (uint32_t i = EVENTS_MAX; i > 0; i--) {
        world->free_slots[world->free_count++] = i - 1;
    }
    int64_t apart_ppm = planted == PLANTED_CLOCKS_APART ? 400000 : 49000;
    for (uint32_t i = 0; i < world->server_count; i++) {
        struct server *server = &world->servers[i];
        server->index = i;
        server->member = (struct replica_member){i + 1, 101 + 100 * i};
        server->incarnation = prng_below(&world->prng, 100);
        server->rate_ppm = some_ns(world, 2 * apart_ppm) - apart_ppm;
        server->offset_ns = some_ns(world, 1000 * SECOND);
        if (i < world->replicas) {
            world->newest.members[world->newest.member_count++] = server->member;
        }
    }
    world->newest.version = 1;
    world->lone[1] = world->replicas == 1;
    wish(world);
    for (uint32_t i = 0; i < world->server_count; i++) {
        start(world, &world->servers[i]);
    }
    return world;
}

static void free_world(struct world *world)
{
    for (uint32_t i = 0; i < world->server_count; i++) {
        struct server *server = &world->servers[i];
        replica_destroy(server->replica);
        lease_destroy(server->lease);
        disk_wipe(&server->disk);
    }
    free(world);
}

/* --- many worlds, in a child, so that an assertion that fails leaves the seed -------------------- */

struct report {
    uint64_t seed; /* under way */
    uint64_t acknowledged;
    uint64_t refused;
    uint64_t promotions;
    uint64_t added;
    uint64_t removed;
    uint64_t yields;
    uint64_t taught;
    uint64_t gone_back;
    uint64_t forsaken;
    uint64_t healed_ns_max;
    uint64_t hash;
};

static void run_world(uint64_t seed, enum planted planted, struct report *report)
{
    report->seed = seed;
    struct world *world = make_world(seed, planted);
    run_faults(world);
    heal(world);
    run_healed(world);
    report->acknowledged += world->acknowledged;
    report->refused += world->refused;
    report->promotions += world->promotions;
    report->added += world->added;
    report->removed += world->removed;
    report->yields += world->yields;
    report->taught += world->taught;
    report->gone_back += world->gone_back;
    report->forsaken += world->forsaken;
    report->hash ^= world->hash * seed;
    if (world->healed_ns > report->healed_ns_max) {
        report->healed_ns_max = world->healed_ns;
    }
    free_world(world);
}

/* The seed that failed; 0: none did. */
static uint64_t run_worlds(uint64_t first,
                           uint64_t count,
                           enum planted planted,
                           struct report *ret_report)
{
    struct report *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(shared, MAP_FAILED);
    *shared = (struct report){0};
    pid_t child = fork();
    if (child == 0) {
        if (planted != PLANTED_NOTHING) {
            cr_assert_not_null(freopen("/dev/null", "w", stderr));
        }
        for (uint64_t seed = first; seed < first + count; seed++) {
            run_world(seed, planted, shared);
        }
        _exit(0);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    *ret_report = *shared;
    (void)munmap(shared, sizeof *shared);
    return failed ? ret_report->seed : 0;
}

#define WORLDS 6000

/* REPLICA_SEED=n REPLICA_WORLDS=m REPLICA_PLANTED=p: these worlds instead. */
static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

/* Seeds that have shown a bug.  165806: an exception was forgotten at the first beacon of the process
 * that it was for. */
Test(replica_model, seeds_that_have_failed)
{
    static const uint64_t SEEDS[] = {165806};
    for (size_t i = 0; i < sizeof SEEDS / sizeof *SEEDS; i++) {
        struct report report;
        cr_assert_eq(run_worlds(SEEDS[i], 1, PLANTED_NOTHING, &report), 0, "seed %llu",
                     (unsigned long long)SEEDS[i]);
    }
}

Test(replica_model, promises_hold_in_many_worlds, .timeout = 300)
{
    struct report report;
    uint64_t first = from_environment("REPLICA_SEED", 1);
    uint64_t count = from_environment("REPLICA_WORLDS", WORLDS);
    uint64_t failed = run_worlds(first, count, from_environment("REPLICA_PLANTED", 0), &report);
    cr_assert_eq(failed, 0, "REPLICA_SEED=%llu REPLICA_WORLDS=1", (unsigned long long)failed);
    if (count < WORLDS) {
        return;
    }
    /* Worlds in which nothing happens prove nothing. */
    cr_assert_gt(report.acknowledged, 10 * count);
    cr_assert_gt(report.promotions, 2 * count);
    cr_assert_gt(report.added, count);
    cr_assert_gt(report.removed, count);
    cr_assert_gt(report.yields, count / 4);
    cr_assert_gt(report.taught, count);
    cr_assert_gt(report.gone_back, count / 20);
    cr_assert_lt(report.forsaken, 1 + count / 1000);
}

/* One seed is one run, whatever ran before it in the same process. */
Test(replica_model, a_seed_is_a_run)
{
    struct report alone;
    struct report among[2];
    cr_assert_eq(run_worlds(5, 1, PLANTED_NOTHING, &alone), 0);
    cr_assert_eq(run_worlds(1, 4, PLANTED_NOTHING, &among[0]), 0);
    cr_assert_eq(run_worlds(1, 5, PLANTED_NOTHING, &among[1]), 0);
    cr_assert_eq(among[0].hash ^ among[1].hash, alone.hash);
}

/*
 * Planted, and found: with how many worlds that takes at most.  Not found, and so left to unit tests
 * (rules 11 and 16): in 9 000 worlds PLANTED_OWN_GRANTS_FORGOTTEN, which needs a proposal that is taken
 * after its sender has restarted and granted again, and PLANTED_JOINED_IS_LEARNER, which needs an OPEN
 * that comes so late; in 60 000 PLANTED_RESTART_FORGETS_GRANTS, which world 365 met only as long as
 * leases forgot exceptions at a peer's first beacon.
 */
Test(replica_model, planted_bugs_are_found, .timeout = 300)
{
    static const struct {
        enum planted planted;
        uint64_t worlds;
    } BUGS[] = {
        {PLANTED_SYNCED_EARLY, 10},         {PLANTED_LEASE_FROM_RECEIPT, 2000},
        {PLANTED_CLOCKS_APART, 1000},       {PLANTED_EXCEPTION_UNHEARD, 500},
        {PLANTED_LEASE_NOT_LOOKED_AT, 100}, {PLANTED_RESTARTED_GOES_ON, 1000},
        {PLANTED_DOUBT_FORGOTTEN, 3000},    {PLANTED_LATE_OPEN_DROPS, 2000},
        {PLANTED_FEW_ACKNOWLEDGE, 200},     {PLANTED_OLD_MEMBERS_LEASES, 3000},
        {PLANTED_NO_COMPARE, 50},           {PLANTED_TAUGHT_EARLY, 1000},
        {PLANTED_SERVES_AFTER_YIELD, 50},   {PLANTED_NOBODY_REMOVED, 10},
        {PLANTED_NO_RENEWAL, 100},          {PLANTED_ALONE_AT_ONCE, 4000},
    };
    for (size_t i = 0; i < sizeof BUGS / sizeof *BUGS; i++) {
        struct report report;
        cr_assert_neq(run_worlds(1, BUGS[i].worlds, BUGS[i].planted, &report), 0, "%d",
                      (int)BUGS[i].planted);
    }
}

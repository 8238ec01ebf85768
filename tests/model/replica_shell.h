/*
 * The shell of a replica in a world: it performs the effects of the replica and of its process's lease
 * module, as serve does with real disks and connections.
 */
#ifndef TESTS_MODEL_REPLICA_SHELL_H
#define TESTS_MODEL_REPLICA_SHELL_H

#include "tests/model/replica_truth.h"

static inline void drain(struct world *world, struct server *server);

static inline struct replica_event *enqueue(struct world *world,
                                            struct server *server,
                                            enum replica_event_type type)
{
    MUST(world, server->queued < QUEUE_MAX);
    struct replica_event *event = &server->queue[server->queued++];
    *event = (struct replica_event){.type = type, .now_ns = clock_at(server, world->now_ns)};
    return event;
}

/* --- the lease module --------------------------------------------------------------------------- */

static inline void tell_held(struct world *world, struct server *server, uint32_t peer, bool held)
{
    server->held[peer] = held;
    struct replica_event *event = enqueue(world, server, REPLICA_EVENT_HELD);
    event->from = world->servers[peer].member;
    event->present = held;
}

static inline void hold(struct world *world, struct server *server, uint32_t peer, int64_t until_ns)
{
    if (world->planted == PLANTED_LEASE_FROM_RECEIPT) {
        until_ns = clock_at(server, world->now_ns) + server->set->lease_ns;
    }
    server->held_until_ns[peer] = until_ns;
    bool held = until_ns > clock_at(server, world->now_ns);
    if (held != server->held[peer]) {
        tell_held(world, server, peer, held);
    }
}

static inline void send_lease(struct world *world,
                              const struct server *server,
                              const struct lease_effect *effect)
{
    struct event event = {.kind = effect->type == LEASE_EFFECT_BEACON ? EVENT_BEACON
                                                                      : EVENT_ACKNOWLEDGEMENT,
                          .from = server->index,
                          .to = (uint32_t)effect->peer - 1,
                          .beacon = effect->beacon,
                          .acknowledgement = effect->acknowledgement};
    MUST(world, effect->acknowledgement.exception_count <= EXCEPTIONS_MAX);
    for (uint32_t i = 0; i < effect->acknowledgement.exception_count; i++) {
        event.exceptions[i] = effect->acknowledgement.exceptions[i];
    }
    transmit(world, &event);
}

static inline void perform_lease(struct world *world,
                                 struct server *server,
                                 const struct lease_effects *effects)
{
    for (uint32_t i = 0; i < effects->count; i++) {
        const struct lease_effect *effect = &effects->items[i];
        uint32_t peer = (uint32_t)effect->peer - 1;
        struct replica_event *event = NULL;
        switch (effect->type) {
        case LEASE_EFFECT_BEACON:
        case LEASE_EFFECT_ACKNOWLEDGE:
            send_lease(world, server, effect);
            continue;
        case LEASE_EFFECT_HELD_UNTIL:
            hold(world, server, peer, effect->at_ns);
            continue;
        case LEASE_EFFECT_EXCEPTED_BY_PEER:
            if (world->planted == PLANTED_EXCEPTION_UNHEARD) {
                continue;
            }
            event = enqueue(world, server, REPLICA_EVENT_EXCEPTED_BY_PEER);
            break;
        case LEASE_EFFECT_PEER_RESTARTED:
            hold(world, server, peer, 0);
            event = enqueue(world, server, REPLICA_EVENT_PEER_RESTARTED);
            break;
        case LEASE_EFFECT_EXCEPTED:
            event = enqueue(world, server, REPLICA_EVENT_EXCEPTED);
            event->at_ns = world->planted == PLANTED_OWN_GRANTS_FORGOTTEN ? event->now_ns
                                                                          : effect->at_ns;
            break;
        case LEASE_EFFECT_NOT_GIVEN:
        case LEASE_EFFECT_SHORTENED:
            continue;
        case LEASE_EFFECT_SILENT:
            event = enqueue(world, server, REPLICA_EVENT_SILENT);
            break;
        case LEASE_EFFECT_CONFIRMED: /* nobody asks */
            continue;
        }
        event->from = world->servers[peer].member;
        event->version = effect->version;
        event->incarnation = effect->incarnation;
    }
}

static inline void step_lease(struct world *world, struct server *server, struct lease_event event)
{
    struct lease_effects effects;
    event.now_ns = clock_at(server, world->now_ns);
    event.tablet = TABLET;
    if (world->planted == PLANTED_UNFIT_LEASE_GIVEN) {
        event.beacon.lease_ns = 1;
        event.acknowledgement.grace_ns = 1000 * SECOND;
    }
    MUST(world, lease_step(server->lease, &event, &effects) == STATUS_OK);
    lease_check(server->lease);
    lease_check_promises(server->lease);
    perform_lease(world, server, &effects);
}

/* --- the log ------------------------------------------------------------------------------------ */

/* One sync at a time, of all that is there when it begins. */
static inline void begin_sync(struct world *world, struct server *server)
{
    if (server->syncing || server->disk.durable == server->disk.count) {
        return;
    }
    server->syncing = true;
    bool stalls = chance(world, world->weather.stall_per_mille);
    int64_t takes_ns = some_ns(world, stalls ? 6 * SECOND : world->weather.sync_ns);
    struct event *done = schedule(world, world->now_ns + takes_ns, EVENT_SYNC);
    done->to = server->index;
    done->incarnation = server->incarnation;
    done->count = server->disk.count;
    if (takes_ns > 500 * MS) {
        struct event *stall = schedule(world, world->now_ns + 500 * MS, EVENT_STALL);
        stall->to = server->index;
        stall->incarnation = server->incarnation;
        stall->count = done->count;
    }
}

/* Each record that was synced is told, in the log's order. */
static inline void tell_synced(struct world *world, struct server *server, uint32_t count)
{
    uint64_t synced = 0;
    while (server->told < count) {
        const struct record *record = &server->disk.records[server->told++];
        if (record->kind == RECORD_ENTRY) {
            synced = record->sequence;
        }
        if (synced != 0 && (server->told == count || record->kind != RECORD_ENTRY)) {
            enqueue(world, server, REPLICA_EVENT_SYNCED)->sequence = synced;
            synced = 0;
        }
        if (record->kind == RECORD_CONFIGURATION) {
            (void)enqueue(world, server, REPLICA_EVENT_CONFIGURED);
        } else if (record->kind == RECORD_TAUGHT) {
            struct replica_event *event = enqueue(world, server, REPLICA_EVENT_TEACHING);
            event->from = server->member;
            event->sequence = record->sequence;
            event->version = record->teacher_version;
            event->incarnation = record->teacher;
            struct event said = {.kind = EVENT_TAUGHT,
                                 .from = server->index,
                                 .to = (uint32_t)record->teacher_server - 1,
                                 .from_member = server->member,
                                 .from_incarnation = server->incarnation,
                                 .incarnation = record->teacher,
                                 .version = record->teacher_version,
                                 .sequence = record->sequence};
            transmit(world, &said);
        }
    }
    drain(world, server);
}

/* --- effects ------------------------------------------------------------------------------------ */

static inline uint64_t id_of(const struct replica_entry *entry)
{
    uint64_t id = 0;
    if (entry->payload.size_bytes == sizeof id) {
        memcpy(&id, entry->payload.data, sizeof id);
    }
    return id;
}

static inline void send_message(struct world *world,
                                struct server *server,
                                const struct replica_effect *effect)
{
    check_message(world, server, &effect->message);
    struct event event = {.kind = EVENT_MESSAGE,
                          .from = server->index,
                          .to = (uint32_t)effect->to.server - 1,
                          .from_member = server->member,
                          .to_member = effect->to,
                          .message = effect->message,
                          .id = id_of(&effect->message.entry)};
    event.message.entry.payload = BYTES_EMPTY;
    transmit(world, &event);
    world->yields += effect->message.type == REPLICA_YIELD ? 1 : 0;
    if (effect->message.type == REPLICA_OPEN) {
        uint32_t peer = (uint32_t)effect->to.server - 1;
        bool held = server->held_until_ns[peer] > clock_at(server, world->now_ns);
        tell_held(world, server, peer, held);
    }
}

static inline void append_entry(struct world *world,
                                struct server *server,
                                const struct replica_entry *entry)
{
    MUST(world, entry->sequence < SEQUENCES);
    struct cell cell = {entry->version, id_of(entry)};
    MUST(world, cell.id != 0);
    note_given(world, entry->sequence, cell);
    struct record *record = disk_append(&server->disk, RECORD_ENTRY);
    record->sequence = entry->sequence;
    record->cell = cell;
    record->committed = replica_look(server->replica).committed;
    if (world->planted == PLANTED_SYNCED_EARLY) {
        enqueue(world, server, REPLICA_EVENT_SYNCED)->sequence = entry->sequence;
    }
}

static inline void log_configuration(struct server *server, const struct replica_effect *effect)
{
    struct record *record = disk_append(&server->disk, RECORD_CONFIGURATION);
    record->sequence = effect->sequence;
    record->committed = replica_look(server->replica).committed;
    record->configuration = effect->configuration;
    record->role = effect->role;
    record->flags = effect->flags;
}

/* What the window, or the log, has. */
static inline struct cell cell_at(const struct server *server, uint64_t sequence)
{
    const struct replica_entry *entry = replica_window_find(server->replica, sequence);
    if (entry != NULL && entry->payload.size_bytes > 0) {
        return (struct cell){entry->version, id_of(entry)};
    }
    return server->disk.cells[sequence];
}

static inline void commit(struct world *world, struct server *server, uint64_t sequence)
{
    struct replica_view view = replica_look(server->replica);
    bool acknowledges = (view.acknowledges || world->planted == PLANTED_FEW_ACKNOWLEDGE) &&
                        may_serve_now(world, server);
    uint64_t from = sequence;
    while (from > 1 && replica_window_find(server->replica, from - 1) != NULL) {
        from--;
    }
    for (; from <= sequence; from++) {
        note_committed(world, server, from, cell_at(server, from));
        if (acknowledges && view.role == REPLICA_PRIMARY) {
            note_acknowledged(world, from);
        }
    }
}

static inline void teach(struct world *world,
                         struct server *server,
                         const struct replica_effect *effect)
{
    struct event *event = schedule(world, world->now_ns + some_ns(world, 200 * MS), EVENT_TEACH);
    event->from = server->index;
    event->from_incarnation = server->incarnation;
    event->to = (uint32_t)effect->to.server - 1;
    event->to_member = effect->to;
    event->sequence = effect->sequence;
    event->version = server->disk.configuration.version;
    event->count = ++server->teaching;
}

static inline void ask_log(struct world *world,
                           const struct server *server,
                           const struct replica_effect *effect)
{
    struct event *event = schedule(world, world->now_ns + some_ns(world, MS), EVENT_READ);
    event->to = server->index;
    event->incarnation = server->incarnation;
    event->to_member = effect->to;
    event->sequence = effect->sequence;
}

static inline void propose(struct world *world,
                           const struct server *server,
                           const struct replica_effect *effect)
{
    const struct replica_proposal *proposal = &effect->proposal;
    if (world->planted == PLANTED_NO_RENEWAL &&
        replica_configuration_change(&server->disk.configuration, &proposal->next) ==
            REPLICA_CHANGE_NONE) {
        return;
    }
    if (world->planted == PLANTED_NOBODY_REMOVED &&
        proposal->next.member_count < server->disk.configuration.member_count) {
        return;
    }
    if (chance(world, world->weather.lost_per_mille) || is_isolated(world, server->index)) {
        return;
    }
    bool late = chance(world, world->weather.proposal_late_per_mille);
    int64_t takes_ns = late ? some_ns(world, world->weather.late_ns) : travel_ns(world);
    struct event *event = schedule(world, world->now_ns + takes_ns, EVENT_PROPOSED);
    event->from = server->index;
    event->from_member = server->member;
    event->proposal = *proposal;
}

static inline void perform_one(struct world *world,
                               struct server *server,
                               const struct replica_effect *effect)
{
    struct lease_event promise = {.type = LEASE_EVENT_GRANT,
                                  .peer = effect->to.server,
                                  .version = effect->version,
                                  .incarnation = effect->incarnation};
    switch (effect->type) {
    case REPLICA_EFFECT_SEND:
        send_message(world, server, effect);
        break;
    case REPLICA_EFFECT_APPEND:
        append_entry(world, server, &effect->entry);
        break;
    case REPLICA_EFFECT_CONFIGURE:
        log_configuration(server, effect);
        break;
    case REPLICA_EFFECT_COMMIT:
        commit(world, server, effect->sequence);
        break;
    case REPLICA_EFFECT_LEAD:
        MUST(world, !server->leads);
        server->leads = true;
        world->promotions++;
        break;
    case REPLICA_EFFECT_FOLLOW:
        MUST(world, server->leads);
        server->leads = false;
        break;
    case REPLICA_EFFECT_SERVE:
        world->founded = true;
        server->serving = true;
        server->serving_peers = effect->peers;
        break;
    case REPLICA_EFFECT_CEASE:
        server->serving = world->planted == PLANTED_SERVES_AFTER_YIELD &&
                          replica_look(server->replica).role == REPLICA_PRIMARY;
        break;
    case REPLICA_EFFECT_GRANT:
        check_version(world, server, effect->version);
        step_lease(world, server, promise);
        break;
    case REPLICA_EFFECT_EXCEPT:
        promise.type = LEASE_EVENT_EXCEPT;
        step_lease(world, server, promise);
        break;
    case REPLICA_EFFECT_PROPOSE:
        propose(world, server, effect);
        break;
    case REPLICA_EFFECT_ASK: {
        struct event *event = schedule(world, world->now_ns + travel_ns(world), EVENT_ASKED);
        event->from = server->index;
        break;
    }
    case REPLICA_EFFECT_READ:
        ask_log(world, server, effect);
        break;
    case REPLICA_EFFECT_TEACH:
        teach(world, server, effect);
        break;
    }
}

static inline void perform(struct world *world,
                           struct server *server,
                           const struct replica_effects *effects)
{
    for (uint32_t i = 0; i < effects->count; i++) {
        world->hash = (world->hash ^ (effects->items[i].type + 31 * server->index)) *
                      UINT64_C(0x100000001b3);
        perform_one(world, server, &effects->items[i]);
    }
    begin_sync(world, server);
}

static inline enum status step_replica(struct world *world,
                                       struct server *server,
                                       struct replica_event *event)
{
    static struct replica_effects effects;
    event->now_ns = clock_at(server, world->now_ns);
    enum status status = replica_step(server->replica, event, &effects);
    replica_check(server->replica);
    perform(world, server, &effects);
    return status;
}

/* What one step has caused here, until nothing is left. */
static inline void drain(struct world *world, struct server *server)
{
    for (uint32_t i = 0; i < server->queued; i++) {
        struct replica_event event = server->queue[i];
        MUST(world, step_replica(world, server, &event) == STATUS_OK);
    }
    server->queued = 0;
}

static inline void tell(struct world *world, struct server *server, struct replica_event event)
{
    MUST(world, step_replica(world, server, &event) == STATUS_OK);
    drain(world, server);
}

/* --- lives -------------------------------------------------------------------------------------- */

static inline void recover(struct world *world, struct server *server)
{
    static struct replica_entry window[SEQUENCES];
    static struct replica_effects effects;
    const struct disk *disk = &server->disk;
    struct replica_recovered recovered = {.self = server->member,
                                          .incarnation = server->incarnation,
                                          .configuration = disk->configuration,
                                          .role = disk->role,
                                          .flags = disk->flags,
                                          .committed = disk->committed,
                                          .window = window};
    recovered.committed_version = disk->cells[disk->committed].version;
    recovered.free_from_ns = server->free_from_ns;
    recovered.adopted = world->planted == PLANTED_RESTARTED_GOES_ON;
    if (world->planted == PLANTED_RESTART_FORGETS_GRANTS) {
        recovered.free_from_ns = 0;
    }
    if (world->planted == PLANTED_DOUBT_FORGOTTEN) {
        recovered.flags.doubt_noted = false;
    }
    if (world->planted == PLANTED_LATE_OPEN_DROPS) {
        recovered.flags.opened = false;
    }
    if (world->planted == PLANTED_JOINED_IS_LEARNER && disk->configuration.version != 0 &&
        replica_configuration_find(&disk->configuration, server->member.store) ==
            disk->configuration.member_count &&
        recovered.role == REPLICA_SECONDARY) {
        recovered.role = REPLICA_LEARNER;
    }
    for (uint64_t at = disk->committed + 1; at <= disk->end; at++) {
        window[recovered.window_count++] = (struct replica_entry){
            .sequence = at,
            .version = disk->cells[at].version,
            .payload = bytes_of(&disk->cells[at].id, sizeof(uint64_t))};
    }
    MUST(world, replica_create(&world->settings, &recovered, clock_at(server, world->now_ns),
                               &server->replica, &effects) == STATUS_OK);
    replica_check(server->replica);
    perform(world, server, &effects);
    drain(world, server);
}

/* A life with one setting or the other, which waits for what those before it have promised. */
static inline void start_leases(struct world *world, struct server *server)
{
    bool is_other = world->lease_other != world->lease_stays && prng_chance(&world->lease_prng, 2);
    server->set = is_other ? world->lease_other : world->lease_stays;
    struct lease_settings settings = *server->set;
    int64_t now_ns = clock_at(server, world->now_ns);
    if (world->planted != PLANTED_GRACE_UNNOTED) {
        settings.former_grace_ns = server->noted_grace_ns;
    }
    server->free_from_ns = now_ns + (settings.former_grace_ns != 0 ? settings.former_grace_ns
                                                                   : settings.grace_ns);
    if (server->noted_grace_ns < settings.grace_ns) {
        server->noted_grace_ns = settings.grace_ns;
    }
    MUST(world, lease_create(&settings, server->incarnation, now_ns, &server->lease) == STATUS_OK);
}

/* It ends: what it waited for may be over, and then what is noted is its own. */
static inline void note_grace(const struct world *world, struct server *server)
{
    if (clock_at(server, world->now_ns) >= server->free_from_ns) {
        server->noted_grace_ns = server->set->grace_ns;
    }
}

static inline void start(struct world *world, struct server *server)
{
    server->up = true;
    server->incarnation++;
    start_leases(world, server);
    for (uint32_t i = 0; i < world->server_count; i++) {
        if (i != server->index) {
            step_lease(
                world, server,
                (struct lease_event){.type = LEASE_EVENT_PEER, .peer = i + 1, .present = true});
        }
    }
    recover(world, server);
}

static inline void stop(struct world *world, struct server *server)
{
    note_grace(world, server);
    replica_destroy(server->replica);
    lease_destroy(server->lease);
    server->replica = NULL;
    server->lease = NULL;
    server->up = false;
    server->serving = false;
    server->leads = false;
    server->syncing = false;
    server->stalled = false;
    server->queued = 0;
    server->paused_until_ns = 0;
    memset(server->held_until_ns, 0, sizeof server->held_until_ns);
    memset(server->held, 0, sizeof server->held);
    disk_crash(world, &server->disk);
    server->told = server->disk.count;
    world->dirty = true;
}

#endif /* TESTS_MODEL_REPLICA_SHELL_H */

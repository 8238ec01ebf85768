#include "tests/sim/sim_replica.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tests/sim/sim_lesson.h"
#include "tests/sim/sim_replica_truth.h"
#include "tests/sim/sim_server.h"

/* --- the queue ---------------------------------------------------------------------------------- */

static int64_t clock_of(const struct sim_server *server)
{
    return sim_boot_ns(server->sim, server->node);
}

void sim_replica_tell(struct sim_server *server,
                      struct sim_tablet *tablet,
                      const struct replica_event *event)
{
    struct sim_peers *peers = &server->peers;
    if (peers->queue_count == peers->queue_capacity) {
        peers->queue_capacity = peers->queue_capacity * 2 + 32;
        peers->queue = memory_resize(peers->queue, peers->queue_capacity * sizeof *peers->queue);
        ASSERT(peers->queue != NULL);
    }
    peers->queue[peers->queue_count++] = (struct sim_replica_event){tablet->tablet, tablet->life,
                                                                    *event};
}

/* --- may it? ------------------------------------------------------------------------------------ */

bool sim_replica_may_serve(const struct sim_server *server, const struct sim_tablet *tablet)
{
    const struct sim_copy *copy = &tablet->copy;
    if (!copy->serving) {
        return false;
    }
    for (uint32_t i = 0; i < copy->serving_peers.count; i++) {
        uint64_t node = copy->serving_peers.members[i].server;
        if (server->sim->planted != SIM_PLANTED_LEASE_NOT_LOOKED_AT &&
            server->peers.held_until_ns[node] <= clock_of(server)) {
            return false;
        }
    }
    return true;
}

bool sim_replica_may_acknowledge(const struct sim_server *server, const struct sim_tablet *tablet)
{
    return replica_look(tablet->copy.replica).acknowledges && sim_replica_may_serve(server, tablet);
}

/* --- effects ------------------------------------------------------------------------------------ */

static void send_message(struct sim_server *server,
                         const struct sim_tablet *tablet,
                         const struct replica_effect *effect)
{
    struct buffer *batch = &server->peers.batches[effect->to.server];
    if (batch->size_bytes == 0) {
        replica_batch_begin(
            &(struct replica_batch_head){.from = {server->node, server->disk->store.number},
                                         .incarnation = server->disk->incarnation,
                                         .to_store = effect->to.store},
            batch);
    }
    replica_batch_add(tablet->tablet, &effect->message, batch);
    server->sim->statistics.yields += effect->message.type == REPLICA_YIELD;
}

static void commit(struct sim_server *server, struct sim_tablet *tablet, uint64_t sequence)
{
    uint64_t first = tablet->committed + 1;
    sim_truth_on_committed(server->sim->truth, server, tablet, first, sequence);
    sim_store_commit(&server->store, tablet, sequence);
    if (sim_replica_may_acknowledge(server, tablet) ||
        server->sim->planted == SIM_PLANTED_DEPOSED_ANSWERS) {
        sim_write_committed(server, tablet, sequence);
    } else {
        sim_write_fail(server, tablet, sequence);
    }
}

static void step_lease(struct sim_server *server, const struct lease_event *event);

static void promise(struct sim_server *server,
                    const struct sim_tablet *tablet,
                    const struct replica_effect *effect)
{
    step_lease(server, &(struct lease_event){.type = effect->type == REPLICA_EFFECT_GRANT
                                                         ? LEASE_EVENT_GRANT
                                                         : LEASE_EVENT_EXCEPT,
                                             .peer = effect->to.server,
                                             .tablet = tablet->tablet,
                                             .version = effect->version,
                                             .incarnation = effect->incarnation});
}

static void cease(const struct sim_server *server, struct sim_tablet *tablet)
{
    bool goes_on = server->sim->planted == SIM_PLANTED_SERVES_AFTER_YIELD &&
                   replica_look(tablet->copy.replica).role == REPLICA_PRIMARY;
    tablet->copy.serving = goes_on;
}

/* From what the store has kept of the log. */
static void read_entry(struct sim_server *server,
                       struct sim_tablet *tablet,
                       const struct replica_effect *effect)
{
    const struct sim_pending *record = sim_copy_find(tablet, effect->sequence);
    struct replica_event event = {.type = REPLICA_EVENT_READ,
                                  .from = effect->to,
                                  .sequence = effect->sequence,
                                  .present = record != NULL};
    if (record != NULL) {
        event.entry = (struct replica_entry){
            .sequence = record->sequence,
            .version = record->version,
            .stamp = {record->clock, 1, 0},
            .type = (uint8_t)record->type,
            .payload = arena_copy(&server->arena, buffer_bytes(&record->payload)),
        };
    }
    sim_replica_tell(server, tablet, &event);
}

static void perform(struct sim_server *server,
                    struct sim_tablet *tablet,
                    const struct replica_effect *effect)
{
    struct sim_copy *copy = &tablet->copy;
    switch (effect->type) {
    case REPLICA_EFFECT_SEND:
        send_message(server, tablet, effect);
        if (effect->message.type == REPLICA_OPEN) {
            sim_replica_tell(
                server, tablet,
                &(struct replica_event){.type = REPLICA_EVENT_HELD,
                                        .from = effect->to,
                                        .present = server->peers.held_until_ns[effect->to.server] >
                                                   clock_of(server)});
        }
        break;
    case REPLICA_EFFECT_APPEND:
        sim_store_append_entry(&server->store, tablet, &effect->entry);
        if (server->sim->planted == SIM_PLANTED_REPLICA_SYNCED_EARLY) {
            sim_replica_tell(server, tablet,
                             &(struct replica_event){.type = REPLICA_EVENT_SYNCED,
                                                     .sequence = effect->entry.sequence});
        }
        break;
    case REPLICA_EFFECT_CONFIGURE:
        server->sim->statistics.removals += effect->configuration.member_count <
                                            copy->configuration.member_count;
        sim_store_configure(&server->store, tablet, effect);
        sim_sync_hurry(server);
        break;
    case REPLICA_EFFECT_COMMIT:
        commit(server, tablet, effect->sequence);
        break;
    case REPLICA_EFFECT_LEAD:
        server->sim->statistics.promotions++;
        tablet->reign++;
        sim_store_lead(&server->store, tablet);
        break;
    case REPLICA_EFFECT_FOLLOW:
        sim_store_follow(&server->store, tablet);
        sim_write_fail(server, tablet, UINT64_MAX);
        break;
    case REPLICA_EFFECT_SERVE:
        copy->serving = true;
        copy->serving_peers = effect->peers;
        sim_sync_hurry(server);
        break;
    case REPLICA_EFFECT_CEASE:
        cease(server, tablet);
        break;
    case REPLICA_EFFECT_GRANT:
    case REPLICA_EFFECT_EXCEPT:
        promise(server, tablet, effect);
        break;
    case REPLICA_EFFECT_PROPOSE:
        sim_replica_propose(server, tablet, &effect->proposal);
        break;
    case REPLICA_EFFECT_ASK:
        sim_sync_hurry(server);
        break;
    case REPLICA_EFFECT_READ:
        read_entry(server, tablet, effect);
        break;
    case REPLICA_EFFECT_TEACH:
        sim_lesson_begin(server, tablet, effect->to, effect->sequence);
        break;
    }
}

static void perform_all(struct sim_server *server, struct sim_tablet *tablet)
{
    const struct replica_effects *effects = &server->peers.effects;
    for (uint32_t i = 0; i < effects->count; i++) {
        sim_trace(server->sim, "server %u: tablet %llu effect %d sequence %llu", server->node,
                  (unsigned long long)tablet->tablet, (int)effects->items[i].type,
                  (unsigned long long)effects->items[i].sequence);
        perform(server, tablet, &effects->items[i]);
    }
}

static enum status step(struct sim_server *server,
                        struct sim_tablet *tablet,
                        struct replica_event *event)
{
    event->now_ns = clock_of(server);
    enum status status = replica_step(tablet->copy.replica, event, &server->peers.effects);
    replica_check(tablet->copy.replica);
    perform_all(server, tablet);
    return status;
}

void sim_replica_drain(struct sim_server *server)
{
    struct sim_peers *peers = &server->peers;
    for (uint32_t i = 0; i < peers->queue_count; i++) {
        struct sim_replica_event queued = peers->queue[i];
        struct sim_tablet *tablet = sim_store_find(&server->store, queued.tablet);
        if (tablet != NULL && tablet->life == queued.life) {
            ASSERT(step(server, tablet, &queued.event) == STATUS_OK);
        }
    }
    peers->queue_count = 0;
}

enum status sim_replica_write(struct sim_server *server,
                              struct sim_tablet *tablet,
                              enum record_type type,
                              struct bytes payload,
                              uint64_t clock,
                              uint64_t *ret_sequence)
{
    struct replica_event event = {
        .type = REPLICA_EVENT_WRITE,
        .entry = {.type = (uint8_t)type, .stamp = {clock, 1, 0}, .payload = payload}};
    if (!tablet->copy.leads) {
        return STATUS_NOT_OWNER;
    }
    enum status status = step(server, tablet, &event);
    *ret_sequence = tablet->prepared;
    return status;
}

/* --- what the store tells ----------------------------------------------------------------------- */

void sim_replica_on_synced(void *context, struct sim_tablet *tablet, uint64_t sequence)
{
    struct sim_server *server = context;
    sim_truth_on_durable(server->sim->truth, server, tablet, sequence);
    if (server->sim->planted == SIM_PLANTED_COMMIT_ALONE) {
        sim_write_committed(server, tablet, sequence);
    }
    sim_replica_tell(server, tablet,
                     &(struct replica_event){.type = REPLICA_EVENT_SYNCED, .sequence = sequence});
    sim_replica_drain(server);
}

void sim_replica_on_configured(void *context, struct sim_tablet *tablet)
{
    struct sim_server *server = context;
    sim_replica_tell(server, tablet, &(struct replica_event){.type = REPLICA_EVENT_CONFIGURED});
    sim_replica_drain(server);
}

/* --- leases ------------------------------------------------------------------------------------- */

/* To every replica. */
static void tell_all(struct sim_server *server, const struct replica_event *event)
{
    for (uint32_t i = 0; i < server->store.tablet_count; i++) {
        struct sim_tablet *tablet = server->store.tablets[i];
        if (tablet->copy.replica != NULL) {
            sim_replica_tell(server, tablet, event);
        }
    }
}

static struct replica_member member_of(const struct sim_server *server, uint64_t node)
{
    return (struct replica_member){node, server->sim->disks[node - 1]->store.number};
}

static void hold(struct sim_server *server, uint64_t node, int64_t until_ns)
{
    struct sim_peers *peers = &server->peers;
    peers->held_until_ns[node] = until_ns;
    bool held = until_ns > clock_of(server);
    if (held != peers->held[node]) {
        sim_trace(server->sim, "server %u: %s the lease of %llu", server->node,
                  held ? "holds" : "has lost", (unsigned long long)node);
        peers->held[node] = held;
        tell_all(server, &(struct replica_event){.type = REPLICA_EVENT_HELD,
                                                 .from = member_of(server, node),
                                                 .present = held});
    }
}

static void send_beacon(struct sim_server *server, const struct lease_effect *effect)
{
    struct buffer out = BUFFER_INIT;
    bool is_beacon = effect->type == LEASE_EFFECT_BEACON;
    if (is_beacon) {
        lease_beacon_encode(server->node, &effect->beacon, &out);
    } else {
        lease_acknowledgement_encode(&effect->acknowledgement, &out);
    }
    sim_effects_send(server->effects, (uint32_t)effect->peer,
                     is_beacon ? FRAME_REQUEST : FRAME_RESPONSE, METHOD_BEACON, 0, &out);
}

static void tell_of_lease(struct sim_server *server,
                          const struct lease_effect *effect,
                          enum replica_event_type type)
{
    struct replica_event event = {.type = type,
                                  .from = member_of(server, effect->peer),
                                  .version = effect->version,
                                  .incarnation = effect->incarnation,
                                  .at_ns = effect->at_ns};
    struct sim_tablet *tablet = sim_store_find(&server->store, effect->tablet);
    if (type == REPLICA_EVENT_PEER_RESTARTED) {
        tell_all(server, &event);
    } else if (tablet != NULL && tablet->copy.replica != NULL) {
        sim_replica_tell(server, tablet, &event);
    }
}

static void perform_lease(struct sim_server *server, const struct lease_effect *effect)
{
    switch (effect->type) {
    case LEASE_EFFECT_BEACON:
    case LEASE_EFFECT_ACKNOWLEDGE:
        send_beacon(server, effect);
        break;
    case LEASE_EFFECT_HELD_UNTIL:
        hold(server, effect->peer, effect->at_ns);
        break;
    case LEASE_EFFECT_EXCEPTED_BY_PEER:
        if (server->sim->planted != SIM_PLANTED_EXCEPTION_UNHEARD) {
            tell_of_lease(server, effect, REPLICA_EVENT_EXCEPTED_BY_PEER);
        }
        break;
    case LEASE_EFFECT_PEER_RESTARTED:
        hold(server, effect->peer, 0);
        tell_of_lease(server, effect, REPLICA_EVENT_PEER_RESTARTED);
        break;
    case LEASE_EFFECT_EXCEPTED:
        tell_of_lease(server, effect, REPLICA_EVENT_EXCEPTED);
        break;
    case LEASE_EFFECT_SILENT:
        tell_of_lease(server, effect, REPLICA_EVENT_SILENT);
        break;
    }
}

static void step_lease(struct sim_server *server, const struct lease_event *event)
{
    struct lease_effects effects;
    struct lease_event now = *event;
    now.now_ns = clock_of(server);
    ASSERT(lease_step(server->peers.lease, &now, &effects) == STATUS_OK);
    lease_check(server->peers.lease);
    for (uint32_t i = 0; i < effects.count; i++) {
        perform_lease(server, &effects.items[i]);
    }
}

/* --- what arrives ------------------------------------------------------------------------------- */

static void take_beacon(struct sim_server *server, const struct sim_message *message)
{
    struct lease_event event = {.peer = message->from};
    struct error error = {.status = STATUS_OK};
    uint64_t number = 0;
    enum status status = STATUS_OK;
    if (message->type == FRAME_REQUEST) {
        event.type = LEASE_EVENT_BEACON;
        status = lease_beacon_decode(message->payload, &number, &event.beacon, &error);
    } else {
        event.type = LEASE_EVENT_ACKNOWLEDGEMENT;
        status = lease_acknowledgement_decode(message->payload, &server->arena,
                                              &event.acknowledgement, &error);
    }
    if (status != STATUS_OK) {
        sim_fail(server->sim, "a beacon does not decode: %s", error.text);
        return;
    }
    step_lease(server, &event);
}

static void receive(struct sim_server *server,
                    struct replica_member from,
                    const struct replica_item *item)
{
    struct sim_tablet *tablet = sim_store_find(&server->store, item->tablet);
    const struct replica_message *message = &item->message;
    if (tablet == NULL) {
        /* One that shall learn begins with nothing; a member that has nothing is not made here. */
        const struct sim_known *known = sim_replica_known(server, item->tablet);
        if (known != NULL && message->type == REPLICA_OPEN && message->as_learner) {
            sim_replica_create(server, known, &(struct replica_configuration){.version = 0});
        }
        return;
    }
    if (message->type == REPLICA_OPEN) {
        tablet->copy.opener = message->incarnation;
    }
    sim_replica_tell(
        server, tablet,
        &(struct replica_event){.type = REPLICA_EVENT_RECEIVE, .from = from, .message = *message});
}

static void take_batch(struct sim_server *server, const struct sim_message *message)
{
    struct replica_batch batch;
    struct error error = {.status = STATUS_OK};
    if (replica_batch_decode(message->payload, &server->arena, &batch, &error) != STATUS_OK) {
        sim_fail(server->sim, "a batch does not decode: %s", error.text);
        return;
    }
    for (size_t i = 0; i < batch.item_count; i++) {
        receive(server, batch.head.from, &batch.items[i]);
    }
}

void sim_peers_take(struct sim_server *server, const struct sim_message *message)
{
    if (message->method == METHOD_BEACON) {
        take_beacon(server, message);
    } else {
        take_batch(server, message);
    }
    sim_replica_drain(server);
}

/* --- time --------------------------------------------------------------------------------------- */

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t deadline_ns(const struct sim_server *server)
{
    int64_t due_ns = lease_deadline_ns(server->peers.lease);
    for (uint32_t node = 1; node <= server->sim->settings.server_count; node++) {
        if (server->peers.held[node]) {
            due_ns = sooner(due_ns, server->peers.held_until_ns[node]);
        }
    }
    for (uint32_t i = 0; i < server->store.tablet_count; i++) {
        const struct sim_tablet *tablet = server->store.tablets[i];
        if (tablet->copy.replica != NULL) {
            due_ns = sooner(due_ns, replica_deadline_ns(tablet->copy.replica));
        }
    }
    return due_ns;
}

void sim_peers_tick(struct sim_server *server)
{
    struct sim_peers *peers = &server->peers;
    int64_t now_ns = clock_of(server);
    peers->timer_ns = INT64_MAX;
    for (uint32_t node = 1; node <= server->sim->settings.server_count; node++) {
        if (peers->held[node] && peers->held_until_ns[node] <= now_ns) {
            hold(server, node, 0);
        }
    }
    if (lease_deadline_ns(peers->lease) <= now_ns) {
        step_lease(server, &(struct lease_event){.type = LEASE_EVENT_TICK});
    }
    for (uint32_t i = 0; i < server->store.tablet_count; i++) {
        struct sim_tablet *tablet = server->store.tablets[i];
        if (tablet->copy.replica != NULL && replica_deadline_ns(tablet->copy.replica) <= now_ns) {
            sim_replica_tell(server, tablet, &(struct replica_event){.type = REPLICA_EVENT_TICK});
        }
    }
    sim_replica_drain(server);
}

void sim_peers_end_step(struct sim_server *server)
{
    struct sim_peers *peers = &server->peers;
    sim_replica_drain(server);
    for (uint32_t node = 1; node <= server->sim->settings.server_count; node++) {
        if (peers->batches[node].size_bytes > 0) {
            sim_effects_send(server->effects, node, FRAME_REQUEST, METHOD_REPLICATE, 0,
                             &peers->batches[node]);
            buffer_init(&peers->batches[node]);
        }
    }
    int64_t due_ns = deadline_ns(server);
    if (due_ns != INT64_MAX && due_ns < peers->timer_ns) {
        peers->timer_ns = due_ns;
        peers->timer++;
        sim_effects_timer(server->effects, peers->timer * SIM_TIMER_KINDS + SIM_TIMER_PEERS,
                          sim_boot_delay_ns(server->sim, server->node, due_ns));
    }
}

/* --- life --------------------------------------------------------------------------------------- */

static struct replica_settings settings_of(const struct sim *sim)
{
    return (struct replica_settings){
        .resend_ns = 200 * SIM_MS,
        .alone_ns = 5000 * SIM_MS,
        .commit_idle_ns = 20 * SIM_MS,
        .open_timeout_ns = 500 * SIM_MS,
        .prepare_timeout_ns = 3 * SIM_S,
        .propose_ns = SIM_S,
        .stagger_ns = 500 * SIM_MS,
        .window_bytes_max = sim->settings.window_bytes_max,
        .min_in_sync = sim->settings.min_in_sync,
    };
}

static struct replica_entry *window_of(struct sim_server *server,
                                       const struct sim_tablet *tablet,
                                       uint32_t *ret_count)
{
    size_t count = (size_t)(tablet->prepared - tablet->committed);
    struct replica_entry *window = arena_allocate_array(&server->arena, count + 1, sizeof *window);
    *ret_count = 0;
    for (const struct sim_pending *record = tablet->first; record != NULL; record = record->next) {
        window[(*ret_count)++] = (struct replica_entry){.sequence = record->sequence,
                                                        .version = record->version,
                                                        .stamp = {record->clock, 1, 0},
                                                        .type = (uint8_t)record->type,
                                                        .payload = buffer_bytes(&record->payload)};
    }
    ASSERT(*ret_count == count);
    return window;
}

void sim_replica_begin(struct sim_server *server, struct sim_tablet *tablet)
{
    struct sim_copy *copy = &tablet->copy;
    enum sim_planted planted = server->sim->planted;
    struct replica_settings settings = settings_of(server->sim);
    struct replica_recovered recovered = {
        .self = {server->node, server->disk->store.number},
        .incarnation = server->disk->incarnation,
        .configuration = copy->configuration,
        .role = copy->role,
        .flags = copy->flags,
        .adopted = copy->adopted ||
                   (planted == SIM_PLANTED_RESTARTED_GOES_ON && copy->configuration.version != 0),
        .free_from_ns = server->peers.begun_ns + SIM_GRACE_NS,
        .committed = tablet->committed,
        .committed_version = copy->committed_version,
    };
    recovered.window = window_of(server, tablet, &recovered.window_count);
    if (planted == SIM_PLANTED_LATE_OPEN_DROPS) {
        recovered.flags.opened = false;
    }
    sim_truth_on_recovered(server->sim->truth, server, tablet);
    ASSERT(replica_create(&settings, &recovered, clock_of(server), &copy->replica,
                          &server->peers.effects) == STATUS_OK);
    replica_check(copy->replica);
    perform_all(server, tablet);
}

void sim_peers_start(struct sim_server *server)
{
    const struct lease_settings settings = {.beacon_ns = 250 * SIM_MS,
                                            .lease_ns = SIM_LEASE_NS,
                                            .grace_ns = SIM_GRACE_NS,
                                            .drift_ppm = 50000};
    struct sim_peers *peers = &server->peers;
    peers->begun_ns = clock_of(server);
    peers->timer_ns = INT64_MAX;
    ASSERT(lease_create(&settings, server->disk->incarnation, peers->begun_ns, &peers->lease) ==
           STATUS_OK);
    for (uint32_t node = 1; node <= server->sim->settings.server_count; node++) {
        if (node != server->node) {
            step_lease(server, &(struct lease_event){
                                   .type = LEASE_EVENT_PEER, .peer = node, .present = true});
        }
    }
    for (uint32_t i = 0; i < server->store.tablet_count; i++) {
        sim_replica_begin(server, server->store.tablets[i]);
    }
    sim_replica_drain(server);
}

void sim_peers_destroy(struct sim_server *server)
{
    lease_destroy(server->peers.lease);
    memory_free(server->peers.queue);
    for (uint32_t node = 0; node <= SIM_SERVERS_MAX; node++) {
        buffer_deinit(&server->peers.batches[node]);
    }
}

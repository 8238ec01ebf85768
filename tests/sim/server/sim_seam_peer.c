#include "common/base/assert.h"
#include "tabletserver/replica/lease_message.h"
#include "tests/sim/server/sim_host.h"
#include "tests/sim/server/sim_server.h"

/*
 * What production's host is linked with here in place of tabletserver/peer and of the machine's clock; and
 * the seam where bugs are planted into what a replica is told and says.
 */

/* --- time --------------------------------------------------------------------------------------- */

static struct sim_server *current; /* one thread */

void sim_seam_enter(struct sim_server *server)
{
    current = server;
}

/* The linker puts these in place of those without the prefix (--wrap). */
int64_t __wrap_clock_monotonic_ns(void);
enum status __wrap_replica_create(const struct replica_settings *settings,
                                  const struct replica_recovered *recovered,
                                  int64_t now_ns,
                                  struct replica **ret_replica,
                                  struct replica_effects *ret_effects);
enum status __wrap_replica_step(struct replica *replica,
                                const struct replica_event *event,
                                struct replica_effects *ret_effects);
enum status __real_replica_create(const struct replica_settings *settings,
                                  const struct replica_recovered *recovered,
                                  int64_t now_ns,
                                  struct replica **ret_replica,
                                  struct replica_effects *ret_effects);
enum status __real_replica_step(struct replica *replica,
                                const struct replica_event *event,
                                struct replica_effects *ret_effects);

int64_t __wrap_clock_monotonic_ns(void)
{
    return sim_boot_ns(current->sim, current->node);
}

/* --- the replica -------------------------------------------------------------------------------- */

enum status __wrap_replica_create(const struct replica_settings *settings,
                                  const struct replica_recovered *recovered,
                                  int64_t now_ns,
                                  struct replica **ret_replica,
                                  struct replica_effects *ret_effects)
{
    enum sim_planted planted = current->sim->planted;
    struct replica_recovered given = *recovered;
    if (planted == SIM_PLANTED_RESTARTED_GOES_ON && given.configuration.version != 0) {
        given.adopted = true;
    } else if (planted == SIM_PLANTED_GRANTS_FORGOTTEN) {
        given.flags.bound = false;
        given.free_from_ns = 0;
    }
    enum status status = __real_replica_create(settings, &given, now_ns, ret_replica, ret_effects);
    if (status == STATUS_OK) {
        replica_check(*ret_replica);
    }
    return status;
}

static bool is_kept_back(const struct replica *replica, const struct replica_effect *effect)
{
    return current->sim->planted == SIM_PLANTED_SERVES_AFTER_YIELD &&
           effect->type == REPLICA_EFFECT_CEASE && replica_look(replica).role == REPLICA_PRIMARY;
}

static void keep_back(const struct replica *replica, struct replica_effects *effects)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < effects->count; i++) {
        const struct replica_effect *effect = &effects->items[i];
        sim_trace(current->sim, "server %u: effect %d sequence %llu", current->node,
                  (int)effect->type, (unsigned long long)effect->sequence);
        if (effect->type == REPLICA_EFFECT_LEAD) {
            current->sim->statistics.promotions++;
        }
        if (!is_kept_back(replica, effect)) {
            effects->items[count++] = *effect;
        }
    }
    effects->count = count;
}

enum status __wrap_replica_step(struct replica *replica,
                                const struct replica_event *event,
                                struct replica_effects *ret_effects)
{
    enum status status = __real_replica_step(replica, event, ret_effects);
    replica_check(replica);
    keep_back(replica, ret_effects);
    return status;
}

/* --- lanes -------------------------------------------------------------------------------------- */

static void send_batch(struct sim_server *server, uint64_t node)
{
    struct buffer *batch = &server->peers.batches[node];
    if (batch->size_bytes > 0) {
        sim_effects_send(server->effects, (uint32_t)node, FRAME_REQUEST, METHOD_REPLICATE, 0,
                         batch);
        buffer_init(batch);
    }
}

void sim_seam_flush_lanes(struct sim_server *server)
{
    for (uint32_t node = 1; node <= server->sim->settings.server_count; node++) {
        send_batch(server, node);
    }
}

/* Let go at the end of the step. */
void lanes_flush(struct lanes *lanes)
{
    (void)lanes;
}

bool lanes_send(struct lanes *lanes,
                uint64_t from_store,
                struct replica_member to,
                uint64_t tablet,
                const struct replica_message *message)
{
    struct sim_server *server = (struct sim_server *)(void *)lanes;
    struct sim_peers *peers = &server->peers;
    struct buffer *batch = &peers->batches[to.server];
    if (sim_buggify(server->sim, SIM_SITE_OUTBOX_FULL)) {
        return false;
    }
    if (batch->size_bytes > 0 && (peers->batch_stores[to.server] != to.store ||
                                  peers->batch_from[to.server] != from_store)) {
        send_batch(server, to.server);
    }
    if (batch->size_bytes == 0) {
        peers->batch_from[to.server] = from_store;
        peers->batch_stores[to.server] = to.store;
        replica_batch_begin(&(struct replica_batch_head){.from = {server->node, from_store},
                                                         .incarnation = server->disk->incarnation,
                                                         .to_store = to.store},
                            batch);
    }
    sim_trace(server->sim,
              "server %u: tablet %llu says %d to %llu: version %llu sequence %llu committed %llu%s",
              server->node, (unsigned long long)tablet, (int)message->type,
              (unsigned long long)to.server, (unsigned long long)message->version,
              (unsigned long long)(message->type == REPLICA_PREPARE ? message->entry.sequence
                                                                    : message->sequence),
              (unsigned long long)message->committed, message->as_learner ? ", as learner" : "");
    replica_batch_add(tablet, message, batch);
    ASSERT(!batch->failed);
    server->sim->statistics.yields += message->type == REPLICA_YIELD;
    return true;
}

/* --- beacons ------------------------------------------------------------------------------------ */

static bool post(struct beacons *beacons, const struct sim_promise *promise)
{
    struct sim_server *server = (struct sim_server *)(void *)beacons;
    struct sim_peers *peers = &server->peers;
    if (peers->mailbox_count == SIM_MAILBOX_MAX ||
        sim_buggify(server->sim, SIM_SITE_MAILBOX_FULL)) {
        return false;
    }
    peers->mailbox[peers->mailbox_count++] = *promise;
    return true;
}

bool beacons_grant(
    struct beacons *beacons, uint64_t peer, uint64_t incarnation, uint64_t tablet, uint64_t version)
{
    return post(beacons, &(struct sim_promise){.peer = peer,
                                               .incarnation = incarnation,
                                               .tablet = tablet,
                                               .version = version});
}

bool beacons_except(struct beacons *beacons, uint64_t peer, uint64_t tablet, uint64_t version)
{
    return post(beacons, &(struct sim_promise){
                             .except = true, .peer = peer, .tablet = tablet, .version = version});
}

const struct lease_end *beacons_lease_end(struct beacons *beacons, uint64_t peer)
{
    return &((struct sim_server *)(void *)beacons)->peers.ends[peer];
}

static void send_beacon(struct sim_server *server, const struct lease_effect *effect)
{
    struct buffer out = BUFFER_INIT;
    bool is_beacon = effect->type == LEASE_EFFECT_BEACON;
    if (sim_buggify(server->sim, SIM_SITE_BEACON_UNSENT)) {
        return;
    }
    if (is_beacon) {
        lease_beacon_encode(server->node, &effect->beacon, &out);
    } else {
        struct lease_acknowledgement acknowledgement = effect->acknowledgement;
        if (server->sim->planted == SIM_PLANTED_EXCEPTION_UNSAID) {
            acknowledgement.exception_count = 0;
        }
        lease_acknowledgement_encode(&acknowledgement, &out);
    }
    sim_effects_send(server->effects, (uint32_t)effect->peer,
                     is_beacon ? FRAME_REQUEST : FRAME_RESPONSE, METHOD_BEACON, 0, &out);
}

/* Leases are of pairs of servers: all stores hear. */
static void hear(const struct sim_server *server, const struct lease_effect *effect)
{
    for (uint32_t i = 0; i < server->loop_count; i++) {
        host_hear(server->loops[i]->host, effect);
    }
}

static void perform(struct sim_server *server, const struct lease_effect *effect)
{
    struct lease_end *end = &server->peers.ends[effect->peer];
    switch (effect->type) {
    case LEASE_EFFECT_BEACON:
    case LEASE_EFFECT_ACKNOWLEDGE:
        send_beacon(server, effect);
        break;
    case LEASE_EFFECT_HELD_UNTIL:
        atomic_store(&end->until_ns, effect->at_ns);
        break;
    case LEASE_EFFECT_CONFIRMED:
        atomic_store(&end->confirmed, effect->asked);
        break;
    case LEASE_EFFECT_PEER_RESTARTED: /* what was held is void, also for what it opens anew */
        if (server->sim->planted == SIM_PLANTED_RESTART_UNHEARD) {
            break;
        }
        atomic_store(&end->until_ns, 0);
        hear(server, effect);
        break;
    case LEASE_EFFECT_NOT_GIVEN:
    case LEASE_EFFECT_SHORTENED:
        sim_trace(server->sim, "server %u: a lease of %lld ms does not fit a grace of %lld ms",
                  server->node, (long long)(effect->lease_ns / SIM_MS),
                  (long long)(effect->grace_ns / SIM_MS));
        break;
    case LEASE_EFFECT_EXCEPTED_BY_PEER:
    case LEASE_EFFECT_EXCEPTED:
    case LEASE_EFFECT_SILENT:
        hear(server, effect);
        break;
    }
}

void sim_seam_step_lease(struct sim_server *server, const struct lease_event *event)
{
    struct lease_effects effects;
    struct lease_event now = *event;
    now.now_ns = sim_boot_ns(server->sim, server->node);
    ASSERT(lease_step(server->peers.lease, &now, &effects) == STATUS_OK);
    lease_check(server->peers.lease);
    if (server->disk->store_count == 1) {
        lease_check_promises(server->peers.lease);
    }
    for (uint32_t i = 0; i < effects.count; i++) {
        perform(server, &effects.items[i]);
    }
}

void sim_seam_take_mailbox(struct sim_server *server)
{
    struct sim_peers *peers = &server->peers;
    for (uint32_t i = 0; i < peers->mailbox_count; i++) {
        const struct sim_promise *promise = &peers->mailbox[i];
        sim_seam_step_lease(
            server,
            &(struct lease_event){.type = promise->except ? LEASE_EVENT_EXCEPT : LEASE_EVENT_GRANT,
                                  .peer = promise->peer,
                                  .tablet = promise->tablet,
                                  .version = promise->version,
                                  .incarnation = promise->incarnation});
    }
    peers->mailbox_count = 0;
}

#include "tests/sim/server/sim_host.h"

#include "common/base/assert.h"
#include "tabletserver/replica/lease_message.h"
#include "tests/sim/checker/sim_replica_truth.h"
#include "tests/sim/server/sim_confirm.h"
#include "tests/sim/server/sim_server.h"
#include "tests/sim/world/sim_leases.h"

#define ENDLESS_NS  (1000 * SIM_S)
#define LATENESS_NS (400 * SIM_MS)
#define ROUNDS_MAX  8 /* of a step: what a round asks of the beacon thread is answered in the next */

static int64_t clock_of(const struct sim_server *server)
{
    return sim_boot_ns(server->sim, server->node);
}

/* What a store or its host calls is called with its loop. */
static struct sim_server *server_of(void *context)
{
    return ((const struct sim_loop *)context)->server;
}

static struct host *host_of(void *context)
{
    return ((const struct sim_loop *)context)->host;
}

/* --- may it? ------------------------------------------------------------------------------------ */

bool sim_host_may_serve(const struct sim_server *server, const struct sim_tablet *tablet)
{
    if (tablet->copy.hosted == NULL) {
        return false;
    }
    return server->sim->planted == SIM_PLANTED_LEASE_NOT_LOOKED_AT
               ? host_look(sim_stored(tablet)).serving
               : serving_holds(host_serving(sim_stored(tablet)), clock_of(server));
}

enum status sim_host_may_answer(const struct sim_server *server, const struct sim_tablet *tablet)
{
    if (tablet->copy.hosted == NULL) {
        return STATUS_NOT_OWNER;
    }
    if (server->sim->planted == SIM_PLANTED_LEASE_NOT_LOOKED_AT &&
        host_look(sim_stored(tablet)).acknowledges) {
        return STATUS_OK;
    }
    return host_may_answer(sim_stored(tablet), clock_of(server));
}

/* --- what the store tells ----------------------------------------------------------------------- */

enum status sim_host_on_append(void *context,
                               struct sim_tablet *tablet,
                               const struct store_entry *entry)
{
    return host_on_append(host_of(context), sim_stored(tablet), entry);
}

void sim_host_on_appended(void *context, struct sim_tablet *tablet, const struct store_entry *entry)
{
    host_on_appended(host_of(context), sim_stored(tablet), entry);
}

void sim_host_on_synced(void *context, struct sim_tablet *tablet, uint64_t sequence)
{
    struct sim_server *server = server_of(context);
    sim_truth_on_durable(server->sim->truth, server, tablet, sequence);
    if (server->sim->planted == SIM_PLANTED_COMMIT_ALONE) {
        sim_write_committed(server, tablet, sequence);
    }
    host_on_synced(host_of(context), sim_stored(tablet), sequence);
}

void sim_host_on_configured(void *context, struct sim_tablet *tablet)
{
    host_on_configured(host_of(context), sim_stored(tablet));
}

void sim_host_on_taught(void *context, struct sim_tablet *tablet)
{
    const struct sim_server *server = server_of(context);
    sim_truth_on_taught(server->sim->truth, server, tablet);
    host_on_taught(host_of(context), sim_stored(tablet), STATUS_OK);
}

void sim_host_on_commits(void *context, struct sim_tablet *tablet, uint64_t first, uint64_t last)
{
    const struct sim_server *server = server_of(context);
    for (uint64_t at = first; tablet->copy.alone && at <= last; at++) {
        sim_truth_on_durable(server->sim->truth, server, tablet, at);
    }
    sim_truth_on_committed(server->sim->truth, server, tablet, first, last);
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
    if (server->sim->planted == SIM_PLANTED_UNFIT_LEASE_GIVEN) {
        event.beacon.lease_ns = 1;
        event.acknowledgement.grace_ns = ENDLESS_NS;
    }
    sim_seam_step_lease(server, &event);
}

void sim_host_take(struct sim_server *server, const struct sim_message *message)
{
    struct replica_batch batch;
    struct error error = {.status = STATUS_OK};
    if (message->method == METHOD_BEACON) {
        take_beacon(server, message);
        return;
    }
    if (replica_batch_decode(message->payload, &server->arena, &batch, &error) != STATUS_OK) {
        sim_fail(server->sim, "a batch does not decode: %s", error.text);
        return;
    }
    const struct sim_loop *loop = sim_loop_of_store(server, batch.head.to_store);
    if (loop != NULL) { /* else it is for a disk that is no more */
        host_receive(loop->host, &batch);
    }
}

/* --- rounds ------------------------------------------------------------------------------------- */

void sim_host_tick(struct sim_server *server)
{
    server->peers.timer_ns = INT64_MAX;
    sim_leases_settle(server->sim, server->node);
    if (lease_deadline_ns(server->peers.lease) <= clock_of(server)) {
        sim_seam_step_lease(server, &(struct lease_event){.type = LEASE_EVENT_TICK});
    }
}

static void set_timer(struct sim_server *server)
{
    struct sim_peers *peers = &server->peers;
    int64_t lease_ns = lease_deadline_ns(peers->lease);
    int64_t due_ns = lease_ns;
    for (uint32_t i = 0; i < server->loop_count; i++) {
        int64_t loop_ns = host_deadline_ns(server->loops[i]->host);
        due_ns = loop_ns < due_ns ? loop_ns : due_ns;
    }
    if (due_ns != INT64_MAX && due_ns < peers->timer_ns) {
        peers->timer_ns = due_ns;
        peers->timer++;
        int64_t late_ns = sim_buggify(server->sim, SIM_SITE_THREAD_LATE) ? LATENESS_NS : 0;
        sim_effects_timer(server->effects, peers->timer * SIM_TIMER_KINDS + SIM_TIMER_PEERS,
                          sim_boot_delay_ns(server->sim, server->node, due_ns) + late_ns);
    }
}

/* As look_whether_left() in serve/loop/store_loop_round.c: in each round, of whatever is there now. */
static void look_whether_leaving(const struct sim_loop *loop)
{
    const struct sim_server *server = loop->server;
    if (server->leaving && server->sim->planted != SIM_PLANTED_LEAVES_WITHOUT_A_WORD) {
        host_leave(loop->host);
    }
}

uint32_t sim_host_leads_count(const struct sim_server *server)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < server->loop_count; i++) {
        count += host_leads_count(server->loops[i]->host);
    }
    return count;
}

static void round_of_all(const struct sim_server *server)
{
    for (uint32_t i = 0; i < server->loop_count; i++) {
        look_whether_leaving(server->loops[i]);
        host_round(server->loops[i]->host);
    }
}

void sim_host_end_step(struct sim_server *server)
{
    if (server->sim->planted == SIM_PLANTED_REPLICA_SYNCED_EARLY) {
        for (uint32_t i = 0; i < server->loop_count; i++) {
            sim_store_tell_synced(&server->loops[i]->store, UINT64_MAX);
        }
    }
    sim_confirm_look(server);
    for (int i = 0; i < ROUNDS_MAX && (i == 0 || server->peers.mailbox_count > 0); i++) {
        sim_seam_take_mailbox(server);
        round_of_all(server);
        sim_write_end(server); /* what waited for a tablet that is another one now */
    }
    sim_seam_flush_lanes(server);
    set_timer(server);
}

/* --- tablets ------------------------------------------------------------------------------------ */

static uint32_t min_in_sync(const struct sim_server *server, const struct sim_tablet *tablet)
{
    const struct table *schema = sim_server_schema(server, tablet->table);
    return schema != NULL && schema->min_in_sync > 0 &&
                   server->sim->planted != SIM_PLANTED_MIN_IN_SYNC_IGNORED
               ? schema->min_in_sync
               : 1;
}

void sim_host_add(const struct sim_loop *loop, struct sim_tablet *tablet)
{
    sim_truth_on_recovered(loop->server->sim->truth, loop->server, tablet);
    ASSERT(host_add(loop->host, sim_stored(tablet), min_in_sync(loop->server, tablet)) ==
           STATUS_OK);
}

bool sim_host_may_remove(struct sim_tablet *tablet, uint64_t configuration)
{
    return !sim_loop_of(tablet)->server->replicates ||
           host_may_remove(sim_stored(tablet), configuration);
}

void sim_host_remove(struct sim_tablet *tablet)
{
    host_drop(sim_loop_of(tablet)->host, sim_stored(tablet));
}

static void refresh(const struct sim_loop *loop)
{
    for (uint32_t i = 0; i < loop->store.tablet_count; i++) {
        const struct sim_tablet *tablet = loop->store.tablets[i];
        if (tablet->copy.hosted != NULL) {
            host_set_min_in_sync(sim_stored(tablet), min_in_sync(loop->server, tablet));
        }
    }
}

void sim_host_refresh(struct sim_server *server)
{
    for (uint32_t i = 0; i < server->loop_count; i++) {
        refresh(server->loops[i]);
    }
}

static bool is_calm(const struct sim_loop *loop)
{
    for (uint32_t i = 0; i < loop->store.tablet_count; i++) {
        const struct sim_tablet *tablet = loop->store.tablets[i];
        if (tablet->copy.hosted != NULL) {
            const struct replica_view view = host_look(sim_stored(tablet));
            if (view.role == REPLICA_PRIMARY && view.barrier != 0 && !view.gone) {
                return false;
            }
        }
    }
    return true;
}

bool sim_host_is_calm(const struct sim_server *server)
{
    bool calm = true;
    for (uint32_t i = 0; i < server->loop_count; i++) {
        calm = calm && is_calm(server->loops[i]);
    }
    return calm;
}

static void trace_loop(const struct sim_loop *loop)
{
    const struct sim_server *server = loop->server;
    for (uint32_t i = 0; i < loop->store.tablet_count; i++) {
        const struct sim_tablet *tablet = loop->store.tablets[i];
        if (tablet->copy.hosted == NULL) {
            continue;
        }
        const struct replica_view view = host_look(sim_stored(tablet));
        sim_trace(
            server->sim,
            "server %u, store %llu: tablet %llu version %llu role %d trouble %d%s, committed %llu synced "
            "%llu appended %llu start %llu barrier %llu learners %u; store: committed %llu "
            "appended %llu%s%s%s%s%s",
            server->node, (unsigned long long)loop->store.disk->number,
            (unsigned long long)tablet->tablet, (unsigned long long)view.configuration.version,
            (int)view.role, (int)view.trouble, view.serving ? ", serves" : "",
            (unsigned long long)view.committed, (unsigned long long)view.synced,
            (unsigned long long)view.appended, (unsigned long long)view.start,
            (unsigned long long)view.barrier, view.learners, (unsigned long long)tablet->committed,
            (unsigned long long)tablet->prepared, tablet->copy.alone ? ", alone" : "",
            tablet->copy.leads ? ", leads" : "",
            tablet->copy.learning.learning ? ", half taught" : "", tablet->rotten ? ", rotten" : "",
            tablet->cut ? ", cut" : "");
        if (tablet->copy.learning.learning) {
            sim_trace(server->sim, "  taught up to %llu%s%s, %u frozen",
                      (unsigned long long)tablet->copy.learning.hold_until,
                      tablet->copy.learning.busy ? ", busy" : "",
                      tablet->copy.learning.first ? ", begins anew" : "", tablet->frozen_count);
        }
    }
}

void sim_host_trace(const struct sim_server *server)
{
    for (uint32_t i = 0; i < server->loop_count; i++) {
        trace_loop(server->loops[i]);
    }
}

/* --- life --------------------------------------------------------------------------------------- */

static void add_all(const struct sim_loop *loop)
{
    for (uint32_t i = 0; i < loop->store.tablet_count; i++) {
        if (!loop->store.tablets[i]->hidden) {
            sim_host_add(loop, loop->store.tablets[i]);
        }
    }
}

void sim_host_start(struct sim_server *server)
{
    struct lease_settings leases;
    struct sim_peers *peers = &server->peers;
    peers->timer_ns = INT64_MAX;
    sim_leases_start(server->sim, server->node, &leases);
    for (uint32_t i = 0; i < server->loop_count; i++) {
        const struct host_options options = sim_host_options(server->loops[i], &leases);
        ASSERT(host_create(&options, &server->loops[i]->host) == STATUS_OK);
    }
    ASSERT(lease_create(&leases, server->disk->incarnation, clock_of(server), &peers->lease) ==
           STATUS_OK);
    for (uint32_t node = 1; node <= server->sim->settings.server_count; node++) {
        if (node != server->node) {
            sim_seam_step_lease(
                server,
                &(struct lease_event){.type = LEASE_EVENT_PEER, .peer = node, .present = true});
        }
    }
    for (uint32_t i = 0; i < server->loop_count; i++) {
        add_all(server->loops[i]);
    }
}

void sim_host_destroy(struct sim_server *server)
{
    for (uint32_t i = 0; i < server->loop_count; i++) {
        host_destroy(server->loops[i]->host);
    }
    sim_host_discard_readings(server);
    sim_confirm_destroy(server);
    lease_destroy(server->peers.lease);
    for (uint32_t node = 0; node <= SIM_SERVERS_MAX; node++) {
        buffer_deinit(&server->peers.batches[node]);
    }
}

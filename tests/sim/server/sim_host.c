#include "tests/sim/server/sim_host.h"

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/replica/lease_message.h"
#include "tests/sim/checker/sim_replica_truth.h"
#include "tests/sim/server/sim_confirm.h"
#include "tests/sim/server/sim_server.h"
#include "tests/sim/world/sim_leases.h"
#include "tests/sim/world/sim_rot.h"

#define ENDLESS_NS      (1000 * SIM_S)
#define SLOW_READING_NS (3 * SIM_S)
#define LATENESS_NS     (400 * SIM_MS)
#define ROUNDS_MAX      8 /* of a step: what a round asks of the beacon thread is answered in the next */

static int64_t clock_of(const struct sim_server *server)
{
    return sim_boot_ns(server->sim, server->node);
}

static struct sim_tablet *of(const struct store_tablet *tablet)
{
    return (struct sim_tablet *)(void *)tablet;
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

/* --- what the host calls ------------------------------------------------------------------------ */

static void wake(void *context)
{
    (void)context; /* there is a round at the end of each step */
}

/* Planted: what a barrier says is done when it is committed, whatever the catalog says. */
static void convert_without_a_word(struct sim_server *server, struct store_tablet *tablet)
{
    enum sim_planted planted = server->sim->planted;
    const struct replica_configuration *members = &of(tablet)->copy.held.members;
    struct record_split split;
    struct record_absorb absorb;
    struct store_entry barrier;
    if (!store_tablet_barrier(tablet, &barrier)) {
        return;
    }
    if (planted == SIM_PLANTED_CONVERT_AT_COMMIT && barrier.type == RECORD_SPLIT) {
        ASSERT(store_tablet_last_split(tablet, &barrier, &split));
        (void)host_convert(sim_loop_of(of(tablet))->host, tablet, split.left_tablet, members);
    } else if (planted == SIM_PLANTED_MERGE_AT_ABSORB && barrier.type == RECORD_ABSORB) {
        ASSERT(store_tablet_last_absorb(tablet, &barrier, &absorb));
        (void)host_convert(sim_loop_of(of(tablet))->host, tablet, absorb.merged_tablet, members);
    }
}

static void on_committed(void *context,
                         struct store_tablet *tablet,
                         uint64_t sequence,
                         bool answers)
{
    struct sim_server *server = server_of(context);
    if (answers || server->sim->planted == SIM_PLANTED_DEPOSED_ANSWERS) {
        sim_write_committed(server, of(tablet), sequence);
    } else {
        sim_write_fail(server, of(tablet), sequence);
    }
    convert_without_a_word(server, tablet);
}

static void on_ceased(void *context, struct store_tablet *tablet)
{
    of(tablet)->reign++;
    sim_write_fail(server_of(context), of(tablet), UINT64_MAX);
}

static void on_changed(void *context, struct store_tablet *tablet, const struct serving_view *view)
{
    struct sim_server *server = server_of(context);
    const struct replica_configuration *members = &of(tablet)->copy.held.members;
    sim_trace(server->sim, "server %u: tablet %llu version %llu role %d%s, %u members",
              server->node, (unsigned long long)of(tablet)->tablet,
              (unsigned long long)view->version, (int)view->role, view->leads ? ", leads" : "",
              members->member_count);
    sim_sync_hurry(server);
}

static int64_t now_us(void *context)
{
    const struct sim_server *server = server_of(context);
    return sim_wall_us(server->sim, server->node);
}

static bool is_cut_off(void *context)
{
    return !server_of(context)->is_connected;
}

static void on_ask(void *context, uint64_t tablet)
{
    struct sim_server *server = server_of(context);
    assignment_list_tell_again(server->assignments, tablet);
    sim_sync_hurry(server);
}

static void on_converted(void *context,
                         struct store_tablet *gone,
                         struct store_tablet *const children[2])
{
    struct sim_server *server = server_of(context);
    for (int i = 0; i < 2; i++) {
        sim_truth_on_recovered(server->sim->truth, server, of(children[i]));
    }
    sim_trace(server->sim, "server %u: tablet %llu is %llu and %llu", server->node,
              (unsigned long long)of(gone)->tablet, (unsigned long long)of(children[0])->tablet,
              (unsigned long long)of(children[1])->tablet);
    sim_write_was_split(server, of(gone), of(children[0]), of(children[1]));
    sim_sync_hurry(server);
}

static void on_merged(void *context,
                      struct store_tablet *const gone[2],
                      struct store_tablet *merged)
{
    struct sim_server *server = server_of(context);
    sim_truth_on_recovered(server->sim->truth, server, of(merged));
    sim_trace(server->sim, "server %u: tablets %llu and %llu are %llu", server->node,
              (unsigned long long)of(gone[0])->tablet, (unsigned long long)of(gone[1])->tablet,
              (unsigned long long)of(merged)->tablet);
    sim_write_was_merged(server, (struct sim_tablet *const[2]){of(gone[0]), of(gone[1])},
                         of(merged));
    sim_sync_hurry(server);
}

/* --- readings ----------------------------------------------------------------------------------- */

/* On a thread that may wait, in production. */
struct sim_reading {
    struct sim_reading *next;
    uint64_t number;
    struct sim_tablet *tablet; /* with a reference */
    struct replica_member to;
    uint64_t sequence;
    struct host_reading_slice *slice; /* one of these, or an entry of the log */
    struct host_digesting *digesting;
};

static struct sim_reading *start_reading(struct sim_server *server, struct store_tablet *tablet)
{
    struct sim_peers *peers = &server->peers;
    struct sim_reading *reading = memory_allocate_zeroed(1, sizeof *reading);
    ASSERT(reading != NULL);
    reading->tablet = of(tablet);
    sim_tablet_ref(reading->tablet);
    reading->number = ++peers->reading_next;
    reading->next = peers->readings;
    peers->readings = reading;
    int64_t takes_ns = sim_about_ns(server->sim, server->sim->settings.reading_mean_ns);
    takes_ns += sim_buggify(server->sim, SIM_SITE_READING_SLOW) ? SLOW_READING_NS : 0;
    sim_effects_timer(server->effects, reading->number * SIM_TIMER_KINDS + SIM_TIMER_READING,
                      takes_ns);
    return reading;
}

static void on_read(void *context,
                    struct store_tablet *tablet,
                    uint64_t sequence,
                    struct replica_member to)
{
    struct sim_reading *reading = start_reading(server_of(context), tablet);
    reading->sequence = sequence;
    reading->to = to;
}

static bool on_slice(void *context, struct store_tablet *tablet, struct host_reading_slice *slice)
{
    start_reading(server_of(context), tablet)->slice = slice;
    return true;
}

static void on_digest(void *context, struct store_tablet *tablet, struct host_digesting *digesting)
{
    start_reading(server_of(context), tablet)->digesting = digesting;
}

/* sim_digest.c: what can be read is the same everywhere, but for what had expired when a rule was relaxed; whether it
 * is only that is sim_replica_truth.c's to see. */
static void on_differ(void *context,
                      struct store_tablet *tablet,
                      const struct scrub *scrub,
                      const struct scrub_effect *effect)
{
    struct sim_server *server = server_of(context);
    (void)scrub;
    server->sim->statistics.differences++;
    if (server->sim->rules.changes) {
        return;
    }
    sim_fail(server->sim, "server %u: copies of tablet %llu are said to differ, that of store %llu",
             server->node, (unsigned long long)of(tablet)->tablet,
             (unsigned long long)effect->store);
}

static void free_reading(struct sim_reading *reading)
{
    sim_tablet_unref(reading->tablet);
    memory_free(reading);
}

static void hand_out(struct sim_server *server, const struct sim_reading *reading)
{
    const struct sim_pending *record = sim_copy_find(reading->tablet, reading->sequence);
    struct host *host = sim_loop_of(reading->tablet)->host;
    if (record == NULL || sim_rot_log_hides(reading->tablet->store, record->position) ||
        sim_buggify(server->sim, SIM_SITE_ENTRY_UNREAD)) {
        host_read(host, sim_stored(reading->tablet), reading->to, reading->sequence, NULL);
        return;
    }
    const struct store_entry entry = {
        .sequence = record->sequence,
        .version = record->version,
        .stamp = {record->clock, 1, 0},
        .type = (uint8_t)record->type,
        .payload = arena_copy(&server->arena, buffer_bytes(&record->payload))};
    host_read(host, sim_stored(reading->tablet), reading->to, reading->sequence, &entry);
}

void sim_host_was_read(struct sim_server *server, uint64_t number)
{
    struct sim_reading **link = &server->peers.readings;
    while (*link != NULL && (*link)->number != number) {
        link = &(*link)->next;
    }
    struct sim_reading *reading = *link;
    ASSERT(reading != NULL);
    *link = reading->next;
    struct host *host = sim_loop_of(reading->tablet)->host;
    if (reading->slice != NULL) {
        host_slice_read(reading->slice);
        host_sliced(host, reading->slice);
    } else if (reading->digesting != NULL) {
        host_digest_run(reading->digesting);
        host_digested(host, reading->digesting);
    } else {
        hand_out(server, reading);
    }
    free_reading(reading);
}

static void discard_readings(struct sim_server *server)
{
    while (server->peers.readings != NULL) {
        struct sim_reading *reading = server->peers.readings;
        server->peers.readings = reading->next;
        if (reading->slice != NULL) {
            host_slice_discard(reading->slice);
        } else if (reading->digesting != NULL) {
            host_digest_discard(reading->digesting);
        }
        free_reading(reading);
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

bool sim_host_may_remove(struct sim_tablet *tablet, const struct assignment_action *action)
{
    return !sim_loop_of(tablet)->server->replicates ||
           host_may_remove(sim_stored(tablet), action->assigned->configuration.version);
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

/* A lesson that nobody answers is given up at last, which makes up for much that was not heard: what hides a planted bug is
 * off. */
static int64_t teach_patience_ns(const struct sim_server *server)
{
    return server->sim->planted == SIM_PLANTED_RESTART_UNHEARD
               ? ENDLESS_NS
               : server->sim->settings.teach_patience_ns;
}

static struct host_options options_of(struct sim_loop *loop, const struct lease_settings *leases)
{
    struct sim_server *server = loop->server;
    const struct sim_settings *drawn = &server->sim->settings;
    return (struct host_options){
        .store = (struct store *)(void *)&loop->store,
        .self = {server->node, loop->store.disk->number},
        .incarnation = server->disk->incarnation,
        .free_from_ns = clock_of(server) + leases->former_grace_ns,
        .settings = {.resend_ns = 200 * SIM_MS,
                     .commit_idle_ns = 20 * SIM_MS,
                     .open_timeout_ns = 500 * SIM_MS,
                     .prepare_timeout_ns = 3 * SIM_S,
                     .last_ns = drawn->last_ns,
                     .propose_ns = SIM_S,
                     .stagger_ns = 500 * SIM_MS,
                     .settle_ns = leases->grace_ns + 100 * SIM_MS,
                     .alone_ns = 5 * SIM_S,
                     .window_bytes_max = drawn->window_bytes_max},
        .teach = {.resend_ns = 500 * SIM_MS,
                  .patience_ns = teach_patience_ns(server),
                  .hold_ns = 2 * SIM_S,
                  .bytes_per_second = drawn->teach_bytes_a_second},
        .learn_timeout_ns = drawn->learn_timeout_ns,
        .scrub = {.period_ns = drawn->compare_period_ns,
                  .range_bytes = drawn->compare_range_bytes,
                  .patience_ns = SIM_S,
                  .resend_ns = 200 * SIM_MS},
        .windows_bytes_max = 4 * drawn->window_bytes_max,
        .beacons = (struct beacons *)(void *)server,
        .lanes = (struct lanes *)(void *)server,
        .context = loop,
        .wake = wake,
        .on_committed = on_committed,
        .on_ceased = on_ceased,
        .on_changed = on_changed,
        .on_propose = sim_host_propose,
        .on_ask = on_ask,
        .on_read = on_read,
        .on_converted = on_converted,
        .on_merged = on_merged,
        .on_slice = on_slice,
        .on_digest = on_digest,
        .on_differ = on_differ,
        .is_cut_off = is_cut_off,
        .now_us = now_us,
    };
}

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
        const struct host_options options = options_of(server->loops[i], &leases);
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
    discard_readings(server);
    sim_confirm_destroy(server);
    lease_destroy(server->peers.lease);
    for (uint32_t node = 0; node <= SIM_SERVERS_MAX; node++) {
        buffer_deinit(&server->peers.batches[node]);
    }
}

/* What the hosts of a simulated server's stores call: their options, and what they have read. */
#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tests/sim/checker/sim_replica_truth.h"
#include "tests/sim/server/sim_host.h"
#include "tests/sim/server/sim_server.h"
#include "tests/sim/world/sim_rot.h"

#define ENDLESS_NS      (1000 * SIM_S)
#define SLOW_READING_NS (3 * SIM_S)

/* What a store or its host calls is called with its loop. */
static struct sim_server *server_of(void *context)
{
    return ((const struct sim_loop *)context)->server;
}

static void wake(void *context)
{
    (void)context; /* there is a round at the end of each step */
}

/* Planted: what a barrier says is done when it is committed, whatever the catalog says. */
static void convert_without_a_word(struct sim_server *server, struct store_tablet *tablet)
{
    enum sim_planted planted = server->sim->planted;
    const struct replica_configuration *members = &sim_tablet_of(tablet)->copy.held.members;
    struct record_split split;
    struct record_absorb absorb;
    struct store_entry barrier;
    if (!store_tablet_barrier(tablet, &barrier)) {
        return;
    }
    if (planted == SIM_PLANTED_CONVERT_AT_COMMIT && barrier.type == RECORD_SPLIT) {
        ASSERT(store_tablet_last_split(tablet, &barrier, &split));
        (void)host_convert(sim_loop_of(sim_tablet_of(tablet))->host, tablet, split.left_tablet,
                           members);
    } else if (planted == SIM_PLANTED_MERGE_AT_ABSORB && barrier.type == RECORD_ABSORB) {
        ASSERT(store_tablet_last_absorb(tablet, &barrier, &absorb));
        (void)host_convert(sim_loop_of(sim_tablet_of(tablet))->host, tablet, absorb.merged_tablet,
                           members);
    }
}

static void on_committed(void *context,
                         struct store_tablet *tablet,
                         uint64_t sequence,
                         bool answers)
{
    struct sim_server *server = server_of(context);
    if (answers || server->sim->planted == SIM_PLANTED_DEPOSED_ANSWERS) {
        sim_write_committed(server, sim_tablet_of(tablet), sequence);
    } else {
        sim_write_fail(server, sim_tablet_of(tablet), sequence);
    }
    convert_without_a_word(server, tablet);
}

static void on_ceased(void *context, struct store_tablet *tablet)
{
    sim_tablet_of(tablet)->reign++;
    sim_write_fail(server_of(context), sim_tablet_of(tablet), UINT64_MAX);
}

static void on_changed(void *context, struct store_tablet *tablet, const struct serving_view *view)
{
    struct sim_server *server = server_of(context);
    const struct replica_configuration *members = &sim_tablet_of(tablet)->copy.held.members;
    sim_trace(server->sim, "server %u: tablet %llu version %llu role %d%s, %u members",
              server->node, (unsigned long long)sim_tablet_of(tablet)->tablet,
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
        sim_truth_on_recovered(server->sim->truth, server, sim_tablet_of(children[i]));
    }
    sim_trace(server->sim, "server %u: tablet %llu is %llu and %llu", server->node,
              (unsigned long long)sim_tablet_of(gone)->tablet,
              (unsigned long long)sim_tablet_of(children[0])->tablet,
              (unsigned long long)sim_tablet_of(children[1])->tablet);
    sim_write_was_split(server, sim_tablet_of(gone), sim_tablet_of(children[0]),
                        sim_tablet_of(children[1]));
    sim_sync_hurry(server);
}

static void on_merged(void *context,
                      struct store_tablet *const gone[2],
                      struct store_tablet *merged)
{
    struct sim_server *server = server_of(context);
    sim_truth_on_recovered(server->sim->truth, server, sim_tablet_of(merged));
    sim_trace(server->sim, "server %u: tablets %llu and %llu are %llu", server->node,
              (unsigned long long)sim_tablet_of(gone[0])->tablet,
              (unsigned long long)sim_tablet_of(gone[1])->tablet,
              (unsigned long long)sim_tablet_of(merged)->tablet);
    sim_write_was_merged(
        server, (struct sim_tablet *const[2]){sim_tablet_of(gone[0]), sim_tablet_of(gone[1])},
        sim_tablet_of(merged));
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
    reading->tablet = sim_tablet_of(tablet);
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
             server->node, (unsigned long long)sim_tablet_of(tablet)->tablet,
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

void sim_host_discard_readings(struct sim_server *server)
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

/* --- options ------------------------------------------------------------------------------------ */

/* A lesson that nobody answers is given up at last, which makes up for much that was not heard: what hides a planted bug is
 * off. */
static int64_t teach_patience_ns(const struct sim_server *server)
{
    return server->sim->planted == SIM_PLANTED_RESTART_UNHEARD
               ? ENDLESS_NS
               : server->sim->settings.teach_patience_ns;
}

struct host_options sim_host_options(struct sim_loop *loop, const struct lease_settings *leases)
{
    struct sim_server *server = loop->server;
    const struct sim_settings *drawn = &server->sim->settings;
    return (struct host_options){
        .store = (struct store *)(void *)&loop->store,
        .self = {server->node, loop->store.disk->number},
        .incarnation = server->disk->incarnation,
        .free_from_ns = sim_boot_ns(server->sim, server->node) + leases->former_grace_ns,
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

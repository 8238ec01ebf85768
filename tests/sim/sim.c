#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/memory.h"
#include "tests/sim/checker/sim_checker.h"
#include "tests/sim/checker/sim_replica_truth.h"
#include "tests/sim/client/sim_admin.h"
#include "tests/sim/client/sim_client.h"
#include "tests/sim/master/sim_etcd.h"
#include "tests/sim/master/sim_master.h"
#include "tests/sim/server/sim_server.h"
#include "tests/sim/world/sim_draw.h"
#include "tests/sim/world/sim_faults.h"
#include "tests/sim/world/sim_freeze.h"
#include "tests/sim/world/sim_late.h"
#include "tests/sim/world/sim_leave.h"
#include "tests/sim/world/sim_network.h"
#include "tests/sim/world/sim_phases.h"
#include "tests/sim/world/sim_quorum.h"
#include "tests/sim/world/sim_rot.h"

#define WALL_BASE_US   INT64_C(1700000000000000)
#define BOOT_BASE_NS   (1000 * SIM_S)
#define WALL_STEP_US   1000 /* of clocks that are not skewed: sim_faults.c */
#define CHECK_INTERVAL 64   /* events between two looks into the stores */
#define EVENTS_MAX     UINT64_C(3000000)
#define MILLION        1000000
#define FIRST_STORE    UINT64_C(100)   /* number of the first server's first one */
#define STORES_APART   UINT64_C(10000) /* of a server: between them are those of wiped disks */

/* --- small things ------------------------------------------------------------------------------- */

void sim_fail(struct sim *sim, const char *format, ...)
{
    va_list arguments;
    if (sim->failed) {
        return;
    }
    sim->failed = true;
    va_start(arguments, format);
    (void)vsnprintf(sim->failure, sizeof sim->failure, format, arguments);
    va_end(arguments);
}

void sim_trace(struct sim *sim, const char *format, ...)
{
    va_list arguments;
    if (!sim->trace) {
        return;
    }
    (void)printf("%12.6f ", (double)sim->now_ns / 1e9);
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    (void)putchar('\n');
}

bool sim_chance(struct sim *sim, uint32_t per_million)
{
    return per_million > 0 && prng_below(&sim->prng, MILLION) < per_million;
}

int64_t sim_about_ns(struct sim *sim, int64_t mean_ns)
{
    uint64_t mean = mean_ns < 10 ? 10 : (uint64_t)mean_ns;
    uint64_t about = mean / 10 + prng_below(&sim->prng, mean * 9 / 5);
    return (int64_t)(prng_chance(&sim->prng, 30) ? about * 6 : about);
}

int64_t sim_true_us(const struct sim *sim)
{
    return WALL_BASE_US + sim->now_ns / 1000;
}

int64_t sim_wall_us(const struct sim *sim, uint32_t node)
{
    return sim_true_us(sim) + sim->nodes[node].wall_offset_us;
}

int64_t sim_wall_error_us(const struct sim *sim)
{
    return sim->settings.clock_skew_us + WALL_STEP_US;
}

int64_t sim_boot_ns(const struct sim *sim, uint32_t node)
{
    int64_t gone_ns = sim->now_ns - sim_freeze_ns(sim, node);
    __int128 gained_ns = (__int128)gone_ns * sim->settings.rate_ppm[node] / MILLION;
    return BOOT_BASE_NS + gone_ns + (int64_t)gained_ns;
}

int64_t sim_boot_delay_ns(const struct sim *sim, uint32_t node, int64_t boot_ns)
{
    int64_t shown_ns = sim_boot_ns(sim, node);
    int64_t left_ns = boot_ns > shown_ns ? boot_ns - shown_ns : 0;
    int64_t delay_ns = left_ns - left_ns / 1000000 * sim->settings.rate_ppm[node];
    return delay_ns > 1000 ? delay_ns : 1000;
}

bool sim_is_server(const struct sim *sim, uint32_t node)
{
    return node >= 1 && node <= sim->settings.server_count;
}

bool sim_is_master(const struct sim *sim, uint32_t node)
{
    return node == SIM_MASTER || node == sim_admin_node(sim) + 1;
}

uint32_t sim_master_node(const struct sim *sim, uint32_t master)
{
    return master == 0 ? SIM_MASTER : sim_admin_node(sim) + master;
}

uint32_t sim_other_master(const struct sim *sim, uint32_t node)
{
    return sim_master_node(sim, node == SIM_MASTER ? sim->settings.masters - 1 : 0);
}

uint32_t sim_admin_node(const struct sim *sim)
{
    return 1 + sim->settings.server_count + sim->settings.client_count;
}

static bool is_mortal(const struct sim *sim, uint32_t node)
{
    return sim_is_master(sim, node) || sim_is_server(sim, node);
}

/* Its place among the masters. */
static struct sim_master **master_of(struct sim *sim, uint32_t node)
{
    return &sim->masters[node == SIM_MASTER ? 0 : 1];
}

const struct sim_master *sim_master_of(const struct sim *sim, uint32_t node)
{
    return sim->masters[node == SIM_MASTER ? 0 : 1];
}

static struct sim_client *client_of(const struct sim *sim, uint32_t node)
{
    return sim->clients[node - 1 - sim->settings.server_count];
}

uint32_t sim_node_of_address(struct bytes address)
{
    char text[16] = "";
    size_t prefix = strlen("sim://");
    ASSERT(address.size_bytes > prefix && address.size_bytes - prefix < sizeof text);
    memcpy(text, address.data + prefix, address.size_bytes - prefix);
    return (uint32_t)strtoul(text, NULL, 10);
}

/* --- effects ------------------------------------------------------------------------------------ */

void sim_effects_add(struct sim_effects *effects, const struct sim_effect *effect)
{
    if (effects->count == effects->capacity) {
        effects->capacity = effects->capacity * 2 + 16;
        effects->items = memory_resize(effects->items, effects->capacity * sizeof *effects->items);
        ASSERT(effects->items != NULL);
    }
    effects->items[effects->count++] = *effect;
}

void sim_effects_send(struct sim_effects *effects,
                      uint32_t to,
                      enum frame_type type,
                      enum method method,
                      uint64_t request,
                      struct buffer *message)
{
    sim_effects_add(effects,
                    &(struct sim_effect){
                        .kind = SIM_EFFECT_SEND,
                        .to = to,
                        .frame = {.type = type, .method = (uint16_t)method, .request = request},
                        .message = *message,
                    });
}

void sim_effects_timer(struct sim_effects *effects, uint64_t number, int64_t delay_ns)
{
    sim_effects_add(effects, &(struct sim_effect){
                                 .kind = SIM_EFFECT_TIMER, .number = number, .delay_ns = delay_ns});
}

static void expect(
    struct sim *sim, uint32_t node, enum sim_event_kind kind, uint64_t number, int64_t delay_ns)
{
    sim_heap_add(&sim->heap, &(struct sim_event){.time_ns = sim->now_ns + delay_ns,
                                                 .kind = kind,
                                                 .node = node,
                                                 .life = sim->nodes[node].life,
                                                 .number = number});
}

/* Of a disk that stands still. */
static int64_t left_of_stall_ns(const struct sim *sim, uint32_t node, uint64_t store)
{
    int64_t until_ns = sim->nodes[node].stalled_until_ns[store];
    return until_ns > sim->now_ns ? until_ns - sim->now_ns : 0;
}

static void perform_one(struct sim *sim, uint32_t node, const struct sim_effect *effect)
{
    const struct sim_settings *settings = &sim->settings;
    switch (effect->kind) {
    case SIM_EFFECT_SEND:
        sim_network_send(sim, node, effect);
        break;
    case SIM_EFFECT_TIMER:
        expect(sim, node, SIM_EVENT_TIMER, effect->number, effect->delay_ns);
        break;
    case SIM_EFFECT_LOG:
        sim_log_write(&sim->servers[node - 1]->loops[effect->number]->store.log);
        expect(sim, node, SIM_EVENT_DISK_LOG, effect->number,
               sim_about_ns(sim, settings->sync_mean_ns) +
                   left_of_stall_ns(sim, node, effect->number));
        break;
    case SIM_EFFECT_BASE:
        expect(sim, node, SIM_EVENT_DISK_BASE, effect->number,
               sim_about_ns(sim, settings->base_mean_ns));
        break;
    case SIM_EFFECT_COMMIT:
        sim_master_commit(*master_of(sim, node));
        break;
    case SIM_EFFECT_ASK:
        sim_master_ask(*master_of(sim, node));
        break;
    }
}

/* In order; a kill may fall between any two, and the rest never happens. */
void sim_perform(struct sim *sim, uint32_t node)
{
    struct sim_effects *effects = &sim->effects;
    bool mortal = !sim->quiet && is_mortal(sim, node);
    uint32_t last = mortal && effects->count > 0 && sim_chance(sim, sim->settings.kill_in_step)
                        ? (uint32_t)prng_below(&sim->prng, effects->count)
                        : effects->count;
    for (uint32_t i = 0; i < effects->count; i++) {
        if (i < last) {
            perform_one(sim, node, &effects->items[i]);
        } else if (effects->items[i].kind == SIM_EFFECT_SEND) {
            buffer_deinit(&effects->items[i].message);
        }
    }
    bool killed = last < effects->count;
    effects->count = 0;
    if (killed) {
        sim_kill(sim, node, sim_chance(sim, sim->settings.power_cut));
    }
}

/* --- lives -------------------------------------------------------------------------------------- */

void sim_kill(struct sim *sim, uint32_t node, bool power_cut)
{
    ASSERT(sim->nodes[node].alive && is_mortal(sim, node));
    sim_trace(sim, "node %u is killed%s", node, power_cut ? ", its power cut" : "");
    sim->nodes[node].alive = false;
    sim->nodes[node].paused_until_ns = 0;
    sim_freeze_end(sim, node);
    sim->statistics.kills++;
    sim->statistics.power_cuts += power_cut;
    if (sim_is_master(sim, node)) {
        sim_master_kill(*master_of(sim, node));
        *master_of(sim, node) = NULL;
        sim_etcd_orphan(sim);
    } else {
        sim_server_kill(sim->servers[node - 1], power_cut);
        sim->servers[node - 1] = NULL;
    }
    sim_heap_add(&sim->heap,
                 &(struct sim_event){
                     .time_ns = sim->now_ns + sim_about_ns(sim, sim->settings.restart_mean_ns),
                     .kind = SIM_EVENT_RESTART,
                     .node = node,
                     .life = sim->nodes[node].life,
                 });
}

/* Numbers of stores are on the disk: it comes back as another one. */
void sim_wipe(struct sim *sim, uint32_t node, uint32_t store)
{
    struct sim_store_disk *disk = &sim->disks[node - 1]->stores[store];
    uint64_t number = disk->number + SIM_SERVERS_MAX;
    ASSERT(!sim->nodes[node].alive);
    sim_trace(sim, "the disk of server %u is wiped: store %llu", node, (unsigned long long)number);
    sim_store_disk_deinit(disk);
    sim_store_disk_init(disk, number);
    sim->statistics.wipes++;
}

void sim_start(struct sim *sim, uint32_t node)
{
    ASSERT(!sim->nodes[node].alive);
    if (sim_is_server(sim, node)) {
        sim_rot_log_start(sim, node);
    }
    sim->nodes[node].alive = true;
    sim->nodes[node].life++;
    sim_trace(sim, "node %u starts", node);
    if (sim_is_master(sim, node)) {
        *master_of(sim, node) = sim_master_create(sim, node);
        sim_master_start(*master_of(sim, node), &sim->effects);
    } else if (sim_is_server(sim, node)) {
        sim->servers[node - 1] = sim_server_create(sim, node, sim->disks[node - 1]);
        sim_server_start(sim->servers[node - 1], &sim->effects);
    } else if (node == sim_admin_node(sim)) {
        sim_admin_start(sim->admin, &sim->effects);
    } else {
        sim_client_start(client_of(sim, node), &sim->effects);
    }
    sim_perform(sim, node);
}

static void create_world(struct sim *sim)
{
    const struct sim_settings *settings = &sim->settings;
    sim->node_count = sim_admin_node(sim) + settings->masters;
    sim->coordinator = sim_master_coordinator_create(sim);
    sim->etcd = sim_etcd_create();
    sim->checker = sim_checker_create(sim);
    sim->truth = sim_truth_create(sim);
    for (uint32_t i = 0; i < sim->node_count && settings->clock_skew_us > 0; i++) {
        sim->nodes[i].wall_offset_us = (int64_t)prng_below(&sim->prng,
                                                           (uint64_t)settings->clock_skew_us);
    }
    for (uint32_t i = 0; i < settings->server_count; i++) {
        sim->disks[i] = memory_allocate_zeroed(1, sizeof *sim->disks[i]);
        ASSERT(sim->disks[i] != NULL);
        sim->disks[i]->store_count = settings->stores[i];
        for (uint32_t k = 0; k < settings->stores[i]; k++) {
            sim_store_disk_init(&sim->disks[i]->stores[k], FIRST_STORE + k * STORES_APART + i);
        }
    }
    for (uint32_t i = 0; i < settings->client_count; i++) {
        sim->clients[i] = sim_client_create(sim, 1 + settings->server_count + i);
    }
    sim->admin = sim_admin_create(sim, sim_admin_node(sim));
    for (uint32_t i = 0; i < sim->node_count; i++) {
        sim_start(sim, i);
    }
    sim_heap_add(&sim->heap, &(struct sim_event){.time_ns = 100 * SIM_MS, .kind = SIM_EVENT_FAULT});
}

static void destroy_world(struct sim *sim)
{
    for (uint32_t i = 0; i < SIM_MASTERS_MAX; i++) {
        if (sim->masters[i] != NULL) {
            sim_master_kill(sim->masters[i]);
        }
    }
    for (uint32_t i = 0; i < sim->settings.server_count; i++) {
        if (sim->servers[i] != NULL) {
            sim_server_kill(sim->servers[i], false);
        }
        for (uint32_t k = 0; k < sim->disks[i]->store_count; k++) {
            sim_store_disk_deinit(&sim->disks[i]->stores[k]);
        }
        buffer_deinit(&sim->disks[i]->schemas);
        memory_free(sim->disks[i]);
    }
    for (uint32_t i = 0; i < sim->settings.client_count; i++) {
        sim_client_destroy(sim->clients[i]);
    }
    sim_admin_destroy(sim->admin);
    sim_checker_destroy(sim->checker);
    sim_truth_destroy(sim->truth);
    sim_etcd_destroy(sim->etcd);
    coordinator_close(sim->coordinator);
    sim_heap_deinit(&sim->heap);
    memory_free(sim->effects.items);
}

/* --- events ------------------------------------------------------------------------------------- */

static void on_message(struct sim *sim, const struct sim_event *event)
{
    struct sim_message message;
    if (!sim->nodes[event->node].alive || !sim_network_open(sim, event, &message)) {
        return;
    }
    sim_trace(sim, "%u -> %u: frame type %d method %d request %llu, %zu bytes", event->from,
              event->node, (int)message.type, (int)message.method,
              (unsigned long long)message.request, message.payload.size_bytes);
    if (sim_is_master(sim, event->node)) {
        sim_master_on_message(*master_of(sim, event->node), &message, &sim->effects);
    } else if (sim_is_server(sim, event->node)) {
        sim_server_on_message(sim->servers[event->node - 1], &message, &sim->effects);
    } else if (event->node == sim_admin_node(sim)) {
        sim_admin_on_message(sim->admin, &message, &sim->effects);
    } else {
        sim_client_on_message(client_of(sim, event->node), &message, &sim->effects);
    }
}

static void on_timer(struct sim *sim, const struct sim_event *event)
{
    if (sim_is_master(sim, event->node)) {
        sim_master_on_timer(*master_of(sim, event->node), event->number, &sim->effects);
    } else if (sim_is_server(sim, event->node)) {
        sim_server_on_timer(sim->servers[event->node - 1], event->number, &sim->effects);
    } else if (event->node == sim_admin_node(sim)) {
        sim_admin_on_timer(sim->admin, event->number, &sim->effects);
    } else {
        sim_client_on_timer(client_of(sim, event->node), event->number, &sim->effects);
    }
}

static void dispatch(struct sim *sim, const struct sim_event *event)
{
    switch (event->kind) {
    case SIM_EVENT_MESSAGE:
        on_message(sim, event);
        break;
    case SIM_EVENT_TIMER:
        on_timer(sim, event);
        break;
    case SIM_EVENT_DISK_LOG:
        sim_server_on_log_synced(sim->servers[event->node - 1], event->number, &sim->effects);
        break;
    case SIM_EVENT_DISK_BASE:
        sim_server_on_base_committed(sim->servers[event->node - 1], event->number, &sim->effects);
        break;
    case SIM_EVENT_COMMITTED:
        sim_master_on_committed(*master_of(sim, event->node), event->number, &sim->effects);
        break;
    case SIM_EVENT_ELECTION:
        sim_master_on_election(*master_of(sim, event->node), event, &sim->effects);
        break;
    case SIM_EVENT_FAULT:
    case SIM_EVENT_RESTART:
    case SIM_EVENT_LATE:
    case SIM_EVENT_LEAVE:
    case SIM_EVENT_COMMIT:
    case SIM_EVENT_QUESTION:
    case SIM_EVENT_KILL:
        UNREACHABLE();
    }
    sim_perform(sim, event->node);
}

/* Of another life, or of a node that is down. */
static bool is_void(const struct sim *sim, const struct sim_event *event)
{
    const struct sim_node *node = &sim->nodes[event->node];
    return event->life != 0 && (event->life != node->life || !node->alive);
}

static void hash_event(struct sim *sim, const struct sim_event *event)
{
    uint64_t numbers[] = {sim->hash,     (uint64_t)event->time_ns, event->kind, event->node,
                          event->number, event->message.size_bytes};
    sim->hash = checksum64(numbers, sizeof numbers, 0);
    if (event->message.size_bytes > 0) {
        sim->hash = checksum64(event->message.data, event->message.size_bytes, sim->hash);
    }
}

/* Crashes that follow each other closely find what recovery forgot to make sure of. */
static void restart(struct sim *sim, const struct sim_event *event)
{
    const struct sim_node *node = &sim->nodes[event->node];
    if (node->alive || node->life != event->life || sim_quorum_is_away(sim, event->node)) {
        return;
    }
    sim_start(sim, event->node);
    if (sim->nodes[event->node].alive && sim_chance(sim, sim->settings.kill_again)) {
        bool power_cut = sim->settings.power_cut > 0 && prng_chance(&sim->prng, 2);
        expect(sim, event->node, SIM_EVENT_KILL, power_cut,
               1 + (int64_t)prng_below(&sim->prng, 100 * SIM_MS));
    }
}

/* Not the node's own: it befalls it, or it is under way for itself. */
static bool is_of_the_world(const struct sim_event *event)
{
    switch (event->kind) {
    case SIM_EVENT_FAULT:
    case SIM_EVENT_RESTART:
    case SIM_EVENT_LATE:
    case SIM_EVENT_COMMIT:
    case SIM_EVENT_QUESTION:
    case SIM_EVENT_KILL:
        return true;
    default:
        return false;
    }
}

/* What comes for a process that is stopped comes when it goes on, in the same order. */
static bool waits(struct sim *sim, struct sim_event *event)
{
    const struct sim_node *node = &sim->nodes[event->node];
    int64_t until_ns = node->paused_until_ns > node->frozen_until_ns ? node->paused_until_ns
                                                                     : node->frozen_until_ns;
    if (is_of_the_world(event) || until_ns <= sim->now_ns || is_void(sim, event)) {
        return false;
    }
    event->time_ns = until_ns;
    sim_heap_add(&sim->heap, event);
    return true;
}

static void take_event(struct sim *sim, struct sim_event *event)
{
    sim->now_ns = event->time_ns;
    if (waits(sim, event)) {
        return;
    }
    sim->event_count++;
    hash_event(sim, event);
    if (event->kind == SIM_EVENT_FAULT) {
        sim_faults_turn(sim);
    } else if (event->kind == SIM_EVENT_COMMIT) {
        sim_etcd_commit_arrives(sim, event->number);
    } else if (event->kind == SIM_EVENT_QUESTION) {
        sim_etcd_question_arrives(sim, event);
    } else if (event->kind == SIM_EVENT_LATE) {
        sim_late_act(sim, event->number);
    } else if (event->kind == SIM_EVENT_RESTART) {
        restart(sim, event);
    } else if (event->kind == SIM_EVENT_KILL) {
        if (!is_void(sim, event) && !sim->healed) {
            sim_kill(sim, event->node, event->number != 0);
        }
    } else if (is_void(sim, event)) {
        /* it never happens */
    } else if (event->kind == SIM_EVENT_LEAVE) {
        sim_leave_act(sim, event);
    } else {
        dispatch(sim, event);
    }
    buffer_deinit(&event->message);
    for (uint32_t i = 0; i < sim->settings.server_count && sim->event_count % CHECK_INTERVAL == 0;
         i++) {
        if (sim->servers[i] != NULL) {
            sim_server_check(sim->servers[i]);
        }
    }
    if (sim->settings.replicas > 1 && sim->event_count % CHECK_INTERVAL == 0) {
        sim_truth_check(sim->truth);
    }
}

/* --- a run -------------------------------------------------------------------------------------- */

static void trace_servers(const struct sim *sim)
{
    for (uint32_t i = 0; i < sim->settings.server_count; i++) {
        if (sim->servers[i] != NULL && sim->settings.replicas > 1) {
            sim_host_trace(sim->servers[i]);
        }
    }
}

void sim_run(struct sim *sim, uint64_t seed, enum sim_planted planted, bool trace)
{
    struct sim_event event;
    *sim = (struct sim){.seed = seed, .planted = planted, .trace = trace};
    sim->prng = prng_of_seed(seed);
    sim_draw_settings(sim);
    sim->quiet = sim->settings.merges;
    create_world(sim);
    while (!sim->done && !sim->failed && sim_heap_take(&sim->heap, &event)) {
        take_event(sim, &event);
        sim_phases_look(sim);
        if (sim->event_count > EVENTS_MAX) {
            sim_fail(sim, "the run does not end");
        }
    }
    if (sim->failed) {
        trace_servers(sim);
    }
    destroy_world(sim);
}

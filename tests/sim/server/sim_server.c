#include "tests/sim/server/sim_server.h"

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tests/sim/world/sim_rot.h"

#define ARENA_BLOCK_BYTES 4096

/* --- what the store tells --------------------------------------------------------------------- */

void sim_server_add_order(struct sim_tablet *tablet)
{
    struct sim_order *order = memory_allocate_zeroed(1, sizeof *order);
    ASSERT(order != NULL);
    tablet->context = order;
}

void sim_server_add_tablet(struct sim_tablet *tablet)
{
    sim_server_add_order(tablet);
    sim_served_add(tablet);
}

static void on_committed(void *context, struct sim_tablet *tablet, uint64_t sequence)
{
    const struct sim_loop *loop = context;
    if (tablet->copy.hosted != NULL) {
        host_on_committed(loop->host, sim_stored(tablet), sequence);
    } else {
        sim_write_committed(loop->server, tablet, sequence);
    }
}

static void on_created(void *context, struct sim_tablet *tablet)
{
    const struct sim_loop *loop = context;
    if (tablet->replicated) {
        sim_host_add(loop, tablet);
    }
    sim_server_add_tablet(tablet);
    served_map_expect_no_more(loop->server->served, tablet->tablet);
    sim_sync_hurry(loop->server);
}

static const struct table *schema_of(void *context, uint64_t table)
{
    return sim_server_schema(((const struct sim_loop *)context)->server, table);
}

static void on_split(void *context,
                     struct sim_tablet *parent,
                     struct sim_tablet *left,
                     struct sim_tablet *right)
{
    struct sim_server *server = ((const struct sim_loop *)context)->server;
    sim_write_was_split(server, parent, left, right);
    sim_sync_hurry(server);
}

/* --- life ------------------------------------------------------------------------------------- */

static struct sim_loop *create_loop(struct sim_server *server)
{
    struct sim_loop *loop = memory_allocate_zeroed(1, sizeof *loop);
    ASSERT(loop != NULL);
    loop->server = server;
    ASSERT(row_lock_table_create(&loop->locks) == STATUS_OK);
    return loop;
}

struct sim_server *sim_server_create(struct sim *sim, uint32_t node, struct sim_server_disk *disk)
{
    struct sim_server *server = memory_allocate_zeroed(1, sizeof *server);
    ASSERT(server != NULL);
    server->sim = sim;
    server->node = node;
    server->disk = disk;
    server->evaluation_next = 1;
    server->sync_next = 1;
    server->sync_interval_ns = 250 * SIM_MS;
    server->replicates = sim->settings.replicas > 1;
    if (server->replicates) {
        /* An answer to a life before must not be taken for one to a proposal. */
        server->sync_next = (disk->incarnation + 1) << 32;
    }
    arena_init(&server->arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    for (uint32_t i = 0; i < disk->store_count; i++) {
        server->loops[server->loop_count++] = create_loop(server);
    }
    ASSERT(served_map_create(&server->served) == STATUS_OK);
    ASSERT(assignment_list_create(&server->assignments) == STATUS_OK);
    ASSERT(location_map_create(&server->locations) == STATUS_OK);
    return server;
}

void sim_server_begin_step(struct sim_server *server, struct sim_effects *effects)
{
    arena_reset(&server->arena);
    sim_seam_enter(server);
    server->effects = effects;
    for (uint32_t i = 0; i < server->loop_count; i++) {
        struct sim_loop *loop = server->loops[i];
        loop->clock = sim_store_next_clock(&loop->store, sim_wall_us(server->sim, server->node));
    }
    sim_write_release_held(server);
}

void sim_server_end_step(struct sim_server *server)
{
    sim_write_end(server);
    for (uint32_t i = 0; i < server->loop_count; i++) {
        if (sim_buggify(server->sim, SIM_SITE_FLUSH_AT_ONCE)) {
            sim_store_flush_some(&server->loops[i]->store);
        }
    }
    if (server->sync_request == 0 && sim_buggify(server->sim, SIM_SITE_SYNC_HURRIED)) {
        sim_sync_hurry(server);
    }
    if (server->replicates) {
        sim_rot_tell(server);
        sim_host_end_step(server);
    }
    sim_answer_send(server);
    for (uint32_t i = 0; i < server->loop_count; i++) {
        sim_store_want(&server->loops[i]->store, server->effects);
    }
    server->effects = NULL;
}

static void set_flush_timer(struct sim_server *server)
{
    int64_t interval_ns = sim_about_ns(server->sim, server->sim->settings.flush_interval_ns);
    sim_effects_timer(server->effects, SIM_TIMER_FLUSH, interval_ns);
}

static void open_store(struct sim_server *server, uint32_t index)
{
    struct sim_loop *loop = server->loops[index];
    const struct sim_store_callbacks callbacks = {loop,
                                                  on_committed,
                                                  on_created,
                                                  on_split,
                                                  schema_of,
                                                  sim_host_on_append,
                                                  sim_host_on_appended,
                                                  sim_host_on_synced,
                                                  sim_host_on_configured,
                                                  sim_host_on_taught,
                                                  sim_host_on_commits};
    struct error error = {.status = STATUS_OK};
    if (sim_store_open(&loop->store, server->sim, server->node, index, &server->disk->stores[index],
                       &callbacks, &error) != STATUS_OK) {
        sim_fail(server->sim, "server %u cannot recover: %s", server->node, error.text);
    }
}

static void serve_all(const struct sim_loop *loop)
{
    for (uint32_t i = 0; i < loop->store.tablet_count; i++) {
        if (!loop->store.tablets[i]->hidden) {
            sim_server_add_tablet(loop->store.tablets[i]);
        }
    }
}

void sim_server_start(struct sim_server *server, struct sim_effects *effects)
{
    server->disk->incarnation++;
    for (uint32_t i = 0; i < server->loop_count; i++) {
        open_store(server, i);
    }
    sim_server_begin_step(server, effects);
    sim_sync_load_schemas(server);
    if (server->replicates) {
        sim_host_start(server);
        sim_rot_expect_scrub(server);
    }
    for (uint32_t i = 0; i < server->loop_count; i++) {
        serve_all(server->loops[i]);
    }
    sim_sync_hurry(server);
    set_flush_timer(server);
    sim_upkeep_start(server);
    sim_server_end_step(server);
}

/* The lock table insists that no lock is held when it goes. */
static void release_locks(struct sim_server *server)
{
    for (struct sim_batch *batch = server->batches; batch != NULL; batch = batch->next) {
        for (size_t i = 0; i < batch->request.operation_count; i++) {
            struct sim_work *work = &batch->works[i];
            while (work->evaluation != 0 &&
                   row_lock_is_held(work->loop->locks, work->tablet, work->operation->row) &&
                   row_lock_next(work->loop->locks, work->tablet, work->operation->row) != NULL) {
            }
        }
    }
}

static void forget_orders(struct sim_loop *loop)
{
    row_lock_table_destroy(loop->locks);
    for (uint32_t i = 0; i < loop->store.tablet_count; i++) {
        memory_free(loop->store.tablets[i]->context);
    }
}

void sim_server_kill(struct sim_server *server, bool power_cut)
{
    release_locks(server);
    served_map_destroy(server->served);
    for (uint32_t i = 0; i < server->loop_count; i++) {
        forget_orders(server->loops[i]);
    }
    if (server->replicates) {
        sim_seam_enter(server);
        sim_host_destroy(server);
    }
    for (uint32_t i = 0; i < server->loop_count; i++) {
        sim_store_kill(&server->loops[i]->store, power_cut);
        memory_free(server->loops[i]);
    }
    sim_answer_destroy_all(server);
    sim_sync_destroy(server);
    assignment_list_destroy(server->assignments);
    arena_deinit(&server->arena);
    memory_free(server);
}

const struct table *sim_server_schema(const struct sim_server *server, uint64_t table)
{
    for (uint32_t i = 0; i < server->schema_count; i++) {
        if (server->schemas[i]->table.number == table) {
            return &server->schemas[i]->table;
        }
    }
    return NULL;
}

const struct location *sim_server_locate(struct sim_server *server,
                                         uint64_t table,
                                         struct bytes row)
{
    struct location *location = arena_allocate(&server->arena, sizeof *location);
    ASSERT(location != NULL);
    return location_map_find(server->locations, table, row, &server->arena, location) ? location
                                                                                      : NULL;
}

/* --- events ----------------------------------------------------------------------------------- */

static void say_hello(struct sim_server *server, const struct sim_message *message)
{
    struct hello hello;
    struct error error = {.status = STATUS_OK};
    struct buffer out = BUFFER_INIT;

    if (hello_decode(message->payload, &hello, &error) != STATUS_OK) {
        sim_fail(server->sim, "a HELLO does not decode: %s", error.text);
        return;
    }
    hello_ack_encode(&(struct hello_ack){.version = WIRE_VERSION,
                                         .process = server->node,
                                         .now_us = hlc_to_us(server->loops[0]->clock)},
                     &out);
    sim_effects_send(server->effects, message->from, FRAME_HELLO_ACK, (enum method)0,
                     message->request, &out);
}

void sim_server_on_message(struct sim_server *server,
                           const struct sim_message *message,
                           struct sim_effects *effects)
{
    sim_server_begin_step(server, effects);
    if (sim_is_server(server->sim, message->from)) {
        sim_host_take(server, message);
    } else if (message->type == FRAME_RESPONSE) {
        sim_sync_answered(server, message);
    } else if (message->type == FRAME_HELLO) {
        say_hello(server, message);
    } else if (message->method == METHOD_OPERATIONS) {
        sim_answer_start(server, message);
    } else if (message->method == METHOD_SCAN) {
        sim_answer_scan(server, message);
    } else if (message->method == METHOD_LOCATE) {
        sim_answer_locate(server, message);
    } else {
        sim_answer_error(server, message, STATUS_UNIMPLEMENTED, "not here");
    }
    sim_server_end_step(server);
}

static struct sim_work *find_evaluation(const struct sim_server *server, uint64_t number)
{
    for (const struct sim_batch *batch = server->batches; batch != NULL; batch = batch->next) {
        for (size_t i = 0; i < batch->request.operation_count; i++) {
            if (batch->works[i].evaluation == number) {
                return &batch->works[i];
            }
        }
    }
    return NULL;
}

void sim_server_on_timer(struct sim_server *server, uint64_t number, struct sim_effects *effects)
{
    struct sim_work *work = NULL;
    sim_server_begin_step(server, effects);
    switch (number % SIM_TIMER_KINDS) {
    case SIM_TIMER_SYNC:
        if (number / SIM_TIMER_KINDS == server->sync_timer) {
            sim_sync_ask(server);
        }
        break;
    case SIM_TIMER_FLUSH:
        for (uint32_t i = 0; i < server->loop_count; i++) {
            sim_store_flush_some(&server->loops[i]->store);
        }
        set_flush_timer(server);
        break;
    case SIM_TIMER_PEERS:
        if (number / SIM_TIMER_KINDS == server->peers.timer) {
            sim_host_tick(server);
        }
        break;
    case SIM_TIMER_READING:
        sim_host_was_read(server, number / SIM_TIMER_KINDS);
        break;
    case SIM_TIMER_SCRUB:
        sim_rot_scrub(server);
        break;
    case SIM_TIMER_COLLECT:
        sim_upkeep_look(server);
        break;
    case SIM_TIMER_COLLECTED:
        sim_upkeep_append(server, number / SIM_TIMER_KINDS);
        break;
    case SIM_TIMER_EVALUATION:
        work = find_evaluation(server, number / SIM_TIMER_KINDS);
        if (work != NULL) {
            sim_write_evaluated(server, work);
        }
        break;
    default:
        UNREACHABLE();
    }
    sim_server_end_step(server);
}

void sim_server_on_log_synced(struct sim_server *server,
                              uint64_t store,
                              struct sim_effects *effects)
{
    sim_server_begin_step(server, effects);
    sim_store_log_synced(&server->loops[store]->store);
    sim_server_end_step(server);
}

void sim_server_on_base_committed(struct sim_server *server,
                                  uint64_t store,
                                  struct sim_effects *effects)
{
    sim_server_begin_step(server, effects);
    sim_store_base_committed(&server->loops[store]->store);
    sim_server_end_step(server);
}

void sim_server_on_leave(struct sim_server *server, struct sim_effects *effects)
{
    sim_server_begin_step(server, effects);
    sim_server_end_step(server);
}

void sim_server_check(struct sim_server *server)
{
    for (uint32_t i = 0; i < server->loop_count; i++) {
        sim_store_check(&server->loops[i]->store);
        if (server->replicates && server->sim->planted == SIM_PLANTED_NONE) {
            host_check(server->loops[i]->host);
        }
    }
}

#include <stdio.h>

#include "common/base/assert.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "tests/sim/checker/sim_checker.h"
#include "tests/sim/server/sim_server.h"

/*
 * The heartbeat: what the server holds goes to the master, what it should do comes back.  As
 * production's sync thread, with the same pure core deciding (assignment.h).
 */

#define ANSWER_PATIENCE_NS (3 * SIM_S)

static void set_timer(struct sim_server *server, int64_t delay_ns)
{
    server->sync_timer++;
    sim_effects_timer(server->effects, server->sync_timer * SIM_TIMER_KINDS + SIM_TIMER_SYNC,
                      delay_ns);
}

void sim_sync_hurry(struct sim_server *server)
{
    if (server->effects != NULL) {
        set_timer(server, 0);
    }
}

/* --- asking ------------------------------------------------------------------------------------- */

/* Who is named primary but has not opened all members leads nobody yet. */
static void describe_replica(struct serving_view view, struct held_tablet *tablet)
{
    static const enum held_role roles[] = {
        [REPLICA_OUTSIDER] = HELD_AS_OUTSIDER,
        [REPLICA_LEARNER] = HELD_AS_LEARNER,
        [REPLICA_SECONDARY] = HELD_AS_SECONDARY,
        [REPLICA_PRIMARY] = HELD_AS_PRIMARY,
    };
    bool waits = view.role == REPLICA_PRIMARY && !view.leads;
    tablet->version = view.version;
    tablet->role = waits ? HELD_AS_SECONDARY : roles[view.role];
    tablet->state = view.version == 0 ? HELD_CREATED : HELD_SERVING;
    tablet->damaged = view.damaged;
}

static void describe(const struct sim_server *server,
                     const struct sim_tablet *tablet,
                     struct held_tablet *ret_held)
{
    uint64_t limit = assignment_soft_limit_bytes(server->assignments, tablet->tablet);
    bool as_first = server->sim->planted == SIM_PLANTED_REPORTED_AS_FIRST_STORES;
    *ret_held = (struct held_tablet){
        .tablet = tablet->tablet,
        .store = as_first ? server->disk->stores[0].number : tablet->store->disk->number,
        .state = HELD_SERVING,
        .size_bytes = sim_rows_size_bytes(&tablet->committed_rows),
    };
    if (tablet->copy.hosted != NULL) {
        describe_replica(serving_look(host_serving(sim_stored(tablet))), ret_held);
    }
    bool decides = ret_held->role == HELD_AS_UNKNOWN || ret_held->role == HELD_AS_PRIMARY;
    struct bytes middle = sim_tablet_middle(tablet);
    if (decides && limit > 0 && ret_held->size_bytes > limit && middle.size_bytes > 0) {
        ret_held->wants_split = true;
        ret_held->split_row = middle;
    }
}

/* How many tablets there are in all stores at most. */
static size_t held_max(const struct sim_server *server)
{
    size_t count = 0;
    for (uint32_t i = 0; i < server->loop_count; i++) {
        count += server->loops[i]->store.tablet_count;
    }
    return count;
}

static struct held_tablet *describe_held(struct sim_server *server, size_t *ret_count)
{
    struct held_tablet *held = arena_allocate_array(&server->arena, held_max(server) + 1,
                                                    sizeof *held);
    *ret_count = 0;
    for (uint32_t i = 0; i < server->loop_count; i++) {
        const struct sim_store *store = &server->loops[i]->store;
        for (uint32_t k = 0; k < store->tablet_count; k++) {
            if (sim_tablet_is_held(store->tablets[k])) {
                describe(server, store->tablets[k], &held[(*ret_count)++]);
            }
        }
    }
    return held;
}

static struct store_information *describe_stores(struct sim_server *server)
{
    struct store_information *stores = arena_allocate_array(&server->arena, server->loop_count,
                                                            sizeof *stores);
    for (uint32_t i = 0; i < server->loop_count; i++) {
        stores[i] = (struct store_information){.number = server->disk->stores[i].number,
                                               .folder = bytes_of_text("data"),
                                               .free_bytes = UINT64_C(1) << 40};
    }
    return stores;
}

/* One that is silent for long may be down, cut off, or stopped. */
static void choose_master(struct sim_server *server)
{
    int64_t now_ns = server->sim->now_ns;
    if (server->sync_request == 0) {
        server->heard_ns = now_ns;
    } else if (now_ns - server->heard_ns >= ANSWER_PATIENCE_NS) {
        server->heard_ns = now_ns;
        server->is_connected = false;
        server->master = sim_other_master(server->sim, server->master);
    }
}

void sim_sync_ask(struct sim_server *server)
{
    char address[32];
    struct buffer out = BUFFER_INIT;
    if (sim_buggify(server->sim, SIM_SITE_SYNC_ANEW)) {
        server->known_version = 0;
        server->known_generation = 0;
    }
    struct sync_request request = {
        .server = {.number = server->node,
                   .zone = bytes_of_text("a"),
                   .incarnation = server->disk->incarnation,
                   .alive = true,
                   .stores = describe_stores(server),
                   .store_count = server->loop_count},
        .known_version = server->known_version,
        .known_generation = server->known_generation,
        .full = true,
        .replicates = server->replicates,
        .leaving = server->leaving,
    };
    (void)snprintf(address, sizeof address, "sim://%u", server->node);
    request.server.address = bytes_of_text(address);
    request.held = describe_held(server, &request.held_count);
    request_head_encode(&(struct request_head){.deadline_ms = 3000}, &out);
    sync_request_encode(&request, &out);
    choose_master(server);
    server->sync_request = server->sync_next++;
    sim_effects_send(server->effects, server->master, FRAME_REQUEST, METHOD_SYNC,
                     server->sync_request, &out);
    set_timer(server, ANSWER_PATIENCE_NS);
}

/* --- schemas ------------------------------------------------------------------------------------ */

static void schema_destroy(struct sim_schema *schema)
{
    arena_deinit(&schema->arena);
    memory_free(schema);
}

static void schema_remove(struct sim_server *server, uint64_t table)
{
    for (uint32_t i = 0; i < server->schema_count; i++) {
        if (server->schemas[i]->table.number == table) {
            schema_destroy(server->schemas[i]);
            server->schemas[i] = server->schemas[--server->schema_count];
            return;
        }
    }
}

static void schema_put(struct sim_server *server, const struct table *table)
{
    const struct table *known = sim_server_schema(server, table->number);
    if (known != NULL && known->version >= table->version) {
        return;
    }
    schema_remove(server, table->number);
    ASSERT(server->schema_count < SIM_SCHEMAS_MAX);
    struct sim_schema *schema = memory_allocate_zeroed(1, sizeof *schema);
    ASSERT(schema != NULL);
    arena_init(&schema->arena, 512, SIZE_MAX);
    ASSERT(table_copy(&schema->arena, table, &schema->table) == STATUS_OK);
    server->schemas[server->schema_count++] = schema;
    sim_trace(server->sim, "server %u: table %llu has schema %llu", server->node,
              (unsigned long long)table->number, (unsigned long long)table->version);
    sim_checker_on_schema(server->sim->checker, server->node, table->number, table->version);
}

/* One small file, replaced as a whole. */
static void save_schemas(struct sim_server *server)
{
    struct buffer *out = &server->disk->schemas;
    buffer_reset(out);
    for (uint32_t i = 0; i < server->schema_count; i++) {
        size_t at = out->size_bytes;
        uint8_t *space = buffer_reserve(out, 4);
        ASSERT(space != NULL);
        buffer_advance(out, 4);
        table_encode(&server->schemas[i]->table, out);
        store_le32(out->data + at, (uint32_t)(out->size_bytes - at - 4));
    }
    ASSERT(!out->failed);
}

void sim_sync_load_schemas(struct sim_server *server)
{
    const struct buffer *saved = &server->disk->schemas;
    struct error error = {.status = STATUS_OK};
    struct table table;
    for (size_t at = 0; at < saved->size_bytes;) {
        size_t size_bytes = load_le32(saved->data + at);
        if (table_decode(bytes_of(saved->data + at + 4, size_bytes), &server->arena, &table,
                         &error) != STATUS_OK) {
            sim_fail(server->sim, "a saved schema does not decode: %s", error.text);
            return;
        }
        schema_put(server, &table);
        at += 4 + size_bytes;
    }
}

void sim_sync_destroy(struct sim_server *server)
{
    for (uint32_t i = 0; i < server->schema_count; i++) {
        schema_destroy(server->schemas[i]);
    }
    location_map_destroy(server->locations);
}

/* --- the answer --------------------------------------------------------------------------------- */

static void take_tables(struct sim_server *server, const struct sync_response *response)
{
    for (size_t i = 0; i < response->table_count; i++) {
        schema_put(server, &response->tables[i]);
    }
    for (size_t i = 0; i < response->dropped_table_count; i++) {
        schema_remove(server, response->dropped_tables[i]);
        location_map_remove_table(server->locations, response->dropped_tables[i]);
        assignment_list_drop_table(server->assignments, response->dropped_tables[i]);
    }
    if (response->table_count + response->dropped_table_count > 0) {
        save_schemas(server);
        if (server->replicates) {
            sim_host_refresh(server);
        }
    }
}

static void take_tablets(struct sim_server *server, const struct sync_response *response)
{
    for (size_t i = 0; i < response->tablet_count; i++) {
        const struct assigned_tablet *assigned = &response->tablets[i];
        if (assigned->removed) {
            location_map_remove(server->locations, assigned->location.tablet);
        } else {
            ASSERT(location_map_put(server->locations, &assigned->location) == STATUS_OK);
        }
        ASSERT(assignment_list_note(server->assignments, server->node, assigned) == STATUS_OK);
    }
}

/* Of the store that is meant.  Planted: a removal is the first one's that has the tablet. */
static struct sim_loop *loop_of_action(const struct sim_server *server,
                                       const struct assignment_action *action)
{
    for (uint32_t i = 0; i < server->loop_count; i++) {
        if (server->sim->planted == SIM_PLANTED_REMOVED_FROM_FIRST_STORE &&
            action->kind == ASSIGNMENT_DROP &&
            sim_store_find(&server->loops[i]->store, action->tablet) != NULL) {
            return server->loops[i];
        }
    }
    return sim_loop_of_store(server, action->store);
}

static bool may_be_made(struct sim_server *server, const struct assignment_action *action)
{
    const struct location *location = &action->assigned->location;
    struct store_tablet_descriptor tablet = {
        .tablet = action->tablet, .table = location->table, .range = location->range};
    return server->replicates || served_map_expect(server->served, &tablet);
}

static void perform(struct sim_server *server, const struct assignment_action *action)
{
    struct sim_loop *loop = loop_of_action(server, action);
    struct sim_tablet *tablet = loop == NULL ? NULL : sim_store_find(&loop->store, action->tablet);
    if (loop == NULL) {
        return; /* a disk that is no more */
    }
    switch (action->kind) {
    case ASSIGNMENT_CREATE:
        if (may_be_made(server, action)) {
            sim_store_create(&loop->store, action->tablet, action->assigned->location.table,
                             action->as_learner ? 0 : action->assigned->location.configuration,
                             &action->assigned->location.range, server->replicates);
        }
        break;
    case ASSIGNMENT_SPLIT:
        if (tablet != NULL) {
            sim_write_split(server, tablet,
                            &(struct record_split){action->assigned->location.range.start,
                                                   action->left, action->right});
        }
        break;
    case ASSIGNMENT_DROP:
        if (tablet != NULL) {
            sim_write_drop(server, tablet, action->assigned->configuration.version);
        }
        break;
    case ASSIGNMENT_CONVERT:
        sim_host_convert(loop, action);
        break;
    case ASSIGNMENT_MISSING:
        sim_trace(server->sim, "server %u: tablet %llu is missing", server->node,
                  (unsigned long long)action->tablet);
        break;
    }
}

/* Planted: a copy that was let go knows of no version, so it may be the one that is meant. */
static uint64_t version_of(const struct sim_server *server, const struct sim_tablet *tablet)
{
    if (tablet->copy.hosted == NULL) {
        return 0;
    }
    struct serving_view view = serving_look(host_serving(sim_stored(tablet)));
    bool hides = server->sim->planted == SIM_PLANTED_NONE_MADE_BESIDE &&
                 view.role == REPLICA_OUTSIDER;
    return hides ? 0 : view.version;
}

static struct assignment_held *collect_held(struct sim_server *server, size_t *ret_count)
{
    struct assignment_held *held = arena_allocate_array(&server->arena, held_max(server) + 1,
                                                        sizeof *held);
    for (uint32_t i = 0; i < server->loop_count; i++) {
        const struct sim_store *store = &server->loops[i]->store;
        for (uint32_t k = 0; k < store->tablet_count; k++) {
            const struct sim_tablet *tablet = store->tablets[k];
            if (sim_tablet_is_held(tablet)) {
                held[(*ret_count)++] = (struct assignment_held){
                    .tablet = tablet->tablet,
                    .store = store->disk->number,
                    .version = version_of(server, tablet)};
            }
        }
    }
    return held;
}

static void match_assignments(struct sim_server *server)
{
    size_t held_count = 0;
    struct assignment_held *held = collect_held(server, &held_count);
    struct assignment_action *actions = NULL;
    size_t action_count = 0;

    ASSERT(assignment_decide(server->assignments, held, held_count, &server->arena, &actions,
                             &action_count) == STATUS_OK);
    for (size_t i = 0; i < action_count; i++) {
        perform(server, &actions[i]);
    }
    if (server->replicates) {
        sim_host_tell(server, held, held_count);
    }
}

void sim_sync_answered(struct sim_server *server, const struct sim_message *message)
{
    struct response_head head;
    struct bytes body;
    struct sync_response response;
    struct error error = {.status = STATUS_OK};

    if (message->request != server->sync_request) {
        if (server->replicates) {
            (void)sim_host_proposed(server, message);
        }
        return; /* of a connection that was given up, or a second copy */
    }
    server->sync_request = 0;
    if (response_head_decode(message->payload, &head, &body, &error) != STATUS_OK) {
        sim_fail(server->sim, "a sync answer does not decode: %s", error.text);
        return;
    }
    if (head.status != STATUS_OK) {
        sim_trace(server->sim, "server %u: sync refused: %.*s", server->node,
                  (int)head.text.size_bytes, (const char *)head.text.data);
        server->is_connected = false;
        server->master = sim_other_master(server->sim, server->master);
        set_timer(server, 200 * SIM_MS);
        return;
    }
    if (sync_response_decode(body, &server->arena, &response, &error) != STATUS_OK) {
        sim_fail(server->sim, "a sync answer does not decode: %s", error.text);
        return;
    }
    if (response.reset) {
        location_map_clear(server->locations);
        assignment_list_clear(server->assignments);
    }
    take_tables(server, &response);
    take_tablets(server, &response);
    server->known_generation = response.generation;
    server->known_version = response.version;
    server->sync_interval_ns = response.interval_ms * SIM_MS;
    server->is_connected = true;
    set_timer(server, response.more ? 0 : server->sync_interval_ns);
    match_assignments(server);
}

#include "tabletserver/serve/sync/sync_parts.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/logger.h"
#include "tabletserver/serve/peers.h"
#include "tabletserver/serve/replicas/replicas.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/serve/sync/served_list.h"

#define SYNC_RETELL_NS (INT64_C(5) * 1000 * 1000 * 1000)

/* --- commands to the store loops ---------------------------------------------------------------- */

static struct store_loop *loop_of_store(struct server *server, uint64_t store)
{
    for (uint32_t i = 0; i < server->loop_count; i++) {
        if (store_number(store_loop_store(server->loops[i])) == store) {
            return server->loops[i];
        }
    }
    return NULL;
}

static uint8_t *put_bytes(uint8_t *at, struct bytes *bytes)
{
    if (bytes->size_bytes > 0) {
        memcpy(at, bytes->data, bytes->size_bytes);
    }
    bytes->data = at;
    return at + bytes->size_bytes;
}

/* A command with its own copy of the bytes it names; NULL without memory (the next sync repeats). */
static struct store_command *make_command(enum store_command_kind kind,
                                          const struct assignment_action *action)
{
    struct store_command command = {.kind = kind, .left = action->left, .right = action->right};
    command.descriptor.tablet = action->tablet;
    if (kind == STORE_COMMAND_DROP) {
        command.descriptor.configuration = action->assigned->configuration.version;
    } else if (action->assigned != NULL) {
        command.descriptor.table = action->assigned->location.table;
        command.descriptor.configuration = action->as_learner
                                               ? 0
                                               : action->assigned->location.configuration;
        command.descriptor.range = action->assigned->location.range;
        command.key = action->assigned->location.range.start;
    }
    struct row_range *range = &command.descriptor.range;
    struct store_command *copy = memory_allocate(sizeof command + range->start.size_bytes +
                                                 range->end.size_bytes + command.key.size_bytes);
    if (copy != NULL) {
        *copy = command;
        uint8_t *at = put_bytes(copy->bytes, &copy->descriptor.range.start);
        at = put_bytes(at, &copy->descriptor.range.end);
        (void)put_bytes(at, &copy->key);
    }
    return copy;
}

static void send_command(struct store_loop *loop,
                         enum store_command_kind kind,
                         const struct assignment_action *action)
{
    struct store_command *command = loop != NULL ? make_command(kind, action) : NULL;
    if (command != NULL) {
        (void)store_loop_command(loop, command); /* refused: the next sync repeats it */
    }
}

static void complain_of_missing(const struct assignment_action *action)
{
    LOG_EVENT(LOG_LEVEL_ERROR, "tablet_missing", LOG_ID("tablet", action->tablet),
              LOG_ID("store", action->store));
}

static bool send_word(struct store_loop *loop, const struct catalog_word *word)
{
    struct catalog_word *copy = loop != NULL ? catalog_word_copy(word) : NULL;
    if (copy != NULL && !store_loop_word(loop, copy)) {
        memory_free(copy);
        copy = NULL;
    }
    return copy != NULL;
}

/* Repeated with each sync until the heir is held. */
static void tell_heir(struct server *server, const struct assignment_action *action)
{
    (void)send_word(loop_of_store(server, action->store),
                    &(struct catalog_word){.tablet = action->tablet,
                                           .gone = true,
                                           .heirs = {action->left},
                                           .configuration = action->assigned->configuration});
}

static void perform(struct server *server, const struct assignment_action *action, bool complain)
{
    struct store_loop *loop = loop_of_store(server, action->store);
    switch (action->kind) {
    case ASSIGNMENT_CREATE:
        send_command(loop, STORE_COMMAND_CREATE, action);
        break;
    case ASSIGNMENT_SPLIT:
        send_command(loop, STORE_COMMAND_SPLIT, action);
        break;
    case ASSIGNMENT_CONVERT:
        tell_heir(server, action);
        break;
    case ASSIGNMENT_DROP:
        send_command(loop, STORE_COMMAND_DROP, action);
        break;
    case ASSIGNMENT_MISSING:
        if (complain) {
            complain_of_missing(action);
        }
        break;
    }
}

static bool tell_replica(void *context, const struct assigned_tablet *assigned, uint64_t store)
{
    struct store_loop *loop = loop_of_store(context, store);
    const struct catalog_word word = {.tablet = assigned->location.tablet,
                                      .creating = assigned->location.state == TABLET_CREATING,
                                      .configuration = assigned->configuration,
                                      .recovered = assigned->recovered,
                                      .has_goal = true,
                                      .goal = assigned->goal,
                                      .hurried = assigned->hurried};
    return send_word(loop, &word);
}

/* What a replica could not take just then it takes later: it is told now and then. */
static void tell_replicas(struct sync *sync,
                          const struct assignment_held *held,
                          size_t held_count,
                          int64_t now_ns)
{
    if (sync->server->peers == NULL) {
        return;
    }
    if (now_ns >= sync->next_retell_ns) {
        sync->next_retell_ns = now_ns + SYNC_RETELL_NS;
        assignment_list_tell_again(sync->assignments, 0);
    }
    proposals_take_asked(sync);
    assignment_tell(sync->assignments, held, held_count, tell_replica, sync->server);
}

void sync_match_assignments(struct sync *sync)
{
    struct served_list held = {0};
    struct assignment_action *actions = NULL;
    size_t action_count = 0;
    int64_t now_ns = clock_monotonic_ns();

    if (served_list_make(sync->server->served, &held) != STATUS_OK) {
        return;
    }
    struct assignment_held *numbers = arena_allocate_array(&sync->arena, held.count + 1,
                                                           sizeof *numbers);
    for (size_t i = 0; numbers != NULL && i < held.count; i++) {
        numbers[i].tablet = store_tablet_describe(held.items[i].tablet)->tablet;
        numbers[i].store = store_number(store_loop_store(held.items[i].loop));
        numbers[i].version = held.items[i].serving != NULL
                                 ? serving_look(held.items[i].serving).version
                                 : 0;
    }
    if (numbers != NULL && assignment_decide(sync->assignments, numbers, held.count, &sync->arena,
                                             &actions, &action_count) == STATUS_OK) {
        bool complain = sync_missing_look(&sync->missing, actions, action_count, now_ns);
        for (size_t i = 0; i < action_count; i++) {
            perform(sync->server, &actions[i], complain);
        }
        tell_replicas(sync, numbers, held.count, now_ns);
    }
    served_list_release(&held);
}

/* --- the answer --------------------------------------------------------------------------------- */

/* Nothing is taken from a master that tells of tables which cannot be. */
static enum status check_tables(const struct sync_response *response, struct error *ret_error)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < response->table_count && status == STATUS_OK; i++) {
        status = table_check(&response->tables[i], ret_error);
    }
    return status;
}

static enum status take_tables(struct sync *sync, const struct sync_response *response)
{
    struct server *server = sync->server;
    bool any = response->dropped_table_count > 0;
    struct error error = {.status = STATUS_OK};
    enum status status = STATUS_OK;

    for (size_t i = 0; i < response->table_count && status == STATUS_OK; i++) {
        bool changed = false;
        status = schema_cache_put(server->schemas, &response->tables[i], &changed);
        any = any || changed;
    }
    for (size_t i = 0; i < response->dropped_table_count; i++) {
        schema_cache_remove(server->schemas, response->dropped_tables[i]);
        location_map_remove_table(server->locations, response->dropped_tables[i]);
        assignment_list_drop_table(sync->assignments, response->dropped_tables[i]);
    }
    for (uint32_t i = 0; any && i < server->loop_count; i++) {
        store_loop_tables_changed(server->loops[i]);
    }
    if (any && folder_keeper_save(sync->folder, &error) != STATUS_OK) {
        /* Serving goes on, and it is tried again; only a restart without any master would miss it. */
        LOG_EVENT(LOG_LEVEL_WARN, "schemas_not_saved", LOG_TEXT("error", error.text));
    }
    return status;
}

static enum status take_tablets(struct sync *sync, const struct sync_response *response)
{
    struct server *server = sync->server;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < response->tablet_count && status == STATUS_OK; i++) {
        const struct assigned_tablet *assigned = &response->tablets[i];
        if (assigned->removed) {
            location_map_remove(server->locations, assigned->location.tablet);
        } else {
            status = location_map_put(server->locations, &assigned->location);
        }
        if (status == STATUS_OK) {
            status = assignment_list_note(sync->assignments, server->number, assigned);
        }
    }
    return status;
}

/* A master that stands by names the active one: that is the next to be dialled. */
static void note_redirection(struct sync *sync, struct bytes body)
{
    struct standby_response standby = {0};
    if (body.size_bytes == 0 || sync->redirections == SYNC_REDIRECTIONS_MAX ||
        standby_response_decode(body, &sync->arena, &standby, NULL) != STATUS_OK ||
        standby.active.size_bytes == 0) {
        return;
    }
    const uint32_t in_use[2] = {sync->master_index, atomic_load(&sync->master_answered)};
    (void)pthread_mutex_lock(&sync->masters_lock);
    uint32_t active = sync_masters_learn(&sync->masters, standby.active, in_use);
    (void)pthread_mutex_unlock(&sync->masters_lock);
    if (active < sync->masters.count && active != sync->master_index) {
        sync->redirected_to = active;
        sync->redirected = true;
        sync->redirections++;
    }
}

enum status sync_take_answer(struct sync *sync, struct bytes message, struct error *ret_error)
{
    struct response_head head;
    struct bytes body;
    struct sync_response response;

    enum status status = response_head_decode(message, &head, &body, ret_error);
    if (status == STATUS_OK && head.status != STATUS_OK) {
        status = error_set(ret_error, (enum status)head.status, "%.*s", (int)head.text.size_bytes,
                           (const char *)head.text.data);
        note_redirection(sync, body);
    }
    if (status == STATUS_OK) {
        status = sync_response_decode(body, &sync->arena, &response, ret_error);
    }
    if (status == STATUS_OK) {
        status = check_tables(&response, ret_error);
    }
    if (status == STATUS_OK) {
        status = sync_settle_catalog(sync, &response, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (response.reset) {
        location_map_clear(sync->server->locations);
        assignment_list_clear(sync->assignments);
        schema_cache_distrust(sync->server->schemas);
    }
    for (size_t i = 0; sync->server->peers != NULL && i < response.server_count; i++) {
        peers_set(sync->server->peers, response.servers[i].server, response.servers[i].address);
    }
    status = take_tables(sync, &response);
    if (status == STATUS_OK) {
        status = take_tablets(sync, &response);
    }
    if (status != STATUS_OK) {
        return error_set(ret_error, status, "out of memory; asked again");
    }
    sync->catalog_generation = response.generation;
    atomic_store(&sync->version, response.version);
    uint32_t interval_ms = response.interval_ms > 0 ? response.interval_ms
                                                    : SYNC_INTERVAL_DEFAULT_MS;
    sync->interval_ns = (int64_t)interval_ms * 1000000;
    sync->next_ask_ns = response.more ? 0 : clock_monotonic_ns() + sync->interval_ns;
    return STATUS_OK;
}

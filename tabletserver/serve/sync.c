#include "tabletserver/serve/sync.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/logger.h"
#include "common/io/mailbox.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/serve/status_report.h"
#include "tabletserver/tablet/assignment.h"

#define SYNC_MASTERS_MAX         16
#define SYNC_ADDRESS_BYTES       128
#define SYNC_INTERVAL_DEFAULT_MS 250
#define SYNC_ANSWER_PATIENCE_NS  (INT64_C(3) * 1000 * 1000 * 1000)
#define SYNC_RETRY_NS            (INT64_C(200) * 1000 * 1000)
#define SYNC_GAUGES_NS           (INT64_C(1000) * 1000 * 1000)
#define SYNC_MISSING_NS          (INT64_C(30) * 1000 * 1000 * 1000) /* between two complaints */
#define SYNC_MIDDLES_MAX         4 /* tablets whose middle is looked for in one round */
#define SYNC_ARENA_BLOCK_BYTES   65536

enum note_type {
    NOTE_READY,
    NOTE_ANSWER,
    NOTE_CLOSED,
};

struct note {
    enum note_type type;
    uint64_t generation; /* of the connection it is about */
    uint8_t *message;    /* ANSWER: owned */
    size_t message_bytes;
};

struct connection_context {
    struct sync *sync;
    uint64_t generation;
};

struct sync {
    struct server *server;
    struct mailbox *mailbox;
    pthread_t thread;
    atomic_bool stopping;
    atomic_bool hurry;
    atomic_bool connected;
    atomic_uint_fast64_t version; /* of the catalog, as known here */
    uint64_t catalog_generation;
    char masters[SYNC_MASTERS_MAX][SYNC_ADDRESS_BYTES];
    uint32_t master_count;
    uint32_t master_index; /* the one dialled */
    struct transport_connection *connection;
    struct connection_context connection_context;
    bool ready;
    bool asking; /* an answer is due */
    uint64_t request;
    int64_t interval_ns;
    int64_t next_ask_ns;
    int64_t answer_due_ns;
    int64_t next_gauges_ns;
    int64_t next_missing_ns;
    size_t next_middle; /* the tablet to begin with in the search for cuts */
    bool started;
    struct assignment_list *assignments;
    struct arena arena; /* of one round */
};

/* --- the connection to a master ----------------------------------------------------------------- */

static void push_note(void *context, struct note note)
{
    struct connection_context *connection = context;
    note.generation = connection->generation;
    if (!mailbox_push(connection->sync->mailbox, &note)) {
        memory_free(note.message); /* the answer is overdue then, and asked for again */
    }
}

static void on_ready(void *context, const struct hello_ack *ack)
{
    (void)ack;
    push_note(context, (struct note){.type = NOTE_READY});
}

static void on_response(void *context, uint64_t request, struct bytes message, bool stream)
{
    (void)request;
    (void)stream;
    uint8_t *copy = memory_allocate(message.size_bytes);
    if (copy != NULL) {
        memcpy(copy, message.data, message.size_bytes);
        push_note(context, (struct note){.type = NOTE_ANSWER,
                                         .message = copy,
                                         .message_bytes = message.size_bytes});
    }
}

static void on_closed(void *context, const struct error *error)
{
    (void)error;
    push_note(context, (struct note){.type = NOTE_CLOSED});
}

static void hang_up(struct sync *sync)
{
    if (sync->connection != NULL) {
        transport_connection_close(sync->connection);
        sync->connection = NULL;
    }
    if (atomic_exchange(&sync->connected, false)) {
        LOG_EVENT(LOG_LEVEL_WARN, "master_lost",
                  LOG_TEXT("address", sync->masters[sync->master_index]));
    }
    sync->ready = false;
    sync->asking = false;
    sync->connection_context.generation += 1;
    sync->master_index = (sync->master_index + 1) % sync->master_count;
    sync->next_ask_ns = clock_monotonic_ns() + SYNC_RETRY_NS;
}

static void dial(struct sync *sync)
{
    struct error error = {.status = STATUS_OK};
    const struct transport_connection_options options = {
        .address = sync->masters[sync->master_index],
        .agent = "edubba-tabletserver",
        .process = sync->server->number,
        .lane = LANE_CONTROL,
        .connect_timeout_ms = 2000,
        .context = &sync->connection_context,
        .on_ready = on_ready,
        .on_response = on_response,
        .on_closed = on_closed,
    };
    if (transport_connect(&options, &sync->connection, &error) != STATUS_OK) {
        LOG_EVENT(LOG_LEVEL_WARN, "master_not_dialled", LOG_TEXT("error", error.text));
        hang_up(sync);
        return;
    }
    sync->answer_due_ns = clock_monotonic_ns() + SYNC_ANSWER_PATIENCE_NS;
}

/* --- asking ------------------------------------------------------------------------------------- */

struct held_collection {
    struct sync *sync;
    struct served *served; /* references are held */
    size_t count;
    size_t capacity;
};

static void collect(void *context, const struct served *served)
{
    struct held_collection *held = context;
    if (held->count < held->capacity) {
        store_tablet_ref(served->tablet);
        held->served[held->count++] = *served;
    }
}

static void release(struct held_collection *held)
{
    for (size_t i = 0; i < held->count; i++) {
        store_tablet_unref(held->served[i].tablet);
    }
}

static enum status collect_held(struct sync *sync, struct held_collection *ret_held)
{
    struct server *server = sync->server;
    struct held_collection held = {.sync = sync};

    held.capacity = served_map_count(server->served) + 16;
    held.served = arena_allocate_array(&sync->arena, held.capacity, sizeof *held.served);
    if (held.served == NULL) {
        return STATUS_NO_MEMORY;
    }
    served_map_visit(server->served, collect, &held);
    *ret_held = held;
    return STATUS_OK;
}

static bool is_over_limit(const struct sync *sync, const struct held_tablet *tablet)
{
    uint64_t limit = assignment_soft_limit_bytes(sync->assignments, tablet->tablet);
    return limit > 0 && tablet->size_bytes > limit;
}

static void look_for_cut(struct sync *sync, struct held_tablet *tablet, struct store_tablet *stored)
{
    struct buffer row = BUFFER_INIT;
    bool found = false;

    if (store_tablet_middle(stored, &row, &found) == STATUS_OK && found) {
        tablet->split_row = arena_copy(&sync->arena, buffer_bytes(&row));
        tablet->wants_split = tablet->split_row.data != NULL;
    }
    buffer_deinit(&row);
}

/* Where to cut those over their soft limit: a few a round, for it takes some milliseconds, and in
 * turn, so that one that cannot be cut keeps nobody from it. */
static void look_for_cuts(struct sync *sync,
                          const struct held_collection *held,
                          struct held_tablet *tablets)
{
    size_t first = sync->next_middle;
    uint32_t looked = 0;

    for (size_t i = 0; i < held->count && looked < SYNC_MIDDLES_MAX; i++) {
        size_t at = (first + i) % held->count;
        if (is_over_limit(sync, &tablets[at])) {
            look_for_cut(sync, &tablets[at], held->served[at].tablet);
            looked += 1;
            sync->next_middle = at + 1;
        }
    }
}

static struct held_tablet *describe_held(struct sync *sync, const struct held_collection *held)
{
    struct held_tablet *tablets = arena_allocate_array(&sync->arena, held->count + 1,
                                                       sizeof *tablets);
    for (size_t i = 0; tablets != NULL && i < held->count; i++) {
        struct store_tablet *stored = held->served[i].tablet;
        struct store_tablet_statistics statistics;
        store_tablet_statistics(stored, &statistics);
        tablets[i] = (struct held_tablet){
            .tablet = store_tablet_describe(stored)->tablet,
            .store = store_number(store_loop_store(held->served[i].loop)),
            .state = HELD_SERVING,
            .size_bytes = statistics.base_bytes + statistics.memtable_bytes,
        };
    }
    if (tablets != NULL) {
        look_for_cuts(sync, held, tablets);
    }
    return tablets;
}

static struct store_information *describe_stores(struct sync *sync)
{
    struct server *server = sync->server;
    struct store_information *stores = arena_allocate_array(&sync->arena, server->loop_count + 1,
                                                            sizeof *stores);

    for (uint32_t i = 0; stores != NULL && i < server->loop_count; i++) {
        struct store *store = store_loop_store(server->loops[i]);
        struct store_statistics statistics;
        store_loop_statistics(server->loops[i], &statistics);
        stores[i] = (struct store_information){
            .number = store_number(store),
            .folder = bytes_of_text(store_loop_folder(server->loops[i])),
            .condition = statistics.condition,
            .used_bytes = statistics.base_used_bytes + statistics.log_bytes,
            .free_bytes = statistics.disk_free_bytes,
        };
    }
    return stores;
}

static void encode_ask(struct sync *sync, struct buffer *message)
{
    struct server *server = sync->server;
    struct held_collection held = {0};
    struct sync_request request = {
        .server = {.number = server->number,
                   .address = bytes_of_text(server->address),
                   .http_address = bytes_of_text(server->http_address),
                   .zone = bytes_of_text(server->settings->zone),
                   .incarnation = server->incarnation,
                   .alive = true,
                   .store_count = server->loop_count},
        .known_version = atomic_load(&sync->version),
        .known_generation = sync->catalog_generation,
        .full = true,
    };

    request.server.stores = describe_stores(sync);
    if (request.server.stores == NULL || collect_held(sync, &held) != STATUS_OK) {
        message->failed = true;
        return;
    }
    request.held = describe_held(sync, &held);
    request.held_count = held.count;
    request.server.tablet_count = (uint32_t)held.count;
    if (request.held == NULL) {
        message->failed = true;
    } else {
        request_head_encode(&(struct request_head){.deadline_ms = 3000}, message);
        sync_request_encode(&request, message);
    }
    release(&held);
}

static void ask(struct sync *sync)
{
    struct buffer message = BUFFER_INIT;

    arena_reset(&sync->arena);
    atomic_store(&sync->hurry, false);
    encode_ask(sync, &message);
    sync->request += 1;
    enum status status = message.failed ? STATUS_NO_MEMORY
                                        : transport_connection_send(sync->connection, sync->request,
                                                                    METHOD_SYNC, &message);
    if (status != STATUS_OK) {
        buffer_deinit(&message);
        hang_up(sync);
        return;
    }
    sync->asking = true;
    sync->answer_due_ns = clock_monotonic_ns() + SYNC_ANSWER_PATIENCE_NS;
}

/* --- the answer --------------------------------------------------------------------------------- */

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
    if (action->assigned != NULL) {
        command.descriptor.table = action->assigned->location.table;
        command.descriptor.configuration = action->assigned->location.configuration;
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

static struct store_loop *loop_of_held(const struct held_collection *held, uint64_t tablet)
{
    for (size_t i = 0; i < held->count; i++) {
        if (store_tablet_describe(held->served[i].tablet)->tablet == tablet) {
            return held->served[i].loop;
        }
    }
    return NULL;
}

/* Said now and then, for it is so with every sync. */
static void complain_of_missing(const struct assignment_action *action)
{
    LOG_EVENT(LOG_LEVEL_ERROR, "tablet_missing", LOG_U64("tablet", action->tablet),
              LOG_U64("store", action->store));
}

static void perform(struct sync *sync,
                    const struct held_collection *held,
                    const struct assignment_action *action,
                    bool complain)
{
    switch (action->kind) {
    case ASSIGNMENT_CREATE:
        send_command(loop_of_store(sync->server, action->store), STORE_COMMAND_CREATE, action);
        break;
    case ASSIGNMENT_SPLIT:
        send_command(loop_of_held(held, action->tablet), STORE_COMMAND_SPLIT, action);
        break;
    case ASSIGNMENT_DROP:
        send_command(loop_of_held(held, action->tablet), STORE_COMMAND_DROP, action);
        break;
    case ASSIGNMENT_MISSING:
        if (complain) {
            complain_of_missing(action);
        }
        break;
    }
}

static void match_assignments(struct sync *sync)
{
    struct held_collection held = {0};
    struct assignment_action *actions = NULL;
    size_t action_count = 0;
    int64_t now_ns = clock_monotonic_ns();
    bool complain = now_ns >= sync->next_missing_ns;

    if (collect_held(sync, &held) != STATUS_OK) {
        return;
    }
    struct assignment_held *numbers = arena_allocate_array(&sync->arena, held.count + 1,
                                                           sizeof *numbers);
    for (size_t i = 0; numbers != NULL && i < held.count; i++) {
        numbers[i].tablet = store_tablet_describe(held.served[i].tablet)->tablet;
        numbers[i].store = store_number(store_loop_store(held.served[i].loop));
    }
    if (numbers != NULL && assignment_decide(sync->assignments, numbers, held.count, &sync->arena,
                                             &actions, &action_count) == STATUS_OK) {
        for (size_t i = 0; i < action_count; i++) {
            perform(sync, &held, &actions[i], complain);
        }
        sync->next_missing_ns = complain ? now_ns + SYNC_MISSING_NS : sync->next_missing_ns;
    }
    release(&held);
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
    }
    for (uint32_t i = 0; any && i < server->loop_count; i++) {
        store_loop_tables_changed(server->loops[i]);
    }
    if (status == STATUS_OK && any && schema_cache_save(server->schemas, &error) != STATUS_OK) {
        /* Serving goes on; only a restart without any master would miss it. */
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

static enum status take_answer(struct sync *sync, struct bytes message, struct error *ret_error)
{
    struct response_head head;
    struct bytes body;
    struct sync_response response;

    enum status status = response_head_decode(message, &head, &body, ret_error);
    if (status == STATUS_OK && head.status != STATUS_OK) {
        status = error_set(ret_error, (enum status)head.status, "%.*s", (int)head.text.size_bytes,
                           (const char *)head.text.data);
    }
    if (status == STATUS_OK) {
        status = sync_response_decode(body, &sync->arena, &response, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (response.reset) {
        location_map_clear(sync->server->locations);
        assignment_list_clear(sync->assignments);
        schema_cache_distrust(sync->server->schemas);
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

static void on_answer(struct sync *sync, const struct note *note)
{
    struct error error = {.status = STATUS_OK};

    sync->asking = false;
    arena_reset(&sync->arena);
    if (take_answer(sync, bytes_of(note->message, note->message_bytes), &error) != STATUS_OK) {
        LOG_EVENT(LOG_LEVEL_WARN, "sync_refused",
                  LOG_TEXT("address", sync->masters[sync->master_index]),
                  LOG_TEXT("error", error.text));
        hang_up(sync);
        return;
    }
    if (!atomic_exchange(&sync->connected, true)) {
        LOG_EVENT(LOG_LEVEL_INFO, "master_found",
                  LOG_TEXT("address", sync->masters[sync->master_index]),
                  LOG_U64("catalog_version", atomic_load(&sync->version)));
    }
    match_assignments(sync);
}

/* --- the thread --------------------------------------------------------------------------------- */

static void on_note(struct sync *sync, const struct note *note)
{
    if (note->generation == sync->connection_context.generation) {
        switch (note->type) {
        case NOTE_READY:
            sync->ready = true;
            sync->next_ask_ns = 0;
            break;
        case NOTE_ANSWER:
            on_answer(sync, note);
            break;
        case NOTE_CLOSED:
            hang_up(sync);
            break;
        }
    }
    memory_free(note->message);
}

static void act(struct sync *sync, int64_t now_ns)
{
    if (now_ns >= sync->next_gauges_ns) {
        status_report_gauges(sync->server);
        sync->next_gauges_ns = now_ns + SYNC_GAUGES_NS;
    }
    if (sync->connection == NULL) {
        if (now_ns >= sync->next_ask_ns) {
            dial(sync);
        }
    } else if (!sync->ready || sync->asking) {
        if (now_ns > sync->answer_due_ns) {
            hang_up(sync);
        }
    } else if (now_ns >= sync->next_ask_ns || atomic_load(&sync->hurry)) {
        ask(sync);
    }
}

static int64_t next_deadline_ns(const struct sync *sync)
{
    int64_t deadline_ns = sync->connection != NULL && (!sync->ready || sync->asking)
                              ? sync->answer_due_ns + 1
                              : sync->next_ask_ns;
    return deadline_ns < sync->next_gauges_ns ? deadline_ns : sync->next_gauges_ns;
}

static void *run(void *argument)
{
    struct sync *sync = argument;
    struct note note;

    while (!atomic_load(&sync->stopping)) {
        if (mailbox_take(sync->mailbox, &note, 1, next_deadline_ns(sync)) == 1) {
            on_note(sync, &note);
        }
        act(sync, clock_monotonic_ns());
    }
    hang_up(sync);
    while (mailbox_take(sync->mailbox, &note, 1, 0) == 1) {
        memory_free(note.message);
    }
    return NULL;
}

static enum status parse_masters(struct sync *sync, const char *masters, struct error *ret_error)
{
    while (*masters != '\0') {
        size_t length = strcspn(masters, ", ");
        if (length >= SYNC_ADDRESS_BYTES || sync->master_count == SYNC_MASTERS_MAX) {
            return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                             "masters: too long a list or name");
        }
        if (length > 0) {
            memcpy(sync->masters[sync->master_count++], masters, length);
        }
        masters += length;
        masters += strspn(masters, ", ");
    }
    return sync->master_count > 0
               ? STATUS_OK
               : error_set(ret_error, STATUS_INVALID_ARGUMENT, "masters: no address given");
}

void sync_destroy(struct sync *sync)
{
    if (sync == NULL) {
        return;
    }
    mailbox_destroy(sync->mailbox);
    assignment_list_destroy(sync->assignments);
    arena_deinit(&sync->arena);
    memory_free(sync);
}

enum status sync_create(struct server *server, struct sync **ret_sync, struct error *ret_error)
{
    const struct mailbox_settings mailbox = {.item_bytes = sizeof(struct note), .capacity = 64};
    struct sync *sync = memory_allocate_zeroed(1, sizeof *sync);

    if (sync == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for the sync thread");
    }
    sync->server = server;
    sync->connection_context.sync = sync;
    sync->interval_ns = SYNC_INTERVAL_DEFAULT_MS * INT64_C(1000000);
    arena_init(&sync->arena, SYNC_ARENA_BLOCK_BYTES, SIZE_MAX);
    enum status status = parse_masters(sync, server->settings->masters, ret_error);
    if (status == STATUS_OK && (mailbox_create(&mailbox, &sync->mailbox) != STATUS_OK ||
                                assignment_list_create(&sync->assignments) != STATUS_OK)) {
        status = error_set(ret_error, STATUS_NO_MEMORY, "no memory for the sync thread");
    }
    if (status != STATUS_OK) {
        sync_destroy(sync);
        return status;
    }
    *ret_sync = sync;
    return STATUS_OK;
}

enum status sync_start(struct sync *sync, struct error *ret_error)
{
    if (pthread_create(&sync->thread, NULL, run, sync) != 0) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for the sync thread");
    }
    sync->started = true;
    return STATUS_OK;
}

void sync_stop(struct sync *sync)
{
    if (sync == NULL || !sync->started) {
        return;
    }
    atomic_store(&sync->stopping, true);
    mailbox_wake(sync->mailbox);
    pthread_join(sync->thread, NULL);
}

void sync_hurry(struct sync *sync)
{
    atomic_store(&sync->hurry, true);
    mailbox_wake(sync->mailbox);
}

bool sync_is_connected(const struct sync *sync)
{
    return atomic_load(&sync->connected);
}

uint64_t sync_catalog_version(const struct sync *sync)
{
    return atomic_load(&sync->version);
}

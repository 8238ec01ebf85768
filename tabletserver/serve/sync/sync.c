#include "tabletserver/serve/sync/sync.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/logger.h"
#include "common/io/thread.h"
#include "tabletserver/serve/peers.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/serve/status_report.h"
#include "tabletserver/serve/sync/sync_parts.h"

#define SYNC_ANSWER_PATIENCE_NS (INT64_C(3) * 1000 * 1000 * 1000)
#define SYNC_RETRY_NS           (INT64_C(200) * 1000 * 1000)
#define SYNC_METRICS_NS         (INT64_C(1000) * 1000 * 1000)
#define SYNC_COMPLAINT_FIRST_NS (INT64_C(1000) * 1000 * 1000)
#define SYNC_COMPLAINT_NS       (INT64_C(60) * 1000 * 1000 * 1000)
#define SYNC_ARENA_BLOCK_BYTES  65536
#define NS_PER_SECOND           (INT64_C(1000) * 1000 * 1000)

enum note_type {
    NOTE_READY,
    NOTE_ANSWER,
    NOTE_CLOSED,
};

struct note {
    enum note_type type;
    uint64_t generation; /* of the connection it is about */
    uint8_t *message;    /* ANSWER; CLOSED: why, NULL without memory.  Owned */
    size_t message_bytes;
    uint64_t request; /* ANSWER */
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
    struct connection_context *connection = context;
    server_clock_witness(&connection->sync->server->clock, ack->now_us);
    push_note(context, (struct note){.type = NOTE_READY});
}

static void on_response(void *context, uint64_t request, struct bytes message, bool stream)
{
    (void)stream;
    uint8_t *copy = memory_allocate(message.size_bytes);
    if (copy != NULL) {
        memcpy(copy, message.data, message.size_bytes);
        push_note(context, (struct note){.type = NOTE_ANSWER,
                                         .request = request,
                                         .message = copy,
                                         .message_bytes = message.size_bytes});
    }
}

static void on_closed(void *context, const struct error *error)
{
    size_t size_bytes = strlen(error->text) + 1;
    uint8_t *copy = memory_allocate(size_bytes);
    if (copy != NULL) {
        memcpy(copy, error->text, size_bytes);
    }
    push_note(context, (struct note){.type = NOTE_CLOSED, .message = copy});
}

static void say(const struct sync *sync, const char *event, const char *cause)
{
    LOG_EVENT(LOG_LEVEL_WARN, event,
              LOG_TEXT("address", sync->masters.addresses[sync->master_index]),
              LOG_TEXT("error", cause));
}

/* Said at once when a master that was there has gone, and now and then while none is. */
static void complain(struct sync *sync, bool refused, const char *cause)
{
    int64_t now_ns = clock_monotonic_ns();
    bool was_connected = atomic_exchange(&sync->connected, false);
    const char *gone = was_connected ? "master_lost" : "master_not_reached";
    if (was_connected || now_ns >= sync->next_complaint_ns) {
        say(sync, refused ? "sync_refused" : gone, cause);
        sync->next_complaint_ns = now_ns + SYNC_COMPLAINT_NS;
    }
}

/* The master does not take us for one of its servers, or we not it for our master: a person has to look,
 * and so it is said at once, whatever was said before. */
static void complain_of_bar(struct sync *sync, const char *cause)
{
    int64_t now_ns = clock_monotonic_ns();
    atomic_store(&sync->connected, false);
    if (!atomic_exchange(&sync->barred, true) || now_ns >= sync->next_bar_complaint_ns) {
        say(sync, "sync_refused", cause);
        sync->next_bar_complaint_ns = now_ns + SYNC_COMPLAINT_NS;
    }
}

static void hang_up(struct sync *sync)
{
    if (sync->connection != NULL) {
        transport_connection_close(sync->connection);
        sync->connection = NULL;
    }
    sync->ready = false;
    sync->asking = false;
    sync->connection_context.generation += 1;
    if (sync->redirected) {
        sync->master_index = sync->redirected_to;
        sync->next_ask_ns = 0;
    } else {
        sync->master_index = (sync->master_index + 1) % sync->masters.count;
        sync->next_ask_ns = clock_monotonic_ns() + SYNC_RETRY_NS;
        sync->redirections = 0;
    }
    sync->redirected = false;
}

static void give_up(struct sync *sync, const char *cause)
{
    complain(sync, false, cause);
    hang_up(sync);
}

static void dial(struct sync *sync)
{
    struct error error = {.status = STATUS_OK};
    const struct transport_connection_options options = {
        .address = sync->masters.addresses[sync->master_index],
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
        give_up(sync, error.text);
        return;
    }
    sync->answer_due_ns = clock_monotonic_ns() + SYNC_ANSWER_PATIENCE_NS;
}

/* --- asking ------------------------------------------------------------------------------------- */

static void ask(struct sync *sync)
{
    struct buffer message = BUFFER_INIT;

    arena_reset(&sync->arena);
    atomic_store(&sync->hurry, false);
    sync_encode_request(sync, &message);
    sync->request += 1;
    enum status status = message.failed ? STATUS_NO_MEMORY
                                        : transport_connection_send(sync->connection, sync->request,
                                                                    METHOD_SYNC, &message);
    if (status != STATUS_OK) {
        buffer_deinit(&message);
        give_up(sync, status_text(status));
        return;
    }
    sync->asking = true;
    sync->answer_due_ns = clock_monotonic_ns() + SYNC_ANSWER_PATIENCE_NS;
}

/* Beside the sync that is under way: a master may hold that for a while. */
static void propose(struct sync *sync)
{
    struct buffer message = BUFFER_INIT;

    arena_reset(&sync->arena);
    if (!proposals_encode(sync, &message) ||
        transport_connection_send(sync->connection, SYNC_PROPOSE_BIT | ++sync->request,
                                  METHOD_PROPOSE, &message) != STATUS_OK) {
        buffer_deinit(&message); /* replicas propose again */
    }
}

static void on_answer(struct sync *sync, const struct note *note)
{
    struct error error = {.status = STATUS_OK};

    sync->asking = false;
    arena_reset(&sync->arena);
    enum status status = sync_take_answer(sync, bytes_of(note->message, note->message_bytes),
                                          &error);
    if (status == STATUS_PERMISSION_DENIED) {
        atomic_store(&sync->usurped, true);
        sync->admitted = false;
    }
    if (status == STATUS_FAILED_PRECONDITION || status == STATUS_PERMISSION_DENIED) {
        complain_of_bar(sync, error.text);
    } else if (status != STATUS_OK) {
        complain(sync, true, error.text);
    }
    if (status != STATUS_OK) {
        hang_up(sync);
        return;
    }
    atomic_store(&sync->barred, false);
    atomic_store(&sync->usurped, false);
    sync->admitted = true;
    sync->redirections = 0;
    load_meter_told(sync->meter, sync->load_asked);
    atomic_store(&sync->master_answered, sync->master_index);
    if (!atomic_exchange(&sync->connected, true)) {
        LOG_EVENT(LOG_LEVEL_INFO, "master_found",
                  LOG_TEXT("address", sync->masters.addresses[sync->master_index]),
                  LOG_U64("catalog_version", atomic_load(&sync->version)));
    }
    sync_match_assignments(sync);
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
            if ((note->request & SYNC_PROPOSE_BIT) != 0) {
                proposals_take_answer(sync, bytes_of(note->message, note->message_bytes));
            } else {
                on_answer(sync, note);
            }
            break;
        case NOTE_CLOSED:
            give_up(sync, note->message != NULL ? (const char *)note->message : "closed");
            break;
        }
    }
    memory_free(note->message);
}

/* Where stores lie on other disks nothing else tells of it. */
static void look_at_folder(struct sync *sync)
{
    bool stuck = folder_keeper_is_stuck(sync->folder);
    if (atomic_exchange(&sync->folder_is_stuck, stuck) == stuck) {
        return;
    }
    if (stuck) {
        LOG_EVENT(LOG_LEVEL_ERROR, "folder_stands_still",
                  LOG_TEXT("folder", sync->server->settings->folder),
                  LOG_I64("for_s", FOLDER_KEEPER_STUCK_NS / NS_PER_SECOND));
    } else {
        LOG_EVENT(LOG_LEVEL_INFO, "folder_answers_again",
                  LOG_TEXT("folder", sync->server->settings->folder));
    }
}

static void act(struct sync *sync, int64_t now_ns)
{
    if (now_ns >= sync->next_metrics_ns) {
        look_at_folder(sync);
        status_report_metrics(sync->server);
        if (sync->server->settings->measure_load) {
            load_meter_tick(sync->meter, now_ns);
        }
        transport_listener_drop_stalled(sync->server->listener,
                                        (uint32_t)(sync->server->settings->answer_stall_us / 1000));
        sync->next_metrics_ns = now_ns + SYNC_METRICS_NS;
    }
    if (sync->server->peers != NULL) {
        peers_tell(sync->server->peers);
    }
    if (atomic_exchange(&sync->look_again, false)) {
        arena_reset(&sync->arena);
        sync_match_assignments(sync);
    }
    if (sync->ready && sync->admitted) { /* else what waits waits: it would be refused */
        propose(sync);
    }
    if (sync->connection == NULL) {
        if (now_ns >= sync->next_ask_ns) {
            dial(sync);
        }
    } else if (!sync->ready || sync->asking) {
        if (now_ns > sync->answer_due_ns) {
            give_up(sync, "no answer within 3 s");
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
    return deadline_ns < sync->next_metrics_ns ? deadline_ns : sync->next_metrics_ns;
}

static void *run(void *argument)
{
    struct sync *sync = argument;
    struct note note;

    thread_name_set("sync");
    sync->next_complaint_ns = clock_monotonic_ns() + SYNC_COMPLAINT_FIRST_NS;
    while (!atomic_load(&sync->stopping)) {
        if (mailbox_take(sync->mailbox, &note, 1, next_deadline_ns(sync)) == 1) {
            on_note(sync, &note);
        }
        act(sync, clock_monotonic_ns());
        (void)server_clock_now_us(&sync->server->clock); /* somebody must look now and then */
    }
    hang_up(sync);
    atomic_store(&sync->connected, false);
    while (mailbox_take(sync->mailbox, &note, 1, 0) == 1) {
        memory_free(note.message);
    }
    return NULL;
}

void sync_destroy(struct sync *sync)
{
    if (sync == NULL) {
        return;
    }
    mailbox_destroy(sync->mailbox);
    (void)pthread_mutex_destroy(&sync->masters_lock);
    assignment_list_destroy(sync->assignments);
    arena_deinit(&sync->arena);
    load_meter_destroy(sync->meter);
    proposals_destroy(sync->proposals);
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
    (void)pthread_mutex_init(&sync->masters_lock, NULL);
    sync->connection_context.sync = sync;
    sync->interval_ns = SYNC_INTERVAL_DEFAULT_MS * INT64_C(1000000);
    arena_init(&sync->arena, SYNC_ARENA_BLOCK_BYTES, SIZE_MAX);
    enum status status = sync_masters_parse(server->settings->masters, &sync->masters, ret_error);
    if (status == STATUS_OK && (mailbox_create(&mailbox, &sync->mailbox) != STATUS_OK ||
                                assignment_list_create(&sync->assignments) != STATUS_OK ||
                                proposals_create(&sync->proposals) != STATUS_OK ||
                                load_meter_create(server, &sync->meter) != STATUS_OK)) {
        status = error_set(ret_error, STATUS_NO_MEMORY, "no memory for the sync thread");
    }
    if (status != STATUS_OK) {
        sync_destroy(sync);
        return status;
    }
    *ret_sync = sync;
    return STATUS_OK;
}

static void stop_keepers(struct sync *sync)
{
    for (uint32_t i = 0; i < sync->keeper_count; i++) {
        catalog_keeper_destroy(sync->keepers[i]);
    }
    folder_keeper_destroy(sync->folder);
    memory_free(sync->keepers);
    sync->folder = NULL;
    sync->keepers = NULL;
    sync->keeper_count = 0;
}

static enum status start_keepers(struct sync *sync)
{
    const struct server *server = sync->server;
    enum status status = STATUS_OK;
    sync->keepers = memory_allocate_zeroed(server->loop_count + 1, sizeof *sync->keepers);
    if (sync->keepers == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < server->loop_count && status == STATUS_OK; i++) {
        status = catalog_keeper_create(store_loop_catalog(server->loops[i]), &sync->keepers[i]);
        sync->keeper_count += status == STATUS_OK ? 1 : 0;
    }
    return status != STATUS_OK ? status
                               : folder_keeper_create(server->settings->folder, server->schemas,
                                                      server->peers, &sync->folder);
}

enum status sync_start(struct sync *sync, struct error *ret_error)
{
    if (start_keepers(sync) != STATUS_OK) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for the threads that keep notes");
    }
    if (pthread_create(&sync->thread, NULL, run, sync) != 0) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for the sync thread");
    }
    sync->started = true;
    return STATUS_OK;
}

void sync_stop(struct sync *sync)
{
    if (sync == NULL) {
        return;
    }
    if (sync->started) {
        atomic_store(&sync->stopping, true);
        mailbox_wake(sync->mailbox);
        pthread_join(sync->thread, NULL);
    }
    stop_keepers(sync);
}

void sync_look_again(struct sync *sync)
{
    atomic_store(&sync->look_again, true);
    mailbox_wake(sync->mailbox);
}

void sync_hurry(struct sync *sync)
{
    atomic_store(&sync->hurry, true);
    mailbox_wake(sync->mailbox);
}

void sync_leave(struct sync *sync)
{
    atomic_store(&sync->leaving, true);
    sync_hurry(sync);
}

bool sync_is_connected(const struct sync *sync)
{
    return atomic_load(&sync->connected);
}

bool sync_is_usurped(const struct sync *sync)
{
    return atomic_load(&sync->usurped);
}

bool sync_is_folder_stuck(const struct sync *sync)
{
    return atomic_load(&sync->folder_is_stuck);
}

bool sync_is_barred(const struct sync *sync)
{
    return atomic_load(&sync->barred);
}

uint64_t sync_catalog_version(const struct sync *sync)
{
    return atomic_load(&sync->version);
}

void sync_master_address(struct sync *sync, char ret_address[SYNC_ADDRESS_BYTES])
{
    (void)pthread_mutex_lock(&sync->masters_lock);
    memcpy(ret_address, sync->masters.addresses[atomic_load(&sync->master_answered)],
           SYNC_ADDRESS_BYTES);
    (void)pthread_mutex_unlock(&sync->masters_lock);
}

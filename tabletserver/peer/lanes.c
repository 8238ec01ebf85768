#include "tabletserver/peer/lanes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/logger.h"
#include "common/io/mailbox.h"
#include "common/io/thread.h"
#include "tabletserver/peer/server_address.h"

#define CONNECT_TIMEOUT_MS 1000
#define LOOK_NS            (INT64_C(100) * 1000 * 1000) /* between two looks at all connections */
#define REDIAL_NS          (INT64_C(200) * 1000 * 1000)
#define REDIAL_OTHER_NS \
    (INT64_C(2000) * 1000 * 1000) /* an address at which another server was met */
#define MAILBOX_CAPACITY  16      /* the thread is woken, and looks itself */
#define BATCH_ARENA_BLOCK 4096
#define BATCH_ARENA_BYTES (LANES_ITEMS_MAX * 2 * sizeof(struct replica_item))

/* From one store of ours to one of theirs. */
struct outbox {
    struct outbox *next;
    uint64_t from_store;
    uint64_t to_store;
    struct buffer message; /* a request that grows: its heads, then items */
    uint32_t item_count;
};

/* To one server.  The mutex covers all but what is said to be the thread's. */
struct link {
    struct link *next; /* the list only grows */
    struct lanes *lanes;
    uint64_t server;
    pthread_mutex_t mutex;
    struct outbox *outboxes;                 /* in the order of their turns */
    atomic_bool has_items;                   /* some outbox has */
    struct transport_connection *connection; /* NULL: none, or being closed */
    uint64_t request;
    uint32_t in_flight;
    bool large_in_flight; /* one that small ones would overtake: nothing else leaves */
    int64_t progress_ns;  /* of the last answer, or of the first batch after none was on its way */
    atomic_bool
        broken; /* the connection is; the thread is to close it.  Without the mutex: it may be
                           said from inside of a send */
    atomic_bool is_other; /* it leads to another server; set by a callback of it */
    char address[SERVER_ADDRESS_BYTES_MAX + 1];
    char dialled[SERVER_ADDRESS_BYTES_MAX + 1]; /* the thread's: what the connection is to */
    int64_t redial_ns;                          /* the thread's */
    bool was_ready;                             /* said in the log */
};

struct lanes {
    struct lanes_options options;
    _Atomic(struct link *) links;
    pthread_mutex_t links_mutex; /* held to add one */
    struct mailbox *mailbox;     /* only to wait in */
    pthread_t thread;
    atomic_bool stopping;
    bool started;
    atomic_uint_fast64_t batches_sent;
    atomic_uint_fast64_t items_sent;
    atomic_uint_fast64_t bytes_sent;
    atomic_uint_fast64_t items_lost;
    atomic_uint_fast64_t batches_received;
    atomic_uint_fast64_t batches_refused;
};

/* A batch of a peer, with what it stands on. */
struct inbound {
    struct lanes_batch batch; /* first */
    struct arena arena;
    struct transport_reply *reply;
};

static struct link *find_link(const struct lanes *lanes, uint64_t server)
{
    struct link *link = atomic_load_explicit(&lanes->links, memory_order_acquire);
    while (link != NULL && link->server != server) {
        link = link->next;
    }
    return link;
}

/* --- sending ------------------------------------------------------------------------------------- */

static struct outbox *find_outbox(struct link *link, uint64_t from_store, uint64_t to_store)
{
    struct outbox *outbox = link->outboxes;
    while (outbox != NULL && (outbox->from_store != from_store || outbox->to_store != to_store)) {
        outbox = outbox->next;
    }
    if (outbox == NULL) {
        outbox = memory_allocate_zeroed(1, sizeof *outbox);
        if (outbox != NULL) {
            outbox->from_store = from_store;
            outbox->to_store = to_store;
            outbox->message = BUFFER_INIT;
            outbox->next = link->outboxes;
            link->outboxes = outbox;
        }
    }
    return outbox;
}

static void empty(struct outbox *outbox)
{
    buffer_deinit(&outbox->message);
    outbox->item_count = 0;
}

static bool has_room(const struct lanes *lanes, const struct outbox *outbox, uint64_t item_bytes)
{
    uint64_t bytes = outbox->message.size_bytes + item_bytes;
    return outbox->item_count == 0 ||
           (outbox->item_count < LANES_ITEMS_MAX && bytes <= lanes->options.outbox_bytes_max);
}

/* False: without memory; what was gathered before is lost with it. */
static bool add(struct link *link,
                struct outbox *outbox,
                uint64_t tablet,
                const struct replica_message *message)
{
    struct lanes *lanes = link->lanes;
    if (outbox->item_count == 0) {
        const struct replica_batch_head head = {
            .from = {.server = lanes->options.server, .store = outbox->from_store},
            .incarnation = lanes->options.incarnation,
            .to_store = outbox->to_store};
        request_head_encode(&(struct request_head){0}, &outbox->message);
        replica_batch_begin(&head, &outbox->message);
    }
    replica_batch_add(tablet, message, &outbox->message);
    if (outbox->message.failed) {
        atomic_fetch_add(&lanes->items_lost, outbox->item_count);
        empty(outbox);
        return false;
    }
    outbox->item_count++;
    return true;
}

bool lanes_send(struct lanes *lanes,
                uint64_t from_store,
                struct replica_member to,
                uint64_t tablet,
                const struct replica_message *message)
{
    struct link *link = find_link(lanes, to.server);
    bool sent = false;
    ASSERT(message->incarnation == lanes->options.incarnation);
    if (link != NULL) {
        uint64_t bytes = replica_item_bytes_max(message);
        pthread_mutex_lock(&link->mutex);
        struct outbox *outbox = find_outbox(link, from_store, to.store);
        sent = outbox != NULL && has_room(lanes, outbox, bytes) &&
               add(link, outbox, tablet, message);
        if (sent) {
            atomic_store_explicit(&link->has_items, true, memory_order_relaxed);
        }
        pthread_mutex_unlock(&link->mutex);
    }
    if (!sent) {
        atomic_fetch_add(&lanes->items_lost, 1);
    }
    return sent;
}

static void say_broken(struct link *link)
{
    atomic_store(&link->broken, true);
    mailbox_wake(link->lanes->mailbox);
}

static void let_go(struct link *link, struct outbox *outbox)
{
    struct lanes *lanes = link->lanes;
    uint64_t size_bytes = outbox->message.size_bytes;
    enum status status = transport_connection_send(link->connection, link->request + 1,
                                                   METHOD_REPLICATE, &outbox->message);
    if (status == STATUS_CLOSED) {
        say_broken(link);
    }
    if (status != STATUS_OK) {
        atomic_fetch_add(&lanes->items_lost, outbox->item_count);
    } else {
        link->request++;
        link->progress_ns = link->in_flight == 0 ? clock_monotonic_ns() : link->progress_ns;
        link->in_flight++;
        link->large_in_flight = size_bytes > TRANSPORT_SMALL_BYTES_MAX;
        atomic_fetch_add(&lanes->batches_sent, 1);
        atomic_fetch_add(&lanes->items_sent, outbox->item_count);
        atomic_fetch_add(&lanes->bytes_sent, size_bytes);
    }
    empty(outbox);
}

/* A large batch leaves when nothing is on its way. */
static bool may_leave(const struct link *link, const struct outbox *outbox)
{
    if (link->connection == NULL || atomic_load(&link->broken)) {
        return false;
    }
    bool small = outbox->message.size_bytes <= TRANSPORT_SMALL_BYTES_MAX;
    return link->in_flight == 0 ||
           (small && !link->large_in_flight && link->in_flight < LANES_IN_FLIGHT_MAX);
}

/*
 * With the mutex held.  Whoever left goes to the end, and nobody leaves before one whose turn it is: a large batch,
 * and all behind it in its outbox, would wait for ever beside stores that always have something small on its way.
 * What cannot leave stays in its outbox.
 */
static void flush_link(struct link *link)
{
    struct outbox **place = &link->outboxes;
    struct outbox *gone = NULL;
    struct outbox **gone_end = &gone;
    bool left = false;
    while (*place != NULL) {
        struct outbox *outbox = *place;
        if (outbox->item_count > 0 && !left && may_leave(link, outbox)) {
            let_go(link, outbox);
            *place = outbox->next;
            outbox->next = NULL;
            *gone_end = outbox;
            gone_end = &outbox->next;
        } else {
            left = left || outbox->item_count > 0;
            place = &outbox->next;
        }
    }
    *place = gone;
    atomic_store_explicit(&link->has_items, left, memory_order_relaxed);
}

void lanes_flush(struct lanes *lanes)
{
    struct link *link = atomic_load_explicit(&lanes->links, memory_order_acquire);
    for (; link != NULL; link = link->next) {
        if (atomic_load_explicit(&link->has_items, memory_order_relaxed)) {
            pthread_mutex_lock(&link->mutex);
            flush_link(link);
            pthread_mutex_unlock(&link->mutex);
        }
    }
}

/* --- a connection's callbacks: nng's threads ------------------------------------------------------- */

/* Another server may have the address since, or a name may still lead there. */
static void on_ready(void *context, const struct hello_ack *ack)
{
    struct link *link = context;
    if (ack->process != link->server) {
        atomic_store(&link->is_other, true);
        say_broken(link);
        return;
    }
    pthread_mutex_lock(&link->mutex);
    link->was_ready = true;
    LOG_EVENT(LOG_LEVEL_INFO, "lane_open", LOG_ID("server", link->server),
              LOG_TEXT("address", link->dialled));
    pthread_mutex_unlock(&link->mutex);
}

static void on_response(void *context, uint64_t request, struct bytes message, bool stream)
{
    struct link *link = context;
    (void)request;
    (void)message; /* also if it refuses: then the batch is lost */
    (void)stream;
    pthread_mutex_lock(&link->mutex);
    if (link->connection != NULL && link->in_flight > 0) {
        link->in_flight--;
        link->progress_ns = clock_monotonic_ns();
        flush_link(link);
    }
    pthread_mutex_unlock(&link->mutex);
}

static void on_closed(void *context, const struct error *error)
{
    (void)error;
    say_broken(context);
}

/* --- the thread: dials and hangs up ---------------------------------------------------------------- */

static void hang_up(struct link *link, const char *why)
{
    pthread_mutex_lock(&link->mutex);
    struct transport_connection *connection = link->connection;
    bool was_ready = link->was_ready;
    link->connection = NULL;
    link->in_flight = 0;
    atomic_store(&link->broken, false);
    link->was_ready = false;
    pthread_mutex_unlock(&link->mutex);
    if (connection == NULL) {
        return;
    }
    transport_connection_close(connection); /* waits for callbacks, which take the mutex */
    bool is_other = atomic_exchange(&link->is_other, false);
    link->redial_ns = clock_monotonic_ns() + (is_other ? REDIAL_OTHER_NS : REDIAL_NS);
    if (was_ready) {
        LOG_EVENT(LOG_LEVEL_WARN, "lane_closed", LOG_ID("server", link->server),
                  LOG_TEXT("address", link->dialled), LOG_TEXT("cause", why));
    }
}

/* With the mutex held: a callback that comes at once waits for it. */
static void dial(struct link *link)
{
    struct error error = {.status = STATUS_OK};
    memcpy(link->dialled, link->address, sizeof link->dialled);
    atomic_store(&link->broken,
                 false); /* the one before may have said so again, when it was closed */
    const struct transport_connection_options options = {
        .address = link->dialled,
        .agent = "edubba-tabletserver",
        .process = link->lanes->options.server,
        .lane = LANE_SMALL,
        .connect_timeout_ms = CONNECT_TIMEOUT_MS,
        .context = link,
        .on_ready = on_ready,
        .on_response = on_response,
        .on_closed = on_closed,
    };
    link->redial_ns = clock_monotonic_ns() + REDIAL_NS;
    if (transport_connect(&options, &link->connection, &error) != STATUS_OK) {
        link->connection = NULL;
        LOG_EVENT(LOG_LEVEL_WARN, "lane_not_dialled", LOG_ID("server", link->server),
                  LOG_TEXT("address", link->dialled), LOG_TEXT("error", error.text));
    }
}

static void look_after(struct link *link, int64_t now_ns)
{
    pthread_mutex_lock(&link->mutex);
    const char *why = NULL;
    if (link->connection != NULL) {
        bool late = link->in_flight > 0 &&
                    now_ns - link->progress_ns > link->lanes->options.patience_ns;
        why = atomic_load(&link->broken)                  ? "the connection broke"
              : late                                      ? "it does not answer"
              : strcmp(link->address, link->dialled) != 0 ? "it has moved"
                                                          : NULL;
    }
    pthread_mutex_unlock(&link->mutex);
    if (why != NULL) {
        hang_up(link, why);
    }
    pthread_mutex_lock(&link->mutex);
    bool moved = strcmp(link->address, link->dialled) != 0;
    if (link->connection == NULL && link->address[0] != '\0' &&
        (moved || now_ns >= link->redial_ns)) {
        dial(link);
        flush_link(link);
    }
    pthread_mutex_unlock(&link->mutex);
}

static void *run(void *argument)
{
    struct lanes *lanes = argument;
    char nothing;

    thread_name_set("lanes");
    while (!atomic_load(&lanes->stopping)) {
        int64_t now_ns = clock_monotonic_ns();
        struct link *link = atomic_load_explicit(&lanes->links, memory_order_acquire);
        for (; link != NULL; link = link->next) {
            look_after(link, now_ns);
        }
        (void)mailbox_take(lanes->mailbox, &nothing, 1, now_ns + LOOK_NS);
    }
    return NULL;
}

/* --- receiving ------------------------------------------------------------------------------------- */

static void free_inbound(struct inbound *inbound)
{
    arena_deinit(&inbound->arena);
    memory_free(inbound);
}

void lanes_batch_done(struct lanes_batch *batch)
{
    struct inbound *inbound = (struct inbound *)batch;
    struct transport_reply *reply = inbound->reply;
    struct buffer message = BUFFER_INIT;
    free_inbound(inbound); /* payloads are the reply's */
    response_head_encode(&(struct response_head){.status = STATUS_OK}, &message);
    transport_reply_send(reply, &message, true);
}

void lanes_on_request(struct lanes *lanes,
                      const struct transport_request *request,
                      struct transport_reply *reply)
{
    struct error error = {.status = STATUS_OK};
    struct inbound *inbound = memory_allocate_zeroed(1, sizeof *inbound);
    if (inbound == NULL) {
        transport_reply_fail(reply, STATUS_UNAVAILABLE, "the server is out of memory");
        return;
    }
    inbound->reply = reply;
    arena_init(&inbound->arena, BATCH_ARENA_BLOCK, BATCH_ARENA_BYTES);
    if (replica_batch_decode(request->body, &inbound->arena, &inbound->batch.batch, &error) !=
        STATUS_OK) {
        atomic_fetch_add(&lanes->batches_refused, 1);
        transport_reply_fail(reply, error.status, error.text);
        free_inbound(inbound);
        return;
    }
    atomic_fetch_add(&lanes->batches_received, 1);
    if (!lanes->options.on_batch(lanes->options.context, &inbound->batch)) {
        atomic_fetch_add(&lanes->batches_refused, 1);
        transport_reply_fail(reply, STATUS_UNAVAILABLE, "no such store here, or it is too busy");
        free_inbound(inbound);
    }
}

/* --- life ------------------------------------------------------------------------------------------ */

/* With links_mutex held. */
static struct link *add_link(struct lanes *lanes, uint64_t server)
{
    struct link *link = memory_allocate_zeroed(1, sizeof *link);
    if (link == NULL) {
        return NULL;
    }
    link->lanes = lanes;
    link->server = server;
    ASSERT(pthread_mutex_init(&link->mutex, NULL) == 0);
    link->next = atomic_load_explicit(&lanes->links, memory_order_relaxed);
    atomic_store_explicit(&lanes->links, link, memory_order_release);
    return link;
}

enum status lanes_set_peer(struct lanes *lanes, uint64_t server, const char *address)
{
    address = address != NULL ? address : "";
    size_t size_bytes = strlen(address) + 1;
    if (size_bytes > SERVER_ADDRESS_BYTES_MAX + 1) {
        return STATUS_INVALID_ARGUMENT;
    }
    pthread_mutex_lock(&lanes->links_mutex);
    struct link *link = find_link(lanes, server);
    if (link == NULL) {
        link = add_link(lanes, server);
    }
    pthread_mutex_unlock(&lanes->links_mutex);
    if (link == NULL) {
        return STATUS_NO_MEMORY;
    }
    pthread_mutex_lock(&link->mutex);
    memcpy(link->address, address, size_bytes);
    pthread_mutex_unlock(&link->mutex);
    mailbox_wake(lanes->mailbox);
    return STATUS_OK;
}

enum status lanes_create(const struct lanes_options *options,
                         struct lanes **ret_lanes,
                         struct error *ret_error)
{
    const struct mailbox_settings mailbox = {.item_bytes = 1, .capacity = MAILBOX_CAPACITY};
    struct lanes *lanes = memory_allocate_zeroed(1, sizeof *lanes);
    if (lanes == NULL || mailbox_create(&mailbox, &lanes->mailbox) != STATUS_OK) {
        memory_free(lanes);
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for lanes to other servers");
    }
    lanes->options = *options;
    ASSERT(pthread_mutex_init(&lanes->links_mutex, NULL) == 0);
    *ret_lanes = lanes;
    return STATUS_OK;
}

enum status lanes_start(struct lanes *lanes, struct error *ret_error)
{
    if (pthread_create(&lanes->thread, NULL, run, lanes) != 0) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for the thread of lanes");
    }
    lanes->started = true;
    return STATUS_OK;
}

void lanes_stop(struct lanes *lanes)
{
    if (lanes == NULL || !lanes->started) {
        return;
    }
    atomic_store(&lanes->stopping, true);
    mailbox_wake(lanes->mailbox);
    pthread_join(lanes->thread, NULL);
    lanes->started = false;
    struct link *link = atomic_load(&lanes->links);
    for (; link != NULL; link = link->next) {
        link->was_ready = false; /* it is we who go */
        hang_up(link, "");
    }
}

static void destroy_link(struct link *link)
{
    while (link->outboxes != NULL) {
        struct outbox *outbox = link->outboxes;
        link->outboxes = outbox->next;
        buffer_deinit(&outbox->message);
        memory_free(outbox);
    }
    (void)pthread_mutex_destroy(&link->mutex);
    memory_free(link);
}

void lanes_destroy(struct lanes *lanes)
{
    if (lanes == NULL) {
        return;
    }
    lanes_stop(lanes);
    for (struct link *link = atomic_load(&lanes->links); link != NULL;) {
        struct link *next = link->next;
        destroy_link(link);
        link = next;
    }
    mailbox_destroy(lanes->mailbox);
    (void)pthread_mutex_destroy(&lanes->links_mutex);
    memory_free(lanes);
}

struct lanes_figures lanes_look(const struct lanes *lanes)
{
    return (struct lanes_figures){
        .batches_sent = atomic_load(&lanes->batches_sent),
        .items_sent = atomic_load(&lanes->items_sent),
        .bytes_sent = atomic_load(&lanes->bytes_sent),
        .items_lost = atomic_load(&lanes->items_lost),
        .batches_received = atomic_load(&lanes->batches_received),
        .batches_refused = atomic_load(&lanes->batches_refused),
    };
}

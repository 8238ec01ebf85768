#include "tabletserver/peer/lane_link.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/logger.h"

#define CONNECT_TIMEOUT_MS 1000
#define REDIAL_NS          (INT64_C(200) * 1000 * 1000)
#define REDIAL_OTHER_NS \
    (INT64_C(2000) * 1000 * 1000) /* an address at which another server was met */

struct lane_outbox {
    struct lane_outbox *next;
    uint64_t from_store;
    uint64_t to_store;
    struct buffer message; /* a request that grows: its heads, then items */
    uint32_t item_count;
};

/* --- gathering ------------------------------------------------------------------------------------ */

static struct lane_outbox *find_outbox(struct lane_link *link,
                                       uint64_t from_store,
                                       uint64_t to_store)
{
    struct lane_outbox *outbox = link->outboxes;
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

static void empty(struct lane_outbox *outbox)
{
    buffer_deinit(&outbox->message);
    outbox->item_count = 0;
}

static bool has_room(const struct lane_shared *shared,
                     const struct lane_outbox *outbox,
                     uint64_t item_bytes)
{
    uint64_t bytes = outbox->message.size_bytes + item_bytes;
    return outbox->item_count == 0 ||
           (outbox->item_count < LANES_ITEMS_MAX && bytes <= shared->options.outbox_bytes_max);
}

/* False: without memory; what was gathered before is lost with it. */
static bool add(struct lane_link *link,
                struct lane_outbox *outbox,
                uint64_t tablet,
                const struct replica_message *message)
{
    struct lane_shared *shared = link->shared;
    if (outbox->item_count == 0) {
        const struct replica_batch_head head = {
            .from = {.server = shared->options.server, .store = outbox->from_store},
            .incarnation = shared->options.incarnation,
            .to_store = outbox->to_store};
        request_head_encode(&(struct request_head){0}, &outbox->message);
        replica_batch_begin(&head, &outbox->message);
    }
    replica_batch_add(tablet, message, &outbox->message);
    if (outbox->message.failed) {
        atomic_fetch_add(&shared->counts.items_lost, outbox->item_count);
        empty(outbox);
        return false;
    }
    outbox->item_count++;
    return true;
}

bool lane_link_add(struct lane_link *link,
                   uint64_t from_store,
                   uint64_t to_store,
                   uint64_t tablet,
                   const struct replica_message *message)
{
    uint64_t bytes = replica_item_bytes_max(message);
    pthread_mutex_lock(&link->mutex);
    struct lane_outbox *outbox = find_outbox(link, from_store, to_store);
    bool added = outbox != NULL && has_room(link->shared, outbox, bytes) &&
                 add(link, outbox, tablet, message);
    if (added) {
        atomic_store_explicit(&link->has_items, true, memory_order_relaxed);
    }
    pthread_mutex_unlock(&link->mutex);
    return added;
}

/* --- leaving -------------------------------------------------------------------------------------- */

static void say_broken(struct lane_link *link)
{
    atomic_store(&link->broken, true);
    mailbox_wake(link->shared->wake);
}

static void let_go(struct lane_link *link, struct lane_outbox *outbox)
{
    struct lane_shared *shared = link->shared;
    uint64_t size_bytes = outbox->message.size_bytes;
    enum status status = transport_connection_send(link->connection, link->request + 1,
                                                   METHOD_REPLICATE, &outbox->message);
    if (status == STATUS_CLOSED) {
        say_broken(link);
    }
    if (status != STATUS_OK) {
        atomic_fetch_add(&shared->counts.items_lost, outbox->item_count);
    } else {
        link->request++;
        link->progress_ns = link->in_flight == 0 ? clock_monotonic_ns() : link->progress_ns;
        link->in_flight++;
        link->large_in_flight = size_bytes > TRANSPORT_SMALL_BYTES_MAX;
        atomic_fetch_add(&shared->counts.batches_sent, 1);
        atomic_fetch_add(&shared->counts.items_sent, outbox->item_count);
        atomic_fetch_add(&shared->counts.bytes_sent, size_bytes);
    }
    empty(outbox);
}

/* A large batch leaves when nothing is on its way. */
static bool may_leave(const struct lane_link *link, const struct lane_outbox *outbox)
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
static void flush_locked(struct lane_link *link)
{
    struct lane_outbox **place = &link->outboxes;
    struct lane_outbox *gone = NULL;
    struct lane_outbox **gone_end = &gone;
    bool left = false;
    while (*place != NULL) {
        struct lane_outbox *outbox = *place;
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

void lane_link_flush(struct lane_link *link)
{
    if (atomic_load_explicit(&link->has_items, memory_order_relaxed)) {
        pthread_mutex_lock(&link->mutex);
        flush_locked(link);
        pthread_mutex_unlock(&link->mutex);
    }
}

/* --- a connection's callbacks: nng's threads ------------------------------------------------------- */

/* Another server may have the address since, or a name may still lead there. */
static void on_ready(void *context, const struct hello_ack *ack)
{
    struct lane_link *link = context;
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
    struct lane_link *link = context;
    (void)request;
    (void)message; /* also if it refuses: then the batch is lost */
    (void)stream;
    pthread_mutex_lock(&link->mutex);
    if (link->connection != NULL && link->in_flight > 0) {
        link->in_flight--;
        link->progress_ns = clock_monotonic_ns();
        flush_locked(link);
    }
    pthread_mutex_unlock(&link->mutex);
}

static void on_closed(void *context, const struct error *error)
{
    (void)error;
    say_broken(context);
}

/* --- the thread: dials and hangs up ---------------------------------------------------------------- */

static void hang_up(struct lane_link *link, const char *why)
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
static void dial(struct lane_link *link)
{
    struct error error = {.status = STATUS_OK};
    memcpy(link->dialled, link->address, sizeof link->dialled);
    atomic_store(&link->broken,
                 false); /* the one before may have said so again, when it was closed */
    const struct transport_connection_options options = {
        .address = link->dialled,
        .agent = "edubba-tabletserver",
        .process = link->shared->options.server,
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

void lane_link_look_after(struct lane_link *link, int64_t now_ns)
{
    pthread_mutex_lock(&link->mutex);
    const char *why = NULL;
    if (link->connection != NULL) {
        bool late = link->in_flight > 0 &&
                    now_ns - link->progress_ns > link->shared->options.patience_ns;
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
        flush_locked(link);
    }
    pthread_mutex_unlock(&link->mutex);
}

/* --- life ------------------------------------------------------------------------------------------ */

struct lane_link *lane_link_create(struct lane_shared *shared, uint64_t server)
{
    struct lane_link *link = memory_allocate_zeroed(1, sizeof *link);
    if (link == NULL) {
        return NULL;
    }
    link->shared = shared;
    link->server = server;
    ASSERT(pthread_mutex_init(&link->mutex, NULL) == 0);
    return link;
}

void lane_link_set_address(struct lane_link *link, const char *address)
{
    size_t size_bytes = strlen(address) + 1;
    ASSERT(size_bytes <= SERVER_ADDRESS_BYTES_MAX + 1);
    pthread_mutex_lock(&link->mutex);
    memcpy(link->address, address, size_bytes);
    pthread_mutex_unlock(&link->mutex);
    mailbox_wake(link->shared->wake);
}

void lane_link_end(struct lane_link *link)
{
    pthread_mutex_lock(&link->mutex); /* its connection may become ready just now */
    link->was_ready = false;          /* it is we who go */
    pthread_mutex_unlock(&link->mutex);
    hang_up(link, "");
}

void lane_link_destroy(struct lane_link *link)
{
    while (link->outboxes != NULL) {
        struct lane_outbox *outbox = link->outboxes;
        link->outboxes = outbox->next;
        buffer_deinit(&outbox->message);
        memory_free(outbox);
    }
    (void)pthread_mutex_destroy(&link->mutex);
    memory_free(link);
}

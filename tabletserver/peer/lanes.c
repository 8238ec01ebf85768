#include "tabletserver/peer/lanes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/thread.h"
#include "tabletserver/peer/lane_link.h"

#define LOOK_NS           (INT64_C(100) * 1000 * 1000) /* between two looks at all connections */
#define MAILBOX_CAPACITY  16                           /* the thread is woken, and looks itself */
#define BATCH_ARENA_BLOCK 4096
#define BATCH_ARENA_BYTES (LANES_ITEMS_MAX * 2 * sizeof(struct replica_item))

struct lanes {
    struct lane_shared shared;
    _Atomic(struct lane_link *) links;
    pthread_mutex_t links_mutex; /* held to add one */
    pthread_t thread;
    atomic_bool stopping;
    bool started;
    atomic_uint_fast64_t batches_received;
    atomic_uint_fast64_t batches_refused;
};

/* A peer's batch, with the memory that it lies in and the reply that it waits for. */
struct inbound {
    struct lanes_batch batch; /* first */
    struct arena arena;
    struct transport_reply *reply;
};

static struct lane_link *find_link(const struct lanes *lanes, uint64_t server)
{
    struct lane_link *link = atomic_load_explicit(&lanes->links, memory_order_acquire);
    while (link != NULL && link->server != server) {
        link = link->next;
    }
    return link;
}

/* --- sending ------------------------------------------------------------------------------------- */

bool lanes_send(struct lanes *lanes,
                uint64_t from_store,
                struct replica_member to,
                uint64_t tablet,
                const struct replica_message *message)
{
    struct lane_link *link = find_link(lanes, to.server);
    ASSERT(message->incarnation == lanes->shared.options.incarnation);
    bool sent = link != NULL && lane_link_add(link, from_store, to.store, tablet, message);
    if (!sent) {
        atomic_fetch_add(&lanes->shared.counts.items_lost, 1);
    }
    return sent;
}

void lanes_flush(struct lanes *lanes)
{
    struct lane_link *link = atomic_load_explicit(&lanes->links, memory_order_acquire);
    for (; link != NULL; link = link->next) {
        lane_link_flush(link);
    }
}

/* --- the thread: has what is broken hung up and dialled again --------------------------------------- */

static void *run(void *argument)
{
    struct lanes *lanes = argument;
    char nothing;

    thread_name_set("lanes");
    while (!atomic_load(&lanes->stopping)) {
        int64_t now_ns = clock_monotonic_ns();
        struct lane_link *link = atomic_load_explicit(&lanes->links, memory_order_acquire);
        for (; link != NULL; link = link->next) {
            lane_link_look_after(link, now_ns);
        }
        (void)mailbox_take(lanes->shared.wake, &nothing, 1, now_ns + LOOK_NS);
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
    if (!lanes->shared.options.on_batch(lanes->shared.options.context, &inbound->batch)) {
        atomic_fetch_add(&lanes->batches_refused, 1);
        transport_reply_fail(reply, STATUS_UNAVAILABLE, "no such store here, or it is too busy");
        free_inbound(inbound);
    }
}

/* --- life ------------------------------------------------------------------------------------------ */

/* With links_mutex held. */
static struct lane_link *add_link(struct lanes *lanes, uint64_t server)
{
    struct lane_link *link = lane_link_create(&lanes->shared, server);
    if (link != NULL) {
        link->next = atomic_load_explicit(&lanes->links, memory_order_relaxed);
        atomic_store_explicit(&lanes->links, link, memory_order_release);
    }
    return link;
}

enum status lanes_set_peer(struct lanes *lanes, uint64_t server, const char *address)
{
    address = address != NULL ? address : "";
    if (strlen(address) > SERVER_ADDRESS_BYTES_MAX) {
        return STATUS_INVALID_ARGUMENT;
    }
    pthread_mutex_lock(&lanes->links_mutex);
    struct lane_link *link = find_link(lanes, server);
    if (link == NULL) {
        link = add_link(lanes, server);
    }
    pthread_mutex_unlock(&lanes->links_mutex);
    if (link == NULL) {
        return STATUS_NO_MEMORY;
    }
    lane_link_set_address(link, address);
    return STATUS_OK;
}

enum status lanes_create(const struct lanes_options *options,
                         struct lanes **ret_lanes,
                         struct error *ret_error)
{
    const struct mailbox_settings mailbox = {.item_bytes = 1, .capacity = MAILBOX_CAPACITY};
    struct lanes *lanes = memory_allocate_zeroed(1, sizeof *lanes);
    if (lanes == NULL || mailbox_create(&mailbox, &lanes->shared.wake) != STATUS_OK) {
        memory_free(lanes);
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for lanes to other servers");
    }
    lanes->shared.options = *options;
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
    mailbox_wake(lanes->shared.wake);
    pthread_join(lanes->thread, NULL);
    lanes->started = false;
    struct lane_link *link = atomic_load(&lanes->links);
    for (; link != NULL; link = link->next) {
        lane_link_end(link);
    }
}

void lanes_destroy(struct lanes *lanes)
{
    if (lanes == NULL) {
        return;
    }
    lanes_stop(lanes);
    for (struct lane_link *link = atomic_load(&lanes->links); link != NULL;) {
        struct lane_link *next = link->next;
        lane_link_destroy(link);
        link = next;
    }
    mailbox_destroy(lanes->shared.wake);
    (void)pthread_mutex_destroy(&lanes->links_mutex);
    memory_free(lanes);
}

struct lanes_figures lanes_look(const struct lanes *lanes)
{
    return (struct lanes_figures){
        .batches_sent = atomic_load(&lanes->shared.counts.batches_sent),
        .items_sent = atomic_load(&lanes->shared.counts.items_sent),
        .bytes_sent = atomic_load(&lanes->shared.counts.bytes_sent),
        .items_lost = atomic_load(&lanes->shared.counts.items_lost),
        .batches_received = atomic_load(&lanes->batches_received),
        .batches_refused = atomic_load(&lanes->batches_refused),
    };
}

/*
 * Lanes over real connections: two servers of one process.  What arrives is what was sent, in its
 * order; what cannot leave is bounded; who goes away and comes back is found again.
 */
#include <string.h>

#include "common/io/clock.h"
#include "tabletserver/peer/lane_link.h"
#include "tabletserver/peer/lanes.h"
#include "tabletserver/peer/server_address.h"
#include "tests/support/peer_listener.h"
#include "tests/support/transport_fixture.h"

#define OUTBOX_BYTES (UINT64_C(1) << 20)

struct node {
    uint64_t server;
    struct lanes *lanes;
    struct transport_listener *listener;
    char address[PEER_ADDRESS_BYTES];
    atomic_bool hold; /* keep batches */
    pthread_mutex_t mutex;
    struct lanes_batch *held[64];
    unsigned held_count;
    /* What came for store 1. */
    atomic_uint_fast64_t items;
    atomic_uint_fast64_t batches;
    uint64_t last_sequence;
    atomic_uint disorder; /* a sequence that is not above the one before */
    atomic_uint_fast64_t payload_bytes;
    atomic_uint wrong;
};

static void on_request(void *context,
                       const struct transport_request *request,
                       struct transport_reply *reply)
{
    struct node *node = context;
    cr_assert_eq(request->method, METHOD_REPLICATE);
    lanes_on_request(node->lanes, request, reply);
}

static void take(struct node *node, const struct replica_batch *batch)
{
    for (size_t i = 0; i < batch->item_count; i++) {
        const struct replica_message *message = &batch->items[i].message;
        struct bytes payload = message->entry.payload;
        bool good = message->type == REPLICA_PREPARE && message->incarnation != 0 &&
                    (payload.size_bytes == 0 ||
                     payload.data[payload.size_bytes - 1] == (uint8_t)message->entry.sequence);
        atomic_fetch_add(&node->wrong, good ? 0 : 1);
        atomic_fetch_add(&node->disorder, message->entry.sequence > node->last_sequence ? 0 : 1);
        node->last_sequence = message->entry.sequence;
        atomic_fetch_add(&node->payload_bytes, payload.size_bytes);
    }
    atomic_fetch_add(&node->items, batch->item_count);
    atomic_fetch_add(&node->batches, 1);
}

static bool on_batch(void *context, struct lanes_batch *batch)
{
    struct node *node = context;
    if (batch->batch.head.to_store != 1) {
        return false;
    }
    pthread_mutex_lock(&node->mutex);
    if (atomic_load(&node->hold)) {
        cr_assert_lt(node->held_count, 64);
        node->held[node->held_count++] = batch;
    } else {
        take(node, &batch->batch);
        lanes_batch_done(batch);
    }
    pthread_mutex_unlock(&node->mutex);
    return true;
}

static void let_go_of_held(struct node *node)
{
    pthread_mutex_lock(&node->mutex);
    atomic_store(&node->hold, false);
    for (unsigned i = 0; i < node->held_count; i++) {
        take(node, &node->held[i]->batch);
        lanes_batch_done(node->held[i]);
    }
    node->held_count = 0;
    pthread_mutex_unlock(&node->mutex);
}

static unsigned held(struct node *node)
{
    pthread_mutex_lock(&node->mutex);
    unsigned count = node->held_count;
    pthread_mutex_unlock(&node->mutex);
    return count;
}

static void node_open(struct node *node, uint64_t server, int64_t patience_ms)
{
    struct error error;
    const struct lanes_options options = {.server = server,
                                          .incarnation = 7,
                                          .outbox_bytes_max = OUTBOX_BYTES,
                                          .patience_ns = patience_ms * 1000000,
                                          .context = node,
                                          .on_batch = on_batch};
    node->server = server;
    pthread_mutex_init(&node->mutex, NULL);
    cr_assert_eq(lanes_create(&options, &node->lanes, &error), STATUS_OK);
    node->listener = peer_listen(server, node->address, node, on_request);
    cr_assert_eq(lanes_start(node->lanes, &error), STATUS_OK);
}

static void node_close(struct node *node)
{
    let_go_of_held(node);
    lanes_stop(node->lanes);
    transport_listener_close(node->listener, 0);
    lanes_destroy(node->lanes);
}

static bool send_from(struct node *from,
                      uint64_t from_store,
                      struct replica_member to,
                      uint64_t sequence,
                      size_t size_bytes)
{
    uint8_t *payload = memory_allocate(size_bytes + 1);
    memset(payload, (int)(sequence & 0xff), size_bytes + 1);
    struct replica_message message = {
        .type = REPLICA_PREPARE,
        .version = 1,
        .incarnation = 7,
        .entry = {.sequence = sequence, .version = 1, .payload = bytes_of(payload, size_bytes)}};
    bool sent = lanes_send(from->lanes, from_store, to, 5, &message);
    memory_free(payload);
    return sent;
}

static bool send_to(struct node *from,
                    struct replica_member to,
                    uint64_t sequence,
                    size_t size_bytes)
{
    return send_from(from, 1, to, sequence, size_bytes);
}

static const struct replica_member STORE = {.server = 2, .store = 1};

static uint64_t items_gone(const struct node *node)
{
    struct lanes_figures figures = lanes_look(node->lanes);
    return figures.items_sent + figures.items_lost;
}

/* A connection stands, and what is sent from here on arrives: before, it is lost where the machine takes so long over a
 * greeting that it is begun again.  (By what is for a store that the other one does not have; all of it is gone, and
 * counted, when this returns.) */
static void open_lane(struct node *from, struct node *to)
{
    uint64_t greetings = items_gone(from);
    cr_assert_eq(lanes_set_peer(from->lanes, to->server, to->address), STATUS_OK);
    while (lanes_look(to->lanes).batches_refused == 0) {
        cr_assert(send_to(from, (struct replica_member){.server = to->server, .store = 99}, 1, 10));
        greetings++;
        lanes_flush(from->lanes);
        clock_sleep_us(1000);
    }
    WAIT_FOR(items_gone(from) == greetings);
}

Test(lanes, everything_arrives_once_and_in_order)
{
    static struct node a;
    static struct node b;
    node_open(&a, 1, 60000);
    node_open(&b, 2, 60000);
    open_lane(&a, &b);
    struct lanes_figures before = lanes_look(a.lanes);
    uint64_t sent = 0;
    for (uint64_t sequence = 1; sequence <= 20000; sequence++) {
        while (!send_to(&a, STORE, sequence, sequence % 300)) { /* the outbox is full */
            lanes_flush(a.lanes);
            clock_sleep_us(100);
        }
        sent++;
        if (sequence % 7 == 0) {
            lanes_flush(a.lanes);
        }
    }
    lanes_flush(a.lanes);
    WAIT_FOR(atomic_load(&b.items) == sent);
    cr_assert_eq(b.disorder, 0);
    cr_assert_eq(b.wrong, 0);
    cr_assert_lt(atomic_load(&b.batches), sent / 7 + 2, "they travel together");
    WAIT_FOR(lanes_look(a.lanes).items_sent - before.items_sent ==
             sent); /* counted after it is sent */
    cr_assert_eq(lanes_look(a.lanes).batches_sent - before.batches_sent, atomic_load(&b.batches));
    node_close(&a);
    node_close(&b);
}

Test(lanes, a_large_entry_travels)
{
    static struct node a;
    static struct node b;
    node_open(&a, 1, 60000);
    node_open(&b, 2, 60000);
    open_lane(&a, &b);
    cr_assert(send_to(&a, STORE, 1, 64 << 20), "larger than the outbox may be, but alone");
    cr_assert(!send_to(&a, STORE, 2, 10), "there is no room beside it");
    lanes_flush(a.lanes);
    WAIT_FOR(atomic_load(&b.items) == 1);
    cr_assert_eq(b.payload_bytes, 64 << 20);
    cr_assert_eq(b.wrong, 0);
    node_close(&a);
    node_close(&b);
}

Test(lanes, what_waits_is_bounded_on_both_sides)
{
    static struct node a;
    static struct node b;
    node_open(&a, 1, 60000);
    node_open(&b, 2, 60000);
    atomic_store(&b.hold, true);
    open_lane(&a, &b);
    uint64_t before = lanes_look(a.lanes).batches_sent;
    uint64_t lost = 0;
    uint64_t sequence = 0;
    while (lost < 100) {
        lost += send_to(&a, STORE, ++sequence, 10000) ? 0 : 1;
        lanes_flush(a.lanes);
        WAIT_FOR(lanes_look(a.lanes).batches_sent > before);
    }
    WAIT_FOR(held(&b) == lanes_look(a.lanes).batches_sent - before);
    clock_sleep_us(20000);
    cr_assert_leq(held(&b), LANES_IN_FLIGHT_MAX, "no more than so many are under way");
    cr_assert_eq(held(&b), lanes_look(a.lanes).batches_sent - before);
    cr_assert_eq(lanes_look(a.lanes).items_lost, lost);
    cr_assert_lt((sequence - lost) * 10000,
                 (LANES_IN_FLIGHT_MAX + 1) * (OUTBOX_BYTES + 10000 + REPLICA_ITEM_BYTES_OWN));
    let_go_of_held(&b);
    WAIT_FOR(atomic_load(&b.items) == sequence - lost);
    cr_assert_eq(b.disorder, 0);
    node_close(&a);
    node_close(&b);
}

/* Of those held: did one come from that store? */
static bool has_held_of(struct node *node, uint64_t store)
{
    bool found = false;
    pthread_mutex_lock(&node->mutex);
    for (unsigned i = 0; i < node->held_count; i++) {
        found = found || node->held[i]->batch.head.from.store == store;
    }
    pthread_mutex_unlock(&node->mutex);
    return found;
}

static void let_go_of_oldest(struct node *node)
{
    pthread_mutex_lock(&node->mutex);
    struct lanes_batch *oldest = node->held[0];
    node->held_count--;
    memmove(node->held, node->held + 1, node->held_count * sizeof(struct lanes_batch *));
    pthread_mutex_unlock(&node->mutex);
    lanes_batch_done(oldest);
}

/* A slice of one store waited until there was nothing of another one under way, which was never. */
Test(lanes, a_large_batch_has_its_turn_beside_a_store_that_never_rests)
{
    static struct node a;
    static struct node b;
    node_open(&a, 1, 60000);
    node_open(&b, 2, 60000);
    atomic_store(&b.hold, true);
    open_lane(&a, &b);
    uint64_t before = lanes_look(a.lanes).batches_sent;
    cr_assert(send_from(&a, 1, STORE, 1, 10));
    lanes_flush(a.lanes);
    WAIT_FOR(held(&b) == 1);
    cr_assert(send_from(&a, 2, STORE, 1, 2 * TRANSPORT_SMALL_BYTES_MAX));
    lanes_flush(a.lanes);
    for (uint64_t sequence = 2; sequence < 20 && !has_held_of(&b, 2); sequence++) {
        uint64_t sent = lanes_look(a.lanes).batches_sent;
        cr_assert(send_from(&a, 1, STORE, sequence, 10));
        lanes_flush(a.lanes);
        WAIT_FOR(held(&b) == 1 + lanes_look(a.lanes).batches_sent - sent);
        let_go_of_oldest(&b); /* of two, or the only one: then the next may leave */
        WAIT_FOR(held(&b) > 0);
    }
    cr_assert(has_held_of(&b, 2));
    let_go_of_held(&b);
    WAIT_FOR(lanes_look(b.lanes).batches_received >= lanes_look(a.lanes).batches_sent - before);
    node_close(&a);
    node_close(&b);
}

/* It has moved, and c has its address; a hears of that later. */
Test(lanes, another_server_that_answers_is_not_spoken_to)
{
    static struct node a;
    static struct node b;
    static struct node c;
    node_open(&a, 1, 60000);
    node_open(&b, 2, 60000);
    node_open(&c, 3, 60000);
    cr_assert_eq(lanes_set_peer(a.lanes, 2, c.address), STATUS_OK);
    clock_sleep_us(300 * 1000);
    cr_assert(send_to(&a, STORE, 1, 10));
    lanes_flush(a.lanes);
    clock_sleep_us(100 * 1000);
    cr_assert_eq(lanes_set_peer(a.lanes, 2, b.address), STATUS_OK);
    for (uint64_t sequence = 2; atomic_load(&b.items) == 0; sequence++) {
        (void)send_to(&a, STORE, sequence, 10); /* the first may be lost on the way to c */
        lanes_flush(a.lanes);
        clock_sleep_us(1000);
    }
    cr_assert_eq(lanes_look(c.lanes).batches_received, 0);
    node_close(&a);
    node_close(&b);
    node_close(&c);
}

Test(lanes, who_does_not_answer_is_dialled_again_and_who_comes_back_is_found)
{
    static struct node a;
    static struct node b;
    node_open(&a, 1, 200);
    node_open(&b, 2, 200);
    atomic_store(&b.hold, true);
    cr_assert_eq(lanes_set_peer(a.lanes, 2, b.address), STATUS_OK);
    for (uint64_t sequence = 1; held(&b) <= LANES_IN_FLIGHT_MAX; sequence++) {
        (void)send_to(&a, STORE, sequence, 10); /* more than may go unanswered on one connection */
        lanes_flush(a.lanes);
        clock_sleep_us(1000);
    }
    node_close(&b);
    node_open(&b, 2, 200);
    atomic_store(&b.items, 0);
    for (uint64_t sequence = 1000000; atomic_load(&b.items) == 0; sequence++) {
        (void)send_to(&a, STORE, sequence, 10);
        lanes_flush(a.lanes);
        clock_sleep_us(1000);
    }
    node_close(&a);
    node_close(&b);
}

Test(lanes, strangers_are_lost_and_garbage_is_refused)
{
    static struct node a;
    static struct node b;
    static struct caller caller;
    struct buffer message = BUFFER_INIT;
    node_open(&a, 1, 10000);
    node_open(&b, 2, 10000);
    cr_assert(!send_to(&a, STORE, 1, 10), "nobody has said where it is");
    cr_assert_eq(lanes_set_peer(a.lanes, 2, b.address), STATUS_OK);
    cr_assert(send_to(&a, (struct replica_member){.server = 2, .store = 99}, 1, 10));
    lanes_flush(a.lanes);
    WAIT_FOR(lanes_look(b.lanes).batches_refused == 1);
    caller_open(&caller, b.address);
    request_head_encode(&(struct request_head){0}, &message);
    buffer_append_bytes(&message, bytes_of_text("\xff garbage"));
    cr_assert_eq(transport_connection_send(caller.connection, 1, METHOD_REPLICATE, &message),
                 STATUS_OK);
    buffer_deinit(&message);
    WAIT_FOR(caller.responses == 1);
    cr_assert_eq(lanes_look(b.lanes).batches_refused, 2);
    cr_assert_eq(b.items, 0);
    transport_connection_close(caller.connection);
    node_close(&a);
    node_close(&b);
}

/* A name may have 253 bytes, and the catalog takes longer ones. */
Test(lanes, an_address_may_be_as_long_as_the_catalog_takes_it)
{
    static struct node a;
    char address[SERVER_ADDRESS_BYTES_MAX + 2] = "tcp://";
    node_open(&a, 1, 10000);
    memset(address + strlen(address), 'a', SERVER_ADDRESS_BYTES_MAX + 1 - strlen(address));
    cr_assert_eq(lanes_set_peer(a.lanes, 2, address), STATUS_INVALID_ARGUMENT);
    memcpy(address + SERVER_ADDRESS_BYTES_MAX - 5, ":7401", 6);
    cr_assert_eq(lanes_set_peer(a.lanes, 2, address), STATUS_OK);
    node_close(&a);
}

/* Seen by the thread sanitizer, where it is told to look below libnng too (without tsan.supp): nothing but the link's mutex
 * stands between the two. */
Test(lanes, who_goes_while_a_connection_becomes_ready_is_in_nobodys_way)
{
    static struct lane_shared shared = {.options = {.server = 1, .incarnation = 7}};
    const struct mailbox_settings mailbox = {.item_bytes = 1, .capacity = 1};
    static struct node there;
    node_open(&there, 2, 1000);
    cr_assert_eq(mailbox_create(&mailbox, &shared.wake), STATUS_OK);
    struct lane_link *link = lane_link_create(&shared, 2);
    cr_assert_not_null(link);
    lane_link_set_address(link, there.address);
    lane_link_look_after(link, clock_monotonic_ns());
    clock_sleep_us(300000); /* it is ready by then, and this thread has not heard so */
    lane_link_end(link);
    lane_link_destroy(link);
    mailbox_destroy(shared.wake);
    node_close(&there);
}

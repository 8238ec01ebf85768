/*
 * Beacons over real connections: servers of one process that keep each other's leases.  Times are a
 * tenth of the real ones; nothing here depends on being quick but where a lease has to hold, and
 * there one of many looks is enough.
 */
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "tabletserver/peer/beacon_links.h"
#include "tabletserver/peer/beacons.h"
#include "tabletserver/peer/server_address.h"
#include "tabletserver/replica/lease_message.h"
#include "tests/support/peer_listener.h"
#include "tests/support/told_metrics.h"
#include "tests/support/transport_fixture.h"

#define MS          INT64_C(1000000)
#define EFFECTS_MAX 64
#define TURNS_MAX   10

static const struct lease_settings QUICK = {
    .beacon_ns = 25 * MS, .lease_ns = 140 * MS, .grace_ns = 200 * MS, .drift_ppm = 50000};

/* The real ones, for what may not come of a machine that is slow. */
static const struct lease_settings REAL = {
    .beacon_ns = 250 * MS, .lease_ns = 1400 * MS, .grace_ns = 2000 * MS, .drift_ppm = 50000};

/* For what must not come of a machine that gives a thread no processor for two seconds. */
static const struct lease_settings SLOW = {
    .beacon_ns = 250 * MS, .lease_ns = 4000 * MS, .grace_ns = 6000 * MS, .drift_ppm = 50000};

struct seen {
    enum lease_effect_type type;
    uint64_t peer, incarnation, tablet, version;
    int64_t at_ns;
    int64_t end_ns; /* of the peer's lease, when it was told */
};

struct node {
    const struct lease_settings *lease; /* NULL: QUICK */
    uint64_t server;
    struct beacons *beacons;
    struct transport_listener *listener;
    char address[PEER_ADDRESS_BYTES];
    atomic_bool deaf; /* takes beacons and does not answer: keeps the replies */
    atomic_uint held_count;
    struct transport_reply *held[4096];
    pthread_mutex_t lock;
    struct seen seen[EFFECTS_MAX];
    atomic_uint seen_count;
    atomic_bool stuck;     /* one of its store loops is */
    bool counts_on_nobody; /* where leases end is not looked at before the test does */
};

static void on_request(void *context,
                       const struct transport_request *request,
                       struct transport_reply *reply)
{
    struct node *node = context;
    cr_assert_eq(request->method, METHOD_BEACON);
    if (atomic_load(&node->deaf)) {
        node->held[atomic_fetch_add(&node->held_count, 1)] = reply;
    } else {
        beacons_on_request(node->beacons, request, reply);
    }
}

static void on_effect(void *context, const struct lease_effect *effect)
{
    struct node *node = context;
    unsigned count = atomic_load(&node->seen_count);
    cr_assert_lt(count, EFFECTS_MAX);
    node->seen[count] = (struct seen){
        effect->type,
        effect->peer,
        effect->incarnation,
        effect->tablet,
        effect->version,
        effect->at_ns,
        node->counts_on_nobody
            ? 0
            : atomic_load(&beacons_lease_end(node->beacons, effect->peer)->until_ns)};
    atomic_store(&node->seen_count, count + 1);
}

static bool is_stuck(void *context)
{
    return atomic_load(&((struct node *)context)->stuck);
}

static const struct seen *find_seen(struct node *node, enum lease_effect_type type)
{
    for (unsigned i = 0; i < atomic_load(&node->seen_count); i++) {
        if (node->seen[i].type == type) {
            return &node->seen[i];
        }
    }
    return NULL;
}

static void node_open(struct node *node, uint64_t server, uint64_t incarnation)
{
    struct error error;
    const struct beacons_options options = {.lease = node->lease != NULL ? *node->lease : QUICK,
                                            .server = server,
                                            .incarnation = incarnation,
                                            .context = node,
                                            .on_effect = on_effect,
                                            .is_stuck = is_stuck};
    node->server = server;
    atomic_store(&node->seen_count, 0);
    cr_assert_eq(beacons_create(&options, &node->beacons, &error), STATUS_OK);
    node->listener = peer_listen(server, node->address, node, on_request);
    cr_assert_eq(beacons_start(node->beacons, &error), STATUS_OK);
}

static const struct lease_end *end_of(struct node *node, const struct node *peer)
{
    return beacons_lease_end(node->beacons, peer->server);
}

static void node_close(struct node *node)
{
    for (unsigned i = 0; i < atomic_load(&node->held_count); i++) {
        transport_reply_fail(node->held[i], STATUS_UNAVAILABLE, "");
    }
    atomic_store(&node->held_count, 0);
    beacons_stop(node->beacons);
    transport_listener_close(node->listener, 0);
    beacons_destroy(node->beacons);
}

static bool holds(struct node *node, const struct node *peer)
{
    return lease_end_holds(beacons_lease_end(node->beacons, peer->server), clock_monotonic_ns());
}

static void introduce(struct node *a, struct node *b)
{
    (void)beacons_lease_end(a->beacons, b->server);
    (void)beacons_lease_end(b->beacons, a->server);
    cr_assert(beacons_set_peer(a->beacons, b->server, b->address));
    cr_assert(beacons_set_peer(b->beacons, a->server, a->address));
}

Test(beacons, two_servers_hold_each_others_leases_until_one_is_gone)
{
    static struct node a;
    static struct node b;
    node_open(&a, 1, 10);
    node_open(&b, 2, 20);
    introduce(&a, &b);
    WAIT_FOR(holds(&a, &b) && holds(&b, &a));
    cr_assert(beacons_grant(a.beacons, 2, 20, 5, 3));
    clock_sleep_us(400 * 1000); /* longer than a grace: it is renewed */
    WAIT_FOR(holds(&a, &b));
    node_close(&b);
    int64_t gone_ns = clock_monotonic_ns();
    WAIT_FOR(!holds(&a, &b));
    WAIT_FOR(find_seen(&a, LEASE_EFFECT_SILENT) != NULL);
    cr_assert_eq(find_seen(&a, LEASE_EFFECT_SILENT)->tablet, 5);
    cr_assert_eq(find_seen(&a, LEASE_EFFECT_SILENT)->version, 3);
    cr_assert_lt(atomic_load(&beacons_lease_end(a.beacons, 2)->until_ns), gone_ns + QUICK.lease_ns);
    node_close(&a);
}

/* Whose loop hangs cannot give up what it leads: its silence does. */
Test(beacons, who_is_stuck_is_silent_until_it_goes_on)
{
    static struct node a;
    static struct node b;
    node_open(&a, 1, 10);
    node_open(&b, 2, 20);
    introduce(&a, &b);
    WAIT_FOR(holds(&a, &b) && holds(&b, &a));
    cr_assert(beacons_grant(a.beacons, 2, 20, 5, 3));
    clock_sleep_us(50 * 1000);
    atomic_store(&b.stuck, true);
    WAIT_FOR(!holds(&a, &b) && !holds(&b, &a));
    WAIT_FOR(find_seen(&a, LEASE_EFFECT_SILENT) != NULL);
    atomic_store(&b.stuck, false);
    WAIT_FOR(holds(&a, &b) && holds(&b, &a));
    node_close(&a);
    node_close(&b);
}

/* It is told of once, and who is not dialled gives no lease. */
Test(beacons, a_peer_for_which_there_was_no_memory_is_dialled_when_there_is_some)
{
    static struct node a;
    static struct node b;
    node_open(&a, 1, 10);
    node_open(&b, 2, 20);
    (void)beacons_lease_end(a.beacons, 2);
    memory_fail_arm(1, true); /* its address is copied */
    cr_assert(beacons_set_peer(a.beacons, 2, b.address));
    clock_sleep_us(50 * 1000); /* too short a moment shows less */
    memory_fail_disarm();
    cr_assert(beacons_set_peer(b.beacons, 1, ""));
    WAIT_FOR(holds(&a, &b));
    node_close(&a);
    node_close(&b);
}

Test(beacons, what_is_excepted_is_told_before_the_lease_goes_on)
{
    static struct node a = {.lease = &SLOW};
    static struct node b = {.lease = &SLOW};
    node_open(&a, 1, 10);
    node_open(&b, 2, 20);
    introduce(&a, &b);
    WAIT_FOR(holds(&b, &a));
    cr_assert(beacons_grant(a.beacons, 2, 20, 5, 3));
    int64_t asked_ns = clock_monotonic_ns();
    cr_assert(beacons_except(a.beacons, 2, 5, 3));
    WAIT_FOR(find_seen(&a, LEASE_EFFECT_EXCEPTED) != NULL);
    cr_assert_gt(find_seen(&a, LEASE_EFFECT_EXCEPTED)->at_ns, asked_ns + SLOW.grace_ns / 2,
                 "it was granted until a grace after the last beacon");
    WAIT_FOR(find_seen(&b, LEASE_EFFECT_EXCEPTED_BY_PEER) != NULL);
    const struct seen *seen = find_seen(&b, LEASE_EFFECT_EXCEPTED_BY_PEER);
    cr_assert_eq(seen->tablet, 5);
    cr_assert_eq(seen->version, 3);
    cr_assert_eq(seen->peer, 1);
    cr_assert_lt(seen->end_ns, clock_monotonic_ns() + SLOW.lease_ns);
    WAIT_FOR(atomic_load(&beacons_lease_end(b.beacons, 1)->until_ns) > seen->end_ns);
    node_close(&a);
    node_close(&b);
}

/* Many at once, and one after the other: far more often than beacons are due. */
Test(beacons, who_asks_is_told_at_once)
{
    static struct node a = {.lease = &REAL};
    static struct node b = {.lease = &REAL};
    node_open(&a, 1, 10);
    node_open(&b, 2, 20);
    introduce(&a, &b);
    WAIT_FOR(holds(&a, &b));
    int64_t begun_ns = clock_monotonic_ns();
    for (int i = 0; i < 100; i++) {
        uint64_t asked = beacons_ask(a.beacons);
        cr_assert_gt(beacons_ask(a.beacons), asked);
        WAIT_FOR(lease_end_is_confirmed(end_of(&a, &b), asked + 1));
    }
    cr_assert_lt(clock_monotonic_ns() - begun_ns, 100 * REAL.beacon_ns / 2);
    atomic_store(&b.deaf, true);
    uint64_t asked = beacons_ask(a.beacons);
    clock_sleep_us(300 * 1000);
    cr_assert_not(lease_end_is_confirmed(end_of(&a, &b), asked), "nobody has said so");
    node_close(&a);
    node_close(&b);
}

static atomic_uint looks;

static void count_looks(void *context)
{
    (void)context;
    atomic_fetch_add(&looks, 1);
}

/* What has waited for nobody's word is looked at, too: its deadline may pass. */
Test(beacons, who_waits_is_looked_at_when_it_is_confirmed_and_now_and_then)
{
    struct beacons *beacons = NULL;
    struct error error;
    const struct beacons_options options = {.lease = QUICK,
                                            .server = 1,
                                            .incarnation = 1,
                                            .on_effect = on_effect,
                                            .on_confirmed = count_looks};
    cr_assert_eq(beacons_create(&options, &beacons, &error), STATUS_OK);
    cr_assert_eq(beacons_start(beacons, &error), STATUS_OK);
    cr_assert(beacons_set_peer(beacons, 2, "")); /* whom nobody can reach */
    (void)beacons_ask(beacons);
    WAIT_FOR(atomic_load(&looks) > 3);
    beacons_stop(beacons);
    beacons_destroy(beacons);
}

Test(beacons, a_process_that_comes_back_is_another_one)
{
    static struct node a;
    static struct node b;
    node_open(&a, 1, 10);
    node_open(&b, 2, 20);
    introduce(&a, &b);
    WAIT_FOR(holds(&a, &b));
    node_close(&b);
    node_open(&b, 2, 21); /* at the same address */
    (void)beacons_lease_end(b.beacons, 1);
    cr_assert(beacons_set_peer(b.beacons, 1, a.address));
    WAIT_FOR(atomic_load(&a.seen_count) >= 2);
    cr_assert_eq(a.seen[0].type, LEASE_EFFECT_PEER_RESTARTED);
    cr_assert_eq(a.seen[0].incarnation, 20);
    cr_assert_eq(a.seen[1].type, LEASE_EFFECT_PEER_RESTARTED);
    cr_assert_eq(a.seen[1].incarnation, 21);
    cr_assert_eq(a.seen[1].end_ns, 0, "what the older process gave is void");
    WAIT_FOR(holds(&a, &b) && holds(&b, &a));
    node_close(&a);
    node_close(&b);
}

Test(beacons, one_that_does_not_answer_is_dialled_again_and_holds_up_nobody)
{
    static struct node a;
    static struct node b;
    static struct node c;
    node_open(&a, 1, 10);
    node_open(&b, 2, 20);
    node_open(&c, 3, 30);
    atomic_store(&b.deaf, true);
    introduce(&a, &b);
    introduce(&a, &c);
    WAIT_FOR(holds(&a, &c));
    WAIT_FOR(atomic_load(&b.held_count) > 2 * BEACON_LINK_UNANSWERED_MAX);
    cr_assert(!holds(&a, &b));
    WAIT_FOR(holds(&a, &c));
    atomic_store(&b.deaf, false);
    WAIT_FOR(holds(&a, &b));
    node_close(&a);
    node_close(&b);
    node_close(&c);
}

/* edubba_leases_..._total */
static int64_t counted(const char *what)
{
    char name[64];
    (void)snprintf(name, sizeof name, "edubba_leases_%s_total", what);
    return told_metric(name);
}

static void renew(struct node *node)
{
    (void)node;
    clock_sleep_us(500 * 1000);
}

static void give_up(struct node *node)
{
    cr_assert(beacons_set_peer(node->beacons, 2, NULL));
    WAIT_FOR(!lease_end_holds(beacons_lease_end(node->beacons, 2), clock_monotonic_ns()));
    clock_sleep_us(500 * 1000);
}

/* In so many turns a lease lapsed meanwhile: the machine may have given nobody a processor for as long. */
static int lapsed_meanwhile(struct node *a, const struct node *b, void (*act)(struct node *))
{
    for (int turn = 0; turn < TURNS_MAX; turn++) {
        cr_assert(beacons_set_peer(a->beacons, 2, b->address));
        WAIT_FOR(holds(a, b));
        int64_t before = counted("lapsed");
        act(a);
        if (counted("lapsed") == before) {
            return turn;
        }
    }
    return TURNS_MAX;
}

/* Only a counts: b has not asked where its lease ends. */
Test(beacons, a_lease_that_runs_out_is_counted_once_and_not_when_it_was_given_up)
{
    static struct node a = {.lease = &SLOW};
    static struct node b = {.lease = &SLOW};
    node_open(&a, 1, 10);
    node_open(&b, 2, 20);
    (void)beacons_lease_end(a.beacons, 2);
    cr_assert(beacons_set_peer(b.beacons, 1, a.address));
    cr_assert_lt(lapsed_meanwhile(&a, &b, renew), TURNS_MAX, "it is renewed");
    int64_t before = counted("lapsed");
    atomic_store(&b.deaf, true);
    WAIT_FOR(counted("lapsed") > before && !holds(&a, &b));
    int64_t after = counted("lapsed"); /* an earlier one may have been, before nobody answered */
    clock_sleep_us(700 * 1000);
    cr_assert_eq(counted("lapsed"), after, "it is the same one");
    atomic_store(&b.deaf, false);
    cr_assert_lt(lapsed_meanwhile(&a, &b, give_up), TURNS_MAX,
                 "nobody shares a tablet with it any more");
    node_close(&a);
    node_close(&b);
}

Test(beacons, a_peer_that_moves_is_found)
{
    static struct node a;
    static struct node b;
    node_open(&a, 1, 10);
    node_open(&b, 2, 20);
    (void)beacons_lease_end(a.beacons, 2);
    cr_assert(beacons_set_peer(b.beacons, 1, a.address));
    cr_assert(beacons_set_peer(a.beacons, 2, "tcp://127.0.0.1:1"));
    clock_sleep_us(100 * 1000);
    cr_assert(!holds(&a, &b));
    cr_assert(beacons_set_peer(a.beacons, 2, b.address));
    WAIT_FOR(holds(&a, &b));
    cr_assert(beacons_set_peer(a.beacons, 2, NULL));
    WAIT_FOR(!holds(&a, &b));
    node_close(&a);
    node_close(&b);
}

/* b has moved, c has its address, and is the younger process.  (What c acknowledged was taken for b's: a counted on b,
 * and took b itself for a process of before, for ever.) */
Test(beacons, another_server_at_a_peers_address_is_not_taken_for_it)
{
    static struct node a = {.lease = &REAL};
    static struct node b = {.lease = &REAL};
    static struct node c = {.lease = &REAL};
    node_open(&a, 1, 10);
    node_open(&b, 2, 20);
    node_open(&c, 3, 30);
    (void)end_of(&a, &b);
    cr_assert(beacons_set_peer(c.beacons, 1, a.address));
    cr_assert(beacons_set_peer(a.beacons, 2, c.address));
    int64_t until_ns = clock_monotonic_ns() + 3 * REAL.beacon_ns;
    while (clock_monotonic_ns() < until_ns) {
        cr_assert_not(holds(&a, &b));
        clock_sleep_us(5000);
    }
    cr_assert_null(find_seen(&a, LEASE_EFFECT_PEER_RESTARTED));
    cr_assert(beacons_set_peer(b.beacons, 1, a.address));
    cr_assert(beacons_set_peer(a.beacons, 2, b.address));
    WAIT_FOR(holds(&a, &b));
    cr_assert_eq(find_seen(&a, LEASE_EFFECT_PEER_RESTARTED)->incarnation, 20);
    node_close(&a);
    node_close(&b);
    node_close(&c);
}

/* Nobody counted on b when it said so; who has asked and comes to count on it now must not wait for the next to ask. */
Test(beacons, what_was_confirmed_before_anybody_counted_on_a_peer_is_known)
{
    static struct node a = {.lease = &REAL, .counts_on_nobody = true};
    static struct node b = {.lease = &REAL};
    node_open(&a, 1, 10);
    node_open(&b, 2, 20);
    cr_assert(beacons_set_peer(b.beacons, 1, a.address));
    cr_assert(beacons_set_peer(a.beacons, 2, b.address));
    WAIT_FOR(holds(&b, &a));
    uint64_t asked = beacons_ask(a.beacons);
    clock_sleep_us(3 * REAL.beacon_ns / 1000);
    WAIT_FOR(lease_end_is_confirmed(end_of(&a, &b), asked));
    node_close(&a);
    node_close(&b);
}

/* More servers than there may be peers.  (It ended the process.) */
Test(beacons, in_a_cluster_that_is_too_large_promises_are_answered)
{
    static struct node a;
    static struct node b;
    node_open(&a, 1, 10);
    node_open(&b, 2, 20);
    for (uint64_t peer = 1000; peer < 1000 + LEASE_PEERS_MAX - 1; peer++) {
        cr_assert(beacons_set_peer(a.beacons, peer, ""));
    }
    introduce(&a, &b);
    cr_assert(beacons_set_peer(a.beacons, 3, ""));
    cr_assert(beacons_grant(a.beacons, 3, 30, 5, 6));
    cr_assert(beacons_except(a.beacons, 3, 5, 6));
    cr_assert(beacons_except(a.beacons, 4, 5, 7)); /* nobody has told of that one */
    WAIT_FOR(holds(&a, &b) && holds(&b, &a));
    WAIT_FOR(atomic_load(&a.seen_count) >= 3); /* of b, too, at some moment */
    const struct seen *seen = find_seen(&a, LEASE_EFFECT_EXCEPTED);
    cr_assert_not_null(seen);
    cr_assert_eq(seen->peer, 3);
    cr_assert_eq(seen->version, 6);
    node_close(&a);
    node_close(&b);
}

/* One would count for longer than the other is bound: it counts for less, and its beacons come often enough for that. */
Test(beacons, a_lease_that_does_not_fit_the_others_grace_is_shortened)
{
    static const struct lease_settings LONG = {
        .beacon_ns = 900 * MS, .lease_ns = 4000 * MS, .grace_ns = 6000 * MS, .drift_ppm = 50000};
    static struct node a = {.lease = &LONG};
    static struct node b = {.lease = &REAL};
    node_open(&a, 1, 10);
    node_open(&b, 2, 20);
    introduce(&a, &b);
    for (int i = 0; i < 20; i++) {
        WAIT_FOR(holds(&a, &b) && holds(&b, &a));
        cr_assert_lt(atomic_load(&beacons_lease_end(a.beacons, 2)->until_ns),
                     clock_monotonic_ns() + 1809 * MS);
        clock_sleep_us(50 * 1000);
    }
    node_close(&a);
    node_close(&b);
}

static void send_beacon(struct caller *caller, struct bytes body)
{
    struct buffer message = BUFFER_INIT;
    request_head_encode(&(struct request_head){0}, &message);
    buffer_append_bytes(&message, body);
    cr_assert_eq(transport_connection_send(caller->connection, ++caller->next_request,
                                           METHOD_BEACON, &message),
                 STATUS_OK);
    buffer_deinit(&message);
}

Test(beacons, strangers_and_garbage_are_refused)
{
    static struct node a;
    static struct caller caller;
    struct buffer body = BUFFER_INIT;
    node_open(&a, 1, 10);
    caller_open(&caller, a.address);
    lease_beacon_encode(77, &(struct lease_beacon){.number = 1, .incarnation = 5}, &body);
    send_beacon(&caller, buffer_bytes(&body));
    send_beacon(&caller, bytes_of_text("\xff garbage"));
    send_beacon(&caller, bytes_of_text(""));
    WAIT_FOR(caller.responses == 3);
    cr_assert_eq(atomic_load(&a.seen_count), 0, "nothing was believed");
    transport_connection_close(caller.connection);
    node_close(&a);
    buffer_deinit(&body);
}

static bool note_nothing(void *context, struct beacon_link_note *note)
{
    (void)context;
    (void)note;
    return false;
}

Test(beacons, an_address_may_be_as_long_as_the_catalog_takes_it)
{
    struct beacon_links *links = NULL;
    char address[SERVER_ADDRESS_BYTES_MAX + 2] = "tcp://";
    memset(address + strlen(address), 'a', SERVER_ADDRESS_BYTES_MAX + 1 - strlen(address));
    cr_assert_eq(beacon_links_create(1, note_nothing, NULL, &links), STATUS_OK);
    cr_assert_eq(beacon_links_set(links, 2, address), STATUS_INVALID_ARGUMENT);
    memcpy(address + SERVER_ADDRESS_BYTES_MAX - 5, ":7401", 6);
    cr_assert_eq(beacon_links_set(links, 2, address), STATUS_OK);
    beacon_links_destroy(links);
}

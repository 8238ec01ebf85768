/*
 * Servers of one process: each a store, a host, real beacons and lanes over loopback; and a catalog that
 * compares and swaps.  The test is the loop of all of them: nothing happens at a server that is not
 * pumped, but what its own threads do.
 *
 * The machine may be busy, so leases may lapse when nobody wanted it: what must hold holds all the same,
 * and whoever serves is looked for (fixture_primary()).
 */
#ifndef TESTS_SUPPORT_HOST_FIXTURE_H
#define TESTS_SUPPORT_HOST_FIXTURE_H

#include "tests/support/host_nodes.h"

/* --- life ------------------------------------------------------------------------------------------- */

static void node_open_store(struct node *node)
{
    struct error error = {0};
    struct store_callbacks callbacks = fixture_callbacks(&node->fixture);
    callbacks.on_committed = node_store_committed;
    callbacks.on_synced = node_store_synced;
    callbacks.on_configured = node_store_configured;
    callbacks.on_damaged = node_store_damaged;
    callbacks.on_taught = node_store_taught;
    callbacks.on_append = node_store_append;
    callbacks.on_appended = node_store_appended;
    node->fixture.loop = pthread_self();
    cr_assert_eq(store_open(node->fixture.folder, node->self.store, &node->fixture.settings,
                            &callbacks, &node->fixture.store, &error),
                 STATUS_OK, "%s", error.text);
    cr_assert_eq(store_set_table(node->fixture.store, &fixture_table), STATUS_OK);
}

static void node_open_peers(struct node *node)
{
    struct error error = {0};
    const struct beacons_options leases = {.lease = LEASES,
                                           .server = node->self.server,
                                           .incarnation = node->incarnation,
                                           .context = node,
                                           .on_effect = node_on_effect};
    const struct lanes_options messages = {.server = node->self.server,
                                           .incarnation = node->incarnation,
                                           .outbox_bytes_max = 4 << 20,
                                           .patience_ns = 2000 * MS,
                                           .context = node,
                                           .on_batch = node_on_batch};
    cr_assert_eq(beacons_create(&leases, &node->beacons, &error), STATUS_OK, "%s", error.text);
    cr_assert_eq(lanes_create(&messages, &node->lanes, &error), STATUS_OK, "%s", error.text);
}

static void node_start_peers(struct node *node)
{
    struct error error = {0};
    node->listener = peer_listen(node->self.server, node->address, node, node_on_request);
    cr_assert_eq(beacons_start(node->beacons, &error), STATUS_OK, "%s", error.text);
    cr_assert_eq(lanes_start(node->lanes, &error), STATUS_OK, "%s", error.text);
}

static void introduce(struct node *node, const struct node *peer)
{
    cr_assert(beacons_set_peer(node->beacons, peer->self.server, peer->address));
    cr_assert_eq(lanes_set_peer(node->lanes, peer->self.server, peer->address), STATUS_OK);
}

/* What it has of them: it may have nothing yet. */
static bool node_adds_heirs(struct node *node)
{
    bool any = false;
    for (int i = 0; i < COPIES; i++) {
        struct store_tablet *tablet = store_tablet_find(node->fixture.store, (uint64_t)(HEIR + i));
        node->heirs[i] = (struct copy){.tablet = tablet, .wants_newest = true};
        if (tablet != NULL) {
            node->heirs[i].committed = store_tablet_committed(tablet);
            cr_assert_eq(host_add(node->host, tablet, 1), STATUS_OK);
            any = true;
        }
    }
    return any;
}

/* Two neighbours that nobody has written to. */
static void node_create_halves(struct node *node)
{
    struct store_tablet *halves[2] = {fixture_create(&node->fixture, HEIR, "a", "m"),
                                      fixture_create(&node->fixture, HEIR + 1, "m", "z")};
    for (int i = 0; i < 2; i++) {
        node->heirs[i].tablet = halves[i];
        cr_assert_eq(host_add(node->host, halves[i], 1), STATUS_OK);
    }
}

static void node_add_tablets(struct node *node)
{
    bool any = node_adds_heirs(node);
    node->tablet = store_tablet_find(node->fixture.store, TABLET);
    cr_assert_not(any && node->tablet != NULL);
    if (node->tablet == NULL && !any && node->cluster->is_split) {
        node_create_halves(node);
    } else if (node->tablet == NULL && !any) {
        node->tablet = fixture_create(&node->fixture, TABLET, "a", "z");
    }
    if (node->tablet != NULL) {
        node->committed = store_tablet_committed(node->tablet);
        cr_assert_eq(host_add(node->host, node->tablet, 1), STATUS_OK);
    }
}

/* A process begins: what its store has recovered, a new incarnation. */
__attribute__((unused)) static void node_start(struct node *node)
{
    node->incarnation = ++node->cluster->incarnations;
    node->committed = node->answered = node->unknown = 0;
    node->read_count = 0;
    node->slice_count = 0;
    node->slices_read = 0;
    node->digest_count = 0;
    node_open_peers(node);
    node_open_store(node);
    const struct host_options options = {.store = node->fixture.store,
                                         .self = node->self,
                                         .incarnation = node->incarnation,
                                         .free_from_ns = clock_monotonic_ns() + LEASES.grace_ns,
                                         .settings = REPLICAS,
                                         .windows_bytes_max = WINDOWS_BYTES_MAX,
                                         .teach = TEACHING,
                                         .learn_timeout_ns = 5000 * MS,
                                         .beacons = node->beacons,
                                         .lanes = node->lanes,
                                         .context = node,
                                         .wake = node_wake,
                                         .on_committed = node_on_committed,
                                         .on_ceased = node_on_ceased,
                                         .on_changed = node_on_changed,
                                         .on_propose = node_on_propose,
                                         .on_converted = node_on_converted,
                                         .on_merged = node_on_merged,
                                         .on_ask = node_on_ask,
                                         .on_read = node_on_read,
                                         .on_slice = node_on_slice,
                                         .scrub = node->cluster->scrub,
                                         .on_digest = node_on_digest,
                                         .on_differ = node_on_differ,
                                         .is_cut_off = node_is_cut_off,
                                         .now_us = node_now_us};
    cr_assert_eq(host_create(&options, &node->host), STATUS_OK);
    node_add_tablets(node);
    node_start_peers(node);
    for (int i = 0; i < NODES; i++) {
        struct node *peer = &node->cluster->nodes[i];
        if (peer != node && peer->up) {
            introduce(node, peer);
            introduce(peer, node);
        }
    }
    node->wants_newest = true;
    node->up = true;
}

/* The process is gone: nobody is told.  (What it had appended its log may have, as when it is killed.) */
__attribute__((unused)) static void node_kill(struct node *node)
{
    node->up = false;
    beacons_stop(node->beacons);
    lanes_stop(node->lanes);
    atomic_store(&node->deaf, true);
    for (unsigned i = 0; i < node->batch_count; i++) {
        lanes_batch_done(node->batches[i]);
    }
    node->batch_count = 0;
    for (unsigned i = 0; i < node->read_count; i++) {
        store_tablet_unref(node->reads[i].tablet);
    }
    node->read_count = 0;
    transport_listener_close(node->listener, 0);
    host_destroy(node->host);
    for (unsigned i = 0; i < node->slice_count; i++) {
        host_slice_discard(node->slices[i]);
    }
    for (unsigned i = 0; i < node->digest_count; i++) {
        host_digest_discard(node->digests[i]);
    }
    node->digest_count = 0;
    node->slice_count = 0;
    lanes_destroy(node->lanes);
    beacons_destroy(node->beacons);
    fixture_close(&node->fixture);
    atomic_store(&node->deaf, false);
}

__attribute__((unused)) static void cluster_open(struct cluster *cluster, uint32_t members)
{
    memset(cluster, 0, sizeof *cluster);
    cluster->catalog = (struct replica_configuration){.version = 1, .member_count = members};
    for (uint32_t i = 0; i < NODES; i++) {
        struct node *node = &cluster->nodes[i];
        fixture_init(&node->fixture);
        node->fixture.settings.relearns = true;
        node->cluster = cluster;
        node->self = (struct replica_member){.server = i + 1, .store = 10 + i};
        (void)pthread_mutex_init(&node->mutex, NULL);
        if (i < members) {
            cluster->catalog.members[i] = node->self;
        }
    }
}

/* Of HEIR and the one after; TABLET never was. */
__attribute__((unused)) static void cluster_open_halves(struct cluster *cluster, uint32_t members)
{
    cluster_open(cluster, members);
    cluster->is_split = true;
    cluster->heirs[0] = cluster->heirs[1] = cluster->catalog;
}

__attribute__((unused)) static void cluster_close(struct cluster *cluster)
{
    for (int i = 0; i < NODES; i++) {
        struct node *node = &cluster->nodes[i];
        if (node->up) {
            node_kill(node);
        }
        fixture_deinit(&node->fixture);
        (void)pthread_mutex_destroy(&node->mutex);
    }
}

/* --- the loop --------------------------------------------------------------------------------------- */

static void node_receive(struct node *node)
{
    struct lanes_batch *batches[BATCHES_MAX];
    (void)pthread_mutex_lock(&node->mutex);
    unsigned count = node->batch_count;
    memcpy(batches, node->batches, count * sizeof batches[0]);
    node->batch_count = 0;
    (void)pthread_mutex_unlock(&node->mutex);
    for (unsigned i = 0; i < count; i++) {
        host_receive(node->host, &batches[i]->batch);
        lanes_batch_done(batches[i]);
    }
}

static void node_read(struct node *node, const struct asked *asked, struct arena *arena)
{
    struct store_log_slice slice;
    enum status status = store_log_read(asked->tablet, asked->sequence, 1, arena, &slice);
    if (status == STATUS_NO_MEMORY) {
        host_unread(node->host, asked->tablet, asked->to, asked->sequence);
        return;
    }
    bool found = status == STATUS_OK && slice.count > 0; /* else the log has it no more */
    host_read(node->host, asked->tablet, asked->to, asked->sequence, found ? slice.entries : NULL);
}

static void node_read_slices(struct node *node)
{
    unsigned count = node->slice_count;
    struct host_reading_slice *slices[ASKED_MAX];
    memcpy(slices, node->slices, sizeof slices);
    node->slice_count = 0;
    for (unsigned i = 0; i < count; i++) {
        host_slice_read(slices[i]);
        host_sliced(node->host, slices[i]);
        node->slices_read++;
    }
}

static void node_digest(struct node *node)
{
    unsigned count = node->digest_count;
    struct host_digesting *digests[ASKED_MAX];
    memcpy(digests, node->digests, sizeof digests);
    node->digest_count = 0;
    for (unsigned i = 0; i < count; i++) {
        host_digest_run(digests[i]);
        host_digested(node->host, digests[i]);
    }
}

/* What helpers would do. */
static void node_help(struct node *node)
{
    struct arena arena;
    arena_init(&arena, 1 << 16, SIZE_MAX);
    unsigned count = node->read_count;
    struct asked reads[ASKED_MAX];
    memcpy(reads, node->reads, sizeof reads);
    node->read_count = 0;
    for (unsigned i = 0; i < count; i++) {
        node_read(node, &reads[i], &arena);
        store_tablet_unref(reads[i].tablet);
    }
    node_read_slices(node);
    node_digest(node);
    arena_deinit(&arena);
}

static void node_hear_of_heirs(struct node *node)
{
    const struct cluster *cluster = node->cluster;
    for (uint64_t i = 0; i < COPIES; i++) {
        struct copy *heir = &node->heirs[i];
        if (heir->tablet != NULL && heir->wants_newest && cluster_has(cluster, HEIR + i) &&
            !cluster->tells_no_heirs) {
            heir->wants_newest = false;
            host_told(node->host, heir->tablet, &cluster->heirs[i], false);
        }
        if (node->tablet != NULL && i < 2 &&
            replica_configuration_has(&cluster->heirs[i], node->self)) {
            cr_assert(host_convert(node->host, node->tablet, HEIR + i, &cluster->heirs[i]));
        }
    }
}

/* All who live should have both, and whoever leads the left one leads both. */
static void node_hear_of_merge(struct node *node)
{
    const struct cluster *cluster = node->cluster;
    struct replica_union goal = {.count = 0};
    for (int i = 0; i < NODES; i++) {
        if (cluster->nodes[i].up) {
            goal.members[goal.count++] = cluster->nodes[i].self;
        }
    }
    uint64_t leader = replica_configuration_leader(&cluster->heirs[0]).store;
    for (int i = 0; i < 2; i++) {
        struct store_tablet *half = node->heirs[i].tablet;
        if (half == NULL) {
            continue;
        }
        if (!cluster->is_merged) {
            host_told_right(node->host, HEIR, cluster->heirs[1].version);
            host_goal(node->host, half, &goal, leader);
            host_merge(node->host, half, cluster->merge);
        } else if (replica_configuration_has(&cluster->heirs[2], node->self)) {
            (void)host_convert(node->host, half, MERGED,
                               cluster->tells_no_heirs ? NULL : &cluster->heirs[2]);
        }
    }
}

static void node_hear_master(struct node *node)
{
    const struct cluster *cluster = node->cluster;
    if (node->cut_off) {
        return;
    }
    if (node->tablet != NULL && node->wants_newest && !cluster->is_split) {
        node->wants_newest = false;
        host_told(node->host, node->tablet, &cluster->catalog, false);
    }
    if (node->tablet != NULL && !cluster->is_split) {
        host_goal(node->host, node->tablet, &cluster->goal, cluster->goal_leader);
    }
    if (node->tablet != NULL && cluster->wish != NULL) {
        (void)host_split(node->host, node->tablet, cluster->wish);
    }
    if (cluster->is_split && !node->hears_no_master) {
        node_hear_of_heirs(node);
        node_hear_of_merge(node);
    }
}

static void node_pump(struct node *node)
{
    store_poll(node->fixture.store);
    node_receive(node);
    node_help(node);
    node_hear_master(node);
    host_round(node->host);
    host_check(node->host);
    store_check(node->fixture.store);
}

static void cluster_pump(struct cluster *cluster)
{
    for (int i = 0; i < NODES; i++) {
        if (cluster->nodes[i].up) {
            node_pump(&cluster->nodes[i]);
        }
    }
}

static void configuration_say(const char *name, const struct replica_configuration *configuration)
{
    (void)fprintf(stderr, "%s: version %llx", name, (unsigned long long)configuration->version);
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        (void)fprintf(stderr, "%s server %llu", i == configuration->leader ? ", led by" : ",",
                      (unsigned long long)configuration->members[i].server);
    }
    (void)fprintf(stderr, "\n");
}

/* For who reads why a test has waited in vain. */
static void cluster_say(const struct cluster *cluster)
{
    configuration_say("tablet", &cluster->catalog);
    configuration_say("left heir", &cluster->heirs[0]);
    configuration_say("right heir", &cluster->heirs[1]);
    for (int i = 0; i < NODES; i++) {
        (void)fprintf(stderr, "server %d is %s\n", i + 1, cluster->nodes[i].up ? "up" : "down");
    }
}

#define PUMP_UNTIL(cluster, condition)                                     \
    do {                                                                   \
        int64_t until_ = clock_monotonic_ns() + WAIT_MS * MS;              \
        for (cluster_pump(cluster); !(condition); cluster_pump(cluster)) { \
            if (clock_monotonic_ns() >= until_) {                          \
                cluster_say(cluster);                                      \
                cr_assert_fail("waited: " #condition);                     \
            }                                                              \
            clock_sleep_us(200);                                           \
        }                                                                  \
    } while (0)

static bool node_serves(const struct node *node)
{
    return node->up && node->tablet != NULL &&
           serving_holds(host_serving(node->tablet), clock_monotonic_ns());
}

/* Who serves; NULL = nobody.  Never two (I4). */
__attribute__((unused)) static struct node *cluster_primary(struct cluster *cluster)
{
    struct node *found = NULL;
    for (int i = 0; i < NODES; i++) {
        if (node_serves(&cluster->nodes[i])) {
            cr_assert(found == NULL || !node_serves(found), "two serve");
            found = &cluster->nodes[i];
        }
    }
    return found;
}

#endif /* TESTS_SUPPORT_HOST_FIXTURE_H */

/*
 * The nodes of host_fixture.h: what each has, what its host, store, beacons and lanes call it for, and the catalog that
 * they propose to.
 */
#ifndef TESTS_SUPPORT_HOST_NODES_H
#define TESTS_SUPPORT_HOST_NODES_H

#include "tests/support/peer_listener.h"
#include "tests/support/store_fixture.h"
#include "tests/support/wait_for.h"

#include "common/base/assert.h"
#include "common/io/transport/transport.h"
#include "tabletserver/host/host.h"

#define NODES       3
#define TABLET      1
#define HEIR        2 /* and the one after: what TABLET is split into */
#define MERGED      4 /* what these are merged into */
#define COPIES      3 /* of these three */
#define MS          INT64_C(1000000)
#define BATCHES_MAX 64
#define ASKED_MAX   64

#define WINDOWS_BYTES_MAX ((uint64_t)1 << 20) /* as much as one may have */

static const struct lease_settings LEASES = {
    .beacon_ns = 100 * MS, .lease_ns = 700 * MS, .grace_ns = 1000 * MS, .drift_ppm = 50000};

static const struct replica_settings REPLICAS = {.resend_ns = 100 * MS,
                                                 .commit_idle_ns = 5 * MS,
                                                 .open_timeout_ns = 1000 * MS,
                                                 .prepare_timeout_ns = 5000 * MS,
                                                 .propose_ns = 200 * MS,
                                                 .stagger_ns = 100 * MS,
                                                 .window_bytes_max = 1 << 20};

static const struct teach_settings TEACHING = {
    .resend_ns = 100 * MS, .patience_ns = 2000 * MS, .hold_ns = 500 * MS};

/* Of a tablet that came of TABLET: HEIR, the one after, MERGED. */
struct copy {
    struct store_tablet *tablet; /* NULL: it is not there */
    uint64_t committed;
    uint64_t answered;
    bool wants_newest;
};

struct asked {
    struct store_tablet *tablet;
    uint64_t sequence;
    struct replica_member to;
};

struct node {
    struct fixture fixture; /* first: its callbacks' context */
    struct cluster *cluster;
    struct replica_member self;
    uint64_t incarnation;
    bool up;
    struct beacons *beacons;
    struct lanes *lanes;
    struct host *host;
    struct store_tablet *tablet; /* TABLET; NULL: it was converted */
    struct copy heirs[COPIES];
    bool hears_no_master; /* only what others open */
    bool cut_off;         /* nor does a master hear of it; and it knows */
    struct transport_listener *listener;
    char address[PEER_ADDRESS_BYTES];
    /* Batches that came; the rest is refused. */
    pthread_mutex_t mutex;
    struct lanes_batch *batches[BATCHES_MAX];
    unsigned batch_count;
    atomic_bool deaf; /* takes no batches */
    /* What the host asked for. */
    bool wants_newest;
    struct asked reads[ASKED_MAX];
    unsigned read_count;
    struct host_reading_slice *slices[ASKED_MAX];
    unsigned slice_count;
    uint64_t slices_read;
    struct host_digesting *digests[ASKED_MAX];
    unsigned digest_count;
    uint64_t differences; /* that it was told of, and the last of them */
    struct scrub_effect differed;
    /* What it was told. */
    uint64_t committed;
    uint64_t answered; /* the highest that might be answered */
    uint64_t unknown;  /* and that might not */
    uint64_t ceased;   /* what it had given out when a reign ended */
};

struct cluster {
    struct node nodes[NODES];
    struct replica_configuration catalog;
    uint64_t proposals;
    bool refuses;              /* proposals, all of them */
    struct replica_union goal; /* none: no wish */
    uint64_t goal_leader;      /* store; 0 = whoever */
    uint64_t incarnations;
    const struct record_split *wish; /* NULL: TABLET stays as it is */
    bool is_split;
    struct replica_configuration heirs[COPIES]; /* when it is */
    struct node *proposer;                      /* of the split, or of the merge */
    const struct host_merge_wish *merge;        /* NULL: none is wished */
    bool refuses_merges;
    bool tells_no_heirs; /* only that they are there */
    bool is_merged;
    uint32_t slices_refused;     /* so many more cannot be read when they are wanted */
    struct scrub_settings scrub; /* zero: copies are not compared */
};

/* --- what a node is called for -------------------------------------------------------------------- */

static void node_wake(void *context)
{
    (void)context; /* the test pumps */
}

static void node_on_committed(void *context,
                              struct store_tablet *tablet,
                              uint64_t sequence,
                              bool answers)
{
    struct node *node = context;
    cr_assert_leq(sequence, store_tablet_committed(tablet));
    for (int i = 0; i < COPIES; i++) {
        if (node->heirs[i].tablet == tablet) {
            node->heirs[i].committed = sequence;
            node->heirs[i].answered = answers ? sequence : node->heirs[i].answered;
            return;
        }
    }
    cr_assert_gt(sequence, node->committed);
    node->committed = sequence;
    if (answers) {
        node->answered = sequence;
    } else {
        node->unknown = sequence;
    }
}

static void cluster_split(struct cluster *cluster,
                          struct node *node,
                          const struct host_proposal *proposal)
{
    cr_assert(replica_configuration_is_leader(&cluster->catalog, node->self.store));
    cr_assert_eq(proposal->split.left_tablet, cluster->wish->left_tablet);
    cr_assert(bytes_equal(proposal->split.key, cluster->wish->key));
    cluster->is_split = true;
    cluster->heirs[0] = cluster->heirs[1] = proposal->replica->next;
    cluster->proposer = node;
}

/* Guarded by both versions. */
static void cluster_merge(struct cluster *cluster,
                          struct node *node,
                          const struct host_proposal *proposal)
{
    const struct replica_configuration *left = &cluster->heirs[0];
    const struct replica_configuration *right = &cluster->heirs[1];
    const struct replica_configuration *next = &proposal->replica->next;
    if (cluster->refuses_merges || proposal->absorb.right_version != right->version) {
        return;
    }
    cr_assert(replica_configuration_is_leader(left, node->self.store));
    cr_assert(replica_configuration_is_leader(right, node->self.store));
    cr_assert(replica_configuration_same_members(left, right));
    cr_assert_eq(proposal->absorb.merged_tablet, MERGED);
    cr_assert_gt(next->version, left->version);
    cr_assert_gt(next->version, right->version);
    cluster->is_merged = true;
    cluster->heirs[2] = *next;
    cluster->proposer = node;
}

/* Does the catalog have it? */
static bool cluster_has(const struct cluster *cluster, uint64_t tablet)
{
    return tablet == TABLET   ? !cluster->is_split
           : tablet == MERGED ? cluster->is_merged
                              : cluster->is_split && !cluster->is_merged;
}

static void node_on_changed(void *context,
                            struct store_tablet *tablet,
                            const struct serving_view *view)
{
    (void)context;
    struct replica_view replica = host_look(tablet);
    cr_assert_eq(view->version, replica.configuration.version);
    /* Rule 7: readers see what its reign began with. */
    cr_assert(IMPLIES(replica.serving && serving_opening(host_serving(tablet)) != 0,
                      store_tablet_committed(tablet) >= replica.start));
}

static void node_on_ceased(void *context, struct store_tablet *tablet)
{
    ((struct node *)context)->ceased = store_tablet_prepared(tablet);
}

/* Compare and swap; whoever it was, it is told the newest. */
static void node_on_propose(void *context,
                            uint64_t tablet,
                            struct replica_member self,
                            const struct host_proposal *proposal)
{
    struct node *node = context;
    struct cluster *cluster = node->cluster;
    const struct replica_proposal *wanted = proposal->replica;
    struct replica_configuration *now = tablet == TABLET ? &cluster->catalog
                                                         : &cluster->heirs[tablet - HEIR];
    cr_assert(replica_configuration_has(&wanted->next, self));
    cluster->proposals++;
    if (node->cut_off) {
        return;
    }
    if (!cluster->refuses && cluster_has(cluster, tablet) && wanted->base == now->version) {
        if (wanted->kind == REPLICA_PROPOSE_MERGE) {
            cluster_merge(cluster, node, proposal);
        } else if (wanted->kind == REPLICA_PROPOSE_SPLIT) {
            cluster_split(cluster, node, proposal);
        } else {
            cr_assert_neq(replica_configuration_change(now, &wanted->next), REPLICA_CHANGE_BAD);
            *now = wanted->next;
        }
    }
    *(tablet == TABLET ? &node->wants_newest : &node->heirs[tablet - HEIR].wants_newest) = true;
}

static bool node_is_cut_off(void *context)
{
    return ((struct node *)context)->cut_off;
}

static void node_on_ask(void *context, uint64_t tablet)
{
    struct node *node = context;
    *(tablet == TABLET ? &node->wants_newest : &node->heirs[tablet - HEIR].wants_newest) = true;
}

static void node_on_converted(void *context,
                              struct store_tablet *gone,
                              struct store_tablet *const children[2])
{
    struct node *node = context;
    cr_assert_eq(gone, node->tablet);
    node->tablet = NULL;
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(store_tablet_describe(children[i])->tablet, (uint64_t)(HEIR + i));
        cr_assert_not(host_look(children[i]).serving);
        node->heirs[i] = (struct copy){.tablet = children[i],
                                       .committed = store_tablet_committed(children[i])};
    }
}

static void node_on_merged(void *context,
                           struct store_tablet *const gone[2],
                           struct store_tablet *merged)
{
    struct node *node = context;
    cr_assert_eq(store_tablet_describe(merged)->tablet, (uint64_t)MERGED);
    cr_assert_not(host_look(merged).serving);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(gone[i], node->heirs[i].tablet);
        node->heirs[i].tablet = NULL;
    }
    node->heirs[2] = (struct copy){
        .tablet = merged, .committed = store_tablet_committed(merged), .wants_newest = true};
}

static void node_on_read(void *context,
                         struct store_tablet *tablet,
                         uint64_t sequence,
                         struct replica_member to)
{
    struct node *node = context;
    cr_assert_lt(node->read_count, ASKED_MAX);
    store_tablet_ref(tablet);
    node->reads[node->read_count++] = (struct asked){tablet, sequence, to};
}

static bool node_on_slice(void *context,
                          struct store_tablet *tablet,
                          struct host_reading_slice *reading)
{
    struct node *node = context;
    if (node->cluster->slices_refused > 0) {
        node->cluster->slices_refused--;
        return false;
    }
    cr_assert(tablet == node->tablet || node->tablet == NULL);
    cr_assert_lt(node->slice_count, ASKED_MAX);
    node->slices[node->slice_count++] = reading;
    return true;
}

static void node_on_digest(void *context,
                           struct store_tablet *tablet,
                           struct host_digesting *digesting)
{
    struct node *node = context;
    (void)tablet;
    cr_assert_lt(node->digest_count, ASKED_MAX);
    node->digests[node->digest_count++] = digesting;
}

static void node_on_differ(void *context,
                           struct store_tablet *tablet,
                           const struct scrub *scrub,
                           const struct scrub_effect *effect)
{
    struct node *node = context;
    (void)tablet;
    cr_assert_gt(scrub->answer_count, 1);
    node->differences++;
    node->differed = *effect;
}

static void node_store_committed(void *context, struct store_tablet *tablet, uint64_t sequence)
{
    host_on_committed(((struct node *)context)->host, tablet, sequence);
}

static void node_store_synced(void *context, struct store_tablet *tablet, uint64_t sequence)
{
    host_on_synced(((struct node *)context)->host, tablet, sequence);
}

static void node_store_configured(void *context, struct store_tablet *tablet)
{
    host_on_configured(((struct node *)context)->host, tablet);
}

static void node_store_taught(void *context, struct store_tablet *tablet, enum status status)
{
    host_on_taught(((struct node *)context)->host, tablet, status);
}

static void node_store_damaged(void *context, struct store_tablet *tablet)
{
    host_damaged(((struct node *)context)->host, tablet);
}

static enum status node_store_append(void *context,
                                     struct store_tablet *tablet,
                                     const struct store_entry *entry)
{
    return host_on_append(((struct node *)context)->host, tablet, entry);
}

static void node_store_appended(void *context,
                                struct store_tablet *tablet,
                                const struct store_entry *entry)
{
    host_on_appended(((struct node *)context)->host, tablet, entry);
}

/* --- from other threads --------------------------------------------------------------------------- */

static bool node_on_batch(void *context, struct lanes_batch *batch)
{
    struct node *node = context;
    (void)pthread_mutex_lock(&node->mutex);
    bool taken = !atomic_load(&node->deaf) && node->batch_count < BATCHES_MAX;
    if (taken) {
        node->batches[node->batch_count++] = batch;
    }
    (void)pthread_mutex_unlock(&node->mutex);
    return taken;
}

static void node_on_effect(void *context, const struct lease_effect *effect)
{
    host_hear(((struct node *)context)->host, effect);
}

static void node_on_request(void *context,
                            const struct transport_request *request,
                            struct transport_reply *reply)
{
    struct node *node = context;
    if (request->method == METHOD_BEACON) {
        beacons_on_request(node->beacons, request, reply);
    } else {
        cr_assert_eq(request->method, METHOD_REPLICATE);
        lanes_on_request(node->lanes, request, reply);
    }
}

static int64_t node_now_us(void *context)
{
    (void)context;
    return clock_wall_us();
}

#endif /* TESTS_SUPPORT_HOST_NODES_H */

#include "tabletserver/serve/replicas/replicas_parts.h"

#include <stdio.h>

#include "common/base/memory.h"
#include "common/io/logger.h"
#include "tabletserver/serve/peers.h"

#define MS INT64_C(1000000)

/* Times of the protocol: replica.h, teach.h and scrub.h say what each is for; rules are those of
 * docs/replication.md. */
#define RESEND_NS          (200 * MS)      /* above a round trip and a sync */
#define COMMIT_IDLE_NS     (20 * MS)       /* secondaries may know later; no write waits */
#define OPEN_TIMEOUT_NS    (500 * MS)      /* rule 15: a reign waits so long for a member */
#define PREPARE_TIMEOUT_NS (3 * 1000 * MS) /* rule 13: writes wait so long for a member */
#define LAST_NS            (10 * 1000 * MS) /* rule 13: reads wait so long for the last other member */
#define PROPOSE_NS         (1000 * MS)      /* the master has so long for its transaction */
#define STAGGER_NS         (500 * MS)       /* so much later the next secondary tries */
#define SETTLE_MORE_NS     (100 * MS)       /* rule 14: above the grace of leases */
#define ALONE_NS           (60 * 1000 * MS) /* rule 21: a cluster may start in any order */

#define TEACH_RESEND_NS        (500 * MS)       /* of an offer */
#define LEARN_PATIENCE_NS      (30 * 1000 * MS) /* of a learner's silence */
#define LEARN_HOLD_NS          (10 * 1000 * MS) /* pages that a read of a large row keeps from use */
#define LEARN_TIMEOUT_NS       (600 * 1000 * MS) /* a dropped range waits so long for a walk's end */
#define LEARN_BYTES_PER_SECOND (32 * 1024 * 1024) /* to one learner */

#define COMPARE_RANGE_BYTES (4 * 1024 * 1024)
#define COMPARE_PATIENCE_NS (30 * 1000 * MS) /* who has not answered by then will not */
#define COMPARE_RESEND_NS   (1000 * MS)      /* of a verdict */

/* --- what the host calls -------------------------------------------------------------------------- */

static void wake(void *context)
{
    store_loop_wake(((struct replicas *)context)->loop);
}

static void on_committed(void *context,
                         struct store_tablet *tablet,
                         uint64_t sequence,
                         bool answers)
{
    write_order_committed(((struct replicas *)context)->order, tablet, sequence, answers);
}

static void on_ceased(void *context, struct store_tablet *tablet)
{
    write_order_ceased(((struct replicas *)context)->order, tablet);
}

/* Log it, and sync at once: the master may wait to hear of it. */
static void on_changed(void *context, struct store_tablet *tablet, const struct serving_view *view)
{
    static const char *const roles[] = {[REPLICA_OUTSIDER] = "outsider",
                                        [REPLICA_LEARNER] = "learner",
                                        [REPLICA_SECONDARY] = "secondary",
                                        [REPLICA_PRIMARY] = "primary"};
    LOG_EVENT(LOG_LEVEL_INFO, "replica", LOG_ID("tablet", store_tablet_describe(tablet)->tablet),
              LOG_U64("version", view->version), LOG_TEXT("role", roles[view->role]),
              LOG_TEXT("serves", view->leads ? "yes" : "no"));
    sync_hurry(((struct replicas *)context)->server->sync);
}

static void on_propose(void *context,
                       uint64_t tablet,
                       struct replica_member self,
                       const struct host_proposal *proposal)
{
    sync_propose(((struct replicas *)context)->server->sync, tablet, self, proposal);
}

/* What waited for it, it was told that it is not known, when its reign ended. */
static void on_converted(void *context,
                         struct store_tablet *gone,
                         struct store_tablet *const children[2])
{
    struct replicas *replicas = context;
    write_order_was_split(replicas->order, gone, children[0], children[1]);
    LOG_EVENT(LOG_LEVEL_INFO, "tablet_converted",
              LOG_ID("tablet", store_tablet_describe(gone)->tablet),
              LOG_ID("left", store_tablet_describe(children[0])->tablet),
              LOG_ID("right", store_tablet_describe(children[1])->tablet));
    /* Their configurations may be here already, told when there was nobody to tell. */
    sync_look_again(replicas->server->sync);
    sync_hurry(replicas->server->sync);
}

static void on_merged(void *context,
                      struct store_tablet *const gone[2],
                      struct store_tablet *merged)
{
    struct replicas *replicas = context;
    write_order_was_merged(replicas->order, gone, merged);
    LOG_EVENT(LOG_LEVEL_INFO, "tablets_merged",
              LOG_ID("left", store_tablet_describe(gone[0])->tablet),
              LOG_ID("right", store_tablet_describe(gone[1])->tablet),
              LOG_ID("tablet", store_tablet_describe(merged)->tablet));
    sync_look_again(replicas->server->sync);
    sync_hurry(replicas->server->sync);
}

static bool is_cut_off(void *context)
{
    return !sync_is_connected(((struct replicas *)context)->server->sync);
}

static void on_ask(void *context, uint64_t tablet)
{
    sync_ask(((struct replicas *)context)->server->sync, tablet);
}

/* Somebody should know: a disk, or a program, has changed what was written. */
static void on_differ(void *context,
                      struct store_tablet *tablet,
                      const struct scrub *scrub,
                      const struct scrub_effect *effect)
{
    (void)context;
    for (uint32_t i = 0; i < scrub->answer_count; i++) {
        const struct scrub_answer *answer = &scrub->answers[i];
        char digest[40];
        (void)snprintf(digest, sizeof digest, "%016llx%016llx",
                       (unsigned long long)answer->halves[0],
                       (unsigned long long)answer->halves[1]);
        LOG_EVENT(LOG_LEVEL_ERROR, "copies_differ",
                  LOG_ID("tablet", store_tablet_describe(tablet)->tablet),
                  LOG_ID("store", answer->store), LOG_TEXT("digest", digest),
                  LOG_BYTES("behind_row", scrub_after(scrub)),
                  LOG_TEXT("verdict", answer->store != effect->store ? "kept"
                                      : effect->outvoted ? "damaged: the others agree; taught anew"
                                                         : "the primary's is kept; taught anew"));
    }
}

static int64_t now_us(void *context)
{
    return server_clock_now_us(&((struct replicas *)context)->server->clock);
}

void replicas_receive(struct replicas *replicas, struct lanes_batch *batch)
{
    host_receive(replicas->host, &batch->batch);
    lanes_batch_done(batch);
}

/* --- life ------------------------------------------------------------------------------------------- */

struct host *replicas_host(const struct replicas *replicas)
{
    return replicas->host;
}

static uint32_t min_in_sync(const struct replicas *replicas, const struct store_tablet *tablet)
{
    struct schema *schema = schema_cache_find(replicas->server->schemas,
                                              store_tablet_describe(tablet)->table);
    uint32_t least = schema != NULL ? schema_table(schema)->min_in_sync : 0;
    schema_release(schema);
    return least > 0 ? least : 1;
}

enum status replicas_add(struct replicas *replicas, struct store_tablet *tablet)
{
    return host_add(replicas->host, tablet, min_in_sync(replicas, tablet));
}

void replicas_refresh(struct replicas *replicas, struct store_tablet *tablet)
{
    host_set_min_in_sync(tablet, min_in_sync(replicas, tablet));
}

/* A quarter of what the store has of memory_limit, as the budgets of requests and answers are; one tablet has its own
 * bound. */
static uint64_t windows_bytes_max(const struct store_settings *settings)
{
    uint64_t quarter_bytes = settings->memory_limit_bytes / 4;
    return quarter_bytes > settings->window_bytes_max ? quarter_bytes : settings->window_bytes_max;
}

enum status replicas_create(struct store_loop *loop,
                            struct write_order *order,
                            const struct store_settings *settings,
                            struct replicas **ret_replicas)
{
    struct server *server = order->server;
    struct store *store = store_loop_store(loop);
    struct replicas *replicas = memory_allocate_zeroed(1, sizeof *replicas);
    if (replicas == NULL) {
        return STATUS_NO_MEMORY;
    }
    *replicas = (struct replicas){.server = server, .loop = loop, .order = order};
    const struct host_options options = {
        .store = store,
        .self = {.server = server->number, .store = store_number(store)},
        .incarnation = server->incarnation,
        .free_from_ns = peers_free_from_ns(server->peers),
        .settings = {.resend_ns = RESEND_NS,
                     .commit_idle_ns = COMMIT_IDLE_NS,
                     .open_timeout_ns = OPEN_TIMEOUT_NS,
                     .prepare_timeout_ns = PREPARE_TIMEOUT_NS,
                     .last_ns = LAST_NS,
                     .propose_ns = PROPOSE_NS,
                     .stagger_ns = STAGGER_NS,
                     .settle_ns = server->settings->grace_us * 1000 + SETTLE_MORE_NS,
                     .alone_ns = ALONE_NS,
                     .window_bytes_max = settings->window_bytes_max},
        .windows_bytes_max = windows_bytes_max(settings),
        .teach = {.resend_ns = TEACH_RESEND_NS,
                  .patience_ns = LEARN_PATIENCE_NS,
                  .hold_ns = LEARN_HOLD_NS,
                  .bytes_per_second = LEARN_BYTES_PER_SECOND},
        .learn_timeout_ns = LEARN_TIMEOUT_NS,
        .scrub = {.period_ns = server->settings->compare_period_us * 1000,
                  .range_bytes = COMPARE_RANGE_BYTES,
                  .patience_ns = COMPARE_PATIENCE_NS,
                  .resend_ns = COMPARE_RESEND_NS},
        .beacons = peers_beacons(server->peers),
        .lanes = peers_lanes(server->peers),
        .context = replicas,
        .wake = wake,
        .on_committed = on_committed,
        .on_ceased = on_ceased,
        .on_changed = on_changed,
        .on_propose = on_propose,
        .on_converted = on_converted,
        .on_merged = on_merged,
        .on_ask = on_ask,
        .on_read = replicas_on_read,
        .on_slice = replicas_on_slice,
        .on_digest = replicas_on_digest,
        .on_differ = on_differ,
        .is_cut_off = is_cut_off,
        .now_us = now_us};
    enum status status = host_create(&options, &replicas->host);
    if (status != STATUS_OK) {
        memory_free(replicas);
        return status;
    }
    *ret_replicas = replicas;
    return STATUS_OK;
}

void replicas_destroy(struct replicas *replicas)
{
    if (replicas != NULL) {
        host_destroy(replicas->host);
        memory_free(replicas);
    }
}

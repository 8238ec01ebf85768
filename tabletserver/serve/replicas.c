#include "tabletserver/serve/replicas.h"

#include <stdio.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/memory.h"
#include "common/io/logger.h"
#include "tabletserver/serve/loop/store_loop.h"
#include "tabletserver/serve/peers.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/serve/write/write_order.h"

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

#define READING_ARENA_BLOCK_BYTES 65536
#define READING_BYTES_MAX         ((size_t)512 << 20) /* one entry at most */
#define READ_AHEAD_BYTES          (256 * 1024)        /* the next ones will be asked for, too */

struct replicas {
    struct server *server;
    struct store_loop *loop;
    struct write_order *order;
    struct host *host;
    struct log_reading *handed_out; /* its entries are being handed to the host */
};

struct host *replicas_host(const struct replicas *replicas)
{
    return replicas->host;
}

/* --- what the master told ----------------------------------------------------------------------- */

struct catalog_word *catalog_word_copy(const struct catalog_word *word)
{
    size_t row_bytes = word->goal.row.size_bytes;
    struct catalog_word *copy = memory_allocate(sizeof *copy + row_bytes);
    if (copy != NULL) {
        *copy = *word;
        if (row_bytes > 0) {
            memcpy(copy->bytes, word->goal.row.data, row_bytes);
        }
        copy->goal.row = bytes_of(copy->bytes, row_bytes);
    }
    return copy;
}

/*
 * Whether nobody else has anything of the tablet, so that this copy may begin it (rule 18).  A copy that
 * was made to be taught has no version of its own and never may.  One that was made as a member's may
 * while the tablet is being created; and one that was written before its server replicated was the only
 * one.
 */
static bool is_founding(const struct replicas *replicas,
                        const struct store_tablet *tablet,
                        const struct catalog_word *word)
{
    const struct replica_configuration *newest = &word->configuration;
    bool is_alone = newest->member_count == 1 &&
                    newest->members[0].store == store_number(store_loop_store(replicas->loop));
    return store_tablet_describe(tablet)->configuration != 0 && (word->creating || is_alone);
}

static void tell_goal(struct replicas *replicas,
                      struct store_tablet *tablet,
                      const struct goal *goal)
{
    struct replica_union members = {.count = goal->member_count};
    memcpy(members.members, goal->members, goal->member_count * sizeof goal->members[0]);
    host_goal(replicas->host, tablet, &members, goal->leader);
}

/* A wish that cannot be met now is told again. */
static void split(struct replicas *replicas, struct store_tablet *tablet, const struct goal *goal)
{
    const struct record_split wish = {
        .key = goal->row, .left_tablet = goal->left, .right_tablet = goal->right};
    write_order_flush(
        replicas->order); /* what was taken before is on the near side of the barrier */
    enum status status = host_split(replicas->host, tablet, &wish);
    write_order_look_again(tablet);
    if (status == STATUS_INVALID_ARGUMENT) {
        LOG_EVENT(LOG_LEVEL_ERROR, "split_makes_no_sense",
                  LOG_ID("tablet", store_tablet_describe(tablet)->tablet),
                  LOG_BYTES("row", goal->row));
    }
}

static void merge(struct replicas *replicas, struct store_tablet *tablet, const struct goal *goal)
{
    const struct host_merge_wish wish = {goal->left, goal->right, goal->merged};
    host_merge(replicas->host, tablet, goal->wish == GOAL_MERGE ? &wish : NULL);
}

static void take_leave(struct replicas *replicas,
                       struct store_tablet *tablet,
                       const struct catalog_word *word)
{
    const struct replica_configuration *newest = word->configuration.version != 0
                                                     ? &word->configuration
                                                     : NULL;
    bool converts = false;
    for (int i = 0; i < 2 && word->heirs[i] != 0; i++) {
        converts = host_convert(replicas->host, tablet, word->heirs[i], newest) || converts;
    }
    if (!converts) { /* nothing comes of it here, as far as this tells: there is no such tablet any more */
        host_gone(replicas->host, tablet);
    }
}

static bool wants_copy(const struct goal *goal, uint64_t store)
{
    for (uint32_t i = 0; i < goal->member_count; i++) {
        if (goal->members[i].store == store) {
            return true;
        }
    }
    return false;
}

/*
 * A copy of a history that a person gave up (rule 18), in a store that is to have one of the tablet as it is now: it
 * gives place, and another one begins with nothing.  To be taught anew as it stands it would have to have less than
 * the tablet has now, and that may not be written to without it.  What its primary has opened before the catalog's
 * word came is under the new era already, and damaged; a learner that is damaged otherwise, of a tablet that was
 * recovered once, is not told apart from that, and loses no more than a part of a lesson.
 */
static bool gives_place(const struct replicas *replicas,
                        const struct store_tablet *tablet,
                        const struct catalog_word *word)
{
    uint64_t store = store_number(store_loop_store(replicas->loop));
    const struct replica_configuration *newest = &word->configuration;
    struct replica_view view = host_look(tablet);
    uint64_t era = replica_version_era(view.configuration.version);
    bool was_lost = view.configuration.version != 0 && era < replica_version_era(newest->version);
    bool is_late = view.role == REPLICA_LEARNER && view.trouble == REPLICA_IS_DAMAGED &&
                   view.committed > 0 && era > 0;
    return (was_lost || is_late) && word->has_goal && wants_copy(&word->goal, store) &&
           replica_configuration_find(newest, store) == newest->member_count;
}

void replicas_take_word(struct replicas *replicas, struct catalog_word *word)
{
    struct store *store = store_loop_store(replicas->loop);
    struct store_tablet *tablet = store_tablet_find(store, word->tablet);
    if (tablet != NULL && word->gone) {
        take_leave(replicas, tablet, word);
    } else if (tablet != NULL && gives_place(replicas, tablet, word)) {
        LOG_EVENT(LOG_LEVEL_WARN, "copy_given_up", LOG_ID("tablet", word->tablet),
                  LOG_U64("version", host_look(tablet).configuration.version),
                  LOG_U64("committed", store_tablet_committed(tablet)));
        write_order_drop(replicas->order, tablet, 0); /* its version is of another history */
    } else if (tablet != NULL) {
        if (word->has_goal) {
            host_hurry(replicas->host, tablet, word->hurried);
            tell_goal(replicas, tablet, &word->goal);
            merge(replicas, tablet, &word->goal);
        }
        if (word->right_version != 0) {
            host_told_right(replicas->host, word->tablet, word->right_version);
        }
        if (word->has_goal && word->goal.wish == GOAL_SPLIT) {
            split(replicas, tablet, &word->goal);
        }
        if (word->recovered) {
            host_recovered(replicas->host, tablet, &word->configuration);
        } else if (word->configuration.version != 0) {
            host_told(replicas->host, tablet, &word->configuration,
                      is_founding(replicas, tablet, word));
        }
    }
    memory_free(word);
}

/* --- the log, read back for a peer ----------------------------------------------------------------- */

struct log_reading {
    struct job job;
    struct store_loop *loop;
    struct store_tablet *tablet; /* a reference */
    uint64_t sequence;
    struct host_reading_slice *lesson; /* what is read instead of the log; both NULL = the log */
    struct host_digesting *digesting;
    struct replica_member to;
    uint64_t wanted; /* the entry that is asked for next; 0 = none */
    struct arena arena;
    enum status status; /* of reading the log */
    struct store_log_slice slice;
};

void log_reading_discard(struct log_reading *reading)
{
    if (reading->lesson != NULL) {
        host_slice_discard(reading->lesson);
    }
    if (reading->digesting != NULL) {
        host_digest_discard(reading->digesting);
    }
    store_tablet_unref(reading->tablet);
    arena_deinit(&reading->arena);
    memory_free(reading);
}

static void read_log(struct job *job)
{
    struct log_reading *reading = (struct log_reading *)job;
    if (reading->lesson != NULL) {
        host_slice_read(reading->lesson);
        store_loop_read_back(reading->loop, reading);
        return;
    }
    if (reading->digesting != NULL) {
        host_digest_run(reading->digesting);
        store_loop_read_back(reading->loop, reading);
        return;
    }
    reading->status = store_log_read(reading->tablet, reading->sequence, READ_AHEAD_BYTES,
                                     &reading->arena, &reading->slice);
    if (reading->status != STATUS_OK) {
        LOG_EVENT(LOG_LEVEL_INFO, "log_not_read_back",
                  LOG_ID("tablet", store_tablet_describe(reading->tablet)->tablet),
                  LOG_U64("sequence", reading->sequence),
                  LOG_TEXT("status", status_name(reading->status)));
        reading->slice.count = 0;
    }
    store_loop_read_back(reading->loop, reading);
}

static struct log_reading *start_reading(struct replicas *replicas,
                                         struct store_tablet *tablet,
                                         uint64_t sequence)
{
    struct log_reading *reading = memory_allocate_zeroed(1, sizeof *reading);
    if (reading != NULL) {
        reading->job.run = read_log;
        reading->loop = replicas->loop;
        reading->tablet = tablet;
        reading->sequence = sequence;
        store_tablet_ref(tablet);
        arena_init(&reading->arena, READING_ARENA_BLOCK_BYTES, READING_BYTES_MAX);
    }
    return reading;
}

/* Without memory: the peer asks again. */
static void on_read(void *context,
                    struct store_tablet *tablet,
                    uint64_t sequence,
                    struct replica_member to)
{
    struct replicas *replicas = context;
    struct log_reading *ahead = replicas->handed_out;
    if (ahead != NULL && ahead->tablet == tablet && ahead->to.store == to.store &&
        ahead->wanted == 0 && sequence == ahead->sequence + 1) {
        ahead->wanted = sequence; /* it is here already, perhaps */
        return;
    }
    struct log_reading *reading = start_reading(replicas, tablet, sequence);
    if (reading != NULL) {
        reading->to = to;
        worker_pool_submit(replicas->server->workers, &reading->job, JOB_URGENT);
    }
}

static bool on_slice(void *context, struct store_tablet *tablet, struct host_reading_slice *slice)
{
    struct replicas *replicas = context;
    struct log_reading *reading = start_reading(replicas, tablet, 0);
    if (reading == NULL) {
        return false; /* it goes on asking, so nothing else would tell that this one is lost */
    }
    reading->lesson = slice;
    worker_pool_submit(replicas->server->workers, &reading->job, JOB_URGENT);
    return true;
}

/* Without memory: it is lost, and asked for again. */
static void on_digest(void *context, struct store_tablet *tablet, struct host_digesting *digesting)
{
    struct replicas *replicas = context;
    struct log_reading *reading = start_reading(replicas, tablet, 0);
    if (reading == NULL) {
        host_digest_discard(digesting);
        return;
    }
    reading->digesting = digesting;
    worker_pool_submit(replicas->server->workers, &reading->job, JOB_PATIENT);
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

/* As many of those that were read ahead as the replica goes on to ask for, one after the other. */
static void hand_out(struct replicas *replicas, struct log_reading *reading)
{
    uint64_t first = reading->sequence;
    reading->wanted = first;
    replicas->handed_out = reading;
    while (reading->wanted != 0) {
        uint64_t at = reading->wanted - first;
        bool is_read = at < reading->slice.count;
        if (!is_read && at > 0) {
            break; /* it is asked for anew, below */
        }
        reading->sequence = reading->wanted;
        reading->wanted = 0;
        host_read(replicas->host, reading->tablet, reading->to, reading->sequence,
                  is_read ? &reading->slice.entries[at] : NULL);
    }
    replicas->handed_out = NULL;
    if (reading->wanted != 0) {
        on_read(replicas, reading->tablet, reading->wanted, reading->to);
    }
}

void replicas_take_reading(struct replicas *replicas, struct log_reading *reading)
{
    if (reading->lesson != NULL) {
        host_sliced(replicas->host, reading->lesson);
        reading->lesson = NULL;
    } else if (reading->digesting != NULL) {
        host_digested(replicas->host, reading->digesting);
        reading->digesting = NULL;
    } else if (reading->status == STATUS_NO_MEMORY) {
        host_unread(replicas->host, reading->tablet, reading->to, reading->sequence);
    } else {
        hand_out(replicas, reading);
    }
    log_reading_discard(reading);
}

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

/* The master waits for it. */
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

void replicas_receive(struct replicas *replicas, struct lanes_batch *batch)
{
    host_receive(replicas->host, &batch->batch);
    lanes_batch_done(batch);
}

/* --- life ------------------------------------------------------------------------------------------- */

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
        .on_read = on_read,
        .on_slice = on_slice,
        .on_digest = on_digest,
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

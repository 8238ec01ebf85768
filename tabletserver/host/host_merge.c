/*
 * Merges, until the catalog takes them (docs/replication.md, section 7): merge.h decides which step is next,
 * by what both halves are here; this looks, and does it.  What comes of them: host_unite.c.
 *
 *   host_merge()  the master's wish  --.
 *   a barrier that stands here  --------+--> host_merge: looked at again and again --> barriers, RENEW, VOID
 *   host_told_right()  its answer  ----'
 *
 * A barrier says which merge it is of, so a primary that finds one, and was told of no wish, looks after it
 * too.  Members that follow have it as well: they flush, so that they are as far as their primary when it
 * comes to that, and acknowledge ABSORB only when they know the right half's barrier to be committed.
 */
#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "tabletserver/host/host_internal.h"

#define MERGES_MAX   256 /* at once; what is wished beyond that waits until it is told again */
#define LOOK_SOON_NS INT64_C(5000000)   /* while a barrier stands */
#define LOOK_NS      INT64_C(100000000) /* while one is wished */
#define FRESH_NS     INT64_C(30000000000) /* so long a flush is good for, while halves come together */

static const struct merge_settings SETTINGS = {.frozen_max_ns = INT64_C(5000000000),
                                               .frozen_top_ns = INT64_C(60000000000),
                                               .wait_ns = INT64_C(1000000000),
                                               .wait_top_ns = INT64_C(60000000000)};

/* A half was asked to be flushed. */
struct half_flush {
    int64_t asked_ns; /* when; 0 = never */
    uint64_t count;   /* how many flushes it had had by then */
    bool was_flushed; /* nothing was left to be flushed then */
};

struct host_merge {
    struct host_merge *next;
    struct host_merge_wish wish;
    bool wished;
    struct merge merge;
    struct half_flush flushes[2]; /* of left and right */
    uint64_t right_version;       /* that the catalog has answered */
};

/* --- which there are ---------------------------------------------------------------------------- */

static struct host_merge *find(struct host *host, const struct host_merge_wish *wish)
{
    struct host_merge *merge = host->merges;
    while (merge != NULL && (merge->wish.left != wish->left || merge->wish.right != wish->right ||
                             merge->wish.merged != wish->merged)) {
        merge = merge->next;
    }
    return merge;
}

/* NULL: no memory, or too many.  It comes again. */
static struct host_merge *find_or_begin(struct host *host, const struct host_merge_wish *wish)
{
    struct host_merge *merge = find(host, wish);
    if (merge != NULL || host->merge_count >= MERGES_MAX) {
        return merge;
    }
    merge = memory_allocate_zeroed(1, sizeof *merge);
    if (merge != NULL) {
        merge->wish = *wish;
        merge_begin(&merge->merge, &SETTINGS);
        merge->next = host->merges;
        host->merges = merge;
        host->merge_count++;
        host->merge_ns = 0;
    }
    return merge;
}

static void forget(struct host *host, struct host_merge **link)
{
    struct host_merge *merge = *link;
    *link = merge->next;
    memory_free(merge);
    host->merge_count--;
}

void host_forget_merges(struct host *host)
{
    while (host->merges != NULL) {
        forget(host, &host->merges);
    }
}

void host_merge(struct host *host, struct store_tablet *tablet, const struct host_merge_wish *wish)
{
    uint64_t number = store_tablet_describe(tablet)->tablet;
    for (struct host_merge *merge = host->merges; merge != NULL; merge = merge->next) {
        if (merge->wish.left == number || merge->wish.right == number) {
            merge->wished = false;
        }
    }
    struct host_merge *wished = wish != NULL ? find_or_begin(host, wish) : NULL;
    if (wished != NULL) {
        wished->wished = true;
    }
}

void host_told_right(struct host *host, uint64_t left, uint64_t right_version)
{
    for (struct host_merge *merge = host->merges; merge != NULL; merge = merge->next) {
        if (merge->wish.left == left && merge->right_version < right_version) {
            merge->right_version = right_version;
        }
    }
}

/* Which merge is the barrier of that stands in it?  False: of none, or its store is behind. */
static bool find_named(const struct hosted *hosted,
                       const struct replica_standing *standing,
                       struct host_merge_wish *ret_wish)
{
    struct store_entry entry;
    struct record_absorb absorb;
    struct record_frozen frozen;
    if (standing->barrier == REPLICA_BARRIER_ABSORB &&
        store_tablet_last_absorb(hosted->tablet, &entry, &absorb)) {
        *ret_wish = (struct host_merge_wish){hosted->number, absorb.right_tablet,
                                             absorb.merged_tablet};
        return entry.sequence == standing->sequence;
    }
    if (standing->barrier == REPLICA_BARRIER_FROZEN &&
        store_tablet_last_frozen(hosted->tablet, &entry, &frozen)) {
        *ret_wish = (struct host_merge_wish){frozen.left_tablet, hosted->number,
                                             frozen.merged_tablet};
        return entry.sequence == standing->sequence;
    }
    return false;
}

void hosted_note_barrier(struct hosted *hosted, const struct replica_standing *standing)
{
    struct host_merge_wish named;
    if (find_named(hosted, standing, &named)) {
        (void)find_or_begin(hosted->host, &named);
    }
}

/* --- looking ------------------------------------------------------------------------------------ */

static uint64_t flush_count_of(const struct hosted *hosted)
{
    struct store_tablet_statistics statistics;
    store_tablet_statistics(hosted->tablet, &statistics);
    return statistics.flush_count;
}

static bool is_fresh(const struct half_flush *flush)
{
    return flush->asked_ns != 0 && clock_monotonic_ns() - flush->asked_ns < FRESH_NS;
}

/* Before anything stands it is enough that what there was when it was asked for has been flushed. */
static bool is_flushed(const struct half_flush *flush, const struct hosted *hosted)
{
    bool done = flush->was_flushed || flush_count_of(hosted) > flush->count;
    return (is_fresh(flush) && done) || store_tablet_is_flushed(hosted->tablet);
}

static struct merge_half look_at(const struct host_merge *merge,
                                 const struct hosted *hosted,
                                 int side)
{
    if (hosted == NULL) {
        return (struct merge_half){.flushed = true};
    }
    struct replica_view view = replica_look(hosted->replica);
    struct merge_half half = {.leads = view.role == REPLICA_PRIMARY && view.serving &&
                                       !hosted->stopped && !hosted->spoilt,
                              .calm = view.trouble == REPLICA_FINE && view.learners == 0 &&
                                      view.settled,
                              .version = view.configuration.version,
                              .standing = view.standing,
                              .committed = view.committed == view.appended,
                              .told = view.told >= view.committed};
    bool stands = view.standing.sequence != 0;
    struct host_merge_wish named;
    if (stands &&
        (!find_named(hosted, &view.standing, &named) || named.merged != merge->wish.merged)) {
        half.standing.barrier = REPLICA_BARRIER_SPLIT; /* whatever it is, it is not this merge's */
    }
    half.flushed = stands ? store_tablet_is_flushed(hosted->tablet)
                          : is_flushed(&merge->flushes[side], hosted);
    return half;
}

static bool are_aligned(const struct hosted *left, const struct hosted *right)
{
    if (left == NULL || right == NULL) {
        return false;
    }
    struct replica_configuration a = replica_look(left->replica).configuration;
    struct replica_configuration b = replica_look(right->replica).configuration;
    return a.version != 0 && b.version != 0 && replica_configuration_same_members(&a, &b) &&
           a.members[a.leader].store == b.members[b.leader].store;
}

static struct merge_look look_at_both(const struct host_merge *merge,
                                      const struct hosted *left,
                                      const struct hosted *right)
{
    struct store_entry entry;
    struct record_absorb absorb = {0};
    struct merge_look look = {.now_ns = clock_monotonic_ns(),
                              .wished = merge->wished,
                              .aligned = are_aligned(left, right),
                              .left = look_at(merge, left, 0),
                              .right = look_at(merge, right, 1)};
    if (look.left.standing.barrier == REPLICA_BARRIER_ABSORB &&
        store_tablet_last_absorb(left->tablet, &entry, &absorb)) {
        look.void_told = replica_look(left->replica).standing_void;
        look.named_version = absorb.right_version;
    }
    if (look.right.version < merge->right_version) {
        look.right.version = merge->right_version;
    }
    return look;
}

/* --- doing -------------------------------------------------------------------------------------- */

/* Give out a barrier.  If the store refuses it now, the next look at the merge tries again. */
static void append(struct hosted *hosted, enum record_type type, struct buffer *payload)
{
    uint64_t sequence = 0;
    if (!payload->failed) {
        (void)store_append_barrier(hosted->tablet, type, buffer_bytes(payload),
                                   store_next_clock(hosted->host->options.store), &sequence);
    }
    buffer_deinit(payload);
}

/* Said again while it is under way; then it is not asked for again. */
static void flush(struct host_merge *merge, struct hosted *const halves[2], int64_t now_ns)
{
    for (int i = 0; i < 2; i++) {
        if (halves[i] != NULL && !is_fresh(&merge->flushes[i])) {
            merge->flushes[i] = (struct half_flush){
                .asked_ns = now_ns,
                .count = flush_count_of(halves[i]),
                .was_flushed = store_tablet_is_flushed(halves[i]->tablet)};
            store_tablet_flush(halves[i]->tablet);
        }
    }
}

static void freeze(const struct host_merge *merge, struct hosted *right)
{
    const struct record_frozen frozen = {.merged_tablet = merge->wish.merged,
                                         .left_tablet = merge->wish.left};
    struct buffer payload = BUFFER_INIT;
    record_encode_frozen(&frozen, &payload);
    append(right, RECORD_FROZEN, &payload);
}

static void absorb(const struct host_merge *merge,
                   struct hosted *left,
                   const struct replica_standing *frozen)
{
    const struct record_absorb absorb = {.merged_tablet = merge->wish.merged,
                                         .right_tablet = merge->wish.right,
                                         .right_sequence = frozen->sequence,
                                         .right_version = frozen->version};
    struct buffer payload = BUFFER_INIT;
    record_encode_absorb(&absorb, &payload);
    append(left, RECORD_ABSORB, &payload);
}

static void tell_void(struct hosted *left, const struct merge_half *half)
{
    struct replica_event event = {.type = REPLICA_EVENT_VOID, .sequence = half->standing.sequence};
    hosted_step(left, &event);
}

static void renew(struct hosted *right)
{
    struct replica_event event = {.type = REPLICA_EVENT_RENEW,
                                  .version = replica_look(right->replica).configuration.version};
    hosted_step(right, &event);
}

/* What is between flush and barrier, in every copy: so little is left when they are converted. */
static void flush_behind(struct hosted *hosted, const struct merge_half *half)
{
    if (hosted != NULL && half->standing.sequence != 0 && half->committed && !half->flushed) {
        store_tablet_flush(hosted->tablet);
    }
}

static void perform(struct host_merge *merge,
                    struct hosted *const halves[2],
                    const struct merge_look *look,
                    enum merge_step step)
{
    struct buffer nothing = BUFFER_INIT;
    switch (step) {
    case MERGE_WAIT:
        break;
    case MERGE_FLUSH:
        flush(merge, halves, look->now_ns);
        break;
    case MERGE_FREEZE:
        freeze(merge, halves[1]);
        break;
    case MERGE_ABSORB:
        absorb(merge, halves[0], &look->right.standing);
        break;
    case MERGE_RENEW:
        renew(halves[1]);
        break;
    case MERGE_THAW:
        append(halves[1], RECORD_THAWED, &nothing);
        break;
    }
}

/* False: there is nothing left to look after. */
static bool look_after(struct host *host, struct host_merge *merge, bool *ret_soon)
{
    struct hosted *const halves[2] = {host_find(host, merge->wish.left),
                                      host_find(host, merge->wish.right)};
    struct buffer nothing = BUFFER_INIT;
    struct merge_look seen = look_at_both(merge, halves[0], halves[1]);
    bool under_way = merge_is_under_way(&seen);
    if ((!merge->wished && !under_way) || (halves[0] == NULL && halves[1] == NULL)) {
        return false;
    }
    *ret_soon = *ret_soon || under_way;
    flush_behind(halves[0], &seen.left);
    flush_behind(halves[1], &seen.right);
    if (merge_is_void(&seen) && !seen.void_told) {
        tell_void(halves[0], &seen.left);
    }
    if (merge_must_lift(&seen)) {
        append(halves[0], RECORD_ABSORB_ABORTED, &nothing);
    }
    enum merge_step step = merge_next(&merge->merge, &seen);
    perform(merge, halves, &seen, step);
    *ret_soon = *ret_soon || step != MERGE_WAIT;
    return true;
}

void host_look_at_merges(struct host *host, int64_t now_ns)
{
    bool soon = false;
    if (host->merges == NULL || now_ns < host->merge_ns) {
        return;
    }
    for (struct host_merge **link = &host->merges; *link != NULL;) {
        if (look_after(host, *link, &soon)) {
            link = &(*link)->next;
        } else {
            forget(host, link);
        }
    }
    host->merge_ns = now_ns + (soon ? LOOK_SOON_NS : LOOK_NS);
}

/* --- members (step 3) --------------------------------------------------------------------------- */

/*
 * May ABSORB be taken, so that it will be acknowledged?  Its merge can be taken when all members have; then
 * each of them must know how far its copy of the right half goes.  Of an ABSORB from an earlier version
 * nothing can come, nor of one whose right half has moved on; a learner counts for neither.
 */
bool hosted_may_take(const struct hosted *hosted, const struct replica_message *message)
{
    const struct replica_entry *entry = &message->entry;
    struct record_absorb absorb;
    if (message->type != REPLICA_PREPARE || entry->barrier != REPLICA_BARRIER_ABSORB ||
        entry->version != message->version ||
        record_decode_absorb(entry->payload, &absorb, NULL) != STATUS_OK) {
        return true;
    }
    const struct host *host = hosted->host;
    struct replica_view view = replica_look(hosted->replica);
    const struct hosted *right = host_find(hosted->host, absorb.right_tablet);
    if (right == NULL || view.configuration.version != message->version ||
        !replica_configuration_has(&view.configuration, host->options.self)) {
        return true;
    }
    struct replica_view of_right = replica_look(right->replica);
    return of_right.configuration.version > absorb.right_version ||
           of_right.committed >= absorb.right_sequence;
}

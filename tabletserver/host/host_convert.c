/*
 * Splits, and what becomes of a tablet by the catalog's word (docs/replication.md, section 7).
 *
 *   host_split()    the primary's: the barrier goes out like a write; committed, it is proposed (replica)
 *   host_convert()  everyone's, by the catalog's word or the OPEN of an heir: the replica is gone, and takes
 *                   back what it has promised; then the store converts, and the heirs have replicas.  (Of two
 *                   that are merged: host_unite.c)
 *
 * An heir begins as what its parent was here, under the same version: to it the split is one more change of
 * configuration, of which it hears next.  It inherits from when on this store is free of promises, so the
 * grants that were given for the parent count for it (rule 11).
 *
 * All of it is state that is looked at in each round, so it can be tried as often as it takes.
 */
#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "tabletserver/host/host_internal.h"

/* --- barriers ----------------------------------------------------------------------------------- */

static bool is_same_split(const struct record_split *a, const struct record_split *b)
{
    return a->left_tablet == b->left_tablet && a->right_tablet == b->right_tablet &&
           bytes_equal(a->key, b->key);
}

static enum status append_split(struct store_tablet *tablet, const struct record_split *wish)
{
    struct buffer payload = BUFFER_INIT;
    uint64_t sequence = 0;
    record_encode_split(wish, &payload);
    enum status status = payload.failed
                             ? STATUS_NO_MEMORY
                             : store_append_barrier(tablet, RECORD_SPLIT, buffer_bytes(&payload),
                                                    store_next_clock(store_tablet_store(tablet)),
                                                    &sequence);
    buffer_deinit(&payload);
    return status;
}

enum status host_split(struct host *host,
                       struct store_tablet *tablet,
                       const struct record_split *wish)
{
    const struct hosted *hosted = store_tablet_replica(tablet);
    const struct row_range *range = &store_tablet_describe(tablet)->range;
    struct record_split last;
    struct store_entry entry;
    (void)host;
    if (hosted == NULL || hosted->stopped) {
        return STATUS_NOT_OWNER;
    }
    if (!row_range_contains(range, wish->key) || bytes_equal(range->start, wish->key)) {
        return STATUS_INVALID_ARGUMENT;
    }
    struct replica_view view = replica_look(hosted->replica);
    if (view.role != REPLICA_PRIMARY || !view.serving) {
        return STATUS_NOT_OWNER;
    }
    if (view.barrier != 0 && store_tablet_last_split(tablet, &entry, &last) &&
        entry.sequence == view.barrier && is_same_split(&last, wish)) {
        return STATUS_OK;
    }
    if (view.barrier != 0 || view.trouble != REPLICA_FINE || view.learners > 0) {
        return STATUS_UNAVAILABLE;
    }
    return append_split(tablet, wish);
}

/* --- what comes of them --------------------------------------------------------------------------- */

/* Two replicas in the making, and what each has to say when it is there. */
struct heirs {
    struct hosted *hosted[2];
    struct replica_effects effects[2];
};

static void heirs_destroy(struct heirs *heirs)
{
    for (int i = 0; i < 2; i++) {
        hosted_destroy(heirs->hosted[i]);
    }
    memory_free(heirs);
}

void hosted_drop_proposals(struct replica_effects *effects)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < effects->count; i++) {
        if (effects->items[i].type != REPLICA_EFFECT_PROPOSE) {
            effects->items[kept++] = effects->items[i];
        }
    }
    effects->count = kept;
}

/* As the parent's store would have recovered them, had it been converted before. */
static enum status create_heirs(const struct hosted *parent,
                                const struct store_entry *barrier,
                                struct heirs *heirs)
{
    struct host *host = parent->host;
    struct replica_view view = replica_look(parent->replica);
    struct replica_recovered recovered = hosted_recovered(host, parent->tablet);
    recovered.free_from_ns = view.free_from_ns;
    recovered.committed = barrier->sequence;
    recovered.committed_version = barrier->version;
    enum status status = hosted_reserve(host, 2);
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        heirs->hosted[i] = hosted_create(host, parent->min_in_sync);
        status = heirs->hosted[i] == NULL ? STATUS_NO_MEMORY
                                          : hosted_create_replica(heirs->hosted[i], &recovered);
        if (status == STATUS_OK) {
            hosted_drop_proposals(&host->effects);
            heirs->effects[i] = host->effects;
        }
    }
    return status;
}

static void install_heirs(struct hosted *parent,
                          struct heirs *heirs,
                          struct store_tablet *const children[2])
{
    struct host *host = parent->host;
    struct store_tablet *gone = parent->tablet;
    struct host_conversion conversion = parent->conversion;
    store_tablet_ref(gone);
    host_remove(host, gone);
    for (int i = 0; i < 2; i++) {
        host->effects = heirs->effects[i];
        hosted_install(heirs->hosted[i], children[i]);
        heirs->hosted[i] = NULL;
    }
    host->options.on_converted(host->options.context, gone, children);
    for (int i = 0; i < 2; i++) {
        if (conversion.told[i].version != 0) {
            host_told(host, children[i], &conversion.told[i], false);
        }
    }
    store_tablet_unref(gone);
}

/* --- by the catalog's word -------------------------------------------------------------------------- */

static void list(struct hosted *hosted, int heir, const struct replica_configuration *newest)
{
    struct host *host = hosted->host;
    struct replica_configuration *told = &hosted->conversion.told[heir];
    if (newest != NULL && newest->version > told->version) {
        *told = *newest;
    }
    if (!hosted->conversion.listed) {
        hosted->conversion.listed = true;
        hosted->conversion.next = host->converting;
        host->converting = hosted;
        host->convert_ns = 0;
    }
}

void hosted_forget_conversion(struct hosted *hosted)
{
    struct hosted **link = &hosted->host->converting;
    while (*link != NULL && *link != hosted) {
        link = &(*link)->conversion.next;
    }
    if (*link != NULL) {
        *link = hosted->conversion.next;
    }
    hosted->conversion.listed = false;
}

static bool is_followed(const struct hosted *hosted, const struct row_range *range, uint64_t last)
{
    const struct host *host = hosted->host;
    struct row_range both;
    bool found = false;
    for (uint32_t i = 0; i < host->tablet_count && !found; i++) {
        const struct store_tablet_descriptor *other = store_tablet_describe(
            host->tablets[i]->tablet);
        found = other->table == store_tablet_describe(hosted->tablet)->table &&
                other->tablet > last && row_range_intersect(&other->range, range, &both);
    }
    return found;
}

bool hosted_is_left_behind(const struct hosted *hosted,
                           const struct row_range *ranges,
                           int range_count,
                           uint64_t last)
{
    bool found = false;
    bool counts = false;
    for (int i = 0; i < range_count; i++) {
        bool followed = is_followed(hosted, &ranges[i], last);
        found = found || followed;
        counts = counts || (!followed && replica_configuration_has(&hosted->conversion.told[i],
                                                                   hosted->host->options.self));
    }
    return found && !counts;
}

static bool is_left_behind(const struct hosted *parent, const struct record_split *split)
{
    const struct row_range *range = &store_tablet_describe(parent->tablet)->range;
    const struct row_range ranges[] = {{range->start, split->key}, {split->key, range->end}};
    uint64_t last = split->left_tablet > split->right_tablet ? split->left_tablet
                                                             : split->right_tablet;
    return hosted_is_left_behind(parent, ranges, 2, last);
}

/* It is tried again in the next rounds, unless its log says that nothing can come of it, or what came of its heirs
 * is here already. */
static void convert(struct hosted *parent)
{
    struct store_tablet *children[2];
    struct store_entry barrier;
    struct record_split split;
    bool found = store_tablet_last_split(parent->tablet, &barrier, &split);
    if (found && is_left_behind(parent, &split)) {
        hosted_forget_conversion(parent);
        return;
    }
    struct heirs *heirs = found ? memory_allocate_zeroed(1, sizeof *heirs) : NULL;
    if (heirs == NULL) {
        return;
    }
    enum status status = create_heirs(parent, &barrier, heirs);
    if (status == STATUS_OK) {
        status = store_tablet_convert(parent->tablet, children);
    }
    if (status == STATUS_OK) {
        install_heirs(parent, heirs, children);
    } else if (status == STATUS_FAILED_PRECONDITION || status == STATUS_CLOSED) {
        hosted_forget_conversion(parent);
    }
    heirs_destroy(heirs);
}

/* An entry that is not committed here may be one that nobody else has, unless this store counted when the
 * tablet was split or merged: who counts among the heirs and has no copy of them did (I3).  That it names them says
 * nothing: what is taken back is ordered again under the same numbers. */
bool host_convert(struct host *host,
                  struct store_tablet *tablet,
                  uint64_t heir,
                  const struct replica_configuration *newest)
{
    struct hosted *hosted = store_tablet_replica(tablet);
    struct store_entry entry;
    struct record_split split;
    bool is_member = newest != NULL && replica_configuration_has(newest, host->options.self);
    if (hosted == NULL) {
        return false;
    }
    if (store_tablet_last_split(tablet, &entry, &split) &&
        (split.left_tablet == heir || split.right_tablet == heir)) {
        if (!is_member && entry.sequence > store_tablet_committed(tablet)) {
            return false;
        }
        list(hosted, heir == split.right_tablet, newest);
        return true;
    }
    struct hosted *left = hosted_find_to_unite(hosted, heir, is_member);
    if (left != NULL) {
        list(left, 0, newest);
    }
    return left != NULL;
}

bool hosted_let_go(struct hosted *hosted)
{
    bool gone = replica_look(hosted->replica).gone;
    if (!gone && !hosted_may_promise(hosted)) {
        return false;
    }
    hosted->stopped = true; /* first: its store takes no more of it */
    if (!gone) {
        struct replica_event event = {.type = REPLICA_EVENT_GONE};
        hosted_step(hosted, &event);
    }
    return hosted_promise(hosted) && !replica_look(hosted->replica).bound;
}

void host_look_at_conversions(struct host *host, int64_t now_ns)
{
    struct hosted *hosted = host->converting;
    while (hosted != NULL) {
        struct hosted *next = hosted->conversion.next; /* a right half is not in the list */
        if (hosted->conversion.merged != 0) {
            hosted_unite(hosted);
        } else if (hosted_let_go(hosted)) {
            convert(hosted);
        }
        hosted = next;
    }
    host->convert_ns = now_ns + HOST_RETRY_NS;
}

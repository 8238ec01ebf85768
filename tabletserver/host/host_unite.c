/*
 * What comes of two tablets that the catalog has replaced by one (docs/replication.md, section 7): the left
 * one is in the host's list of those to be converted, and takes the right one along.
 *
 *   told of either --> both serve no more, and take back what they have promised
 *                  --> store_tablet_merge(), again and again: both are flushed, the base is told
 *                  --> the merged one is in the store's list: it has a replica, and the two are gone
 *
 * The merged one begins as what the two were here, under the newer of their versions: to it the merge is one
 * more change of configuration, of which it hears next.  It is free of promises when both are.
 */
#include "common/base/assert.h"
#include "tabletserver/host/host_internal.h"

/* --- by the catalog's word ---------------------------------------------------------------------- */

static bool is_left_of(const struct hosted *hosted,
                       uint64_t merged,
                       struct record_absorb *ret_absorb)
{
    struct store_entry entry;
    return store_tablet_last_absorb(hosted->tablet, &entry, ret_absorb) &&
           ret_absorb->merged_tablet == merged;
}

/* It, or the one that its FROZEN names. */
static struct hosted *find_left(struct hosted *hosted,
                                uint64_t merged,
                                struct record_absorb *ret_absorb)
{
    struct store_entry entry;
    struct record_frozen frozen;
    if (is_left_of(hosted, merged, ret_absorb)) {
        return hosted;
    }
    if (!store_tablet_last_frozen(hosted->tablet, &entry, &frozen) ||
        frozen.merged_tablet != merged) {
        return NULL;
    }
    struct hosted *left = host_find(hosted->host, frozen.left_tablet);
    return left != NULL && is_left_of(left, merged, ret_absorb) ? left : NULL;
}

static bool are_committed(const struct hosted *left, const struct hosted *right)
{
    struct store_entry absorb;
    struct store_entry frozen;
    struct record_absorb absorbed;
    struct record_frozen named;
    return store_tablet_last_absorb(left->tablet, &absorb, &absorbed) &&
           store_tablet_last_frozen(right->tablet, &frozen, &named) &&
           absorb.sequence <= store_tablet_committed(left->tablet) &&
           frozen.sequence <= store_tablet_committed(right->tablet);
}

struct hosted *hosted_find_to_unite(struct hosted *hosted, uint64_t heir, bool is_member)
{
    struct record_absorb absorb;
    struct hosted *left = find_left(hosted, heir, &absorb);
    struct hosted *right = left == NULL ? NULL : host_find(hosted->host, absorb.right_tablet);
    bool is_under_way = left != NULL && left->conversion.listed && left->conversion.merged == heir;
    if (right == NULL || (!is_member && !is_under_way && !are_committed(left, right))) {
        return NULL;
    }
    left->conversion.merged = heir;
    left->conversion.right = absorb.right_tablet;
    return left;
}

/* --- the one ------------------------------------------------------------------------------------ */

/* As its store would have recovered it. */
static enum status create_replica(struct hosted *heir,
                                  const struct store_tablet *merged,
                                  const struct hosted *left,
                                  const struct hosted *right)
{
    int64_t left_free_ns = replica_look(left->replica).free_from_ns;
    int64_t right_free_ns = replica_look(right->replica).free_from_ns;
    struct replica_recovered recovered = hosted_recovered(heir->host, merged);
    recovered.free_from_ns = left_free_ns > right_free_ns ? left_free_ns : right_free_ns;
    recovered.committed = store_tablet_committed(merged);
    return hosted_create_replica(heir, &recovered);
}

/*
 * That the catalog has replaced the two says what it replaced them by: what ABSORB's primary proposed, for
 * nothing else is guarded by these two versions.  So whoever leads need not wait to be told.  Version 0: this
 * store knows another version of the left one.
 */
static struct replica_configuration first_of(const struct hosted *left)
{
    struct store_entry entry;
    struct record_absorb absorb;
    struct replica_configuration first = replica_look(left->replica).configuration;
    bool found = store_tablet_last_absorb(left->tablet, &entry, &absorb);
    if (!found || entry.version != first.version) {
        return (struct replica_configuration){.version = 0};
    }
    first.version = merge_version(entry.version, absorb.right_version);
    return first;
}

static void install(struct hosted *left,
                    struct hosted *right,
                    struct hosted *heir,
                    struct store_tablet *merged)
{
    struct host *host = left->host;
    struct replica_configuration first = first_of(left);
    struct replica_configuration told = left->conversion.told[0];
    told = told.version < first.version ? first : told;
    struct store_tablet *gone[2] = {left->tablet, right->tablet};
    for (int i = 0; i < 2; i++) {
        store_tablet_ref(gone[i]);
        host_remove(host, gone[i]);
    }
    hosted_drop_proposals(&host->effects);
    hosted_install(heir, merged);
    host->options.on_merged(host->options.context, gone, merged);
    if (told.version != 0) {
        host_told(host, merged, &told, false);
    }
    for (int i = 0; i < 2; i++) {
        store_tablet_unref(gone[i]);
    }
}

/* Without memory it is tried again. */
static void take_over(struct hosted *left, struct hosted *right, struct store_tablet *merged)
{
    struct host *host = left->host;
    struct hosted *heir = hosted_reserve(host, 1) == STATUS_OK
                              ? hosted_create(host, left->min_in_sync)
                              : NULL;
    if (heir == NULL || create_replica(heir, merged, left, right) != STATUS_OK) {
        hosted_destroy(heir);
        return;
    }
    install(left, right, heir, merged);
}

void hosted_unite(struct hosted *left)
{
    struct host *host = left->host;
    struct store *store = host->options.store;
    struct hosted *right = host_find(host, left->conversion.right);
    if (right == NULL) {
        hosted_forget_conversion(left); /* it was dropped: nothing can come of the left one */
        return;
    }
    bool left_is_free = hosted_let_go(left);
    if (!hosted_let_go(right) || !left_is_free) {
        return;
    }
    if (store_tablet_find(store, left->number) == NULL) {
        struct store_tablet *merged = store_tablet_find(store, left->conversion.merged);
        ASSERT(merged != NULL);
        take_over(left, right, merged);
        return;
    }
    const struct row_range range = {store_tablet_describe(left->tablet)->range.start,
                                    store_tablet_describe(right->tablet)->range.end};
    if (!store_tablet_is_merging(left->tablet) &&
        hosted_is_left_behind(left, &range, 1, left->conversion.merged)) {
        hosted_forget_conversion(left);
        return;
    }
    enum status status = store_tablet_merge(left->tablet, right->tablet);
    if (status == STATUS_FAILED_PRECONDITION || status == STATUS_CLOSED) {
        hosted_forget_conversion(left);
    }
}

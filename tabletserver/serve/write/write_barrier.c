#include "tabletserver/serve/write/write_parts.h"

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/logger.h"
#include "tabletserver/serve/loop/store_loop.h"
#include "tabletserver/serve/replicas/replicas.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/storage/copies/store_replica.h"

/* --- barriers --------------------------------------------------------------------------------- */

void barrier_append_drop_range(struct write_order *order,
                               struct tablet_order *tablet,
                               struct work *work)
{
    const struct row_range *range = &store_tablet_describe(tablet->tablet)->range;
    struct record_drop_range drop = {.request = write_identity(work)};
    uint64_t sequence = 0;

    write_flush(order, tablet);
    if (write_is_late(order, work) || !write_is_new(order, tablet, work)) {
        return;
    }
    if (!row_range_intersect(&work->operation->range, range, &drop.range)) {
        write_succeed(order, work); /* nothing of it is here */
        return;
    }
    uint64_t reigns_over = tablet->reigns_over;
    enum status status = store_append_drop_range(tablet->tablet, &drop,
                                                 store_next_clock(order->store), &sequence);
    if (status == STATUS_OK && reigns_over != tablet->reigns_over) {
        write_fail_unknown(order, work);
    } else if (status == STATUS_OK) {
        write_pend(tablet, work, sequence);
    } else {
        write_fail_append(order, work, status);
    }
}

static void append_split(struct write_order *order, struct tablet_order *tablet)
{
    struct record_split split = {
        .key = tablet->split->key,
        .left_tablet = tablet->split->left,
        .right_tablet = tablet->split->right,
    };
    uint64_t sequence = 0;

    write_flush(order, tablet);
    enum status status = store_append_split(tablet->tablet, &split, store_next_clock(order->store),
                                            &sequence);
    if (status != STATUS_OK) {
        /* The master asks again with the next sync. */
        if (!tablet->split_waits) {
            LOG_EVENT(LOG_LEVEL_WARN, "split_not_appended",
                      LOG_ID("tablet", store_tablet_describe(tablet->tablet)->tablet),
                      LOG_TEXT("status", status_name(status)));
        }
        tablet->blocked = false;
    }
    tablet->split_waits = status != STATUS_OK;
    memory_free(tablet->split);
    tablet->split = NULL;
}

/* Let go what waited behind a barrier that is over. */
void barrier_release_deferred(struct write_order *order, struct work *first)
{
    while (first != NULL) {
        struct work *next = first->next;
        write_route(order, first);
        first = next;
    }
}

struct work *barrier_take_deferred(struct tablet_order *tablet)
{
    struct work *first = tablet->deferred_first;
    tablet->deferred_first = NULL;
    tablet->deferred_last = NULL;
    return first;
}

static void drop_stored(struct write_order *order, struct store_tablet *stored)
{
    if (order->replicas != NULL) {
        host_drop(replicas_host(order->replicas), stored);
    }
    store_tablet_drop(order->store, stored);
}

/* Those who wait for a tablet that goes from here.  Whether its table is deleted or only has no copy here any
 * more is not known, so they ask on: a master says which.  What was appended may be in other logs, too. */
static void let_go(struct write_order *order, struct tablet_order *tablet)
{
    struct work *work = tablet->pending_first;
    struct work *next = NULL;
    tablet->pending_first = NULL;
    tablet->pending_last = NULL;
    for (; work != NULL; work = next) {
        next = work->next;
        write_fail_unknown(order, work);
    }
    for (work = barrier_take_deferred(tablet); work != NULL; work = next) {
        next = work->next;
        write_redirect(order, work);
    }
}

static void finish_drop(struct write_order *order, struct tablet_order *tablet)
{
    struct store_tablet *stored = tablet->tablet;
    write_flush(order, tablet);
    let_go(order, tablet);
    hold_forget_change(order, tablet);
    (void)served_map_replace(order->server->served, stored, NULL, 0); /* takes out: cannot fail */
    store_tablet_set_context(stored, NULL);
    schema_release(tablet->schema);
    memory_free(tablet);
    order->last = NULL;
    drop_stored(order, stored);
}

/* Everything gathered is flushed before a tablet_order may go: it must not stay in the list. */
void barrier_forget_dirty(struct write_order *order, struct tablet_order *tablet)
{
    struct tablet_order **link = &order->dirty;
    while (*link != NULL && *link != tablet) {
        link = &(*link)->dirty_next;
    }
    if (*link == tablet) {
        *link = tablet->dirty_next;
    }
    tablet->dirty = false;
}

static bool may_drop(const struct store_tablet *stored, uint64_t version)
{
    return !store_tablet_is_merging(stored) && host_may_remove(stored, version);
}

/* A barrier goes ahead once no row of its tablet is locked. */
void barrier_try(struct write_order *order, struct tablet_order *tablet)
{
    if (!tablet->blocked || tablet->locks > 0) {
        return;
    }
    if (tablet->dropping && may_drop(tablet->tablet, tablet->drop_version)) {
        write_flush(order, tablet);
        barrier_forget_dirty(order, tablet);
        finish_drop(order, tablet);
        return;
    }
    tablet->dropping = false; /* it is merged, or counts again, since it waits */
    if (tablet->split != NULL) {
        append_split(order, tablet);
        if (tablet->blocked) {
            return; /* until on_split */
        }
    }
    tablet->blocked = false;
    struct work *first = barrier_take_deferred(tablet);
    if (first != NULL && first->operation->kind == OPERATION_DROP_RANGE) {
        struct work *rest = first->next;
        barrier_append_drop_range(order, tablet, first);
        first = rest;
    }
    barrier_release_deferred(order, first);
}

void write_order_split(struct write_order *order,
                       struct store_tablet *stored,
                       struct store_command *command)
{
    struct tablet_order *tablet = store_tablet_context(stored);
    const struct row_range *range = &store_tablet_describe(stored)->range;
    if (tablet == NULL || tablet->blocked) {
        memory_free(command); /* another barrier is on its way: the master asks again */
        return;
    }
    if (!row_range_contains(range, command->key) || bytes_equal(range->start, command->key) ||
        store_tablet_find(order->store, command->left) != NULL ||
        store_tablet_find(order->store, command->right) != NULL) {
        LOG_EVENT(LOG_LEVEL_ERROR, "split_makes_no_sense",
                  LOG_ID("tablet", store_tablet_describe(stored)->tablet),
                  LOG_BYTES("row", command->key));
        memory_free(command);
        return;
    }
    tablet->blocked = true;
    tablet->split = command;
    barrier_try(order, tablet);
}

void write_order_drop(struct write_order *order, struct store_tablet *stored, uint64_t version)
{
    struct tablet_order *tablet = store_tablet_context(stored);
    if (!may_drop(stored, version) || (tablet != NULL && tablet->blocked)) {
        return; /* asked again with the next sync */
    }
    if (tablet == NULL) {
        drop_stored(order, stored);
        return;
    }
    tablet->blocked = true;
    tablet->dropping = true;
    tablet->drop_version = version;
    barrier_try(order, tablet);
}

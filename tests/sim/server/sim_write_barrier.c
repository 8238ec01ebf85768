/* Splits and dropped ranges are alone in the log: what comes behind waits until they are done. */
#include <string.h>

#include "common/base/memory.h"
#include "tests/sim/server/sim_server.h"
#include "tests/sim/server/sim_write_parts.h"

static void give_out_drop(struct sim_server *server,
                          struct sim_tablet *tablet,
                          struct sim_work *work,
                          const struct record_drop_range *drop,
                          uint64_t clock)
{
    struct buffer payload = BUFFER_INIT;
    uint64_t sequence = 0;
    uint64_t reign = tablet->reign;
    record_encode_drop_range(drop, &payload);
    enum status status = sim_store_give_out(tablet->store, tablet, RECORD_DROP_RANGE,
                                            buffer_bytes(&payload), clock, &sequence);
    buffer_deinit(&payload);
    if (status == STATUS_OK && tablet->reign == reign) {
        sim_write_pend(server, sim_order_of(tablet), work, sequence);
    } else {
        sim_answer_fail(work, STATUS_UNAVAILABLE, "not now");
    }
}

void sim_write_append_drop(struct sim_server *server,
                           struct sim_tablet *tablet,
                           struct sim_work *work)
{
    struct record_drop_range drop = {.request = sim_write_identity(work)};
    sim_write_flush(server, tablet);
    if (sim_answer_refuses(server, tablet, work) || !sim_write_is_new(server, tablet, work)) {
        return;
    }
    if (!row_range_intersect(&work->operation->range, &tablet->range, &drop.range)) {
        sim_answer_complete(work);
        return;
    }
    uint64_t clock = sim_store_next_clock(tablet->store, sim_wall_us(server->sim, server->node));
    if (tablet->replicated) {
        give_out_drop(server, tablet, work, &drop, clock);
        return;
    }
    sim_write_pend(server, sim_order_of(tablet), work,
                   sim_store_append_drop_range(tablet->store, tablet, &drop, clock));
}

void sim_write_defer(struct sim_order *order, struct sim_work *work)
{
    work->next = NULL;
    if (order->deferred_last == NULL) {
        order->deferred_first = work;
    } else {
        order->deferred_last->next = work;
    }
    order->deferred_last = work;
}

struct sim_work *sim_write_take_deferred(struct sim_order *order)
{
    struct sim_work *first = order->deferred_first;
    order->deferred_first = NULL;
    order->deferred_last = NULL;
    return first;
}

void sim_write_release_deferred(struct sim_server *server, struct sim_work *work)
{
    while (work != NULL) {
        struct sim_work *next = work->next;
        sim_write_route(server, work);
        work = next;
    }
}

static void let_go(struct sim_server *server, struct sim_order *order)
{
    struct sim_work *next = NULL;
    for (struct sim_work *work = order->pending_first; work != NULL; work = next) {
        next = work->next;
        sim_answer_fail(work, STATUS_UNAVAILABLE, "not known");
    }
    for (struct sim_work *work = sim_write_take_deferred(order); work != NULL; work = next) {
        next = work->next;
        sim_answer_redirect(server, work);
    }
}

static void finish_drop(struct sim_server *server, struct sim_tablet *tablet)
{
    struct sim_order *order = sim_order_of(tablet);
    sim_write_flush(server, tablet);
    sim_served_replace((const struct sim_tablet *const[]){tablet}, 1, NULL, 0);
    let_go(server, order);
    memory_free(order);
    if (tablet->replicated) {
        sim_host_remove(tablet);
    }
    sim_store_drop(tablet->store, tablet);
}

static bool may_drop(struct sim_tablet *tablet, uint64_t version)
{
    return !tablet->merging && sim_host_may_remove(tablet, version);
}

void sim_write_try_barrier(struct sim_server *server, struct sim_tablet *tablet)
{
    struct sim_order *order = sim_order_of(tablet);
    if (!order->blocked || order->locks > 0) {
        return;
    }
    if (order->dropping && may_drop(tablet, order->drop_version)) {
        finish_drop(server, tablet);
        return;
    }
    order->dropping = false; /* it is merged, or counts again, since it waits */
    if (order->split_wanted) {
        uint64_t clock = sim_store_next_clock(tablet->store,
                                              sim_wall_us(server->sim, server->node));
        sim_write_flush(server, tablet);
        order->split_wanted = false;
        clock = sim_store_next_clock(tablet->store, (int64_t)(clock >> HLC_COUNTER_BITS));
        (void)sim_store_append_split(tablet->store, tablet, &order->split, clock);
        return; /* blocked until it is committed */
    }
    if (tablet->splitting) {
        return;
    }
    order->blocked = false;
    struct sim_work *first = sim_write_take_deferred(order);
    if (first != NULL && first->operation->kind == OPERATION_DROP_RANGE) {
        struct sim_work *rest = first->next;
        sim_write_append_drop(server, tablet, first);
        first = rest;
    }
    sim_write_release_deferred(server, first);
}

void sim_write_split(struct sim_server *server,
                     struct sim_tablet *tablet,
                     const struct record_split *split)
{
    struct sim_order *order = sim_order_of(tablet);
    if (order->blocked) {
        return; /* the master asks again */
    }
    order->blocked = true;
    order->split_wanted = true;
    order->split = *split;
    memcpy(order->split_key, split->key.data, split->key.size_bytes);
    order->split.key = bytes_of(order->split_key, split->key.size_bytes);
    sim_write_try_barrier(server, tablet);
}

void sim_write_drop(struct sim_server *server, struct sim_tablet *tablet, uint64_t version)
{
    struct sim_order *order = sim_order_of(tablet);
    if (order == NULL || order->blocked || !may_drop(tablet, version)) {
        return; /* the master asks again */
    }
    order->blocked = true;
    order->dropping = true;
    order->drop_version = version;
    sim_write_try_barrier(server, tablet);
}

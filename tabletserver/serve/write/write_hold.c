/*
 * Writes that wait to be taken, in the order in which they came: to refuse them would cost the server
 * and the client an answer and another attempt each, and what they wait for takes a fraction of a second.
 *
 *   no room       they come faster than memtables are flushed: until flushing has made room, or their
 *                 deadline has passed
 *   a change      the tablet is handed over, split, or about to be led here: until it is known who serves
 *                 it, 100 ms at most from when the change was first met.  Then they are routed again: to
 *                 the tablet, its children, or to who leads now.  Without a master a change may take
 *                 longer; whoever comes later is refused at once, and asks around
 *
 * What is held is bounded by the server's budget for requests under way, which is charged before.
 */
#include "tabletserver/serve/write/write_parts.h"

#include "tabletserver/host/host.h"
#include "tabletserver/serve/record_metrics.h"

#define LOOK_NS        (INT64_C(100) * 1000 * 1000) /* for deadlines that have passed */
#define CHANGE_HOLD_NS (INT64_C(100) * 1000 * 1000)

/* --- no room ---------------------------------------------------------------------------------- */

static void hold(struct write_order *order, struct part *part)
{
    part->next = NULL;
    if (order->held_first == NULL) {
        order->held_first = part;
    } else {
        order->held_last->next = part;
    }
    order->held_last = part;
}

void write_order_take(struct write_order *order, struct part *part)
{
    order->waiting += part->work_count;
    if (order->held_first != NULL || !store_has_room(order->store)) {
        hold(order, part);
    } else {
        write_take_part(order, part);
    }
}

/* Take those whose deadline has passed, so that they are refused where every late write is. */
static void take_late(struct write_order *order)
{
    struct part **link = &order->held_first;
    order->held_last = NULL;
    while (*link != NULL) {
        struct part *part = *link;
        if (part->batch->deadline_ns < order->now_ns) {
            *link = part->next;
            write_take_part(order, part);
        } else {
            order->held_last = part;
            link = &part->next;
        }
    }
}

/* --- a change --------------------------------------------------------------------------------- */

bool hold_is_due(struct write_order *order, struct tablet_order *tablet)
{
    if (!host_is_changing(tablet->tablet)) {
        tablet->hold_until_ns = 0;
        return false;
    }
    if (tablet->hold_until_ns == 0) {
        tablet->hold_until_ns = order->now_ns + CHANGE_HOLD_NS;
    }
    return order->now_ns < tablet->hold_until_ns;
}

void hold_for_change(struct write_order *order, struct tablet_order *tablet, struct work *work)
{
    record_held();
    work_list_append(&tablet->deferred_first, &tablet->deferred_last, work);
    if (!tablet->changing) {
        tablet->changing = true;
        tablet->changing_next = order->changing;
        order->changing = tablet;
    }
}

void hold_forget_change(struct write_order *order, struct tablet_order *tablet)
{
    struct tablet_order **link = &order->changing;
    while (*link != NULL && *link != tablet) {
        link = &(*link)->changing_next;
    }
    if (*link == tablet) {
        *link = tablet->changing_next;
    }
    tablet->changing = false;
}

/* What is let go may be held again, by another change: the list is taken as it is now. */
static void release_changes(struct write_order *order, bool all)
{
    struct tablet_order *tablet = order->changing;
    while (tablet != NULL) {
        struct tablet_order *next = tablet->changing_next;
        if (all || !hold_is_due(order, tablet)) {
            tablet->hold_until_ns = all ? order->now_ns : tablet->hold_until_ns;
            hold_forget_change(order, tablet);
            barrier_release_deferred(order, barrier_take_deferred(tablet));
        }
        tablet = next;
    }
}

int64_t write_order_due_ns(const struct write_order *order, int64_t now_ns)
{
    int64_t due_ns = INT64_MAX;
    for (const struct tablet_order *tablet = order->changing; tablet != NULL;
         tablet = tablet->changing_next) {
        int64_t at_ns = host_is_changing(tablet->tablet) ? tablet->hold_until_ns : now_ns;
        due_ns = at_ns < due_ns ? at_ns : due_ns;
    }
    return due_ns;
}

/* --- in each round ---------------------------------------------------------------------------- */

void write_order_release(struct write_order *order, bool all)
{
    release_changes(order, all);
    while (order->held_first != NULL && (all || store_has_room(order->store))) {
        struct part *part = order->held_first;
        order->held_first = part->next;
        write_take_part(order, part);
    }
    if (order->held_first != NULL && order->now_ns >= order->held_look_ns) {
        order->held_look_ns = order->now_ns + LOOK_NS;
        take_late(order);
    }
}

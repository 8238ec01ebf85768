/*
 * Writes that come faster than memtables are flushed wait here, in the order in which they came,
 * until flushing has made room or their deadline has passed.  To refuse them would cost the server
 * and the client an answer and another attempt each, and room is made in a fraction of a second.
 *
 * What is held is bounded by the server's budget for requests under way, which is charged before.
 */
#include "tabletserver/serve/write_parts.h"

#define LOOK_NS (INT64_C(100) * 1000 * 1000) /* for deadlines that have passed */

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

/* They are refused where every late write is. */
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

void write_order_release(struct write_order *order, bool all)
{
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

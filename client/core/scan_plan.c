#include "client/core/scan_plan.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/limits.h"

void scan_plan_init(struct scan_plan *plan, const struct row_set *set, bool reversed)
{
    *plan = (struct scan_plan){
        .ranges = set->ranges, .end = set->count, .reversed = reversed, .bound = BUFFER_INIT};
}

void scan_plan_deinit(struct scan_plan *plan)
{
    buffer_deinit(&plan->bound);
    plan->end = plan->first;
}

bool scan_plan_is_done(const struct scan_plan *plan)
{
    return plan->first == plan->end;
}

struct row_set scan_plan_left(const struct scan_plan *plan)
{
    return (struct row_set){plan->ranges + plan->first, plan->end - plan->first};
}

/* The edge of what is left at which reading goes on. */
static struct bytes next_edge(const struct scan_plan *plan)
{
    ASSERT(!scan_plan_is_done(plan));
    return plan->reversed ? plan->ranges[plan->end - 1].end : plan->ranges[plan->first].start;
}

/* The greatest key of at most LIMIT_ROW_KEY_BYTES below end; empty = of all. */
static void key_below(struct bytes end, struct buffer *ret_row)
{
    size_t size_bytes = end.size_bytes;
    if (size_bytes > 0 && end.data[size_bytes - 1] == 0) {
        buffer_append(ret_row, end.data, size_bytes - 1);
        return;
    }
    if (size_bytes > 0) {
        buffer_append(ret_row, end.data, size_bytes - 1);
        buffer_append_u8(ret_row, (uint8_t)(end.data[size_bytes - 1] - 1));
    }
    size_t left_bytes = ret_row->size_bytes < LIMIT_ROW_KEY_BYTES
                            ? LIMIT_ROW_KEY_BYTES - ret_row->size_bytes
                            : 0;
    uint8_t *space = buffer_reserve(ret_row, left_bytes);
    if (space != NULL) {
        memset(space, 0xff, left_bytes);
        buffer_advance(ret_row, left_bytes);
    }
}

void scan_plan_next_row(const struct scan_plan *plan, struct buffer *ret_row)
{
    buffer_reset(ret_row);
    if (plan->reversed) {
        key_below(next_edge(plan), ret_row);
    } else {
        buffer_append_bytes(ret_row, next_edge(plan));
    }
}

/* All below bound is done. */
static void cut_below(struct scan_plan *plan, struct bytes bound)
{
    while (plan->first < plan->end) {
        struct row_range *range = &plan->ranges[plan->first];
        if (range->end.size_bytes == 0 || bytes_compare(bound, range->end) < 0) {
            if (bytes_compare(bound, range->start) > 0) {
                range->start = bound;
            }
            return;
        }
        plan->first++;
    }
}

/* All from bound on is done. */
static void cut_from(struct scan_plan *plan, struct bytes bound)
{
    while (plan->first < plan->end) {
        struct row_range *range = &plan->ranges[plan->end - 1];
        if (bytes_compare(range->start, bound) < 0) {
            if (range->end.size_bytes == 0 || bytes_compare(bound, range->end) < 0) {
                range->end = bound;
            }
            return;
        }
        plan->end--;
    }
}

/* Is all of it done already?  Then the bound in use must stay. */
static bool is_behind(const struct scan_plan *plan, struct bytes bound)
{
    if (scan_plan_is_done(plan)) {
        return true;
    }
    struct bytes next = next_edge(plan);
    if (plan->reversed) {
        return next.size_bytes > 0 && bytes_compare(bound, next) >= 0;
    }
    return bytes_compare(bound, next) <= 0;
}

/* bound, with a zero byte behind it if after is set, is where what is left begins or ends. */
static enum status cut(struct scan_plan *plan, struct bytes bound, bool after)
{
    struct buffer copy = BUFFER_INIT;
    buffer_append_bytes(&copy, bound);
    if (after) {
        buffer_append_u8(&copy, 0);
    }
    if (copy.failed) {
        buffer_deinit(&copy);
        return STATUS_NO_MEMORY;
    }
    if (is_behind(plan, buffer_bytes(&copy))) {
        buffer_deinit(&copy);
        return STATUS_OK;
    }
    if (plan->reversed) {
        cut_from(plan, buffer_bytes(&copy));
    } else {
        cut_below(plan, buffer_bytes(&copy));
    }
    /* The range cut before this one is done, or was just cut again: nothing borrows the old bound. */
    buffer_deinit(&plan->bound);
    plan->bound = copy;
    return STATUS_OK;
}

enum status scan_plan_advance(struct scan_plan *plan, struct bytes key)
{
    return cut(plan, key, !plan->reversed);
}

enum status scan_plan_finish_range(struct scan_plan *plan, const struct row_range *range)
{
    struct bytes bound = plan->reversed ? range->start : range->end;
    if (bound.size_bytes == 0) {
        plan->end = plan->first; /* it was the last tablet in reading order */
        return STATUS_OK;
    }
    return cut(plan, bound, false);
}

/*
 * Hot tablets as a master lists them, minute by minute, made into a list for people: of each tablet
 * its hottest minutes, the hottest first.
 *
 * Thread rule: one owner.  Pure.
 */
#ifndef CLIENT_CORE_HOT_LIST_H
#define CLIENT_CORE_HOT_LIST_H

#include <stddef.h>

#include "common/wire/message.h"

/* How much of its server's CPU time it took, in percent. */
double hot_list_percent(const struct hot_tablet *hot);

/* Of cpu_ns the same: a part of it. */
double hot_list_percent_of(const struct hot_tablet *hot, uint64_t cpu_ns);

/* Sort in place, hottest first; of minutes equally hot the earlier one.  interval_us > 0: before
 * that, leave of each tablet only its hottest minute of every interval that begins at a multiple of
 * it.  Returns how many are left. */
size_t hot_list_sort(struct hot_tablet *tablets, size_t count, int64_t interval_us);

#endif /* CLIENT_CORE_HOT_LIST_H */

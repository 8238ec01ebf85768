/*
 * A mailbox: how other threads reach a loop thread, and where that thread waits.
 *
 *   nng callbacks, disk threads, signals --- push ---> [ bounded ring ] --- take ---> one loop
 *
 * Items are values of one size, copied in and out.  Whoever pushes never waits: a full mailbox
 * refuses, and the caller must have an answer to that ("too busy, try again").  Completions of work
 * that the loop itself started must not be refused; their number is bounded by the loop, so a
 * reserve of places is kept for them.
 *
 * Invariants:
 *   (1) Items come out in the order in which they were pushed, each exactly once.
 *   (2) Ordinary items never fill the last `reserved` places.
 *   (3) A push or wake made before mailbox_take() began to wait ends that wait at once.
 *
 * Thread rule: push, wake, close and depth from any thread; take from the loop thread only.
 * Create and destroy when no other thread can call.
 */
#ifndef COMMON_IO_MAILBOX_H
#define COMMON_IO_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

#define MAILBOX_WAIT_FOR_EVER INT64_MAX

struct mailbox;

struct mailbox_settings {
    size_t item_bytes; /* size of one item */
    size_t capacity;   /* places in all, reserve included */
    size_t reserved;   /* of them for mailbox_push_reserved(); less than capacity */
};

/* Errors: STATUS_NO_MEMORY. */
enum status mailbox_create(const struct mailbox_settings *settings, struct mailbox **ret_mailbox);

/* What is still inside is forgotten: drain it first if items own something.  NULL is fine. */
void mailbox_destroy(struct mailbox *mailbox);

/* Copy an item in.  False when it is full or closed: the item is still the caller's then. */
bool mailbox_push(struct mailbox *mailbox, const void *item);

/* The same, allowed to use the reserve.  False only when really full or closed. */
bool mailbox_push_reserved(struct mailbox *mailbox, const void *item);

/* Let the loop's current or next mailbox_take() return, with no item if there is none. */
void mailbox_wake(struct mailbox *mailbox);

/* No more pushes; take still hands out what is inside. */
void mailbox_close(struct mailbox *mailbox);

/*
 * Copy up to item_count_max items out to items (an array of them).  Waits for the first one until
 * deadline_ns of clock_monotonic_ns(), a wake, or close; a deadline in the past (0) never waits.
 * Returns how many; 0 = deadline, wake, or closed and empty.
 */
size_t mailbox_take(struct mailbox *mailbox,
                    void *items,
                    size_t item_count_max,
                    int64_t deadline_ns);

/* Items inside now, for metrics. */
size_t mailbox_depth(struct mailbox *mailbox);

#endif /* COMMON_IO_MAILBOX_H */

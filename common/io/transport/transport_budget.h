/*
 * What all connections of the process hold in memory together, and how much that may be.
 *
 * Each connection has bounds of its own, but a thousand of them add up.  Two sums are kept here:
 *
 *   unfinished   parts of messages that are not whole yet.  A connection that would exceed the sum
 *                is closed; the only one that holds any is not, so that a large message gets
 *                through in the end.
 *   queued       messages that wait to be sent.  Nothing is refused here: who makes an answer asks
 *                first.  While the sum is exceeded a peer may have little queued, so that one which
 *                takes what it is sent is served as before but for large answers, and those are
 *                back when transport_listener_drop_stalled() has dropped who lets them lie.
 *
 * The sums are exact, the bounds are soft by what is under way at that moment.
 *
 * Thread rule: any thread; transport_budget_set() when there are no connections.
 */
#ifndef COMMON_IO_TRANSPORT_TRANSPORT_BUDGET_H
#define COMMON_IO_TRANSPORT_TRANSPORT_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUDGET_UNFINISHED_BYTES_DEFAULT (UINT64_C(1) << 30)
#define BUDGET_QUEUED_BYTES_DEFAULT     (UINT64_C(1) << 30)

/* So much may wait for one peer whatever the others do. */
#define BUDGET_PEER_BYTES (UINT64_C(1) << 20)

struct transport_budget {
    uint64_t unfinished_bytes_max;
    uint64_t queued_bytes_max;
};

void transport_budget_set(const struct transport_budget *budget);

/* size_bytes more of an unfinished message; *charged_bytes: all that its connection holds.  False:
 * over the bound (but charged all the same, to be released with the rest). */
bool transport_budget_charge_unfinished(uint64_t size_bytes, uint64_t *charged_bytes);
void transport_budget_release_unfinished(uint64_t *charged_bytes);

/* The memory that a connection's queue holds went from before_bytes to after_bytes. */
void transport_budget_note_queued(uint64_t before_bytes, uint64_t after_bytes);

uint64_t transport_budget_unfinished_bytes(void);
uint64_t transport_budget_queued_bytes(void);

/* Is too much queued altogether for one peer to have so much of it? */
bool transport_budget_refuses(uint64_t peer_bytes);

#endif /* COMMON_IO_TRANSPORT_TRANSPORT_BUDGET_H */

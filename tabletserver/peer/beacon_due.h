/*
 * When the beacon thread is to tick next.
 *
 * The lease looks at all promises to say that, which with some thousands of tablets takes longer than the step itself; and
 * when a server is lost, or comes back, as many steps come in a row.  So it is not asked after each of them, but now and
 * then: a tick may come BEACON_DUE_RECKON_NS late.  (Were it asked each time the thread would not get to the beacons that
 * wait behind those steps before their leases are over.)
 *
 * Pure.  Thread rule: one owner.
 */
#ifndef TABLETSERVER_PEER_BEACON_DUE_H
#define TABLETSERVER_PEER_BEACON_DUE_H

#include <stdbool.h>
#include <stdint.h>

#define BEACON_DUE_RECKON_NS (INT64_C(5) * 1000 * 1000)

struct beacon_due {
    int64_t due_ns;      /* as the lease said last */
    int64_t reckoned_ns; /* when that was */
    bool stepped;        /* a step has been taken since then */
};

/* Of a lease that was not asked yet. */
struct beacon_due beacon_due_begin(void);
/* A step was taken; `ticked`: that which was due, so that the lease is asked at once. */
void beacon_due_note_step(struct beacon_due *due, bool ticked);
/* Is the lease to be asked now? */
bool beacon_due_is_unsure(const struct beacon_due *due, int64_t now_ns);
void beacon_due_reckon(struct beacon_due *due, int64_t deadline_ns, int64_t now_ns);
/* Until then the thread may wait for what comes. */
int64_t beacon_due_wake_ns(const struct beacon_due *due);

#endif /* TABLETSERVER_PEER_BEACON_DUE_H */

/*
 * Flush progress of one tablet: which frozen memtable is written next, and what may then be let go.
 *
 *     frozen ---> (committed?) ---> RUN, RUN, ... ---> DROP (release the log) ---> next one
 *                                    |
 *                                    '-- failed: WAIT until retried
 *
 * Invariants: (1) memtables are flushed oldest first, one at a time;
 *             (2) none is begun before all in it is committed: what may yet vanish from the log
 *                 must never reach the base;
 *             (3) nothing is begun while a parent, whose data is older, is not yet in the base;
 *             (4) what is begun is never cut;
 *             (5) a memtable is dropped only after the transaction that ends it is durable.
 *
 * Pure: step(state, event) -> effect.
 */
#ifndef TABLETSERVER_STORAGE_FLUSH_FLUSH_PROGRESS_H
#define TABLETSERVER_STORAGE_FLUSH_FLUSH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#define FLUSH_FROZEN_MAX 6 /* with the active one and the base: the layers a row reader takes */

enum flush_event_kind {
    FLUSH_EVENT_FROZEN,    /* a memtable was frozen: last_sequence */
    FLUSH_EVENT_COMMITTED, /* last_sequence is committed */
    FLUSH_EVENT_CUT,       /* what lay above last_sequence was dropped: frozen_count memtables are
                              left, and the newest of them ends there at the latest */
    FLUSH_EVENT_UNBLOCKED, /* the parent is in the base */
    FLUSH_EVENT_ADVANCED,  /* a transaction is durable, there is more of the memtable */
    FLUSH_EVENT_FINISHED,  /* the transaction that ends the memtable is durable */
    FLUSH_EVENT_FAILED,    /* nothing of the transaction is there */
    FLUSH_EVENT_RETRY,
};

struct flush_event {
    enum flush_event_kind kind;
    uint64_t last_sequence;
    uint32_t frozen_count; /* CUT */
};

enum flush_effect {
    FLUSH_WAIT,         /* nothing to do for now */
    FLUSH_RUN,          /* write the next transaction of the oldest memtable */
    FLUSH_DROP,         /* drop the oldest memtable, release its log; nothing else to do */
    FLUSH_DROP_AND_RUN, /* the same, and begin with the next one */
};

enum flush_state {
    FLUSH_IDLE,
    FLUSH_RUNNING,
    FLUSH_FAILING,
};

struct flush_progress {
    uint64_t last_sequences[FLUSH_FROZEN_MAX]; /* of frozen memtables, oldest first */
    uint32_t frozen_count;
    uint64_t committed;
    bool blocked;
    enum flush_state state;
};

void flush_progress_init(struct flush_progress *progress, uint64_t committed, bool blocked);

enum flush_effect flush_progress_step(struct flush_progress *progress,
                                      const struct flush_event *event);

/* Would a transaction of the oldest memtable be allowed now?  (What an idle shell asks.) */
bool flush_progress_ready(const struct flush_progress *progress);

/* Abort unless the invariants hold. */
void flush_progress_check(const struct flush_progress *progress);

#endif /* TABLETSERVER_STORAGE_FLUSH_FLUSH_PROGRESS_H */

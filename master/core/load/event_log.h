/*
 * The event log: what was decided about load, and what came of it.
 *
 *    decision --> under_way --> done, given_up, unknown        refusal --> refused
 *
 * It outlives a reign: the shell moves it out of the catalog of one into that of the next, keeps it in a file
 * (master/console/event_store.h), and takes in what another master tells of its own.
 *
 * Invariants:
 *   1. Numbers and changes that a reign gives rise above all that were given before it: they count from the time on,
 *      in us.
 *   2. It is bounded: EVENT_LOG_MAX events, EVENT_LOG_BYTES_MAX bytes; then those whose last change is
 *      longest ago go.
 *   3. Entries stand in order of change: an outcome puts its event at the end, with a new change.
 *   4. Without memory an event is missing, and nothing else happens.
 *
 * Thread rule: one owner.  Pure.
 */
#ifndef MASTER_CORE_LOAD_EVENT_LOG_H
#define MASTER_CORE_LOAD_EVENT_LOG_H

#include "common/base/arena.h"
#include "common/wire/message.h"
#include "master/core/state/list.h"

#define EVENT_LOG_MAX        4096
#define EVENT_LOG_BYTES_MAX  (8 * 1024 * 1024)
#define EVENT_PAGE_MAX       500
#define EVENT_PAGE_BYTES_MAX (1024 * 1024)
#define EVENT_WHY_SIZE_MAX   96

struct event_log {
    struct list entries;
    size_t count;
    size_t size_bytes;
    uint64_t last_number;
    uint64_t last_change;
    size_t count_max; /* of this log: smaller in tests */
    bool begun;       /* a reign has, and may add */
};

void event_log_init(struct event_log *log);
void event_log_deinit(struct event_log *log);

/* A reign begins, whatever is there.  What is under way ends as unknown: who decided it is gone, and what was begun
 * goes on all the same. */
void event_log_begin(struct event_log *log, int64_t now_us);

/* All of from; what was in log before must be nothing.  No reign has begun in either then. */
void event_log_move(struct event_log *log, struct event_log *from);

/* One of a file, or of another master, as it is: it takes the place of one of the same number.  False: it is passed
 * over, being no later than the last change here, or there is no memory. */
bool event_log_take(struct event_log *log, const struct event *event);

/* A copy is kept; number and change are given here.  Returns the number; 0 without memory. */
uint64_t event_log_add(struct event_log *log, const struct event *event);

/* What came of it; one that is not there any more is passed over.  outcome: a literal. */
void event_log_end(
    struct event_log *log, uint64_t number, const char *outcome, const char *why, int64_t now_us);

/* What LIST_EVENTS asks for; events are in the arena, but for what they point at: good until the next
 * change.  Errors: STATUS_NO_MEMORY. */
enum status event_log_list(const struct event_log *log,
                           const struct list_events_request *request,
                           struct arena *arena,
                           struct list_events_response *ret_response);

/* Abort unless the invariants hold.  Linear: for tests. */
void event_log_check(const struct event_log *log);

#endif /* MASTER_CORE_LOAD_EVENT_LOG_H */

/*
 * The event log: what was decided about load, and what came of it.
 *
 *    decision --> under_way --> done, given_up        refusal --> refused
 *
 * Invariants:
 *   1. It is in memory only, and lost with the process.
 *   2. It is bounded: EVENT_LOG_MAX events, EVENT_LOG_BYTES_MAX bytes; then those whose last change is
 *      longest ago go.
 *   3. Entries stand in order of change: an outcome puts its event at the end, with a new change.
 *   4. Without memory an event is missing, and nothing else happens.
 *
 * Thread rule: one owner.  Pure.
 */
#ifndef MASTER_CORE_EVENT_LOG_H
#define MASTER_CORE_EVENT_LOG_H

#include "common/base/arena.h"
#include "common/wire/message.h"
#include "master/core/list.h"

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
};

void event_log_init(struct event_log *log);
void event_log_deinit(struct event_log *log);

/* Of an empty log: numbers and changes are above what any master before this one has given out, so that who
 * asks on after a change of that one's misses nothing.  They are counted from the time on, in us. */
void event_log_begin(struct event_log *log, int64_t now_us);

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

#endif /* MASTER_CORE_EVENT_LOG_H */

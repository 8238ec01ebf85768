/*
 * The load history: which tablets were hot, minute by minute.
 *
 * Servers report about each second what their tablets have had to do (struct load_report).  Reports
 * of a minute add up; when it is over, a tablet that took at least LOAD_HOT_PERCENT of what its
 * server could have done is written down, the others are forgotten.
 *
 *    report --> the running minute, by server --> entries, by time --> dropped: oldest first
 *
 * Invariants:
 *   1. It is in memory only, lost with the process, and never asked of or told to the coordinator.
 *   2. It is bounded: LOAD_ENTRIES_MAX entries, LOAD_BYTES_MAX bytes, LOAD_AGE_MAX_US; as many and as
 *      much again of running minutes, whatever servers say.  A tablet of less than LOAD_HOT_PERCENT
 *      takes no memory: it is followed from its first hot report of the minute on.
 *   3. A report counts once: its number is above the last one of that server's incarnation.
 *   4. A report of tablets that used far more time than their server had counts for nothing.
 *   5. Without memory something hot is missing, and nothing else happens.
 *
 * A report counts in the minute in which it comes, whole: its time begins up to a minute before that.
 * Minutes are the master's wall clock.  One that is set while a minute runs ends it early; what lies
 * in the future of one that was set back is dropped.
 *
 * Thread rule: one owner.  Pure.
 */
#ifndef MASTER_CORE_LOAD_LOAD_HISTORY_H
#define MASTER_CORE_LOAD_LOAD_HISTORY_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "common/wire/message.h"
#include "master/core/state/list.h"
#include "master/core/state/number_map.h"

#define LOAD_HOT_PERCENT      1
#define LOAD_MINUTE_US        INT64_C(60000000)
#define LOAD_AGE_MAX_US       (INT64_C(14) * 24 * 3600 * 1000000)
#define LOAD_ENTRIES_MAX      65536
#define LOAD_BYTES_MAX        (32 * 1024 * 1024)
#define LOAD_CAPACITY_MAX_NS  (UINT64_C(1) << 54) /* of one report: 208 days of a processor */
#define LOAD_CAPACITY_TIMES   2
#define LOAD_PAGE_ENTRIES_MAX 5000
#define LOAD_PAGE_BYTES_MAX   (1024 * 1024)

struct load_history {
    struct list servers;          /* of struct load_server, in order of their first report */
    struct number_map server_map; /* the same by number */
    struct list entries;          /* of struct load_entry, ascending by number */
    size_t entry_count;
    size_t entry_bytes;
    size_t running_count; /* of all servers' running minutes */
    size_t running_bytes;
    uint64_t entries_max; /* of this history: smaller in tests */
    uint64_t bytes_max;
    uint64_t last_number;
    int64_t minute_us; /* when the running one began */
};

/* What the catalog knows of a tablet. */
struct load_place {
    uint64_t table;
    struct row_range range;
};

/* False: there is no such tablet (any more); its load is not written down. */
typedef bool (*load_find)(void *context, uint64_t tablet, struct load_place *ret_place);

/* Who reports, and when that was heard. */
struct load_source {
    uint64_t server;
    uint64_t incarnation;
    int64_t now_us;
};

/* Add figures up; of the longest latencies the longer one counts. */
void load_figures_add(struct load_figures *sum, const struct load_figures *added);

void load_history_init(struct load_history *history);
void load_history_deinit(struct load_history *history);

/* Take a report in; one of number 0 is none.  True: it counts; false: it was heard before, or cannot
 * be. */
bool load_history_take(struct load_history *history,
                       const struct load_source *source,
                       const struct load_report *report,
                       load_find find,
                       void *context);

struct load_page {
    struct hot_tablet *tablets; /* in the arena, but for the keys: good until the next change */
    size_t count;
    uint64_t next; /* the page behind it begins after this number; 0 = there is none */
};

/* What LIST_HOT_TABLETS asks for, as of now; names of tables are left empty.
 * Errors: STATUS_NO_MEMORY. */
enum status load_history_list(struct load_history *history,
                              const struct list_hot_tablets_request *request,
                              int64_t now_us,
                              struct arena *arena,
                              struct load_page *ret_page);

/* Abort unless the invariants hold.  Linear: for tests. */
void load_history_check(const struct load_history *history);

#endif /* MASTER_CORE_LOAD_LOAD_HISTORY_H */

/*
 * What the master decided about a table because of load, counted: by kind, with what came of it, and what it
 * refused, by reason.
 *
 * Refusals are few words that a newer master may have more of: a bounded list, the most frequent first.
 *
 * Pure; thread rule: the caller's.
 */
#ifndef CLIENT_LOAD_LAB_CORE_DECIDED_H
#define CLIENT_LOAD_LAB_CORE_DECIDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "edubba_hotspots.h"

#define LAB_REFUSALS_MAX  12
#define LAB_REASON_BYTES  32
#define LAB_REASON_OTHER  "other"
#define LAB_DECIDED_BYTES 1280

enum lab_decision_kind {
    LAB_DECIDED_SPLIT,
    LAB_DECIDED_MERGE,
    LAB_DECIDED_MOVE,
    LAB_DECIDED_LEAD,  /* another replica leads: a hand-over */
    LAB_DECIDED_OTHER, /* of a newer master */
};
#define LAB_DECISION_KINDS (LAB_DECIDED_OTHER + 1)

/* Of one kind.  What is neither done nor given up was still under way. */
struct lab_decisions {
    uint64_t count;
    uint64_t done;
    uint64_t given_up;
};

struct lab_refusal {
    char reason[LAB_REASON_BYTES]; /* "monotonic", as the master names it */
    uint64_t count; /* how often it was said: of a tablet, when it is not what was said last */
};

struct lab_decided {
    struct lab_decisions kinds[LAB_DECISION_KINDS];
    struct lab_refusal refusals[LAB_REFUSALS_MAX]; /* the most frequent first */
    size_t refusal_count;
};

/* When the phases of a variant began, and the last write ended. */
struct lab_times {
    int64_t since_us;
    int64_t queries_us;
    int64_t writes_us;
    int64_t ended_us;
};

/* Was that decided of writes?  The history is written, too.  For some time after the queries the averages that are
 * decided by are still of them. */
bool lab_is_of_writes(int64_t time_us, const struct lab_times *times);

/* One more.  A reason that is too long, or one too many, is counted as LAB_REASON_OTHER. */
void lab_decided_add(struct lab_decided *decided, const struct edubba_event *event);

/* "hand_overs": for programs */
const char *lab_decision_name(enum lab_decision_kind kind);

/* "decided: 3 splits (2 done, 1 given up), 1 move; refused: 12 monotonic, 1 too_few"; "" where there was
 * nothing. */
void lab_decided_text(const struct lab_decided *decided, char out[LAB_DECIDED_BYTES]);

#endif /* CLIENT_LOAD_LAB_CORE_DECIDED_H */

/*
 * Which tablets are complained of, being assigned to a store that does not have them.  For a moment that is so of every
 * tablet that is split or merged: it is converted by the word of its primary, and what came of it is assigned by the
 * master's next answer.
 *
 * Pure.  Thread rule: one thread at a time.
 */
#ifndef TABLETSERVER_SERVE_SYNC_SYNC_MISSING_H
#define TABLETSERVER_SERVE_SYNC_SYNC_MISSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tabletserver/tablet/assignment.h"

#define SYNC_MISSING_FOR_NS   INT64_C(5000000000) /* one of them must have been missing for so long */
#define SYNC_MISSING_AGAIN_NS INT64_C(30000000000) /* between two complaints */

/* All 0: nothing is missing. */
struct sync_missing {
    uint64_t tablet; /* that is followed; 0 = none is missing */
    int64_t since_ns;
    int64_t not_before_ns;
};

/* What is to be done now.  True: what of it is MISSING is to be complained of. */
bool sync_missing_look(struct sync_missing *missing,
                       const struct assignment_action *actions,
                       size_t count,
                       int64_t now_ns);

#endif /* TABLETSERVER_SERVE_SYNC_SYNC_MISSING_H */

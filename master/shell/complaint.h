/*
 * When trouble that may last is logged: when it begins, and once a minute while it lasts.
 *
 * Pure.  Thread rule: one thread at a time.
 */
#ifndef MASTER_SHELL_COMPLAINT_H
#define MASTER_SHELL_COMPLAINT_H

#include <stdbool.h>
#include <stdint.h>

/* Trouble lasts although something else works in between: it is over when it was not met for so long. */
#define COMPLAINT_OVER_NS  INT64_C(10000000000)
#define COMPLAINT_AGAIN_NS INT64_C(60000000000)

/* All 0: nothing was met yet. */
struct complaint {
    int64_t met_ns;
    int64_t said_ns;
};

/* It is met now: is it to be said? */
bool complaint_is_due(struct complaint *complaint, int64_t now_ns);

#endif /* MASTER_SHELL_COMPLAINT_H */

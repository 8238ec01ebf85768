/*
 * Outcomes of a MutateRows call, and the messages that tell them: every entry once, in the order of
 * the request, so many a message that clients take it.
 *
 * Failures are copied here; entries without one went well.
 *
 * Thread rule: one owner.
 */
#ifndef GATEWAY_METHODS_WRITE_ENTRY_MESSAGE_H
#define GATEWAY_METHODS_WRITE_ENTRY_MESSAGE_H

#include <stdbool.h>

#include "client/include/edubba.h"
#include "common/base/arena.h"
#include "common/base/status.h"
#include "data.pb-c.h"

#define ENTRY_MESSAGE_ENTRIES_MAX 8192
#define ENTRY_MESSAGE_BYTES       (1024 * 1024) /* of texts; a message may exceed it by one */

struct entry_failure {
    size_t entry;
    enum edubba_code code;
    const char *text;
};

struct entry_outcomes {
    size_t entry_count;
    struct entry_failure *failures; /* ascending by entry */
    size_t failure_count;
    size_t next_entry;   /* the first that was not told yet */
    size_t next_failure; /* at it, or behind */
    struct arena arena;  /* of the failures */
    struct arena message;
};

/* Holds no memory until failures are added. */
void entry_outcomes_init(struct entry_outcomes *outcomes, size_t entry_count);
void entry_outcomes_deinit(struct entry_outcomes *outcomes);

/* Room for so many failures.  Errors: STATUS_NO_MEMORY. */
enum status entry_outcomes_reserve(struct entry_outcomes *outcomes, size_t failure_count);

/* Behind all that were added, and inside what was reserved.  Errors: STATUS_NO_MEMORY. */
enum status entry_outcomes_add(struct entry_outcomes *outcomes,
                               size_t entry,
                               enum edubba_code code,
                               const char *text);

/* The next message, which lives until the one after it; *ret_is_last: it is the last.
 * Errors: STATUS_NO_MEMORY. */
enum status entry_outcomes_next(struct entry_outcomes *outcomes,
                                Google__Bigtable__V2__MutateRowsResponse *ret_response,
                                bool *ret_is_last);

#endif /* GATEWAY_METHODS_WRITE_ENTRY_MESSAGE_H */

/*
 * The committer: the thread on which catalog transactions are made durable, one at a time, so that
 * a slow disk never holds up the loop.
 *
 * Thread rule: one caller; on_done is called on the committer's thread and must only hand over.
 */
#ifndef MASTER_SHELL_COMMITTER_H
#define MASTER_SHELL_COMMITTER_H

#include "master/coordinator/coordinator.h"

struct committer;

/* How a commit ended.  status OK: it is durable. */
struct committer_result {
    uint64_t transaction; /* 0 = a trial (committer_try()) */
    enum status status;
    char text[160];
    int64_t duration_ns;
};

struct committer_options {
    struct coordinator *coordinator; /* borrowed */
    void *context;
    void (*on_done)(void *context, const struct committer_result *result);
};

/* Errors: STATUS_NO_MEMORY, STATUS_IO (no thread). */
enum status committer_open(const struct committer_options *options,
                           struct committer **ret_committer,
                           struct error *ret_error);

/* Begin; puts are borrowed until on_done.  Requires: the one before is done. */
void committer_start(struct committer *committer,
                     uint64_t transaction,
                     const struct catalog_put *puts,
                     size_t put_count);

/*
 * After a clean failure: find out whether there is room again, where perhaps nothing has to be changed for weeks.  A
 * record is written once more as it is, and on_done told, unless a transaction comes first, or nothing can be read.
 */
void committer_try(struct committer *committer);

/* Waits for the commit under way, whose on_done is still called.  NULL is fine. */
void committer_close(struct committer *committer);

#endif /* MASTER_SHELL_COMMITTER_H */

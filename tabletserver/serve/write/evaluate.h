/*
 * Evaluation: the reading half of check-and-mutate and read-modify-write, done on a worker while
 * the store loop holds the row's lock.
 *
 * It reads the row as prepared, so it sees every write ordered before it, committed or not; the
 * lock keeps later ones away until its own record is appended.  What it finds out comes back to the
 * loop: the branch to take, or the changes and the row to answer with.
 *
 * Results of read-modify-writes may be large, and many may wait for one sync.  So an evaluation
 * gives up its changes once their record is appended, the rest once its answer is encoded, and what
 * it holds is charged to the server's budget for requests: beyond it the operation is refused
 * (STATUS_UNAVAILABLE) before anything of it is applied.
 *
 * Thread rule: the loop's, but from its start to store_loop_evaluated() the worker's.
 */
#ifndef TABLETSERVER_SERVE_WRITE_EVALUATE_H
#define TABLETSERVER_SERVE_WRITE_EVALUATE_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "tabletserver/serve/sync/schema_cache.h"
#include "tabletserver/serve/write/batch.h"
#include "tabletserver/storage/store/store.h"

struct evaluation {
    struct job job;
    struct work *work;
    struct store_tablet *tablet; /* a reference */
    struct schema *schema;       /* a reference */
    int64_t now_us;
    struct arena arena;
    enum status status; /* of the evaluation; its text is in error */
    struct error error;
    bool matched;           /* CHECK_AND_MUTATE */
    struct change *changes; /* READ_MODIFY_WRITE */
    size_t change_count;
    struct buffer rows;     /* READ_MODIFY_WRITE: the row block to answer with */
    uint64_t charged_bytes; /* of the server's budget for requests under way */
};

/* Start one; store_loop_evaluated() ends it.  It is the work's: evaluation_destroy() once that is
 * answered.  schema and tablet: references are taken.  Errors: STATUS_NO_MEMORY. */
enum status evaluation_start(struct work *work,
                             struct store_tablet *tablet,
                             struct schema *schema,
                             int64_t now_us);

/* Its record is appended, or never will be: free the changes, keep the answer.  On the loop. */
void evaluation_forget_changes(struct evaluation *evaluation);

/* Nothing refers to its rows any more.  Any thread. */
void evaluation_destroy(struct evaluation *evaluation);

#endif /* TABLETSERVER_SERVE_WRITE_EVALUATE_H */

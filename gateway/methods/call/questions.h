/*
 * Questions to a master that calls wait for: each is asked once at a time, however many calls want
 * to know.
 *
 *     questions_join -> (a waiter's thread asks) -> answered, of each call that waited
 *
 * A question is a kind and a name: "open this table".  What was learnt lies where `ask` put it; calls
 * are told how it went, one after another on the thread that asked.
 *
 * FRESH.  A call that comes while its question is being asked is told of a good outcome along with
 * the others, though that may be older than the call; a bad one is asked again for it, since what was
 * not there may have been made before the call came.
 *
 * DEADLINES.  It is asked with the longest patience of those that wait.  A caller whose own patience
 * ends before is told so by libgrpc in time; its call goes when the question is answered.
 *
 * Thread rule: any thread.
 */
#ifndef GATEWAY_METHODS_CALL_QUESTIONS_H
#define GATEWAY_METHODS_CALL_QUESTIONS_H

#include <stdbool.h>

#include "client/include/edubba.h"
#include "gateway/methods/call/waiters.h"
#include "gateway/rpc/rpc.h"

struct questions;

struct question_kind {
    /* Blocks, on a waiter's thread.  Errors: with the text. */
    enum edubba_code (*ask)(void *context, const char *name, struct edubba_error *error);
    uint32_t patience_max_ms; /* of that; 0 = as long as a call may take */
};

/* Lies in the call that waits. */
struct question_wait {
    struct question_wait *next;
    struct rpc_call *call; /* watched */
    /* Once; the call is the callee's again.  EDUBBA_CANCELLED also where its caller is gone. */
    void (*answered)(struct question_wait *wait, enum edubba_code code, const char *text);
};

/* context is handed to `ask`; calls may take deadline_max_ms.  Errors: STATUS_NO_MEMORY as NULL. */
struct questions *questions_create(struct waiters *waiters,
                                   void *context,
                                   uint32_t deadline_max_ms);
/* Nobody waits any more; NULL is fine. */
void questions_destroy(struct questions *questions);

/* wait is answered, before this returns or later, perhaps on this thread; EDUBBA_UNAVAILABLE when
 * too much waits for a master. kind lives for ever; name is copied. */
void questions_join(struct questions *questions,
                    const struct question_kind *kind,
                    const char *name,
                    struct question_wait *wait);

#endif /* GATEWAY_METHODS_CALL_QUESTIONS_H */

/*
 * When to try an operation again.
 *
 * Three kinds of trouble, three answers:
 *
 *   moved        NOT_OWNER with a location: at once, a few times; after that as "away".
 *   away         connection closed, no location known: after a pause.  The pauses of many
 *                operations end in few messages, since what waits travels together.
 *   overloaded   UNAVAILABLE: after a pause, and only with a token of the shared budget.  From the
 *                second time on it is also looked up again who serves: the server may have ceased to
 *                lead its tablet, and not know of the one that does.
 *
 * Pauses are full jitter: uniform in [0, min(cap, base * 2^attempts)).  An operation that finds no
 * token pauses again; its deadline bounds how long.
 *
 * BUDGET.  A bucket shared by all operations of a client: a first attempt brings a fifth of a
 * token, a retry costs one, a retry that succeeds brings it back, and a few come with time.  So
 * against a server that is over its head retries are at most a fifth of the traffic (and a small
 * minimum), and when it has recovered, nothing holds them back.
 *
 * This module is pure: time and seed are handed in.  Thread rule: one owner.
 */
#ifndef CLIENT_CORE_RETRY_H
#define CLIENT_CORE_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/prng.h"
#include "common/base/status.h"

#define RETRY_PAUSE_BASE_NS     (INT64_C(10) * 1000 * 1000)
#define RETRY_PAUSE_CAP_NS      (INT64_C(1000) * 1000 * 1000)
#define RETRY_SILENCE_BASE_NS   (INT64_C(500) * 1000 * 1000)
#define RETRY_SILENCE_CAP_NS    (INT64_C(2000) * 1000 * 1000)
#define RETRY_MOVES_MAX         4       /* redirections in a row that are followed at once */
#define RETRY_BUDGET_MILLIS     1000    /* a token, in thousandths */
#define RETRY_BUDGET_PER_FIRST  200     /* what a first attempt brings */
#define RETRY_BUDGET_MAX        1024000 /* the bucket */
#define RETRY_BUDGET_PER_SECOND 256     /* tokens that come with time */

struct retry_budget {
    int64_t millis;
    int64_t refilled_ns;
};

/* Full at first. */
void retry_budget_init(struct retry_budget *budget, int64_t now_ns);

/* So many operations are sent for the first time. */
void retry_budget_on_first(struct retry_budget *budget, uint32_t count);

/* An operation that had taken a token succeeded. */
void retry_budget_on_retry_success(struct retry_budget *budget);

/* Take so many tokens, if there is one: the rest on credit, so that many operations together do not
 * wait for longer than one. */
bool retry_budget_take(struct retry_budget *budget, uint32_t count, int64_t now_ns);

/* The state of one operation, or of some that are tried together; zero at first.  The deadline is
 * the caller's to watch. */
struct retry {
    uint32_t pauses; /* so far: the exponent of the next */
    uint32_t moves;  /* redirections in a row */
    bool took_token; /* for each operation of the attempt that is on its way */
    bool overloaded; /* the next attempt needs tokens */
};

enum retry_verdict {
    RETRY_FINAL, /* complete with the status */
    RETRY_NOW,   /* route again at once */
    RETRY_LATER, /* after *ret_pause_ns, then retry_may_start() */
};

/* An attempt ended with status, not OK.  located: a wrong-server answer told where. */
enum retry_verdict retry_on_failure(struct retry *retry,
                                    enum status status,
                                    bool located,
                                    struct prng *prng,
                                    int64_t *ret_pause_ns);

/* The pause is over: may they start?  If not, wait *ret_pause_ns more and ask again. */
bool retry_may_start(struct retry *retry,
                     uint32_t operations,
                     struct retry_budget *budget,
                     struct prng *prng,
                     int64_t now_ns,
                     int64_t *ret_pause_ns);

/* One operation ended well. */
void retry_on_success(struct retry *retry, struct retry_budget *budget);

/* The same for one of several. */
static inline void retry_on_success_of_one(const struct retry *retry, struct retry_budget *budget)
{
    if (retry->took_token) {
        retry_budget_on_retry_success(budget);
    }
}

/* The attempt ended in RETRY_LATER: is it to be looked up who serves, while the pause lasts? */
static inline bool retry_looks_again(const struct retry *retry)
{
    return retry->overloaded && retry->pauses > 1;
}

/* May an operation that met this status be tried again at all? */
bool retry_is_transient(enum status status);

/* Full jitter for the attempt-th pause (0 = first). */
int64_t retry_pause_ns(struct prng *prng, uint32_t attempt);

/* How long one of several who know the same is waited for, after so many were silent: one that is cut
 * off shall not take the time of an operation that another could answer for, and where all are slow
 * they get the time that they need. */
int64_t retry_silence_ns(uint32_t silences);

#endif /* CLIENT_CORE_RETRY_H */

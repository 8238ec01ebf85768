#include "client/core/retry.h"

#include "common/base/assert.h"

#define NS_PER_SECOND INT64_C(1000000000)

static void add_millis(struct retry_budget *budget, int64_t millis)
{
    budget->millis += millis;
    if (budget->millis > RETRY_BUDGET_MAX) {
        budget->millis = RETRY_BUDGET_MAX;
    }
}

void retry_budget_init(struct retry_budget *budget, int64_t now_ns)
{
    *budget = (struct retry_budget){.millis = RETRY_BUDGET_MAX, .refilled_ns = now_ns};
}

void retry_budget_on_first(struct retry_budget *budget, uint32_t count)
{
    add_millis(budget, (int64_t)count * RETRY_BUDGET_PER_FIRST);
}

void retry_budget_on_retry_success(struct retry_budget *budget)
{
    add_millis(budget, RETRY_BUDGET_MILLIS);
}

bool retry_budget_take(struct retry_budget *budget, uint32_t count, int64_t now_ns)
{
    const int64_t price = (int64_t)count * RETRY_BUDGET_MILLIS;
    const int64_t ns_per_milli = NS_PER_SECOND / (RETRY_BUDGET_PER_SECOND * RETRY_BUDGET_MILLIS);
    int64_t millis = (now_ns - budget->refilled_ns) / ns_per_milli;
    if (millis > RETRY_BUDGET_MAX) {
        budget->refilled_ns = now_ns;
        add_millis(budget, RETRY_BUDGET_MAX);
    } else if (millis > 0) {
        budget->refilled_ns += millis * ns_per_milli;
        add_millis(budget, millis);
    }
    if (budget->millis < RETRY_BUDGET_MILLIS) {
        return false;
    }
    budget->millis -= price;
    return true;
}

bool retry_is_transient(enum status status)
{
    return status == STATUS_UNAVAILABLE || status == STATUS_NOT_OWNER || status == STATUS_CLOSED;
}

int64_t retry_pause_ns(struct prng *prng, uint32_t attempt)
{
    int64_t most_ns = RETRY_PAUSE_BASE_NS;
    for (uint32_t i = 0; i < attempt && most_ns < RETRY_PAUSE_CAP_NS; i++) {
        most_ns *= 2;
    }
    most_ns = most_ns < RETRY_PAUSE_CAP_NS ? most_ns : RETRY_PAUSE_CAP_NS;
    return (int64_t)prng_below(prng, (uint64_t)most_ns);
}

int64_t retry_silence_ns(uint32_t silences)
{
    int64_t wait_ns = RETRY_SILENCE_BASE_NS;
    for (uint32_t i = 0; i < silences && wait_ns < RETRY_SILENCE_CAP_NS; i++) {
        wait_ns *= 2;
    }
    return wait_ns < RETRY_SILENCE_CAP_NS ? wait_ns : RETRY_SILENCE_CAP_NS;
}

enum retry_verdict retry_on_failure(
    struct retry *retry, enum status status, bool located, struct prng *prng, int64_t *ret_pause_ns)
{
    ASSERT(status != STATUS_OK);
    retry->took_token = false;
    if (!retry_is_transient(status)) {
        return RETRY_FINAL;
    }
    if (status == STATUS_NOT_OWNER && located && retry->moves < RETRY_MOVES_MAX) {
        retry->moves++;
        return RETRY_NOW;
    }
    retry->moves = 0;
    retry->overloaded = status == STATUS_UNAVAILABLE;
    *ret_pause_ns = retry_pause_ns(prng, retry->pauses);
    retry->pauses++;
    return RETRY_LATER;
}

bool retry_may_start(struct retry *retry,
                     uint32_t operations,
                     struct retry_budget *budget,
                     struct prng *prng,
                     int64_t now_ns,
                     int64_t *ret_pause_ns)
{
    if (!retry->overloaded) {
        return true;
    }
    if (retry_budget_take(budget, operations, now_ns)) {
        retry->overloaded = false;
        retry->took_token = true;
        return true;
    }
    *ret_pause_ns = retry_pause_ns(prng, retry->pauses);
    return false;
}

void retry_on_success(struct retry *retry, struct retry_budget *budget)
{
    if (retry->took_token) {
        retry->took_token = false;
        retry_budget_on_retry_success(budget);
    }
}

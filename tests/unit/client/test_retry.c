/* When an operation is tried again, and how much retrying a client may do. */
#include <criterion/criterion.h>

#include "client/core/retry.h"

#define MS (INT64_C(1000000))

static enum retry_verdict fail(struct retry *retry, enum status status, bool located)
{
    struct prng prng = prng_of_seed(1);
    int64_t pause_ns = -1;
    enum retry_verdict verdict = retry_on_failure(retry, status, located, &prng, &pause_ns);
    cr_assert_eq(verdict == RETRY_LATER, pause_ns >= 0);
    return verdict;
}

Test(retry, only_trouble_that_may_pass_is_met_again)
{
#define EACH(name, number, text)                                                                  \
    if (STATUS_##name != STATUS_OK) {                                                             \
        struct retry retry = {0};                                                                 \
        bool passes = STATUS_##name == STATUS_UNAVAILABLE || STATUS_##name == STATUS_NOT_OWNER || \
                      STATUS_##name == STATUS_CLOSED;                                             \
        cr_assert_eq(fail(&retry, STATUS_##name, false) == RETRY_LATER, passes, #name);           \
        cr_assert_eq(retry_is_transient(STATUS_##name), passes, #name);                           \
    }
    STATUS_LIST(EACH)
#undef EACH
}

Test(retry, a_moved_tablet_is_followed_at_once_but_not_in_circles)
{
    struct retry retry = {0};
    for (int i = 0; i < RETRY_MOVES_MAX; i++) {
        cr_assert_eq(fail(&retry, STATUS_NOT_OWNER, true), RETRY_NOW);
    }
    cr_assert_eq(fail(&retry, STATUS_NOT_OWNER, true), RETRY_LATER);
    cr_assert_eq(fail(&retry, STATUS_NOT_OWNER, true), RETRY_NOW);
}

Test(retry, who_refuses_twice_is_asked_about)
{
    struct retry retry = {0};
    (void)fail(&retry, STATUS_UNAVAILABLE, false);
    cr_assert(!retry_looks_again(&retry), "it may well be busy");
    (void)fail(&retry, STATUS_UNAVAILABLE, false);
    cr_assert(retry_looks_again(&retry));
    (void)fail(&retry, STATUS_CLOSED, false);
    cr_assert(!retry_looks_again(&retry), "that is looked up in any case");
}

Test(retry, who_is_silent_first_is_waited_for_a_moment_and_all_get_their_time)
{
    const int64_t waits_ms[] = {500, 1000, 2000, 2000};
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert_eq(retry_silence_ns(i), waits_ms[i] * MS);
    }
    cr_assert_eq(retry_silence_ns(UINT32_MAX), 2000 * MS);
}

Test(retry, pauses_are_full_jitter_under_a_doubling_cap)
{
    struct prng prng = prng_of_seed(3);
    int64_t most = RETRY_PAUSE_BASE_NS;
    for (uint32_t attempt = 0; attempt < 40; attempt++) {
        int64_t longest = 0;
        int64_t shortest = INT64_MAX;
        for (int i = 0; i < 2000; i++) {
            int64_t pause = retry_pause_ns(&prng, attempt);
            cr_assert(pause >= 0 && pause < most, "attempt %u: %ld", attempt, (long)pause);
            longest = pause > longest ? pause : longest;
            shortest = pause < shortest ? pause : shortest;
        }
        cr_assert_gt(longest, most * 9 / 10);
        cr_assert_lt(shortest, most / 10);
        most = 2 * most < RETRY_PAUSE_CAP_NS ? 2 * most : RETRY_PAUSE_CAP_NS;
    }
}

Test(retry, only_an_overloaded_server_costs_tokens)
{
    struct prng prng = prng_of_seed(5);
    struct retry_budget budget = {.millis = 0, .refilled_ns = 0};
    struct retry away = {0};
    struct retry overloaded = {0};
    int64_t pause_ns = -1;

    cr_assert_eq(fail(&away, STATUS_CLOSED, false), RETRY_LATER);
    cr_assert(retry_may_start(&away, 1, &budget, &prng, 0, &pause_ns));
    cr_assert_eq(fail(&overloaded, STATUS_UNAVAILABLE, false), RETRY_LATER);
    cr_assert_not(retry_may_start(&overloaded, 1, &budget, &prng, 0, &pause_ns));
    cr_assert_geq(pause_ns, 0);
    for (int i = 0; i < 5; i++) {
        retry_budget_on_first(&budget, 1);
    }
    cr_assert(retry_may_start(&overloaded, 1, &budget, &prng, 0, &pause_ns));
    retry_on_success(&overloaded, &budget);
    cr_assert_eq(budget.millis, RETRY_BUDGET_MILLIS, "a retry that succeeds costs nothing");
    retry_on_success(&overloaded, &budget);
    cr_assert_eq(budget.millis, RETRY_BUDGET_MILLIS, "once");
}

Test(retry, a_budget_is_full_at_first)
{
    struct retry_budget budget = {.millis = 7, .refilled_ns = 7};
    retry_budget_init(&budget, 1000);
    cr_assert(retry_budget_take(&budget, RETRY_BUDGET_MAX / RETRY_BUDGET_MILLIS, 1000));
    cr_assert_not(retry_budget_take(&budget, 1, 1000));
}

Test(retry, against_a_server_that_refuses_all_retries_are_a_fifth_of_the_traffic)
{
    struct retry_budget budget;
    int64_t now_ns = 0;
    uint64_t retries = 0;
    retry_budget_init(&budget, now_ns);
    const uint64_t firsts = 1000000;
    for (uint64_t i = 0; i < firsts; i++) {
        retry_budget_on_first(&budget, 1);
        retries += retry_budget_take(&budget, 1, now_ns) ? 1 : 0;
        now_ns += 1000; /* a million a second, for a second */
    }
    uint64_t bucket = RETRY_BUDGET_MAX / RETRY_BUDGET_MILLIS;
    cr_assert_leq(retries, firsts / 5 + bucket + RETRY_BUDGET_PER_SECOND + 1);
    cr_assert_geq(retries, firsts / 5);
}

Test(retry, many_together_wait_no_longer_than_one_and_pay_for_all)
{
    struct retry_budget budget = {.millis = RETRY_BUDGET_MILLIS, .refilled_ns = 0};
    cr_assert(retry_budget_take(&budget, 100, 0));
    cr_assert_not(retry_budget_take(&budget, 1, 0));
    retry_budget_on_first(&budget, 5 * 99);
    cr_assert_not(retry_budget_take(&budget, 1, 0), "only the debt is paid");
    retry_budget_on_first(&budget, 5);
    cr_assert(retry_budget_take(&budget, 100, 0));
}

Test(retry, a_few_come_with_time_whatever_the_traffic)
{
    struct retry_budget budget = {.millis = 0, .refilled_ns = 0};
    int retries = 0;
    for (int64_t now_ns = 0; now_ns < 10000 * MS; now_ns += MS) {
        retries += retry_budget_take(&budget, 1, now_ns) ? 1 : 0;
    }
    cr_assert_geq(retries, 10 * RETRY_BUDGET_PER_SECOND * 9 / 10);
    cr_assert_leq(retries, 10 * RETRY_BUDGET_PER_SECOND);
    /* A long silence fills the bucket, and no more than that. */
    int64_t later_ns = INT64_C(1000000) * 1000 * MS;
    retries = 0;
    while (retry_budget_take(&budget, 1, later_ns)) {
        retries++;
    }
    cr_assert_eq(retries, RETRY_BUDGET_MAX / RETRY_BUDGET_MILLIS);
}

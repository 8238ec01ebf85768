#include <criterion/criterion.h>

#include "common/io/condition.h"

static int64_t ns_of(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t now_ns(void)
{
    struct timespec now;
    cr_assert_eq(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return ns_of(now);
}

Test(condition, a_time_is_so_long_from_now_whatever_carries)
{
    static const int64_t times_ns[] = {0, 1, 999999999, 1000000000, 5999999999};
    for (size_t i = 0; i < sizeof times_ns / sizeof *times_ns; i++) {
        int64_t begin_ns = now_ns();
        struct timespec time = condition_time_in(times_ns[i]);
        int64_t end_ns = now_ns();
        cr_assert(time.tv_nsec >= 0 && time.tv_nsec < 1000000000);
        cr_assert(ns_of(time) >= begin_ns + times_ns[i] && ns_of(time) <= end_ns + times_ns[i]);
    }
}

Test(condition, below_zero_is_now_and_for_ever_does_not_wrap)
{
    int64_t begin_ns = now_ns();
    int64_t past_ns = ns_of(condition_time_in(INT64_MIN));
    cr_assert(past_ns >= begin_ns && past_ns <= now_ns());
    struct timespec for_ever = condition_time_in(INT64_MAX);
    cr_assert_gt(for_ever.tv_sec, 9000000000);
    cr_assert(for_ever.tv_nsec >= 0 && for_ever.tv_nsec < 1000000000);
}

Test(condition, a_wait_ends_by_that_clock)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition;
    condition_init(&condition);
    int64_t begin_ns = now_ns();
    const struct timespec until = condition_time_in(20000000);
    pthread_mutex_lock(&mutex);
    while (pthread_cond_timedwait(&condition, &mutex, &until) == 0) {
    }
    pthread_mutex_unlock(&mutex);
    cr_assert_geq(now_ns() - begin_ns, 20000000);
    cr_assert_lt(now_ns() - begin_ns, INT64_C(60000000000));
    cr_assert_eq(pthread_cond_destroy(&condition), 0);
}

#include "common/io/condition.h"

#include "common/base/assert.h"

#define NS_PER_SECOND INT64_C(1000000000)

void condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    ASSERT(pthread_condattr_init(&attributes) == 0);
    ASSERT(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    ASSERT(pthread_cond_init(condition, &attributes) == 0);
    ASSERT(pthread_condattr_destroy(&attributes) == 0);
}

struct timespec condition_time_in(int64_t ns)
{
    struct timespec time;
    int64_t left_ns = ns > 0 ? ns : 0;
    ASSERT(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
    int64_t rest_ns = (int64_t)time.tv_nsec + left_ns % NS_PER_SECOND;
    time.tv_sec += (time_t)(left_ns / NS_PER_SECOND + rest_ns / NS_PER_SECOND);
    time.tv_nsec = (long)(rest_ns % NS_PER_SECOND);
    return time;
}

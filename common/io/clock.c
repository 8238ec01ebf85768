#include "common/io/clock.h"

#include <errno.h>
#include <time.h>

#include "common/base/assert.h"

static int64_t read_clock_ns(clockid_t clock)
{
    struct timespec time = {0};
    int result = clock_gettime(clock, &time);
    ASSERT(result == 0);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t clock_wall_us(void)
{
    return read_clock_ns(CLOCK_REALTIME) / 1000;
}

int64_t clock_monotonic_ns(void)
{
    return read_clock_ns(CLOCK_BOOTTIME);
}

int64_t clock_process_cpu_ns(void)
{
    return read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_thread_cpu_ns(pthread_t thread)
{
    clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
    struct timespec time = {0};
    /* A thread that has ended has none any more. */
    if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0) {
        return 0;
    }
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void clock_sleep_us(int64_t us)
{
    struct timespec left = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

#include "common/io/clock.h"

#include <errno.h>
#include <sys/random.h>
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

void clock_sleep_us(int64_t us)
{
    struct timespec left = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

void random_fill(void *data, size_t size_bytes)
{
    uint8_t *at = data;
    while (size_bytes > 0) {
        ssize_t got = getrandom(at, size_bytes, 0);
        if (got < 0) {
            ASSERT(errno == EINTR);
            continue;
        }
        at += got;
        size_bytes -= (size_t)got;
    }
}

uint64_t random_u64(void)
{
    uint64_t value = 0;
    while (value == 0) {
        random_fill(&value, sizeof value);
    }
    return value;
}

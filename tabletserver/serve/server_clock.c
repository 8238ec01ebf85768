#include "tabletserver/serve/server_clock.h"

#include "common/io/clock.h"
#include "common/io/logger.h"

#define US_PER_MS 1000

void server_clock_init(struct server_clock *clock)
{
    (void)pthread_mutex_init(&clock->lock, NULL);
    clock->witnessed = false;
    steady_clock_start(&clock->steady, clock_wall_us(), clock_monotonic_ns());
}

void server_clock_deinit(struct server_clock *clock)
{
    (void)pthread_mutex_destroy(&clock->lock);
}

/* With the lock held, which is let go before the log is told. */
static void unlock_and_tell(struct server_clock *clock, bool was_doubted)
{
    bool doubted = clock->steady.doubted;
    int64_t ahead_ms = clock->steady.apart_us / US_PER_MS;
    (void)pthread_mutex_unlock(&clock->lock);
    if (doubted && !was_doubted) {
        LOG_EVENT(
            LOG_LEVEL_WARN, "clock_leapt", LOG_I64("ahead_ms", ahead_ms),
            LOG_TEXT("advice",
                     "time goes on as if the machine's clock had not been set, and nothing is "
                     "erased by age; set it right, or restart this server if it is right"));
    } else if (was_doubted && !doubted) {
        LOG_EVENT(LOG_LEVEL_INFO, "clock_agrees", LOG_I64("ahead_ms", ahead_ms));
    }
}

int64_t server_clock_now_us(struct server_clock *clock)
{
    (void)pthread_mutex_lock(&clock->lock);
    bool was_doubted = clock->steady.doubted;
    int64_t now_us = steady_clock_read(&clock->steady, clock_wall_us(), clock_monotonic_ns());
    unlock_and_tell(clock, was_doubted);
    return now_us;
}

void server_clock_witness(struct server_clock *clock, int64_t master_us)
{
    (void)pthread_mutex_lock(&clock->lock);
    bool was_doubted = clock->steady.doubted;
    if (!clock->witnessed && master_us > 0) {
        steady_clock_witness(&clock->steady, master_us, clock_wall_us(), clock_monotonic_ns());
    }
    clock->witnessed = true;
    unlock_and_tell(clock, was_doubted);
}

bool server_clock_is_trusted(struct server_clock *clock)
{
    (void)pthread_mutex_lock(&clock->lock);
    bool trusted = clock->witnessed && !clock->steady.doubted;
    (void)pthread_mutex_unlock(&clock->lock);
    return trusted;
}

bool server_clock_is_doubted(struct server_clock *clock, int64_t *ret_apart_us)
{
    (void)pthread_mutex_lock(&clock->lock);
    bool doubted = clock->steady.doubted;
    *ret_apart_us = clock->steady.apart_us;
    (void)pthread_mutex_unlock(&clock->lock);
    return doubted;
}

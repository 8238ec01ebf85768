/*
 * Waiting for what must come of other threads.
 */
#ifndef TESTS_SUPPORT_WAIT_FOR_H
#define TESTS_SUPPORT_WAIT_FOR_H

#include <criterion/criterion.h>

#include "common/io/clock.h"

/* Only a test that has failed waits for so long, on the slowest machine. */
#define WAIT_MS 60000

/* Wait until condition holds; fails the test when it does not come about. */
#define WAIT_FOR(condition)                                                       \
    do {                                                                          \
        int64_t until_ = clock_monotonic_ns() + INT64_C(1000000) * WAIT_MS;       \
        while (!(condition)) {                                                    \
            cr_assert_lt(clock_monotonic_ns(), until_, "waited: %s", #condition); \
            clock_sleep_us(200);                                                  \
        }                                                                         \
    } while (0)

#endif /* TESTS_SUPPORT_WAIT_FOR_H */

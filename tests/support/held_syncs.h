/*
 * This process's fdatasync waits until the test lets it pass, so that what waits for a disk is known.
 * To be included by one file of a test program only.
 */
#ifndef TESTS_SUPPORT_HELD_SYNCS_H
#define TESTS_SUPPORT_HELD_SYNCS_H

#include <limits.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/io/clock.h"

static atomic_int syncs_allowed = INT_MAX; /* INT_MAX: all */

int fdatasync(int descriptor)
{
    int allowed = atomic_load(&syncs_allowed);
    while (allowed == 0 || (allowed != INT_MAX &&
                            !atomic_compare_exchange_weak(&syncs_allowed, &allowed, allowed - 1))) {
        clock_sleep_us(500);
        allowed = atomic_load(&syncs_allowed);
    }
    return (int)syscall(SYS_fdatasync, descriptor);
}

#endif /* TESTS_SUPPORT_HELD_SYNCS_H */

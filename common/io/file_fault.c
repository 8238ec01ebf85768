#include "common/io/file_fault.h"

#include <stdatomic.h>

/* One armed fault: a count-down, negative when disarmed (as in memory.c). */
struct armed_fault {
    atomic_llong countdown;
    atomic_int error_number;
    atomic_bool for_ever;
    atomic_bool short_write;
};

static struct armed_fault armed[FILE_OPERATION_COUNT] = {
    {.countdown = -1}, {.countdown = -1}, {.countdown = -1}};

static atomic_ullong fault_count;

int file_fault_due(enum file_operation operation)
{
    struct armed_fault *fault = &armed[operation];
    if (atomic_load(&fault->countdown) < 0) {
        return 0;
    }
    long long before = atomic_fetch_sub(&fault->countdown, 1);
    if (before > 0) {
        return 0;
    }
    if (before < 0 && !atomic_load(&fault->for_ever)) { /* another thread got it */
        return 0;
    }
    if (atomic_load(&fault->for_ever)) {
        atomic_store(&fault->countdown, 0);
    }
    atomic_fetch_add(&fault_count, 1);
    return atomic_load(&fault->error_number);
}

bool file_fault_is_short(void)
{
    return atomic_load(&armed[FILE_OPERATION_WRITE].short_write);
}

void file_fault_arm(const struct file_fault *fault)
{
    struct armed_fault *slot = &armed[fault->operation];
    atomic_store(&slot->countdown, -1);
    atomic_store(&slot->error_number, fault->error_number);
    atomic_store(&slot->for_ever, fault->for_ever);
    atomic_store(&slot->short_write, fault->short_write);
    atomic_store(&slot->countdown, (long long)fault->after);
}

void file_fault_disarm(void)
{
    for (int i = 0; i < FILE_OPERATION_COUNT; i++) {
        atomic_store(&armed[i].countdown, -1);
    }
}

uint64_t file_fault_count(void)
{
    return atomic_load(&fault_count);
}

#define _GNU_SOURCE /* pthread_setname_np, SCHED_BATCH */
#include "common/io/thread.h"

#include <pthread.h>
#include <sched.h>

void thread_name_set(const char *name)
{
    (void)pthread_setname_np(pthread_self(), name); /* only refused when too long */
}

bool thread_patient_set(bool patient)
{
    struct sched_param none = {0};
    int before = sched_getscheduler(0);
    if (before == SCHED_OTHER || before == SCHED_BATCH) {
        (void)sched_setscheduler(0, patient ? SCHED_BATCH : SCHED_OTHER, &none);
    }
    return before == SCHED_BATCH;
}

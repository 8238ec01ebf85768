#define _GNU_SOURCE /* pthread_setname_np */
#include "common/io/thread_name.h"

#include <pthread.h>

void thread_name_set(const char *name)
{
    (void)pthread_setname_np(pthread_self(), name); /* only refused when too long */
}

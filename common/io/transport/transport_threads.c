#include "common/io/transport/transport_threads.h"

#include <pthread.h>

#include <nng/nng.h>

#include "common/io/thread.h"

static void start(void)
{
    bool before = thread_patient_set(true);
    nng_aio *aio;
    if (nng_aio_alloc(&aio, NULL, NULL) == 0) { /* what fails here fails where it is needed, too */
        nng_aio_free(aio);
    }
    (void)thread_patient_set(before);
}

void transport_threads_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, start);
}

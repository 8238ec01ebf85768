#include "master/shell/heap_trim.h"

#include <malloc.h>
#include <pthread.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/mailbox.h"
#include "common/io/thread.h"

#define EVERY_NS (INT64_C(5) * 1000 * 1000 * 1000)

struct heap_trim {
    struct mailbox *stop; /* carries nothing: only to wait and be woken */
    pthread_t thread;
};

static void *run(void *context)
{
    struct heap_trim *trim = context;
    char nothing;
    thread_name_set("heap");
    while (mailbox_take(trim->stop, &nothing, 1, clock_monotonic_ns() + EVERY_NS) == 0) {
        (void)malloc_trim(0);
    }
    return NULL;
}

struct heap_trim *heap_trim_start(void)
{
    const struct mailbox_settings stop = {.item_bytes = 1, .capacity = 1};
    struct heap_trim *trim = memory_allocate_zeroed(1, sizeof *trim);
    if (trim == NULL || mailbox_create(&stop, &trim->stop) != STATUS_OK) {
        memory_free(trim);
        return NULL;
    }
    if (pthread_create(&trim->thread, NULL, run, trim) != 0) {
        mailbox_destroy(trim->stop);
        memory_free(trim);
        return NULL;
    }
    return trim;
}

void heap_trim_stop(struct heap_trim *trim)
{
    if (trim == NULL) {
        return;
    }
    (void)mailbox_push(trim->stop, "");
    (void)pthread_join(trim->thread, NULL);
    mailbox_destroy(trim->stop);
    memory_free(trim);
}

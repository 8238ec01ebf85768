#include "tabletserver/serve/read/read_confirm.h"

#include <pthread.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/metrics.h"

struct read_confirm {
    struct worker_pool *workers;
    struct metric *waited;
    pthread_mutex_t mutex;
    struct read_wait *first; /* in no order: most go together */
    bool stopped;
};

enum status read_confirm_create(struct worker_pool *workers, struct read_confirm **ret_confirm)
{
    struct read_confirm *confirm = memory_allocate_zeroed(1, sizeof *confirm);
    if (confirm == NULL) {
        return STATUS_NO_MEMORY;
    }
    confirm->workers = workers;
    confirm->waited = metric_counter(
        "edubba_reads_confirmed_total", "",
        "Times that a read waited until the servers of a tablet's other copies had confirmed its lease.");
    ASSERT(pthread_mutex_init(&confirm->mutex, NULL) == 0);
    *ret_confirm = confirm;
    return STATUS_OK;
}

void read_confirm_destroy(struct read_confirm *confirm)
{
    if (confirm != NULL) {
        ASSERT(confirm->first == NULL);
        (void)pthread_mutex_destroy(&confirm->mutex);
        memory_free(confirm);
    }
}

static enum read_confirm_outcome look_at(const struct read_wait *wait, int64_t now_ns)
{
    if (served_confirmed(&wait->served, wait->asked)) {
        return READ_CONFIRM_CONFIRMED;
    }
    if (!served_holds(&wait->served)) {
        return READ_CONFIRM_NOT_SERVED;
    }
    return now_ns > wait->deadline_ns ? READ_CONFIRM_LATE : READ_CONFIRM_WAITS;
}

/* It is looked at under the lock: what is confirmed after that finds it in the list. */
enum read_confirm_outcome read_confirm_wait(struct read_confirm *confirm, struct read_wait *wait)
{
    const struct served served = wait->served; /* what waits may be gone */
    (void)pthread_mutex_lock(&confirm->mutex);
    enum read_confirm_outcome outcome = look_at(wait, clock_monotonic_ns());
    if (outcome == READ_CONFIRM_WAITS && confirm->stopped) {
        outcome = READ_CONFIRM_STOPPED;
    } else if (outcome == READ_CONFIRM_WAITS) {
        wait->next = confirm->first;
        confirm->first = wait;
    }
    (void)pthread_mutex_unlock(&confirm->mutex);
    if (outcome == READ_CONFIRM_WAITS) {
        metric_add(confirm->waited, 1);
    } else {
        served_release(&served);
    }
    return outcome;
}

static void let_go(struct read_confirm *confirm, struct read_wait *list)
{
    while (list != NULL) {
        struct read_wait *next = list->next;
        served_release(&list->served);
        worker_pool_submit(confirm->workers, list->job, list->priority); /* it may be gone */
        list = next;
    }
}

void read_confirm_look(struct read_confirm *confirm)
{
    struct read_wait *gone = NULL;
    int64_t now_ns = clock_monotonic_ns();
    (void)pthread_mutex_lock(&confirm->mutex);
    for (struct read_wait **link = &confirm->first; *link != NULL;) {
        struct read_wait *wait = *link;
        if (look_at(wait, now_ns) == READ_CONFIRM_WAITS) {
            link = &wait->next;
        } else {
            *link = wait->next;
            wait->next = gone;
            gone = wait;
        }
    }
    (void)pthread_mutex_unlock(&confirm->mutex);
    let_go(confirm, gone);
}

void read_confirm_stop(struct read_confirm *confirm)
{
    if (confirm == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&confirm->mutex);
    struct read_wait *gone = confirm->first;
    confirm->first = NULL;
    confirm->stopped = true;
    (void)pthread_mutex_unlock(&confirm->mutex);
    let_go(confirm, gone);
}

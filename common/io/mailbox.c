#include "common/io/mailbox.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/condition.h"

struct mailbox {
    struct mailbox_settings settings;
    pthread_mutex_t mutex;
    pthread_cond_t arrived;
    size_t first; /* index of the oldest item */
    size_t count;
    bool woken;   /* a wake that no take has seen yet */
    bool waiting; /* the loop sleeps: a push must signal */
    bool closed;
    uint8_t items[];
};

static void lock(struct mailbox *mailbox)
{
    int result = pthread_mutex_lock(&mailbox->mutex);
    ASSERT(result == 0);
}

static void unlock(struct mailbox *mailbox)
{
    int result = pthread_mutex_unlock(&mailbox->mutex);
    ASSERT(result == 0);
}

/* Unlocks.  Signals only a loop that sleeps: a busy one is never charged a system call.  And not
 * with the lock held: the loop would wake only to wait for it. */
static void unlock_and_rouse(struct mailbox *mailbox)
{
    bool asleep = mailbox->waiting;
    mailbox->waiting = false;
    unlock(mailbox);
    if (asleep) {
        (void)pthread_cond_signal(&mailbox->arrived);
    }
}

static bool push_up_to(struct mailbox *mailbox, const void *item, size_t places)
{
    const struct mailbox_settings *settings = &mailbox->settings;
    bool accepted = false;

    lock(mailbox);
    if (!mailbox->closed && mailbox->count < places) {
        size_t at = (mailbox->first + mailbox->count) % settings->capacity;
        memcpy(mailbox->items + at * settings->item_bytes, item, settings->item_bytes);
        mailbox->count++;
        accepted = true;
        unlock_and_rouse(mailbox);
    } else {
        unlock(mailbox);
    }
    return accepted;
}

/* Locked.  Our deadlines are BOOTTIME, the condition's clock is MONOTONIC: what is left is carried
 * over, and a spurious or early return only makes the caller look again. */
static void wait_until(struct mailbox *mailbox, int64_t deadline_ns)
{
    mailbox->waiting = true;
    if (deadline_ns == MAILBOX_WAIT_FOR_EVER) {
        (void)pthread_cond_wait(&mailbox->arrived, &mailbox->mutex);
    } else {
        const struct timespec until = condition_time_in(deadline_ns - clock_monotonic_ns());
        (void)pthread_cond_timedwait(&mailbox->arrived, &mailbox->mutex, &until);
    }
    mailbox->waiting = false;
}

/* Locked. */
static size_t copy_out(struct mailbox *mailbox, uint8_t *items, size_t item_count_max)
{
    const struct mailbox_settings *settings = &mailbox->settings;
    size_t taken = 0;

    while (taken < item_count_max && mailbox->count > 0) {
        memcpy(items + taken * settings->item_bytes,
               mailbox->items + mailbox->first * settings->item_bytes, settings->item_bytes);
        mailbox->first = (mailbox->first + 1) % settings->capacity;
        mailbox->count--;
        taken++;
    }
    return taken;
}

enum status mailbox_create(const struct mailbox_settings *settings, struct mailbox **ret_mailbox)
{
    struct mailbox *mailbox = NULL;

    ASSERT(settings->item_bytes > 0);
    ASSERT(settings->reserved < settings->capacity);
    ASSERT(settings->capacity <= SIZE_MAX / 2 / settings->item_bytes);
    mailbox = memory_allocate(sizeof *mailbox + settings->capacity * settings->item_bytes);
    if (mailbox == NULL) {
        return STATUS_NO_MEMORY;
    }
    *mailbox = (struct mailbox){.settings = *settings};
    int result = pthread_mutex_init(&mailbox->mutex, NULL);
    ASSERT(result == 0);
    condition_init(&mailbox->arrived);
    *ret_mailbox = mailbox;
    return STATUS_OK;
}

void mailbox_destroy(struct mailbox *mailbox)
{
    if (mailbox == NULL) {
        return;
    }
    (void)pthread_cond_destroy(&mailbox->arrived);
    (void)pthread_mutex_destroy(&mailbox->mutex);
    memory_free(mailbox);
}

bool mailbox_push(struct mailbox *mailbox, const void *item)
{
    return push_up_to(mailbox, item, mailbox->settings.capacity - mailbox->settings.reserved);
}

bool mailbox_push_reserved(struct mailbox *mailbox, const void *item)
{
    return push_up_to(mailbox, item, mailbox->settings.capacity);
}

void mailbox_wake(struct mailbox *mailbox)
{
    lock(mailbox);
    mailbox->woken = true;
    unlock_and_rouse(mailbox);
}

void mailbox_close(struct mailbox *mailbox)
{
    lock(mailbox);
    mailbox->closed = true;
    unlock_and_rouse(mailbox);
}

size_t mailbox_take(struct mailbox *mailbox,
                    void *items,
                    size_t item_count_max,
                    int64_t deadline_ns)
{
    size_t taken = 0;

    lock(mailbox);
    while (mailbox->count == 0 && !mailbox->woken && !mailbox->closed &&
           clock_monotonic_ns() < deadline_ns) {
        wait_until(mailbox, deadline_ns);
    }
    mailbox->woken = false;
    taken = copy_out(mailbox, items, item_count_max);
    unlock(mailbox);
    return taken;
}

size_t mailbox_depth(struct mailbox *mailbox)
{
    lock(mailbox);
    size_t depth = mailbox->count;
    unlock(mailbox);
    return depth;
}

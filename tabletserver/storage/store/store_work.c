/*
 * The work thread: everything that writes to the base, one bounded step after the other.
 *
 * Order of what it does: what the loop waits for (create, drop), then flushing, then housekeeping
 * in turns.  Where writes never cease, flushing never does: then every so many of its steps earn one
 * of housekeeping, or what was deleted would stay for ever.  After a step, or a slice that was learnt, it
 * rests in proportion to what that took (flush_pace.h), unless writers are short of memory or the loop waits
 * for something; after a slice of a tablet that is hurried it does not, and that goes before the others.  Between
 * two slices it flushes: while it rests, the next one comes.  Between two that are hurried only where flushing lags,
 * for then writers would wait.  Closing waits for one step at most.
 */
#include <time.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/condition.h"
#include "common/io/thread.h"
#include "tabletserver/storage/flush/store_flush.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

#define RETRY_NS      (200 * INT64_C(1000000)) /* disk full */
#define RETRY_SOON_NS (5 * INT64_C(1000000))   /* short of memory */
#define IDLE_NS       (100 * INT64_C(1000000))
#define HEAL_NS       (200 * INT64_C(1000000))

#define HOUSEKEEPING_PRICE      8  /* steps of the flush that one step costs */
#define HOUSEKEEPING_PRICE_MOST 64 /* while flushing lags */
#define HOUSEKEEPING_CREDIT_MAX 128

void store_work_wake(struct store *store)
{
    (void)pthread_mutex_lock(&store->mutex);
    store->work_woken = true;
    (void)pthread_cond_signal(&store->condition_changed);
    (void)pthread_mutex_unlock(&store->mutex);
}

void store_tell(struct store *store, struct store_event *event)
{
    event->next = NULL;
    (void)pthread_mutex_lock(&store->mutex);
    *store->events_end = event;
    store->events_end = &event->next;
    (void)pthread_mutex_unlock(&store->mutex);
    if (!store->recovering) {
        store->callbacks.wake(store->callbacks.context);
    }
}

/* Is the job a slice of a tablet that nobody waits for? */
static bool has_time(const struct store_job *job)
{
    return job->lesson != NULL && !atomic_load(&job->tablet->hurried);
}

/* Somebody waits for something: the loop; or, but where writers would wait for it, the learner of a tablet that is
 * hurried. */
static bool is_waited_for(const struct store *store)
{
    bool only_loop = store_flush_lags(store);
    struct store_job *job = store->jobs;
    while (job != NULL &&
           (has_time(job) || (only_loop && job->lesson != NULL) || !store_job_is_due(job))) {
        job = job->next;
    }
    return job != NULL && clock_monotonic_ns() >= store->job_retry_ns;
}

/* Does somebody wait for this thread, or are writers short of memory? */
static bool is_needed(const struct store *store)
{
    return store_memory_presses(store) || is_waited_for(store);
}

/* Until woken (if it may be), or needed (else), or the time is over, by the condition's clock, which stands
 * still while the machine is suspended. */
static void rest(struct store *store, int64_t duration_ns, bool wakeable)
{
    const struct timespec until = condition_time_in(duration_ns);
    (void)pthread_mutex_lock(&store->mutex);
    while (!atomic_load(&store->stop) && !(wakeable ? store->work_woken : is_needed(store))) {
        if (pthread_cond_timedwait(&store->condition_changed, &store->mutex, &until) != 0) {
            break;
        }
    }
    store->work_woken = store->work_woken && !wakeable;
    (void)pthread_mutex_unlock(&store->mutex);
}

struct flush_pace store_flush_pace(const struct store *store)
{
    return (struct flush_pace){
        .percent = store->settings.flush_pace_percent,
        .processors_permille = atomic_load_explicit(&store->processors_permille,
                                                    memory_order_relaxed),
    };
}

void store_set_processors(struct store *store, uint64_t permille)
{
    atomic_store_explicit(&store->processors_permille, permille, memory_order_relaxed);
}

static int64_t retry_at_ns(enum status status)
{
    return clock_monotonic_ns() + (status == STATUS_NO_MEMORY ? RETRY_SOON_NS : RETRY_NS);
}

/* --- steps ---------------------------------------------------------------------------------------- */

static bool is_among(const struct store_job *jobs, uint64_t tablet)
{
    while (jobs != NULL && jobs->tablet->descriptor.tablet != tablet) {
        jobs = jobs->next;
    }
    return jobs != NULL;
}

/* Those that only make a tablet, or only drop one, share a transaction: a table may have a thousand of them, and each sync
 * takes some milliseconds.  One that was asked for twice does not: the second look must find what the first has written. */
static struct store_job *take_alike(struct store_job **link)
{
    struct store_job *first = NULL;
    struct store_job **end = &first;
    for (uint32_t i = 0; i < STORE_ALIKE_MAX; i++) {
        struct store_job *job = *link;
        bool alike = job != NULL && (first == NULL || job->drop == first->drop) &&
                     (job->drop || store_job_makes(job));
        if (!alike || !store_job_is_due(job) || is_among(first, job->tablet->descriptor.tablet)) {
            break;
        }
        *link = job->next;
        job->next = NULL;
        *end = job;
        end = &job->next;
    }
    return first;
}

static struct store_job *take_job(struct store *store)
{
    (void)pthread_mutex_lock(&store->mutex);
    struct store_job **link = &store->jobs;
    while (*link != NULL && !store_job_is_due(*link)) {
        link = &(*link)->next;
    }
    /* Slices that have time let one that is hurried past, and nothing else: a tablet has one at a time. */
    struct store_job **hurried = link;
    while (*hurried != NULL && has_time(*hurried)) {
        hurried = &(*hurried)->next;
    }
    bool passes = *hurried != NULL && (*hurried)->lesson != NULL && store_job_is_due(*hurried);
    link = passes ? hurried : link;
    struct store_job *job = *link;
    if (job != NULL && (job->drop || store_job_makes(job))) {
        job = take_alike(link);
    } else if (job != NULL) {
        *link = job->next;
        job->next = NULL;
    }
    (void)pthread_mutex_unlock(&store->mutex);
    return job;
}

static void put_job_back(struct store *store, struct store_job *job, enum status status)
{
    struct store_job *last = job;
    while (last->next != NULL) {
        last = last->next;
    }
    (void)pthread_mutex_lock(&store->mutex);
    last->next = store->jobs;
    store->jobs = job;
    (void)pthread_mutex_unlock(&store->mutex);
    store->job_retry_ns = retry_at_ns(status);
}

/* And those that were done with it.  Who is told may free it. */
static void tell_done(struct store *store, struct store_job *job, enum status status)
{
    while (job != NULL) {
        struct store_job *next = job->next;
        if (status != STATUS_OK && job->error.status == STATUS_OK) {
            (void)error_set(&job->error, status, "%s: %s", store->folder, status_text(status));
        }
        store_tell(store, &job->event);
        job = next;
    }
}

/* *ret_slice: it was one; *ret_rests: and is rested after. */
static bool run_job(struct store *store, bool *ret_slice, bool *ret_rests)
{
    struct store_job *job = clock_monotonic_ns() >= store->job_retry_ns ? take_job(store) : NULL;
    if (job == NULL) {
        return false;
    }
    *ret_slice = job->lesson != NULL;
    *ret_rests = has_time(job);
    enum status status = store_run_job(store, job);
    if (status != STATUS_OK) {
        bool passing = store_trouble_note(store, status, "tablet list");
        bool waits = job->drop || job->merged[0] != NULL ||
                     (job->lesson != NULL && status != STATUS_CORRUPT);
        if (waits && passing) {
            put_job_back(store, job, status); /* answered when it is done, not before */
            return false;
        }
    }
    tell_done(store, job, status);
    return true;
}

/* Memory or disk that ran out stops every flush; corrupt data in the base that of its own tablet. */
static void note_failed_flush(struct store *store, enum status status)
{
    /* Of damage the flush has said where it is. */
    bool retry = status == STATUS_CORRUPT || store_trouble_note(store, status, "base");
    store->flush_failed = retry && status != STATUS_CORRUPT;
    store->tablet_failed = store->tablet_failed || status == STATUS_CORRUPT;
    store->retry_at_ns = retry_at_ns(status);
}

static bool flush(struct store *store)
{
    if ((store->flush_failed || store->tablet_failed) &&
        clock_monotonic_ns() >= store->retry_at_ns) {
        store_flush_retry(store);
        store->flush_failed = false;
        store->tablet_failed = false;
    }
    if (store->flush_failed) {
        return false;
    }
    bool worked = false;
    uint64_t flushes = atomic_load(&store->flushes);
    enum status status = store_flush_step(store, &worked);
    if (status != STATUS_OK) {
        note_failed_flush(store, status);
        return !store->flush_failed;
    }
    if (worked && store->housekeeping_credit < HOUSEKEEPING_CREDIT_MAX) {
        store->housekeeping_credit++;
    }
    if (atomic_load(&store->flushes) != flushes) {
        store->housekeeping_in_vain = false;
    }
    return worked;
}

static enum status housekeeping_step(struct store *store, uint32_t turn, bool *ret_worked)
{
    switch (turn) {
    case 0:
        return store_erase_step(store, ret_worked);
    case 1:
        return store_erase_range_step(store, ret_worked);
    case 2:
        return store_sweep_step(store, ret_worked);
    case 3:
        return store_collect_step(store, ret_worked);
    case 4:
        return store_estimate_step(store, ret_worked);
    default:
        return store_scrub_step(store, ret_worked);
    }
}

#define HOUSEKEEPING_KINDS 6

/* One step of the next kind that has anything to do. */
static bool keep_house(struct store *store)
{
    if (clock_monotonic_ns() < store->housekeeping_retry_ns) {
        return false;
    }
    for (uint32_t i = 0; i < HOUSEKEEPING_KINDS; i++) {
        store->housekeeping_turn = (store->housekeeping_turn + 1) % HOUSEKEEPING_KINDS;
        bool worked = false;
        enum status status = housekeeping_step(store, store->housekeeping_turn, &worked);
        if (status != STATUS_OK) {
            (void)store_trouble_note(store, status, "base");
            store->housekeeping_retry_ns = retry_at_ns(status);
            return false;
        }
        if (worked) {
            return true;
        }
    }
    return false;
}

/*
 * One step of the one or the other.  Most of housekeeping cannot touch a tablet whose flush has
 * stopped half way: what found nothing to do tries again when a memtable is in the base, and has by
 * then earned several steps.
 */
static bool flush_or_keep_house(struct store *store)
{
    uint32_t price = store_flush_lags(store) ? HOUSEKEEPING_PRICE_MOST : HOUSEKEEPING_PRICE;
    if (store->housekeeping_credit >= price && !store->housekeeping_in_vain) {
        if (keep_house(store)) {
            store->housekeeping_credit -= price;
            return true;
        }
        store->housekeeping_in_vain = true;
    }
    return flush(store) || keep_house(store);
}

/* After a step of the flush, or a slice. */
static void pace(struct store *store, bool is_slice, int64_t begin_ns, int64_t begin_cpu_ns)
{
    const struct flush_pace pace = store_flush_pace(store);
    int64_t busy_ns = clock_monotonic_ns() - begin_ns;
    int64_t cpu_ns = clock_thread_cpu_ns(pthread_self()) - begin_cpu_ns;
    int64_t rest_ns = is_slice ? flush_pace_slice_rest_ns(&pace, busy_ns, cpu_ns)
                               : flush_pace_rest_ns(&pace, busy_ns, cpu_ns);
    if (rest_ns > 0) {
        rest(store, rest_ns, false);
    }
}

/* One step of the one or the other, with its rest; false = there is nothing to do.  *slice_was_last is kept
 * here from one step to the next. */
static bool work_step(struct store *store, int64_t begin_ns, bool *slice_was_last)
{
    int64_t begin_cpu_ns = clock_thread_cpu_ns(pthread_self());
    (void)pthread_mutex_lock(&store->mutex);
    bool flushes_first = *slice_was_last && !is_waited_for(store);
    (void)pthread_mutex_unlock(&store->mutex);
    bool is_slice = false;
    bool rests = false;
    *slice_was_last = false;
    if (flushes_first && flush_or_keep_house(store)) {
        pace(store, false, begin_ns, begin_cpu_ns);
        return true;
    }
    if (run_job(store, &is_slice, &rests)) {
        *slice_was_last = is_slice;
        if (rests) { /* for what else it does somebody waits */
            pace(store, true, begin_ns, begin_cpu_ns);
        }
        return true;
    }
    if (!flush_or_keep_house(store)) {
        return false;
    }
    pace(store, false, begin_ns, begin_cpu_ns);
    return true;
}

static void *work(void *context)
{
    struct store *store = context;
    int64_t heal_at_ns = 0;
    bool slice_was_last = false;
    thread_name_set("flush");
    (void)thread_patient_set(true); /* it has much to do, and nobody waits for it */
    while (!atomic_load(&store->stop)) {
        int64_t begin_ns = clock_monotonic_ns();
        if (begin_ns >= heal_at_ns || store->room_tight) {
            store_trouble_heal(store);
            heal_at_ns = begin_ns + HEAL_NS;
        }
        if (atomic_load(&store->condition) == STORE_FAILED ||
            !work_step(store, begin_ns, &slice_was_last)) {
            rest(store, IDLE_NS, true);
        }
    }
    return NULL;
}

enum status store_work_start(struct store *store, struct error *ret_error)
{
    int error_number = pthread_create(&store->work_thread, NULL, work, store);
    if (error_number != 0) {
        return error_set(ret_error, STATUS_NO_MEMORY, "%s: cannot start a thread", store->folder);
    }
    store->work_started = true;
    return STATUS_OK;
}

int64_t store_background_cpu_ns(const struct store *store)
{
    return store->work_started ? clock_thread_cpu_ns(store->work_thread) : 0;
}

void store_work_stop(struct store *store)
{
    if (!store->work_started) {
        return;
    }
    atomic_store(&store->stop, true);
    store_work_wake(store);
    (void)pthread_join(store->work_thread, NULL);
    store->work_started = false;
}

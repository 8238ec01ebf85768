/*
 * The keeper: makes segments ready before they are needed, and retires those released.
 *
 * Making one writes and syncs a whole segment of zeros, or recycles a spare; either takes far
 * longer than a batch may wait, so it is done one segment ahead, away from the writer.  Where the
 * disk is full it is tried again each second, and at once when a segment has been released.
 *
 * What is released may be wanted again by other copies of its tablets: then it is kept for a time
 * behind the start of the log, never to be replayed, and retired later, or when there is no room.
 */
#include <time.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/condition.h"
#include "common/io/entropy.h"
#include "common/io/thread.h"
#include "tabletserver/storage/log/log_recycle.h"
#include "tabletserver/storage/log/log_state.h"

#define RETRY_NS INT64_C(1000000000)

/* No memory, no descriptors: nothing that is said about the disk. */
static bool passes(enum status status)
{
    return status == STATUS_NO_MEMORY || status == STATUS_LIMIT;
}

/* Unlike what else may happen while a segment is made.  Once it has its name, only what says nothing about the disk
 * is tried again; it takes the same name then. */
static bool may_retry(enum status status, bool named)
{
    return passes(status) || (status == STATUS_NO_SPACE && !named);
}

/* Of the segment after the last; false without memory to hold it. */
static bool plan_next(struct log *log, struct log_segment_header *ret_header)
{
    *ret_header = (struct log_segment_header){
        .store_number = log->options.store_number,
        .generation = log->anchor.start_segment,
        .first_position = log->anchor.start_position,
        .salt = entropy_u64(),
        .segment_bytes = log->options.segment_bytes,
    };
    (void)pthread_mutex_lock(&log->mutex);
    if (log->segments.count > 0) {
        const struct log_segment *last = log->segments.at[log->segments.count - 1];
        ret_header->generation = last->header.generation + 1;
        ret_header->first_position = log_segment_end(&last->header);
    }
    bool reserved = log_segments_reserve(&log->segments);
    (void)pthread_mutex_unlock(&log->mutex);
    return reserved;
}

static void count_file(struct log *log, bool more)
{
    (void)pthread_mutex_lock(&log->mutex);
    log->statistics.file_count += more ? 1 : 0;
    log->statistics.file_count -= more ? 0 : 1;
    (void)pthread_mutex_unlock(&log->mutex);
}

enum status log_add_room(struct log *log, bool *ret_may_retry, struct error *ret_error)
{
    struct log_segment_header header;
    struct log_segment *segment = NULL;
    uint64_t spare = 0;
    bool named = false;
    *ret_may_retry = true;
    if (!plan_next(log, &header)) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for a log segment");
    }
    if (log->spare_count > 0) {
        spare = log->spares[--log->spare_count];
    } else {
        count_file(log, true);
    }
    enum status status = log_segment_prepare(log->folder, &header, spare, &segment, &named,
                                             ret_error);
    *ret_may_retry = may_retry(status, named);
    if (status == STATUS_OK) {
        (void)pthread_mutex_lock(&log->mutex);
        log_segments_add(&log->segments, segment);
        log->statistics.segment_count = log->segments.count;
        (void)pthread_mutex_unlock(&log->mutex);
    } else {
        count_file(log, false); /* of a spare too: it is used up */
    }
    return status;
}

/* Take the first segment off the list, if the plan lets it go.  Needs the mutex. */
static struct log_segment *take_first(struct log *log, uint64_t start_segment)
{
    struct log_segments *segments = &log->segments;
    struct log_segment *first = segments->count > 1 ? segments->at[0] : NULL;
    if (first == NULL || first->header.generation >= start_segment) {
        return NULL;
    }
    segments->count--;
    memmove(segments->at, segments->at + 1, segments->count * sizeof *segments->at);
    log->statistics.segment_count = segments->count;
    log->statistics.first_position = segments->at[0]->header.first_position;
    return first;
}

static uint32_t spares_wanted(struct log *log)
{
    (void)pthread_mutex_lock(&log->mutex);
    uint32_t wanted = log->spares_wanted;
    (void)pthread_mutex_unlock(&log->mutex);
    return wanted;
}

static enum status retire(struct log *log, struct log_segment *segment, struct error *ret_error)
{
    struct log_recycle_spares spares = {
        .count = log->spare_count,
        .count_max = spares_wanted(log),
        .segment_bytes = log->options.segment_bytes,
    };
    struct log_recycle_segment released = {
        .number = segment->header.generation,
        .segment_bytes = segment->header.segment_bytes,
    };
    bool keep = log_recycle_fate(&released, &spares) == LOG_RECYCLE_SPARE;
    log_segment_destroy(segment);
    enum status status = keep ? log_segment_put_aside(log->folder, released.number,
                                                      LOG_SPARE_PREFIX, ret_error)
                              : log_segment_remove(log->folder, LOG_SEGMENT_PREFIX, released.number,
                                                   ret_error);
    if (status == STATUS_OK && keep) {
        log->spares[log->spare_count++] = released.number;
    } else if (status == STATUS_OK) {
        count_file(log, false);
    }
    return status;
}

static bool is_wanted(const struct log *log, const struct log_segment *segment)
{
    return segment->readers > 0 || /* it is given up when they have gone */
           (log->options.keep_ns > 0 && log->keep_bytes >= segment->header.segment_bytes &&
            log_segment_end(&segment->header) > log->keep_from);
}

/* Take a released segment among those that are kept; false: nobody wants it.  (One that is not kept
 * leaves a hole behind older ones: log_read() finds that they do not follow, and they age.) */
static bool keep(struct log *log, struct log_segment *segment)
{
    (void)pthread_mutex_lock(&log->mutex);
    bool kept = is_wanted(log, segment) && log_segments_reserve(&log->kept);
    if (kept) {
        segment->released_ns = clock_monotonic_ns();
        log_segments_add(&log->kept, segment);
    }
    while (!kept && segment->readers > 0) { /* no memory to keep it: their end wakes us */
        (void)pthread_cond_wait(&log->keeper_wake, &log->mutex);
    }
    (void)pthread_mutex_unlock(&log->mutex);
    return kept;
}

/* Is the oldest of them to go?  One that is being read stays a little longer.  Needs the mutex. */
static bool may_give_up(const struct log *log)
{
    struct log_recycle_kept kept = {
        .count = log->kept.count,
        .bytes_max = log->keep_bytes,
        .keep_ns = log->options.keep_ns,
        .room_wanted = log->lacking != STATUS_OK && log_room_is_short(log),
    };
    if (kept.count == 0 || log->kept.at[0]->readers > 0) {
        return false;
    }
    for (size_t i = 0; i < log->kept.count; i++) {
        kept.bytes += log->kept.at[i]->header.segment_bytes;
    }
    kept.oldest_ns = log->kept.at[0]->released_ns;
    return log_recycle_gives_up(&kept, clock_monotonic_ns());
}

static enum status give_up(struct log *log, struct error *ret_error)
{
    struct log_segment *oldest = NULL;
    (void)pthread_mutex_lock(&log->mutex);
    if (may_give_up(log)) {
        oldest = log->kept.at[0];
        log->kept.count--;
        memmove(log->kept.at, log->kept.at + 1, log->kept.count * sizeof *log->kept.at);
    }
    (void)pthread_mutex_unlock(&log->mutex);
    return oldest != NULL ? retire(log, oldest, ret_error) : STATUS_OK;
}

/* The plan, or nothing to do (also without memory for it: the next release plans again). */
static bool plan_release(struct log *log, struct log_recycle_plan *ret_plan)
{
    (void)pthread_mutex_lock(&log->mutex);
    const struct log_segments *segments = &log->segments;
    struct log_recycle_segment *list = memory_allocate_zeroed(segments->count,
                                                              sizeof(struct log_recycle_segment));
    for (size_t i = 0; list != NULL && i < segments->count; i++) {
        list[i].number = segments->at[i]->header.generation;
        list[i].first_batch_position = segments->at[i]->first_batch_position;
    }
    if (list != NULL) {
        *ret_plan = log_recycle_plan(list, segments->count, log->anchor.start_segment,
                                     log->anchor.start_position, log->release_position);
    }
    log->release_wanted = false;
    (void)pthread_mutex_unlock(&log->mutex);
    bool planned = list != NULL && ret_plan->release_count > 0;
    memory_free(list);
    return planned;
}

/* The anchor first, durably; then the segments below it, oldest first. */
static enum status release_segments(struct log *log, struct error *ret_error)
{
    struct log_recycle_plan plan = {0};
    if (!plan_release(log, &plan)) {
        return STATUS_OK;
    }
    struct log_anchor anchor = log->anchor;
    anchor.counter++;
    anchor.start_segment = plan.start_segment;
    anchor.start_position = plan.start_position;
    (void)pthread_mutex_lock(&log->mutex);
    anchor.synced_position = log->statistics.synced_position;
    (void)pthread_mutex_unlock(&log->mutex);
    /* A hint of before the cut may be there still: it tells the truth again from here on. */
    anchor.cut = anchor.cut && anchor.synced_position < log->options.synced_position_hint;
    enum status status = log_anchor_write(&log->anchor_file, &anchor, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    log->anchor = anchor;
    for (;;) {
        (void)pthread_mutex_lock(&log->mutex);
        struct log_segment *segment = take_first(log, plan.start_segment);
        (void)pthread_mutex_unlock(&log->mutex);
        if (segment == NULL) {
            return STATUS_OK;
        }
        status = keep(log, segment) ? STATUS_OK : retire(log, segment, ret_error);
        if (status != STATUS_OK) {
            return status;
        }
    }
}

/* Remove one of the spare segments. */
static enum status shed_spare(struct log *log, struct error *ret_error)
{
    uint64_t number = log->spares[--log->spare_count];
    enum status status = log_segment_remove(log->folder, LOG_SPARE_PREFIX, number, ret_error);
    count_file(log, false);
    return status;
}

/* Until there may be something to do: while anything is kept, it ages.  With the mutex. */
static void wait_for_wake(struct log *log)
{
    if (log->kept.count == 0) {
        (void)pthread_cond_wait(&log->keeper_wake, &log->mutex);
        return;
    }
    const struct timespec until = condition_time_in(RETRY_NS);
    (void)pthread_cond_timedwait(&log->keeper_wake, &log->mutex, &until);
}

/* Wait for the next second, or for a wake-up.  With the mutex. */
static void wait_to_retry(struct log *log)
{
    const struct timespec until = condition_time_in(RETRY_NS);
    while (!log->stopping && !log->failed && !log->release_wanted &&
           pthread_cond_timedwait(&log->keeper_wake, &log->mutex, &until) == 0) {
    }
}

enum keeper_task {
    KEEPER_STOP,
    KEEPER_RELEASE,
    KEEPER_GIVE_UP,
    KEEPER_ADD_ROOM,
    KEEPER_SHED,
};

/* What is to be done, most urgent first; KEEPER_STOP: nothing.  Needs the mutex. */
static enum keeper_task next_task(const struct log *log)
{
    if (log->release_wanted) {
        return KEEPER_RELEASE;
    }
    if (may_give_up(log)) {
        return KEEPER_GIVE_UP;
    }
    if (log_room_is_short(log)) {
        return KEEPER_ADD_ROOM;
    }
    return log->spare_count > log->spares_wanted ? KEEPER_SHED : KEEPER_STOP;
}

static enum keeper_task wait_for_task(struct log *log)
{
    enum keeper_task task = KEEPER_STOP;
    (void)pthread_mutex_lock(&log->mutex);
    if (log->lacking != STATUS_OK && !may_give_up(log)) {
        wait_to_retry(log);
    }
    while (!log->stopping && !log->failed && next_task(log) == KEEPER_STOP) {
        wait_for_wake(log);
    }
    if (!log->stopping && !log->failed) {
        task = next_task(log);
    }
    (void)pthread_mutex_unlock(&log->mutex);
    return task;
}

/* What was not released, or not durably, is with the next release. */
static enum status perform(struct log *log,
                           enum keeper_task task,
                           bool *ret_may_retry,
                           struct error *ret_error)
{
    switch (task) {
    case KEEPER_RELEASE:
        return release_segments(log, ret_error);
    case KEEPER_GIVE_UP:
        return give_up(log, ret_error);
    case KEEPER_ADD_ROOM:
        return log_add_room(log, ret_may_retry, ret_error);
    case KEEPER_SHED:
        return shed_spare(log, ret_error);
    case KEEPER_STOP:
        break;
    }
    UNREACHABLE();
}

void *log_keeper_run(void *argument)
{
    struct log *log = argument;
    thread_name_set("log-keeper");
    for (;;) {
        struct error error = {0};
        bool retry = false;
        enum keeper_task task = wait_for_task(log);
        if (task == KEEPER_STOP) {
            return NULL;
        }
        enum status status = perform(log, task, &retry, &error);
        if (status != STATUS_OK && !retry && (task == KEEPER_ADD_ROOM || !passes(status))) {
            log_fail(log, &error);
            return NULL;
        }
        (void)pthread_mutex_lock(&log->mutex);
        if (status == STATUS_OK || task == KEEPER_ADD_ROOM) {
            log->lacking = status;
        }
        (void)pthread_cond_signal(&log->writer_wake);
        (void)pthread_mutex_unlock(&log->mutex);
    }
}

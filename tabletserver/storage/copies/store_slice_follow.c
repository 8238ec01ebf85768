/* A lesson that is written: what is in memory follows the base (store_lesson.h).  The loop. */
#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/copies/store_lesson.h"
#include "tabletserver/storage/store/store_append.h"

/* Everything at or below it is in slices. */
static void forget_log_of(struct store_tablet *tablet, uint64_t sequence)
{
    while (store_window_first(&tablet->window) != NULL) {
        ASSERT(store_window_first(&tablet->window)->entry.sequence <= sequence);
        store_window_pop(&tablet->window);
    }
    tablet->pending_head = 0;
    tablet->pending_count = 0;
    tablet->synced = sequence;
    tablet->window_sequence = 0;
    tablet->window_version = 0;
}

/* Layers, pieces and lists change places with those of the lesson, which frees them. */
static uint32_t exchange(struct store_tablet *tablet,
                         struct store_lesson *lesson,
                         struct store_layer *gone[STORE_LAYERS_MAX])
{
    const struct slice *slice = &lesson->slice;
    uint32_t gone_count = tablet->layer_count;
    for (uint32_t i = 0; i < gone_count; i++) {
        gone[i] = tablet->layers[i];
    }
    lesson->layer->after_sequence = slice->sequence;
    tablet->layers[0] = lesson->layer;
    lesson->layer = NULL;
    tablet->layer_count = 1;
    tablet->freeze_count++; /* reads in the middle of their capture look again */
    store_barriers_clear(&tablet->barriers);
    flush_progress_init(&tablet->progress, slice->sequence, false);
    struct store_pieces *pieces = tablet->pieces;
    tablet->pieces = lesson->pieces;
    lesson->pieces = pieces;
    struct store_range_deletes *deletes = tablet->range_deletes;
    tablet->range_deletes = lesson->deletes;
    lesson->deletes = deletes;
    struct horizon *horizons = tablet->horizons.items;
    tablet->horizons = (struct horizon_list){lesson->horizons, slice->records.horizon_count};
    lesson->horizons = horizons;
    log_marks_deinit(&tablet->marks);
    atomic_store_explicit(&tablet->prepared, slice->sequence, memory_order_release);
    atomic_store_explicit(&tablet->committed, slice->sequence, memory_order_release);
    atomic_store_explicit(&tablet->clock, slice->records.clock, memory_order_release);
    return gone_count;
}

static void take_over(struct store_tablet *tablet, struct store_lesson *lesson)
{
    struct store *store = tablet->store;
    struct store_layer *gone[STORE_LAYERS_MAX];
    (void)pthread_mutex_lock(&tablet->mutex);
    uint32_t gone_count = exchange(tablet, lesson, gone);
    (void)pthread_mutex_unlock(&tablet->mutex);
    for (uint32_t i = 0; i < gone_count; i++) {
        store_layer_unref(store, gone[i]);
    }
    forget_log_of(tablet, lesson->slice.sequence);
    struct dedupe *dedupe = tablet->dedupe;
    tablet->dedupe = lesson->dedupe;
    lesson->dedupe = dedupe;
    hlc_observe(&store->hlc, lesson->slice.records.clock);
    tablet->flush_wanted = false;
    tablet->hold_until = lesson->slice.sequence; /* 0: of an empty one */
    tablet->learn.follows = true;
    tablet->learn.begun = true;
    tablet->learn.at = (struct tablet_position){.family = 0};
    buffer_reset(&tablet->learn.below);
    buffer_deinit(&tablet->learn.image);
    atomic_store(&tablet->learn.replaced, false);
    store_release_log(store);
    store_work_wake(store);
}

/* Room was made for the bytes. */
static void copy_into(struct buffer *buffer, struct bytes bytes)
{
    buffer_reset(buffer);
    buffer_append_bytes(buffer, bytes);
    ASSERT(!buffer->failed);
}

static void go_on(struct store_tablet *tablet, const struct store_lesson *lesson)
{
    const struct slice *slice = &lesson->slice;
    if (slice->sequence > tablet->hold_until) { /* then it begins with a row */
        copy_into(&tablet->learn.below, slice->from.row);
        tablet->hold_until = slice->sequence;
    }
    copy_into(&tablet->learn.at_row, slice->to.row);
    copy_into(&tablet->learn.at_qualifier, slice->to.qualifier);
    tablet->learn.at = slice->to;
    tablet->learn.at.row = buffer_bytes(&tablet->learn.at_row);
    tablet->learn.at.qualifier = buffer_bytes(&tablet->learn.at_qualifier);
}

static void note_durable(struct store_tablet *tablet, struct store_lesson *lesson)
{
    switch (lesson->kind) {
    case LESSON_PIECE:
        break;
    case LESSON_FIRST:
        take_over(tablet, lesson);
        break;
    case LESSON_ROWS:
        go_on(tablet, lesson);
        if (lesson->flush_due) {
            store_flush_soon(tablet);
        }
        break;
    case LESSON_END:
        tablet->learn.begun = false;
        store_flush_soon(tablet);
        break;
    }
}

void store_on_lesson(struct store *store, struct store_job *job)
{
    struct store_tablet *tablet = job->tablet;
    struct store_lesson *lesson = job->lesson;
    enum status status = job->error.status;
    tablet->learn.busy = false;
    if (status == STATUS_OK) {
        note_durable(tablet, lesson);
    }
    if (lesson->kind == LESSON_FIRST) {
        tablet->learn.replaces = false;
    }
    if (atomic_load(&tablet->state) == STORE_TABLET_LIVE && store->callbacks.on_taught != NULL) {
        store->callbacks.on_taught(store->callbacks.context, tablet, status);
    }
    store_lesson_destroy(store, lesson);
    store_tablet_unref(tablet);
    memory_free(job);
}

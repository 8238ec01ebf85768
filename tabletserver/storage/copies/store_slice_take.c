/*
 * The learner's side of store_slice.h: slices as they come, what must hold of them, and what is made ready
 * for the work thread (store_lesson.h).  The loop.
 */
#include <string.h>

#include "common/base/memory.h"
#include "tabletserver/storage/copies/store_lesson.h"
#include "tabletserver/storage/copies/store_slice.h"

#define ARENA_BLOCK_BYTES 4096

void store_lesson_destroy(struct store *store, struct store_lesson *lesson)
{
    if (lesson == NULL) {
        return;
    }
    if (lesson->layer != NULL) {
        store_layer_unref(store, lesson->layer);
    }
    store_pieces_unref(lesson->pieces);
    store_range_deletes_unref(lesson->deletes);
    dedupe_destroy(lesson->dedupe);
    memory_free(lesson->horizons);
    buffer_deinit(&lesson->image);
    buffer_deinit(&lesson->bytes);
    arena_deinit(&lesson->arena);
    memory_free(lesson);
}

bool store_tablet_is_half_taught(const struct store_tablet *tablet)
{
    return tablet->learn.begun || tablet->learn.replaces;
}

bool store_tablet_began_anew(const struct store_tablet *tablet)
{
    return tablet->learn.begun && !tablet->learn.replaces;
}

bool store_learn_gathers(const struct store_tablet *tablet)
{
    return tablet->learn.image.size_bytes > 0;
}

/* While records gather, what a walk before has left behind waits for nothing: it is about to go. */
bool store_learn_is_level(const struct store_tablet *tablet)
{
    return !tablet->learn.busy &&
           (store_learn_gathers(tablet) || store_tablet_committed(tablet) >= tablet->hold_until);
}

static enum status add_job(struct store_tablet *tablet, struct store_lesson *lesson)
{
    struct store_job *job = memory_allocate_zeroed(1, sizeof *job);
    if (job == NULL) {
        return STATUS_NO_MEMORY;
    }
    store_tablet_ref(tablet);
    job->tablet = tablet;
    job->lesson = lesson;
    tablet->learn.busy = true;
    tablet->learn.replaces = lesson->kind == LESSON_FIRST;
    store_add_job(tablet->store, job);
    return STATUS_OK;
}

static enum status create(struct store_lesson **ret_lesson)
{
    struct store_lesson *lesson = memory_allocate_zeroed(1, sizeof *lesson);
    if (lesson == NULL) {
        return STATUS_NO_MEMORY;
    }
    arena_init(&lesson->arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    *ret_lesson = lesson;
    return STATUS_OK;
}

/* All that takes the place of what the tablet has; the image is its exactly-once records. */
static enum status prepare_first(struct store_tablet *tablet, struct store_lesson *lesson)
{
    const struct slice_records *records = &lesson->slice.records;
    buffer_append_bytes(&lesson->image, buffer_bytes(&tablet->learn.image));
    buffer_append_bytes(&lesson->image, records->piece);
    lesson->horizons = memory_allocate((records->horizon_count + 1U) * sizeof *lesson->horizons);
    lesson->deletes = store_range_deletes_create(NULL, 0, NULL, 0, NULL);
    if (lesson->image.failed || lesson->horizons == NULL || lesson->deletes == NULL) {
        return STATUS_NO_MEMORY;
    }
    memcpy(lesson->horizons, records->horizons, records->horizon_count * sizeof *lesson->horizons);
    enum status status = store_layer_create(tablet->descriptor.tablet, &lesson->layer);
    if (status == STATUS_OK) {
        status = dedupe_create(&tablet->store->settings.dedupe, &lesson->dedupe);
    }
    if (status == STATUS_OK) {
        status = dedupe_load(lesson->dedupe, buffer_bytes(&lesson->image), NULL);
    }
    if (status == STATUS_OK) {
        dedupe_commit(lesson->dedupe, lesson->slice.sequence);
    }
    return status;
}

/* Pieces come in order, and all of one image: the sequence is theirs together. */
static enum status take_records(struct store_tablet *tablet, struct store_lesson *lesson)
{
    const struct slice_records *records = &lesson->slice.records;
    uint64_t end_bytes = records->offset_bytes + records->piece.size_bytes;
    if (records->offset_bytes == 0) {
        buffer_reset(&tablet->learn.image);
        tablet->learn.sequence = lesson->slice.sequence;
    }
    if (lesson->slice.sequence < store_tablet_appended(tablet) ||
        lesson->slice.sequence != tablet->learn.sequence ||
        records->offset_bytes != tablet->learn.image.size_bytes) {
        return STATUS_FAILED_PRECONDITION;
    }
    if (end_bytes == records->image_bytes) {
        lesson->kind = LESSON_FIRST;
        return prepare_first(tablet, lesson);
    }
    buffer_append_bytes(&tablet->learn.image, records->piece);
    if (tablet->learn.image.failed) {
        buffer_deinit(&tablet->learn.image);
        return STATUS_NO_MEMORY;
    }
    lesson->kind = LESSON_PIECE;
    return STATUS_OK;
}

/* Room for what go_on() copies. */
static enum status reserve(struct store_tablet *tablet, const struct slice *slice)
{
    struct buffer *buffers[] = {&tablet->learn.at_row, &tablet->learn.at_qualifier};
    size_t sizes[] = {slice->to.row.size_bytes, slice->to.qualifier.size_bytes};
    bool room = true;
    for (int i = 0; i < 2; i++) { /* they grow: the place that they have is not to be lost */
        room = room && buffer_reserve(buffers[i], sizes[i] + 1) != NULL;
    }
    tablet->learn.at.row = buffer_bytes(&tablet->learn.at_row);
    tablet->learn.at.qualifier = buffer_bytes(&tablet->learn.at_qualifier);
    room = room && buffer_reserve(&tablet->learn.below, slice->from.row.size_bytes + 1) != NULL;
    return room ? STATUS_OK : STATUS_NO_MEMORY;
}

static enum status take_rows(struct store_tablet *tablet, struct store_lesson *lesson)
{
    const struct slice *slice = &lesson->slice;
    bool same = slice->sequence == tablet->hold_until;
    lesson->kind = LESSON_ROWS;
    if (!tablet->learn.begun || !tablet->learn.follows || slice->sequence < tablet->hold_until ||
        tablet_position_compare(&slice->from, &tablet->learn.at) != 0 ||
        (!same && slice->from.family != 0)) {
        return STATUS_FAILED_PRECONDITION;
    }
    if (!same && store_tablet_committed(tablet) < tablet->hold_until) {
        return STATUS_UNAVAILABLE;
    }
    struct slice_reader reader = slice_reader_of(slice);
    while (slice_reader_next(&reader)) {
        if (!row_range_contains(&tablet->descriptor.range, reader.row)) {
            return STATUS_CORRUPT;
        }
    }
    return reserve(tablet, slice);
}

/* Only a copy that does not count may be taught: what it has is dropped for that. */
static bool may_learn(const struct store_tablet *tablet)
{
    const struct replica_configuration *members = &tablet->configuration.members;
    uint64_t number = tablet->store->identity.store_number;
    return !tablet->leads && tablet->durable.members.version != 0 &&
           replica_configuration_find(members, number) == members->member_count;
}

static enum status take(struct store_tablet *tablet,
                        struct bytes bytes,
                        struct store_lesson *lesson,
                        struct error *ret_error)
{
    buffer_append_bytes(&lesson->bytes, bytes);
    if (lesson->bytes.failed) {
        return STATUS_NO_MEMORY;
    }
    enum status status = slice_decode(buffer_bytes(&lesson->bytes), tablet->descriptor.tablet,
                                      &lesson->arena, &lesson->slice, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    return lesson->slice.kind == SLICE_RECORDS ? take_records(tablet, lesson)
                                               : take_rows(tablet, lesson);
}

enum status store_learn(struct store_tablet *tablet, struct bytes slice, struct error *ret_error)
{
    struct store_lesson *lesson = NULL;
    struct error error = {.status = STATUS_OK};
    enum status status = STATUS_OK;
    if (tablet->learn.busy) {
        status = STATUS_UNAVAILABLE;
    } else if (!may_learn(tablet) || atomic_load(&tablet->state) != STORE_TABLET_LIVE) {
        status = STATUS_FAILED_PRECONDITION;
    }
    if (status == STATUS_OK) {
        status = create(&lesson);
    }
    if (status == STATUS_OK) {
        status = take(tablet, slice, lesson, &error);
    }
    if (status == STATUS_OK) {
        status = add_job(tablet, lesson);
    }
    if (status != STATUS_OK) {
        store_lesson_destroy(tablet->store, lesson);
        return error_set(ret_error, status, "%s",
                         error.status == status ? error.text : status_text(status));
    }
    return STATUS_OK;
}

enum status store_learn_end(struct store_tablet *tablet)
{
    struct store_lesson *lesson = NULL;
    if (!tablet->learn.begun || !tablet->learn.at.everything) {
        return STATUS_FAILED_PRECONDITION;
    }
    if (tablet->learn.busy || store_tablet_committed(tablet) < tablet->hold_until) {
        return STATUS_UNAVAILABLE;
    }
    enum status status = create(&lesson);
    if (status != STATUS_OK) {
        return status;
    }
    lesson->kind = LESSON_END;
    status = add_job(tablet, lesson);
    if (status != STATUS_OK) {
        store_lesson_destroy(tablet->store, lesson);
    }
    return status;
}

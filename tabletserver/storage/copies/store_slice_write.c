/*
 * The learner's side of store_slice.h.
 *
 *   loop                         work thread                            loop
 *   store_learn(): what is to    store_run_lesson(): one transaction    store_on_lesson(): memory follows
 *   be written, as a job  -----> and what it knows of the base   -----> the base; on_taught
 *
 * RECORDS replace the tablet's pieces, map and metadata; what is in memory of it changes only when the loop
 * hears of that.  In between nothing of the tablet is flushed or tidied (learnt_first), and nothing comes to
 * it (learns_first).
 *
 * An entry between the sequences of two slices belongs to rows left of both: right of them it is in the
 * second, or in one to come.  So the map says of all that is not yet taught what it says of the last slice;
 * that this is not there is said by the metadata record (half_taught), which makes the tablet an empty one
 * at the next start.
 */
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/copies/slice.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/copies/store_slice.h"
#include "tabletserver/storage/flush/store_flush.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

#define ARENA_BLOCK_BYTES   4096
#define MAP_SEGMENTS_ENOUGH 256 /* each slice writes the map: then a flush makes one of them */

enum lesson_kind {
    LESSON_PIECE, /* of RECORDS, not the last: nothing to write */
    LESSON_FIRST, /* all RECORDS */
    LESSON_ROWS,
    LESSON_END,
};

struct store_lesson {
    enum lesson_kind kind;
    struct buffer bytes;
    struct arena arena;
    struct slice slice; /* in those */

    /* FIRST: what takes the place of what was there. */
    struct buffer image;
    struct store_layer *layer;
    struct store_pieces *pieces;
    struct store_range_deletes *deletes;
    struct horizon *horizons;
    struct dedupe *dedupe;

    bool flush_due; /* the map has many segments */
};

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
    return tablet->learning || tablet->learns_first;
}

bool store_tablet_began_anew(const struct store_tablet *tablet)
{
    return tablet->learning && !tablet->learns_first;
}

bool store_learn_gathers(const struct store_tablet *tablet)
{
    return tablet->learn_image.size_bytes > 0;
}

/* While records gather, what a walk before has left behind waits for nothing: it is about to go. */
bool store_learn_is_level(const struct store_tablet *tablet)
{
    return !tablet->learn_busy &&
           (store_learn_gathers(tablet) || store_tablet_committed(tablet) >= tablet->hold_until);
}

/* --- what is written: the work thread --------------------------------------------------------------- */

static enum status encode_map(const struct applied_map *map, struct buffer *out)
{
    applied_map_encode(map, out);
    return out->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

/* A fresh extent for all of the tablet. */
static enum status make_pieces(struct base_writer *writer,
                               const struct store_tablet *tablet,
                               struct store_lesson *lesson)
{
    struct base_piece piece = {.range = tablet->descriptor.range};
    enum status status = base_writer_allocate_extent(writer, &piece.extent);
    if (status != STATUS_OK) {
        return status;
    }
    store_pieces_unref(lesson->pieces); /* of an attempt before */
    lesson->pieces = store_pieces_create(&piece, 1, NULL);
    return lesson->pieces != NULL ? STATUS_OK : STATUS_NO_MEMORY;
}

static enum status put_tablet(struct base_writer *writer,
                              struct store_tablet *tablet,
                              const struct store_lesson *lesson,
                              uint32_t dedupe_pieces)
{
    const struct slice *slice = &lesson->slice;
    struct store_meta_tablet meta = {.sequence = slice->sequence,
                                     .clock = slice->records.clock,
                                     .dedupe_piece_count = dedupe_pieces,
                                     .pieces = lesson->pieces->pieces,
                                     .piece_count = lesson->pieces->count,
                                     .horizons = slice->records.horizons,
                                     .horizon_count = slice->records.horizon_count,
                                     .half_taught = true};
    struct buffer value = BUFFER_INIT;
    (void)pthread_mutex_lock(&tablet->mutex);
    meta.descriptor = tablet->descriptor;
    meta.configuration = tablet->durable;
    meta.descriptor.configuration = tablet->durable.members.version;
    tablet->encoded_number = tablet->durable_number;
    (void)pthread_mutex_unlock(&tablet->mutex);
    store_meta_encode_tablet(&meta, &value);
    struct store_meta_key key = store_meta_key(STORE_META_TABLET, tablet->descriptor.tablet, 0);
    enum status status = value.failed ? STATUS_NO_MEMORY
                                      : base_writer_meta_put(writer, store_meta_key_bytes(&key),
                                                             buffer_bytes(&value));
    buffer_deinit(&value);
    return status;
}

static enum status put_first(struct base_writer *writer,
                             struct store_tablet *tablet,
                             struct store_lesson *lesson,
                             struct buffer *applied,
                             uint32_t *ret_dedupe_pieces)
{
    struct applied_map map;
    enum status status = make_pieces(writer, tablet, lesson);
    if (status == STATUS_OK) {
        status = store_put_dedupe(writer, tablet->descriptor.tablet, buffer_bytes(&lesson->image),
                                  tablet->dedupe_piece_count, ret_dedupe_pieces);
    }
    if (status == STATUS_OK) {
        status = applied_map_whole(&lesson->arena, lesson->slice.sequence, &map);
    }
    if (status == STATUS_OK) {
        status = encode_map(&map, applied);
    }
    if (status == STATUS_OK) {
        status = store_put_applied(writer, tablet->descriptor.tablet, applied);
    }
    if (status == STATUS_OK) {
        status = put_tablet(writer, tablet, lesson, *ret_dedupe_pieces);
    }
    uint64_t before = atomic_load(&tablet->clock); /* what is forgotten was given out */
    uint64_t clock = lesson->slice.records.clock;
    return status == STATUS_OK
               ? store_put_store_meta(writer, tablet->store, before > clock ? before : clock)
               : status;
}

static void note_first(struct store_tablet *tablet,
                       const struct store_lesson *lesson,
                       uint32_t dedupe_pieces)
{
    tablet->half_taught = true;
    tablet->dedupe_piece_count = dedupe_pieces;
    tablet->flushed_sequence = lesson->slice.sequence;
    atomic_store(&tablet->flushed_clock, lesson->slice.records.clock);
    tablet->sweep_due = false;
    tablet->sweep_piece = 0;
    buffer_reset(&tablet->sweep_resume);
    tablet->erase_piece = 0;
    buffer_reset(&tablet->erase_resume);
    tablet->collect.stage = STORE_COLLECT_IDLE;
    tablet->collect.schema_version = 0; /* the teacher may not have collected yet */
    atomic_store(&tablet->row_estimate, 0);
    store_note_meta_written(tablet);
    atomic_store(&tablet->learnt_first, true);
}

/* The walk is over: all of it is there, as the applied map says. */
static enum status put_end(struct base_writer *writer, struct store_tablet *tablet)
{
    tablet->half_taught = false;
    enum status status = store_put_tablet_meta(writer, tablet, tablet->flushed_sequence,
                                               atomic_load(&tablet->flushed_clock),
                                               tablet->dedupe_piece_count);
    tablet->half_taught = true;
    return status;
}

static enum status put_rows(struct base_writer *writer,
                            struct store_tablet *tablet,
                            struct store_lesson *lesson,
                            struct buffer *applied)
{
    static const struct tablet_position end = {.everything = true};
    const struct slice *slice = &lesson->slice;
    uint64_t extent = tablet->pieces->pieces[0].extent; /* the only one: it began with it */
    struct slice_reader reader = slice_reader_of(slice);
    struct applied_map map;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && slice_reader_next(&reader)) {
        status = base_writer_put(writer, extent, reader.row, &reader.cell);
    }
    if (status == STATUS_OK && slice->to.family != 0) {
        status = base_writer_settle(writer); /* the row goes on in the next one */
    }
    if (status == STATUS_OK) {
        status = applied_map_decode(buffer_bytes(&tablet->applied), &lesson->arena, &map, NULL);
    }
    if (status == STATUS_OK) {
        status = applied_map_raise(&lesson->arena, &map, &slice->from, &end, slice->sequence, &map);
    }
    if (status == STATUS_OK) {
        lesson->flush_due = map.count >= MAP_SEGMENTS_ENOUGH;
        status = encode_map(&map, applied);
    }
    return status == STATUS_OK ? store_put_applied(writer, tablet->descriptor.tablet, applied)
                               : status;
}

static enum status put(struct base_writer *writer,
                       struct store_tablet *tablet,
                       struct store_lesson *lesson,
                       struct buffer *applied,
                       uint32_t *ret_dedupe_pieces)
{
    switch (lesson->kind) {
    case LESSON_FIRST:
        return put_first(writer, tablet, lesson, applied, ret_dedupe_pieces);
    case LESSON_ROWS:
        return put_rows(writer, tablet, lesson, applied);
    case LESSON_END:
        return put_end(writer, tablet);
    case LESSON_PIECE:
        break;
    }
    UNREACHABLE();
}

static void take_map(struct store_tablet *tablet, struct buffer *applied)
{
    struct buffer old = tablet->applied;
    tablet->applied = *applied;
    *applied = old;
    tablet->applied_whole = false; /* a flush ends that */
}

static void note_written(struct store_tablet *tablet,
                         const struct store_lesson *lesson,
                         struct buffer *applied,
                         uint32_t dedupe_pieces)
{
    if (lesson->kind == LESSON_END) {
        tablet->half_taught = false;
        tablet->estimate_due = true;
        store_note_meta_written(tablet);
        return;
    }
    take_map(tablet, applied);
    if (lesson->kind == LESSON_FIRST) {
        note_first(tablet, lesson, dedupe_pieces);
    }
}

bool store_lesson_waits_for_parent(const struct store_lesson *lesson)
{
    return lesson->kind == LESSON_FIRST;
}

enum status store_run_lesson(struct store *store, struct store_job *job)
{
    struct store_tablet *tablet = job->tablet;
    struct store_lesson *lesson = job->lesson;
    struct base_writer *writer = NULL;
    struct store_erasure *erasures = NULL;
    struct buffer applied = BUFFER_INIT;
    uint32_t dedupe_pieces = 0;
    if (lesson->kind == LESSON_PIECE) {
        return STATUS_OK;
    }
    enum status status = base_writer_begin(store->base, &writer);
    if (status != STATUS_OK) {
        return status;
    }
    if (lesson->kind == LESSON_FIRST) {
        status = store_note_erasures(writer, tablet, &erasures);
    }
    if (status == STATUS_OK) {
        status = put(writer, tablet, lesson, &applied, &dedupe_pieces);
    }
    if (status == STATUS_OK) {
        status = base_writer_commit(writer);
    } else {
        base_writer_abort(writer);
    }
    store_keep_erasures(store, erasures, status == STATUS_OK);
    if (status == STATUS_OK) {
        note_written(tablet, lesson, &applied, dedupe_pieces);
    }
    buffer_deinit(&applied);
    return status;
}

/* --- what is in memory: the loop -------------------------------------------------------------------- */

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
    tablet->learn_follows = true;
    tablet->learning = true;
    tablet->learn_at = (struct tablet_position){.family = 0};
    buffer_reset(&tablet->learn_below);
    buffer_deinit(&tablet->learn_image);
    atomic_store(&tablet->learnt_first, false);
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
        copy_into(&tablet->learn_below, slice->from.row);
        tablet->hold_until = slice->sequence;
    }
    copy_into(&tablet->learn_row, slice->to.row);
    copy_into(&tablet->learn_qualifier, slice->to.qualifier);
    tablet->learn_at = slice->to;
    tablet->learn_at.row = buffer_bytes(&tablet->learn_row);
    tablet->learn_at.qualifier = buffer_bytes(&tablet->learn_qualifier);
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
        tablet->learning = false;
        store_flush_soon(tablet);
        break;
    }
}

void store_on_lesson(struct store *store, struct store_job *job)
{
    struct store_tablet *tablet = job->tablet;
    struct store_lesson *lesson = job->lesson;
    enum status status = job->error.status;
    tablet->learn_busy = false;
    if (status == STATUS_OK) {
        note_durable(tablet, lesson);
    }
    if (lesson->kind == LESSON_FIRST) {
        tablet->learns_first = false;
    }
    if (atomic_load(&tablet->state) == STORE_TABLET_LIVE && store->callbacks.on_taught != NULL) {
        store->callbacks.on_taught(store->callbacks.context, tablet, status);
    }
    store_lesson_destroy(store, lesson);
    store_tablet_unref(tablet);
    memory_free(job);
}

/* --- taking slices ------------------------------------------------------------------------------ */

static enum status add_job(struct store_tablet *tablet, struct store_lesson *lesson)
{
    struct store_job *job = memory_allocate_zeroed(1, sizeof *job);
    if (job == NULL) {
        return STATUS_NO_MEMORY;
    }
    store_tablet_ref(tablet);
    job->tablet = tablet;
    job->lesson = lesson;
    tablet->learn_busy = true;
    tablet->learns_first = lesson->kind == LESSON_FIRST;
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
    buffer_append_bytes(&lesson->image, buffer_bytes(&tablet->learn_image));
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
        buffer_reset(&tablet->learn_image);
        tablet->learn_sequence = lesson->slice.sequence;
    }
    if (lesson->slice.sequence < store_tablet_appended(tablet) ||
        lesson->slice.sequence != tablet->learn_sequence ||
        records->offset_bytes != tablet->learn_image.size_bytes) {
        return STATUS_FAILED_PRECONDITION;
    }
    if (end_bytes == records->image_bytes) {
        lesson->kind = LESSON_FIRST;
        return prepare_first(tablet, lesson);
    }
    buffer_append_bytes(&tablet->learn_image, records->piece);
    if (tablet->learn_image.failed) {
        buffer_deinit(&tablet->learn_image);
        return STATUS_NO_MEMORY;
    }
    lesson->kind = LESSON_PIECE;
    return STATUS_OK;
}

/* Room for what go_on() copies. */
static enum status reserve(struct store_tablet *tablet, const struct slice *slice)
{
    struct buffer *buffers[] = {&tablet->learn_row, &tablet->learn_qualifier};
    size_t sizes[] = {slice->to.row.size_bytes, slice->to.qualifier.size_bytes};
    bool room = true;
    for (int i = 0; i < 2; i++) { /* they grow: the place that they have is not to be lost */
        room = room && buffer_reserve(buffers[i], sizes[i] + 1) != NULL;
    }
    tablet->learn_at.row = buffer_bytes(&tablet->learn_row);
    tablet->learn_at.qualifier = buffer_bytes(&tablet->learn_qualifier);
    room = room && buffer_reserve(&tablet->learn_below, slice->from.row.size_bytes + 1) != NULL;
    return room ? STATUS_OK : STATUS_NO_MEMORY;
}

static enum status take_rows(struct store_tablet *tablet, struct store_lesson *lesson)
{
    const struct slice *slice = &lesson->slice;
    bool same = slice->sequence == tablet->hold_until;
    lesson->kind = LESSON_ROWS;
    if (!tablet->learning || !tablet->learn_follows || slice->sequence < tablet->hold_until ||
        tablet_position_compare(&slice->from, &tablet->learn_at) != 0 ||
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

/* Who counts must not lose what it has. */
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
    if (tablet->learn_busy) {
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
    if (!tablet->learning || !tablet->learn_at.everything) {
        return STATUS_FAILED_PRECONDITION;
    }
    if (tablet->learn_busy || store_tablet_committed(tablet) < tablet->hold_until) {
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

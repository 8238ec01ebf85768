/* A lesson as it is written (store_lesson.h): the work thread. */
#include "common/base/assert.h"
#include "tabletserver/storage/copies/store_lesson.h"
#include "tabletserver/storage/flush/store_flush.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

#define MAP_SEGMENTS_ENOUGH 256 /* each slice writes the map: then a flush makes one of them */

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
    tablet->sweep.due = false;
    tablet->sweep.piece = 0;
    buffer_reset(&tablet->sweep.resume);
    tablet->erase.piece = 0;
    buffer_reset(&tablet->erase.resume);
    tablet->collect.stage = STORE_COLLECT_IDLE;
    tablet->collect.schema_version = 0; /* the teacher may not have collected yet */
    atomic_store(&tablet->row_estimate, 0);
    store_note_meta_written(tablet);
    atomic_store(&tablet->learn.replaced, true);
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
        store_note_untidy(tablet);
        store_note_erasing(tablet); /* it may have been taught some */
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

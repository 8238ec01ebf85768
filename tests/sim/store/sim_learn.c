#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/copies/store_slice.h"
#include "tests/sim/store/sim_store.h"

/*
 * The learner's side of production's store_slice.h, as storage/copies/store_slice_write.c does it: each slice is
 * one transaction of the base, in memory it follows when that is durable.  While it is taught nothing of the
 * tablet is flushed here: what it has counts for nothing anyway until it is whole.
 */

static const struct row_range all_rows = {{NULL, 0}, {NULL, 0}};
static const struct dedupe_limits limits = {64, 100000, 1 << 24};

enum lesson_kind {
    LESSON_PIECE, /* of RECORDS, not the last: nothing to write */
    LESSON_FIRST, /* all RECORDS */
    LESSON_ROWS,
    LESSON_END,
};

struct sim_lesson {
    enum lesson_kind kind;
    struct arena arena;
    struct buffer bytes;
    struct slice slice; /* in those */
    struct buffer image;
};

static struct sim_tablet *of(const struct store_tablet *tablet)
{
    return (struct sim_tablet *)(void *)tablet;
}

void sim_lesson_destroy(struct sim_lesson *lesson)
{
    if (lesson != NULL) {
        arena_deinit(&lesson->arena);
        buffer_deinit(&lesson->bytes);
        buffer_deinit(&lesson->image);
        memory_free(lesson);
    }
}

void sim_learning_deinit(struct sim_learning *learning)
{
    sim_lesson_destroy(learning->waiting);
    buffer_deinit(&learning->image);
    buffer_deinit(&learning->below);
    buffer_deinit(&learning->row);
    buffer_deinit(&learning->qualifier);
}

bool sim_learning_has(const struct sim_tablet *tablet, uint64_t sequence, struct bytes row)
{
    const struct sim_learning *learning = &tablet->copy.learning;
    return learning->learning && sequence <= learning->hold_until &&
           tablet->store->sim->planted != SIM_PLANTED_SLICE_NOT_PASSED_OVER &&
           bytes_compare(row, buffer_bytes(&learning->below)) >= 0;
}

bool store_tablet_is_half_taught(const struct store_tablet *tablet)
{
    return of(tablet)->copy.learning.learning || of(tablet)->copy.learning.first;
}

bool store_tablet_began_anew(const struct store_tablet *tablet)
{
    return of(tablet)->copy.learning.learning && !of(tablet)->copy.learning.first;
}

bool store_learn_gathers(const struct store_tablet *tablet)
{
    return of(tablet)->copy.learning.image.size_bytes > 0;
}

bool store_learn_is_level(const struct store_tablet *tablet)
{
    const struct sim_learning *learning = &of(tablet)->copy.learning;
    bool waits = of(tablet)->store->sim->planted == SIM_PLANTED_LESSON_WAITS;
    return !learning->busy && ((!waits && store_learn_gathers(tablet)) ||
                               of(tablet)->committed >= learning->hold_until);
}

/* --- what is written ------------------------------------------------------------------------------ */

static struct sim_base_tablet *begin_put(const struct sim_tablet *tablet)
{
    struct sim_base_tablet *put = sim_base_tablet_create(tablet->tablet, tablet->table,
                                                         tablet->configuration, &tablet->range);
    put->replicated = true;
    put->half_taught = tablet->store->sim->planted != SIM_PLANTED_HALF_TAUGHT_COUNTS;
    return put;
}

static void encode_map(struct sim_store *store,
                       const struct sim_lesson *lesson,
                       const struct sim_base_tablet *old,
                       struct buffer *out)
{
    static const struct tablet_position end = {.everything = true};
    struct applied_map map;
    struct error error = {.status = STATUS_OK};
    arena_reset(&store->arena);
    if (lesson->kind == LESSON_FIRST) {
        ASSERT(applied_map_whole(&store->arena, lesson->slice.sequence, &map) == STATUS_OK);
    } else {
        ASSERT(applied_map_decode(buffer_bytes(&old->applied), &store->arena, &map, &error) ==
               STATUS_OK);
        ASSERT(applied_map_raise(&store->arena, &map, &lesson->slice.from, &end,
                                 lesson->slice.sequence, &map) == STATUS_OK);
    }
    applied_map_encode(&map, out);
    ASSERT(!out->failed);
}

static void add_rows(struct sim_rows *rows, const struct slice *slice)
{
    struct slice_reader reader = slice_reader_of(slice);
    while (slice_reader_next(&reader)) {
        sim_rows_apply(rows, reader.cell.stamp.clock, reader.cell.stamp.index, reader.row,
                       &(struct change){.kind = CHANGE_PUT,
                                        .family = reader.cell.family,
                                        .qualifier = reader.cell.qualifier,
                                        .timestamp_us = reader.cell.timestamp_us,
                                        .value = reader.cell.value});
    }
}

static struct sim_base_tablet *make_first(struct sim_store *store,
                                          const struct sim_tablet *tablet,
                                          const struct sim_lesson *lesson)
{
    struct sim_base_tablet *put = begin_put(tablet);
    put->held = tablet->copy.held;
    put->flushed_sequence = lesson->slice.sequence;
    put->clock = lesson->slice.records.clock;
    sim_horizons_take(&put->horizons, lesson->slice.records.horizons,
                      lesson->slice.records.horizon_count, UINT64_MAX);
    put->proven = lesson->slice.sequence;
    buffer_append_bytes(&put->dedupe, buffer_bytes(&lesson->image));
    encode_map(store, lesson, NULL, &put->applied);
    return put;
}

/* What there is, with the slice; at the end, whole. */
static struct sim_base_tablet *make_next(struct sim_store *store,
                                         const struct sim_tablet *tablet,
                                         const struct sim_lesson *lesson)
{
    const struct sim_base_tablet *old = sim_base_find(&store->disk->base, tablet->tablet);
    struct sim_base_tablet *put = begin_put(tablet);
    sim_rows_copy(&put->rows, &old->rows, &all_rows);
    put->held = old->held;
    put->flushed_sequence = old->flushed_sequence;
    put->clock = old->clock;
    put->horizons = old->horizons;
    put->proven = old->proven;
    buffer_append_bytes(&put->dedupe, buffer_bytes(&old->dedupe));
    if (lesson->kind == LESSON_END) {
        put->half_taught = false;
        buffer_append_bytes(&put->applied, buffer_bytes(&old->applied));
        return put;
    }
    add_rows(&put->rows, &lesson->slice);
    encode_map(store, lesson, old, &put->applied);
    put->proven = lesson->slice.sequence > put->proven ? lesson->slice.sequence : put->proven;
    return put;
}

static void queue(struct sim_store *store, struct sim_tablet *tablet, struct sim_lesson *lesson)
{
    struct sim_base_transaction transaction = {.purpose = SIM_BASE_LEARNT,
                                               .tablet = tablet->tablet,
                                               .lesson = lesson,
                                               .life = tablet->life};
    if (lesson->kind != LESSON_PIECE) {
        transaction.puts[0] = lesson->kind == LESSON_FIRST ? make_first(store, tablet, lesson)
                                                           : make_next(store, tablet, lesson);
        transaction.put_count = 1;
    }
    sim_store_queue(store, &transaction);
}

void sim_learning_go_on(struct sim_store *store, struct sim_tablet *tablet)
{
    struct sim_learning *learning = &tablet->copy.learning;
    if (learning->waiting != NULL && tablet->frozen_count == 0 && tablet->parent == 0) {
        queue(store, tablet, learning->waiting);
        learning->waiting = NULL;
    }
}

static void add_job(struct sim_tablet *tablet, struct sim_lesson *lesson)
{
    struct sim_learning *learning = &tablet->copy.learning;
    learning->busy = true;
    learning->first = lesson->kind == LESSON_FIRST;
    if (!learning->first) {
        queue(tablet->store, tablet, lesson);
        return;
    }
    learning->waiting = lesson;
    sim_learning_go_on(tablet->store, tablet);
}

/* --- what is in memory ---------------------------------------------------------------------------- */

static void keep_bytes(struct buffer *buffer, struct bytes bytes)
{
    buffer_reset(buffer);
    buffer_append_bytes(buffer, bytes);
    ASSERT(!buffer->failed);
}

/* Everything at or below it is in slices. */
static void take_over(struct sim_store *store,
                      struct sim_tablet *tablet,
                      const struct sim_lesson *lesson)
{
    struct sim_copy *copy = &tablet->copy;
    struct sim_learning *learning = &copy->learning;
    uint64_t sequence = lesson->slice.sequence;
    struct error error = {.status = STATUS_OK};
    ASSERT(tablet->prepared <= sequence);
    tablet->committed = 0;
    sim_copy_drop_above(tablet, 0);
    tablet->committed = sequence;
    tablet->prepared = sequence;
    tablet->clock = lesson->slice.records.clock;
    sim_horizons_take(&tablet->horizons, lesson->slice.records.horizons,
                      lesson->slice.records.horizon_count, UINT64_MAX);
    tablet->prepared_clock = tablet->clock;
    tablet->active_position = LOG_POSITION_NONE;
    copy->configuration_position = LOG_POSITION_NONE;
    copy->synced = sequence;
    store_barriers_clear(&copy->barriers);
    copy->committed_version = 0;
    copy->proven = sequence;
    sim_copy_forget_kept(copy);
    hlc_observe(&store->hlc, tablet->clock);
    sim_rows_deinit(&tablet->committed_rows);
    sim_rows_deinit(&tablet->prepared_rows);
    dedupe_destroy(tablet->dedupe);
    ASSERT(dedupe_create(&limits, &tablet->dedupe) == STATUS_OK);
    if (dedupe_load(tablet->dedupe, buffer_bytes(&lesson->image), &error) != STATUS_OK) {
        sim_fail(store->sim, "taught exactly-once records do not load: %s", error.text);
    }
    dedupe_commit(tablet->dedupe, sequence);
    flush_progress_init(&tablet->progress, sequence, false);
    learning->learning = true;
    learning->hold_until = sequence;
    learning->follows = true;
    learning->at = (struct tablet_position){.family = 0};
    buffer_reset(&learning->below);
    buffer_reset(&learning->image);
    store->sim->statistics.lessons++;
}

static void go_on(struct sim_tablet *tablet, const struct sim_lesson *lesson)
{
    struct sim_learning *learning = &tablet->copy.learning;
    const struct slice *slice = &lesson->slice;
    add_rows(&tablet->committed_rows, slice);
    if (slice->sequence > learning->hold_until) { /* then it begins with a row */
        keep_bytes(&learning->below, slice->from.row);
        learning->hold_until = slice->sequence;
    }
    keep_bytes(&learning->row, slice->to.row);
    keep_bytes(&learning->qualifier, slice->to.qualifier);
    learning->at = slice->to;
    learning->at.row = buffer_bytes(&learning->row);
    learning->at.qualifier = buffer_bytes(&learning->qualifier);
    tablet->store->sim->statistics.slices++;
}

void sim_store_learnt(struct sim_store *store, struct sim_base_transaction *done)
{
    struct sim_tablet *tablet = sim_store_find_any(store, done->tablet);
    struct sim_lesson *lesson = done->lesson;
    done->lesson = NULL;
    if (tablet == NULL || tablet->life != done->life) {
        sim_base_transaction_discard(done); /* dropped meanwhile */
        sim_lesson_destroy(lesson);
        return;
    }
    (void)sim_base_apply(&store->disk->base, done);
    tablet->copy.learning.busy = false;
    if (lesson->kind == LESSON_FIRST) {
        take_over(store, tablet, lesson);
        tablet->copy.learning.first = false;
        tablet->rotten = false; /* what it had has given place */
        tablet->cut = false;
    } else if (lesson->kind == LESSON_ROWS) {
        go_on(tablet, lesson);
    } else if (lesson->kind == LESSON_END) {
        tablet->copy.learning.learning = false;
    }
    sim_lesson_destroy(lesson);
    store->callbacks.on_taught(store->callbacks.context, tablet);
}

/* --- taking slices -------------------------------------------------------------------------------- */

static struct sim_lesson *create(enum lesson_kind kind)
{
    struct sim_lesson *lesson = memory_allocate_zeroed(1, sizeof *lesson);
    ASSERT(lesson != NULL);
    lesson->kind = kind;
    arena_init(&lesson->arena, 1024, SIZE_MAX);
    return lesson;
}

/* Pieces come in order, and all of one image: the sequence is theirs together. */
static enum status take_records(struct sim_tablet *tablet, struct sim_lesson *lesson)
{
    struct sim_learning *learning = &tablet->copy.learning;
    const struct slice_records *records = &lesson->slice.records;
    if (records->offset_bytes == 0) {
        buffer_reset(&learning->image);
        learning->image_sequence = lesson->slice.sequence;
    }
    if (lesson->slice.sequence < tablet->prepared ||
        lesson->slice.sequence != learning->image_sequence ||
        records->offset_bytes != learning->image.size_bytes) {
        return STATUS_FAILED_PRECONDITION;
    }
    buffer_append_bytes(&learning->image, records->piece);
    bool all = learning->image.size_bytes == records->image_bytes;
    lesson->kind = all ? LESSON_FIRST : LESSON_PIECE;
    if (all) {
        buffer_append_bytes(&lesson->image, buffer_bytes(&learning->image));
    }
    return STATUS_OK;
}

static enum status take_rows(const struct sim_tablet *tablet, struct sim_lesson *lesson)
{
    const struct sim_learning *learning = &tablet->copy.learning;
    const struct slice *slice = &lesson->slice;
    bool same = slice->sequence == learning->hold_until;
    lesson->kind = LESSON_ROWS;
    if (!learning->learning || !learning->follows || slice->sequence < learning->hold_until ||
        tablet_position_compare(&slice->from, &learning->at) != 0 ||
        (!same && slice->from.family != 0)) {
        return STATUS_FAILED_PRECONDITION;
    }
    return same || tablet->committed >= learning->hold_until ? STATUS_OK : STATUS_UNAVAILABLE;
}

/* Who counts must not lose what it has. */
static bool may_learn(const struct sim_tablet *tablet)
{
    const struct replica_configuration *members = &tablet->copy.held.members;
    return !tablet->copy.leads && members->version != 0 && tablet->copy.configuring == 0 &&
           replica_configuration_find(members, tablet->store->disk->number) ==
               members->member_count;
}

enum status store_learn(struct store_tablet *stored, struct bytes bytes, struct error *ret_error)
{
    struct sim_tablet *tablet = of(stored);
    if (tablet->copy.learning.busy) {
        return STATUS_UNAVAILABLE;
    }
    if (!may_learn(tablet) || tablet->hidden) {
        return STATUS_FAILED_PRECONDITION;
    }
    if (sim_buggify(tablet->store->sim, SIM_SITE_NO_MEMORY)) {
        return STATUS_NO_MEMORY;
    }
    struct sim_lesson *lesson = create(LESSON_PIECE);
    buffer_append_bytes(&lesson->bytes, bytes);
    enum status status = slice_decode(buffer_bytes(&lesson->bytes), tablet->tablet, &lesson->arena,
                                      &lesson->slice, ret_error);
    if (status != STATUS_OK) {
        sim_fail(tablet->store->sim, "tablet %llu: a slice does not decode",
                 (unsigned long long)tablet->tablet);
    } else if (lesson->slice.kind == SLICE_RECORDS) {
        status = take_records(tablet, lesson);
    } else {
        status = take_rows(tablet, lesson);
    }
    if (status == STATUS_OK) {
        add_job(tablet, lesson);
    } else {
        sim_lesson_destroy(lesson);
    }
    return status;
}

enum status store_learn_end(struct store_tablet *stored)
{
    struct sim_tablet *tablet = of(stored);
    const struct sim_learning *learning = &tablet->copy.learning;
    if (!learning->learning || !learning->at.everything) {
        return STATUS_FAILED_PRECONDITION;
    }
    if (learning->busy || tablet->committed < learning->hold_until) {
        return STATUS_UNAVAILABLE;
    }
    add_job(tablet, create(LESSON_END));
    return STATUS_OK;
}

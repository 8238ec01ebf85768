/* The teacher's side of store_slice.h. */
#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "tabletserver/storage/copies/slice.h"
#include "tabletserver/storage/copies/store_slice.h"
#include "tabletserver/storage/store/store_internal.h"

#define ENOUGH_SHARE 2 /* of a slice: then it ends with the row */

struct store_slices {
    struct store_tablet *tablet; /* with a reference */

    /* RECORDS. */
    uint64_t sequence;
    uint64_t clock;
    struct horizon *horizons;
    uint32_t horizon_count;
    struct buffer image;
    size_t image_given;
    bool records_given;

    /* ROWS: where it goes on. */
    struct tablet_position at; /* its bytes are in the buffers */
    struct buffer row;
    struct buffer qualifier;
    struct store_read *held; /* in a row: its source stands on the first cell to come */
    bool done;

    int64_t rest_ns; /* after the last one */
};

/* --- beginning ---------------------------------------------------------------------------------- */

void store_tablet_share(struct store_tablet *tablet)
{
    tablet->shared = true;
}

void store_tablet_forget_log(struct store_tablet *tablet)
{
    (void)pthread_mutex_lock(&tablet->mutex);
    log_marks_deinit(&tablet->marks);
    (void)pthread_mutex_unlock(&tablet->mutex);
}

bool store_log_follows(struct store_tablet *tablet, uint64_t sequence)
{
    uint64_t position = 0;
    uint64_t end = 0;
    if (sequence >= store_tablet_prepared(tablet)) {
        return tablet->shared;
    }
    (void)pthread_mutex_lock(&tablet->mutex);
    bool found = log_marks_find(&tablet->marks, sequence + 1, &position, &end);
    (void)pthread_mutex_unlock(&tablet->mutex);
    return found;
}

/* The highest stamp clock up to what is committed: all above have a higher one. */
static enum status clock_of_committed(const struct store_tablet *tablet,
                                      uint64_t next_clock,
                                      uint64_t *ret_clock)
{
    bool all = store_tablet_committed(tablet) == store_tablet_prepared(tablet);
    if (!all && next_clock == 0) {
        return STATUS_UNAVAILABLE;
    }
    *ret_clock = all ? atomic_load(&tablet->clock) : next_clock - 1;
    return STATUS_OK;
}

static enum status take_horizons(struct store_slices *slices)
{
    const struct store_tablet *tablet = slices->tablet; /* the loop's: only it changes them */
    slices->horizons = memory_allocate((tablet->horizons.count + 1U) * sizeof *slices->horizons);
    if (slices->horizons == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < tablet->horizons.count; i++) {
        if (tablet->horizons.items[i].sequence <= slices->sequence) {
            slices->horizons[slices->horizon_count++] = tablet->horizons.items[i];
        }
    }
    return STATUS_OK;
}

enum status store_slices_begin(struct store_tablet *tablet,
                               uint64_t next_clock,
                               struct store_slices **ret_slices,
                               uint64_t *ret_sequence)
{
    uint64_t clock = 0;
    enum status status = clock_of_committed(tablet, next_clock, &clock);
    if (status != STATUS_OK) {
        return status;
    }
    struct store_slices *slices = memory_allocate_zeroed(1, sizeof *slices);
    if (slices == NULL) {
        return STATUS_NO_MEMORY;
    }
    store_tablet_ref(tablet);
    slices->tablet = tablet;
    slices->sequence = store_tablet_committed(tablet);
    slices->clock = clock;
    dedupe_encode(tablet->dedupe, &slices->image);
    status = slices->image.failed ? STATUS_NO_MEMORY : take_horizons(slices);
    if (status != STATUS_OK) {
        store_slices_end(slices);
        return status;
    }
    *ret_slices = slices;
    *ret_sequence = slices->sequence;
    return STATUS_OK;
}

void store_slices_end(struct store_slices *slices)
{
    if (slices == NULL) {
        return;
    }
    if (slices->held != NULL) {
        store_read_end(slices->held);
    }
    buffer_deinit(&slices->image);
    buffer_deinit(&slices->row);
    buffer_deinit(&slices->qualifier);
    memory_free(slices->horizons);
    store_tablet_unref(slices->tablet);
    memory_free(slices);
}

void store_tablet_hurry(struct store_tablet *tablet, bool hurried)
{
    atomic_store(&tablet->hurried, hurried);
}

static bool is_hurried(const struct store_slices *slices)
{
    return atomic_load(&slices->tablet->hurried);
}

static size_t slice_bytes(const struct store_slices *slices)
{
    const struct store *store = slices->tablet->store;
    const struct flush_pace pace = store_flush_pace(store);
    uint64_t most = store->settings.slice_bytes;
    return is_hurried(slices) ? most : flush_pace_slice_bytes(&pace, most);
}

/* --- records ------------------------------------------------------------------------------------ */

static enum status read_records(struct store_slices *slices, struct buffer *out)
{
    size_t most = slice_bytes(slices);
    size_t left = slices->image.size_bytes - slices->image_given;
    size_t size = left < most ? left : most;
    const struct slice slice = {
        .tablet = slices->tablet->descriptor.tablet,
        .sequence = slices->sequence,
        .records = {.clock = slices->clock,
                    .horizons = slices->horizons,
                    .horizon_count = slices->horizon_count,
                    .image_bytes = slices->image.size_bytes,
                    .offset_bytes = slices->image_given,
                    .piece = {slices->image.data + slices->image_given, size}}};
    slice_encode_records(&slice, out);
    if (out->failed) {
        return STATUS_NO_MEMORY;
    }
    slices->image_given += size;
    slices->records_given = slices->image_given == slices->image.size_bytes;
    if (slices->records_given) {
        buffer_deinit(&slices->image);
    }
    return STATUS_OK;
}

/* --- rows --------------------------------------------------------------------------------------- */

/* A slice in the making. */
struct walk {
    struct store_slices *slices;
    struct store_read *read;
    struct row_reader *reader;
    struct slice_writer writer;
    struct buffer row; /* that it stands on */
    size_t bytes_max;
    size_t start; /* of the slice, in what it is written to */
    struct tablet_position to;
    bool in_row; /* some of the row's cells are written */
    bool cut;    /* inside that row: the next cell is `shown` */
};

static size_t written(const struct walk *walk)
{
    return walk->writer.out->size_bytes - walk->start;
}

/* The rest of the row: up to its end, or to where it is cut. */
static enum status take_cells(struct walk *walk, bool resumed)
{
    struct cell_source source = row_reader_source(walk->reader);
    const struct entry *shown = row_reader_shown(walk->reader);
    bool found = true;
    walk->in_row = false;
    for (;;) {
        if (!resumed) {
            struct cell cell;
            enum status status = source.next(source.context, CELL_NEXT, &cell, &found);
            if (status != STATUS_OK || !found) {
                return status;
            }
        }
        resumed = false;
        if (walk->in_row && written(walk) >= walk->bytes_max) {
            walk->to = tablet_position_of(buffer_bytes(&walk->row), shown);
            walk->cut = true;
            return STATUS_OK;
        }
        if (!walk->in_row) {
            slice_writer_row(&walk->writer, buffer_bytes(&walk->row));
            walk->in_row = true;
        }
        slice_writer_cell(&walk->writer, shown);
    }
}

static enum status stand_on(struct walk *walk, enum row_seek seek, bool *ret_found)
{
    struct bytes row = BYTES_EMPTY;
    enum status status = row_reader_seek(walk->reader, seek, buffer_bytes(&walk->row), &row,
                                         ret_found);
    if (status == STATUS_OK && *ret_found) {
        buffer_reset(&walk->row);
        buffer_append_bytes(&walk->row, row);
        status = walk->row.failed ? STATUS_NO_MEMORY : STATUS_OK;
    }
    return status;
}

/* Up to the end of the first row at which there is enough, inside a large one, or to the last. */
static enum status take_rows(struct walk *walk)
{
    struct store_slices *slices = walk->slices;
    bool resumed = slices->held != NULL;
    bool found = true;
    buffer_append_bytes(&walk->row, slices->at.row);
    enum status status = walk->row.failed ? STATUS_NO_MEMORY : STATUS_OK;
    if (status == STATUS_OK && !resumed) {
        status = stand_on(walk, ROW_AT_OR_AFTER, &found);
    }
    while (status == STATUS_OK && found) {
        status = take_cells(walk, resumed);
        resumed = false;
        if (status != STATUS_OK || walk->cut) {
            return status;
        }
        status = stand_on(walk, ROW_AFTER, &found);
        if (status == STATUS_OK && found && written(walk) >= walk->bytes_max / ENOUGH_SHARE) {
            walk->to = tablet_position_of_row(buffer_bytes(&walk->row));
            return STATUS_OK;
        }
    }
    walk->to = (struct tablet_position){.everything = true};
    return status;
}

/* Keep a copy of where the next slice begins. */
static enum status move_on(struct store_slices *slices, const struct tablet_position *to)
{
    struct buffer row = BUFFER_INIT;
    buffer_append_bytes(&row, to->row);
    buffer_reset(&slices->qualifier);
    buffer_append_bytes(&slices->qualifier, to->qualifier);
    if (row.failed || slices->qualifier.failed) {
        buffer_deinit(&row);
        return STATUS_NO_MEMORY;
    }
    buffer_deinit(&slices->row);
    slices->row = row;
    slices->at = *to;
    slices->at.row = buffer_bytes(&slices->row);
    slices->at.qualifier = buffer_bytes(&slices->qualifier);
    slices->done = to->everything;
    return STATUS_OK;
}

static enum status open_read(struct store_slices *slices, struct store_read **ret_read)
{
    *ret_read = slices->held;
    if (slices->held != NULL) {
        return STATUS_OK;
    }
    if (slices->at.family != 0) {
        return STATUS_ABORTED; /* the rest of the row is to be of the same sequence */
    }
    return store_read_begin(slices->tablet, NULL, STORE_READ_COMMITTED, 0, ret_read);
}

static enum status read_rows(struct store_slices *slices,
                             struct buffer *out,
                             uint64_t *ret_sequence)
{
    struct walk walk = {.slices = slices,
                        .row = BUFFER_INIT,
                        .bytes_max = slice_bytes(slices),
                        .start = out->size_bytes};
    enum status status = open_read(slices, &walk.read);
    if (status != STATUS_OK) {
        return status;
    }
    uint64_t sequence = walk.read->sequence;
    walk.reader = store_read_reader(walk.read);
    slice_writer_begin(&walk.writer, slices->tablet->descriptor.tablet, sequence, &slices->at, out);
    status = take_rows(&walk);
    if (status == STATUS_OK) {
        slice_writer_end(&walk.writer, &walk.to);
        status = out->failed ? STATUS_NO_MEMORY : move_on(slices, &walk.to);
    } else {
        slice_writer_deinit(&walk.writer);
    }
    slices->held = status == STATUS_OK && walk.cut ? walk.read : NULL;
    if (slices->held == NULL) {
        store_read_end(walk.read);
    }
    buffer_deinit(&walk.row);
    *ret_sequence = sequence;
    return status;
}

enum status store_slices_read(struct store_slices *slices,
                              struct buffer *out,
                              uint64_t *ret_sequence,
                              bool *ret_last)
{
    const struct flush_pace pace = store_flush_pace(slices->tablet->store);
    int64_t begin_ns = clock_monotonic_ns();
    int64_t begin_cpu_ns = clock_thread_cpu_ns(pthread_self());
    enum status status = STATUS_OK;
    ASSERT(!slices->done);
    if (!slices->records_given) {
        *ret_sequence = slices->sequence;
        status = read_records(slices, out);
    } else {
        status = read_rows(slices, out, ret_sequence);
    }
    *ret_last = slices->done;
    slices->rest_ns = is_hurried(slices) ? 0
                                         : flush_pace_slice_rest_ns(
                                               &pace, clock_monotonic_ns() - begin_ns,
                                               clock_thread_cpu_ns(pthread_self()) - begin_cpu_ns);
    return status;
}

void store_slices_let_go(struct store_slices *slices)
{
    if (slices->held != NULL) {
        store_read_end(slices->held);
        slices->held = NULL;
    }
}

int64_t store_slices_rest_ns(const struct store_slices *slices)
{
    return slices->rest_ns;
}

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/copies/store_slice.h"
#include "tests/sim/store/sim_store.h"
#include "tests/sim/world/sim_rot.h"

/*
 * The teacher's side of production's store_slice.h, over simulated rows, in production's bytes
 * (storage/copies/slice.h).  A cell's stamp is the sequence of its last change: that is what rows go by here.
 *
 * As production does it: RECORDS at what was committed when the walk began, in pieces; then ROWS, each at
 * what is committed then, but that of a row which takes several all have one sequence.
 */

static const struct row_range all_rows = {{NULL, 0}, {NULL, 0}};

struct store_slices {
    struct sim_tablet *tablet; /* with a reference */
    uint64_t sequence;
    uint64_t clock;
    struct buffer image;
    struct sim_horizons horizons; /* said up to that sequence */
    size_t image_given;
    bool records_given;
    struct tablet_position at; /* its bytes are these: */
    struct buffer row;
    struct buffer qualifier;
    bool in_row; /* the rest of the row is of this, and of that sequence: */
    struct sim_rows held;
    uint64_t held_sequence;
    bool let_go; /* inside a row */
    bool done;
};

static struct sim_tablet *of(struct store_tablet *tablet)
{
    return (struct sim_tablet *)(void *)tablet;
}

void store_tablet_share(struct store_tablet *tablet)
{
    of(tablet)->copy.shared = true;
}

bool store_log_follows(struct store_tablet *stored, uint64_t sequence)
{
    const struct sim_tablet *tablet = of(stored);
    if (sequence >= tablet->committed) {
        return tablet->copy.shared;
    }
    return sim_copy_find(tablet, sequence + 1) != NULL;
}

enum status store_slices_begin(struct store_tablet *stored,
                               uint64_t next_clock,
                               struct store_slices **ret_slices,
                               uint64_t *ret_sequence)
{
    struct sim_tablet *tablet = of(stored);
    struct store_slices *slices = memory_allocate_zeroed(1, sizeof *slices);
    ASSERT(slices != NULL);
    (void)next_clock; /* the clock of what is committed is known here */
    sim_tablet_ref(tablet);
    slices->tablet = tablet;
    slices->sequence = tablet->committed;
    slices->clock = tablet->clock;
    sim_horizons_take(&slices->horizons, tablet->horizons.items, tablet->horizons.count,
                      slices->sequence);
    if (tablet->store->sim->planted != SIM_PLANTED_LESSON_WITHOUT_REQUESTS) {
        dedupe_encode(tablet->dedupe, &slices->image);
    } else {
        struct dedupe *none = NULL;
        ASSERT(dedupe_create(&(struct dedupe_limits){64, 100000, 1 << 24}, &none) == STATUS_OK);
        dedupe_encode(none, &slices->image);
        dedupe_destroy(none);
    }
    ASSERT(!slices->image.failed);
    *ret_slices = slices;
    *ret_sequence = slices->sequence;
    return STATUS_OK;
}

/* Slices are as small as the seed says. */
void store_tablet_hurry(struct store_tablet *stored, bool hurried)
{
    (void)stored;
    (void)hurried;
}

/* Of simulated processors there are enough: what is read takes time (sim_host.c). */
int64_t store_slices_rest_ns(const struct store_slices *slices)
{
    (void)slices;
    return 0;
}

void store_slices_end(struct store_slices *slices)
{
    if (slices != NULL) {
        buffer_deinit(&slices->image);
        buffer_deinit(&slices->row);
        buffer_deinit(&slices->qualifier);
        sim_rows_deinit(&slices->held);
        sim_tablet_unref(slices->tablet);
        memory_free(slices);
    }
}

void store_slices_let_go(struct store_slices *slices)
{
    slices->let_go = slices->in_row;
}

/* --- records ------------------------------------------------------------------------------------ */

static uint32_t slice_bytes(const struct store_slices *slices)
{
    struct sim *sim = slices->tablet->store->sim;
    return sim_buggify(sim, SIM_SITE_SLICE_OF_ONE) ? 1 : sim->settings.slice_bytes;
}

static void read_records(struct store_slices *slices, struct buffer *out)
{
    size_t left = slices->image.size_bytes - slices->image_given;
    size_t most = slice_bytes(slices);
    size_t size = left < most ? left : most;
    const struct slice slice = {
        .tablet = slices->tablet->tablet,
        .sequence = slices->sequence,
        .records = {.clock = slices->clock,
                    .horizons = slices->horizons.items,
                    .horizon_count = slices->horizons.count,
                    .image_bytes = slices->image.size_bytes,
                    .offset_bytes = slices->image_given,
                    .piece = {slices->image.data + slices->image_given, size}}};
    slice_encode_records(&slice, out);
    slices->image_given += size;
    slices->records_given = slices->image_given == slices->image.size_bytes;
}

/* --- rows --------------------------------------------------------------------------------------- */

static void move_to(struct store_slices *slices, const struct tablet_position *to)
{
    struct buffer row = BUFFER_INIT;
    struct buffer qualifier = BUFFER_INIT;
    buffer_append_bytes(&row, to->row);
    buffer_append_bytes(&qualifier, to->qualifier);
    ASSERT(!row.failed && !qualifier.failed);
    buffer_deinit(&slices->row);
    buffer_deinit(&slices->qualifier);
    slices->row = row;
    slices->qualifier = qualifier;
    slices->at = *to;
    slices->at.row = buffer_bytes(&slices->row);
    slices->at.qualifier = buffer_bytes(&slices->qualifier);
    slices->done = to->everything;
}

static struct tablet_position position_of(const struct sim_row *row, const struct sim_cell *cell)
{
    return (struct tablet_position){.row = sim_row_key(row),
                                    .family = cell->family,
                                    .qualifier = bytes_of(cell->qualifier, cell->qualifier_bytes),
                                    .timestamp_us = cell->timestamp_us};
}

static void write_cell(struct slice_writer *writer, const struct sim_cell *cell)
{
    const struct entry entry = {.kind = ENTRY_PUT,
                                .family = cell->family,
                                .qualifier = bytes_of(cell->qualifier, cell->qualifier_bytes),
                                .timestamp_us = cell->timestamp_us,
                                .stamp = {cell->sequence, 1, cell->index},
                                .value = bytes_of(cell->value, cell->value_bytes)};
    slice_writer_cell(writer, &entry);
}

/* From the position on.  True: cut inside the row, at *ret_to. */
static bool take_row(struct slice_writer *writer,
                     const struct sim_row *row,
                     const struct tablet_position *from,
                     size_t end_bytes,
                     struct tablet_position *ret_to)
{
    bool begun = false;
    for (uint32_t i = 0; i < row->cell_count; i++) {
        struct tablet_position at = position_of(row, &row->cells[i]);
        if (tablet_position_compare(&at, from) < 0) {
            continue;
        }
        if (begun && writer->out->size_bytes >= end_bytes) {
            *ret_to = at;
            return true;
        }
        if (!begun) {
            slice_writer_row(writer, sim_row_key(row));
            begun = true;
        }
        write_cell(writer, &row->cells[i]);
    }
    return false;
}

static void read_rows(struct store_slices *slices,
                      const struct sim_rows *rows,
                      uint64_t sequence,
                      struct buffer *out)
{
    struct tablet_position to = {.everything = true};
    struct slice_writer writer;
    size_t end_bytes = out->size_bytes + slice_bytes(slices);
    bool cut = false;
    slice_writer_begin(&writer, slices->tablet->tablet, sequence, &slices->at, out);
    for (uint32_t i = sim_rows_seek(rows, slices->at.row); i < rows->count && !cut; i++) {
        cut = take_row(&writer, &rows->rows[i], &slices->at, end_bytes, &to);
        if (!cut && i + 1 < rows->count && out->size_bytes >= end_bytes) {
            to = (struct tablet_position){.row = sim_row_key(&rows->rows[i + 1])};
            break;
        }
    }
    if (slices->tablet->store->sim->planted == SIM_PLANTED_TAUGHT_EARLY) {
        to = (struct tablet_position){.everything = true};
        cut = false;
    }
    slice_writer_end(&writer, &to);
    slices->in_row = cut;
    move_to(slices, &to);
}

enum status store_slices_read(struct store_slices *slices,
                              struct buffer *out,
                              uint64_t *ret_sequence,
                              bool *ret_last)
{
    const struct sim_tablet *tablet = slices->tablet;
    ASSERT(!slices->done);
    *ret_last = false;
    if (tablet->rotten) {
        sim_rot_meet(slices->tablet);
        return STATUS_CORRUPT;
    }
    if (!slices->records_given) {
        read_records(slices, out);
        *ret_sequence = slices->sequence;
        return STATUS_OK;
    }
    bool reads = !slices->in_row &&
                 (tablet->store->sim->planted != SIM_PLANTED_SLICES_OF_THE_BEGINNING ||
                  slices->held.count == 0);
    if (slices->let_go) {
        return STATUS_ABORTED;
    }
    if (!slices->in_row) {
        slices->held_sequence = tablet->committed;
    }
    if (reads) {
        sim_rows_deinit(&slices->held);
        sim_rows_copy(&slices->held, &tablet->committed_rows, &all_rows);
    }
    read_rows(slices, &slices->held, slices->held_sequence, out);
    ASSERT(!out->failed);
    *ret_sequence = slices->held_sequence;
    *ret_last = slices->done;
    return STATUS_OK;
}

/* Where a tablet may be cut: in two, or about every so many bytes; and where its rows end. */
#include "tabletserver/storage/store/store_internal.h"

/* --- the middle of a tablet ------------------------------------------------------------------------ */

/* The middle row of the tablet's memtable with the most rows. */
static bool middle_of_memory(struct store_tablet *tablet, struct buffer *row)
{
    struct memtable *largest = NULL;
    (void)pthread_mutex_lock(&tablet->mutex);
    for (uint32_t i = 0; i < tablet->layer_count; i++) {
        struct memtable *memtable = tablet->layers[i]->memtable;
        if (largest == NULL || memtable_row_count(memtable) > memtable_row_count(largest)) {
            largest = memtable;
        }
    }
    largest = largest == NULL ? NULL : memtable_ref(largest);
    (void)pthread_mutex_unlock(&tablet->mutex);
    bool found = largest != NULL && memtable_middle_row(largest, &tablet->descriptor.range, row);
    memtable_unref(largest);
    return found;
}

static enum status middle_of_base(struct store_tablet *tablet, struct buffer *row, bool *ret_found)
{
    struct base_snapshot *snapshot = NULL;
    (void)pthread_mutex_lock(&tablet->mutex);
    struct store_pieces *pieces = store_pieces_ref(tablet->pieces);
    (void)pthread_mutex_unlock(&tablet->mutex);
    *ret_found = false;
    buffer_reset(row);
    enum status status = base_snapshot_begin(tablet->store->base, &snapshot);
    if (status == STATUS_OK) {
        status = base_middle_row(snapshot, pieces->pieces, pieces->count, row, ret_found);
        base_snapshot_end(snapshot);
    }
    store_pieces_unref(pieces);
    return status;
}

enum status store_tablet_last_row(struct store_tablet *tablet, struct buffer *row, bool *ret_found)
{
    static const struct table no_table;
    struct store_read *read = NULL;
    struct bytes last = BYTES_EMPTY;
    enum status status = store_read_begin(tablet, &no_table, STORE_READ_COMMITTED, 0, &read);
    if (status != STATUS_OK) {
        return status;
    }
    status = row_reader_seek(store_read_reader(read), ROW_LAST, BYTES_EMPTY, &last, ret_found);
    buffer_reset(row);
    if (status == STATUS_OK && *ret_found) {
        buffer_append_bytes(row, last);
    }
    store_read_end(read);
    return status == STATUS_OK && row->failed ? STATUS_NO_MEMORY : status;
}

/* Where more lies in memory than is flushed: a flush goes in the order of rows, so what there is of the first one is the
 * tablet's beginning. */
enum status store_tablet_middle(struct store_tablet *tablet, struct buffer *row, bool *ret_found)
{
    struct store_tablet_statistics statistics;
    enum status status = STATUS_OK;
    store_tablet_statistics(tablet, &statistics);
    bool found = statistics.memtable_bytes > statistics.base_bytes && middle_of_memory(tablet, row);
    if (!found) {
        status = middle_of_base(tablet, row, &found);
    }
    /* Strictly inside: a split there leaves both sides something. */
    found = found && bytes_compare(buffer_bytes(row), tablet->descriptor.range.start) > 0 &&
            row_range_contains(&tablet->descriptor.range, buffer_bytes(row));
    if (status == STATUS_OK) {
        *ret_found = found;
    }
    return status;
}

/* --- samples --------------------------------------------------------------------------------------- */

static enum status sample_base(struct store_tablet *tablet,
                               uint64_t step_bytes,
                               struct arena *arena,
                               struct base_row_samples *samples)
{
    struct base_snapshot *snapshot = NULL;
    (void)pthread_mutex_lock(&tablet->mutex);
    struct store_pieces *pieces = store_pieces_ref(tablet->pieces);
    (void)pthread_mutex_unlock(&tablet->mutex);
    enum status status = base_snapshot_begin(tablet->store->base, &snapshot);
    if (status == STATUS_OK) {
        status = base_sample_rows(snapshot, pieces->pieces, pieces->count, step_bytes, arena,
                                  samples);
        base_snapshot_end(snapshot);
    }
    store_pieces_unref(pieces);
    return status;
}

/* The one row that halves what is still in memory. */
static enum status sample_memory(struct store_tablet *tablet,
                                 uint64_t total_bytes,
                                 struct arena *arena,
                                 struct store_sample *ret_sample,
                                 uint32_t *ret_count)
{
    struct buffer row = BUFFER_INIT;
    bool found = false;
    enum status status = store_tablet_middle(tablet, &row, &found);
    if (status == STATUS_OK && found) {
        struct bytes copy = arena_copy(arena, buffer_bytes(&row));
        status = copy.size_bytes == row.size_bytes ? STATUS_OK : STATUS_NO_MEMORY;
        *ret_sample = (struct store_sample){copy, total_bytes / 2};
        *ret_count = status == STATUS_OK ? 1 : 0;
    }
    buffer_deinit(&row);
    return status;
}

enum status store_tablet_sample(struct store_tablet *tablet,
                                uint64_t step_bytes,
                                uint32_t count_max,
                                struct arena *arena,
                                struct store_samples *ret_samples)
{
    struct store_tablet_statistics statistics;
    struct base_row_samples stored = {.count_max = count_max};
    stored.samples = arena_allocate_array(arena, count_max, sizeof *stored.samples);
    struct store_sample *samples = arena_allocate_array(arena, count_max, sizeof *samples);
    if (stored.samples == NULL || samples == NULL) {
        return STATUS_NO_MEMORY;
    }
    store_tablet_statistics(tablet, &statistics);
    enum status status = sample_base(tablet, step_bytes, arena, &stored);
    if (status != STATUS_OK) {
        return status;
    }
    uint64_t total_bytes = stored.total_bytes + statistics.memtable_bytes;
    uint32_t count = stored.count;
    for (uint32_t i = 0; i < count; i++) {
        /* What is in memory is taken to lie as what is stored does. */
        double share = (double)stored.samples[i].offset_bytes / (double)stored.total_bytes;
        uint64_t memory_bytes = (uint64_t)(share * (double)statistics.memtable_bytes);
        samples[i] = (struct store_sample){stored.samples[i].row,
                                           stored.samples[i].offset_bytes + memory_bytes};
    }
    if (count == 0 && total_bytes > step_bytes) {
        status = sample_memory(tablet, total_bytes, arena, &samples[0], &count);
    }
    if (status == STATUS_OK) {
        *ret_samples = (struct store_samples){samples, count, total_bytes};
    }
    return status;
}

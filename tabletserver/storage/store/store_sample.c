/* Where a tablet may be cut: in two, or about every so many bytes; and where its rows end. */
#include "tabletserver/storage/store/store_internal.h"

#define MIDDLE_ROWS_MAX 4096 /* walked when nothing is in the base yet */

/* --- the middle of a tablet ------------------------------------------------------------------------ */

/* Rows of the tablet from the start, up to `count`; the last one is left in row. */
static enum status walk_rows(struct row_reader *reader,
                             uint64_t count,
                             struct buffer *row,
                             uint64_t *ret_walked)
{
    struct bytes found_row = BYTES_EMPTY;
    bool found = false;
    uint64_t walked = 0;
    enum status status = row_reader_seek(reader, ROW_AT_OR_AFTER, BYTES_EMPTY, &found_row, &found);
    while (status == STATUS_OK && found) {
        walked++;
        buffer_reset(row);
        buffer_append_bytes(row, found_row);
        if (walked == count) {
            break;
        }
        status = row_reader_seek(reader, ROW_AFTER, buffer_bytes(row), &found_row, &found);
    }
    *ret_walked = walked;
    return status == STATUS_OK && row->failed ? STATUS_NO_MEMORY : status;
}

/* A tablet so young that its rows are in memory: count them. */
static enum status middle_of_rows(struct store_tablet *tablet, struct buffer *row, bool *ret_found)
{
    static const struct table no_table;
    struct store_read *read = NULL;
    enum status status = store_read_begin(tablet, &no_table, STORE_READ_COMMITTED, 0, &read);
    if (status != STATUS_OK) {
        return status;
    }
    uint64_t walked = 0;
    uint64_t again = 0;
    status = walk_rows(store_read_reader(read), MIDDLE_ROWS_MAX, row, &walked);
    bool found = status == STATUS_OK && walked >= 2;
    if (found) {
        status = walk_rows(store_read_reader(read), walked / 2 + 1, row, &again);
    }
    store_read_end(read);
    if (status == STATUS_OK) {
        *ret_found = found;
    }
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

enum status store_tablet_middle(struct store_tablet *tablet, struct buffer *row, bool *ret_found)
{
    struct base_snapshot *snapshot = NULL;
    buffer_reset(row);
    (void)pthread_mutex_lock(&tablet->mutex);
    struct store_pieces *pieces = store_pieces_ref(tablet->pieces);
    (void)pthread_mutex_unlock(&tablet->mutex);
    bool found = false;
    enum status status = base_snapshot_begin(tablet->store->base, &snapshot);
    if (status == STATUS_OK) {
        status = base_middle_row(snapshot, pieces->pieces, pieces->count, row, &found);
        base_snapshot_end(snapshot);
    }
    store_pieces_unref(pieces);
    if (status == STATUS_OK && !found) {
        buffer_reset(row);
        status = middle_of_rows(tablet, row, &found);
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

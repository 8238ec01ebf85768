#include "tabletserver/serve/read/scan_slice.h"

#include "common/io/clock.h"

#define SCAN_SLICE_NS      (INT64_C(4) * 1000 * 1000)
#define SCAN_LOOK_AT_CLOCK 64 /* rows between two looks */

static const struct row_range *current_range(const struct scan *scan)
{
    size_t count = scan->rows.count;
    return &scan->rows
                .ranges[scan->request.reversed ? count - 1 - scan->range_index : scan->range_index];
}

/* Stand on the next row of the current range; *ret_found false at its end. */
static enum status next_row(struct scan *scan,
                            struct row_reader *reader,
                            struct bytes *ret_row,
                            bool *ret_found)
{
    const struct row_range *range = current_range(scan);
    bool reversed = scan->request.reversed;
    struct bytes resume = buffer_bytes(&scan->resume);
    struct bytes from = reversed ? range->end : range->start;
    enum row_seek seek = ROW_AT_OR_AFTER;

    if (scan->has_resume && row_range_contains(range, resume)) {
        from = resume;
        seek = reversed ? ROW_BEFORE : ROW_AFTER;
    } else if (reversed) {
        seek = range->end.size_bytes > 0 ? ROW_BEFORE : ROW_LAST;
    }
    enum status status = row_reader_seek(reader, seek, from, ret_row, ret_found);
    if (status == STATUS_OK && *ret_found) {
        *ret_found = row_range_contains(range, *ret_row);
    }
    return status;
}

static bool slice_is_over(struct scan *scan, struct scan_slice *slice)
{
    if (slice->rows.size_bytes >= SCAN_SLICE_BYTES) {
        return true;
    }
    if (slice->until_clock-- == 0) {
        slice->until_clock = SCAN_LOOK_AT_CLOCK;
        return clock_monotonic_ns() > slice->end_ns || transport_reply_cancelled(scan->reply);
    }
    return false;
}

static bool limit_is_reached(const struct scan *scan)
{
    return scan->request.rows_limit > 0 &&
           scan->rows_returned + scan->statistics.rows_returned >= scan->request.rows_limit;
}

/* --- what is told of a slice: some rows, and of some slices where they begin and end -------------- */

static void begin_telling(const struct scan *scan, struct scan_slice *slice, uint64_t entropy)
{
    slice->ring = load_counters_ring(store_tablet_load(scan->served.tablet));
    if (slice->ring == NULL) {
        return;
    }
    slice->every = key_ring_every(slice->ring, KEY_READ);
    slice->until_told = key_ring_first(slice->every, entropy);
    slice->told = key_ring_wants(key_ring_every(slice->ring, KEY_SCANNED), entropy + 1);
    if (slice->told && scan->has_resume) {
        buffer_append_bytes(&slice->begin, buffer_bytes(&scan->resume));
    }
}

/* The scan is done with a row (scan->resume): leave it in the ring, if it is one that is to be told. */
static void tell_row(const struct scan *scan, struct scan_slice *slice)
{
    if (slice->told && slice->begin.size_bytes == 0) {
        buffer_append_bytes(&slice->begin, buffer_bytes(&scan->resume));
    }
    if (slice->until_told > 0) {
        slice->until_told -= 1;
        return;
    }
    slice->until_told = slice->every - 1;
    key_ring_put(slice->ring, store_tablet_load(scan->served.tablet), KEY_READ,
                 buffer_bytes(&scan->resume), BYTES_EMPTY);
}

static void end_telling(const struct scan *scan, struct scan_slice *slice)
{
    struct bytes begin = buffer_bytes(&slice->begin);
    struct bytes end = buffer_bytes(&scan->resume);
    bool reversed = scan->request.reversed;
    if (slice->told && begin.size_bytes > 0) {
        key_ring_put(slice->ring, store_tablet_load(scan->served.tablet), KEY_SCANNED,
                     reversed ? end : begin, reversed ? begin : end);
    }
    buffer_deinit(&slice->begin);
}

/* Read one row into the slice; the row is then done with. */
static enum status read_row(struct scan *scan,
                            struct scan_slice *slice,
                            struct bytes row,
                            struct error *ret_error)
{
    enum status status = STATUS_OK;

    buffer_reset(&scan->looking);
    buffer_append_bytes(&scan->looking, row);
    if (scan->looking.failed) {
        return error_set(ret_error, STATUS_NO_MEMORY, "out of memory");
    }
    if (filter_skips_row(scan->program, row)) {
        scan->statistics.rows_seen += 1;
    } else {
        status = row_read_filtered(slice->reader, buffer_bytes(&scan->looking),
                                   schema_table(scan->schema), scan->program, &slice->writer,
                                   &scan->statistics, ret_error);
    }
    if (status == STATUS_OK) {
        struct buffer done = scan->looking;
        scan->looking = scan->resume;
        scan->resume = done;
        scan->has_resume = true;
        if (slice->ring != NULL) {
            tell_row(scan, slice);
        }
    } else {
        slice->failed_row = buffer_bytes(&scan->looking);
    }
    return status;
}

static enum status read_slice(struct scan *scan, struct scan_slice *slice, struct error *ret_error)
{
    while (!slice_is_over(scan, slice)) {
        struct bytes row = BYTES_EMPTY;
        bool found = false;
        if (scan->range_index == scan->rows.count || limit_is_reached(scan)) {
            slice->done = true;
            return STATUS_OK;
        }
        enum status status = next_row(scan, slice->reader, &row, &found);
        if (status != STATUS_OK) {
            return error_set(ret_error, status, "cannot read on: %s", status_text(status));
        }
        if (!found) {
            scan->range_index += 1;
            continue;
        }
        status = read_row(scan, slice, row, ret_error);
        if (status != STATUS_OK) {
            return status;
        }
    }
    return STATUS_OK;
}

/* Programs may be large and take milliseconds to make: there are as many as workers, not as many as
 * scans, and a scan that waits holds none. */
static enum status compile(struct scan *scan, struct error *ret_error)
{
    return filter_compile(scan->request.filter, scan->request.filter_bytes,
                          schema_table(scan->schema), (uint64_t)scan->received_ns, &scan->program,
                          ret_error);
}

static void count_slice(struct scan *scan, const struct scan_slice *slice, int64_t begun_ns)
{
    int64_t now_ns = clock_monotonic_ns();
    uint64_t first = scan->counted ? 0 : 1;
    const struct load_read_counts counts = {
        .reads = first,
        .rows = scan->statistics.rows_seen,
        .bytes = slice->rows.size_bytes,
        .busy_ns = (uint64_t)(now_ns - begun_ns),
        .wait_ns = first * (uint64_t)(begun_ns - scan->received_ns),
        .latency_ns = first * (uint64_t)(now_ns - scan->received_ns),
        .latency_max_ns = first * (uint64_t)(now_ns - scan->received_ns),
    };
    scan->counted = true;
    load_counters_add_read(store_tablet_load(scan->served.tablet), &counts);
}

enum status scan_slice_read(struct scan *scan, struct scan_slice *slice, struct error *ret_error)
{
    struct store_read *read = NULL;
    struct row_read_for who = {scan->reply, scan->deadline_ns};
    enum status status = compile(scan, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    uint64_t opening = served_opening(&scan->served);
    status = store_read_begin(scan->served.tablet, schema_table(scan->schema), STORE_READ_COMMITTED,
                              server_clock_now_us(&scan->server->clock), &read);
    if (status == STATUS_OK && !served_held(&scan->served, opening)) {
        store_read_end(read);
        status = STATUS_NOT_OWNER;
    }
    if (status != STATUS_OK) {
        filter_destroy(scan->program);
        scan->program = NULL;
        return error_set(ret_error, status == STATUS_NOT_OWNER ? status : STATUS_UNAVAILABLE,
                         "cannot begin to read; retry");
    }
    int64_t begun_ns = clock_monotonic_ns();
    slice->reader = store_read_reader(read);
    row_read_while_awaited(slice->reader, &who);
    slice->end_ns = begun_ns + SCAN_SLICE_NS;
    slice->until_clock = SCAN_LOOK_AT_CLOCK;
    row_block_writer_init(&slice->writer, &slice->rows);
    begin_telling(scan, slice, (uint64_t)begun_ns);
    status = store_read_explain(read, read_slice(scan, slice, ret_error), ret_error);
    end_telling(scan, slice);
    store_read_end(read);
    filter_destroy(scan->program);
    scan->program = NULL;
    count_slice(scan, slice, begun_ns);
    return status;
}

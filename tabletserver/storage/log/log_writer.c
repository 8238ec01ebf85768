/*
 * The writer: one batch at a time, written and synced, while the next gathers.
 *
 * One at a time is what makes recovery simple: a batch is not begun before all before it are
 * durable, so its mere presence proves them.  It costs nothing while a sync takes longer than
 * gathering, and group commit makes the batches as large as the sync is slow.
 */
#include <string.h>

#include "common/base/assert.h"
#include "common/io/thread.h"
#include "tabletserver/storage/log/log_state.h"

/* A buffer that grew beyond this for a giant record is given back. */
#define BUFFER_KEEP_BYTES ((size_t)16 * 1024 * 1024)

/* Header, payload, padding. */
static uint64_t batch_size_bytes(const struct log_batch *batch)
{
    return log_align(batch->bytes.size_bytes);
}

/*
 * Wait until there is a batch to write and room for it, and move it to `flight`.  False when the
 * thread shall end.  With the mutex.
 */
static bool take_batch(struct log *log)
{
    struct log_batch *gathering = &log->gathering;
    for (;;) {
        bool wanted = gathering->record_count > 0 && (log->commit_wanted || log->closing);
        uint64_t end = gathering->position + batch_size_bytes(gathering);
        if (log->failed || (log->closing && !wanted)) {
            return false;
        }
        if (wanted && end <= log_room_end(log)) {
            break;
        }
        if (wanted && log->closing && log->lacking != STATUS_OK) {
            return false; /* never acknowledged: let it go */
        }
        if (wanted) {
            (void)pthread_cond_signal(&log->keeper_wake);
        }
        (void)pthread_cond_wait(&log->writer_wake, &log->mutex);
    }
    struct log_batch empty = log->flight;
    log->flight = *gathering;
    *gathering = empty;
    log->flight_bytes = batch_size_bytes(&log->flight);
    log->commit_wanted = false;
    gathering->position = log->flight.position + log->flight_bytes;
    gathering->record_count = 0;
    buffer_reset(&gathering->bytes);

    struct log_segment *segment = log_segments_find(&log->segments, log->flight.position);
    if (segment->first_batch_position == LOG_POSITION_NONE) {
        segment->first_batch_position = log->flight.position;
    }
    if (log_room_is_short(log)) {
        (void)pthread_cond_signal(&log->keeper_wake);
    }
    return true;
}

/* Pad the batch and fill in its header. */
static void seal_batch(struct log *log, uint64_t seed, uint32_t flags)
{
    struct log_batch *batch = &log->flight;
    static const uint8_t zeros[LOG_ALIGNMENT_BYTES];
    buffer_append(&batch->bytes, zeros, (size_t)(log->flight_bytes - batch->bytes.size_bytes));
    ASSERT(!batch->bytes.failed); /* log_append reserved the padding too */
    size_t payload_bytes = batch->bytes.size_bytes - LOG_BATCH_HEADER_BYTES;
    struct log_batch_header header = {
        .payload_bytes = (uint32_t)payload_bytes,
        .record_count = batch->record_count,
        .flags = flags,
        .position = batch->position,
        .synced_position = batch->position, /* the batch before it has been synced */
        .epoch = log->epoch,
        .payload_checksum = log_payload_checksum(batch->bytes.data + LOG_BATCH_HEADER_BYTES,
                                                 payload_bytes, seed),
    };
    log_batch_header_encode(&header, seed, batch->bytes.data);
}

static struct log_segment *find_segment(struct log *log, uint64_t position)
{
    (void)pthread_mutex_lock(&log->mutex);
    struct log_segment *segment = log_segments_find(&log->segments, position);
    (void)pthread_mutex_unlock(&log->mutex);
    return segment;
}

/*
 * Zeros behind the batch, to the end of the block of the file in which it ends: how many.  They are
 * written with it, because a block that is written in part is read first, where it is not in memory;
 * and of a file that is used again it is not.  The next batch overwrites them, and to a reader they
 * are what a new file has there.
 */
static size_t fill_block(struct log_batch *batch, uint64_t end_offset)
{
    size_t fill_bytes = (size_t)(-end_offset % LOG_BLOCK_BYTES);
    uint8_t *behind = buffer_reserve(&batch->bytes, fill_bytes);
    ASSERT(behind != NULL); /* log_append reserved a block more */
    memset(behind, 0, fill_bytes);
    return fill_bytes;
}

/* Write and sync the flight, segment by segment. */
static enum status write_batch(struct log *log, uint32_t flags, struct error *ret_error)
{
    struct log_batch *batch = &log->flight;
    struct log_segment *segment = find_segment(log, batch->position);
    seal_batch(log,
               log_batch_seed(segment->header.salt, segment->header.generation, batch->position),
               flags);
    uint64_t position = batch->position;
    size_t done = 0;
    while (done < batch->bytes.size_bytes) {
        segment = find_segment(log, position);
        uint64_t room = log_segment_end(&segment->header) - position;
        size_t left = batch->bytes.size_bytes - done;
        size_t piece = left < room ? left : (size_t)room;
        uint64_t offset = LOG_BLOCK_BYTES + position - segment->header.first_position;
        size_t fill_bytes = piece == left ? fill_block(batch, offset + piece) : 0;
        enum status status = file_write_at(&segment->file, offset, batch->bytes.data + done,
                                           piece + fill_bytes, ret_error);
        if (status == STATUS_OK) {
            status = file_sync(&segment->file, ret_error);
        }
        if (status != STATUS_OK) {
            return status;
        }
        position += piece;
        done += piece;
    }
    return STATUS_OK;
}

/* The flight is durable: count it, and say so, unless the log has failed meanwhile. */
static void report_batch(struct log *log)
{
    struct log_batch *batch = &log->flight;
    uint64_t synced = batch->position + batch->bytes.size_bytes;
    (void)pthread_mutex_lock(&log->report_mutex);
    (void)pthread_mutex_lock(&log->mutex);
    bool failed = log->failed;
    log->flight_bytes = 0;
    if (!failed) {
        log->statistics.batches++;
        log->statistics.records += batch->record_count;
        log->statistics.synced_position = synced;
    }
    (void)pthread_mutex_unlock(&log->mutex);
    if (!failed) {
        log->options.on_synced(log->options.context, synced);
    }
    (void)pthread_mutex_unlock(&log->report_mutex);
    if (batch->bytes.capacity_bytes > BUFFER_KEEP_BYTES) {
        buffer_deinit(&batch->bytes);
    }
}

/* The last batch says that nothing follows.  It is only a courtesy to the next opening: without
 * room or memory for it, or after a failure, the log just ends. */
static void write_clean_end(struct log *log)
{
    struct error error;
    struct log_batch *batch = &log->flight;
    (void)pthread_mutex_lock(&log->mutex);
    batch->position = log->gathering.position;
    bool possible = !log->failed && log->gathering.record_count == 0 &&
                    batch->position + LOG_BATCH_HEADER_BYTES <= log_room_end(log);
    (void)pthread_mutex_unlock(&log->mutex);
    buffer_reset(&batch->bytes);
    if (!possible ||
        buffer_reserve(&batch->bytes, LOG_BATCH_HEADER_BYTES + LOG_BLOCK_BYTES) == NULL) {
        return;
    }
    buffer_advance(&batch->bytes, LOG_BATCH_HEADER_BYTES);
    batch->record_count = 0;
    log->flight_bytes = LOG_BATCH_HEADER_BYTES;
    (void)write_batch(log, LOG_BATCH_CLEAN_END, &error); /* nobody waits for it */
}

void *log_writer_run(void *argument)
{
    struct log *log = argument;
    thread_name_set("log");
    for (;;) {
        struct error error = {0};
        (void)pthread_mutex_lock(&log->mutex);
        bool taken = take_batch(log);
        (void)pthread_mutex_unlock(&log->mutex);
        if (!taken) {
            break;
        }
        if (write_batch(log, 0, &error) != STATUS_OK) {
            log_fail(log, &error);
            break;
        }
        report_batch(log);
    }
    write_clean_end(log);
    return NULL;
}

#include "tabletserver/storage/log/log.h"

#include <string.h>
#include <time.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/condition.h"
#include "tabletserver/storage/log/log_state.h"

uint64_t log_room_end(const struct log *log)
{
    const struct log_segments *segments = &log->segments;
    return segments->count == 0 ? log->gathering.position
                                : log_segment_end(&segments->at[segments->count - 1]->header);
}

bool log_room_is_short(const struct log *log)
{
    const struct log_segments *segments = &log->segments;
    return segments->count == 0 || log->room_wanted > log_room_end(log) ||
           segments->at[segments->count - 1]->header.first_position <= log->gathering.position;
}

bool log_segments_reserve(struct log_segments *segments)
{
    if (segments->count < segments->capacity) {
        return true;
    }
    size_t capacity = segments->capacity == 0 ? 16 : segments->capacity * 2;
    struct log_segment **at = memory_resize(segments->at, capacity * sizeof *segments->at);
    if (at == NULL) {
        return false;
    }
    segments->at = at;
    segments->capacity = capacity;
    return true;
}

void log_segments_add(struct log_segments *segments, struct log_segment *segment)
{
    ASSERT(segments->count < segments->capacity);
    segments->at[segments->count++] = segment;
}

struct log_segment *log_segments_find(const struct log_segments *segments, uint64_t position)
{
    /* From the end: it is nearly always one of the last two. */
    for (size_t i = segments->count; i > 0; i--) {
        struct log_segment *segment = segments->at[i - 1];
        if (segment->header.first_position <= position) {
            ASSERT(position < log_segment_end(&segment->header));
            return segment;
        }
    }
    UNREACHABLE();
}

void log_fail(struct log *log, const struct error *error)
{
    (void)pthread_mutex_lock(&log->report_mutex);
    (void)pthread_mutex_lock(&log->mutex);
    bool first = !log->failed;
    log->failed = true;
    (void)pthread_cond_signal(&log->writer_wake);
    (void)pthread_cond_signal(&log->keeper_wake);
    (void)pthread_mutex_unlock(&log->mutex);
    if (first) {
        log->options.on_failed(log->options.context, error);
    }
    (void)pthread_mutex_unlock(&log->report_mutex);
}

/* With glibc none of these can fail; the keeper's waits go by the monotonic clock. */
static void init_threading(struct log *log)
{
    ASSERT(pthread_mutex_init(&log->mutex, NULL) == 0);
    ASSERT(pthread_mutex_init(&log->report_mutex, NULL) == 0);
    ASSERT(pthread_cond_init(&log->writer_wake, NULL) == 0);
    condition_init(&log->keeper_wake);
}

void log_destroy(struct log *log)
{
    for (size_t i = 0; i < log->segments.count; i++) {
        log_segment_destroy(log->segments.at[i]);
    }
    for (size_t i = 0; i < log->kept.count; i++) {
        log_segment_destroy(log->kept.at[i]);
    }
    memory_free(log->kept.at);
    memory_free(log->segments.at);
    memory_free(log->spares);
    buffer_deinit(&log->gathering.bytes);
    buffer_deinit(&log->flight.bytes);
    file_close(&log->anchor_file);
    (void)pthread_cond_destroy(&log->keeper_wake);
    (void)pthread_cond_destroy(&log->writer_wake);
    (void)pthread_mutex_destroy(&log->report_mutex);
    (void)pthread_mutex_destroy(&log->mutex);
    memory_free(log);
}

struct log *log_create(const struct log_options *options)
{
    struct log *log = memory_allocate_zeroed(1, sizeof *log);
    if (log == NULL) {
        return NULL;
    }
    log->spares = memory_allocate_zeroed(options->spare_segments_max, sizeof *log->spares);
    if (log->spares == NULL) {
        memory_free(log);
        return NULL;
    }
    init_threading(log);
    memcpy(log->folder, options->folder, strlen(options->folder) + 1);
    log->options = *options;
    log->options.folder = log->folder;
    log->spares_wanted = options->spare_segments_max;
    log->keep_from = UINT64_MAX;
    log->keep_bytes = options->keep_bytes;
    log->anchor_file = FILE_CLOSED;
    return log;
}

static void stop_keeper(struct log *log)
{
    (void)pthread_mutex_lock(&log->mutex);
    log->stopping = true;
    (void)pthread_cond_signal(&log->keeper_wake);
    (void)pthread_mutex_unlock(&log->mutex);
    (void)pthread_join(log->keeper, NULL);
}

static bool start_threads(struct log *log)
{
    if (pthread_create(&log->keeper, NULL, log_keeper_run, log) != 0) {
        return false;
    }
    if (pthread_create(&log->writer, NULL, log_writer_run, log) != 0) {
        stop_keeper(log);
        return false;
    }
    return true;
}

enum status log_open(const struct log_options *options,
                     struct log **ret_log,
                     struct error *ret_error)
{
    if (options->segment_bytes < LOG_SEGMENT_BYTES_MIN ||
        options->segment_bytes % LOG_BLOCK_BYTES != 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "log segments of %u bytes: it must be a multiple of %d, at least %d",
                         options->segment_bytes, LOG_BLOCK_BYTES, LOG_SEGMENT_BYTES_MIN);
    }
    if (strlen(options->folder) >= FILE_PATH_SIZE_MAX) {
        return error_set(ret_error, STATUS_LIMIT, "%s: the path is too long", options->folder);
    }
    struct log *log = log_create(options);
    if (log == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to open the log");
    }
    enum status status = log_recover(log, ret_error);
    if (status == STATUS_OK && !start_threads(log)) {
        status = error_set(ret_error, STATUS_NO_MEMORY, "cannot start the log's threads");
    }
    if (status != STATUS_OK) {
        log_destroy(log);
        return status;
    }
    *ret_log = log;
    return STATUS_OK;
}

void log_close(struct log *log)
{
    if (log == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&log->mutex);
    log->closing = true;
    (void)pthread_cond_signal(&log->writer_wake);
    (void)pthread_mutex_unlock(&log->mutex);
    (void)pthread_join(log->writer, NULL);
    stop_keeper(log);
    log_destroy(log);
}

/* For want of a segment. */
static enum status refusal(const struct log *log)
{
    return log->lacking == STATUS_LIMIT ? STATUS_RESOURCE_EXHAUSTED : log->lacking;
}

/* Whether the record may be taken, and what the gathering batch would then be.  With the mutex. */
static enum status check_append(struct log *log, size_t size_bytes)
{
    struct log_batch *batch = &log->gathering;
    size_t gathered = batch->bytes.size_bytes;
    if (log->failed || log->closing) {
        return STATUS_CLOSED;
    }
    if (size_bytes > LOG_BATCH_PAYLOAD_BYTES_MAX - LOG_ALIGNMENT_BYTES) {
        return STATUS_LIMIT;
    }
    uint64_t pending = log->flight_bytes + gathered;
    if (gathered + size_bytes > LOG_BATCH_PAYLOAD_BYTES_MAX ||
        (pending > 0 && pending + size_bytes > log->options.pending_bytes_max)) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    gathered = gathered > 0 ? gathered : LOG_BATCH_HEADER_BYTES;
    uint64_t end = batch->position + log_align(gathered + size_bytes);
    if (end > log_room_end(log)) {
        if (log->lacking != STATUS_OK) {
            return refusal(log);
        }
        log->room_wanted = end;
        (void)pthread_cond_signal(&log->keeper_wake);
    }
    return STATUS_OK;
}

/* With the mutex. */
static enum status append(struct log *log, const struct log_record *record)
{
    struct log_batch *batch = &log->gathering;
    size_t size_bytes = log_record_size_bytes_max(record);
    enum status status = check_append(log, size_bytes);
    if (status != STATUS_OK) {
        return status;
    }
    /* Padding and the rest of a block included, so that writing the batch needs no memory. */
    if (buffer_reserve(&batch->bytes, LOG_BATCH_HEADER_BYTES + size_bytes + LOG_ALIGNMENT_BYTES +
                                          LOG_BLOCK_BYTES) == NULL) {
        batch->bytes.failed = false;
        return STATUS_NO_MEMORY;
    }
    if (batch->bytes.size_bytes == 0) {
        memset(batch->bytes.data, 0, LOG_BATCH_HEADER_BYTES);
        buffer_advance(&batch->bytes, LOG_BATCH_HEADER_BYTES);
    }
    log_record_encode(record, &batch->bytes);
    ASSERT(!batch->bytes.failed);
    batch->record_count++;
    return STATUS_OK;
}

enum status log_append(struct log *log, const struct log_record *record, uint64_t *ret_position)
{
    (void)pthread_mutex_lock(&log->mutex);
    enum status status = append(log, record);
    if (status == STATUS_OK) {
        *ret_position = log->gathering.position;
    }
    (void)pthread_mutex_unlock(&log->mutex);
    return status;
}

void log_commit(struct log *log)
{
    (void)pthread_mutex_lock(&log->mutex);
    bool first = log->gathering.record_count > 0 && !log->commit_wanted;
    log->commit_wanted = log->commit_wanted || first;
    bool asleep = first && log->flight_bytes == 0;
    (void)pthread_mutex_unlock(&log->mutex);
    if (asleep) {
        (void)pthread_cond_signal(&log->writer_wake); /* unlocked: it needs the lock at once */
    }
}

void log_release(struct log *log, uint64_t position)
{
    (void)pthread_mutex_lock(&log->mutex);
    uint64_t synced = log->statistics.synced_position;
    position = position < synced ? position : synced;
    if (position > log->release_position) {
        log->release_position = position;
        if (log->segments.count > 1 && log->segments.at[1]->header.first_position <= position) {
            log->release_wanted = true;
            (void)pthread_cond_signal(&log->keeper_wake);
        }
    }
    (void)pthread_mutex_unlock(&log->mutex);
}

uint64_t log_segment_end_at(struct log *log, uint64_t position)
{
    uint64_t end = 0;
    (void)pthread_mutex_lock(&log->mutex);
    for (size_t i = 0; i < log->segments.count; i++) {
        const struct log_segment_header *header = &log->segments.at[i]->header;
        if (header->first_position <= position && position < log_segment_end(header)) {
            end = log_segment_end(header);
        }
    }
    (void)pthread_mutex_unlock(&log->mutex);
    return end;
}

void log_keep_spares(struct log *log, uint32_t count_max)
{
    uint32_t most = log->options.spare_segments_max;
    uint32_t wanted = count_max < most ? count_max : most;
    (void)pthread_mutex_lock(&log->mutex);
    if (wanted < log->spares_wanted) {
        (void)pthread_cond_signal(&log->keeper_wake);
    }
    log->spares_wanted = wanted;
    (void)pthread_mutex_unlock(&log->mutex);
}

void log_keep_from(struct log *log, uint64_t position)
{
    (void)pthread_mutex_lock(&log->mutex);
    log->keep_from = position < log->keep_from ? position : log->keep_from;
    (void)pthread_mutex_unlock(&log->mutex);
}

void log_keep_bytes(struct log *log, uint64_t bytes_max)
{
    uint64_t most = log->options.keep_bytes;
    uint64_t wanted = bytes_max < most ? bytes_max : most;
    (void)pthread_mutex_lock(&log->mutex);
    if (wanted < log->keep_bytes) {
        (void)pthread_cond_signal(&log->keeper_wake);
    }
    log->keep_bytes = wanted;
    (void)pthread_mutex_unlock(&log->mutex);
}

void log_statistics(struct log *log, struct log_statistics *ret_statistics)
{
    (void)pthread_mutex_lock(&log->mutex);
    *ret_statistics = log->statistics;
    ret_statistics->lacking = log_room_is_short(log) ? log->lacking : STATUS_OK;
    ret_statistics->kept_count = log->kept.count;
    if (log->kept.count > 0) {
        ret_statistics->kept_position = log->kept.at[0]->header.first_position;
    } else {
        ret_statistics->kept_position = ret_statistics->first_position;
    }
    ret_statistics->next_position = log->gathering.position +
                                    log_align(log->gathering.bytes.size_bytes);
    (void)pthread_mutex_unlock(&log->mutex);
}

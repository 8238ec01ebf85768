#include "tabletserver/storage/log/log_replay.h"

#include "common/base/assert.h"

/* Read at least so much at once, where there is as much. */
#define WINDOW_BYTES ((size_t)1024 * 1024)

static struct log_replay_segment *segments_of(const struct log_replay *replay)
{
    return (struct log_replay_segment *)(void *)replay->segments.data;
}

static uint64_t stream_end(const struct log_replay *replay)
{
    size_t count = log_replay_segment_count(replay);
    uint64_t end = count == 0 ? replay->anchor.start_position
                              : log_segment_end(&segments_of(replay)[count - 1].header);
    return end < replay->limit ? end : replay->limit;
}

/* The segment in which the position lies; it must lie in one. */
static struct log_replay_segment *segment_of_position(struct log_replay *replay, uint64_t position)
{
    struct log_replay_segment *segments = segments_of(replay);
    size_t low = 0;
    size_t high = log_replay_segment_count(replay);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (segments[middle].header.first_position <= position) {
            low = middle;
        } else {
            high = middle;
        }
    }
    ASSERT(low < high);
    ASSERT(position >= segments[low].header.first_position);
    ASSERT(position < log_segment_end(&segments[low].header));
    return &segments[low];
}

static uint64_t seed_of_position(struct log_replay *replay, uint64_t position)
{
    const struct log_segment_header *header = &segment_of_position(replay, position)->header;
    return log_batch_seed(header->salt, header->generation, position);
}

/* Not below anything read and, from where the anchor's epoch began, not below that. */
static uint64_t epoch_min(const struct log_replay *replay, uint64_t position)
{
    bool reached = position >= replay->anchor.epoch_position;
    return reached && replay->anchor.epoch > replay->epoch ? replay->anchor.epoch : replay->epoch;
}

static bool finish(struct log_replay *replay,
                   enum log_replay_event event,
                   const struct log_replay_output *result)
{
    replay->phase = LOG_REPLAY_PHASE_DONE;
    replay->result_event = event;
    replay->result = *result;
    return true;
}

static bool finish_without_memory(struct log_replay *replay)
{
    return finish(replay, LOG_REPLAY_NO_MEMORY, &(struct log_replay_output){0});
}

static bool finish_corrupt(struct log_replay *replay, const char *reason)
{
    struct log_replay_output result = {
        .position = replay->position,
        .reason = reason,
        .proven = replay->proven_position,
    };
    size_t count = log_replay_segment_count(replay);
    if (replay->position < stream_end(replay)) {
        const struct log_segment_header *header = &segment_of_position(replay, replay->position)
                                                       ->header;
        result.segment = header->generation;
        result.offset = LOG_BLOCK_BYTES + replay->position - header->first_position;
    } else {
        result.segment = replay->anchor.start_segment + count;
    }
    return finish(replay, LOG_REPLAY_CORRUPT, &result);
}

static bool finish_end(struct log_replay *replay)
{
    struct log_replay_output result = {
        .position = replay->position,
        .torn_bytes = replay->torn_bytes,
        .clean = replay->clean && replay->torn_bytes == 0,
        .proven = replay->proven_position,
    };
    ASSERT(result.proven <= result.position);
    return finish(replay, LOG_REPLAY_END, &result);
}

/*
 * True when the stream [position, position + size) is in the window.  Else false, and *ret_output
 * asks for what is missing (or memory ran out: then the machine is done).  What lies before
 * position is forgotten.
 */
static bool window_holds(struct log_replay *replay,
                         uint64_t position,
                         size_t size_bytes,
                         struct log_replay_output *ret_output)
{
    ASSERT(position >= replay->window_position);
    ASSERT(position + size_bytes <= stream_end(replay));
    uint64_t window_end = replay->window_position + replay->window.size_bytes;
    if (position + size_bytes <= window_end) {
        return true;
    }
    size_t kept = position < window_end ? (size_t)(window_end - position) : 0;
    if (kept > 0) {
        memmove(replay->window.data, replay->window.data + replay->window.size_bytes - kept, kept);
    }
    replay->window.size_bytes = kept;
    replay->window_position = position;

    uint64_t want = stream_end(replay) - position;
    size_t least = size_bytes > WINDOW_BYTES ? size_bytes : WINDOW_BYTES;
    want = want < least ? want : least;
    uint8_t *into = buffer_reserve(&replay->window, (size_t)want - kept);
    if (into == NULL) {
        (void)finish_without_memory(replay);
        return false;
    }
    replay->reading_bytes = (size_t)want - kept;
    *ret_output = (struct log_replay_output){
        .position = position + kept,
        .into = into,
        .size_bytes = replay->reading_bytes,
    };
    return false;
}

/* What a step that found its bytes missing gives: READ, or the end of everything. */
static bool asked(const struct log_replay *replay, enum log_replay_event *ret_event)
{
    *ret_event = LOG_REPLAY_READ;
    return replay->phase != LOG_REPLAY_PHASE_DONE;
}

static const uint8_t *window_at(const struct log_replay *replay, uint64_t position)
{
    return replay->window.data + (position - replay->window_position);
}

/* The batch at `position` is bad: corrupt if it is proven synced, else look for proof. */
static void begin_scan(struct log_replay *replay, const char *reason, uint64_t torn_bytes)
{
    replay->bad_reason = reason;
    replay->torn_bytes = torn_bytes;
    if (replay->proven_position > replay->position) {
        (void)finish_corrupt(replay, reason);
        return;
    }
    replay->scan_position = replay->position + LOG_ALIGNMENT_BYTES;
    replay->phase = LOG_REPLAY_PHASE_SCAN;
}

static void begin_records(struct log_replay *replay)
{
    struct log_replay_segment *segment = segment_of_position(replay, replay->position);
    if (segment->first_batch_position == LOG_POSITION_NONE) {
        segment->first_batch_position = replay->position;
    }
    if (replay->batch.synced_position > replay->proven_position) {
        replay->proven_position = replay->batch.synced_position;
    }
    replay->epoch = replay->batch.epoch;
    replay->clean = (replay->batch.flags & LOG_BATCH_CLEAN_END) != 0;
    replay->reader = byte_reader_of(bytes_of(
        window_at(replay, replay->position) + LOG_BATCH_HEADER_BYTES, replay->batch.payload_bytes));
    replay->records_left = replay->batch.record_count;
    replay->phase = LOG_REPLAY_PHASE_RECORDS;
}

/* Each of the three step functions: true with an event, false to step again. */
static bool step_batch(struct log_replay *replay,
                       struct log_replay_output *ret_output,
                       enum log_replay_event *ret_event)
{
    uint64_t left = stream_end(replay) - replay->position;
    struct log_batch_header *batch = &replay->batch;
    if (left < LOG_BATCH_HEADER_BYTES) {
        begin_scan(replay, left == 0 ? "the segment is missing" : "there is no batch", 0);
        return false;
    }
    if (!window_holds(replay, replay->position, LOG_BATCH_HEADER_BYTES, ret_output)) {
        return asked(replay, ret_event);
    }
    uint64_t seed = seed_of_position(replay, replay->position);
    const uint8_t *header = window_at(replay, replay->position);
    const char *reason = log_batch_header_decode(header, replay->position, seed, batch);
    if (reason == NULL && batch->epoch < epoch_min(replay, replay->position)) {
        reason = "the batch is of an older epoch";
    }
    if (reason != NULL) {
        begin_scan(replay, reason, 0);
        return false;
    }
    size_t size_bytes = LOG_BATCH_HEADER_BYTES + (size_t)batch->payload_bytes;
    if (size_bytes > left && replay->limit == UINT64_MAX) {
        /* It was not written before the segment was there, durably (log_keeper.c). */
        (void)finish_corrupt(replay, "the batch goes on in a segment that is missing");
        return false;
    }
    if (size_bytes > left) {
        begin_scan(replay, "the batch goes on beyond the last segment", left);
        return false;
    }
    if (!window_holds(replay, replay->position, size_bytes, ret_output)) {
        return asked(replay, ret_event);
    }
    const uint8_t *payload = window_at(replay, replay->position) + LOG_BATCH_HEADER_BYTES;
    if (log_payload_checksum(payload, batch->payload_bytes, seed) != batch->payload_checksum) {
        begin_scan(replay, "the checksum of the batch is wrong", size_bytes);
        return false;
    }
    begin_records(replay);
    return false;
}

static bool is_padding(const struct byte_reader *reader)
{
    size_t left = byte_reader_left(reader);
    for (size_t i = 0; i < left; i++) {
        if (reader->at[i] != 0) {
            return false;
        }
    }
    return left < LOG_ALIGNMENT_BYTES;
}

static bool step_records(struct log_replay *replay,
                         struct log_replay_output *ret_output,
                         enum log_replay_event *ret_event)
{
    if (replay->records_left == 0) {
        if (!is_padding(&replay->reader)) {
            (void)finish_corrupt(replay, "the batch holds more than its records");
            return false;
        }
        replay->position += LOG_BATCH_HEADER_BYTES + replay->batch.payload_bytes;
        replay->phase = LOG_REPLAY_PHASE_BATCH;
        return false;
    }
    *ret_output = (struct log_replay_output){.position = replay->position};
    if (!log_record_decode(&replay->reader, replay->batch.format, &ret_output->record)) {
        (void)finish_corrupt(replay, "a record of the batch does not decode");
        return false;
    }
    replay->records_left--;
    *ret_event = LOG_REPLAY_RECORD;
    return true;
}

/* Does a later header prove that the bad batch was synced? */
static bool proves(struct log_replay *replay, uint64_t position)
{
    struct log_batch_header header;
    const uint8_t *bytes = window_at(replay, position);
    return log_batch_header_is_likely(bytes, position) &&
           log_batch_header_decode(bytes, position, seed_of_position(replay, position), &header) ==
               NULL &&
           header.epoch >= epoch_min(replay, position) && header.synced_position > replay->position;
}

static bool step_scan(struct log_replay *replay,
                      struct log_replay_output *ret_output,
                      enum log_replay_event *ret_event)
{
    uint64_t end = stream_end(replay);
    if (replay->scan_position + LOG_BATCH_HEADER_BYTES > end) {
        (void)finish_end(replay);
        return false;
    }
    uint64_t left = end - replay->scan_position;
    size_t piece = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
    if (!window_holds(replay, replay->scan_position, piece, ret_output)) {
        return asked(replay, ret_event);
    }
    uint64_t piece_end = replay->scan_position + piece;
    for (; replay->scan_position + LOG_BATCH_HEADER_BYTES <= piece_end;
         replay->scan_position += LOG_ALIGNMENT_BYTES) {
        if (proves(replay, replay->scan_position)) {
            replay->proven_position = replay->scan_position;
            (void)finish_corrupt(replay, replay->bad_reason);
            return false;
        }
    }
    return false;
}

void log_replay_init(struct log_replay *replay,
                     const struct log_anchor *anchor,
                     uint64_t synced_position_hint)
{
    uint64_t hint = anchor->cut ? 0 : synced_position_hint;
    *replay = (struct log_replay){
        .anchor = *anchor,
        .phase = LOG_REPLAY_PHASE_BATCH,
        .limit = UINT64_MAX,
        .position = anchor->start_position,
        .window_position = anchor->start_position,
        .proven_position = anchor->synced_position > hint ? anchor->synced_position : hint,
    };
    buffer_init(&replay->segments);
    buffer_init(&replay->window);
}

void log_replay_deinit(struct log_replay *replay)
{
    buffer_deinit(&replay->segments);
    buffer_deinit(&replay->window);
}

void log_replay_limit(struct log_replay *replay, uint64_t position)
{
    replay->limit = position;
}

size_t log_replay_segment_count(const struct log_replay *replay)
{
    return replay->segments.size_bytes / sizeof(struct log_replay_segment);
}

const struct log_replay_segment *log_replay_segment_at(const struct log_replay *replay,
                                                       size_t index)
{
    ASSERT(index < log_replay_segment_count(replay));
    return &segments_of(replay)[index];
}

enum status log_replay_add_segment(struct log_replay *replay,
                                   uint64_t number,
                                   const struct log_segment_header *header,
                                   struct error *ret_error)
{
    size_t count = log_replay_segment_count(replay);
    uint64_t expected = replay->anchor.start_segment + count;
    if (number != expected) {
        return error_set(ret_error, STATUS_CORRUPT, "segment %llu is missing: %llu follows",
                         (unsigned long long)expected, (unsigned long long)number);
    }
    if (header->generation != number) {
        return error_set(ret_error, STATUS_CORRUPT, "segment %llu says that it is segment %llu",
                         (unsigned long long)number, (unsigned long long)header->generation);
    }
    bool continues = count == 0 ? header->first_position <= replay->anchor.start_position &&
                                      replay->anchor.start_position < log_segment_end(header)
                                : header->first_position == stream_end(replay);
    if (!continues) {
        return error_set(ret_error, STATUS_CORRUPT,
                         "segment %llu begins at position %llu, not at %llu",
                         (unsigned long long)number, (unsigned long long)header->first_position,
                         (unsigned long long)stream_end(replay));
    }
    struct log_replay_segment segment = {*header, LOG_POSITION_NONE};
    buffer_append(&replay->segments, &segment, sizeof segment);
    return replay->segments.failed
               ? error_set(ret_error, STATUS_NO_MEMORY, "no memory to read the log back")
               : STATUS_OK;
}

enum log_replay_event log_replay_step(struct log_replay *replay,
                                      struct log_replay_output *ret_output)
{
    enum log_replay_event event = LOG_REPLAY_END;
    bool has_event = false;
    buffer_advance(&replay->window, replay->reading_bytes);
    replay->reading_bytes = 0;
    while (!has_event) {
        switch (replay->phase) {
        case LOG_REPLAY_PHASE_BATCH:
            has_event = step_batch(replay, ret_output, &event);
            break;
        case LOG_REPLAY_PHASE_RECORDS:
            has_event = step_records(replay, ret_output, &event);
            break;
        case LOG_REPLAY_PHASE_SCAN:
            has_event = step_scan(replay, ret_output, &event);
            break;
        case LOG_REPLAY_PHASE_DONE:
            *ret_output = replay->result;
            return replay->result_event;
        }
    }
    return event;
}

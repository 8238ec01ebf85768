/*
 * Reading the log back while it is written: what is kept and what is live, up to what is synced.
 *
 * The replay machine does it, over segments that are held meanwhile.  What it says of damage means
 * only that it is not there: nobody relies on these segments but to be quicker.
 */
#include "common/base/memory.h"
#include "tabletserver/storage/log/log_replay.h"
#include "tabletserver/storage/log/log_state.h"

struct reading {
    struct log_segment **segments; /* held, ascending */
    size_t count;
    uint64_t end; /* synced */
    struct log_replay replay;
};

static struct log_segment *segment_at(const struct log *log, size_t index)
{
    return index < log->kept.count ? log->kept.at[index]
                                   : log->segments.at[index - log->kept.count];
}

/* Hold all from the one in which position lies.  Needs the mutex. */
static enum status hold(struct log *log, uint64_t position, struct reading *reading)
{
    size_t count = log->kept.count + log->segments.count;
    reading->end = log->statistics.synced_position;
    reading->segments = memory_allocate((count + 1) * sizeof(struct log_segment *));
    if (reading->segments == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        struct log_segment *segment = segment_at(log, i);
        if (log_segment_end(&segment->header) > position &&
            segment->header.first_position < reading->end) {
            segment->readers++;
            reading->segments[reading->count++] = segment;
        }
    }
    return STATUS_OK;
}

static void let_go(struct log *log, struct reading *reading)
{
    (void)pthread_mutex_lock(&log->mutex);
    for (size_t i = 0; i < reading->count; i++) {
        reading->segments[i]->readers--;
    }
    (void)pthread_cond_signal(&log->keeper_wake); /* one may be kept only for us */
    (void)pthread_mutex_unlock(&log->mutex);
    memory_free(reading->segments);
}

/* Segments must follow on each other: adding them sees to it. */
static enum status prepare(struct reading *reading, uint64_t position)
{
    if (reading->count == 0 || reading->segments[0]->header.first_position > position) {
        return STATUS_NOT_FOUND;
    }
    for (size_t i = 0; i < reading->count; i++) {
        const struct log_segment_header *header = &reading->segments[i]->header;
        enum status status = log_replay_add_segment(&reading->replay, header->generation, header,
                                                    NULL);
        if (status != STATUS_OK) {
            return status == STATUS_NO_MEMORY ? status : STATUS_NOT_FOUND;
        }
    }
    log_replay_limit(&reading->replay, reading->end);
    return STATUS_OK;
}

static enum status read_stream(const struct reading *reading,
                               const struct log_replay_output *output)
{
    size_t done = 0;
    for (size_t i = 0; i < reading->count && done < output->size_bytes; i++) {
        const struct log_segment_header *header = &reading->segments[i]->header;
        uint64_t at = output->position + done;
        if (at >= log_segment_end(header)) {
            continue;
        }
        uint64_t room = log_segment_end(header) - at;
        size_t left = output->size_bytes - done;
        size_t piece = left < room ? left : (size_t)room;
        if (file_read_at(&reading->segments[i]->file, LOG_BLOCK_BYTES + at - header->first_position,
                         output->into + done, piece, NULL) != STATUS_OK) {
            return STATUS_NOT_FOUND;
        }
        done += piece;
    }
    return STATUS_OK;
}

static enum status read_records(struct reading *reading, log_read_function on_record, void *context)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK) {
        struct log_replay_output output = {0};
        switch (log_replay_step(&reading->replay, &output)) {
        case LOG_REPLAY_READ:
            status = read_stream(reading, &output);
            break;
        case LOG_REPLAY_RECORD:
            if (!on_record(context, &output.record, output.position)) {
                return STATUS_OK;
            }
            break;
        case LOG_REPLAY_END:
            return output.position == reading->end ? STATUS_OK : STATUS_NOT_FOUND;
        case LOG_REPLAY_CORRUPT:
            return STATUS_NOT_FOUND;
        case LOG_REPLAY_NO_MEMORY:
            return STATUS_NO_MEMORY;
        }
    }
    return status;
}

enum status log_read(struct log *log, uint64_t position, log_read_function on_record, void *context)
{
    struct reading reading = {.count = 0};
    (void)pthread_mutex_lock(&log->mutex);
    enum status status = hold(log, position, &reading);
    (void)pthread_mutex_unlock(&log->mutex);
    if (status != STATUS_OK) {
        return status;
    }
    if (position < reading.end) {
        const struct log_anchor from = {
            .start_segment = reading.count > 0 ? reading.segments[0]->header.generation : 0,
            .start_position = position,
        };
        log_replay_init(&reading.replay, &from, 0);
        status = prepare(&reading, position);
        if (status == STATUS_OK) {
            status = read_records(&reading, on_record, context);
        }
        log_replay_deinit(&reading.replay);
    }
    let_go(log, &reading);
    return status;
}

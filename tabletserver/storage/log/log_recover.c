/*
 * Opening the log: find its files, read them back, make sure of the end.
 *
 * What the replay machine (log_replay.h) accepted above the proven position may never have reached
 * the disk: it can come from the page cache, left there by a process that died, even after a sync
 * that failed, which marks pages clean.  So those bytes are written once more and synced before
 * anyone relies on them.  Only then is the new epoch anchored at the end position.
 */
#include <string.h>

#include "common/base/memory.h"
#include "tabletserver/storage/log/log_recycle.h"
#include "tabletserver/storage/log/log_replay.h"
#include "tabletserver/storage/log/log_state.h"

#define NAME_BLOCK_BYTES    4096
#define REWRITE_PIECE_BYTES ((size_t)256 * 1024)

static enum status add_segment(struct log *log,
                               struct log_replay *replay,
                               uint64_t number,
                               struct error *ret_error)
{
    struct log_segment *segment = NULL;
    struct error error = {0};
    if (!log_segments_reserve(&log->segments)) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for a log segment");
    }
    enum status status = log_segment_open(log->folder, number, log->options.store_number, &segment,
                                          &error);
    if (status == STATUS_OK) {
        status = log_replay_add_segment(replay, number, &segment->header, &error);
        if (status == STATUS_OK) {
            log_segments_add(&log->segments, segment);
        } else {
            log_segment_destroy(segment);
            (void)error_prefix(&error, "log in %s", log->folder);
        }
    }
    return status == STATUS_OK ? status : error_set(ret_error, status, "%s", error.text);
}

/* A spare of today's size is kept, up to the maximum; others go. */
static enum status take_spare(struct log *log, uint64_t number, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    struct file file = FILE_CLOSED;
    uint64_t size = 0;
    enum status status = log_segment_path(path, log->folder, LOG_SPARE_PREFIX, number, ret_error);
    if (status == STATUS_OK) {
        status = file_open(path, &file, ret_error);
    }
    if (status == STATUS_OK) {
        status = file_size(&file, &size, ret_error);
        file_close(&file);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (size == log->options.segment_bytes && log->spare_count < log->options.spare_segments_max) {
        log->spares[log->spare_count++] = number;
        return STATUS_OK;
    }
    return file_unlink(path, ret_error);
}

/*
 * Below the start of the log is what was kept for others, or what an interrupted release left behind:
 * it is not replayed, and its space is used again.
 */
static enum status take_segment(struct log *log,
                                struct log_replay *replay,
                                uint64_t number,
                                struct error *ret_error)
{
    if (number >= log->anchor.start_segment) {
        struct error error = {.status = STATUS_OK};
        enum status status = add_segment(log, replay, number, &error);
        return status == STATUS_OK ? status
                                   : error_set(ret_error, status, "%.800s%s", error.text,
                                               status == STATUS_CORRUPT ? "; " LOG_ADVICE : "");
    }
    enum status status = log_segment_put_aside(log->folder, number, LOG_SPARE_PREFIX, ret_error);
    return status == STATUS_OK ? take_spare(log, number, ret_error) : status;
}

static enum status count_lost(struct log *log,
                              const struct log_listing *listing,
                              uint64_t number,
                              struct error *ret_error)
{
    for (size_t i = 0; i < listing->count; i++) {
        uint64_t lost = 0;
        if (log_segment_number(listing->names[i], LOG_LOST_PREFIX, &lost) && lost == number) {
            return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                             "%s/%s is there from an earlier repair: move it elsewhere first",
                             log->folder, listing->names[i]);
        }
    }
    log->repair->result.lost_segments++;
    return STATUS_OK;
}

/* The first that is damaged or does not follow is lost, and all after it; nothing is changed yet. */
static enum status take_segment_to_repair(struct log *log,
                                          struct log_replay *replay,
                                          const struct log_listing *listing,
                                          uint64_t number,
                                          struct error *ret_error)
{
    struct log_repairing *repair = log->repair;
    struct error error = {.status = STATUS_OK};
    if (number < log->anchor.start_segment && !repair->anchor_lost) {
        return STATUS_OK;
    }
    if (repair->lost_from == 0) {
        enum status status = add_segment(log, replay, number, &error);
        if (status != STATUS_CORRUPT) {
            return status == STATUS_OK ? status : error_set(ret_error, status, "%s", error.text);
        }
        repair->lost_from = number;
        memcpy(repair->result.reason, error.text, sizeof error.text);
    }
    return count_lost(log, listing, number, ret_error);
}

/* Names are sorted, so numbers ascend. */
static enum status open_files(struct log *log,
                              struct log_replay *replay,
                              const struct log_listing *listing,
                              struct error *ret_error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < listing->count; i++) {
        const char *name = listing->names[i];
        uint64_t number = 0;
        if (log_segment_number(name, LOG_SEGMENT_PREFIX, &number)) {
            status = log->repair == NULL
                         ? take_segment(log, replay, number, ret_error)
                         : take_segment_to_repair(log, replay, listing, number, ret_error);
        } else if (log->repair == NULL && log_segment_number(name, LOG_SPARE_PREFIX, &number)) {
            status = take_spare(log, number, ret_error);
        }
    }
    return status;
}

/*
 * From the first opening on there is a segment at any time, unless all were cut off.  One that was begun and not yet
 * anchored again has nothing else that would miss them.
 */
static enum status miss_segments(struct log *log, struct error *ret_error)
{
    struct log_repairing *repair = log->repair;
    char path[FILE_PATH_SIZE_MAX];
    bool has_other_reason = repair != NULL && (repair->anchor_lost || repair->lost_from != 0);
    if (log->segments.count > 0 || !log->options.expected || log->anchor.cut || has_other_reason) {
        return STATUS_OK;
    }
    enum status status = log_segment_path(path, log->folder, LOG_SEGMENT_PREFIX,
                                          log->anchor.start_segment, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct error error = {.status = STATUS_OK};
    status = error_set(&error, STATUS_CORRUPT,
                       "%s is missing, and all behind it, yet there have been some", path);
    if (repair == NULL) {
        return error_set(ret_error, status, "%s; " LOG_ADVICE " --synced %llu", error.text,
                         (unsigned long long)log->options.synced_position_hint);
    }
    repair->result.cut = true;
    repair->result.proven_position = log->anchor.synced_position;
    memcpy(repair->result.reason, error.text, sizeof error.text);
    return STATUS_OK;
}

/* Copy a piece of the stream between the segments and memory. */
static enum status transfer(struct log *log,
                            uint64_t position,
                            uint8_t *data,
                            size_t size_bytes,
                            bool write,
                            struct error *ret_error)
{
    size_t done = 0;
    while (done < size_bytes) {
        const struct log_segment *segment = log_segments_find(&log->segments, position + done);
        const struct log_segment_header *header = &segment->header;
        uint64_t offset = LOG_BLOCK_BYTES + position + done - header->first_position;
        uint64_t room = log_segment_end(header) - position - done;
        size_t piece = size_bytes - done < room ? size_bytes - done : (size_t)room;
        enum status status = write ? file_write_at(&segment->file, offset, data + done, piece,
                                                   ret_error)
                                   : file_read_at(&segment->file, offset, data + done, piece,
                                                  ret_error);
        if (status != STATUS_OK) {
            return status;
        }
        done += piece;
    }
    return STATUS_OK;
}

static enum status refuse(struct log *log,
                          const struct log_replay_output *output,
                          struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    enum status status = log_segment_path(path, log->folder, LOG_SEGMENT_PREFIX, output->segment,
                                          ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    return error_set(
        ret_error, STATUS_CORRUPT,
        "%s, offset %llu: %s at position %llu, and the log was synced up to %llu; " LOG_ADVICE
        " --synced %llu",
        path, (unsigned long long)output->offset, output->reason,
        (unsigned long long)output->position, (unsigned long long)output->proven,
        (unsigned long long)output->proven);
}

/* A repair takes the damage for the end of the log. */
static struct log_replay_output cut_at(struct log *log,
                                       const struct log_replay_output *output,
                                       const struct error *error)
{
    struct log_repair *result = &log->repair->result;
    result->cut = true;
    result->proven_position = output->proven;
    if (result->lost_segments == 0) {
        memcpy(result->reason, error->text, sizeof error->text);
    }
    return (struct log_replay_output){.position = output->position, .proven = output->position};
}

/* Drive the machine to the end of the log; give the records out, or only look where it ends. */
static enum status replay_records(struct log *log,
                                  struct log_replay *replay,
                                  bool give_out,
                                  struct log_replay_output *ret_end,
                                  struct error *ret_error)
{
    enum status status = STATUS_OK;
    const struct log_options *options = &log->options;
    while (status == STATUS_OK) {
        struct log_replay_output output = {0};
        switch (log_replay_step(replay, &output)) {
        case LOG_REPLAY_READ:
            status = transfer(log, output.position, output.into, output.size_bytes, false,
                              ret_error);
            break;
        case LOG_REPLAY_RECORD:
            status = give_out ? options->on_replay(options->context, &output.record,
                                                   output.position, ret_error)
                              : STATUS_OK;
            break;
        case LOG_REPLAY_END:
            *ret_end = output;
            return STATUS_OK;
        case LOG_REPLAY_CORRUPT:
            status = refuse(log, &output, ret_error);
            if (status == STATUS_CORRUPT && log->repair != NULL) {
                *ret_end = cut_at(log, &output, ret_error);
                return STATUS_OK;
            }
            break;
        case LOG_REPLAY_NO_MEMORY:
            return error_set(ret_error, STATUS_NO_MEMORY, "no memory to read the log back");
        }
    }
    return status;
}

/* Make durable what was read: [proven, end) written again, everything synced; and the names of the files, for who gave
 * them may have died before they were. */
static enum status secure_end(struct log *log,
                              uint64_t proven,
                              uint64_t end,
                              struct error *ret_error)
{
    uint8_t *piece = memory_allocate(REWRITE_PIECE_BYTES);
    enum status status = STATUS_OK;
    if (piece == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to secure the log's end");
    }
    uint64_t position = proven;
    while (status == STATUS_OK && position < end) {
        uint64_t left = end - position;
        size_t size = left < REWRITE_PIECE_BYTES ? (size_t)left : REWRITE_PIECE_BYTES;
        status = transfer(log, position, piece, size, false, ret_error);
        if (status == STATUS_OK) {
            status = transfer(log, position, piece, size, true, ret_error);
        }
        position += size;
    }
    memory_free(piece);
    for (size_t i = 0; status == STATUS_OK && i < log->segments.count; i++) {
        status = file_sync(&log->segments.at[i]->file, ret_error);
    }
    return status == STATUS_OK ? file_sync_folder(log->folder, ret_error) : status;
}

static bool cuts(const struct log_repairing *repair)
{
    return repair->result.cut || repair->lost_from != 0;
}

static enum status begin_epoch(struct log *log, uint64_t end, struct error *ret_error)
{
    struct log_anchor anchor = log->anchor;
    anchor.counter++;
    anchor.epoch++;
    anchor.epoch_position = end;
    anchor.synced_position = end;
    if (log->repair != NULL) {
        log->repair->result.position = end;
        anchor.cut = anchor.cut || cuts(log->repair);
    }
    bool is_lost = log->repair != NULL && log->repair->anchor_lost;
    enum status status = is_lost ? log_anchor_create(log->folder, &anchor, ret_error)
                                 : log_anchor_write(&log->anchor_file, &anchor, ret_error);
    if (status == STATUS_OK) {
        log->anchor = anchor;
        log->epoch = anchor.epoch;
    }
    return status;
}

/* Once more from the start, now that all of it up to end_position is known to be good and, but to a judge, durable: what
 * cannot be read again is no torn end. */
static enum status give_out_records(struct log *log,
                                    const struct log_replay *replay,
                                    uint64_t end_position,
                                    struct error *ret_error)
{
    struct log_replay again;
    struct log_replay_output end = {0};
    struct log_anchor anchor = log->anchor;
    enum status status = STATUS_OK;
    anchor.synced_position = end_position > anchor.synced_position ? end_position
                                                                   : anchor.synced_position;
    log_replay_init(&again, &anchor, log->options.synced_position_hint);
    for (size_t i = 0; status == STATUS_OK && i < log->segments.count; i++) {
        const struct log_segment_header *header = &log_replay_segment_at(replay, i)->header;
        status = log_replay_add_segment(&again, header->generation, header, ret_error);
    }
    if (status == STATUS_OK) {
        status = replay_records(log, &again, true, &end, ret_error);
    }
    log_replay_deinit(&again);
    return status;
}

/* Of a log that may be cut if it has to be: give out what is whole of it, and, if it has to be, ask whether it may. 
 * Nothing was changed yet. */
static enum status ask_judge(struct log *log,
                             const struct log_replay *replay,
                             uint64_t end_position,
                             struct error *ret_error)
{
    const struct log_repair_judge *judge = log->repair->options.judge;
    enum status status = give_out_records(log, replay, end_position, ret_error);
    return status == STATUS_OK && judge != NULL && cuts(log->repair)
               ? judge->decide(judge->context, ret_error)
               : status;
}

static enum status put_lost_aside(const struct log *log,
                                  const struct log_listing *listing,
                                  struct error *ret_error)
{
    enum status status = STATUS_OK;
    uint64_t number = 0;
    for (size_t i = 0; status == STATUS_OK && i < listing->count; i++) {
        if (log_segment_number(listing->names[i], LOG_SEGMENT_PREFIX, &number) &&
            log->repair->lost_from != 0 && number >= log->repair->lost_from) {
            status = log_segment_put_aside(log->folder, number, LOG_LOST_PREFIX, ret_error);
        }
    }
    return status;
}

/*
 * Wherever a repair dies, what is left is refused, or says that it was cut.  So the anchor says that before segments
 * are missing, which would be missed by nobody; and where there was no anchor it comes last, for what it does not
 * begin with would be taken for spares.
 */
static enum status begin_or_repair(struct log *log,
                                   const struct log_listing *listing,
                                   uint64_t end,
                                   struct error *ret_error)
{
    if (log->repair == NULL) {
        return begin_epoch(log, end, ret_error);
    }
    bool aside_first = log->repair->anchor_lost;
    enum status status = aside_first ? put_lost_aside(log, listing, ret_error) : STATUS_OK;
    if (status == STATUS_OK) {
        status = begin_epoch(log, end, ret_error);
    }
    return status == STATUS_OK && !aside_first ? put_lost_aside(log, listing, ret_error) : status;
}

/*
 * The log is read twice: whoever takes the records may write them elsewhere, durably, while it
 * still takes more; so none is given out before all are durable here, and none at all of a log that
 * will be refused.
 */
static enum status recover_segments(struct log *log,
                                    const struct log_listing *listing,
                                    struct log_replay *replay,
                                    struct error *ret_error)
{
    struct log_replay_output end = {0};
    enum status status = replay_records(log, replay, false, &end, ret_error);
    if (status == STATUS_OK && log->repair != NULL) {
        status = ask_judge(log, replay, end.position, ret_error);
    }
    if (status == STATUS_OK) {
        status = secure_end(log, end.proven, end.position, ret_error);
    }
    if (status == STATUS_OK && log->repair == NULL) {
        status = give_out_records(log, replay, end.position, ret_error);
    }
    if (status == STATUS_OK) {
        status = begin_or_repair(log, listing, end.position, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    for (size_t i = 0; i < log->segments.count; i++) {
        log->segments.at[i]->first_batch_position = log_replay_segment_at(replay, i)
                                                        ->first_batch_position;
    }
    log->gathering.position = end.position;
    log->release_position = log->anchor.start_position;
    log->statistics.synced_position = end.position;
    log->statistics.segment_count = log->segments.count;
    log->statistics.file_count = log->segments.count + log->spare_count;
    log->statistics.torn_bytes = end.torn_bytes;
    log->statistics.first_position = log->segments.count == 0
                                         ? log->anchor.start_position
                                         : log->segments.at[0]->header.first_position;
    return STATUS_OK;
}

static enum status recover_listing(struct log *log,
                                   const struct log_listing *listing,
                                   struct error *ret_error)
{
    struct log_replay replay;
    enum status status = log_anchor_open(log, listing, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    log_replay_init(&replay, &log->anchor, log->options.synced_position_hint);
    status = open_files(log, &replay, listing, ret_error);
    if (status == STATUS_OK) {
        status = miss_segments(log, ret_error);
    }
    if (status == STATUS_OK) {
        status = recover_segments(log, listing, &replay, ret_error);
    }
    log_replay_deinit(&replay);
    return status;
}

enum status log_recover(struct log *log, struct error *ret_error)
{
    struct log_listing listing = {.names = NULL};
    bool may_retry = false;
    arena_init(&listing.arena, NAME_BLOCK_BYTES, SIZE_MAX);
    enum status status = STATUS_OK;
    if (log->repair == NULL) {
        status = file_make_folders(log->folder, ret_error);
    }
    if (status == STATUS_OK) {
        status = file_list_folder(log->folder, &listing.arena, &listing.names, &listing.count,
                                  ret_error);
    }
    if (status == STATUS_NOT_FOUND && log->repair == NULL) { /* just made, or its name was there */
        status = error_set(
            ret_error, STATUS_FAILED_PRECONDITION,
            "%s is a link to what is not there: if it is on a disk of its own, is that "
            "mounted?",
            log->folder);
    }
    if (status == STATUS_OK) {
        status = recover_listing(log, &listing, ret_error);
    }
    arena_deinit(&listing.arena);
    if (status == STATUS_OK && log->segments.count == 0 && log->repair == NULL) {
        status = log_add_room(log, &may_retry, ret_error);
    }
    return status;
}

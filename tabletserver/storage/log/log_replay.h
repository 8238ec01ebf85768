/*
 * Reading the log back: a pure step machine.  It is fed the anchor, the headers of the segments and
 * the bytes of the stream it asks for, and yields the records, and then how the log ends.
 *
 *          step() -> READ (the caller fills the bytes) -> step() -> RECORD, RECORD, ... -> END
 *                                                                                     or CORRUPT
 *
 * The writer has one batch on its way at a time, so a batch that is there proves that everything
 * before it was synced: its header says so ("proven-synced position").  At a bad batch:
 *
 *   - where something proves that it was synced, the log is CORRUPT: what may have been
 *     acknowledged is damaged, and cutting the log there would forget it silently;
 *   - else it is the end of the log: a torn batch, never acknowledged, or what was there before.
 *
 * Proof is the anchor's synced position, the caller's hint, the headers read so far, or a later
 * batch: so after a bad batch the rest of all segments is scanned for headers.  A later header
 * counts when its own checksum holds, whatever became of its payload.  A missing segment is a bad
 * batch like any other, as far as proof goes; one missing between two others is always corrupt, and so
 * is one into which a batch goes on: the writer had it, durably, before it began that batch.
 *
 * Old torn bytes.  The writer goes on where replay ended, in the same segment with the same seed,
 * and what lies behind is neither zeroed nor left behind in a segment of its own.  It needs not be:
 * each opening is an EPOCH.  The anchor is synced with the new epoch and the end position before
 * anything is written, and from there on a batch of an older epoch is no batch, neither to be
 * replayed nor as proof.  (That costs one block for each opening.  A fresh segment would cost
 * 64 MiB each, so that a server that crashes in a loop fills its disk; zeroing the rest costs as
 * much writing.)
 *
 * Memory: one batch at a time, LOG_BATCH_PAYLOAD_BYTES_MAX at most.  Allocates by memory.h.
 * Thread rule: one owner.
 */
#ifndef TABLETSERVER_STORAGE_LOG_LOG_REPLAY_H
#define TABLETSERVER_STORAGE_LOG_LOG_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "tabletserver/storage/log/log_format.h"

struct log_replay_segment {
    struct log_segment_header header;
    uint64_t first_batch_position; /* LOG_POSITION_NONE until a batch is found to begin in it */
};

enum log_replay_event {
    LOG_REPLAY_READ = 1, /* read stream bytes, then step again */
    LOG_REPLAY_RECORD = 2,
    LOG_REPLAY_END = 3,
    LOG_REPLAY_CORRUPT = 4,
    LOG_REPLAY_NO_MEMORY = 5,
};

struct log_replay_output {
    /* READ: fill size_bytes at `into` with the stream from position on.
     * RECORD: where its batch begins.  END: where the writer goes on.
     * CORRUPT: of the bad batch. */
    uint64_t position;
    uint8_t *into;
    size_t size_bytes;

    struct log_record record; /* RECORD: borrows until the next step */

    uint64_t torn_bytes; /* END: of a batch that had begun there and is not whole; 0 if unknown */
    bool clean;          /* END: the last batch is the mark of a clean close */

    uint64_t segment;   /* CORRUPT: number of the segment, */
    uint64_t offset;    /* and where in the file */
    const char *reason; /* what is wrong, in words; static */
    uint64_t proven;    /* CORRUPT: what was synced.  END: the position from which on nothing
                             proves that the batches read were synced */
};

enum log_replay_phase {
    LOG_REPLAY_PHASE_BATCH,
    LOG_REPLAY_PHASE_RECORDS,
    LOG_REPLAY_PHASE_SCAN,
    LOG_REPLAY_PHASE_DONE,
};

struct log_replay {
    struct log_anchor anchor;
    struct buffer segments; /* of struct log_replay_segment, ascending */
    enum log_replay_phase phase;
    uint64_t position; /* of the batch being read, or the next */
    uint64_t proven_position;
    uint64_t limit; /* the stream is taken to end there at the latest */
    uint64_t epoch; /* of the last batch; none after it may be older */
    bool clean;

    struct buffer window; /* the stream from window_position on */
    uint64_t window_position;
    size_t reading_bytes; /* asked for by the last step */

    struct log_batch_header batch;
    struct byte_reader reader; /* over its payload */
    uint32_t records_left;

    const char *bad_reason; /* SCAN: of the batch at position */
    uint64_t torn_bytes;
    uint64_t scan_position;

    struct log_replay_output result; /* DONE */
    enum log_replay_event result_event;
};

/* synced_position_hint: known from elsewhere; 0 = unknown. */
void log_replay_init(struct log_replay *replay,
                     const struct log_anchor *anchor,
                     uint64_t synced_position_hint);
void log_replay_deinit(struct log_replay *replay);

/*
 * In ascending order, from the anchor's start segment on.  number is the one in the file's name.
 * Errors: STATUS_CORRUPT (one is missing, or does not continue the one before),
 * STATUS_NO_MEMORY.
 */
enum status log_replay_add_segment(struct log_replay *replay,
                                   uint64_t number,
                                   const struct log_segment_header *header,
                                   struct error *ret_error);

/* Nothing at or beyond this position, the end of a batch, is looked at. */
void log_replay_limit(struct log_replay *replay, uint64_t position);

size_t log_replay_segment_count(const struct log_replay *replay);
const struct log_replay_segment *log_replay_segment_at(const struct log_replay *replay,
                                                       size_t index);

/* END, CORRUPT and NO_MEMORY are final: further steps give the same. */
enum log_replay_event log_replay_step(struct log_replay *replay,
                                      struct log_replay_output *ret_output);

#endif /* TABLETSERVER_STORAGE_LOG_LOG_REPLAY_H */

/*
 * Which segments are still needed, and what becomes of the others.  Pure.
 *
 * Replay must begin where a batch begins.  A segment knows the first batch that begins in it (none,
 * where one large batch covers it whole).  So the log is kept from the last segment whose first
 * batch begins at or below the release position: nothing at or above that position lies, or
 * begins, before it.
 *
 *      | seg 7 B...B...B..|..B...B......|......B..|      B = a batch begins
 *                             ^ released to here: keep from segment 8, start at its first B
 */
#ifndef TABLETSERVER_STORAGE_LOG_LOG_RECYCLE_H
#define TABLETSERVER_STORAGE_LOG_LOG_RECYCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_recycle_segment {
    uint64_t number;
    uint64_t first_batch_position; /* LOG_POSITION_NONE when no batch begins in it */
    uint32_t segment_bytes;
};

struct log_recycle_plan {
    size_t release_count;    /* the first so many segments are not needed */
    uint64_t start_segment;  /* with release_count 0, what was given */
    uint64_t start_position; /* replay begins there */
};

/* What to do with a segment that is no longer needed. */
enum log_recycle_fate {
    LOG_RECYCLE_SPARE,  /* keep the file for a later segment */
    LOG_RECYCLE_DELETE, /* there are enough spares, or its size is not today's */
};

/*
 * segments ascend; start is where replay begins now.  The last segment in which a batch begins is
 * never released, whatever the position.
 */
struct log_recycle_plan log_recycle_plan(const struct log_recycle_segment *segments,
                                         size_t count,
                                         uint64_t start_segment,
                                         uint64_t start_position,
                                         uint64_t release_position);

/* Segments that were released and are kept for a time, oldest first. */
struct log_recycle_kept {
    size_t count;
    uint64_t bytes; /* of all of them */
    uint64_t bytes_max;
    int64_t oldest_ns; /* when the oldest was released */
    int64_t keep_ns;
    bool room_wanted; /* there is no room for a new segment */
};

/* Shall the oldest go now? */
bool log_recycle_gives_up(const struct log_recycle_kept *kept, int64_t now_ns);

struct log_recycle_spares {
    uint32_t count; /* there are now */
    uint32_t count_max;
    uint32_t segment_bytes; /* of the segments made today */
};

enum log_recycle_fate log_recycle_fate(const struct log_recycle_segment *segment,
                                       const struct log_recycle_spares *spares);

#endif /* TABLETSERVER_STORAGE_LOG_LOG_RECYCLE_H */

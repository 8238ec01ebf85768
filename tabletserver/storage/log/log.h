/*
 * The store's log: what is promised is here first, synced.
 *
 * A logical stream of bytes, addressed by POSITION (a byte offset that only grows), laid over
 * preallocated, zeroed, recycled segment files.  Records go out in batches, one write and one
 * fdatasync each (group commit): while one batch is on its way the next gathers.  The checksum of a
 * batch is seeded with the segment generation and the position, so an old batch in a recycled
 * segment never passes; each batch header carries the position known to be synced before it.
 * docs/storage-format.md has the bytes.
 *
 * Each opening is an epoch, anchored durably where it begins: what a torn end or an earlier life of
 * a segment left behind it is never replayed (log_replay.h says why this and not zeroing).
 *
 * Recovery (log_replay.h, pure): a bad batch above the highest proven-synced position is a torn
 * tail and ends the log; a bad batch below it is corruption: refuse, name file and offset.
 *
 * A failed fdatasync or write is fatal to the store: on_failed is called once, nothing after it is
 * ever reported synced, and nothing is retried.
 *
 * A full disk is no failure: what is preallocated is used up, then appends are refused, until space
 * returns or segments are released; releasing needs no new space.
 *
 * Thread rules: log_append, log_commit, log_release on the owner's thread.  on_synced and on_failed
 * are called on the log's own threads, one at a time, and must only hand over.
 */
#ifndef TABLETSERVER_STORAGE_LOG_LOG_H
#define TABLETSERVER_STORAGE_LOG_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/base/stamp.h"

/* Types below it are entries of a tablet's replicated log; from it on they are the store's own. */
#define LOG_RECORD_TYPE_OWN 16

/* A prepared entry: of which tablet, under which configuration, at which sequence, what to do. */
struct log_record {
    uint8_t type; /* enum record_type (record.h) */
    uint64_t tablet;
    uint64_t configuration; /* version of the tablet's under which it was first given out */
    uint64_t behind;        /* so many entries, this one included, were not known to be committed
                               when it was logged; at most `sequence`.  Not in the store's own */
    uint64_t sequence;
    struct stamp stamp;
    struct bytes payload;
};

struct log_options {
    const char *folder;
    uint64_t store_number;  /* bound into every segment header */
    uint32_t segment_bytes; /* multiple of 4096, at least 16384; default 64 MiB */
    int64_t keep_ns; /* segments with what may be wanted again stay so long after their release, */
    uint64_t keep_bytes;         /* as far as all of them take no more than that: log_keep_from() */
    uint32_t spare_segments_max; /* recycled ones kept ready, as log_keep_spares() has it */
    uint64_t pending_bytes_max;  /* log_append refuses above it (back-pressure), except a
                                      record larger than that when nothing is pending */
    uint64_t synced_position_hint; /* known synced from elsewhere (LMDB), 0 = unknown */
    /* there has been a log: if nothing, or no segment, is there it is lost, not new */
    bool expected;
    void *context;
    void (*on_synced)(void *context, uint64_t position); /* everything below is durable */
    void (*on_failed)(void *context, const struct error *error);
    /* Recovery: called during log_open for every record, in order; the payload is good for the
     * call.  An error ends log_open with it. */
    enum status (*on_replay)(void *context,
                             const struct log_record *record,
                             uint64_t position, /* where the record's batch begins */
                             struct error *ret_error);
};

struct log;

struct log_statistics {
    uint64_t batches;
    uint64_t records;
    uint64_t first_position; /* oldest kept */
    uint64_t next_position;
    uint64_t synced_position;
    uint64_t segment_count;
    uint64_t kept_position; /* from there on log_read() may read */
    uint64_t kept_count;    /* segments kept after their release; not among segment_count */
    uint64_t file_count; /* segments, kept ones and spares; one on its way in or out counts too */
    /* A segment is wanted and could not be had, for want of space, memory or (STATUS_LIMIT) descriptors; else
     * STATUS_OK. */
    enum status lacking;
    uint64_t torn_bytes; /* cut at the last recovery */
};

/* Open or create, replay everything kept, start the thread.
 * Errors: STATUS_CORRUPT (file and offset named, and what to do), STATUS_VERSION, STATUS_IO,
 * STATUS_NO_SPACE, STATUS_NO_MEMORY, STATUS_FAILED_PRECONDITION (another process has it open, it is
 * another store's, or its folder is a link to what is not there), STATUS_INVALID_ARGUMENT (segment_bytes),
 * those of file.h, or what on_replay returned. */
enum status log_open(const struct log_options *options,
                     struct log **ret_log,
                     struct error *ret_error);

/* Sync what is pending, stop the thread, mark a clean end.  NULL is fine. */
void log_close(struct log *log);

/* Copy a record into the gathering batch; *ret_position is where that batch will begin.  Errors:
 * STATUS_RESOURCE_EXHAUSTED (too much pending, or no descriptor for a segment: push back), STATUS_NO_SPACE (no
 * room for segments), STATUS_NO_MEMORY, STATUS_LIMIT (larger than a batch can be: 320 MiB), STATUS_CLOSED (the log
 * has failed).  What segments lack is tried again by itself; log_statistics() says what it is.
 * After an error nothing was taken. */
enum status log_append(struct log *log, const struct log_record *record, uint64_t *ret_position);

/* Let the gathered batch go as soon as the one before it is done. Cheap; call after each round. */
void log_commit(struct log *log);

/* Nothing below position is needed any more. */
void log_release(struct log *log, uint64_t position);

/* Where the segment ends in which a batch begins at position: to release up to one that begins later in it lets go of
 * nothing more.  0: it lies in none that is here. */
uint64_t log_segment_end_at(struct log *log, uint64_t position);

/* From now on keep at most so many recycled segments (spare_segments_max at first, and never more);
 * the log's thread deletes those above it. */
void log_keep_spares(struct log *log, uint32_t count_max);

/* What lies at or above position may be wanted again after its release: log_read().  Higher than the
 * last time has no effect. */
void log_keep_from(struct log *log, uint64_t position);

/* From now on keep at most so much after its release (keep_bytes at first, and never more).  It is
 * given up anyway where there is no room for a new segment. */
void log_keep_bytes(struct log *log, uint64_t bytes_max);

/* A record that was read; the payload is good for the call.  False = no more. */
typedef bool (*log_read_function)(void *context,
                                  const struct log_record *record,
                                  uint64_t position);

/* Read back from the batch at position, which a record was told of, up to what is synced now.  Any
 * thread that may wait for the disk.  Errors: STATUS_NOT_FOUND (it is not kept any more, or damaged),
 * STATUS_NO_MEMORY. */
enum status log_read(struct log *log,
                     uint64_t position,
                     log_read_function on_record,
                     void *context);

void log_statistics(struct log *log, struct log_statistics *ret_statistics);

#endif /* TABLETSERVER_STORAGE_LOG_LOG_H */

/*
 * Inside the log only: its state, and who may touch what.
 *
 *   owner's thread     log.c: append to the gathering batch, ask for commit and release
 *   writer's thread    log_writer.c: take the gathered batch, write it, sync it, report
 *   keeper's thread    log_keeper.c: make segments ready ahead, retire released ones
 *
 * Fields are guarded by `mutex`, except those marked: [constant] after opening, [writer], [keeper].
 * A segment is destroyed by the keeper only, and only below the start of the log, where the writer
 * never is, and without readers; so writer and readers may use a segment's file without the mutex.
 *
 * Failure: the first of writer and keeper that gets an error it must not retry sets `failed` and
 * calls on_failed, once.  `report_mutex` is held around every callback, and nothing is reported
 * synced once `failed` is set, so on_failed is the last that the owner hears.
 * Order of mutexes: report_mutex, then mutex.
 */
#ifndef TABLETSERVER_STORAGE_LOG_LOG_STATE_H
#define TABLETSERVER_STORAGE_LOG_LOG_STATE_H

#include <pthread.h>

#include "common/base/arena.h"
#include "tabletserver/storage/log/log_repair.h"
#include "tabletserver/storage/log/log_segment.h"

#define LOG_ADVICE                                                                                     \
    "other copies, where there are any, teach this store what is lost: give the folder of its log to " \
    "edubba-repair-log"

/* The names in the folder, sorted. */
struct log_listing {
    struct arena arena;
    char **names;
    size_t count;
};

struct log_segments {
    struct log_segment **at; /* ascending numbers, no gap: kept, current, ready ahead */
    size_t count;
    size_t capacity;
};

/* A batch being gathered: room for its header, then records. */
struct log_batch {
    struct buffer bytes;
    uint32_t record_count;
    uint64_t position;
};

/* A log_repair() under way. */
struct log_repairing {
    struct log_repair_options options;
    struct log_repair result;
    uint64_t lost_from; /* segments from this one on are to be put aside; 0 = none are */
    bool anchor_lost;   /* missing, or it cannot be read: then all of them */
};

struct log {
    struct log_options options;      /* [constant] */
    char folder[FILE_PATH_SIZE_MAX]; /* [constant]; options.folder points here */
    uint64_t epoch;                  /* [constant] */
    struct log_repairing *repair;    /* [constant] NULL unless this is log_repair() */

    pthread_mutex_t mutex;
    pthread_mutex_t report_mutex;
    pthread_cond_t writer_wake;
    pthread_cond_t keeper_wake;
    pthread_t writer;
    pthread_t keeper;

    struct log_segments segments;
    struct log_segments kept; /* released, before `segments`; oldest first */
    uint64_t keep_from;       /* nothing that ends below it is kept */
    uint64_t keep_bytes;
    struct log_batch gathering;
    bool commit_wanted;    /* the gathering batch may go */
    uint64_t flight_bytes; /* of the batch on its way */
    uint64_t room_wanted;  /* the stream must have room up to there */
    uint64_t release_position;
    bool release_wanted;
    uint32_t spares_wanted; /* at most */
    /* The last attempt to make room failed for want of that, and is tried again: space, memory or (STATUS_LIMIT)
     * descriptors; STATUS_OK: it has not. */
    enum status lacking;
    bool closing;  /* the writer ends when all is written */
    bool stopping; /* the keeper ends */
    bool failed;
    struct log_statistics statistics;

    struct log_batch flight; /* [writer] */

    struct file anchor_file;  /* [keeper] */
    struct log_anchor anchor; /* [keeper] */
    uint64_t *spares;         /* [keeper] numbers; room for spare_segments_max */
    uint32_t spare_count;     /* [keeper] */
};

/* Without files and threads; NULL without memory.  options->folder must fit a path. */
struct log *log_create(const struct log_options *options);

/* The threads do not run, or have ended. */
void log_destroy(struct log *log);

/* Where the room ends that is ready.  Needs the mutex. */
uint64_t log_room_end(const struct log *log);

/* Whether the keeper should make another segment.  Needs the mutex. */
bool log_room_is_short(const struct log *log);

/* Room for one more; false without memory.  Then add it.  Needs the mutex. */
bool log_segments_reserve(struct log_segments *segments);
void log_segments_add(struct log_segments *segments, struct log_segment *segment);

/* The segment in which a position lies; it must lie in one.  Needs the mutex. */
struct log_segment *log_segments_find(const struct log_segments *segments, uint64_t position);

/* Fail for good, once.  Without the mutexes. */
void log_fail(struct log *log, const struct error *error);

/* log_anchor.c: find it, lock it, read it; make that of a new log.  A repair does without one that is missing or
 * cannot be read: log->anchor is then what is to be written, and repair->anchor_lost is set.  Errors as log_open(),
 * or log_repair(). */
enum status log_anchor_open(struct log *log,
                            const struct log_listing *listing,
                            struct error *ret_error);

/* log_recover.c: read everything back, fix the end, take up the spares.  The threads do not run
 * yet.  Errors as log_open(). */
enum status log_recover(struct log *log, struct error *ret_error);

/* log_keeper.c: the next segment.  [keeper] or before the threads run; without the mutex. */
enum status log_add_room(struct log *log, bool *ret_may_retry, struct error *ret_error);

/* The threads; argument: the log. */
void *log_writer_run(void *argument);
void *log_keeper_run(void *argument);

#endif /* TABLETSERVER_STORAGE_LOG_LOG_STATE_H */

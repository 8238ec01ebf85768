/*
 * When the log is damaged and there is no replica to restore the store from: cut it.
 *
 * log_open() refuses a log whose damage lies below what is proven synced, and says so.  This
 * accepts the loss: the log ends where the damage begins, and what was acknowledged behind that
 * point and not flushed is gone.  Segments that cannot be read, or do not follow, are put aside as
 * lost-<number>.log; nothing is deleted, but bytes behind the cut will be written over, so copy
 * the folder first.
 *
 * The cut is a new epoch that begins there (log_replay.h), so nothing behind it comes back.  The
 * anchor remembers that there was one: hints of before, which speak of what is lost, do not count.
 * It says so before any segment is put aside: a log that lacks segments, and nothing that says why,
 * would be taken for whole.
 *
 * Thread rule: nobody else may have the log open (STATUS_FAILED_PRECONDITION).
 */
#ifndef TABLETSERVER_STORAGE_LOG_REPAIR_H
#define TABLETSERVER_STORAGE_LOG_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct log_record;

struct log_repair {
    bool cut;                         /* there was damage below what was proven synced */
    uint64_t lost_segments;           /* put aside */
    uint64_t records;                 /* that are still there */
    uint64_t position;                /* the log ends here now */
    uint64_t proven_position;         /* with cut: it was synced at least to here */
    char reason[ERROR_TEXT_SIZE_MAX]; /* what was wrong; empty when nothing was */
};

/*
 * Who has a say.  Each function's error is that of the repair, and the log stays as it was; behind decide() it is
 * changed, and an error may leave a part of that done, which the next repair goes on with.
 */
struct log_repair_judge {
    void *context;
    /* Each record that would still be there, before anything is changed; NULL: it does not matter which. */
    enum status (*look)(void *context, const struct log_record *record, struct error *ret_error);
    /* All were looked at, and something is to be cut. */
    enum status (*decide)(void *context, struct error *ret_error);
};

/* The folder is the log's own.  synced_position_hint: as in log_open(): what is missing below it is damage.
 * judge NULL = whatever is there.  Errors: STATUS_NOT_FOUND (no log there), STATUS_CORRUPT (the anchor itself),
 * STATUS_VERSION, STATUS_FAILED_PRECONDITION, those of the judge and of file.h. */
enum status log_repair(const char *folder,
                       uint64_t synced_position_hint,
                       const struct log_repair_judge *judge,
                       struct log_repair *ret_repair,
                       struct error *ret_error);

#endif /* TABLETSERVER_STORAGE_LOG_REPAIR_H */

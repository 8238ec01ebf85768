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
 * Where the anchor itself is missing or cannot be read all is lost, and the log begins anew.  What is put aside never
 * takes the place of what an earlier repair has put aside.
 *
 * Thread rule: nobody else may have the log open (STATUS_FAILED_PRECONDITION).
 */
#ifndef TABLETSERVER_STORAGE_LOG_LOG_REPAIR_H
#define TABLETSERVER_STORAGE_LOG_LOG_REPAIR_H

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

struct log_repair_options {
    const char *folder;            /* the log's own */
    uint64_t store_number;         /* 0 = not known: as the anchor says */
    uint64_t synced_position_hint; /* as in log_open(): what is missing below it is damage */
    /* Where there is no anchor.  That is what a disk looks like that is not mounted, or one on which somebody has tidied
     * up, perhaps on all machines at once: a person has to say that it is so. */
    bool begins_anew;
    const struct log_repair_judge *judge; /* NULL = whatever is there */
};

/* Errors: STATUS_NOT_FOUND (there is no anchor, or no such folder), STATUS_VERSION, STATUS_FAILED_PRECONDITION (also
 * a log of another store, one without anchor whose store is not known, or what an earlier repair has put aside is in the way), STATUS_INVALID_ARGUMENT (such a hint cannot
 * be), those of the judge and of file.h. */
enum status log_repair(const struct log_repair_options *options,
                       struct log_repair *ret_repair,
                       struct error *ret_error);

#endif /* TABLETSERVER_STORAGE_LOG_LOG_REPAIR_H */

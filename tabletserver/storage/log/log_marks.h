/*
 * Where a tablet's entries lie in the log: marks, each saying "entry `sequence`, and those after it up
 * to the next mark's, lie in the log from this batch on".
 *
 *    log       ...81 82 | 83 84 85 ... 99 | CONFIGURATION, kept 82 | 83' 84' ...
 *    marks     81       83 (goes)         '------ 83
 *
 * Both fields rise strictly from mark to mark, whatever was dropped: a drop takes the marks above what
 * is kept away and begins a new one.  So what a reader finds from a mark on, below the next mark's
 * sequence, was never dropped, but for what lies in the batch of the mark itself before the
 * CONFIGURATION.  One mark for each LOG_MARK_BYTES of log is enough: finding an entry reads as much.
 *
 * Memory that fails costs marks, and so only what could have been found.  Pure.
 */
#ifndef TABLETSERVER_STORAGE_LOG_LOG_MARKS_H
#define TABLETSERVER_STORAGE_LOG_LOG_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_MARK_BYTES (UINT64_C(1024) * 1024)
#define LOG_MARKS_MAX  4096 /* of one tablet: then the oldest go */

struct log_mark {
    uint64_t sequence;
    uint64_t position; /* of a batch */
};

struct log_marks {
    struct log_mark *marks;
    size_t count;
    size_t capacity;
};

/* An entry of this sequence, the next of the tablet, was appended to the batch at position. */
void log_marks_note(struct log_marks *marks, uint64_t sequence, uint64_t position);

/* What lies above `kept` was dropped, by a record in the batch at position. */
void log_marks_drop(struct log_marks *marks, uint64_t kept, uint64_t position);

/* The log begins at position: what lies before is of no use any more. */
void log_marks_trim(struct log_marks *marks, uint64_t position);

/* Where to read for an entry, and which sequence is the first that is to be looked for elsewhere.
 * False: not known. */
bool log_marks_find(const struct log_marks *marks,
                    uint64_t sequence,
                    uint64_t *ret_position,
                    uint64_t *ret_end_sequence);

void log_marks_deinit(struct log_marks *marks);

#endif /* TABLETSERVER_STORAGE_LOG_LOG_MARKS_H */

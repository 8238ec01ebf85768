/*
 * The log's files in its folder.
 *
 *   segment-<number>.log   in use, or ready ahead; the header is synced before it gets this name
 *   spare-<number>.log     not needed any more; its space is there for the next segment
 *   lost-<number>.log      taken out of the log by log_repair(), which deletes nothing
 *   preparing.log          on its way to be a segment; of no meaning after a crash
 *   anchor.log             two slots (log_format.h)
 *
 * Numbers are 16 hexadecimal digits.  A file under the name of a segment therefore has a good
 * header and its full size, or it has been damaged.
 *
 * Two orders matter, and each is made by syncing the folder between the steps:
 *   - a segment becomes a spare for good before the spare's header is overwritten, else a crash
 *     could leave the new header under the old name;
 *   - segments go in ascending order, else a crash could leave a hole that looks like a loss.
 *
 * Thread rule: a segment is read and written by one thread at a time; the folder's names are
 * changed by one thread only.
 */
#ifndef TABLETSERVER_STORAGE_LOG_LOG_SEGMENT_H
#define TABLETSERVER_STORAGE_LOG_LOG_SEGMENT_H

#include "common/io/file.h"
#include "tabletserver/storage/log/log_format.h"

#define LOG_SEGMENT_PREFIX "segment-"
#define LOG_SPARE_PREFIX   "spare-"
#define LOG_LOST_PREFIX    "lost-"
#define LOG_PREPARING_NAME "preparing.log"
#define LOG_ANCHOR_NAME    "anchor.log"

struct log_segment {
    struct file file;
    struct log_segment_header header;
    uint64_t first_batch_position; /* LOG_POSITION_NONE when no batch begins in it */
    int64_t released_ns;           /* of one that is kept: since when (monotonic clock) */
    uint32_t readers;              /* of log_read(): it stays while there are any */
};

/* "<folder>/<prefix><number>.log".  Errors: STATUS_LIMIT. */
enum status log_segment_path(char ret_path[FILE_PATH_SIZE_MAX],
                             const char *folder,
                             const char *prefix,
                             uint64_t number,
                             struct error *ret_error);

/* The number in a name of that form; false for any other name. */
bool log_segment_number(const char *name, const char *prefix, uint64_t *ret_number);

/* Open an existing one and check header and size.  Errors: STATUS_CORRUPT, STATUS_VERSION,
 * those of file.h; all name the file. */
enum status log_segment_open(const char *folder,
                             uint64_t number,
                             uint64_t store_number,
                             struct log_segment **ret_segment,
                             struct error *ret_error);

/* Make the segment that the header describes, from the spare of that number (0 = none, make a new
 * file).  On failure the spare is used up all the same.
 * *ret_named: it got as far as its name (then a failure is no mere lack of space). */
enum status log_segment_prepare(const char *folder,
                                const struct log_segment_header *header,
                                uint64_t spare_number,
                                struct log_segment **ret_segment,
                                bool *ret_named,
                                struct error *ret_error);

/* Close, free.  NULL is fine. */
void log_segment_destroy(struct log_segment *segment);

/* Rename the segment's file to another prefix, durably. */
enum status log_segment_put_aside(const char *folder,
                                  uint64_t number,
                                  const char *prefix,
                                  struct error *ret_error);

/* Remove the file of that prefix and number, durably. */
enum status log_segment_remove(const char *folder,
                               const char *prefix,
                               uint64_t number,
                               struct error *ret_error);

/* Create the anchor's file.  Errors: those of file.h. */
enum status log_anchor_create(const char *folder,
                              const struct log_anchor *anchor,
                              struct error *ret_error);

/* Write the anchor's slot and sync it. */
enum status log_anchor_write(const struct file *file,
                             const struct log_anchor *anchor,
                             struct error *ret_error);

#endif /* TABLETSERVER_STORAGE_LOG_LOG_SEGMENT_H */

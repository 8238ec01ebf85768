/*
 * What a data directory is: the STORE file, the LOCK, and the ballast.
 *
 *   STORE      lines of text, the last a checksum of those before it:
 *                  edubba store
 *                  format 1
 *                  features 0
 *                  store 7
 *                  checksum 0123456789abcdef
 *              A format above ours, or a feature bit that we do not know, is refused by name.
 *   LOCK       held by the process that has the store open
 *   ballast    space kept so that deletes can still be logged and flushed on a full disk
 *
 * Thread rule: one thread at a time.
 */
#ifndef TABLETSERVER_STORAGE_STORE_STORE_IDENTITY_H
#define TABLETSERVER_STORAGE_STORE_STORE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/io/file.h"

#define STORE_FORMAT_VERSION 1
#define STORE_FEATURES_KNOWN UINT64_C(0)

struct store_identity {
    uint64_t store_number;
    uint64_t format;
    uint64_t features; /* bits that a reader must know */
};

struct store_lock {
    struct file file;
};

/* The file's text, appended (out->failed tells). */
void store_identity_encode(const struct store_identity *identity, struct buffer *out);

/* Errors: STATUS_CORRUPT, STATUS_VERSION; the text begins with path. */
enum status store_identity_decode(struct bytes text,
                                  const char *path,
                                  struct store_identity *ret_identity,
                                  struct error *ret_error);

/*
 * Read <folder>/STORE; where there is none and store_number is not 0, the folder must hold nothing
 * that is ours, and it is written.  *ret_created says which.
 * Errors: STATUS_NOT_FOUND, STATUS_FAILED_PRECONDITION (another store's number, or data without a
 * STORE file), those of decode, those of files.
 */
enum status store_identity_open(const char *folder,
                                uint64_t store_number,
                                struct store_identity *ret_identity,
                                bool *ret_created,
                                struct error *ret_error);

/* Errors: STATUS_FAILED_PRECONDITION (another process has it), those of files. */
enum status store_lock_take(const char *folder,
                            struct store_lock *ret_lock,
                            struct error *ret_error);
void store_lock_release(struct store_lock *lock);

/* The ballast file's size, if there is one.  Errors: those of file.h. */
enum status store_ballast_find(const char *folder,
                               uint64_t *ret_size_bytes,
                               bool *ret_found,
                               struct error *ret_error);
/* Make the ballast file if it is missing; of size 0 it takes no space and only says that the store
 * was not full. */
enum status store_ballast_keep(const char *folder, uint64_t size_bytes, struct error *ret_error);
/* Give its space back to the disk.  Missing is fine. */
enum status store_ballast_release(const char *folder, struct error *ret_error);

#endif /* TABLETSERVER_STORAGE_STORE_STORE_IDENTITY_H */

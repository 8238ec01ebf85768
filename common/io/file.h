/*
 * Files, thinly: what the log and other durable things need of POSIX, with errors people can read.
 *
 * Every error names the path and what the system said.  Nothing retries but an interrupted call.
 * A failed sync leaves the file's contents unknown for ever (Linux drops the dirty pages): whoever
 * gets one must stop trusting the file; this layer only reports.
 *
 * A name is durable only once its folder is synced: file_create, file_rename and file_unlink do
 * not do that, file_write_atomic does.
 *
 * Errors, common to all: STATUS_NO_SPACE (disk full or over quota), STATUS_NOT_FOUND,
 * STATUS_ALREADY_EXISTS, STATUS_PERMISSION_DENIED, STATUS_NO_MEMORY, STATUS_LIMIT (path too long;
 * no descriptors left), else STATUS_IO.
 *
 * Thread rule: a struct file has one owner, but reads, writes and syncs of an open one may come
 * from any thread.
 */
#ifndef COMMON_IO_FILE_H
#define COMMON_IO_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/error.h"

#define FILE_PATH_SIZE_MAX 1024 /* with the closing NUL */

struct file {
    int descriptor;                /* -1 when closed */
    char path[FILE_PATH_SIZE_MAX]; /* for errors */
};

#define FILE_CLOSED ((struct file){.descriptor = -1})

/* "<folder>/<name>".  Errors: STATUS_LIMIT. */
enum status file_path_join(char ret_path[FILE_PATH_SIZE_MAX],
                           const char *folder,
                           const char *name,
                           struct error *ret_error);

/* Open what exists, for reading or for both. */
enum status file_open_read(const char *path, struct file *ret_file, struct error *ret_error);
enum status file_open(const char *path, struct file *ret_file, struct error *ret_error);

/* Create, for reading and writing; STATUS_ALREADY_EXISTS if there is one. */
enum status file_create(const char *path, struct file *ret_file, struct error *ret_error);

/* Closing twice, or what was never opened (FILE_CLOSED), is fine.  An error of close() tells
 * nothing that a sync before it would not have told. */
void file_close(struct file *file);

enum status file_size(const struct file *file, uint64_t *ret_size_bytes, struct error *ret_error);

/* Exactly size_bytes from offset on; a file that ends before is STATUS_OUT_OF_RANGE. */
enum status file_read_at(const struct file *file,
                         uint64_t offset,
                         void *ret_data,
                         size_t size_bytes,
                         struct error *ret_error);

/* All of it, in as many writes as it takes. */
enum status file_write_at(const struct file *file,
                          uint64_t offset,
                          const void *data,
                          size_t size_bytes,
                          struct error *ret_error);

/* fdatasync: contents, and of the metadata what is needed to read them. */
enum status file_sync(const struct file *file, struct error *ret_error);

/* Make names created, renamed or removed in the folder durable. */
enum status file_sync_folder(const char *folder, struct error *ret_error);

/*
 * Give the file size_bytes of written zeros, synced, so that later writes inside need no new
 * space and their syncs no metadata.  Synced piece by piece, so that others' syncs on the same
 * disk do not stand behind one large one.
 */
enum status file_preallocate(const struct file *file, uint64_t size_bytes, struct error *ret_error);

/* Of an open file: its path changes too. */
enum status file_rename(struct file *file, const char *path, struct error *ret_error);

/* STATUS_NOT_FOUND if there is none. */
enum status file_unlink(const char *path, struct error *ret_error);

/* Names in the folder, sorted bytewise, without "." and "..", all in the arena. */
enum status file_list_folder(const char *folder,
                             struct arena *arena,
                             char ***ret_names,
                             size_t *ret_count,
                             struct error *ret_error);

/* As mkdir -p, mode 0700; existing folders are fine.  New names are synced, and the last one if it was
 * there already. */
enum status file_make_folders(const char *path, struct error *ret_error);

/* Append the whole file to out; STATUS_LIMIT when it is larger than size_bytes_max. */
enum status file_read_whole(const char *path,
                            size_t size_bytes_max,
                            struct buffer *out,
                            struct error *ret_error);

/* Replace or create: a temporary file beside it, synced, renamed, folder synced.  After a crash
 * there is the old content or the new.  A left-over "<path>.tmp" is overwritten next time. */
enum status file_write_atomic(const char *path,
                              const void *data,
                              size_t size_bytes,
                              struct error *ret_error);

/* Lock an open file for this process until it is closed.  Errors: STATUS_FAILED_PRECONDITION when
 * another holds it. */
enum status file_lock(const struct file *file, struct error *ret_error);

/* Tests only: what shall fail. */
enum file_operation {
    FILE_OPERATION_WRITE = 0,
    FILE_OPERATION_SYNC = 1, /* of files and of folders */
    FILE_OPERATION_ALLOCATE = 2,
    FILE_OPERATION_COUNT = 3,
};

struct file_fault {
    enum file_operation operation;
    uint64_t after;   /* so many more succeed */
    int error_number; /* what the next one fails with */
    bool for_ever;    /* and all that follow it; else one only */
    bool short_write; /* a write puts down the first half of its bytes before it fails */
};

/* One fault for each operation at a time; a new one replaces it.  Any thread. */
void file_fault_arm(const struct file_fault *fault);
void file_fault_disarm(void);

/* How many operations have been made to fail so far. */
uint64_t file_fault_count(void);

#endif /* COMMON_IO_FILE_H */

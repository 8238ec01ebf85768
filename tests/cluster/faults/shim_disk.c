/*
 * LD_PRELOAD: a disk that fails when it is told to, and whose power can be cut.  For tests only.
 *
 *   FAULTS_FOLDER   holds `fail`, put there and taken away while the process runs: one line
 *                       CALL ERROR PATTERN once|always
 *                   CALL    sync (fdatasync, fsync), write, or grow (a write past the end, posix_fallocate)
 *                   ERROR   EIO, ENOSPC; LIE: a sync says that it is done, and is not
 *                   PATTERN a part of the file's path
 *                   once    it happens once, and `fail` is removed
 *   FAULTS_DATA     what is below it is noted in FAULTS_FOLDER/undo, for power_cut; unset: not noted
 *
 * Stands in for the calls that change files of our processes and of LMDB; `processes.sh` refuses to go on
 * where these import others.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shim_calls.h"
#include "undo_journal.h"

#define PATH_BYTES 512
#define LIE        (-1)

static struct real_calls real;
static char fail_path[PATH_BYTES];
static pthread_once_t begun = PTHREAD_ONCE_INIT;

static void *find(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (function == NULL) {
        fprintf(stderr, "shim_disk: no %s\n", name);
        abort();
    }
    return function;
}

static void find_all(void)
{
    *(void **)&real.open = find("open");
    *(void **)&real.pwrite = find("pwrite");
    *(void **)&real.write = find("write");
    *(void **)&real.writev = find("writev");
    *(void **)&real.ftruncate = find("ftruncate");
    *(void **)&real.posix_fallocate = find("posix_fallocate");
    *(void **)&real.fdatasync = find("fdatasync");
    *(void **)&real.fsync = find("fsync");
    *(void **)&real.rename = find("rename");
    *(void **)&real.unlink = find("unlink");
    *(void **)&real.mkdir = find("mkdir");
}

/* Other libraries may write before our constructor has run. */
const struct real_calls *real_calls(void)
{
    (void)pthread_once(&begun, find_all);
    return &real;
}

__attribute__((constructor)) static void begin(void)
{
    const char *folder = getenv("FAULTS_FOLDER");
    const char *data = getenv("FAULTS_DATA");
    char journals[PATH_BYTES];
    if (folder == NULL) {
        return;
    }
    (void)snprintf(fail_path, sizeof fail_path, "%s/fail", folder);
    if (data != NULL) {
        (void)snprintf(journals, sizeof journals, "%s/undo", folder);
        undo_journal_open(data, journals);
    }
}

/* --- failing ------------------------------------------------------------------------------------ */

static bool path_matches(int descriptor, const char *pattern)
{
    char link[64];
    char path[PATH_BYTES];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    return path[0] == '/' && strstr(path, pattern) != NULL;
}

/* The error that is due now, LIE, or 0. */
static int due(const char *call, int descriptor)
{
    char line[PATH_BYTES] = "";
    char which[16];
    char error[16];
    char pattern[PATH_BYTES];
    char times[16];
    int control = fail_path[0] == '\0' ? -1 : real_calls()->open(fail_path, O_RDONLY | O_CLOEXEC);
    if (control < 0) {
        return 0;
    }
    ssize_t length = read(control, line, sizeof line - 1);
    (void)close(control);
    if (length <= 0 || sscanf(line, "%15s %15s %511s %15s", which, error, pattern, times) != 4 ||
        strcmp(which, call) != 0 || !path_matches(descriptor, pattern)) {
        return 0;
    }
    /* Of several threads only the one that removes it fails. */
    if (strcmp(times, "once") == 0 && real_calls()->unlink(fail_path) != 0) {
        return 0;
    }
    return strcmp(error, "ENOSPC") == 0 ? ENOSPC : strcmp(error, "LIE") == 0 ? LIE : EIO;
}

static bool grows(int descriptor, off_t offset, size_t size)
{
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
           offset + (off_t)size > status.st_size;
}

/* Of a write; 0: none. */
static int write_error(int descriptor, off_t offset, size_t size)
{
    int error = due("write", descriptor);
    if (error == 0 && fail_path[0] != '\0' && grows(descriptor, offset, size)) {
        error = due("grow", descriptor);
    }
    return error;
}

/* --- writing ------------------------------------------------------------------------------------ */

/* A write at offset: noted, done, and forgotten again where the descriptor is synchronous. */
#define WRITE_NOTED(result, descriptor, offset, size, call)                          \
    do {                                                                             \
        int failure = write_error(descriptor, offset, size);                         \
        if (failure > 0) {                                                           \
            errno = failure;                                                         \
            return -1;                                                               \
        }                                                                            \
        struct undo_file *noted = undo_file_take(descriptor);                        \
        undo_note_change(noted, descriptor, offset, size);                           \
        (result) = (call);                                                           \
        int error_number = errno;                                                    \
        if ((result) == (ssize_t)(size) && noted != NULL && is_synced(descriptor)) { \
            undo_forget_last(noted, descriptor);                                     \
        }                                                                            \
        undo_file_release(noted);                                                    \
        errno = error_number;                                                        \
    } while (false)

static bool is_synced(int descriptor)
{
    return (fcntl(descriptor, F_GETFL) & O_DSYNC) != 0;
}

/* Where a write without an offset goes; -1: not into a regular file. */
static off_t place_of(int descriptor)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        return -1;
    }
    bool appends = (fcntl(descriptor, F_GETFL) & O_APPEND) != 0;
    return appends ? status.st_size : lseek(descriptor, 0, SEEK_CUR);
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset)
{
    ssize_t result = 0;
    WRITE_NOTED(result, descriptor, offset, size,
                real_calls()->pwrite(descriptor, data, size, offset));
    return result;
}

ssize_t write(int descriptor, const void *data, size_t size)
{
    off_t offset = place_of(descriptor);
    ssize_t result = 0;
    if (offset < 0) {
        return real_calls()->write(descriptor, data, size);
    }
    WRITE_NOTED(result, descriptor, offset, size, real_calls()->write(descriptor, data, size));
    return result;
}

ssize_t writev(int descriptor, const struct iovec *pieces, int count)
{
    off_t offset = place_of(descriptor);
    ssize_t result = 0;
    size_t size = 0;
    if (offset < 0) {
        return real_calls()->writev(descriptor, pieces, count);
    }
    for (int i = 0; i < count; i++) {
        size += pieces[i].iov_len;
    }
    WRITE_NOTED(result, descriptor, offset, size, real_calls()->writev(descriptor, pieces, count));
    return result;
}

int ftruncate(int descriptor, off_t size)
{
    struct undo_file *noted = undo_file_take(descriptor);
    if (noted != NULL) {
        undo_note_change(noted, descriptor, size, 0);
    }
    int result = real_calls()->ftruncate(descriptor, size);
    undo_file_release(noted);
    return result;
}

/* What it adds is zeros: where the power is cut, the file may be as long as before. */
int posix_fallocate(int descriptor, off_t offset, off_t size)
{
    struct stat status;
    int error = due("grow", descriptor);
    if (error > 0) {
        return error;
    }
    struct undo_file *noted = undo_file_take(descriptor);
    if (noted != NULL && fstat(descriptor, &status) == 0 && offset + size > status.st_size) {
        undo_note_change(noted, descriptor, status.st_size,
                         (uint64_t)(offset + size - status.st_size));
    }
    error = real_calls()->posix_fallocate(descriptor, offset, size);
    undo_file_release(noted);
    return error;
}

/* --- syncing ------------------------------------------------------------------------------------ */

static int sync_with(int (*call)(int descriptor), int descriptor)
{
    int error = due("sync", descriptor);
    if (error != 0) {
        errno = error > 0 ? error : 0;
        return error > 0 ? -1 : 0;
    }
    struct undo_mark mark = undo_sync_begin(descriptor);
    int result = call(descriptor);
    int error_number = errno;
    if (result == 0) {
        undo_sync_end(descriptor, mark);
        undo_folder_synced(descriptor);
    }
    errno = error_number;
    return result;
}

int fdatasync(int descriptor)
{
    return sync_with(real_calls()->fdatasync, descriptor);
}

int fsync(int descriptor)
{
    return sync_with(real_calls()->fsync, descriptor);
}

/* --- names -------------------------------------------------------------------------------------- */

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    bool creates = (flags & O_CREAT) != 0 && access(path, F_OK) != 0;
    int descriptor = real_calls()->open(path, flags & ~O_TRUNC, mode);
    int error_number = errno;
    if (descriptor >= 0 && creates) {
        undo_note_created(path);
    }
    if (descriptor >= 0 && (flags & O_TRUNC) != 0) {
        (void)ftruncate(descriptor, 0);
    }
    errno = error_number;
    return descriptor;
}

int mkdir(const char *path, mode_t mode)
{
    int result = real_calls()->mkdir(path, mode);
    int error_number = errno;
    if (result == 0) {
        undo_note_created(path);
    }
    errno = error_number;
    return result;
}

int rename(const char *from, const char *to)
{
    undo_note_rename(from, to);
    return real_calls()->rename(from, to);
}

int unlink(const char *path)
{
    undo_note_unlink(path);
    return real_calls()->unlink(path);
}

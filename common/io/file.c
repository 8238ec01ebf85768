#include "common/io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/assert.h"
#include "common/io/file_error.h"
#include "common/io/file_fault.h"

/* Of one pwrite of zeros, and between two syncs, while preallocating. */
#define PREALLOCATE_PIECE_BYTES ((size_t)256 * 1024)
#define PREALLOCATE_SYNC_BYTES  ((uint64_t)8 * 1024 * 1024)

static enum status copy_path(char ret_path[FILE_PATH_SIZE_MAX], const char *path, struct error *e)
{
    size_t length = strlen(path);
    if (length >= FILE_PATH_SIZE_MAX) {
        return file_error(e, "use", path, ENAMETOOLONG);
    }
    memcpy(ret_path, path, length + 1);
    return STATUS_OK;
}

/* The folder that holds path: everything before the last slash. */
static enum status folder_of(char ret_folder[FILE_PATH_SIZE_MAX],
                             const char *path,
                             struct error *ret_error)
{
    enum status status = copy_path(ret_folder, path, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    char *slash = strrchr(ret_folder, '/');
    if (slash == NULL) {
        memcpy(ret_folder, ".", 2);
    } else if (slash == ret_folder) {
        slash[1] = '\0';
    } else {
        *slash = '\0';
    }
    return STATUS_OK;
}

static enum status open_with(
    const char *path, int flags, const char *what, struct file *ret_file, struct error *e)
{
    struct file file = FILE_CLOSED;
    enum status status = copy_path(file.path, path, e);
    if (status != STATUS_OK) {
        return status;
    }
    do { /* O_NONBLOCK is nothing to a file; of a pipe in its place nobody waits for the other end */
        file.descriptor = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0600);
    } while (file.descriptor < 0 && errno == EINTR);
    if (file.descriptor < 0) {
        return file_error(e, what, path, errno);
    }
    *ret_file = file;
    return STATUS_OK;
}

enum status file_path_join(char ret_path[FILE_PATH_SIZE_MAX],
                           const char *folder,
                           const char *name,
                           struct error *ret_error)
{
    if (strlen(folder) + 1 + strlen(name) >= FILE_PATH_SIZE_MAX) {
        return file_error(ret_error, "use", folder, ENAMETOOLONG);
    }
    (void)snprintf(ret_path, FILE_PATH_SIZE_MAX, "%s/%s", folder, name);
    return STATUS_OK;
}

enum status file_open_read(const char *path, struct file *ret_file, struct error *ret_error)
{
    return open_with(path, O_RDONLY, "open", ret_file, ret_error);
}

enum status file_open(const char *path, struct file *ret_file, struct error *ret_error)
{
    return open_with(path, O_RDWR, "open", ret_file, ret_error);
}

enum status file_create(const char *path, struct file *ret_file, struct error *ret_error)
{
    return open_with(path, O_RDWR | O_CREAT | O_EXCL, "create", ret_file, ret_error);
}

void file_close(struct file *file)
{
    if (file->descriptor >= 0) {
        (void)close(file->descriptor);
        file->descriptor = -1;
    }
}

enum status file_size(const struct file *file, uint64_t *ret_size_bytes, struct error *ret_error)
{
    struct stat stat;
    if (fstat(file->descriptor, &stat) != 0) {
        return file_error(ret_error, "look at", file->path, errno);
    }
    *ret_size_bytes = (uint64_t)stat.st_size;
    return STATUS_OK;
}

enum status file_read_at(const struct file *file,
                         uint64_t offset,
                         void *ret_data,
                         size_t size_bytes,
                         struct error *ret_error)
{
    size_t done = 0;
    while (done < size_bytes) {
        ssize_t got = pread(file->descriptor, (uint8_t *)ret_data + done, size_bytes - done,
                            (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return file_error(ret_error, "read", file->path, errno);
        }
        if (got == 0) {
            return error_set(ret_error, STATUS_OUT_OF_RANGE, "%s ends before offset %llu",
                             file->path, (unsigned long long)(offset + size_bytes));
        }
        done += (size_t)got;
    }
    return STATUS_OK;
}

/* pwrite until all is written; 0 or an errno. */
static int write_all(int descriptor, uint64_t offset, const uint8_t *data, size_t size_bytes)
{
    size_t done = 0;
    while (done < size_bytes) {
        ssize_t put = pwrite(descriptor, data + done, size_bytes - done, (off_t)(offset + done));
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return put < 0 ? errno : EIO;
        }
        done += (size_t)put;
    }
    return 0;
}

enum status file_write_at(const struct file *file,
                          uint64_t offset,
                          const void *data,
                          size_t size_bytes,
                          struct error *ret_error)
{
    int error_number = file_fault_due(FILE_OPERATION_WRITE);
    if (error_number != 0) {
        if (file_fault_is_short()) {
            (void)write_all(file->descriptor, offset, data, size_bytes / 2);
        }
    } else {
        error_number = write_all(file->descriptor, offset, data, size_bytes);
    }
    return error_number == 0 ? STATUS_OK : file_error(ret_error, "write", file->path, error_number);
}

enum status file_sync(const struct file *file, struct error *ret_error)
{
    int error_number = file_fault_due(FILE_OPERATION_SYNC);
    if (error_number == 0 && fdatasync(file->descriptor) != 0) {
        error_number = errno; /* EINTR too: nothing is known any more, so nothing is retried */
    }
    return error_number == 0 ? STATUS_OK : file_error(ret_error, "sync", file->path, error_number);
}

enum status file_sync_folder(const char *folder, struct error *ret_error)
{
    struct file file;
    enum status status = open_with(folder, O_RDONLY | O_DIRECTORY, "open folder", &file, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    int error_number = file_fault_due(FILE_OPERATION_SYNC);
    if (error_number == 0 && fsync(file.descriptor) != 0) {
        error_number = errno;
    }
    file_close(&file);
    return error_number == 0 ? STATUS_OK
                             : file_error(ret_error, "sync folder", folder, error_number);
}

enum status file_preallocate(const struct file *file, uint64_t size_bytes, struct error *ret_error)
{
    static const uint8_t zeros[PREALLOCATE_PIECE_BYTES];
    int error_number = file_fault_due(FILE_OPERATION_ALLOCATE);
    while (error_number == 0) {
        error_number = posix_fallocate(file->descriptor, 0, (off_t)size_bytes);
        if (error_number != EINTR) {
            break;
        }
        error_number = 0;
    }
    if (error_number != 0) {
        return file_error(ret_error, "allocate space for", file->path, error_number);
    }
    uint64_t offset = 0;
    uint64_t synced = 0;
    while (synced < size_bytes) {
        uint64_t left = size_bytes - offset;
        size_t piece = left < sizeof zeros ? (size_t)left : sizeof zeros;
        enum status status = file_write_at(file, offset, zeros, piece, ret_error);
        offset += piece;
        if (status == STATUS_OK &&
            (offset == size_bytes || offset - synced >= PREALLOCATE_SYNC_BYTES)) {
            status = file_sync(file, ret_error);
            synced = offset;
        }
        if (status != STATUS_OK) {
            return status;
        }
    }
    return STATUS_OK;
}

enum status file_rename(struct file *file, const char *path, struct error *ret_error)
{
    char copy[FILE_PATH_SIZE_MAX];
    enum status status = copy_path(copy, path, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    if (rename(file->path, path) != 0) {
        return file_error(ret_error, "rename", file->path, errno);
    }
    memcpy(file->path, copy, sizeof copy);
    return STATUS_OK;
}

enum status file_unlink(const char *path, struct error *ret_error)
{
    return unlink(path) == 0 ? STATUS_OK : file_error(ret_error, "remove", path, errno);
}

static enum status sync_parent(const char *path, struct error *ret_error)
{
    char parent[FILE_PATH_SIZE_MAX];
    enum status status = folder_of(parent, path, ret_error);
    return status == STATUS_OK ? file_sync_folder(parent, ret_error) : status;
}

static enum status make_folder(const char *path, bool *ret_made, struct error *ret_error)
{
    *ret_made = mkdir(path, 0700) == 0;
    if (*ret_made) {
        return sync_parent(path, ret_error);
    }
    return errno == EEXIST ? STATUS_OK : file_error(ret_error, "make folder", path, errno);
}

enum status file_make_folders(const char *path, struct error *ret_error)
{
    char part[FILE_PATH_SIZE_MAX];
    bool made = false;
    enum status status = copy_path(part, path, ret_error);
    for (char *at = part + 1; status == STATUS_OK && part[0] != '\0' && *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            status = make_folder(part, &made, ret_error);
            *at = '/';
        }
    }
    if (status == STATUS_OK) {
        status = make_folder(path, &made, ret_error);
    }
    if (status != STATUS_OK || made) {
        return status;
    }
    /* Whoever made it may have been killed before it was synced.  A folder that we may not read was
     * not made by us. */
    status = sync_parent(path, ret_error);
    if (status == STATUS_PERMISSION_DENIED && ret_error != NULL) {
        error_clear(ret_error);
    }
    return status == STATUS_PERMISSION_DENIED ? STATUS_OK : status;
}

enum status file_read_whole(const char *path,
                            size_t size_bytes_max,
                            struct buffer *out,
                            struct error *ret_error)
{
    struct file file;
    uint64_t size = 0;
    enum status status = file_open_read(path, &file, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    status = file_size(&file, &size, ret_error);
    if (status == STATUS_OK && size > size_bytes_max) {
        status = error_set(ret_error, STATUS_LIMIT, "%s is larger than %zu bytes", path,
                           size_bytes_max);
    }
    uint8_t *to = status == STATUS_OK ? buffer_reserve(out, (size_t)size) : NULL;
    if (status == STATUS_OK && to == NULL) {
        status = file_error(ret_error, "read", path, ENOMEM);
    }
    if (status == STATUS_OK) {
        status = file_read_at(&file, 0, to, (size_t)size, ret_error);
    }
    if (status == STATUS_OK) {
        buffer_advance(out, (size_t)size);
    }
    file_close(&file);
    return status;
}

enum status file_write_atomic(const char *path,
                              const void *data,
                              size_t size_bytes,
                              struct error *ret_error)
{
    char temporary[FILE_PATH_SIZE_MAX];
    char folder[FILE_PATH_SIZE_MAX];
    struct file file;
    if (strlen(path) + sizeof ".tmp" > sizeof temporary) {
        return file_error(ret_error, "use", path, ENAMETOOLONG);
    }
    (void)snprintf(temporary, sizeof temporary, "%s.tmp", path);
    enum status status = folder_of(folder, path, ret_error);
    if (status == STATUS_OK) {
        status = open_with(temporary, O_RDWR | O_CREAT | O_TRUNC, "create", &file, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    status = file_write_at(&file, 0, data, size_bytes, ret_error);
    if (status == STATUS_OK) {
        status = file_sync(&file, ret_error);
    }
    if (status == STATUS_OK) {
        status = file_rename(&file, path, ret_error);
    } else {
        (void)unlink(temporary); /* best effort: the next one overwrites it */
    }
    file_close(&file);
    return status == STATUS_OK ? file_sync_folder(folder, ret_error) : status;
}

enum status file_lock(const struct file *file, struct error *ret_error)
{
    int result = 0;
    do {
        result = flock(file->descriptor, LOCK_EX | LOCK_NB);
    } while (result != 0 && errno == EINTR);
    if (result != 0 && errno == EWOULDBLOCK) {
        return error_set(ret_error, STATUS_FAILED_PRECONDITION, "%s is in use by another process",
                         file->path);
    }
    return result == 0 ? STATUS_OK : file_error(ret_error, "lock", file->path, errno);
}

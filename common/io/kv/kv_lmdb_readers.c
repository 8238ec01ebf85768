#include "common/io/kv/kv_lmdb_readers.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/io/file.h"
#include "common/io/file_error.h"
#include "common/io/file_fault.h"

/* As LMDB 0.9 lays it out.  Were it larger one day, what is beyond would be as it is without us. */
#define HEADER_BYTES     128
#define READER_BYTES     64
#define FIRST_PAGE_BYTES 4096

/* 0 or an errno. */
static int place(int descriptor, off_t size_bytes)
{
    int error_number = file_fault_due(FILE_OPERATION_ALLOCATE);
    while (error_number == 0) {
        error_number = posix_fallocate(descriptor, 0, size_bytes);
        if (error_number != EINTR) {
            break;
        }
        error_number = 0;
    }
    return error_number;
}

int kv_lmdb_place_readers_at(const char *path, uint32_t readers_max, mode_t mode)
{
    off_t size_bytes = HEADER_BYTES + (off_t)readers_max * READER_BYTES;
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode);
    if (descriptor < 0) {
        return errno;
    }
    int error_number = place(descriptor, size_bytes);
    if (error_number == ENOSPC || error_number == EDQUOT) {
        error_number = place(descriptor,
                             size_bytes < FIRST_PAGE_BYTES ? size_bytes : FIRST_PAGE_BYTES);
    }
    (void)close(descriptor);
    return error_number;
}

enum status kv_lmdb_place_readers(const char *folder,
                                  uint32_t readers_max,
                                  mode_t mode,
                                  struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    enum status status = file_path_join(path, folder, "lock.mdb", ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    int error_number = kv_lmdb_place_readers_at(path, readers_max, mode);
    return error_number == 0 ? STATUS_OK
                             : error_set(ret_error, file_error_status(error_number), "open %s: %s",
                                         path, strerror(error_number));
}

#include "master/coordinator/catalog_moved.h"

#include <stdio.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/io/file.h"

#define TEXT_BYTES_MAX 4096

static enum status mark_path(const char *folder, char ret_path[FILE_PATH_SIZE_MAX], struct error *e)
{
    return file_path_join(ret_path, folder, "catalog/MOVED", e);
}

enum status catalog_moved_check(const char *folder, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    struct buffer text = BUFFER_INIT;
    enum status status = mark_path(folder, path, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    status = file_read_whole(path, TEXT_BYTES_MAX, &text, ret_error);
    size_t line = text.data == NULL ? 0 : strnlen((const char *)text.data, text.size_bytes);
    line = line > 0 && text.data[line - 1] == '\n' ? line - 1 : line;
    if (status == STATUS_NOT_FOUND) {
        error_clear(ret_error);
        status = STATUS_OK;
    } else if (status == STATUS_OK) {
        status = error_set(ret_error, STATUS_FAILED_PRECONDITION,
                           "%s: %.*s; set coordinator = \"etcd\", or, if that catalog is not to be "
                           "used, remove this file",
                           path, (int)line, (const char *)text.data);
    }
    buffer_deinit(&text);
    return status;
}

enum status catalog_moved_mark(const char *folder, const char *where, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    char text[TEXT_BYTES_MAX];
    enum status status = mark_path(folder, path, ret_error);
    int size = snprintf(text, sizeof text, "this catalog was moved into etcd: %.1000s\n", where);

    return status == STATUS_OK ? file_write_atomic(path, text, (size_t)size, ret_error) : status;
}

enum status catalog_moved_unmark(const char *folder, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    enum status status = mark_path(folder, path, ret_error);

    if (status == STATUS_OK) {
        status = file_unlink(path, ret_error);
    }
    if (status == STATUS_NOT_FOUND) {
        error_clear(ret_error);
        status = STATUS_OK;
    }
    return status;
}

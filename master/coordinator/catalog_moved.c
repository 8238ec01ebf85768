#include "master/coordinator/catalog_moved.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/buffer.h"
#include "common/io/file.h"

#define TEXT_BYTES_MAX 4096
#define MARK_MODE \
    0644 /* who imports may be root, and who is refused by the mark the master's user */

static enum status mark_path(const char *folder, char ret_path[FILE_PATH_SIZE_MAX], struct error *e)
{
    return file_path_join(ret_path, folder, "catalog/MOVED", e);
}

/* What the mark says, without the line's end; STATUS_NOT_FOUND if there is none. */
static enum status read_mark(const char *path, struct buffer *text, struct error *ret_error)
{
    enum status status = file_read_whole(path, TEXT_BYTES_MAX, text, ret_error);
    if (status == STATUS_OK && text->size_bytes > 0 && text->data[text->size_bytes - 1] == '\n') {
        text->size_bytes--;
    }
    return status;
}

static enum status refuse(const char *path, const struct buffer *text, struct error *ret_error)
{
    return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                     "%s: %.*s; set coordinator = \"etcd\", or, if that catalog is not to be "
                     "used, remove this file",
                     path, (int)text->size_bytes,
                     text->size_bytes > 0 ? (const char *)text->data : "");
}

enum status catalog_moved_check(const char *folder, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    struct buffer text = BUFFER_INIT;
    enum status status = mark_path(folder, path, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    status = read_mark(path, &text, ret_error);
    if (status == STATUS_NOT_FOUND) {
        error_clear(ret_error);
        status = STATUS_OK;
    } else if (status == STATUS_OK) {
        status = refuse(path, &text, ret_error);
    }
    buffer_deinit(&text);
    return status;
}

enum status catalog_moved_mark(const char *folder, const char *where, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    char text[TEXT_BYTES_MAX];
    struct buffer before = BUFFER_INIT;
    int size = snprintf(text, sizeof text, "this catalog was moved into etcd: %.1000s", where);
    enum status status = mark_path(folder, path, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    status = read_mark(path, &before, ret_error);
    if (status == STATUS_NOT_FOUND) {
        error_clear(ret_error);
        text[size] = '\n';
        status = file_write_atomic(path, text, (size_t)size + 1, ret_error);
        (void)chmod(path, MARK_MODE); /* else it is refused all the same, without a word where to */
    } else if (status == STATUS_OK && !bytes_equal(buffer_bytes(&before), bytes_of_text(text))) {
        status = refuse(path, &before, ret_error);
    }
    buffer_deinit(&before);
    return status;
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

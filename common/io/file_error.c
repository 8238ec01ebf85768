#include "common/io/file_error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum status file_error_status(int error_number)
{
    switch (error_number) {
    case ENOSPC:
    case EDQUOT:
        return STATUS_NO_SPACE;
    case ENOENT:
        return STATUS_NOT_FOUND;
    case EEXIST:
        return STATUS_ALREADY_EXISTS;
    case EACCES:
    case EPERM:
    case EROFS:
        return STATUS_PERMISSION_DENIED;
    case ENOMEM:
        return STATUS_NO_MEMORY;
    case EMFILE:
    case ENFILE:
    case ENAMETOOLONG:
        return STATUS_LIMIT;
    default:
        return STATUS_IO;
    }
}

enum status file_error(struct error *ret_error,
                       const char *what,
                       const char *path,
                       int error_number)
{
    char text[128];
    if (strerror_r(error_number, text, sizeof text) != 0) {
        (void)snprintf(text, sizeof text, "error %d", error_number);
    }
    return error_set(ret_error, file_error_status(error_number), "cannot %s %s: %s", what, path,
                     text);
}

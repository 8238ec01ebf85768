/*
 * What POSIX says went wrong, as a status.  Part of common/io; above it the status is all there is to see.
 */
#ifndef COMMON_IO_FILE_ERROR_H
#define COMMON_IO_FILE_ERROR_H

#include "common/base/error.h"

/* Of what was done to a file or a folder, those that file.h names; never STATUS_OK. */
enum status file_error_status(int error_number);

/* "cannot <what> <path>: <errno's text>", with that status. */
enum status file_error(struct error *ret_error,
                       const char *what,
                       const char *path,
                       int error_number);

#endif /* COMMON_IO_FILE_ERROR_H */

/*
 * A status with the sentence that names what was wrong, where, and what to do.
 *
 * Functions that can fail for a reason a person must read take `struct error *ret_error` last and
 * return its status.  The text is complete when it is set: callers add context by
 * error_prefix(), never by logging twice.
 *
 * Thread rule: a value; belongs to whoever holds it.
 */
#ifndef COMMON_BASE_ERROR_H
#define COMMON_BASE_ERROR_H

#include "common/base/status.h"

#define ERROR_TEXT_SIZE_MAX 512 /* with the closing NUL; longer texts are cut */

struct error {
    enum status status;
    char text[ERROR_TEXT_SIZE_MAX];
};

/* Set and return status.  error may be NULL: then only the status travels. */
enum status error_set(struct error *error, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "<prefix>: " before the text; returns error->status.  error must hold an error. */
enum status error_prefix(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Back to STATUS_OK and an empty text. */
void error_clear(struct error *error);

#endif /* COMMON_BASE_ERROR_H */

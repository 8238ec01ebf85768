#include "common/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"

enum status error_set(struct error *error, enum status status, const char *format, ...)
{
    va_list arguments;

    ASSERT(status != STATUS_OK);
    if (error == NULL) {
        return status;
    }
    error->status = status;
    va_start(arguments, format);
    (void)vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}

enum status error_prefix(struct error *error, const char *format, ...)
{
    char text[ERROR_TEXT_SIZE_MAX];
    va_list arguments;
    int written = 0;

    ASSERT(error->status != STATUS_OK);
    va_start(arguments, format);
    written = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (written > 0 && (size_t)written < sizeof text) {
        size_t used = (size_t)written;
        (void)snprintf(text + used, sizeof text - used, ": %s", error->text);
    }
    memcpy(error->text, text, sizeof text);
    return error->status;
}

void error_clear(struct error *error)
{
    error->status = STATUS_OK;
    error->text[0] = '\0';
}

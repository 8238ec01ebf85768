#include "gateway/operations/operation_name.h"

#include <inttypes.h>
#include <stdio.h>

#define PREFIX          "operations/"
#define MIDDLE          "/operations/"
#define TIME_DIGITS_MAX 18 /* enough for 30 000 years */

/* Cut "resource/operations/rest" at the last of these; false = there is none. */
static bool cut(struct bytes text, struct bytes *ret_resource, struct bytes *ret_rest)
{
    struct bytes middle = bytes_of_text(MIDDLE);
    for (size_t at = text.size_bytes; at > 0; at--) {
        struct bytes tail = bytes_drop_front(text, at - 1);
        if (bytes_starts_with(tail, middle)) {
            *ret_resource = bytes_of(text.data, at - 1);
            *ret_rest = bytes_drop_front(tail, middle.size_bytes);
            return true;
        }
    }
    return false;
}

/* Digits, as they are written: none too many, no zero in front. */
static bool read_time(struct bytes text, int64_t *ret_time_us)
{
    int64_t value = 0;
    if (text.size_bytes == 0 || text.size_bytes > TIME_DIGITS_MAX ||
        (text.size_bytes > 1 && text.data[0] == '0')) {
        return false;
    }
    for (size_t i = 0; i < text.size_bytes; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        value = value * 10 + (text.data[i] - '0');
    }
    *ret_time_us = value;
    return true;
}

/* What operations may be about; a name is of one kind at most. */
static bool read_resource(struct bytes text, struct resource_name *ret_parts)
{
    static const enum resource_kind kinds[] = {RESOURCE_TABLE, RESOURCE_INSTANCE, RESOURCE_CLUSTER,
                                               RESOURCE_APP_PROFILE};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (resource_name_parse(text, kinds[i], ret_parts, NULL) == STATUS_OK) {
            return true;
        }
    }
    return false;
}

enum status operation_name_parse(struct bytes text,
                                 struct operation_name *ret_name,
                                 struct error *ret_error)
{
    struct operation_name name = {0};
    struct bytes prefix = bytes_of_text(PREFIX);
    struct bytes rest = BYTES_EMPTY;
    if (bytes_starts_with(text, prefix) &&
        cut(bytes_drop_front(text, prefix.size_bytes), &name.resource, &rest) &&
        read_time(rest, &name.time_us) && read_resource(name.resource, &name.parts)) {
        *ret_name = name;
        return STATUS_OK;
    }
    char shown[BYTES_PRINTABLE_SIZE_MAX];
    return error_set(ret_error, STATUS_INVALID_ARGUMENT, "Invalid operation name '%s'",
                     bytes_printable(text, shown));
}

char *operation_name_format(struct bytes resource, int64_t time_us, struct arena *arena)
{
    size_t size = sizeof PREFIX MIDDLE + resource.size_bytes + TIME_DIGITS_MAX + 2;
    char *text = arena_allocate(arena, size);
    if (text != NULL) {
        (void)snprintf(text, size, PREFIX "%.*s" MIDDLE "%" PRId64, (int)resource.size_bytes,
                       (const char *)resource.data, time_us);
    }
    return text;
}

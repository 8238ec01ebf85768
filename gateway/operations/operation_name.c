#include "gateway/operations/operation_name.h"

#include <inttypes.h>
#include <stdio.h>

#define PREFIX      "operations/"
#define MIDDLE      "/operations/"
#define TIME_DIGITS 16

struct verb_rule {
    const char *word;
    enum resource_kind kind;
};

static const struct verb_rule VERBS[] = {
    [OPERATION_UPDATE_TABLE] = {"update-table", RESOURCE_TABLE},
    [OPERATION_CREATE_INSTANCE] = {"create-instance", RESOURCE_INSTANCE},
    [OPERATION_UPDATE_INSTANCE] = {"update-instance", RESOURCE_INSTANCE},
    [OPERATION_CREATE_CLUSTER] = {"create-cluster", RESOURCE_CLUSTER},
    [OPERATION_UPDATE_CLUSTER] = {"update-cluster", RESOURCE_CLUSTER},
    [OPERATION_UPDATE_APP_PROFILE] = {"update-app-profile", RESOURCE_APP_PROFILE},
};

#define VERB_COUNT (sizeof VERBS / sizeof VERBS[0])

static struct bytes without_first(struct bytes text, size_t size)
{
    return bytes_of(text.data + size, text.size_bytes - size);
}

/* Cut "resource/operations/rest" at the last of these; false = there is none. */
static bool cut(struct bytes text, struct bytes *ret_resource, struct bytes *ret_rest)
{
    struct bytes middle = bytes_of_text(MIDDLE);
    for (size_t at = text.size_bytes; at > 0; at--) {
        struct bytes tail = without_first(text, at - 1);
        if (bytes_starts_with(tail, middle)) {
            *ret_resource = bytes_of(text.data, at - 1);
            *ret_rest = without_first(tail, middle.size_bytes);
            return true;
        }
    }
    return false;
}

/* Exactly so many lower-case hexadecimal digits, of a time that is not negative. */
static bool read_time(struct bytes text, int64_t *ret_time_us)
{
    uint64_t value = 0;
    if (text.size_bytes != TIME_DIGITS) {
        return false;
    }
    for (size_t i = 0; i < TIME_DIGITS; i++) {
        uint8_t byte = text.data[i];
        if (byte >= '0' && byte <= '9') {
            value = value << 4 | (uint64_t)(byte - '0');
        } else if (byte >= 'a' && byte <= 'f') {
            value = value << 4 | (uint64_t)(byte - 'a' + 10);
        } else {
            return false;
        }
    }
    if (value > INT64_MAX) {
        return false;
    }
    *ret_time_us = (int64_t)value;
    return true;
}

/* "update-table-<time>". */
static bool read_end(struct bytes text, enum operation_verb *ret_verb, int64_t *ret_time_us)
{
    for (size_t i = 0; i < VERB_COUNT; i++) {
        struct bytes word = bytes_of_text(VERBS[i].word);
        if (bytes_starts_with(text, word) && text.size_bytes > word.size_bytes &&
            text.data[word.size_bytes] == '-') {
            *ret_verb = (enum operation_verb)i;
            return read_time(without_first(text, word.size_bytes + 1), ret_time_us);
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
        cut(without_first(text, prefix.size_bytes), &name.resource, &rest) &&
        read_end(rest, &name.verb, &name.time_us) &&
        resource_name_parse(name.resource, VERBS[name.verb].kind, &name.parts, NULL) == STATUS_OK) {
        *ret_name = name;
        return STATUS_OK;
    }
    char shown[BYTES_PRINTABLE_SIZE_MAX];
    return error_set(ret_error, STATUS_INVALID_ARGUMENT, "Invalid operation name '%s'",
                     bytes_printable(text, shown));
}

char *operation_name_format(enum operation_verb verb,
                            struct bytes resource,
                            int64_t time_us,
                            struct arena *arena)
{
    const char *word = VERBS[verb].word;
    size_t size = sizeof PREFIX MIDDLE "-" + resource.size_bytes + bytes_of_text(word).size_bytes +
                  TIME_DIGITS;
    char *text = arena_allocate(arena, size);
    if (text != NULL) {
        (void)snprintf(text, size, PREFIX "%.*s" MIDDLE "%s-%016" PRIx64, (int)resource.size_bytes,
                       (const char *)resource.data, word, (uint64_t)time_us);
    }
    return text;
}

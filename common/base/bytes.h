/*
 * Borrowed bytes: a pointer and a length, the currency of keys, qualifiers and values.
 *
 * A struct bytes never owns.  How long what it points at lives is said by whoever hands it out.
 * Order is bytewise unsigned, shorter first: the order of row keys everywhere in the system.
 */
#ifndef COMMON_BASE_BYTES_H
#define COMMON_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
    const uint8_t *data; /* may be NULL when size_bytes is 0 */
    size_t size_bytes;
};

#define BYTES_EMPTY ((struct bytes){NULL, 0})

/* Of a string literal or any NUL-terminated text, without the NUL. */
static inline struct bytes bytes_of_text(const char *text)
{
    return (struct bytes){(const uint8_t *)text, strlen(text)};
}

static inline struct bytes bytes_of(const void *data, size_t size_bytes)
{
    return (struct bytes){(const uint8_t *)data, size_bytes};
}

/* Negative, 0 or positive. */
static inline int bytes_compare(struct bytes a, struct bytes b)
{
    size_t common = a.size_bytes < b.size_bytes ? a.size_bytes : b.size_bytes;
    int order = common == 0 ? 0 : memcmp(a.data, b.data, common);
    if (order != 0) {
        return order;
    }
    return (a.size_bytes > b.size_bytes) - (a.size_bytes < b.size_bytes);
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.size_bytes == b.size_bytes &&
           (a.size_bytes == 0 || memcmp(a.data, b.data, a.size_bytes) == 0);
}

static inline bool bytes_starts_with(struct bytes a, struct bytes prefix)
{
    return a.size_bytes >= prefix.size_bytes &&
           (prefix.size_bytes == 0 || memcmp(a.data, prefix.data, prefix.size_bytes) == 0);
}

/* What follows the first count bytes; there are as many. */
static inline struct bytes bytes_drop_front(struct bytes bytes, size_t count)
{
    return (struct bytes){bytes.data + count, bytes.size_bytes - count};
}

#define BYTES_PRINTABLE_SIZE_MAX 96

/* For people: printable ASCII as it is, the rest as \xNN, cut with "..." to fit.  Returns text. */
const char *bytes_printable(struct bytes bytes, char text[BYTES_PRINTABLE_SIZE_MAX]);

#endif /* COMMON_BASE_BYTES_H */

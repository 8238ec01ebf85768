/*
 * What a line of ours has of a text that somebody gave: all of it, or its beginning and "...", so that
 * nobody takes the one for the other.
 *
 *     snprintf(line, sizeof line, "there is no workload '" LOAD_EXCERPT "'", LOAD_EXCERPT_OF(name, 60));
 */
#ifndef CLIENT_LOAD_CORE_EXCERPT_H
#define CLIENT_LOAD_CORE_EXCERPT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LOAD_EXCERPT "%.*s%s"
#define LOAD_EXCERPT_OF(text, most) \
    load_excerpt_bytes(text, most), text, strnlen(text, (most) + 1) > (most) ? "..." : ""

/* Of most bytes so many that no character of UTF-8 is cut. */
static inline int load_excerpt_bytes(const char *text, size_t most)
{
    size_t size = strnlen(text, most + 1);
    if (size > most) {
        size = most;
        while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80) {
            size--;
        }
    }
    return (int)size;
}

/* A key or a name of whatever bytes, or its beginning: what stands in a report is plain text. */
#define LOAD_PLAIN_BYTES 96
static inline const char *load_plain(const uint8_t *name, size_t size, char out[LOAD_PLAIN_BYTES])
{
    size_t count = size < LOAD_PLAIN_BYTES - 1 ? size : LOAD_PLAIN_BYTES - 1;
    for (size_t i = 0; i < count; i++) {
        out[i] = name[i] >= ' ' && name[i] <= '~' ? (char)name[i] : '?';
    }
    out[count] = '\0';
    return out;
}

#endif /* CLIENT_LOAD_CORE_EXCERPT_H */

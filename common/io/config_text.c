#include "common/io/config_text.h"

#include <string.h>

#include "common/base/hex.h"

struct scan {
    const uint8_t *at;
    const uint8_t *end;
    unsigned line;
    struct buffer *out;
};

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

/* What names and numbers are made of. */
static bool is_word(uint8_t byte)
{
    return is_digit(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           byte == '_' || byte == '.' || byte == '*' || byte == '-' || byte == '+';
}

static bool begins(const struct scan *scan, const char *text)
{
    size_t size = strlen(text);
    return (size_t)(scan->end - scan->at) >= size && memcmp(scan->at, text, size) == 0;
}

static void copy(struct scan *scan, size_t count)
{
    for (size_t i = 0; i < count && scan->at < scan->end; i++) {
        scan->line += *scan->at == '\n';
        buffer_append_u8(scan->out, *scan->at++);
    }
}

/* Up to the text and over it, or to the end. */
static void copy_over(struct scan *scan, const char *text)
{
    while (scan->at < scan->end && !begins(scan, text)) {
        copy(scan, 1);
    }
    copy(scan, strlen(text));
}

static void copy_string(struct scan *scan)
{
    copy(scan, 1);
    while (scan->at < scan->end && *scan->at != '"') {
        copy(scan, *scan->at == '\\' ? 2 : 1);
    }
    copy(scan, 1);
}

/* The word as a whole number; false if it is none, or has its suffix.  *ret_fits: in 64 bits. */
static bool parse_whole(struct bytes word, uint64_t *ret_value, bool *ret_fits)
{
    size_t at = word.data[0] == '-' || word.data[0] == '+';
    bool hexadecimal = word.size_bytes - at > 2 && word.data[at] == '0' &&
                       (word.data[at + 1] | 0x20) == 'x';
    int base = hexadecimal ? 16 : 10;
    uint64_t value = 0;

    at += hexadecimal ? 2 : 0;
    *ret_fits = true;
    if (at == word.size_bytes) {
        return false;
    }
    for (; at < word.size_bytes; at++) {
        int digit = hex_digit(word.data[at]);
        if (digit < 0 || digit >= base) {
            return false;
        }
        *ret_fits = *ret_fits && !__builtin_mul_overflow(value, base, &value) &&
                    !__builtin_add_overflow(value, digit, &value);
    }
    *ret_fits = *ret_fits && value <= INT64_MAX;
    *ret_value = value;
    return true;
}

static enum status copy_word(struct scan *scan, const char *path, struct error *ret_error)
{
    struct bytes word = {scan->at, 0};
    uint64_t value = 0;
    bool fits = true;

    while (scan->at + word.size_bytes < scan->end && is_word(scan->at[word.size_bytes])) {
        word.size_bytes++;
    }
    bool whole = parse_whole(word, &value, &fits);
    if (whole && !fits) {
        char text[BYTES_PRINTABLE_SIZE_MAX];
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "%s:%u: %s has more than 64 bits",
                         path, scan->line, bytes_printable(word, text));
    }
    copy(scan, word.size_bytes);
    if (whole && value > INT32_MAX) {
        buffer_append_u8(scan->out, 'L');
    }
    return STATUS_OK;
}

static enum status copy_next(struct scan *scan, const char *path, struct error *ret_error)
{
    if (*scan->at == '\0') {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "%s:%u: not a text: a byte is 0", path,
                         scan->line);
    }
    if (begins(scan, "@include")) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "%s:%u: @include is not understood: a configuration is one file", path,
                         scan->line);
    }
    if (*scan->at == '"') {
        copy_string(scan);
    } else if (*scan->at == '#' || begins(scan, "//")) {
        copy_over(scan, "\n");
    } else if (begins(scan, "/*")) {
        copy_over(scan, "*/");
    } else if (is_word(*scan->at)) {
        return copy_word(scan, path, ret_error);
    } else {
        copy(scan, 1);
    }
    return STATUS_OK;
}

enum status config_text_prepare(struct bytes text,
                                const char *path,
                                struct buffer *out,
                                struct error *ret_error)
{
    const uint8_t *end = text.size_bytes > 0 ? text.data + text.size_bytes : text.data; /* NULL? */
    struct scan scan = {.at = text.data, .end = end, .line = 1, .out = out};
    enum status status = STATUS_OK;

    while (status == STATUS_OK && scan.at < scan.end) {
        status = copy_next(&scan, path, ret_error);
    }
    buffer_append_u8(out, '\0');
    if (status == STATUS_OK && out->failed) {
        status = error_set(ret_error, STATUS_NO_MEMORY, "%s: no memory", path);
    }
    return status;
}

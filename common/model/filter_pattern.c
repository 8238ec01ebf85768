#include "common/model/filter_pattern.h"

#include "common/base/assert.h"

static bool is_letter_or_digit(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_special(uint8_t c)
{
    return c != '\0' && strchr("\\.+*?()|[]{}^$", c) != NULL;
}

/* RE2 takes a backslash before ASCII punctuation as that byte. */
static bool is_quotable(uint8_t c)
{
    return c < 0x80 && !is_letter_or_digit(c) && c != '_';
}

/*
 * Copies the plain bytes at the start of source to text and returns how much of source they took.
 * The last of them may be repeated: then what is left begins with the repetition.
 */
static size_t take_plain(struct bytes source, uint8_t *text, size_t *ret_size_bytes)
{
    size_t at = 0;
    size_t size = 0;
    while (at < source.size_bytes) {
        size_t step = 1;
        uint8_t byte = source.data[at];
        if (byte == '\\' && at + 1 < source.size_bytes && is_quotable(source.data[at + 1])) {
            byte = source.data[at + 1];
            step = 2;
        } else if (is_special(byte)) {
            break;
        }
        text[size++] = byte;
        at += step;
    }
    *ret_size_bytes = size;
    return at;
}

enum status pattern_compile(struct bytes source,
                            size_t memory_limit_bytes,
                            struct arena *arena,
                            struct pattern *ret_pattern,
                            struct error *ret_error)
{
    uint8_t *text = arena_allocate(arena, source.size_bytes);
    if (text == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "out of memory");
    }
    struct pattern pattern = {.kind = PATTERN_REGEX, .text = {text, 0}};
    size_t taken = take_plain(source, text, &pattern.text.size_bytes);
    struct bytes rest = BYTES_EMPTY;
    if (taken < source.size_bytes) {
        rest = (struct bytes){source.data + taken, source.size_bytes - taken};
    }

    if (rest.size_bytes == 0) {
        pattern.kind = PATTERN_EXACT;
    } else if (bytes_equal(rest, bytes_of_text(".*"))) {
        pattern.kind = PATTERN_PREFIX;
    } else if (bytes_equal(rest, bytes_of_text("\\C*"))) {
        pattern.kind = PATTERN_PREFIX;
        pattern.any_byte = true;
    } else {
        enum status status = regex_compile(source, memory_limit_bytes, &pattern.regex, ret_error);
        if (status != STATUS_OK) {
            return status;
        }
    }
    *ret_pattern = pattern;
    return STATUS_OK;
}

void pattern_deinit(struct pattern *pattern)
{
    regex_destroy(pattern->regex);
    pattern->regex = NULL;
}

/* Behind the first `from` bytes. */
static bool has_newline(struct bytes text, size_t from)
{
    return text.size_bytes > from && memchr(text.data + from, '\n', text.size_bytes - from) != NULL;
}

bool pattern_matches(const struct pattern *pattern, struct bytes text)
{
    size_t prefix = pattern->text.size_bytes;
    switch (pattern->kind) {
    case PATTERN_EXACT:
        return bytes_equal(pattern->text, text);
    case PATTERN_PREFIX:
        return bytes_starts_with(text, pattern->text) &&
               (pattern->any_byte || !has_newline(text, prefix));
    case PATTERN_REGEX:
        return regex_matches(pattern->regex, text);
    }
    UNREACHABLE();
}

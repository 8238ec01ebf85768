#include "master/placement/key_shape.h"

#include <stdint.h>
#include <string.h>

#define EPOCH_DIGITS_MIN 10 /* seconds since September 2001, until they are 2.1 billion */

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

/* A dot is none: it stands in names of hosts. */
static bool is_separator(uint8_t byte)
{
    return byte != 0 && strchr("#/|_,;:~- ", byte) != NULL;
}

static bool is_printable(struct bytes text)
{
    bool printable = true;
    for (size_t i = 0; i < text.size_bytes; i++) {
        printable = printable && text.data[i] >= 0x20 && text.data[i] < 0x7f;
    }
    return printable;
}

static size_t count_digits(struct bytes text)
{
    size_t count = 0;
    while (count < text.size_bytes && is_digit(text.data[count])) {
        count++;
    }
    return count;
}

static struct bytes front_of(struct bytes text, size_t count)
{
    return bytes_of(text.data, count < text.size_bytes ? count : text.size_bytes);
}

/* --- times --------------------------------------------------------------------------------------- */

/* UINT32_MAX: these are not all digits. */
static uint32_t read_digits(struct bytes text, size_t at, size_t count)
{
    uint32_t value = 0;
    for (size_t i = at; i < at + count; i++) {
        if (i >= text.size_bytes || !is_digit(text.data[i])) {
            return UINT32_MAX;
        }
        value = value * 10 + (uint32_t)(text.data[i] - '0');
    }
    return value;
}

/* How much of the text is a date, and the time behind it; 0: it begins with none. */
static size_t date_size(struct bytes text)
{
    size_t dash = text.size_bytes > 4 && !is_digit(text.data[4]) ? 1 : 0;
    uint32_t year = read_digits(text, 0, 4);
    uint32_t month = read_digits(text, 4 + dash, 2);
    uint32_t day = read_digits(text, 6 + 2 * dash, 2);
    size_t size = 8 + 2 * dash;

    if (year < 1970 || year > 2099 || month < 1 || month > 12 || day < 1 || day > 31 ||
        (dash != 0 && (text.data[4] != text.data[7] || strchr("-/.", text.data[4]) == NULL))) {
        return 0;
    }
    while (size < text.size_bytes && text.data[size] != 0 &&
           (is_digit(text.data[size]) || strchr("T:.Z", text.data[size]) != NULL)) {
        size++;
    }
    return size;
}

static size_t epoch_size(struct bytes text)
{
    size_t digits = count_digits(text);
    uint32_t seconds = digits < EPOCH_DIGITS_MIN ? 0 : read_digits(text, 0, EPOCH_DIGITS_MIN - 1);
    return seconds >= 100000000 && seconds < 210000000 ? digits : 0;
}

/* --- fields -------------------------------------------------------------------------------------- */

static size_t field_size(struct bytes text)
{
    size_t size = 0;
    while (size < text.size_bytes && !is_separator(text.data[size])) {
        size++;
    }
    return size;
}

static size_t shared_bytes(const struct bytes *rows, size_t count)
{
    size_t shared = rows[0].size_bytes;
    for (size_t i = 1; i < count; i++) {
        size_t same = 0;
        while (same < shared && same < rows[i].size_bytes &&
               rows[i].data[same] == rows[0].data[same]) {
            same++;
        }
        shared = same;
    }
    return shared;
}

/* Of rows that are cut the one that shows most. */
static struct bytes longest_of(const struct bytes *rows, size_t count)
{
    struct bytes longest = rows[0];
    for (size_t i = 1; i < count; i++) {
        longest = rows[i].size_bytes >= longest.size_bytes ? rows[i] : longest;
    }
    return longest;
}

/* differs_at: in the field, the first byte by which rows differ. */
static enum key_field kind_of(struct bytes field, size_t differs_at)
{
    if (!is_printable(field)) {
        return KEY_FIELD_BYTES;
    }
    struct bytes rest = bytes_drop_front(field, differs_at);
    bool counts = rest.size_bytes > 0 && count_digits(rest) == rest.size_bytes;
    return counts ? KEY_FIELD_NUMBER : KEY_FIELD_TEXT;
}

static void take_field(struct key_shape *shape, struct bytes row, size_t start, size_t size)
{
    size_t end = start + size;
    shape->known = true;
    shape->front = front_of(row, start);
    shape->field = front_of(bytes_drop_front(row, start), size);
    shape->more = end + 1 < row.size_bytes && is_separator(row.data[end]);
    shape->separator = start > 0 && is_separator(row.data[start - 1]) ? (char)row.data[start - 1]
                       : shape->more                                  ? (char)row.data[end]
                                                                      : '#';
}

struct key_shape key_shape_of(const struct bytes *rows, size_t count)
{
    struct key_shape shape = {.front = BYTES_EMPTY, .field = BYTES_EMPTY, .separator = '#'};
    if (count < 2) {
        return shape;
    }
    size_t shared = shared_bytes(rows, count);
    struct bytes row = longest_of(rows, count);

    for (size_t start = 0; start <= shared && start < row.size_bytes;) {
        struct bytes rest = bytes_drop_front(row, start);
        size_t date = date_size(rest);
        size_t epoch = date > 0 ? 0 : epoch_size(rest);
        size_t size = field_size(rest);
        if (date > 0 || epoch > 0) {
            take_field(&shape, row, start, date > 0 ? date : epoch);
            shape.kind = date > 0 ? KEY_FIELD_DATE : KEY_FIELD_EPOCH;
            return shape;
        }
        if (start + size >= shared) {
            take_field(&shape, row, start, size);
            shape.kind = kind_of(shape.field, shared - start);
            return shape;
        }
        start += size + 1;
    }
    return shape;
}

/* How much of the row so many fields take, with their separators; SIZE_MAX: it has fewer. */
static size_t fields_size(struct bytes row, size_t count)
{
    size_t at = 0;
    for (; count > 0; count--) {
        at += field_size(bytes_drop_front(row, at));
        if (at == row.size_bytes) {
            return SIZE_MAX;
        }
        at += 1;
    }
    return at;
}

static size_t count_fields(struct bytes front)
{
    size_t count = 0;
    for (size_t i = 0; i < front.size_bytes; i++) {
        count += is_separator(front.data[i]) ? 1 : 0;
    }
    return count;
}

static bool is_of_kind(struct bytes rest, enum key_field kind)
{
    size_t size = field_size(rest);
    switch (kind) {
    case KEY_FIELD_DATE:
        return date_size(rest) > 0;
    case KEY_FIELD_EPOCH:
        return epoch_size(rest) > 0;
    case KEY_FIELD_NUMBER:
        return size > 0 && is_digit(rest.data[size - 1]);
    case KEY_FIELD_TEXT:
    case KEY_FIELD_BYTES:
        return false;
    }
    return false;
}

bool key_shape_front_of(const struct key_shape *shape, struct bytes row, struct bytes *ret_front)
{
    size_t size = shape->known ? fields_size(row, count_fields(shape->front)) : SIZE_MAX;
    if (size == SIZE_MAX || !is_of_kind(bytes_drop_front(row, size), shape->kind)) {
        return false;
    }
    *ret_front = front_of(row, size);
    return true;
}

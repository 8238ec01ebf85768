#include "common/wire/reader.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/endian.h"
#include "common/wire/message.h"

/* The formats of MessagePack that we take apart; the rest only gets skipped. */
enum format {
    FORMAT_NIL = 0xc0,
    FORMAT_FALSE = 0xc2,
    FORMAT_TRUE = 0xc3,
    FORMAT_BIN8 = 0xc4,
    FORMAT_BIN16 = 0xc5,
    FORMAT_BIN32 = 0xc6,
    FORMAT_EXT8 = 0xc7,
    FORMAT_EXT16 = 0xc8,
    FORMAT_EXT32 = 0xc9,
    FORMAT_FLOAT32 = 0xca,
    FORMAT_FLOAT64 = 0xcb,
    FORMAT_UINT8 = 0xcc,
    FORMAT_UINT64 = 0xcf,
    FORMAT_INT8 = 0xd0,
    FORMAT_INT64 = 0xd3,
    FORMAT_FIXEXT1 = 0xd4,
    FORMAT_FIXEXT16 = 0xd8,
    FORMAT_STR8 = 0xd9,
    FORMAT_STR16 = 0xda,
    FORMAT_STR32 = 0xdb,
    FORMAT_ARRAY16 = 0xdc,
    FORMAT_ARRAY32 = 0xdd,
    FORMAT_MAP16 = 0xde,
    FORMAT_MAP32 = 0xdf,
};

static size_t remaining(const struct wire_reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

void wire_reader_refuse(struct wire_reader *reader, const char *field, const char *reason)
{
    if (reader->status == STATUS_OK) {
        reader->status = error_set(reader->error, STATUS_MALFORMED, "%s.%s: %s", reader->message,
                                   field, reason);
    }
    reader->at = reader->end;
}

/* A big-endian number of 1, 2, 4 or 8 bytes; false when the message ends before. */
static bool take_number(struct wire_reader *reader, size_t size_bytes, uint64_t *ret_value)
{
    if (remaining(reader) < size_bytes) {
        return false;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < size_bytes; i++) {
        value = value << 8 | reader->at[i];
    }
    reader->at += size_bytes;
    *ret_value = value;
    return true;
}

/* Step onto the next element of the array: false when there is none or the reader has failed. */
static bool take_head(struct wire_reader *reader,
                      struct wire_array *fields,
                      const char *field,
                      uint8_t *ret_head)
{
    if (reader->status != STATUS_OK || fields->left == 0) {
        return false;
    }
    if (remaining(reader) == 0) {
        wire_reader_refuse(reader, field, "the message ends before it");
        return false;
    }
    fields->left--;
    *ret_head = *reader->at++;
    return true;
}

/* The count of an array, its head taken. */
static bool take_array_count(struct wire_reader *reader,
                             uint8_t head,
                             const char *field,
                             uint32_t *ret_count)
{
    uint64_t count = 0;
    if ((head & 0xf0) == 0x90) {
        count = head & 0x0f;
    } else if (head != FORMAT_ARRAY16 && head != FORMAT_ARRAY32) {
        wire_reader_refuse(reader, field, "is not an array");
        return false;
    } else if (!take_number(reader, head == FORMAT_ARRAY16 ? 2 : 4, &count)) {
        wire_reader_refuse(reader, field, "the message ends inside it");
        return false;
    }
    if (count > remaining(reader)) {
        wire_reader_refuse(reader, field, "claims more elements than the message has bytes");
        return false;
    }
    if (reader->depth == MESSAGE_DEPTH_MAX) {
        wire_reader_refuse(reader, field, "is nested too deep");
        return false;
    }
    *ret_count = (uint32_t)count;
    return true;
}

/* How much follows the head of any format: payload bytes, and nested elements. */
static bool take_extent(struct wire_reader *reader,
                        uint8_t head,
                        uint64_t *ret_payload_bytes,
                        uint64_t *ret_elements)
{
    static const struct {
        uint8_t count_bytes; /* a number of this size comes first */
        uint8_t extra_bytes; /* and this much belongs to it in any case */
        uint8_t per_element; /* 0 = the number counts bytes; else elements of 1 or 2 objects */
    } shapes[0x20] = {
        [FORMAT_BIN8 - 0xc0] = {1, 0, 0},      [FORMAT_BIN16 - 0xc0] = {2, 0, 0},
        [FORMAT_BIN32 - 0xc0] = {4, 0, 0},     [FORMAT_EXT8 - 0xc0] = {1, 1, 0},
        [FORMAT_EXT16 - 0xc0] = {2, 1, 0},     [FORMAT_EXT32 - 0xc0] = {4, 1, 0},
        [FORMAT_FLOAT32 - 0xc0] = {0, 4, 0},   [FORMAT_FLOAT64 - 0xc0] = {0, 8, 0},
        [FORMAT_UINT8 - 0xc0] = {0, 1, 0},     [FORMAT_UINT8 - 0xbf] = {0, 2, 0},
        [FORMAT_UINT8 - 0xbe] = {0, 4, 0},     [FORMAT_UINT64 - 0xc0] = {0, 8, 0},
        [FORMAT_INT8 - 0xc0] = {0, 1, 0},      [FORMAT_INT8 - 0xbf] = {0, 2, 0},
        [FORMAT_INT8 - 0xbe] = {0, 4, 0},      [FORMAT_INT64 - 0xc0] = {0, 8, 0},
        [FORMAT_FIXEXT1 - 0xc0] = {0, 2, 0},   [FORMAT_FIXEXT1 - 0xbf] = {0, 3, 0},
        [FORMAT_FIXEXT1 - 0xbe] = {0, 5, 0},   [FORMAT_FIXEXT1 - 0xbd] = {0, 9, 0},
        [FORMAT_FIXEXT16 - 0xc0] = {0, 17, 0}, [FORMAT_STR8 - 0xc0] = {1, 0, 0},
        [FORMAT_STR16 - 0xc0] = {2, 0, 0},     [FORMAT_STR32 - 0xc0] = {4, 0, 0},
        [FORMAT_ARRAY16 - 0xc0] = {2, 0, 1},   [FORMAT_ARRAY32 - 0xc0] = {4, 0, 1},
        [FORMAT_MAP16 - 0xc0] = {2, 0, 2},     [FORMAT_MAP32 - 0xc0] = {4, 0, 2},
    };

    *ret_payload_bytes = 0;
    *ret_elements = 0;
    if (head < 0x80 || head >= 0xe0) {
        return true; /* fixint */
    }
    if (head < 0x90) {
        *ret_elements = 2 * (uint64_t)(head & 0x0f);
        return true;
    }
    if (head < 0xa0) {
        *ret_elements = head & 0x0f;
        return true;
    }
    if (head < 0xc0) {
        *ret_payload_bytes = head & 0x1f;
        return true;
    }
    uint64_t count = 0;
    size_t index = head - 0xc0u;
    if (head == 0xc1 || !take_number(reader, shapes[index].count_bytes, &count)) {
        return false;
    }
    *ret_payload_bytes = shapes[index].extra_bytes;
    if (shapes[index].per_element == 0) {
        *ret_payload_bytes += count;
    } else {
        *ret_elements = count * shapes[index].per_element;
    }
    return true;
}

/* Skip count elements, with all that is in them. */
static void skip(struct wire_reader *reader, uint64_t count)
{
    while (count > 0 && reader->status == STATUS_OK) {
        uint64_t payload_bytes = 0;
        uint64_t elements = 0;
        if (count > remaining(reader)) {
            wire_reader_refuse(reader, "unknown", "the message ends inside it");
            return;
        }
        uint8_t head = *reader->at++;
        if (!take_extent(reader, head, &payload_bytes, &elements) ||
            payload_bytes > remaining(reader)) {
            wire_reader_refuse(reader, "unknown", "the message ends inside it");
            return;
        }
        reader->at += payload_bytes;
        count = count - 1 + elements; /* no overflow: both are below 2^33 */
    }
}

struct wire_reader wire_reader_open(struct bytes in,
                                    struct arena *arena,
                                    const char *message,
                                    struct error *ret_error)
{
    static const uint8_t nothing[1];
    const uint8_t *start = in.size_bytes == 0 ? nothing : in.data;
    return (struct wire_reader){
        .at = start,
        .end = start + in.size_bytes,
        .arena = arena,
        .message = message,
        .error = ret_error,
        .status = STATUS_OK,
    };
}

struct wire_array wire_read_message(struct wire_reader *reader)
{
    struct wire_array whole = {.left = 1};
    return wire_read_array(reader, &whole, "message");
}

enum status wire_reader_finish(struct wire_reader *reader, struct wire_array *fields)
{
    wire_array_end(reader, fields);
    return wire_reader_close(reader);
}

enum status wire_reader_close(struct wire_reader *reader)
{
    if (reader->status == STATUS_OK && remaining(reader) > 0) {
        wire_reader_refuse(reader, "message", "bytes follow its end");
    }
    return reader->status;
}

void wire_skip(struct wire_reader *reader, struct wire_array *fields)
{
    if (fields->left > 0) {
        fields->left--;
        skip(reader, 1);
    }
}

struct wire_array wire_read_array(struct wire_reader *reader,
                                  struct wire_array *fields,
                                  const char *field)
{
    uint8_t head = 0;
    struct wire_array array = {.left = 0};
    if (take_head(reader, fields, field, &head)) {
        (void)take_array_count(reader, head, field, &array.left);
    }
    reader->depth++;
    return array;
}

void wire_array_end(struct wire_reader *reader, struct wire_array *array)
{
    ASSERT(reader->depth > 0);
    reader->depth--;
    skip(reader, array->left);
    array->left = 0;
}

void *wire_read_list(struct wire_reader *reader,
                     struct wire_array *fields,
                     const char *field,
                     struct wire_list_shape shape,
                     struct wire_array *ret_list)
{
    *ret_list = wire_read_array(reader, fields, field);
    size_t count = ret_list->left;
    if (count == 0) {
        return NULL;
    }
    if (count > shape.count_max) {
        wire_reader_refuse(reader, field, "has too many elements");
    } else if (count > remaining(reader) / shape.wire_bytes_min) {
        wire_reader_refuse(reader, field, "claims more elements than the message has bytes");
    }
    void *elements = NULL;
    if (reader->status == STATUS_OK) {
        elements = arena_allocate_array(reader->arena, count, shape.element_bytes);
        if (elements == NULL) {
            reader->status = error_set(reader->error, STATUS_NO_MEMORY,
                                       "%s.%s: no memory for %zu elements", reader->message, field,
                                       count);
        }
    }
    if (elements == NULL) {
        ret_list->left = 0;
        return NULL;
    }
    return memset(elements, 0, count * shape.element_bytes);
}

/* An integer of any format as two's complement, and whether it is below zero. */
static bool take_integer(struct wire_reader *reader,
                         struct wire_array *fields,
                         const char *field,
                         uint64_t *ret_value,
                         bool *ret_negative)
{
    uint8_t head = 0;
    uint64_t value = 0;
    if (!take_head(reader, fields, field, &head)) {
        return false;
    }
    if (head < 0x80) {
        *ret_value = head;
        *ret_negative = false;
        return true;
    }
    if (head >= 0xe0) {
        *ret_value = (uint64_t)(int64_t)(int8_t)head;
        *ret_negative = true;
        return true;
    }
    if (head < FORMAT_UINT8 || head > FORMAT_INT64) {
        wire_reader_refuse(reader, field, "is not an integer");
        return false;
    }
    bool is_signed = head >= FORMAT_INT8;
    unsigned size_bytes = 1u << (head & 3);
    if (!take_number(reader, size_bytes, &value)) {
        wire_reader_refuse(reader, field, "the message ends inside it");
        return false;
    }
    unsigned unused_bits = 64 - 8 * size_bytes;
    if (is_signed) {
        value = (uint64_t)((int64_t)(value << unused_bits) >> unused_bits);
    }
    *ret_value = value;
    *ret_negative = is_signed && (int64_t)value < 0;
    return true;
}

uint64_t wire_read_u64(struct wire_reader *reader, struct wire_array *fields, const char *field)
{
    uint64_t value = 0;
    bool negative = false;
    if (!take_integer(reader, fields, field, &value, &negative)) {
        return 0;
    }
    if (negative) {
        wire_reader_refuse(reader, field, "is negative");
        return 0;
    }
    return value;
}

uint32_t wire_read_u32(struct wire_reader *reader, struct wire_array *fields, const char *field)
{
    return wire_read_choice(reader, fields, field, 0, UINT32_MAX);
}

int64_t wire_read_i64(struct wire_reader *reader, struct wire_array *fields, const char *field)
{
    uint64_t value = 0;
    bool negative = false;
    if (!take_integer(reader, fields, field, &value, &negative)) {
        return 0;
    }
    if (!negative && value > INT64_MAX) {
        wire_reader_refuse(reader, field, "does not fit 63 bits");
        return 0;
    }
    return (int64_t)value;
}

bool wire_read_bool(struct wire_reader *reader, struct wire_array *fields, const char *field)
{
    uint8_t head = 0;
    if (!take_head(reader, fields, field, &head)) {
        return false;
    }
    if (head != FORMAT_FALSE && head != FORMAT_TRUE) {
        wire_reader_refuse(reader, field, "is not true or false");
        return false;
    }
    return head == FORMAT_TRUE;
}

double wire_read_f64(struct wire_reader *reader, struct wire_array *fields, const char *field)
{
    uint8_t head = 0;
    uint64_t bits = 0;
    if (!take_head(reader, fields, field, &head)) {
        return 0;
    }
    if (head != FORMAT_FLOAT64 || !take_number(reader, 8, &bits)) {
        wire_reader_refuse(reader, field, "is not a double");
        return 0;
    }
    double value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

struct bytes wire_read_bytes(struct wire_reader *reader,
                             struct wire_array *fields,
                             const char *field)
{
    uint8_t head = 0;
    uint64_t size_bytes = 0;
    if (!take_head(reader, fields, field, &head)) {
        return BYTES_EMPTY;
    }
    bool good = true;
    if ((head & 0xe0) == 0xa0) {
        size_bytes = head & 0x1f;
    } else if (head >= FORMAT_BIN8 && head <= FORMAT_BIN32) {
        good = take_number(reader, (size_t)1 << (head - FORMAT_BIN8), &size_bytes);
    } else if (head >= FORMAT_STR8 && head <= FORMAT_STR32) {
        good = take_number(reader, (size_t)1 << (head - FORMAT_STR8), &size_bytes);
    } else {
        wire_reader_refuse(reader, field, "is not a string of bytes");
        return BYTES_EMPTY;
    }
    if (!good || size_bytes > remaining(reader)) {
        wire_reader_refuse(reader, field, "the message ends inside it");
        return BYTES_EMPTY;
    }
    struct bytes bytes = {reader->at, (size_t)size_bytes};
    reader->at += size_bytes;
    return bytes;
}

uint32_t wire_read_choice(struct wire_reader *reader,
                          struct wire_array *fields,
                          const char *field,
                          uint32_t minimum,
                          uint32_t maximum)
{
    uint64_t value = wire_read_u64(reader, fields, field);
    if (reader->status == STATUS_OK && (value < minimum || value > maximum)) {
        wire_reader_refuse(reader, field, "is out of range");
    }
    return reader->status == STATUS_OK ? (uint32_t)value : minimum;
}

bool wire_read_nil(struct wire_reader *reader, struct wire_array *fields)
{
    if (reader->status != STATUS_OK || fields->left == 0) {
        return true;
    }
    if (remaining(reader) == 0 || *reader->at != FORMAT_NIL) {
        return false;
    }
    fields->left--;
    reader->at++;
    return true;
}

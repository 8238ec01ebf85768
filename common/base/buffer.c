#include "common/base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

#define BUFFER_CAPACITY_MIN_BYTES 64
#define BUFFER_TRIM_MIN_BYTES     4096 /* a page: less is not worth a call */

void buffer_init(struct buffer *buffer)
{
    *buffer = BUFFER_INIT;
}

void buffer_deinit(struct buffer *buffer)
{
    memory_free(buffer->data);
    *buffer = BUFFER_INIT;
}

void buffer_reset(struct buffer *buffer)
{
    buffer->size_bytes = 0;
    buffer->failed = false;
}

static bool resize(struct buffer *buffer, size_t capacity)
{
    uint8_t *data = memory_resize(buffer->data, capacity);
    if (data != NULL) {
        buffer->data = data;
        buffer->capacity_bytes = capacity;
    }
    return data != NULL;
}

static bool grow(struct buffer *buffer, size_t needed_bytes)
{
    size_t capacity = buffer->capacity_bytes;
    if (capacity < BUFFER_CAPACITY_MIN_BYTES) {
        capacity = BUFFER_CAPACITY_MIN_BYTES;
    }
    while (capacity < needed_bytes) {
        if (capacity > SIZE_MAX / 2) {
            return false;
        }
        capacity *= 2;
    }
    return resize(buffer, capacity);
}

void buffer_expect(struct buffer *buffer, size_t size_bytes)
{
    size_t needed = buffer->size_bytes + size_bytes;
    if (needed < size_bytes || (needed > buffer->capacity_bytes && !resize(buffer, needed))) {
        buffer->failed = true;
    }
}

uint8_t *buffer_reserve(struct buffer *buffer, size_t size_bytes)
{
    if (buffer->failed) {
        return NULL;
    }
    size_t needed = buffer->size_bytes + size_bytes;
    if (needed < size_bytes || (needed > buffer->capacity_bytes && !grow(buffer, needed)) ||
        buffer->data == NULL) {
        /* data is NULL only before the first growth of an empty reserve: give it a home. */
        if (needed == 0 && grow(buffer, 1)) {
            return buffer->data;
        }
        buffer->failed = true;
        return NULL;
    }
    return buffer->data + buffer->size_bytes;
}

void buffer_advance(struct buffer *buffer, size_t size_bytes)
{
    ASSERT(size_bytes <= buffer->capacity_bytes - buffer->size_bytes);
    buffer->size_bytes += size_bytes;
}

void buffer_append(struct buffer *buffer, const void *data, size_t size_bytes)
{
    if (size_bytes == 0) {
        return;
    }
    uint8_t *to = buffer_reserve(buffer, size_bytes);
    if (to != NULL) {
        memcpy(to, data, size_bytes);
        buffer->size_bytes += size_bytes;
    }
}

void buffer_append_bytes(struct buffer *buffer, struct bytes bytes)
{
    buffer_append(buffer, bytes.data, bytes.size_bytes);
}

void buffer_append_u8(struct buffer *buffer, uint8_t value)
{
    buffer_append(buffer, &value, 1);
}

void buffer_append_format(struct buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    ASSERT(length >= 0);

    uint8_t *to = buffer_reserve(buffer, (size_t)length + 1);
    if (to == NULL) {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf((char *)to, (size_t)length + 1, format, arguments);
    va_end(arguments);
    buffer->size_bytes += (size_t)length;
}

void buffer_trim(struct buffer *buffer)
{
    if (buffer->capacity_bytes - buffer->size_bytes < BUFFER_TRIM_MIN_BYTES) {
        return;
    }
    size_t capacity = buffer->size_bytes > BUFFER_CAPACITY_MIN_BYTES ? buffer->size_bytes
                                                                     : BUFFER_CAPACITY_MIN_BYTES;
    uint8_t *data = memory_resize(buffer->data, capacity);
    if (data != NULL) { /* else it stays as large as it is */
        buffer->data = data;
        buffer->capacity_bytes = capacity;
    }
}

uint8_t *buffer_detach(struct buffer *buffer, size_t *ret_size_bytes)
{
    uint8_t *data = buffer->data;
    *ret_size_bytes = buffer->size_bytes;
    *buffer = BUFFER_INIT;
    return data;
}

/*
 * A growable byte buffer that owns its memory.
 *
 * An append that cannot get memory marks the buffer failed and keeps what it holds; later appends
 * do nothing.  So an encoder appends freely and looks at failed once, at the end.
 *
 * Thread rule: one owner at a time.
 */
#ifndef COMMON_BASE_BUFFER_H
#define COMMON_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"

struct buffer {
    uint8_t *data;
    size_t size_bytes;
    size_t capacity_bytes;
    bool failed;
};

#define BUFFER_INIT ((struct buffer){NULL, 0, 0, false})

void buffer_init(struct buffer *buffer);

/* Frees the memory; the buffer is then empty and usable again. */
void buffer_deinit(struct buffer *buffer);

/* Empty it (and forget a failure), keep the memory. */
void buffer_reset(struct buffer *buffer);

/* Make room for size_bytes more and return where they start; NULL (and failed) without memory.
 * The size does not change: commit what was written with buffer_advance(). */
uint8_t *buffer_reserve(struct buffer *buffer, size_t size_bytes);
void buffer_advance(struct buffer *buffer, size_t size_bytes);

/* Make room for just so many bytes more, where it is known beforehand how many there will be: nothing is moved later, and
 * no memory is left over. */
void buffer_expect(struct buffer *buffer, size_t size_bytes);

void buffer_append(struct buffer *buffer, const void *data, size_t size_bytes);
void buffer_append_bytes(struct buffer *buffer, struct bytes bytes);
void buffer_append_u8(struct buffer *buffer, uint8_t value);

/* Give back what was reserved and is not used, where that is worth it: for a buffer that is kept. */
void buffer_trim(struct buffer *buffer);

/* As printf, without the NUL. */
void buffer_append_format(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline struct bytes buffer_bytes(const struct buffer *buffer)
{
    return (struct bytes){buffer->data, buffer->size_bytes};
}

/* Hand the memory over to the caller, who frees it with memory_free(); the buffer is empty. */
uint8_t *buffer_detach(struct buffer *buffer, size_t *ret_size_bytes);

#endif /* COMMON_BASE_BUFFER_H */

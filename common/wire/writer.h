/*
 * Writing MessagePack into a buffer.  The only code that knows msgpack-c, and it packs only:
 * msgpack-c's unpacker believes claimed counts, so reading is ours (reader.h).
 *
 * Nothing here fails: without memory the buffer says so (buffer->failed).
 *
 * Thread rule: the buffer's.
 */
#ifndef COMMON_WIRE_WRITER_H
#define COMMON_WIRE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"

/* An array of count elements, which the caller writes next. */
void wire_write_array(struct buffer *out, size_t count);

void wire_write_u64(struct buffer *out, uint64_t value);
void wire_write_i64(struct buffer *out, int64_t value);
void wire_write_bool(struct buffer *out, bool value);
void wire_write_f64(struct buffer *out, double value);
void wire_write_nil(struct buffer *out);

/* bytes must be smaller than 4 GiB. */
void wire_write_bytes(struct buffer *out, struct bytes bytes);

#endif /* COMMON_WIRE_WRITER_H */

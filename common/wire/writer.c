#include "common/wire/writer.h"

#include <msgpack/pack.h>
#include <string.h>

#include "common/base/assert.h"

/* As buffer_append, and here for the compiler to see: what msgpack-c packs has a few bytes, and is
 * written with as many instructions where there is room. */
static inline void put(struct buffer *out, const void *data, size_t size_bytes)
{
    if (!out->failed && size_bytes <= out->capacity_bytes - out->size_bytes) {
        memcpy(out->data + out->size_bytes, data, size_bytes);
        out->size_bytes += size_bytes;
    } else {
        buffer_append(out, data, size_bytes);
    }
}

/* Always 0: a failure is kept in the buffer. */
static inline int append(void *context, const char *data, size_t size_bytes)
{
    put(context, data, size_bytes);
    return 0;
}

static msgpack_packer packer_of(struct buffer *out)
{
    return (msgpack_packer){.data = out, .callback = append};
}

void wire_write_array(struct buffer *out, size_t count)
{
    ASSERT(count <= UINT32_MAX);
    msgpack_packer packer = packer_of(out);
    (void)msgpack_pack_array(&packer, count);
}

void wire_write_u64(struct buffer *out, uint64_t value)
{
    msgpack_packer packer = packer_of(out);
    (void)msgpack_pack_uint64(&packer, value);
}

void wire_write_i64(struct buffer *out, int64_t value)
{
    msgpack_packer packer = packer_of(out);
    (void)msgpack_pack_int64(&packer, value);
}

void wire_write_bool(struct buffer *out, bool value)
{
    msgpack_packer packer = packer_of(out);
    (void)(value ? msgpack_pack_true(&packer) : msgpack_pack_false(&packer));
}

void wire_write_f64(struct buffer *out, double value)
{
    msgpack_packer packer = packer_of(out);
    (void)msgpack_pack_double(&packer, value);
}

void wire_write_nil(struct buffer *out)
{
    msgpack_packer packer = packer_of(out);
    (void)msgpack_pack_nil(&packer);
}

void wire_write_bytes(struct buffer *out, struct bytes bytes)
{
    ASSERT(bytes.size_bytes <= UINT32_MAX);
    msgpack_packer packer = packer_of(out);
    (void)msgpack_pack_bin(&packer, bytes.size_bytes);
    if (bytes.size_bytes > 0) {
        put(out, bytes.data, bytes.size_bytes);
    }
}

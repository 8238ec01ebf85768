#include "common/wire/writer.h"

#include <msgpack/pack.h>

#include "common/base/assert.h"

/* Always 0: a failure is kept in the buffer. */
static int append(void *context, const char *data, size_t size_bytes)
{
    struct buffer *out = context;
    buffer_append(out, data, size_bytes);
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
    buffer_append_bytes(out, bytes);
}

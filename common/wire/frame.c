#include "common/wire/frame.h"

#include <inttypes.h>

#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/endian.h"

#define CHECKSUM_AT 16

/* The payload's own sum seeds the header's, so that neither can be swapped alone and neither has
 * to be copied next to the other. */
static uint32_t frame_checksum(const uint8_t *header, struct bytes payload)
{
    uint64_t seed = payload.size_bytes == 0 ? 0 : checksum64(payload.data, payload.size_bytes, 0);
    return checksum32(header, CHECKSUM_AT, seed);
}

void frame_header_encode(const struct frame_header *header,
                         struct bytes payload,
                         uint8_t out[FRAME_HEADER_BYTES])
{
    ASSERT(header->payload_bytes == payload.size_bytes);
    ASSERT(payload.size_bytes <= FRAME_PAYLOAD_BYTES_MAX);
    store_le32(out, header->payload_bytes);
    out[4] = (uint8_t)header->type;
    out[5] = header->flags;
    store_le16(out + 6, header->method);
    store_le64(out + 8, header->request);
    store_le32(out + CHECKSUM_AT, frame_checksum(out, payload));
}

enum status frame_header_decode(const uint8_t in[FRAME_HEADER_BYTES],
                                struct frame_header *ret_header,
                                struct error *ret_error)
{
    uint32_t payload_bytes = load_le32(in);
    uint8_t type = in[4];
    uint8_t flags = in[5];
    if (payload_bytes > FRAME_PAYLOAD_BYTES_MAX) {
        return error_set(ret_error, STATUS_MALFORMED,
                         "frame of %" PRIu32 " payload bytes; at most %d are allowed",
                         payload_bytes, FRAME_PAYLOAD_BYTES_MAX);
    }
    if (type < FRAME_HELLO || type > FRAME_GOAWAY) {
        return error_set(ret_error, STATUS_MALFORMED, "frame of unknown type %u", (unsigned)type);
    }
    if ((flags & ~(FRAME_FLAG_MORE | FRAME_FLAG_STREAM)) != 0) {
        return error_set(ret_error, STATUS_MALFORMED, "frame with unknown flags 0x%02x",
                         (unsigned)flags);
    }
    *ret_header = (struct frame_header){
        .payload_bytes = payload_bytes,
        .type = (enum frame_type)type,
        .flags = flags,
        .method = load_le16(in + 6),
        .request = load_le64(in + 8),
        .checksum = load_le32(in + CHECKSUM_AT),
    };
    return STATUS_OK;
}

enum status frame_check(const uint8_t header[FRAME_HEADER_BYTES],
                        struct bytes payload,
                        struct error *ret_error)
{
    uint32_t stated = load_le32(header + CHECKSUM_AT);
    uint32_t actual = frame_checksum(header, payload);
    if (stated != actual) {
        return error_set(ret_error, STATUS_MALFORMED,
                         "frame checksum is %08" PRIx32 ", header says %08" PRIx32, actual, stated);
    }
    return STATUS_OK;
}

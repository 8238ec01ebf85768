#include "gateway/core/features.h"

#include <string.h>

#include "common/base/base64.h"

#define FLAGS_BYTES_MAX 512
#define GO_LIBRARY      "grpc-go/"

/* Of the message FeatureFlags. */
enum field {
    FIELD_REVERSE_SCANS = 1,
    FIELD_LAST_SCANNED_ROW_RESPONSES = 4,
};

enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5,
};

/* False: there is none, whole. */
static bool take_varint(struct bytes *in, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (size_t i = 0; i < in->size_bytes && i < 9; i++) {
        value |= (uint64_t)(in->data[i] & 0x7f) << (7 * i);
        if (in->data[i] < 0x80) {
            *in = bytes_drop_front(*in, i + 1);
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static bool skip(struct bytes *in, uint64_t size_bytes)
{
    if (size_bytes > in->size_bytes) {
        return false;
    }
    *in = bytes_drop_front(*in, (size_t)size_bytes);
    return true;
}

/* The next field; *ret_value: of a varint, else 0. */
static bool take_field(struct bytes *in, uint64_t *ret_number, uint64_t *ret_value)
{
    uint64_t tag = 0;
    uint64_t value = 0;
    if (!take_varint(in, &tag)) {
        return false;
    }
    *ret_number = tag >> 3;
    *ret_value = 0;
    switch (tag & 7) {
    case WIRE_VARINT:
        return take_varint(in, ret_value);
    case WIRE_FIXED64:
        return skip(in, 8);
    case WIRE_BYTES:
        return take_varint(in, &value) && skip(in, value);
    case WIRE_FIXED32:
        return skip(in, 4);
    default:
        return false;
    }
}

struct features features_parse(struct bytes header)
{
    const struct features none = {false, false};
    struct features features = none;
    uint8_t bytes[FLAGS_BYTES_MAX];
    size_t size = 0;
    if (!base64_decode(header, bytes, sizeof bytes, &size)) {
        return none;
    }
    struct bytes in = bytes_of(bytes, size);
    while (in.size_bytes > 0) {
        uint64_t number = 0;
        uint64_t value = 0;
        if (!take_field(&in, &number, &value)) {
            return none;
        }
        features.has_reverse_scans |= number == FIELD_REVERSE_SCANS && value != 0;
        features.has_last_scanned_rows |= number == FIELD_LAST_SCANNED_ROW_RESPONSES && value != 0;
    }
    return features;
}

bool features_wants_whole_rows(struct bytes user_agent)
{
    size_t size = strlen(GO_LIBRARY);
    for (size_t at = 0; at + size <= user_agent.size_bytes; at++) {
        if (memcmp(user_agent.data + at, GO_LIBRARY, size) == 0) {
            return true;
        }
    }
    return false;
}

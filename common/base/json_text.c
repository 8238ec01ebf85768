#include "common/base/json_text.h"

void json_text(struct buffer *out, struct bytes text)
{
    buffer_append_u8(out, '"');
    for (size_t i = 0; i < text.size_bytes; i++) {
        uint8_t byte = text.data[i];
        if (byte == '"' || byte == '\\') {
            buffer_append_u8(out, '\\');
            buffer_append_u8(out, byte);
        } else if (byte < 0x20 || byte >= 0x7f) {
            buffer_append_format(out, "\\u%04x", byte);
        } else {
            buffer_append_u8(out, byte);
        }
    }
    buffer_append_u8(out, '"');
}

void json_key(struct buffer *out, struct bytes key)
{
    buffer_append_u8(out, '"');
    for (size_t i = 0; i < key.size_bytes; i++) {
        uint8_t byte = key.data[i];
        if (byte == '\\') {
            buffer_append(out, "\\\\\\\\", 4);
        } else if (byte == '"') {
            buffer_append(out, "\\\"", 2);
        } else if (byte >= 0x20 && byte < 0x7f) {
            buffer_append_u8(out, byte);
        } else {
            buffer_append_format(out, "\\\\x%02x", byte);
        }
    }
    buffer_append_u8(out, '"');
}

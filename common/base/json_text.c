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

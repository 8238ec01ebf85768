#include "master/console/console_json.h"

#include "common/base/hex.h"

#define IS_WHOLE 99.5
#define LEAST    1e-6

void json_id(struct buffer *out, uint64_t number)
{
    buffer_append_format(out, "\"%llu\"", (unsigned long long)number);
}

void json_number(struct buffer *out, double value)
{
    if (!(value >= LEAST)) {
        buffer_append_u8(out, '0');
    } else if (value >= IS_WHOLE) {
        buffer_append_format(out, "%.0f", value);
    } else {
        buffer_append_format(out, "%.4g", value);
    }
}

bool json_key_read(uint8_t *text, size_t size_bytes, struct bytes *ret_key)
{
    size_t kept = 0;
    size_t at = 0;

    while (at < size_bytes) {
        if (text[at] != '\\') {
            text[kept++] = text[at++];
        } else if (at + 1 < size_bytes && text[at + 1] == '\\') {
            text[kept++] = '\\';
            at += 2;
        } else if (at + 3 < size_bytes && text[at + 1] == 'x' && hex_digit(text[at + 2]) >= 0 &&
                   hex_digit(text[at + 3]) >= 0) {
            text[kept++] = (uint8_t)(hex_digit(text[at + 2]) * 16 + hex_digit(text[at + 3]));
            at += 4;
        } else {
            return false;
        }
    }
    *ret_key = bytes_of(text, kept);
    return true;
}

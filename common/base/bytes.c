#include "common/base/bytes.h"

static const char DIGITS[] = "0123456789abcdef";

/* Writes one byte as people read it; returns how many characters (1 or 4). */
static size_t print_byte(uint8_t byte, char out[4])
{
    if (byte >= 0x20 && byte < 0x7f && byte != '\\') {
        out[0] = (char)byte;
        return 1;
    }
    out[0] = '\\';
    out[1] = 'x';
    out[2] = DIGITS[byte >> 4];
    out[3] = DIGITS[byte & 15];
    return 4;
}

const char *bytes_printable(struct bytes bytes, char text[BYTES_PRINTABLE_SIZE_MAX])
{
    const size_t room = BYTES_PRINTABLE_SIZE_MAX - sizeof "...";
    size_t used = 0;

    for (size_t i = 0; i < bytes.size_bytes; i++) {
        char one[4];
        size_t length = print_byte(bytes.data[i], one);
        if (used + length > room) {
            memcpy(text + used, "...", 3);
            used += 3;
            break;
        }
        memcpy(text + used, one, length);
        used += length;
    }
    text[used] = '\0';
    return text;
}

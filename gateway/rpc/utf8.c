#include "gateway/rpc/utf8.h"

#include <stddef.h>
#include <stdint.h>

#define SURROGATE_FIRST 0xd800
#define SURROGATE_LAST  0xdfff
#define CHARACTER_LAST  0x10ffff

/* Of the character that begins with this byte; 0: none does. */
static size_t length_of(uint8_t first)
{
    return first < 0x80   ? 1
           : first < 0xc2 ? 0
           : first < 0xe0 ? 2
           : first < 0xf0 ? 3
           : first < 0xf5 ? 4
                          : 0;
}

/* Bytes of the character that the text begins with; 0: with none. */
static size_t character_bytes(const uint8_t *text, size_t left)
{
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    static const uint32_t FIRST_BITS[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    size_t length = length_of(text[0]);
    if (length == 0 || length > left) {
        return 0;
    }
    uint32_t character = text[0] & FIRST_BITS[length];
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
        character = character << 6 | (text[i] & UINT32_C(0x3f));
    }
    bool is_surrogate = character >= SURROGATE_FIRST && character <= SURROGATE_LAST;
    return character < LEAST[length] || is_surrogate || character > CHARACTER_LAST ? 0 : length;
}

bool utf8_is_valid(struct bytes text)
{
    size_t at = 0;
    while (at < text.size_bytes) {
        size_t length = character_bytes(text.data + at, text.size_bytes - at);
        if (length == 0) {
            return false;
        }
        at += length;
    }
    return true;
}

#include "common/base/utf8.h"

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

size_t utf8_read(const uint8_t *p, size_t left, uint32_t *ret_character)
{
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    static const uint32_t FIRST_BITS[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    size_t length = length_of(p[0]);
    if (length == 0 || length > left) {
        return 0;
    }
    uint32_t character = p[0] & FIRST_BITS[length];
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
        character = character << 6 | (p[i] & UINT32_C(0x3f));
    }
    bool is_surrogate = character >= SURROGATE_FIRST && character <= SURROGATE_LAST;
    if (character < LEAST[length] || is_surrogate || character > CHARACTER_LAST) {
        return 0;
    }
    *ret_character = character;
    return length;
}

bool utf8_is_valid(struct bytes text)
{
    uint32_t character = 0;
    size_t at = 0;
    while (at < text.size_bytes) {
        size_t length = utf8_read(text.data + at, text.size_bytes - at, &character);
        if (length == 0) {
            return false;
        }
        at += length;
    }
    return true;
}

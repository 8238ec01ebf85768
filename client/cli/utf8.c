#include "client/cli/utf8.h"

static size_t length_of(unsigned char first)
{
    return first < 0x80   ? 1
           : first < 0xc2 ? 0
           : first < 0xe0 ? 2
           : first < 0xf0 ? 3
           : first < 0xf5 ? 4
                          : 0;
}

size_t utf8_read(const unsigned char *p, size_t left, uint32_t *ret_character)
{
    static const unsigned char FIRST_BITS[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = length_of(p[0]);
    if (length == 0 || length > left) {
        return 0;
    }
    uint32_t character = p[0] & FIRST_BITS[length];
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
        character = character << 6 | (p[i] & 0x3fU);
    }
    bool surrogate = character >= 0xd800 && character <= 0xdfff;
    if (character < LEAST[length] || surrogate || character > 0x10ffff) {
        return 0;
    }
    *ret_character = character;
    return length;
}

bool utf8_is_shown(uint32_t character)
{
    static const struct {
        uint32_t first;
        uint32_t last;
    } UNSEEN[] = {
        {0x00, 0x1f},       {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},
        {0x180e, 0x180e},   {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
        {0xfeff, 0xfeff},   {0xfff9, 0xfffb}, {0xfffe, 0xffff}, {0x1d173, 0x1d17a},
        {0xe0000, 0xe0fff},
    };
    for (size_t i = 0; i < sizeof UNSEEN / sizeof *UNSEEN; i++) {
        if (character >= UNSEEN[i].first && character <= UNSEEN[i].last) {
            return false;
        }
    }
    return true;
}

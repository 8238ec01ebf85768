#include "client/cli/shown.h"

#include <stddef.h>

bool character_is_shown(uint32_t character)
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

#include "client/cli/escapes.h"

#include <stdint.h>
#include <string.h>

#define CHARACTER_MAX 0x10ffff

/* So many digits of a number, no less. */
static bool take_hex(const char **at, size_t digits, uint32_t *ret_number)
{
    static const char DIGITS[] = "0123456789abcdef0123456789ABCDEF";
    uint32_t number = 0;
    for (size_t i = 0; i < digits; i++) {
        const char *digit = **at != '\0' ? strchr(DIGITS, **at) : NULL;
        if (digit == NULL) {
            return false;
        }
        number = number << 4 | (uint32_t)((digit - DIGITS) % 16);
        *at += 1;
    }
    *ret_number = number;
    return true;
}

/* UTF-8 takes less than what stands for it. */
static bool put_character(uint32_t character, char **out)
{
    if (character > CHARACTER_MAX || (character >= 0xd800 && character <= 0xdfff)) {
        return false;
    }
    if (character < 0x80) {
        *(*out)++ = (char)character;
        return true;
    }
    int followers = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    uint32_t first = 0xff00U >> (followers + 1) & 0xff;
    *(*out)++ = (char)(first | character >> (6 * followers));
    while (followers-- > 0) {
        *(*out)++ = (char)(0x80 | (character >> (6 * followers) & 0x3f));
    }
    return true;
}

/* What stands behind a backslash. */
static bool take_escape(const char **at, char **out)
{
    static const char LETTERS[] = "abtnvfr"; /* 7 to 13 */
    uint32_t number = 0;
    char letter = *(*at)++;
    switch (letter) {
    case '\0':
        return false;
    case '\\':
    case '"':
        *(*out)++ = letter;
        return true;
    case 'x':
        if (!take_hex(at, 2, &number)) {
            return false;
        }
        *(*out)++ = (char)number;
        return true;
    case 'u':
        return take_hex(at, 4, &number) && put_character(number, out);
    case 'U':
        return take_hex(at, 8, &number) && put_character(number, out);
    default:
        break;
    }
    const char *control = strchr(LETTERS, letter);
    if (control == NULL) {
        return false;
    }
    *(*out)++ = (char)(7 + (control - LETTERS));
    return true;
}

bool escapes_take(char *text, size_t *ret_size)
{
    const char *at = text;
    char *out = text;
    while (*at != '\0') {
        if (*at != '\\') {
            *out++ = *at++;
            continue;
        }
        at++;
        if (!take_escape(&at, &out)) {
            return false;
        }
    }
    *ret_size = (size_t)(out - text);
    return true;
}

/* UTF-8: against the standard's table of well-formed byte sequences (Unicode, table 3-7). */
#include <criterion/criterion.h>

#include "gateway/rpc/utf8.h"

static bool is_valid(const char *text)
{
    return utf8_is_valid(bytes_of_text(text));
}

Test(utf8, texts)
{
    cr_assert(is_valid(""));
    cr_assert(is_valid("plain"));
    cr_assert(is_valid("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
    cr_assert_not(is_valid("caf\xe9"), "Latin-1");
    cr_assert_not(is_valid("\xe2\x82"), "cut");
    cr_assert_not(is_valid("\xe2\x82 "), "cut by another");
    cr_assert_not(is_valid("\x80"), "the rest of one");
}

Test(utf8, borders)
{
    static const char *const good[] = {"\x7f",         "\xc2\x80",         "\xdf\xbf",
                                       "\xe0\xa0\x80", "\xed\x9f\xbf",     "\xee\x80\x80",
                                       "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\xc0\x80",         "\xc1\xbf",         "\xe0\x9f\xbf",
                                      "\xed\xa0\x80",     "\xed\xbf\xbf",     "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        cr_assert(is_valid(good[i]), "good %zu", i);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_assert_not(is_valid(bad[i]), "bad %zu", i);
    }
}

/* One row of the table: so many bytes, the first two of them in these ranges. */
struct row {
    size_t length;
    uint8_t first_from;
    uint8_t first_to;
    uint8_t second_from;
    uint8_t second_to;
};

static bool is_well_formed(uint8_t first, uint8_t second, size_t length)
{
    static const struct row rows[] = {
        {2, 0xc2, 0xdf, 0x80, 0xbf}, {3, 0xe0, 0xe0, 0xa0, 0xbf}, {3, 0xe1, 0xec, 0x80, 0xbf},
        {3, 0xed, 0xed, 0x80, 0x9f}, {3, 0xee, 0xef, 0x80, 0xbf}, {4, 0xf0, 0xf0, 0x90, 0xbf},
        {4, 0xf1, 0xf3, 0x80, 0xbf}, {4, 0xf4, 0xf4, 0x80, 0x8f},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].length == length && first >= rows[i].first_from && first <= rows[i].first_to &&
            second >= rows[i].second_from && second <= rows[i].second_to) {
            return true;
        }
    }
    return false;
}

Test(utf8, every_beginning)
{
    for (unsigned first = 0x80; first <= 0xff; first++) {
        for (unsigned second = 0x80; second <= 0xff; second++) {
            for (size_t length = 2; length <= 4; length++) {
                uint8_t text[] = {(uint8_t)first, (uint8_t)second, 0xbf, 0xbf};
                cr_assert_eq(utf8_is_valid(bytes_of(text, length)),
                             is_well_formed((uint8_t)first, (uint8_t)second, length),
                             "%02x %02x of %zu", first, second, length);
            }
        }
    }
}

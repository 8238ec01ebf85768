/* What ebt prints of keys that anybody may have chosen: nothing in them steers a terminal, or hides. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/output.h"
#include "client/cli/utf8.h"

#define QUOTED(text) quoted((struct edubba_bytes){text, sizeof(text) - 1})
#define JSON(text)   as_json((struct edubba_bytes){text, sizeof(text) - 1})

static char printed[512];

static const char *quoted(struct edubba_bytes bytes)
{
    FILE *out = fmemopen(printed, sizeof printed, "w");
    cr_assert_not_null(out);
    print_quoted(out, bytes);
    cr_assert_eq(fclose(out), 0);
    return printed;
}

static const char *as_json(struct edubba_bytes bytes)
{
    FILE *out = fmemopen(printed, sizeof printed, "w");
    cr_assert_not_null(out);
    print_json_bytes(out, "k", bytes);
    cr_assert_eq(fclose(out), 0);
    return printed;
}

Test(output, what_shows_is_quoted_as_it_is)
{
    cr_assert_str_eq(QUOTED("a <b> 'c' =1+1 \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
                     "\"a <b> 'c' =1+1 \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
    cr_assert_str_eq(QUOTED("\"\\"), "\"\\\"\\\\\"");
    cr_assert_str_eq(JSON("<b>\xc3\xa4\"\\"), "\"k\":\"<b>\xc3\xa4\\\"\\\\\"");
}

Test(output, what_steers_a_terminal_is_escaped)
{
    cr_assert_str_eq(QUOTED("\x1b[31m\n\x7f"), "\"\\x1b[31m\\n\\x7f\"");
    cr_assert_str_eq(QUOTED("\xc2\x9b"
                            "31m"),
                     "\"\\u009b31m\"", "CSI in one character");
    cr_assert_str_eq(QUOTED("\xe2\x80\xae"
                            "cba"),
                     "\"\\u202ecba\"", "right to left");
    cr_assert_str_eq(QUOTED("a\xef\xbb\xbf\xe2\x80\x8b\xf3\xa0\x81\x81"),
                     "\"a\\ufeff\\u200b\\U000e0041\"", "nothing at all");
    cr_assert_str_eq(QUOTED("\xff\xc0\x80\xed\xa0\x80"), "\"\\xff\\xc0\\x80\\xed\\xa0\\x80\"");
}

Test(output, so_it_is_in_json)
{
    cr_assert_str_eq(JSON("\x1b\x7f\xc2\x9b\xe2\x80\xa8"),
                     "\"k\":\"\\u001b\\u007f\\u009b\\u2028\"");
    cr_assert_str_eq(JSON("\xf3\xa0\x81\x81"), "\"k\":\"\\udb40\\udc41\"");
    cr_assert_str_eq(JSON("\xff"), "\"k_base64\":\"/w==\"");
}

Test(output, a_character_is_read_whole_or_not_at_all)
{
    uint32_t character = 0;
    const unsigned char *last = (const unsigned char *)"\xf4\x8f\xbf\xbf";
    cr_assert_eq(utf8_read(last, 4, &character), 4);
    cr_assert_eq(character, 0x10ffff);
    cr_assert_eq(utf8_read(last, 3, &character), 0);
    cr_assert_eq(utf8_read((const unsigned char *)"\xf4\x90\x80\x80", 4, &character), 0);
    cr_assert_eq(utf8_read((const unsigned char *)"\xe0\x9f\xbf", 3, &character), 0, "overlong");
    cr_assert_eq(utf8_read((const unsigned char *)"\xf0\x8f\xbf\xbf", 4, &character), 0);
    cr_assert_eq(utf8_read((const unsigned char *)"\xed\x9f\xbf", 3, &character), 3);
}

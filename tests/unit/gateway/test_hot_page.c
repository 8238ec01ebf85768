/* Pages of ListHotTablets, and keys in fields of UTF-8. */
#include <criterion/criterion.h>

#include <string.h>

#include "gateway/core/hot_page.h"

/* --- tokens ----------------------------------------------------------------------------------- */

Test(hot_page, a_token_comes_back_as_it_was)
{
    const struct hot_page_token tokens[] = {
        {1795342095814322, 1795342098931273, 25.071234, 1795342095000000, 17},
        {0, 0, 0, 0, 0},
        {INT64_MIN, INT64_MAX, 1e-300, -1, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        char text[HOT_PAGE_TOKEN_SIZE];
        struct hot_page_token back = {0};
        hot_page_token_write(&tokens[i], text);
        cr_assert_eq(strlen(text), HOT_PAGE_TOKEN_SIZE - 1);
        cr_assert(hot_page_token_read(text, &back));
        cr_assert_eq(back.start_us, tokens[i].start_us);
        cr_assert_eq(back.end_us, tokens[i].end_us);
        cr_assert_eq(memcmp(&back.percent, &tokens[i].percent, sizeof back.percent), 0);
        cr_assert_eq(back.last_us, tokens[i].last_us);
        cr_assert_eq(back.tablet, tokens[i].tablet);
    }
}

Test(hot_page, what_is_no_token_is_refused)
{
    const struct hot_page_token token = {1, 2, 3, 4, 5};
    struct hot_page_token back = {0};
    char text[HOT_PAGE_TOKEN_SIZE + 1];
    cr_assert_not(hot_page_token_read("", &back));
    hot_page_token_write(&token, text);
    text[80] = '0';
    text[81] = '\0';
    cr_assert_not(hot_page_token_read(text, &back), "too long");
    text[79] = '\0';
    cr_assert_not(hot_page_token_read(text, &back), "too short");
    hot_page_token_write(&token, text);
    for (const char *wrong = "gG-A \xff"; *wrong != '\0'; wrong++) {
        text[40] = *wrong;
        cr_assert_not(hot_page_token_read(text, &back));
    }
    cr_assert_eq(back.tablet, 0, "untouched");
}

Test(hot_page, the_next_page_is_what_lies_behind)
{
    const struct hot_page_token token = {.percent = 5, .last_us = 100, .tablet = 7};
    const struct edubba_hot_tablet before[] = {
        {.cpu_percent = 5.1, .start_us = 200, .tablet = 9},
        {.cpu_percent = 5, .start_us = 99, .tablet = 9},
        {.cpu_percent = 5, .start_us = 100, .tablet = 6},
        {.cpu_percent = 5, .start_us = 100, .tablet = 7},
        {.cpu_percent = 4, .start_us = 100, .tablet = 7}, /* the same, cooler by now */
    };
    const struct edubba_hot_tablet behind[] = {
        {.cpu_percent = 5, .start_us = 100, .tablet = 8},
        {.cpu_percent = 5, .start_us = 101, .tablet = 1},
        {.cpu_percent = 4.9, .start_us = 1, .tablet = 1},
    };
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        cr_assert_not(hot_page_is_behind(&token, &before[i]), "%zu", i);
    }
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        cr_assert(hot_page_is_behind(&token, &behind[i]), "%zu", i);
    }
}

/* --- keys ------------------------------------------------------------------------------------- */

static void assert_key(const char *key, size_t size, const char *wanted)
{
    char text[256];
    memset(text, '#', sizeof text);
    hot_page_key_text(edubba_bytes_of(key, size), text);
    cr_assert_str_eq(text, wanted);
}

Test(hot_page, a_key_of_text_stays_and_other_bytes_are_spelled)
{
    assert_key("", 0, "");
    assert_key("user#17", 7, "user#17");
    assert_key("\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5", 9, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5");
    assert_key("a\x00z", 3, "a\\x00z");
    assert_key("\xff\xfe", 2, "\\xff\\xfe");
    assert_key("a\xe2\x82", 3, "a\\xe2\\x82");                 /* cut off */
    assert_key("\xc0\xaf", 2, "\\xc0\\xaf");                   /* overlong */
    assert_key("\xed\xa0\x80", 3, "\\xed\\xa0\\x80");          /* half a pair */
    assert_key("\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80"); /* beyond the last character */
}

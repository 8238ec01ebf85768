#include <criterion/criterion.h>

#include "common/base/base64.h"
#include "common/base/prng.h"

static bool decodes_to(const char *text, const char *expected)
{
    uint8_t out[64];
    size_t size = 0;
    return base64_decode(bytes_of_text(text), out, sizeof out, &size) &&
           bytes_equal(bytes_of(out, size), bytes_of_text(expected));
}

/* The vectors of RFC 4648. */
Test(base64, is_what_the_standard_says)
{
    static const char *const pairs[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char text[BASE64_TEXT_SIZE(6)];
        base64_encode(bytes_of_text(pairs[i][0]), text);
        cr_assert_str_eq(text, pairs[i][1]);
        cr_assert(decodes_to(pairs[i][1], pairs[i][0]), "%s", pairs[i][1]);
    }
}

Test(base64, padding_may_be_left_out_and_both_alphabets_are_read)
{
    cr_assert(decodes_to("Zg", "f"));
    cr_assert(decodes_to("Zm8", "fo"));
    cr_assert(decodes_to("-_-_", "\xfb\xff\xbf"));
    cr_assert(decodes_to("+/+/", "\xfb\xff\xbf"));
}

Test(base64, what_is_none_is_refused)
{
    uint8_t out[3];
    size_t size = 7;
    cr_assert_not(base64_decode(bytes_of_text("Z"), out, sizeof out, &size));
    cr_assert_not(base64_decode(bytes_of_text("Zg=a"), out, sizeof out, &size));
    cr_assert_not(base64_decode(bytes_of_text("Zm9v Zm9v"), out, sizeof out, &size));
    cr_assert_not(base64_decode(bytes_of_text("Zm9vYg=="), out, sizeof out, &size), "too much");
    cr_assert_eq(size, 7, "untouched");
}

Test(base64, goes_there_and_back)
{
    struct prng prng = prng_of_seed(3);
    for (int round = 0; round < 2000; round++) {
        uint8_t in[80];
        uint8_t out[80];
        char text[BASE64_TEXT_SIZE(sizeof in)];
        size_t size = prng_below(&prng, sizeof in + 1);
        size_t back = 0;
        for (size_t i = 0; i < size; i++) {
            in[i] = (uint8_t)prng_next(&prng);
        }
        base64_encode(bytes_of(in, size), text);
        cr_assert_eq(strlen(text) + 1, BASE64_TEXT_SIZE(size));
        cr_assert(base64_decode(bytes_of_text(text), out, size, &back), "%s", text);
        cr_assert(bytes_equal(bytes_of(in, size), bytes_of(out, back)));
    }
}

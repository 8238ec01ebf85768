/* Keys as ebt prints them in quotes, taken back: whoever types one may type anything. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "client/cli/escapes.h"
#include "client/cli/output.h"
#include "common/base/prng.h"

Test(escapes, what_is_printed_in_quotes_is_taken_back)
{
    struct prng prng = prng_of_seed(7);
    for (int round = 0; round < 20000; round++) {
        static const char some[] = "ab\\\"\n\xc3\xa9\xe2\x80\xa8\xf0\x9f\x98\x80\xf3\xa0\x80\x81";
        char key[32];
        char text[400] = "";
        size_t size = 0;
        for (size_t left = prng_below(&prng, sizeof key); size < left; size++) {
            key[size] = prng_below(&prng, 2) == 0 ? (char)prng_below(&prng, 256)
                                                  : some[prng_below(&prng, sizeof some)];
        }
        FILE *out = fmemopen(text, sizeof text, "w");
        print_quoted(out, edubba_bytes_of(key, size));
        fclose(out);
        size_t taken = 0;
        text[strlen(text) - 1] = '\0'; /* the quotes are not a part of it */
        cr_assert(escapes_take(text + 1, &taken), "%s", text);
        cr_assert_eq(taken, size);
        cr_assert_eq(memcmp(text + 1, key, size), 0);
    }
}

Test(escapes, what_is_none_is_refused)
{
    static const char *const bad[] = {"a\\",      "\\x",     "\\x0",        "\\xg0",       "\\q",
                                      "\\u123",   "\\ud800", "\\U0011ffff", "\\U1234567",  "\\'",
                                      "\\x0\\n2", "\\0",     "ok\\x00\\",   "\\U00110000", "\\ "};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[32];
        size_t size = 0;
        (void)snprintf(text, sizeof text, "%s", bad[i]);
        cr_assert_not(escapes_take(text, &size), "%s", bad[i]);
    }
}

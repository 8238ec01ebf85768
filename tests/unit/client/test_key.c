/* Row keys: fields, padding, times, and salts that never change. */
#include <criterion/criterion.h>

#include <stdio.h>

#include "client/include/edubba_keys.h"
#include "common/base/prng.h"

static struct edubba_key key;

static void is(const char *expected)
{
    struct edubba_bytes bytes = edubba_key_bytes(&key);
    cr_assert_eq(bytes.size, strlen(expected), "%.*s", (int)bytes.size, (const char *)bytes.data);
    cr_assert_eq(memcmp(bytes.data, expected, bytes.size), 0, "%.*s", (int)bytes.size,
                 (const char *)bytes.data);
}

Test(key, fields_are_joined)
{
    edubba_key_init(&key);
    edubba_key_add_text(&key, "user17");
    is("user17");
    edubba_key_add_bytes(&key, edubba_bytes_of("a\xff", 2));
    edubba_key_add_padded(&key, "ab", 4);
    edubba_key_add_padded(&key, "abcdef", 4);
    edubba_key_add_number(&key, 42, 5);
    edubba_key_add_number(&key, UINT64_MAX, 3);
    is("user17#a\xff#ab  #abcd#00042#18446744073709551615");
}

Test(key, times)
{
    edubba_key_init(&key);
    edubba_key_add_reversed_time(&key, 1426535612045);
    is("9223370610319163762");
    edubba_key_init(&key);
    edubba_key_add_reversed_time(&key, INT64_MAX);
    is("0000000000000000000");
    edubba_key_init(&key);
    edubba_key_add_reversed_time(&key, -5);
    is("9223372036854775807");
    edubba_key_init(&key);
    edubba_key_add_bucket(&key, 1426535612045, 3600000);
    is("0000001426532400000");
    edubba_key_init(&key);
    edubba_key_add_bucket(&key, 17, 0);
    is("0000000000000000017");
}

Test(key, newer_times_sort_first_and_buckets_in_order)
{
    struct prng prng = prng_of_seed(1);
    for (int i = 0; i < 1000; i++) {
        int64_t a = (int64_t)(prng_next(&prng) >> (1 + prng_below(&prng, 50)));
        int64_t b = (int64_t)(prng_next(&prng) >> (1 + prng_below(&prng, 50)));
        struct edubba_key other;
        edubba_key_init(&key);
        edubba_key_init(&other);
        edubba_key_add_reversed_time(&key, a);
        edubba_key_add_reversed_time(&other, b);
        cr_assert_eq(key.size, 19);
        int order = memcmp(key.data, other.data, 19);
        cr_assert_eq(order<0, a> b);
        edubba_key_init(&key);
        edubba_key_init(&other);
        edubba_key_add_bucket(&key, a, 1000);
        edubba_key_add_bucket(&other, b, 1000);
        order = memcmp(key.data, other.data, 19);
        cr_assert_eq(order < 0, a / 1000 < b / 1000);
    }
}

Test(key, salts_have_the_width_of_the_last_one)
{
    edubba_key_init(&key);
    edubba_key_add_salt(&key, 3, 10);
    edubba_key_add_salt(&key, 3, 11);
    edubba_key_add_salt(&key, 0, 1);
    edubba_key_add_salt(&key, 7, 1001);
    is("3#03#0#0007");
}

/* What was written under a salt must be found under it by every later version. */
Test(key, salts_never_change)
{
    static const struct {
        const char *text;
        uint32_t of_16;
        uint32_t of_1000;
    } vectors[] = {
        {"", 0, 872},         {"a", 9, 257}, {"user17", 5, 69}, {"server1.bbb.com", 4, 164},
        {"\xc3\xa9", 9, 809},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        cr_expect_eq(edubba_salt(EDUBBA_TEXT(vectors[i].text), 16), vectors[i].of_16, "%s",
                     vectors[i].text);
        cr_expect_eq(edubba_salt(EDUBBA_TEXT(vectors[i].text), 1000), vectors[i].of_1000, "%s",
                     vectors[i].text);
    }
    cr_assert_eq(edubba_salt(EDUBBA_TEXT("x"), 1), 0);
    cr_assert_eq(edubba_salt(EDUBBA_TEXT("x"), 0), 0);
}

Test(key, salts_spread)
{
    uint32_t counts[16] = {0};
    for (int i = 0; i < 16000; i++) {
        char text[32];
        int size = snprintf(text, sizeof text, "user%d", i);
        counts[edubba_salt(edubba_bytes_of(text, (size_t)size), 16)]++;
    }
    for (int i = 0; i < 16; i++) {
        cr_assert(counts[i] > 800 && counts[i] < 1200, "salt %d: %u", i, counts[i]);
    }
}

Test(key, one_that_is_too_long_is_no_key_and_no_bound)
{
    static char text[EDUBBA_KEY_SIZE_MAX + 1];
    memset(text, 'x', sizeof text);
    edubba_key_init(&key);
    edubba_key_add_bytes(&key, edubba_bytes_of(text, EDUBBA_KEY_SIZE_MAX));
    cr_assert_eq(edubba_key_bytes(&key).size, EDUBBA_KEY_SIZE_MAX);
    edubba_key_add_bytes(&key, EDUBBA_NOTHING);
    cr_assert(key.too_long);
    cr_assert_gt(edubba_key_bytes(&key).size, EDUBBA_KEY_SIZE_MAX + 1);
    edubba_key_add_text(&key, "more");
    cr_assert_gt(edubba_key_bytes(&key).size, EDUBBA_KEY_SIZE_MAX + 1);
    edubba_key_init(&key);
    edubba_key_add_bytes(&key, edubba_bytes_of(text, sizeof text));
    cr_assert(key.too_long);
    edubba_key_init(&key);
    edubba_key_add_padded(&key, "x", SIZE_MAX);
    cr_assert(key.too_long);
    edubba_key_init(&key);
    edubba_key_add_number(&key, 1, SIZE_MAX);
    cr_assert(key.too_long);
}

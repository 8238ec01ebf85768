/* Keys as places on a line. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>

#include "common/base/prng.h"
#include "master/heat/heat_key.h"

static double place(const char *low, const char *high, const char *key)
{
    return heat_key_fraction(bytes_of_text(low), bytes_of_text(high), bytes_of_text(key));
}

static void near(double got, double wanted)
{
    cr_assert(fabs(got - wanted) < 1e-6, "%f, not %f", got, wanted);
}

Test(heat_key, decimal_keys_are_numbers)
{
    near(place("user0000", "user5000", "user2500"), 0.5);
    near(place("user0000", "user5000", "user0999"), 0.1998);
    near(place("user0999", "user1001", "user1000"), 0.5);
    near(place("0000000000000000", "0000000000010000", "0000000000002500"), 0.25);
}

Test(heat_key, other_number_systems)
{
    near(place("00", "80", "40"), 0.5); /* digits alone: decimal */
    near(place("0a", "ff", "80"), (128.0 - 10) / (255 - 10));
    near(place("a", "z", "n"), 13.0 / 25);
    near(heat_key_fraction(bytes_of("\x00", 1), bytes_of("\xff", 1), bytes_of("\x33", 1)),
         51.0 / 255);
}

Test(heat_key, ends_and_what_cannot_be_told)
{
    near(place("b", "d", "a"), 0);
    near(place("b", "d", "b"), 0);
    near(place("b", "d", "d"), 1);
    near(place("b", "d", "e"), 1);
    /* A zero byte behind a key is nothing in any number system. */
    near(heat_key_fraction(bytes_of("a", 1), bytes_of("a\0\0", 3), bytes_of("a\0", 2)), 0.5);
}

Test(heat_key, long_keys_are_cut)
{
    uint8_t key[HEAT_KEY_BYTES_MAX + 7] = {0};
    cr_assert_eq(heat_key_cut(bytes_of(key, sizeof key)).size_bytes, HEAT_KEY_BYTES_MAX);
    cr_assert_eq(heat_key_cut(bytes_of(key, 3)).size_bytes, 3);
}

Test(heat_key, is_always_between_0_and_1)
{
    struct prng prng = prng_of_seed(7);
    for (int i = 0; i < 200000; i++) {
        uint8_t bytes[3][12];
        struct bytes keys[3];
        for (int k = 0; k < 3; k++) {
            size_t size = prng_below(&prng, sizeof bytes[k] + 1);
            for (size_t b = 0; b < size; b++) {
                bytes[k][b] = prng_chance(&prng, 2) ? (uint8_t)('0' + prng_below(&prng, 10))
                                                    : (uint8_t)prng_next(&prng);
            }
            keys[k] = bytes_of(bytes[k], size);
        }
        double got = heat_key_fraction(keys[0], keys[1], keys[2]);
        cr_assert(got >= 0 && got <= 1, "%f", got);
    }
}

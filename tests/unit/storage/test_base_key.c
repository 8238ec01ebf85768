#include <criterion/criterion.h>

#include "common/base/prng.h"
#include "tabletserver/storage/base/base_key.h"

/* Bytes that collide: few values, those that are escaped among them, long shared prefixes. */
static struct bytes random_bytes(struct prng *prng, uint8_t *out, size_t size_min, size_t size_max)
{
    static const uint8_t values[] = {0, 1, 2, 0xff};
    size_t size = size_min + prng_below(prng, size_max - size_min + 1);
    size = prng_chance(prng, 2) ? size_min + prng_below(prng, 4) : size;
    for (size_t i = 0; i < size; i++) {
        out[i] = prng_chance(prng, 20) ? values[prng_below(prng, 4)] : 0;
    }
    return bytes_of(out, size);
}

static struct base_position random_position(struct prng *prng, uint8_t *out)
{
    static const uint32_t families[] = {1, 2, 0xef, 0xf0, 0xf1, 0xff, 0x100, 0x10000, UINT32_MAX};
    static const int64_t times[] = {INT64_MIN, -1, 0, 1, 256, INT64_MAX - 1, INT64_MAX};
    return (struct base_position){families[prng_below(prng, 9)], random_bytes(prng, out, 0, 600),
                                  times[prng_below(prng, 7)]};
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

Test(base_key, keys_sort_as_rows_and_positions_do)
{
    struct prng prng = prng_of_seed(3);
    static uint8_t rooms[4][5000];
    struct buffer keys[2] = {BUFFER_INIT, BUFFER_INIT};
    for (int i = 0; i < 20000; i++) {
        struct bytes rows[2] = {random_bytes(&prng, rooms[0], 1, 4096),
                                random_bytes(&prng, rooms[1], 1, 4096)};
        if (prng_chance(&prng, 2)) {
            rows[1] = rows[0];
        }
        struct base_position positions[2] = {random_position(&prng, rooms[2]),
                                             random_position(&prng, rooms[3])};
        for (int k = 0; k < 2; k++) {
            buffer_reset(&keys[k]);
            base_key_append_row(&keys[k], rows[k]);
            base_key_append_position(&keys[k], &positions[k]);
        }
        int order = bytes_compare(rows[0], rows[1]);
        order = order != 0 ? order : base_position_compare(&positions[0], &positions[1]);
        int got = bytes_compare(buffer_bytes(&keys[0]), buffer_bytes(&keys[1]));
        cr_assert_eq(sign(order), sign(got));
    }
    buffer_deinit(&keys[0]);
    buffer_deinit(&keys[1]);
}

Test(base_key, keys_give_back_row_and_position)
{
    struct prng prng = prng_of_seed(4);
    static uint8_t rooms[2][5000];
    struct buffer key = BUFFER_INIT;
    struct buffer out = BUFFER_INIT;
    for (int i = 0; i < 5000; i++) {
        struct bytes row = random_bytes(&prng, rooms[0], 1, 4096);
        struct base_position position = random_position(&prng, rooms[1]);
        struct base_position back;
        struct bytes back_row;
        buffer_reset(&key);
        base_key_append_row(&key, row);
        base_key_append_position(&key, &position);
        cr_assert(base_key_unescape(base_key_row(buffer_bytes(&key)), &out, &back_row));
        cr_assert(bytes_equal(back_row, row));
        cr_assert(base_key_position(buffer_bytes(&key), &out, &back));
        cr_assert_eq(base_position_compare(&back, &position), 0);
    }
    buffer_deinit(&key);
    buffer_deinit(&out);
}

Test(base_key, a_key_between_parts_two_cells_and_is_no_longer_than_the_second)
{
    struct prng prng = prng_of_seed(5);
    static uint8_t rooms[2][5000];
    struct buffer keys[3] = {BUFFER_INIT, BUFFER_INIT, BUFFER_INIT};
    for (int i = 0; i < 20000; i++) {
        struct base_position a = random_position(&prng, rooms[0]);
        struct base_position b = random_position(&prng, rooms[1]);
        if (prng_chance(&prng, 3)) {
            b.family = a.family;
        }
        if (base_position_compare(&a, &b) > 0) {
            struct base_position c = a;
            a = b;
            b = c;
        }
        if (base_position_compare(&a, &b) == 0) {
            continue;
        }
        for (int k = 0; k < 3; k++) {
            buffer_reset(&keys[k]);
            base_key_append_row(&keys[k], bytes_of_text("r"));
        }
        base_key_append_position(&keys[0], &a);
        base_key_append_between(&keys[1], &a, &b);
        base_key_append_position(&keys[2], &b);
        cr_assert_lt(bytes_compare(buffer_bytes(&keys[0]), buffer_bytes(&keys[1])), 0);
        cr_assert_leq(bytes_compare(buffer_bytes(&keys[1]), buffer_bytes(&keys[2])), 0);
        cr_assert_leq(keys[1].size_bytes, keys[2].size_bytes);
    }
    for (int k = 0; k < 3; k++) {
        buffer_deinit(&keys[k]);
    }
}

Test(base_key, what_nobody_wrote_is_refused)
{
    static const char *const bad[] = {"r\0",       "r\0\0",   "r\0\xf5",  "r\0\xf2\1",
                                      "r\0\1\1\3", "r\0\1\1", "r\0\1q\0", "r\0\1q\0\1234567"};
    static const size_t sizes[] = {2, 3, 3, 4, 5, 4, 5, 12};
    struct buffer out = BUFFER_INIT;
    struct base_position position;
    struct bytes bytes;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct bytes key = bytes_of(bad[i], sizes[i]);
        cr_assert_not(base_key_position(key, &out, &position), "%zu", i);
    }
    cr_assert_not(base_key_unescape(bytes_of("a\1", 2), &out, &bytes));
    cr_assert_not(base_key_unescape(bytes_of("\1\3", 2), &out, &bytes));
    buffer_deinit(&out);
}

Test(base_key, short_keys_cost_nothing_extra)
{
    struct buffer key = BUFFER_INIT;
    base_key_append_row(&key, bytes_of_text("host#12"));
    cr_assert(bytes_equal(buffer_bytes(&key), bytes_of_text("host#12")));
    struct base_position a = {1, bytes_of_text("cpu.idle"), 5};
    struct base_position b = {1, bytes_of_text("disk.read"), 5};
    base_key_append_between(&key, &a, &b);
    cr_assert(bytes_equal(buffer_bytes(&key), bytes_of("host#12\0\1d", 10)));
    buffer_deinit(&key);
}

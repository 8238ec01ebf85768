#include <criterion/criterion.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "common/base/error.h"
#include "common/base/memory.h"
#include "common/base/stamp.h"

Test(bytes, order_is_unsigned_and_shorter_first)
{
    cr_assert_lt(bytes_compare(bytes_of_text("a"), bytes_of_text("ab")), 0);
    cr_assert_gt(bytes_compare(bytes_of("\xff", 1), bytes_of_text("zz")), 0);
    cr_assert_eq(bytes_compare(BYTES_EMPTY, BYTES_EMPTY), 0);
    cr_assert(bytes_starts_with(bytes_of_text("abc"), bytes_of_text("ab")));
    cr_assert(bytes_starts_with(bytes_of_text("abc"), BYTES_EMPTY));
}

Test(bytes, printable_escapes_and_cuts)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    cr_assert_str_eq(bytes_printable(bytes_of("a\x00\\", 3), text), "a\\x00\\x5c");
    uint8_t many[200] = {0};
    bytes_printable(bytes_of(many, sizeof many), text);
    cr_assert_str_eq(text + strlen(text) - 3, "...");
    cr_assert_lt(strlen(text), BYTES_PRINTABLE_SIZE_MAX);
}

Test(buffer, failed_append_keeps_what_it_holds)
{
    struct buffer buffer = BUFFER_INIT;
    buffer_append(&buffer, "abc", 3);
    memory_fail_arm(0, 1);
    static uint8_t big[4096];
    buffer_append(&buffer, big, sizeof big);
    memory_fail_disarm();
    cr_assert(buffer.failed);
    cr_assert_eq(buffer.size_bytes, 3);
    buffer_append_u8(&buffer, 1);
    cr_assert_eq(buffer.size_bytes, 3);
    buffer_deinit(&buffer);
}

Test(arena, limit_and_reset)
{
    struct arena arena;
    arena_init(&arena, 1024, 4096);
    cr_assert_not_null(arena_allocate(&arena, 4000));
    cr_assert_null(arena_allocate(&arena, 200));
    arena_reset(&arena);
    cr_assert_not_null(arena_allocate(&arena, 200));
    cr_assert_null(arena_allocate_array(&arena, SIZE_MAX / 2, 4));
    arena_deinit(&arena);
}

Test(endian, varints_round_trip_and_refuse_the_overlong)
{
    const uint64_t values[] = {0, 1, 127, 128, 300, UINT32_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        uint8_t data[VARINT_SIZE_MAX];
        uint64_t back = 0;
        size_t size = varint_store(data, values[i]);
        cr_assert_eq(size, varint_size(values[i]));
        cr_assert_eq(varint_load(data, data + size, &back), size);
        cr_assert_eq(back, values[i]);
        cr_assert_eq(varint_load(data, data + size - 1, &back), 0);
    }
    uint8_t overlong[11];
    memset(overlong, 0xff, sizeof overlong);
    uint64_t value = 0;
    cr_assert_eq(varint_load(overlong, overlong + sizeof overlong, &value), 0);
    cr_assert_eq(zigzag_decode(zigzag_encode(INT64_MIN)), INT64_MIN);
}

/* What was written by a processor without wide vectors must be read by one that has them. */
Test(checksum, long_bytes_have_the_sum_of_the_plain_algorithm)
{
    static uint8_t bytes[5000];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 31 + i / 251);
    }
    for (size_t size = 0; size + 7 <= sizeof bytes; size += size < 600 ? 1 : 97) {
        for (uint64_t seed = 0; seed < 3; seed++) {
            uint64_t number = seed * UINT64_C(0x9e3779b97f4a7c15);
            cr_assert_eq(checksum64(bytes + seed, size, number),
                         XXH3_64bits_withSeed(bytes + seed, size, number), "%zu bytes", size);
        }
    }
}

Test(checksum, seed_binds_bytes_to_their_place)
{
    cr_assert_neq(checksum64("abc", 3, 1), checksum64("abc", 3, 2));
}

Test(hlc, never_goes_back)
{
    struct hlc hlc = {0};
    uint64_t first = hlc_next(&hlc, 1000);
    uint64_t second = hlc_next(&hlc, 10);
    cr_assert_gt(second, first);
    hlc_observe(&hlc, hlc_of_us(5000));
    cr_assert_gt(hlc_next(&hlc, 1000), hlc_of_us(5000));
}

Test(error, prefix_adds_context)
{
    struct error error;
    cr_assert_eq(error_set(&error, STATUS_IO, "open %s", "x"), STATUS_IO);
    cr_assert_eq(error_prefix(&error, "store %d", 3), STATUS_IO);
    cr_assert_str_eq(error.text, "store 3: open x");
    cr_assert_str_eq(status_name(error.status), "IO");
}

#include <criterion/criterion.h>
#include <string.h>

#include "common/base/prng.h"
#include "tabletserver/storage/record/record_replica.h"

static struct buffer out;

static void begin(void)
{
    buffer_init(&out);
}

static void finish(void)
{
    buffer_deinit(&out);
}

TestSuite(record_replica, .init = begin, .fini = finish);

static const struct record_configuration three = {
    .configuration = {.version = 300,
                      .member_count = 3,
                      .leader = 1,
                      .members = {{1, 11}, {2, 12}, {4, 10}}},
    .role = 3,
    .flags = {.doubt_noted = true, .bound = true},
    .kept_sequence = 1000,
};

#define EXPECT_BYTES(...)                                                     \
    do {                                                                      \
        const uint8_t expected[] = {__VA_ARGS__};                             \
        cr_assert_eq(out.size_bytes, sizeof expected, "%zu", out.size_bytes); \
        cr_assert_arr_eq(out.data, expected, sizeof expected);                \
    } while (0)

Test(record_replica, frozen_has_these_bytes)
{
    struct record_frozen back;
    record_encode_frozen(&(struct record_frozen){.merged_tablet = 300, .left_tablet = 7}, &out);
    EXPECT_BYTES(0xac, 2, 7);
    cr_assert_eq(record_decode_frozen(buffer_bytes(&out), &back, NULL), STATUS_OK);
    cr_assert_eq(back.merged_tablet, 300);
    cr_assert_eq(back.left_tablet, 7);
}

Test(record_replica, absorb_has_these_bytes)
{
    struct record_absorb back;
    record_encode_absorb(
        &(struct record_absorb){
            .merged_tablet = 1, .right_tablet = 2, .right_sequence = 300, .right_version = 4},
        &out);
    EXPECT_BYTES(1, 2, 0xac, 2, 4);
    cr_assert_eq(record_decode_absorb(buffer_bytes(&out), &back, NULL), STATUS_OK);
    cr_assert_eq(back.merged_tablet, 1);
    cr_assert_eq(back.right_tablet, 2);
    cr_assert_eq(back.right_sequence, 300);
    cr_assert_eq(back.right_version, 4);
}

Test(record_replica, configuration_has_these_bytes)
{
    struct record_configuration back;
    record_encode_configuration(&three, &out);
    EXPECT_BYTES(0xac, 2,                   /* version */
                 3, 1, 11, 2, 12, 4, 10, 1, /* members, leader */
                 3, 5, 0xe8, 7);            /* role, flags, kept */
    cr_assert_eq(record_decode_configuration(buffer_bytes(&out), &back, NULL), STATUS_OK);
    cr_assert(replica_configuration_equal(&back.configuration, &three.configuration));
    cr_assert_eq(back.role, 3);
    cr_assert(back.flags.doubt_noted && back.flags.bound && !back.flags.doubtful);
    cr_assert_not(back.flags.opened);
    cr_assert_eq(back.kept_sequence, 1000);
}

Test(record_replica, whatever_lifts_a_barrier_says_nothing)
{
    struct error error;
    cr_assert_eq(record_decode_lift(BYTES_EMPTY, &error), STATUS_OK);
    cr_assert_eq(record_decode_lift(bytes_of("x", 1), &error), STATUS_CORRUPT);
}

typedef enum status (*decode_function)(struct bytes payload);

static enum status decode_frozen(struct bytes payload)
{
    struct record_frozen back;
    struct error error;
    return record_decode_frozen(payload, &back, &error);
}

static enum status decode_absorb(struct bytes payload)
{
    struct record_absorb back;
    struct error error;
    return record_decode_absorb(payload, &back, &error);
}

static enum status decode_configuration(struct bytes payload)
{
    struct record_configuration back;
    struct error error;
    return record_decode_configuration(payload, &back, &error);
}

/* Neither shorter nor longer. */
static void expect_strict(decode_function decode)
{
    for (size_t size = 0; size < out.size_bytes; size++) {
        cr_assert_eq(decode(bytes_of(out.data, size)), STATUS_CORRUPT, "%zu bytes", size);
    }
    cr_assert_eq(decode(buffer_bytes(&out)), STATUS_OK);
    buffer_append_u8(&out, 0);
    cr_assert_eq(decode(buffer_bytes(&out)), STATUS_CORRUPT);
    buffer_reset(&out);
}

Test(record_replica, payloads_are_used_up_to_the_last_byte)
{
    record_encode_frozen(&(struct record_frozen){300, 700}, &out);
    expect_strict(decode_frozen);
    record_encode_absorb(&(struct record_absorb){300, 700, 5, 6}, &out);
    expect_strict(decode_absorb);
    record_encode_configuration(&three, &out);
    expect_strict(decode_configuration);
}

/* The same with one byte changed. */
static enum status decode_with(size_t at, uint8_t value)
{
    buffer_reset(&out);
    record_encode_configuration(&three, &out);
    out.data[at] = value;
    return decode_configuration(buffer_bytes(&out));
}

Test(record_replica, a_configuration_that_cannot_be_is_corrupt)
{
    cr_assert_eq(decode_with(2, 8), STATUS_CORRUPT, "too many members");
    cr_assert_eq(decode_with(2, 0), STATUS_CORRUPT, "none");
    cr_assert_eq(decode_with(3, 2), STATUS_CORRUPT, "a server twice");
    cr_assert_eq(decode_with(5, 9), STATUS_CORRUPT, "servers do not ascend");
    cr_assert_eq(decode_with(4, 12), STATUS_CORRUPT, "a store twice");
    cr_assert_eq(decode_with(8, 0), STATUS_CORRUPT, "store 0");
    cr_assert_eq(decode_with(9, 3), STATUS_CORRUPT, "nobody leads");
    cr_assert_eq(decode_with(9, 0), STATUS_OK);
    struct bytes version_0 = bytes_of("\0\1\1\1\0\0\0\0", 8);
    cr_assert_eq(decode_configuration(version_0), STATUS_CORRUPT);
}

Test(record_replica, flags_of_a_newer_version_are_refused_as_such)
{
    struct record_configuration back;
    struct error error;
    cr_assert_eq(decode_with(11, 32), STATUS_VERSION);
    cr_assert_eq(record_decode_configuration(buffer_bytes(&out), &back, &error), STATUS_VERSION);
    cr_assert_not_null(strstr(error.text, "newer version"), "%s", error.text);
}

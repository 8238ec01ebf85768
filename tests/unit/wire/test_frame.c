#include <criterion/criterion.h>

#include "common/base/endian.h"
#include "common/base/prng.h"
#include "common/wire/frame.h"

static struct frame_header header_of(struct bytes payload)
{
    return (struct frame_header){
        .payload_bytes = (uint32_t)payload.size_bytes,
        .type = FRAME_REQUEST,
        .flags = FRAME_FLAG_MORE,
        .method = 0x1234,
        .request = 0x1122334455667788,
    };
}

Test(frame, stands_at_the_offsets_that_the_header_file_names)
{
    struct bytes payload = bytes_of_text("abc");
    struct frame_header header = header_of(payload);
    uint8_t out[FRAME_HEADER_BYTES];
    frame_header_encode(&header, payload, out);
    static const uint8_t expected[16] = {3,    0,    0,    0,    3,    1,    0x34, 0x12,
                                         0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11};
    cr_assert_arr_eq(out, expected, sizeof expected);
}

Test(frame, comes_back_as_it_went)
{
    struct bytes payload = bytes_of_text("payload");
    struct frame_header header = header_of(payload);
    struct frame_header back;
    uint8_t out[FRAME_HEADER_BYTES];
    frame_header_encode(&header, payload, out);
    cr_assert_eq(frame_header_decode(out, &back, NULL), STATUS_OK);
    cr_assert_eq(back.payload_bytes, 7);
    cr_assert_eq(back.type, FRAME_REQUEST);
    cr_assert_eq(back.flags, FRAME_FLAG_MORE);
    cr_assert_eq(back.method, 0x1234);
    cr_assert_eq(back.request, 0x1122334455667788);
    cr_assert_eq(frame_check(out, payload, NULL), STATUS_OK);

    header = header_of(BYTES_EMPTY);
    frame_header_encode(&header, BYTES_EMPTY, out);
    cr_assert_eq(frame_check(out, BYTES_EMPTY, NULL), STATUS_OK);
}

Test(frame, every_flipped_bit_is_seen)
{
    uint8_t bytes[FRAME_HEADER_BYTES + 9] = {0};
    uint8_t *payload = bytes + FRAME_HEADER_BYTES;
    memcpy(payload, "some data", 9);
    struct frame_header header = header_of(bytes_of(payload, 9));
    frame_header_encode(&header, bytes_of(payload, 9), bytes);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << (bit % 8));
        cr_assert_eq(frame_check(bytes, bytes_of(payload, 9), NULL), STATUS_MALFORMED);
        bytes[bit / 8] ^= (uint8_t)(1 << (bit % 8));
    }
    cr_assert_eq(frame_check(bytes, bytes_of(payload, 9), NULL), STATUS_OK);
}

Test(frame, out_of_range_is_refused_with_a_reason)
{
    uint8_t out[FRAME_HEADER_BYTES];
    struct frame_header header = header_of(BYTES_EMPTY);
    struct frame_header back;
    struct error error;
    frame_header_encode(&header, BYTES_EMPTY, out);

    store_le32(out, FRAME_PAYLOAD_BYTES_MAX + 1);
    cr_assert_eq(frame_header_decode(out, &back, &error), STATUS_MALFORMED);
    cr_assert(strstr(error.text, "1048557") != NULL, "%s", error.text);
    store_le32(out, FRAME_PAYLOAD_BYTES_MAX);
    cr_assert_eq(frame_header_decode(out, &back, &error), STATUS_OK);

    out[4] = 0;
    cr_assert_eq(frame_header_decode(out, &back, &error), STATUS_MALFORMED);
    out[4] = FRAME_GOAWAY + 1;
    cr_assert_eq(frame_header_decode(out, &back, &error), STATUS_MALFORMED);
    cr_assert(strstr(error.text, "type 8") != NULL, "%s", error.text);
    out[4] = FRAME_GOAWAY;
    out[5] = 4;
    cr_assert_eq(frame_header_decode(out, &back, &error), STATUS_MALFORMED);
}

Test(frame, random_headers_never_pass_as_good)
{
    struct prng prng = prng_of_seed(3);
    for (int i = 0; i < 100000; i++) {
        uint8_t bytes[FRAME_HEADER_BYTES];
        for (size_t b = 0; b < sizeof bytes; b++) {
            bytes[b] = (uint8_t)prng_next(&prng);
        }
        cr_assert_eq(frame_check(bytes, BYTES_EMPTY, NULL), STATUS_MALFORMED);
    }
}

#include "tabletserver/storage/base/base_key.h"

#include <string.h>

#include "common/base/endian.h"

#define ESCAPE       0x01
#define FAMILY_SHORT 0xf0 /* below: the family itself; above: how many bytes follow */
#define TIME_BYTES   8

int base_position_compare(const struct base_position *a, const struct base_position *b)
{
    if (a->family != b->family) {
        return a->family < b->family ? -1 : 1;
    }
    int order = bytes_compare(a->qualifier, b->qualifier);
    if (order != 0) {
        return order;
    }
    return (a->timestamp_us < b->timestamp_us) - (a->timestamp_us > b->timestamp_us);
}

#define BLOCK_BYTES 64

/* Without a branch in it, so that compilers make it a few wide instructions. */
static bool is_block_plain(const uint8_t block[BLOCK_BYTES])
{
    uint8_t special = 0;
    for (size_t i = 0; i < BLOCK_BYTES; i++) {
        special |= block[i] <= ESCAPE;
    }
    return special == 0;
}

/* How many bytes from the front need no escape: block by block where there are many. */
static size_t plain_length(struct bytes bytes)
{
    size_t length = 0;
    while (bytes.size_bytes - length >= BLOCK_BYTES && is_block_plain(bytes.data + length)) {
        length += BLOCK_BYTES;
    }
    while (length < bytes.size_bytes && bytes.data[length] > ESCAPE) {
        length++;
    }
    return length;
}

void base_key_append_escaped(struct buffer *key, struct bytes bytes)
{
    while (bytes.size_bytes > 0) {
        size_t plain = plain_length(bytes);
        buffer_append(key, bytes.data, plain);
        if (plain == bytes.size_bytes) {
            return;
        }
        const uint8_t pair[2] = {ESCAPE, (uint8_t)(bytes.data[plain] + 1)};
        buffer_append(key, pair, sizeof pair);
        bytes = bytes_drop_front(bytes, plain + 1);
    }
}

void base_key_append_row(struct buffer *key, struct bytes row)
{
    base_key_append_escaped(key, row);
}

void base_key_append_family(struct buffer *key, uint32_t family)
{
    if (family < FAMILY_SHORT) {
        buffer_append_u8(key, (uint8_t)family);
        return;
    }
    uint8_t data[4];
    store_be32(data, family);
    uint8_t skipped = 0;
    while (data[skipped] == 0) {
        skipped++;
    }
    buffer_append_u8(key, (uint8_t)(FAMILY_SHORT + 4 - skipped));
    buffer_append(key, data + skipped, (size_t)(4 - skipped));
}

void base_key_append_time(struct buffer *key, int64_t timestamp_us)
{
    uint8_t data[TIME_BYTES];
    store_be64(data, ~((uint64_t)timestamp_us ^ (UINT64_C(1) << 63)));
    buffer_append(key, data, sizeof data);
}

void base_key_append_position(struct buffer *key, const struct base_position *position)
{
    if (position->family == 0) {
        return;
    }
    buffer_append_u8(key, 0);
    base_key_append_family(key, position->family);
    base_key_append_escaped(key, position->qualifier);
    if (position->timestamp_us != INT64_MAX) {
        buffer_append_u8(key, 0);
        base_key_append_time(key, position->timestamp_us);
    }
}

void base_key_append_between(struct buffer *key,
                             const struct base_position *before,
                             const struct base_position *position)
{
    struct base_position cut = *position;
    if (before->family != position->family) {
        cut.qualifier = BYTES_EMPTY;
        cut.timestamp_us = INT64_MAX;
    } else if (!bytes_equal(before->qualifier, position->qualifier)) {
        size_t shared = 0;
        while (shared < before->qualifier.size_bytes &&
               before->qualifier.data[shared] == position->qualifier.data[shared]) {
            shared++;
        }
        cut.qualifier.size_bytes = shared + 1; /* it is the larger one, so it has that byte */
        cut.timestamp_us = INT64_MAX;
    }
    base_key_append_position(key, &cut);
}

/* Up to the first 00, or all. */
static struct bytes until_end_mark(struct bytes bytes)
{
    const uint8_t *end = bytes.size_bytes > 0 ? memchr(bytes.data, 0, bytes.size_bytes) : NULL;
    return end != NULL ? bytes_of(bytes.data, (size_t)(end - bytes.data)) : bytes;
}

struct bytes base_key_row(struct bytes key)
{
    return until_end_mark(key);
}

bool base_key_append_unescaped(struct buffer *out, struct bytes escaped)
{
    while (escaped.size_bytes > 0) {
        const uint8_t *escape = memchr(escaped.data, ESCAPE, escaped.size_bytes);
        size_t plain = escape != NULL ? (size_t)(escape - escaped.data) : escaped.size_bytes;
        buffer_append(out, escaped.data, plain);
        escaped = bytes_drop_front(escaped, plain);
        if (escaped.size_bytes == 0) {
            break;
        }
        if (escaped.size_bytes < 2 || escaped.data[1] < 1 || escaped.data[1] > 2) {
            return false;
        }
        buffer_append_u8(out, (uint8_t)(escaped.data[1] - 1));
        escaped = bytes_drop_front(escaped, 2);
    }
    return !out->failed;
}

bool base_key_unescape(struct bytes escaped, struct buffer *out, struct bytes *ret_bytes)
{
    if (escaped.size_bytes == 0 || memchr(escaped.data, ESCAPE, escaped.size_bytes) == NULL) {
        *ret_bytes = escaped;
        return true;
    }
    buffer_reset(out);
    if (!base_key_append_unescaped(out, escaped)) {
        return false;
    }
    *ret_bytes = buffer_bytes(out);
    return true;
}

bool base_key_take_family(struct bytes *rest, uint32_t *ret_family)
{
    if (rest->size_bytes == 0) {
        return false;
    }
    uint8_t first = rest->data[0];
    if (first < FAMILY_SHORT) {
        *ret_family = first;
        *rest = bytes_drop_front(*rest, 1);
        return first != 0;
    }
    size_t count = (size_t)(first - FAMILY_SHORT);
    if (count < 1 || count > 4 || rest->size_bytes < 1 + count) {
        return false;
    }
    uint32_t family = 0;
    for (size_t i = 0; i < count; i++) {
        family = family << 8 | rest->data[1 + i];
    }
    *ret_family = family;
    *rest = bytes_drop_front(*rest, 1 + count);
    return true;
}

bool base_key_take_escaped(struct bytes *rest, struct bytes *ret_escaped)
{
    *ret_escaped = until_end_mark(*rest);
    *rest = bytes_drop_front(*rest, ret_escaped->size_bytes);
    return true;
}

bool base_key_take_time(struct bytes *rest, int64_t *ret_timestamp_us)
{
    if (rest->size_bytes < TIME_BYTES) {
        return false;
    }
    *ret_timestamp_us = (int64_t)(~load_be64(rest->data) ^ (UINT64_C(1) << 63));
    *rest = bytes_drop_front(*rest, TIME_BYTES);
    return true;
}

bool base_key_position(struct bytes key, struct buffer *out, struct base_position *ret_position)
{
    struct base_position position = BASE_POSITION_ROW_START;
    struct bytes rest = bytes_drop_front(key, base_key_row(key).size_bytes);
    if (rest.size_bytes > 0) {
        struct bytes escaped = BYTES_EMPTY;
        rest = bytes_drop_front(rest, 1);
        if (!base_key_take_family(&rest, &position.family) ||
            !base_key_take_escaped(&rest, &escaped) ||
            !base_key_unescape(escaped, out, &position.qualifier)) {
            return false;
        }
    }
    if (rest.size_bytes > 0) {
        rest = bytes_drop_front(rest, 1);
        if (!base_key_take_time(&rest, &position.timestamp_us) || rest.size_bytes > 0) {
            return false;
        }
    }
    *ret_position = position;
    return true;
}

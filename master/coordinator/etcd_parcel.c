#include "master/coordinator/etcd_parcel.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/assert.h"
#include "common/base/endian.h"
#include "master/core/record/record.h"

#define MARK_NUMBERS 6
#define VARINT_BYTES 10

void etcd_mark_encode(const struct etcd_mark *mark, char ret_text[ETCD_MARK_TEXT_SIZE])
{
    int size = snprintf(ret_text, ETCD_MARK_TEXT_SIZE,
                        "%d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
                        ETCD_MARK_LAYOUT, mark->reign, mark->number, mark->parcel_bytes,
                        mark->parcel_checksum, mark->done);
    ASSERT(size > 0 && size < ETCD_MARK_TEXT_SIZE);
}

/* A decimal number and the blank after it, if any. */
static bool read_number(struct bytes text, size_t *at, uint64_t *ret_number)
{
    uint64_t number = 0;
    size_t begin = *at;
    for (; *at < text.size_bytes && text.data[*at] >= '0' && text.data[*at] <= '9'; (*at)++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text.data[*at] - '0'), &number)) {
            return false;
        }
    }
    bool good = *at > begin && (*at == text.size_bytes || text.data[*at] == ' ');
    *at += good && *at < text.size_bytes;
    *ret_number = number;
    return good;
}

enum status etcd_mark_decode(struct bytes text, struct etcd_mark *ret_mark, struct error *ret_error)
{
    uint64_t numbers[MARK_NUMBERS] = {0};
    size_t at = 0;

    if (read_number(text, &at, &numbers[0]) && numbers[0] > ETCD_MARK_LAYOUT) {
        return error_set(ret_error, STATUS_VERSION,
                         "the catalog in etcd has layout %" PRIu64 ", this edubba-master reads %d: "
                         "use the newer version that wrote it",
                         numbers[0], ETCD_MARK_LAYOUT);
    }
    bool good = numbers[0] == ETCD_MARK_LAYOUT;
    for (size_t i = 1; i < MARK_NUMBERS && good; i++) {
        good = read_number(text, &at, &numbers[i]);
    }
    if (!good || at != text.size_bytes || numbers[1] == 0) {
        return error_set(ret_error, STATUS_CORRUPT, "the catalog's mark in etcd is damaged");
    }
    *ret_mark = (struct etcd_mark){numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
    return STATUS_OK;
}

static void put_varint(struct buffer *out, uint64_t value)
{
    uint8_t *room = buffer_reserve(out, VARINT_BYTES);
    if (room != NULL) {
        buffer_advance(out, varint_store(room, value));
    }
}

void etcd_parcel_put(const struct catalog_put *put, struct buffer *parcel)
{
    put_varint(parcel, put->key.size_bytes * 2 + put->removed);
    buffer_append_bytes(parcel, put->key);
    if (!put->removed) {
        put_varint(parcel, put->value.size_bytes);
        buffer_append_bytes(parcel, put->value);
    }
}

static bool read_varint(struct bytes parcel, size_t *at, uint64_t *ret_value)
{
    size_t used = varint_load(parcel.data + *at, parcel.data + parcel.size_bytes, ret_value);
    *at += used;
    return used > 0;
}

static bool read_bytes(struct bytes parcel, size_t *at, uint64_t size, struct bytes *ret_bytes)
{
    if (size > parcel.size_bytes - *at) {
        return false;
    }
    *ret_bytes = bytes_of(parcel.data + *at, (size_t)size);
    *at += (size_t)size;
    return true;
}

bool etcd_parcel_next(struct bytes parcel,
                      size_t *position,
                      struct catalog_put *ret_put,
                      enum status *ret_status)
{
    size_t at = *position;
    uint64_t head = 0;
    uint64_t value_bytes = 0;
    struct catalog_put put = {.value = BYTES_EMPTY};

    *ret_status = STATUS_OK;
    if (at == parcel.size_bytes) {
        return false;
    }
    bool good = read_varint(parcel, &at, &head) && head / 2 > 0 &&
                head / 2 <= RECORD_KEY_BYTES_MAX && read_bytes(parcel, &at, head / 2, &put.key);
    put.removed = head % 2 == 1;
    if (good && !put.removed) {
        good = read_varint(parcel, &at, &value_bytes) &&
               read_bytes(parcel, &at, value_bytes, &put.value);
    }
    if (!good) {
        *ret_status = STATUS_CORRUPT;
        return false;
    }
    *position = at;
    *ret_put = put;
    return true;
}

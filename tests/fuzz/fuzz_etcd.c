/*
 * What etcd answers, and what a master has left there: answers, marks, parcels.  The first byte
 * chooses.  What is accepted is within its bounds; marks and parcels come back the same.
 */
#include "common/base/assert.h"
#include "master/coordinator/etcd_codec.h"
#include "master/coordinator/etcd_parcel.h"

#define ARENA_LIMIT_BYTES (16 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

static void check_range(const struct etcd_range *range)
{
    ASSERT(range->revision > 0);
    for (size_t i = 0; i < range->count; i++) {
        ASSERT(range->items[i].key.size_bytes > 0);
        ASSERT(range->items[i].created > 0);
    }
}

static void check_lease(enum status status, const struct etcd_lease *lease)
{
    if (status == STATUS_OK) {
        ASSERT(lease->lease != 0);
        ASSERT(lease->ttl_s >= 0 && lease->ttl_s <= INT32_MAX);
    }
}

static void try_answers(struct bytes text, struct arena *arena)
{
    struct etcd_range range;
    struct etcd_outcome outcome;
    struct etcd_lease lease;
    struct error error;
    if (etcd_range_decode(text, arena, &range, &error) == STATUS_OK) {
        check_range(&range);
    }
    if (etcd_outcome_decode(text, arena, &outcome, &error) == STATUS_OK) {
        for (size_t i = 0; i < outcome.range_count; i++) {
            check_range(&outcome.ranges[i]);
        }
    }
    check_lease(etcd_grant_decode(text, &lease, &error), &lease);
    check_lease(etcd_keep_alive_decode(text, &lease, &error), &lease);
    ASSERT(etcd_refusal_decode(text, 500, &error) != STATUS_OK);
    ASSERT(etcd_refusal_decode(text, 200, &error) != STATUS_OK);
}

static void try_mark(struct bytes text)
{
    struct etcd_mark mark;
    struct etcd_mark back;
    struct error error;
    char written[ETCD_MARK_TEXT_SIZE];
    if (etcd_mark_decode(text, &mark, &error) != STATUS_OK) {
        ASSERT(error.text[0] != '\0');
        return;
    }
    etcd_mark_encode(&mark, written);
    ASSERT(etcd_mark_decode(bytes_of_text(written), &back, &error) == STATUS_OK);
    ASSERT(mark.reign == back.reign && mark.number == back.number && mark.done == back.done);
    ASSERT(mark.parcel_bytes == back.parcel_bytes);
    ASSERT(mark.parcel_checksum == back.parcel_checksum);
}

/* Puts again all that is in it; false where it is damaged. */
static bool recode_parcel(struct bytes parcel, struct buffer *out)
{
    struct catalog_put put;
    enum status status = STATUS_OK;
    size_t position = 0;
    size_t before = 0;
    while (etcd_parcel_next(parcel, &position, &put, &status)) {
        ASSERT(position > before && position <= parcel.size_bytes);
        before = position;
        etcd_parcel_put(&put, out);
    }
    return status == STATUS_OK;
}

static void try_parcel(struct bytes parcel)
{
    struct buffer once = BUFFER_INIT;
    struct buffer twice = BUFFER_INIT;
    if (recode_parcel(parcel, &once)) {
        ASSERT(once.size_bytes <= parcel.size_bytes);
        ASSERT(recode_parcel(buffer_bytes(&once), &twice));
        ASSERT(bytes_equal(buffer_bytes(&once), buffer_bytes(&twice)));
    }
    buffer_deinit(&once);
    buffer_deinit(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct arena arena;
    if (size_bytes == 0) {
        return 0;
    }
    struct bytes in = bytes_of(data + 1, size_bytes - 1);
    arena_init(&arena, 4096, ARENA_LIMIT_BYTES);
    switch (data[0] % 3) {
    case 0:
        try_answers(in, &arena);
        break;
    case 1:
        try_mark(in);
        break;
    default:
        try_parcel(in);
        break;
    }
    arena_deinit(&arena);
    return 0;
}

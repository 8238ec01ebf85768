/*
 * What tablet servers tell one another besides replicas' messages (fuzz_message.c): beacons, their
 * acknowledgements, and slices, whose checksum is made to fit, so that what is behind it is reached.
 * The first byte chooses.  What decodes must encode to the same bytes twice.
 */
#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "tabletserver/replica/lease_message.h"
#include "tabletserver/storage/copies/slice.h"
#include "tabletserver/storage/record/applied_map.h"

#define ARENA_LIMIT_BYTES (16 * 1024 * 1024)
#define TABLET            7
#define SLICE_SEED        (UINT64_C(0x65647562736c6963) ^ TABLET) /* slice.c */
#define CHECKSUM_BYTES    8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

typedef enum status (*recoder)(struct bytes in, struct arena *arena, struct buffer *out);

static enum status recode_beacon(struct bytes in, struct arena *arena, struct buffer *out)
{
    struct lease_beacon beacon;
    struct error error;
    uint64_t server = 0;
    (void)arena;
    enum status status = lease_beacon_decode(in, &server, &beacon, &error);
    if (status == STATUS_OK) {
        lease_beacon_encode(server, &beacon, out);
    }
    return status;
}

static enum status recode_acknowledgement(struct bytes in, struct arena *arena, struct buffer *out)
{
    struct lease_acknowledgement acknowledgement;
    struct error error;
    enum status status = lease_acknowledgement_decode(in, arena, &acknowledgement, &error);
    if (status == STATUS_OK) {
        ASSERT(acknowledgement.exception_count <= LEASE_EXCEPTIONS_MAX);
        lease_acknowledgement_encode(&acknowledgement, out);
    }
    return status;
}

static void encode_rows(const struct slice *slice, struct buffer *out)
{
    struct slice_reader reader = slice_reader_of(slice);
    struct slice_writer writer;
    struct bytes row = BYTES_EMPTY;
    struct tablet_position before = slice->from;
    bool first = true;
    slice_writer_begin(&writer, slice->tablet, slice->sequence, &slice->from, out);
    while (slice_reader_next(&reader)) {
        struct tablet_position at = tablet_position_of(reader.row, &reader.cell);
        ASSERT(tablet_position_compare(&before, &at) < (first ? 1 : 0));
        if (!bytes_equal(row, reader.row)) {
            slice_writer_row(&writer, reader.row);
            row = reader.row;
        }
        slice_writer_cell(&writer, &reader.cell);
        before = at;
        first = false;
    }
    ASSERT(tablet_position_compare(&before, &slice->to) < (first ? 1 : 0));
    slice_writer_end(&writer, &slice->to);
}

static enum status recode_slice(struct bytes in, struct arena *arena, struct buffer *out)
{
    struct slice slice;
    struct error error;
    enum status status = slice_decode(in, TABLET, arena, &slice, &error);
    if (status != STATUS_OK) {
        ASSERT(error.text[0] != '\0');
    } else if (slice.kind == SLICE_RECORDS) {
        ASSERT(slice.records.piece.size_bytes <=
               slice.records.image_bytes - slice.records.offset_bytes);
        slice_encode_records(&slice, out);
    } else {
        encode_rows(&slice, out);
    }
    return status;
}

static void seal(struct buffer *slice)
{
    uint8_t checksum[CHECKSUM_BYTES];
    store_le64(checksum, checksum64(slice->data, slice->size_bytes, SLICE_SEED));
    buffer_append(slice, checksum, sizeof checksum);
}

/* That the seed is slice.c's: else no slice would ever decode, and nobody would notice. */
static void check_seal(struct arena *arena)
{
    const struct slice empty = {.kind = SLICE_RECORDS, .tablet = TABLET};
    struct buffer written = BUFFER_INIT;
    struct buffer sealed = BUFFER_INIT;
    struct buffer again = BUFFER_INIT;
    slice_encode_records(&empty, &written);
    buffer_append(&sealed, written.data, written.size_bytes - CHECKSUM_BYTES);
    seal(&sealed);
    ASSERT(recode_slice(buffer_bytes(&sealed), arena, &again) == STATUS_OK);
    ASSERT(bytes_equal(buffer_bytes(&again), buffer_bytes(&written)));
    buffer_deinit(&written);
    buffer_deinit(&sealed);
    buffer_deinit(&again);
}

static void try(recoder recode, struct bytes in, struct arena *arena)
{
    struct buffer once = BUFFER_INIT;
    struct buffer twice = BUFFER_INIT;
    if (recode(in, arena, &once) == STATUS_OK) {
        ASSERT(recode(buffer_bytes(&once), arena, &twice) == STATUS_OK);
        ASSERT(bytes_equal(buffer_bytes(&once), buffer_bytes(&twice)));
    }
    buffer_deinit(&once);
    buffer_deinit(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    static bool is_checked;
    struct buffer sealed = BUFFER_INIT;
    struct arena arena;
    if (size_bytes < 2) {
        return 0;
    }
    struct bytes in = bytes_of(data + 1, size_bytes - 1);
    arena_init(&arena, 4096, ARENA_LIMIT_BYTES);
    if (!is_checked) {
        check_seal(&arena);
        is_checked = true;
    }
    switch (data[0] % 3) {
    case 0:
        try(recode_beacon, in, &arena);
        break;
    case 1:
        try(recode_acknowledgement, in, &arena);
        break;
    default:
        try(recode_slice, in, &arena);
        buffer_append_bytes(&sealed, in);
        seal(&sealed);
        try(recode_slice, buffer_bytes(&sealed), &arena);
        break;
    }
    buffer_deinit(&sealed);
    arena_deinit(&arena);
    return 0;
}

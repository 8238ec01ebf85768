/*
 * Frame headers and row blocks from arbitrary bytes: refused, or good as they stand.
 * The first byte chooses.
 */
#include "common/base/assert.h"
#include "common/wire/frame.h"
#include "common/wire/message.h"

#define ARENA_LIMIT_BYTES (16 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

/* A header that decodes must encode to the same bytes, but for a checksum that was wrong. */
static void try_frame(const uint8_t *data, size_t size_bytes)
{
    struct frame_header header;
    struct error error;
    if (size_bytes < FRAME_HEADER_BYTES) {
        return;
    }
    if (frame_header_decode(data, &header, &error) != STATUS_OK) {
        ASSERT(error.text[0] != '\0');
        return;
    }
    struct bytes payload = bytes_of(data + FRAME_HEADER_BYTES, size_bytes - FRAME_HEADER_BYTES);
    ASSERT(header.payload_bytes <= FRAME_PAYLOAD_BYTES_MAX);
    if (header.payload_bytes > payload.size_bytes) {
        return;
    }
    payload.size_bytes = header.payload_bytes;
    uint8_t again[FRAME_HEADER_BYTES];
    frame_header_encode(&header, payload, again);
    ASSERT(memcmp(again, data, FRAME_HEADER_BYTES - sizeof header.checksum) == 0);
    ASSERT(frame_check(again, payload, &error) == STATUS_OK);
    bool same = memcmp(again, data, FRAME_HEADER_BYTES) == 0;
    ASSERT((frame_check(data, payload, &error) == STATUS_OK) == same);
}

static void copy_row(struct row_block_writer *writer, const struct row *row)
{
    row_block_begin_row(writer, row->key);
    uint32_t family = 0;
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct row_cell *from = &row->cells[i];
        if (i == 0 || !bytes_equal(from->family, row->cells[i - 1].family)) {
            family++;
        }
        struct cell cell = {family, from->qualifier, from->timestamp_us, from->value, from->label};
        row_block_add_cell(writer, from->family, &cell);
    }
    ASSERT(row_block_end_row(writer));
}

static void check_same(const struct row *a, const struct row *b)
{
    ASSERT(bytes_equal(a->key, b->key));
    ASSERT(a->cell_count == b->cell_count);
    for (size_t i = 0; i < a->cell_count; i++) {
        ASSERT(bytes_equal(a->cells[i].family, b->cells[i].family));
        ASSERT(bytes_equal(a->cells[i].qualifier, b->cells[i].qualifier));
        ASSERT(a->cells[i].timestamp_us == b->cells[i].timestamp_us);
        ASSERT(bytes_equal(a->cells[i].value, b->cells[i].value));
        ASSERT(bytes_equal(a->cells[i].label, b->cells[i].label));
    }
}

/* Every row that can be read says the same after writing and reading it again. */
static void try_row_block(const uint8_t *data, size_t size_bytes)
{
    struct bytes block = bytes_of(data, size_bytes);
    struct arena arena;
    struct buffer out = BUFFER_INIT;
    bool found = true;
    arena_init(&arena, 65536, ARENA_LIMIT_BYTES);
    for (;;) {
        struct row row;
        struct row again;
        if (row_block_next(&block, &arena, &row, &found, NULL) != STATUS_OK || !found) {
            break;
        }
        struct row_block_writer writer;
        buffer_reset(&out);
        row_block_writer_init(&writer, &out);
        copy_row(&writer, &row);
        struct bytes written = buffer_bytes(&out);
        enum status status = row_block_next(&written, &arena, &again, &found, NULL);
        if (status == STATUS_NO_MEMORY) {
            break;
        }
        ASSERT(status == STATUS_OK && found);
        check_same(&row, &again);
    }
    buffer_deinit(&out);
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    if (size_bytes == 0) {
        return 0;
    }
    if (data[0] % 2 == 0) {
        try_frame(data + 1, size_bytes - 1);
    } else {
        try_row_block(data + 1, size_bytes - 1);
    }
    return 0;
}

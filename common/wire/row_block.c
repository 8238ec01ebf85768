/*
 * Row blocks.  A block is rows, one after the other; a row is
 *
 *   varint  size of the key, then the key
 *   4       number of cells, little-endian, at least 1
 *   then each cell:
 *   1       what differs from the cell before in this row (CELL_* below)
 *   [varint size, bytes]  family name   if CELL_FAMILY
 *   [varint size, bytes]  qualifier     if CELL_QUALIFIER
 *   [8]                   timestamp, little-endian   if CELL_TIMESTAMP
 *   varint size, bytes    value
 *   [varint size, bytes]  label         if CELL_LABEL
 *
 * Before the first cell of a row stand an empty family, an empty qualifier and timestamp 0.
 */
#include <string.h>

#include "common/base/assert.h"
#include "common/base/endian.h"
#include "common/wire/message.h"

enum {
    CELL_FAMILY = 1,
    CELL_QUALIFIER = 2,
    CELL_TIMESTAMP = 4,
    CELL_LABEL = 8,
    CELL_FLAGS_ALL = 15,
};

#define CELL_WIRE_BYTES_MIN 2 /* flags and the size of an empty value */
#define TIMESTAMP_BYTES     8

static uint8_t *put_bytes(uint8_t *at, struct bytes bytes)
{
    at += varint_store(at, bytes.size_bytes);
    if (bytes.size_bytes > 0) {
        memcpy(at, bytes.data, bytes.size_bytes);
    }
    return at + bytes.size_bytes;
}

void row_block_writer_init(struct row_block_writer *writer, struct buffer *out)
{
    *writer = (struct row_block_writer){.out = out};
}

void row_block_begin_row(struct row_block_writer *writer, struct bytes key)
{
    struct buffer *out = writer->out;
    writer->row_start = out->size_bytes;
    writer->cell_count = 0;
    writer->family = 0;
    writer->qualifier_bytes = 0;
    writer->timestamp_us = 0;

    uint8_t *start = buffer_reserve(out,
                                    VARINT_SIZE_MAX + key.size_bytes + sizeof writer->cell_count);
    if (start == NULL) {
        return;
    }
    uint8_t *at = put_bytes(start, key);
    writer->count_at = out->size_bytes + (size_t)(at - start);
    store_le32(at, 0);
    buffer_advance(out, (size_t)(at - start) + sizeof writer->cell_count);
}

/* Is this the qualifier of the cell before? */
static bool same_qualifier(const struct row_block_writer *writer, struct bytes qualifier)
{
    return qualifier.size_bytes == writer->qualifier_bytes &&
           (qualifier.size_bytes == 0 || memcmp(writer->out->data + writer->qualifier_at,
                                                qualifier.data, qualifier.size_bytes) == 0);
}

void row_block_add_cell(struct row_block_writer *writer,
                        struct bytes family_name,
                        const struct cell *cell)
{
    struct buffer *out = writer->out;
    size_t most_bytes = 1 + 4 * VARINT_SIZE_MAX + TIMESTAMP_BYTES + family_name.size_bytes +
                        cell->qualifier.size_bytes + cell->value.size_bytes +
                        cell->label.size_bytes;
    uint8_t *start = buffer_reserve(out, most_bytes);
    if (start == NULL) {
        return;
    }
    uint8_t flags = 0;
    uint8_t *at = start + 1;
    if (cell->family != writer->family) {
        flags |= CELL_FAMILY;
        at = put_bytes(at, family_name);
        writer->family = cell->family;
    }
    if (!same_qualifier(writer, cell->qualifier)) {
        flags |= CELL_QUALIFIER;
        at = put_bytes(at, cell->qualifier);
        writer->qualifier_bytes = cell->qualifier.size_bytes;
        writer->qualifier_at = out->size_bytes + (size_t)(at - start) - writer->qualifier_bytes;
    }
    if (cell->timestamp_us != writer->timestamp_us) {
        flags |= CELL_TIMESTAMP;
        store_le64(at, (uint64_t)cell->timestamp_us);
        at += TIMESTAMP_BYTES;
        writer->timestamp_us = cell->timestamp_us;
    }
    at = put_bytes(at, cell->value);
    if (cell->label.size_bytes > 0) {
        flags |= CELL_LABEL;
        at = put_bytes(at, cell->label);
    }
    *start = flags;
    buffer_advance(out, (size_t)(at - start));
    writer->cell_count++;
}

bool row_block_end_row(struct row_block_writer *writer)
{
    if (writer->cell_count == 0) {
        row_block_abandon_row(writer);
        return false;
    }
    if (!writer->out->failed) {
        store_le32(writer->out->data + writer->count_at, writer->cell_count);
    }
    writer->cell_count = 0;
    writer->row_count++;
    return true;
}

void row_block_abandon_row(struct row_block_writer *writer)
{
    ASSERT(writer->row_start <= writer->out->size_bytes);
    writer->out->size_bytes = writer->row_start;
    writer->cell_count = 0;
}

/* Sized bytes at *at; false when they do not fit before end. */
static bool take_bytes(const uint8_t **at, const uint8_t *end, struct bytes *ret_bytes)
{
    uint64_t size_bytes = 0;
    size_t used = varint_load(*at, end, &size_bytes);
    if (used == 0 || size_bytes > (size_t)(end - *at) - used) {
        return false;
    }
    *ret_bytes = (struct bytes){*at + used, (size_t)size_bytes};
    *at += used + size_bytes;
    return true;
}

/* One cell; *cell holds the cell before it and becomes this one. */
static bool take_cell(const uint8_t **at, const uint8_t *end, struct row_cell *cell)
{
    if (*at == end) {
        return false;
    }
    uint8_t flags = *(*at)++;
    if ((flags & ~CELL_FLAGS_ALL) != 0) {
        return false;
    }
    if ((flags & CELL_FAMILY) != 0 && !take_bytes(at, end, &cell->family)) {
        return false;
    }
    if ((flags & CELL_QUALIFIER) != 0 && !take_bytes(at, end, &cell->qualifier)) {
        return false;
    }
    if ((flags & CELL_TIMESTAMP) != 0) {
        if (end - *at < TIMESTAMP_BYTES) {
            return false;
        }
        cell->timestamp_us = (int64_t)load_le64(*at);
        *at += TIMESTAMP_BYTES;
    }
    if (!take_bytes(at, end, &cell->value)) {
        return false;
    }
    cell->label = BYTES_EMPTY;
    return (flags & CELL_LABEL) == 0 || take_bytes(at, end, &cell->label);
}

enum status row_block_next(struct bytes *block,
                           struct arena *arena,
                           struct row *ret_row,
                           bool *ret_found,
                           struct error *ret_error)
{
    if (block->size_bytes == 0) {
        *ret_found = false;
        return STATUS_OK;
    }
    const uint8_t *at = block->data;
    const uint8_t *end = at + block->size_bytes;
    struct row row = {0};
    if (!take_bytes(&at, end, &row.key) || end - at < (ptrdiff_t)sizeof(uint32_t)) {
        return error_set(ret_error, STATUS_MALFORMED, "row block ends inside a row's head");
    }
    row.cell_count = load_le32(at);
    at += sizeof(uint32_t);
    if (row.cell_count == 0 || row.cell_count > (size_t)(end - at) / CELL_WIRE_BYTES_MIN) {
        return error_set(ret_error, STATUS_MALFORMED, "row block claims %zu cells in %zu bytes",
                         row.cell_count, (size_t)(end - at));
    }
    struct row_cell *cells = arena_allocate_array(arena, row.cell_count, sizeof *cells);
    if (cells == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for a row of %zu cells",
                         row.cell_count);
    }
    struct row_cell cell = {0};
    for (size_t i = 0; i < row.cell_count; i++) {
        if (!take_cell(&at, end, &cell)) {
            return error_set(ret_error, STATUS_MALFORMED, "row block: cell %zu of a row is broken",
                             i);
        }
        cells[i] = cell;
    }
    row.cells = cells;
    *block = (struct bytes){at, (size_t)(end - at)};
    *ret_row = row;
    *ret_found = true;
    return STATUS_OK;
}

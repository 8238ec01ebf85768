#include "tabletserver/storage/copies/slice.h"

#include "common/aggregate/aggregate.h"
#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "common/base/limits.h"
#include "tabletserver/storage/record/applied_map.h"

#define FORMAT_VERSION  1
#define CHECKSUM_BYTES  8
#define CHECKSUM_SEED   UINT64_C(0x65647562736c6963)
#define HORIZONS_MAX    65536
#define CELL_PUT        1
#define CELL_FOLD       2
#define CELL_COLUMN     4
#define CELL_STAMP      8
#define POSITION_START  0
#define POSITION_ROW    1
#define POSITION_CELL   2
#define POSITION_BEHIND 3

static uint64_t seed_of(uint64_t tablet)
{
    return CHECKSUM_SEED ^ tablet;
}

/* --- writing ------------------------------------------------------------------------------------ */

static void begin(struct buffer *out, enum slice_kind kind, uint64_t tablet, uint64_t sequence)
{
    buffer_append_u8(out, FORMAT_VERSION);
    buffer_append_u8(out, (uint8_t)kind);
    byte_append_varint(out, tablet);
    byte_append_varint(out, sequence);
}

static void seal(struct buffer *out, size_t start, uint64_t tablet)
{
    uint8_t checksum[CHECKSUM_BYTES];
    if (!out->failed) {
        store_le64(checksum,
                   checksum64(out->data + start, out->size_bytes - start, seed_of(tablet)));
        buffer_append(out, checksum, sizeof checksum);
    }
}

void slice_encode_records(const struct slice *slice, struct buffer *out)
{
    const struct slice_records *records = &slice->records;
    size_t start = out->size_bytes;
    begin(out, SLICE_RECORDS, slice->tablet, slice->sequence);
    byte_append_varint(out, records->clock);
    byte_append_varint(out, records->horizon_count);
    for (uint32_t i = 0; i < records->horizon_count; i++) {
        byte_append_varint(out, records->horizons[i].family);
        byte_append_varint(out, records->horizons[i].rule_version);
        byte_append_zigzag(out, records->horizons[i].horizon_us);
        byte_append_varint(out, records->horizons[i].sequence);
    }
    byte_append_varint(out, records->image_bytes);
    byte_append_varint(out, records->offset_bytes);
    byte_append_bytes(out, records->piece);
    seal(out, start, slice->tablet);
}

static void append_position(struct buffer *out, const struct tablet_position *position)
{
    if (position->everything) {
        buffer_append_u8(out, POSITION_BEHIND);
    } else if (position->family != 0) {
        buffer_append_u8(out, POSITION_CELL);
        byte_append_bytes(out, position->row);
        byte_append_varint(out, position->family);
        byte_append_bytes(out, position->qualifier);
        byte_append_zigzag(out, position->timestamp_us);
    } else if (position->row.size_bytes > 0) {
        buffer_append_u8(out, POSITION_ROW);
        byte_append_bytes(out, position->row);
    } else {
        buffer_append_u8(out, POSITION_START);
    }
}

/* `to` is known in the end only, so it stands there. */
void slice_writer_begin(struct slice_writer *writer,
                        uint64_t tablet,
                        uint64_t sequence,
                        const struct tablet_position *from,
                        struct buffer *out)
{
    *writer = (struct slice_writer){
        .out = out, .start = out->size_bytes, .tablet = tablet, .column = BUFFER_INIT};
    begin(out, SLICE_ROWS, tablet, sequence);
    append_position(out, from);
}

static void end_row(struct slice_writer *writer)
{
    if (writer->in_row) {
        buffer_append_u8(writer->out, 0);
    }
    writer->in_row = false;
}

void slice_writer_row(struct slice_writer *writer, struct bytes row)
{
    end_row(writer);
    byte_append_bytes(writer->out, row);
    writer->in_row = true;
    writer->family = 0;
    writer->stamp = STAMP_OLDEST;
}

void slice_writer_cell(struct slice_writer *writer, const struct entry *cell)
{
    struct buffer *out = writer->out;
    bool fold = cell->kind == ENTRY_FOLD;
    bool column = writer->family != cell->family ||
                  !bytes_equal(buffer_bytes(&writer->column), cell->qualifier);
    bool stamp = stamp_compare(writer->stamp, cell->stamp) != 0;
    ASSERT(writer->in_row);
    ASSERT(fold || cell->kind == ENTRY_PUT);
    buffer_append_u8(out, (uint8_t)((fold ? CELL_FOLD : CELL_PUT) | (column ? CELL_COLUMN : 0) |
                                    (stamp ? CELL_STAMP : 0)));
    if (column) {
        byte_append_varint(out, cell->family);
        byte_append_bytes(out, cell->qualifier);
        writer->family = cell->family;
        buffer_reset(&writer->column);
        buffer_append_bytes(&writer->column, cell->qualifier);
    }
    if (stamp) {
        byte_append_varint(out, cell->stamp.clock);
        byte_append_varint(out, cell->stamp.cluster);
        byte_append_varint(out, cell->stamp.index);
        writer->stamp = cell->stamp;
    }
    byte_append_zigzag(out, cell->timestamp_us);
    if (fold) {
        buffer_append_u8(out, (uint8_t)cell->aggregate);
    }
    byte_append_bytes(out, cell->value);
}

void slice_writer_end(struct slice_writer *writer, const struct tablet_position *to)
{
    end_row(writer);
    byte_append_varint(writer->out, 0); /* no row has an empty key */
    append_position(writer->out, to);
    writer->out->failed = writer->out->failed || writer->column.failed;
    seal(writer->out, writer->start, writer->tablet);
    slice_writer_deinit(writer);
}

void slice_writer_deinit(struct slice_writer *writer)
{
    buffer_deinit(&writer->column);
}

/* --- reading ------------------------------------------------------------------------------------ */

static struct tablet_position read_position(struct byte_reader *in)
{
    struct tablet_position position = {.family = 0};
    uint8_t kind = byte_reader_u8(in);
    if (kind == POSITION_ROW || kind == POSITION_CELL) {
        position.row = byte_reader_bytes_max(in, LIMIT_ROW_KEY_BYTES);
        in->failed = in->failed || position.row.size_bytes == 0;
    }
    if (kind == POSITION_CELL) {
        position.family = (uint32_t)byte_reader_varint_max(in, UINT32_MAX);
        position.qualifier = byte_reader_bytes_max(in, LIMIT_QUALIFIER_BYTES);
        position.timestamp_us = byte_reader_zigzag(in);
        in->failed = in->failed || position.family == 0;
    }
    position.everything = kind == POSITION_BEHIND;
    in->failed = in->failed || kind > POSITION_BEHIND;
    return position;
}

static void read_cell(struct byte_reader *in, uint8_t tag, struct entry *cell)
{
    uint8_t kind = tag & (CELL_PUT | CELL_FOLD);
    if (tag & CELL_COLUMN) {
        cell->family = (uint32_t)byte_reader_varint_max(in, UINT32_MAX);
        cell->qualifier = byte_reader_bytes_max(in, LIMIT_QUALIFIER_BYTES);
    }
    if (tag & CELL_STAMP) {
        cell->stamp.clock = byte_reader_varint(in);
        cell->stamp.cluster = (uint32_t)byte_reader_varint_max(in, UINT32_MAX);
        cell->stamp.index = (uint32_t)byte_reader_varint_max(in, UINT32_MAX);
    }
    cell->kind = kind == CELL_FOLD ? ENTRY_FOLD : ENTRY_PUT;
    cell->timestamp_us = byte_reader_zigzag(in);
    cell->aggregate = AGGREGATE_NONE;
    if (kind == CELL_FOLD) {
        uint8_t aggregate = byte_reader_u8(in);
        in->failed = in->failed || aggregate == AGGREGATE_NONE || aggregate > AGGREGATE_BYTESHLL;
        cell->aggregate = (enum aggregate_kind)aggregate;
    }
    cell->value = byte_reader_bytes_max(in, LIMIT_VALUE_BYTES);
    in->failed = in->failed || cell->family == 0 || (kind != CELL_PUT && kind != CELL_FOLD) ||
                 tag > (CELL_FOLD | CELL_COLUMN | CELL_STAMP);
}

struct slice_reader slice_reader_of(const struct slice *slice)
{
    return (struct slice_reader){.in = byte_reader_of(slice->rows)};
}

static void begin_row(struct slice_reader *reader)
{
    reader->row = byte_reader_bytes_max(&reader->in, LIMIT_ROW_KEY_BYTES);
    reader->cell = (struct entry){.kind = ENTRY_PUT};
    reader->in_row = reader->row.size_bytes > 0;
}

bool slice_reader_next(struct slice_reader *reader)
{
    if (!reader->in_row) {
        begin_row(reader);
    }
    while (reader->in_row && byte_reader_ok(&reader->in)) {
        uint8_t tag = byte_reader_u8(&reader->in);
        if (tag != 0) {
            read_cell(&reader->in, tag, &reader->cell);
            return byte_reader_ok(&reader->in);
        }
        begin_row(reader);
    }
    return false;
}

/* Goes through all of it; `in` stands behind the rows then. */
static bool rows_are_sound(struct byte_reader *in, struct slice *slice)
{
    struct slice_reader reader = {.in = *in};
    struct tablet_position before = slice->from;
    bool first = true;
    bool sound = true;
    while (sound && slice_reader_next(&reader)) {
        struct tablet_position at = tablet_position_of(reader.row, &reader.cell);
        int order = tablet_position_compare(&before, &at);
        sound = order < 0 || (first && order == 0);
        before = at;
        first = false;
    }
    slice->rows = bytes_of(in->at, (size_t)(reader.in.at - in->at));
    *in = reader.in;
    slice->to = read_position(in);
    return sound && byte_reader_ok(in) &&
           tablet_position_compare(&before, &slice->to) < (first ? 1 : 0);
}

static enum status read_records(struct byte_reader *in,
                                struct arena *arena,
                                struct slice_records *records)
{
    records->clock = byte_reader_varint(in);
    uint64_t count = byte_reader_varint_max(in, HORIZONS_MAX);
    count = count <= byte_reader_left(in) ? count
                                          : 0; /* each takes some bytes; else it fails below */
    struct horizon *horizons = arena_allocate_array(arena, count + 1, sizeof *horizons);
    if (horizons == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (uint64_t i = 0; i < count; i++) {
        horizons[i].family = (uint32_t)byte_reader_varint_max(in, UINT32_MAX);
        horizons[i].rule_version = byte_reader_varint(in);
        horizons[i].horizon_us = byte_reader_zigzag(in);
        horizons[i].sequence = byte_reader_varint(in);
    }
    records->horizons = horizons;
    records->horizon_count = (uint32_t)count;
    records->image_bytes = byte_reader_varint_max(in, SLICE_IMAGE_BYTES_MAX);
    records->offset_bytes = byte_reader_varint_max(in, records->image_bytes);
    records->piece = byte_reader_bytes_max(in,
                                           (size_t)(records->image_bytes - records->offset_bytes));
    return STATUS_OK;
}

static enum status read_body(struct byte_reader *in, struct arena *arena, struct slice *slice)
{
    enum status status = STATUS_OK;
    bool sound = true;
    if (slice->kind == SLICE_RECORDS) {
        status = read_records(in, arena, &slice->records);
    } else if (slice->kind == SLICE_ROWS) {
        slice->from = read_position(in);
        sound = rows_are_sound(in, slice);
    } else {
        sound = false;
    }
    if (status != STATUS_OK) {
        return status;
    }
    return sound && byte_reader_ok(in) && byte_reader_left(in) == 0 ? STATUS_OK : STATUS_CORRUPT;
}

enum status slice_decode(struct bytes in,
                         uint64_t tablet,
                         struct arena *arena,
                         struct slice *ret_slice,
                         struct error *ret_error)
{
    unsigned long long number = tablet;
    if (in.size_bytes < 2 + CHECKSUM_BYTES) {
        return error_set(ret_error, STATUS_CORRUPT, "a slice of tablet %llu is too short", number);
    }
    size_t body = in.size_bytes - CHECKSUM_BYTES;
    if (checksum64(in.data, body, seed_of(tablet)) != load_le64(in.data + body)) {
        return error_set(ret_error, STATUS_CORRUPT,
                         "a slice of tablet %llu: the checksum does not match", number);
    }
    struct byte_reader reader = byte_reader_of(bytes_of(in.data, body));
    if (byte_reader_u8(&reader) != FORMAT_VERSION) {
        return error_set(ret_error, STATUS_VERSION, "a slice of format %u; this version knows %d",
                         in.data[0], FORMAT_VERSION);
    }
    struct slice slice = {.kind = (enum slice_kind)byte_reader_u8(&reader)};
    slice.tablet = byte_reader_varint(&reader);
    slice.sequence = byte_reader_varint(&reader);
    enum status status = read_body(&reader, arena, &slice);
    if (status == STATUS_OK && slice.tablet != tablet) {
        status = STATUS_CORRUPT;
    }
    if (status != STATUS_OK) {
        return error_set(ret_error, status, "a slice of tablet %llu: %s", number,
                         status == STATUS_CORRUPT ? "it does not decode" : status_text(status));
    }
    *ret_slice = slice;
    return STATUS_OK;
}

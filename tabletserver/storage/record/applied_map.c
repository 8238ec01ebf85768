#include "tabletserver/storage/record/applied_map.h"

#include "common/base/assert.h"
#include "common/base/byte_reader.h"

#define FORMAT_VERSION 1
#define FORMAT_ROW     1 /* the boundary is a row's start */
#define FORMAT_CELL    2 /* the boundary lies inside a row */

static const struct tablet_position position_start; /* all zero: nothing lies below */
static const struct tablet_position position_end = {.everything = true};

int tablet_position_compare(const struct tablet_position *a, const struct tablet_position *b)
{
    if (a->everything || b->everything) {
        return (int)a->everything - (int)b->everything;
    }
    int order = bytes_compare(a->row, b->row);
    if (order != 0) {
        return order;
    }
    if (a->family != b->family) {
        return a->family < b->family ? -1 : 1;
    }
    if (a->family == 0) {
        return 0;
    }
    order = bytes_compare(a->qualifier, b->qualifier);
    if (order != 0) {
        return order;
    }
    return (a->timestamp_us < b->timestamp_us) - (a->timestamp_us > b->timestamp_us);
}

struct tablet_position tablet_position_of_row(struct bytes row)
{
    return (struct tablet_position){.row = row};
}

struct tablet_position tablet_position_of(struct bytes row, const struct entry *entry)
{
    struct tablet_position position = {.row = row, .timestamp_us = INT64_MAX};
    switch (entry->kind) {
    case ENTRY_ROW_DELETE:
        return tablet_position_of_row(row);
    case ENTRY_FAMILY_DELETE:
        position.family = entry->family;
        return position;
    case ENTRY_COLUMN_DELETE:
        position.family = entry->family;
        position.qualifier = entry->qualifier;
        return position;
    case ENTRY_PUT:
    case ENTRY_FOLD:
    case ENTRY_ERASE:
        position.family = entry->family;
        position.qualifier = entry->qualifier;
        position.timestamp_us = entry->timestamp_us;
        return position;
    }
    UNREACHABLE();
}

enum status applied_map_whole(struct arena *arena, uint64_t sequence, struct applied_map *ret_map)
{
    struct applied_segment *segment = arena_allocate(arena, sizeof *segment);
    if (segment == NULL) {
        return STATUS_NO_MEMORY;
    }
    *segment = (struct applied_segment){.from = position_start, .sequence = sequence};
    *ret_map = (struct applied_map){segment, 1};
    return STATUS_OK;
}

/* The segment that a position lies in. */
static uint32_t segment_of(const struct applied_map *map, const struct tablet_position *position)
{
    uint32_t low = 0;
    uint32_t high = map->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (tablet_position_compare(&map->segments[middle].from, position) <= 0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

uint64_t applied_map_at(const struct applied_map *map, const struct tablet_position *position)
{
    ASSERT(map->count >= 1);
    return map->segments[segment_of(map, position)].sequence;
}

uint64_t applied_map_highest(const struct applied_map *map)
{
    uint64_t highest = 0;
    for (uint32_t i = 0; i < map->count; i++) {
        highest = map->segments[i].sequence > highest ? map->segments[i].sequence : highest;
    }
    return highest;
}

void applied_map_span_of_row(const struct applied_map *map,
                             struct bytes row,
                             uint64_t *ret_lowest,
                             uint64_t *ret_highest)
{
    struct tablet_position start = tablet_position_of_row(row);
    uint32_t i = segment_of(map, &start);
    uint64_t lowest = map->segments[i].sequence;
    uint64_t highest = lowest;
    while (++i < map->count && bytes_equal(map->segments[i].from.row, row)) {
        uint64_t sequence = map->segments[i].sequence;
        lowest = sequence < lowest ? sequence : lowest;
        highest = sequence > highest ? sequence : highest;
    }
    *ret_lowest = lowest;
    *ret_highest = highest;
}

/* Builds a map segment by segment, leaving out what changes nothing. */
struct builder {
    struct applied_segment *segments;
    uint32_t count;
};

static void build(struct builder *builder, const struct tablet_position *from, uint64_t sequence)
{
    if (builder->count > 0) {
        struct applied_segment *last = &builder->segments[builder->count - 1];
        if (tablet_position_compare(&last->from, from) == 0) {
            /* What began here holds nothing: the newer segment takes its place. */
            builder->count--;
        }
    }
    if (builder->count > 0 && builder->segments[builder->count - 1].sequence == sequence) {
        return;
    }
    builder->segments[builder->count++] = (struct applied_segment){.from = *from,
                                                                   .sequence = sequence};
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

enum status applied_map_raise(struct arena *arena,
                              const struct applied_map *map,
                              const struct tablet_position *from,
                              const struct tablet_position *to,
                              uint64_t sequence,
                              struct applied_map *ret_map)
{
    struct builder builder = {
        arena_allocate_array(arena, (size_t)map->count + 2, sizeof(struct applied_segment)), 0};
    if (builder.segments == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < map->count; i++) {
        const struct applied_segment *old = &map->segments[i];
        const struct tablet_position *end = i + 1 < map->count ? &map->segments[i + 1].from
                                                               : &position_end;
        /* Cut the segment in three: before from, between, and from `to` on. */
        if (tablet_position_compare(&old->from, from) < 0) {
            build(&builder, &old->from, old->sequence);
        }
        const struct tablet_position *low = tablet_position_compare(&old->from, from) < 0
                                                ? from
                                                : &old->from;
        const struct tablet_position *high = tablet_position_compare(end, to) < 0 ? end : to;
        if (tablet_position_compare(low, high) < 0) {
            build(&builder, low, larger(old->sequence, sequence));
        }
        const struct tablet_position *rest = tablet_position_compare(&old->from, to) < 0
                                                 ? to
                                                 : &old->from;
        if (tablet_position_compare(rest, end) < 0) {
            build(&builder, rest, old->sequence);
        }
    }
    *ret_map = (struct applied_map){builder.segments, builder.count};
    return STATUS_OK;
}

struct tablet_position applied_map_prefix(const struct applied_map *map, uint64_t sequence)
{
    for (uint32_t i = 0; i < map->count; i++) {
        if (map->segments[i].sequence < sequence) {
            return map->segments[i].from;
        }
    }
    return position_end;
}

/* --- stored form ------------------------------------------------------------------------------ */

void applied_map_encode(const struct applied_map *map, struct buffer *out)
{
    ASSERT(map->count >= 1);
    buffer_append_u8(out, FORMAT_VERSION);
    byte_append_varint(out, map->count);
    byte_append_varint(out, map->segments[0].sequence);
    for (uint32_t i = 1; i < map->count; i++) {
        const struct tablet_position *from = &map->segments[i].from;
        buffer_append_u8(out, from->family == 0 ? FORMAT_ROW : FORMAT_CELL);
        byte_append_bytes(out, from->row);
        if (from->family != 0) {
            byte_append_varint(out, from->family);
            byte_append_bytes(out, from->qualifier);
            byte_append_zigzag(out, from->timestamp_us);
        }
        byte_append_varint(out, map->segments[i].sequence);
    }
}

static struct tablet_position get_position(struct byte_reader *reader)
{
    struct tablet_position position = {0};
    uint8_t form = byte_reader_u8(reader);
    position.row = byte_reader_bytes(reader);
    if (form == FORMAT_CELL) {
        position.family = (uint32_t)byte_reader_varint_max(reader, UINT32_MAX);
        position.qualifier = byte_reader_bytes(reader);
        position.timestamp_us = byte_reader_zigzag(reader);
    }
    if ((form != FORMAT_ROW && form != FORMAT_CELL) ||
        (form == FORMAT_CELL && position.family == 0)) {
        reader->failed = true;
    }
    return position;
}

enum status applied_map_decode(struct bytes image,
                               struct arena *arena,
                               struct applied_map *ret_map,
                               struct error *ret_error)
{
    struct byte_reader reader = byte_reader_of(image);
    uint8_t version = byte_reader_u8(&reader);
    if (version > FORMAT_VERSION) {
        return error_set(ret_error, STATUS_VERSION, "applied map of version %u", version);
    }
    uint64_t count = byte_reader_varint_max(&reader, APPLIED_MAP_SEGMENTS_MAX);
    if (!byte_reader_ok(&reader) || version == 0 || count == 0 || count > image.size_bytes) {
        return error_set(ret_error, STATUS_CORRUPT, "applied map: bad head");
    }
    struct applied_segment *segments = arena_allocate_array(arena, count, sizeof *segments);
    if (segments == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "applied map: out of memory");
    }
    segments[0] = (struct applied_segment){position_start, byte_reader_varint(&reader)};
    for (uint64_t i = 1; i < count && byte_reader_ok(&reader); i++) {
        segments[i].from = get_position(&reader);
        segments[i].sequence = byte_reader_varint(&reader);
        if (segments[i].sequence == segments[i - 1].sequence ||
            tablet_position_compare(&segments[i - 1].from, &segments[i].from) >= 0) {
            reader.failed = true;
        }
    }
    if (!byte_reader_ok(&reader) || byte_reader_left(&reader) != 0) {
        return error_set(ret_error, STATUS_CORRUPT, "applied map: bad segment");
    }
    *ret_map = (struct applied_map){segments, (uint32_t)count};
    return STATUS_OK;
}

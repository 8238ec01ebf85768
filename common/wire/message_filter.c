/* Filters on the wire: [kind, fields of that kind...]; members of chains stand in it directly. */
#include <string.h>

#include "common/wire/message_parts.h"
#include "common/wire/writer.h"

static void write_bound(struct buffer *out, const struct filter_bound *bound)
{
    if (!bound->present) {
        wire_write_nil(out);
        return;
    }
    wire_write_array(out, 2);
    wire_write_bool(out, bound->closed);
    wire_write_bytes(out, bound->bytes);
}

static void write_filter(struct buffer *out, const struct filter *filter, uint32_t depth);

static void write_members(struct buffer *out, const struct filter *filter, uint32_t depth)
{
    wire_write_array(out, 1 + filter->child_count);
    wire_write_u64(out, filter->kind);
    for (size_t i = 0; i < filter->child_count; i++) {
        write_filter(out, &filter->children[i], depth + 1);
    }
}

static void write_condition(struct buffer *out, const struct filter *filter, uint32_t depth)
{
    const bool has[3] = {filter->child_count > 0, filter->has_true, filter->has_false};
    wire_write_array(out, 4);
    wire_write_u64(out, filter->kind);
    for (size_t i = 0; i < 3; i++) {
        write_filter(out, has[i] ? &filter->children[i] : NULL, depth + 1);
    }
}

static void write_bounds(struct buffer *out, const struct filter *filter)
{
    wire_write_array(out, filter->kind == FILTER_COLUMN_RANGE ? 4 : 3);
    wire_write_u64(out, filter->kind);
    if (filter->kind == FILTER_COLUMN_RANGE) {
        wire_write_bytes(out, filter->bytes);
    }
    write_bound(out, &filter->start);
    write_bound(out, &filter->end);
}

/* Recursion is bounded by MESSAGE_DEPTH_MAX. */
static void write_filter(struct buffer *out, const struct filter *filter, uint32_t depth)
{
    if (filter == NULL || depth > MESSAGE_DEPTH_MAX) {
        wire_write_nil(out);
        return;
    }
    switch (filter->kind) {
    case FILTER_CHAIN:
    case FILTER_INTERLEAVE:
        write_members(out, filter, depth);
        return;
    case FILTER_CONDITION:
        write_condition(out, filter, depth);
        return;
    case FILTER_COLUMN_RANGE:
    case FILTER_VALUE_RANGE:
        write_bounds(out, filter);
        return;
    case FILTER_TIMESTAMP_RANGE:
        wire_write_array(out, 3);
        wire_write_u64(out, filter->kind);
        wire_write_i64(out, filter->start_us);
        wire_write_i64(out, filter->end_us);
        return;
    case FILTER_PASS_ALL:
    case FILTER_BLOCK_ALL:
    case FILTER_SINK:
    case FILTER_STRIP_VALUE:
        wire_write_array(out, 2);
        wire_write_u64(out, filter->kind);
        wire_write_bool(out, filter->flag);
        return;
    case FILTER_ROW_SAMPLE:
        wire_write_array(out, 2);
        wire_write_u64(out, filter->kind);
        wire_write_f64(out, filter->probability);
        return;
    case FILTER_CELLS_PER_ROW_OFFSET:
    case FILTER_CELLS_PER_ROW_LIMIT:
    case FILTER_CELLS_PER_COLUMN_LIMIT:
        wire_write_array(out, 2);
        wire_write_u64(out, filter->kind);
        wire_write_i64(out, filter->count);
        return;
    case FILTER_ROW_KEY_REGEX:
    case FILTER_FAMILY_REGEX:
    case FILTER_QUALIFIER_REGEX:
    case FILTER_VALUE_REGEX:
    case FILTER_APPLY_LABEL:
    case FILTER_VALUE_BITMASK:
        wire_write_array(out, 2);
        wire_write_u64(out, filter->kind);
        wire_write_bytes(out, filter->bytes);
        return;
    }
    /* Not a kind: the receiver refuses it. */
    wire_write_array(out, 1);
    wire_write_u64(out, filter->kind);
}

void wire_write_filter(struct buffer *out, const struct filter *filter)
{
    write_filter(out, filter, 0);
}

static struct filter_bound read_bound(struct wire_reader *reader,
                                      struct wire_array *fields,
                                      const char *field)
{
    struct filter_bound bound = {0};
    if (wire_read_nil(reader, fields)) {
        return bound;
    }
    struct wire_array parts = wire_read_array(reader, fields, field);
    bound.present = true;
    bound.closed = wire_read_bool(reader, &parts, field);
    bound.bytes = wire_read_bytes(reader, &parts, field);
    wire_array_end(reader, &parts);
    return bound;
}

/* Takes the place of what is too large or too deep to be taken apart. */
static const struct filter stand_in = {.kind = FILTER_PASS_ALL, .flag = true};

static void read_filter(struct wire_reader *reader,
                        struct wire_array *fields,
                        int depth,
                        struct filter *ret_filter);

/* Room for count children; NULL on failure or for none. */
static struct filter *children_create(struct wire_reader *reader, size_t count)
{
    struct filter *children = NULL;
    if (count > 0 && reader->status == STATUS_OK) {
        children = arena_allocate_array(reader->arena, count, sizeof *children);
        if (children == NULL) {
            reader->status = error_set(reader->error, STATUS_NO_MEMORY,
                                       "%s.filter: no memory for %zu members", reader->message,
                                       count);
            return NULL;
        }
        memset(children, 0, count * sizeof *children);
    }
    return children;
}

static void read_members(struct wire_reader *reader,
                         struct wire_array *fields,
                         int depth,
                         struct filter *filter)
{
    size_t count = fields->left;
    struct filter *children = children_create(reader, count);
    for (size_t i = 0; i < count && reader->status == STATUS_OK; i++) {
        read_filter(reader, fields, depth + 1, &children[i]);
    }
    filter->children = children;
    filter->child_count = count;
}

static void read_condition(struct wire_reader *reader,
                           struct wire_array *fields,
                           int depth,
                           struct filter *filter)
{
    struct filter *children = children_create(reader, 3);
    bool has[3] = {false, false, false};
    for (size_t i = 0; i < 3 && reader->status == STATUS_OK; i++) {
        has[i] = !wire_read_nil(reader, fields);
        if (has[i]) {
            read_filter(reader, fields, depth + 1, &children[i]);
        }
    }
    if (!has[0]) {
        wire_reader_refuse(reader, "filter", "is a condition without a predicate");
    }
    filter->has_true = has[1];
    filter->has_false = has[2];
    filter->children = children;
    filter->child_count = 3;
}

/* Read the fields that a filter of this kind has; the kind itself was read. */
static void read_filter_fields(struct wire_reader *reader,
                               struct wire_array *fields,
                               int depth,
                               struct filter *filter)
{
    switch (filter->kind) {
    case FILTER_CHAIN:
    case FILTER_INTERLEAVE:
        read_members(reader, fields, depth, filter);
        return;
    case FILTER_CONDITION:
        read_condition(reader, fields, depth, filter);
        return;
    case FILTER_COLUMN_RANGE:
        filter->bytes = wire_read_bytes(reader, fields, "filter.bytes");
        [[fallthrough]];
    case FILTER_VALUE_RANGE:
        filter->start = read_bound(reader, fields, "filter.start");
        filter->end = read_bound(reader, fields, "filter.end");
        return;
    case FILTER_TIMESTAMP_RANGE:
        filter->start_us = wire_read_i64(reader, fields, "filter.start_us");
        filter->end_us = wire_read_i64(reader, fields, "filter.end_us");
        return;
    case FILTER_PASS_ALL:
    case FILTER_BLOCK_ALL:
    case FILTER_SINK:
    case FILTER_STRIP_VALUE:
        filter->flag = wire_read_bool(reader, fields, "filter.flag");
        return;
    case FILTER_ROW_SAMPLE:
        filter->probability = wire_read_f64(reader, fields, "filter.probability");
        return;
    case FILTER_CELLS_PER_ROW_OFFSET:
    case FILTER_CELLS_PER_ROW_LIMIT:
    case FILTER_CELLS_PER_COLUMN_LIMIT:
        filter->count = wire_read_i64(reader, fields, "filter.count");
        return;
    case FILTER_ROW_KEY_REGEX:
    case FILTER_FAMILY_REGEX:
    case FILTER_QUALIFIER_REGEX:
    case FILTER_VALUE_REGEX:
    case FILTER_APPLY_LABEL:
    case FILTER_VALUE_BITMASK:
        filter->bytes = wire_read_bytes(reader, fields, "filter.bytes");
        return;
    }
}

/*
 * What lies deeper than any filter may is not taken apart, however deep it goes: something stands in
 * for it, and the model refuses the filter for its depth.
 */
static void read_filter(struct wire_reader *reader,
                        struct wire_array *fields,
                        int depth,
                        struct filter *ret_filter)
{
    if (depth > LIMIT_FILTER_DEPTH) {
        *ret_filter = stand_in;
        wire_skip(reader, fields);
        return;
    }
    struct wire_array parts = wire_read_array(reader, fields, "filter");
    uint32_t kind = wire_read_choice(reader, &parts, "filter.kind", FILTER_PASS_ALL,
                                     FILTER_VALUE_BITMASK);
    ret_filter->kind = (enum filter_kind)kind;
    if (reader->status == STATUS_OK) {
        read_filter_fields(reader, &parts, depth, ret_filter);
    }
    wire_array_end(reader, &parts);
}

const struct filter *wire_read_filter(struct wire_reader *reader,
                                      struct wire_array *fields,
                                      size_t *ret_filter_bytes)
{
    if (wire_read_nil(reader, fields)) {
        return NULL;
    }
    struct wire_reader ahead = *reader;
    struct wire_array ahead_fields = *fields;
    wire_skip(&ahead, &ahead_fields);
    size_t size_bytes = (size_t)(ahead.at - reader->at);
    if (size_bytes > FILTER_WIRE_BYTES_MAX) {
        wire_skip(reader, fields);
        *ret_filter_bytes = size_bytes;
        return &stand_in;
    }
    struct filter *filter = children_create(reader, 1);
    if (filter == NULL) {
        return NULL;
    }
    read_filter(reader, fields, 1, filter);
    *ret_filter_bytes = size_bytes;
    return filter;
}

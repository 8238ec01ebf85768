/*
 * A filter as one line of text, for people: chain(family(cf), cells_per_column(1)).
 *
 * Works on any tree, checked or not: what is nested too deep is cut.
 */
#include <inttypes.h>

#include "common/base/assert.h"
#include "common/base/limits.h"
#include "common/model/filter.h"

static void append_text(struct buffer *out, const char *text)
{
    buffer_append_bytes(out, bytes_of_text(text));
}

static void append_quoted(struct buffer *out, struct bytes bytes)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    buffer_append_format(out, "\"%s\"", bytes_printable(bytes, text));
}

static void append_with_bytes(struct buffer *out, const char *name, struct bytes bytes)
{
    append_text(out, name);
    append_text(out, "(");
    append_quoted(out, bytes);
    append_text(out, ")");
}

/* ["a", "b") with an open side where there is no bound. */
static void append_range(struct buffer *out, const struct filter *filter)
{
    append_text(out, filter->start.present && filter->start.closed ? "[" : "(");
    if (filter->start.present) {
        append_quoted(out, filter->start.bytes);
    }
    append_text(out, ", ");
    if (filter->end.present) {
        append_quoted(out, filter->end.bytes);
    }
    append_text(out, filter->end.present && filter->end.closed ? "]" : ")");
}

static void append_count(struct buffer *out, const char *name, int64_t count)
{
    buffer_append_format(out, "%s(%" PRId64 ")", name, count);
}

static void append_timestamps(struct buffer *out, const struct filter *filter)
{
    buffer_append_format(out, "timestamp[%" PRId64 ", ", filter->start_us);
    if (filter->end_us != 0) {
        buffer_append_format(out, "%" PRId64, filter->end_us);
    }
    append_text(out, ")");
}

static void append_leaf(struct buffer *out, const struct filter *filter)
{
    switch ((int)filter->kind) {
    case FILTER_PASS_ALL:
        append_text(out, "pass_all");
        return;
    case FILTER_BLOCK_ALL:
        append_text(out, "block_all");
        return;
    case FILTER_SINK:
        append_text(out, "sink");
        return;
    case FILTER_STRIP_VALUE:
        append_text(out, "strip_value");
        return;
    case FILTER_ROW_KEY_REGEX:
        append_with_bytes(out, "row_key", filter->bytes);
        return;
    case FILTER_ROW_SAMPLE:
        buffer_append_format(out, "row_sample(%g)", filter->probability);
        return;
    case FILTER_FAMILY_REGEX:
        append_with_bytes(out, "family", filter->bytes);
        return;
    case FILTER_QUALIFIER_REGEX:
        append_with_bytes(out, "qualifier", filter->bytes);
        return;
    case FILTER_VALUE_REGEX:
        append_with_bytes(out, "value", filter->bytes);
        return;
    case FILTER_COLUMN_RANGE:
        append_with_bytes(out, "columns", filter->bytes);
        append_range(out, filter);
        return;
    case FILTER_TIMESTAMP_RANGE:
        append_timestamps(out, filter);
        return;
    case FILTER_VALUE_RANGE:
        append_text(out, "values");
        append_range(out, filter);
        return;
    case FILTER_CELLS_PER_ROW_OFFSET:
        append_count(out, "cells_per_row_offset", filter->count);
        return;
    case FILTER_CELLS_PER_ROW_LIMIT:
        append_count(out, "cells_per_row", filter->count);
        return;
    case FILTER_CELLS_PER_COLUMN_LIMIT:
        append_count(out, "cells_per_column", filter->count);
        return;
    case FILTER_APPLY_LABEL:
        append_with_bytes(out, "label", filter->bytes);
        return;
    case FILTER_VALUE_BITMASK:
        append_with_bytes(out, "value_bitmask", filter->bytes);
        return;
    default:
        buffer_append_format(out, "unknown(%d)", (int)filter->kind);
        return;
    }
}

static void append_filter(struct buffer *out, const struct filter *filter, int depth);

static void append_list(struct buffer *out, const struct filter *filter, int depth)
{
    append_text(out, filter->kind == FILTER_CHAIN ? "chain(" : "interleave(");
    for (size_t i = 0; i < filter->child_count; i++) {
        append_text(out, i > 0 ? ", " : "");
        append_filter(out, &filter->children[i], depth + 1);
    }
    append_text(out, ")");
}

static void append_condition(struct buffer *out, const struct filter *filter, int depth)
{
    append_text(out, "condition(");
    append_filter(out, &filter->children[0], depth + 1);
    append_text(out, " ? ");
    if (filter->has_true) {
        append_filter(out, &filter->children[1], depth + 1);
    }
    append_text(out, " : ");
    if (filter->has_false) {
        append_filter(out, &filter->children[2], depth + 1);
    }
    append_text(out, ")");
}

/* At most LIMIT_FILTER_DEPTH deep. */
static void append_filter(struct buffer *out, const struct filter *filter, int depth)
{
    if (depth > LIMIT_FILTER_DEPTH) {
        append_text(out, "...");
    } else if (filter->kind == FILTER_CHAIN || filter->kind == FILTER_INTERLEAVE) {
        append_list(out, filter, depth);
    } else if (filter->kind == FILTER_CONDITION) {
        append_condition(out, filter, depth);
    } else {
        append_leaf(out, filter);
    }
}

void filter_format(const struct filter *filter, struct buffer *out)
{
    ASSERT(filter != NULL);
    append_filter(out, filter, 1);
}

/*
 * The size of a filter as Bigtable counts it: that of google.bigtable.v2.RowFilter, encoded.
 */
#include "common/base/endian.h"
#include "common/model/filter_check.h"

#define NARROW_TAG_BYTES 1 /* of fields 1 to 15 */
#define WIDE_TAG_BYTES   2
#define BOOL_BYTES       1
#define DOUBLE_BYTES     8

/* Of a field that is bytes, a text or a message, with its tag. */
static size_t field_size(size_t content_bytes)
{
    return NARROW_TAG_BYTES + varint_size(content_bytes) + content_bytes;
}

/* What a number takes in the encoding: nothing where it is 0, for then it is left out. */
static size_t number_size(int64_t number)
{
    return number == 0 ? 0 : NARROW_TAG_BYTES + varint_size((uint64_t)number);
}

static size_t bounds_size(const struct filter *filter)
{
    return (filter->start.present ? field_size(filter->start.bytes.size_bytes) : 0) +
           (filter->end.present ? field_size(filter->end.bytes.size_bytes) : 0);
}

static size_t children_size(const struct filter *filter)
{
    size_t size = 0;
    for (size_t i = 0; i < filter_child_count(filter); i++) {
        size += filter_has_child(filter, i) ? field_size(filter_size_bytes(&filter->children[i]))
                                            : 0;
    }
    return size;
}

size_t filter_size_bytes(const struct filter *filter)
{
    size_t mask_bytes = filter->bytes.size_bytes;
    switch (filter->kind) {
    case FILTER_CHAIN:
    case FILTER_INTERLEAVE:
    case FILTER_CONDITION:
        return field_size(children_size(filter));
    case FILTER_PASS_ALL:
    case FILTER_BLOCK_ALL:
    case FILTER_SINK:
        return WIDE_TAG_BYTES + BOOL_BYTES;
    case FILTER_STRIP_VALUE:
        return NARROW_TAG_BYTES + BOOL_BYTES;
    case FILTER_ROW_KEY_REGEX:
    case FILTER_FAMILY_REGEX:
    case FILTER_QUALIFIER_REGEX:
    case FILTER_VALUE_REGEX:
        return field_size(filter->bytes.size_bytes);
    case FILTER_ROW_SAMPLE:
        return NARROW_TAG_BYTES + DOUBLE_BYTES;
    case FILTER_COLUMN_RANGE:
        return field_size(field_size(filter->bytes.size_bytes) + bounds_size(filter));
    case FILTER_TIMESTAMP_RANGE:
        return field_size(number_size(filter->start_us) + number_size(filter->end_us));
    case FILTER_VALUE_RANGE:
        return field_size(bounds_size(filter));
    case FILTER_CELLS_PER_ROW_OFFSET:
    case FILTER_CELLS_PER_ROW_LIMIT:
    case FILTER_CELLS_PER_COLUMN_LIMIT:
        return NARROW_TAG_BYTES + varint_size((uint64_t)filter->count);
    case FILTER_APPLY_LABEL:
        return WIDE_TAG_BYTES - NARROW_TAG_BYTES + field_size(filter->bytes.size_bytes);
    case FILTER_VALUE_BITMASK:
        return WIDE_TAG_BYTES - NARROW_TAG_BYTES +
               field_size(mask_bytes > 0 ? field_size(mask_bytes) : 0);
    }
    return 0; /* no kind: filter_check() has refused it */
}

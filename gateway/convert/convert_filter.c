#include "common/base/limits.h"
#include "common/base/memory.h"
#include "gateway/convert/convert.h"

typedef Google__Bigtable__V2__RowFilter Filter;

#define CASE(name) GOOGLE__BIGTABLE__V2__ROW_FILTER__FILTER_##name

/* --- leaves ----------------------------------------------------------------------------------- */

/* A filter that is there or not: `false` means nothing, and is refused as Bigtable does. */
static enum status flag(protobuf_c_boolean is_set,
                        const char *field,
                        struct edubba_filter *(*make)(void),
                        struct edubba_filter **ret_filter,
                        struct error *ret_error)
{
    if (!is_set) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "Error in field '%s' : must be true",
                         field);
    }
    *ret_filter = make();
    return STATUS_OK;
}

static struct edubba_filter *column_range(const Google__Bigtable__V2__ColumnRange *range)
{
    struct edubba_bounds bounds = {0};
    switch ((int)range->start_qualifier_case) {
    case GOOGLE__BIGTABLE__V2__COLUMN_RANGE__START_QUALIFIER_START_QUALIFIER_OPEN:
        bounds.start_open = true;
        bounds.start = api_bound(range->start_qualifier_open);
        break;
    case GOOGLE__BIGTABLE__V2__COLUMN_RANGE__START_QUALIFIER_START_QUALIFIER_CLOSED:
        bounds.start = api_bound(range->start_qualifier_closed);
        break;
    default:
        break;
    }
    switch ((int)range->end_qualifier_case) {
    case GOOGLE__BIGTABLE__V2__COLUMN_RANGE__END_QUALIFIER_END_QUALIFIER_CLOSED:
        bounds.end_closed = true;
        bounds.end = api_bound(range->end_qualifier_closed);
        break;
    case GOOGLE__BIGTABLE__V2__COLUMN_RANGE__END_QUALIFIER_END_QUALIFIER_OPEN:
        bounds.end = api_bound(range->end_qualifier_open);
        break;
    default:
        break;
    }
    return edubba_filter_column_range(range->family_name, &bounds);
}

static struct edubba_filter *value_range(const Google__Bigtable__V2__ValueRange *range)
{
    struct edubba_bounds bounds = {0};
    switch ((int)range->start_value_case) {
    case GOOGLE__BIGTABLE__V2__VALUE_RANGE__START_VALUE_START_VALUE_OPEN:
        bounds.start_open = true;
        bounds.start = api_bound(range->start_value_open);
        break;
    case GOOGLE__BIGTABLE__V2__VALUE_RANGE__START_VALUE_START_VALUE_CLOSED:
        bounds.start = api_bound(range->start_value_closed);
        break;
    default:
        break;
    }
    switch ((int)range->end_value_case) {
    case GOOGLE__BIGTABLE__V2__VALUE_RANGE__END_VALUE_END_VALUE_CLOSED:
        bounds.end_closed = true;
        bounds.end = api_bound(range->end_value_closed);
        break;
    case GOOGLE__BIGTABLE__V2__VALUE_RANGE__END_VALUE_END_VALUE_OPEN:
        bounds.end = api_bound(range->end_value_open);
        break;
    default:
        break;
    }
    return edubba_filter_value_range(&bounds);
}

/* Nothing said: all cells.  But a kind that we do not know of must not let all pass. */
static enum status nothing(const Filter *in,
                           struct edubba_filter **ret_filter,
                           struct error *ret_error)
{
    if (in->base.n_unknown_fields > 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'filter' : field %u is no kind of filter that is served",
                         in->base.unknown_fields[0].tag);
    }
    *ret_filter = edubba_filter_pass_all();
    return STATUS_OK;
}

/* Filters that hold no others. */
static enum status leaf(const Filter *in,
                        struct edubba_filter **ret_filter,
                        struct error *ret_error)
{
    switch ((int)in->filter_case) {
    case CASE(SINK):
        return flag(in->sink, "sink", edubba_filter_sink, ret_filter, ret_error);
    case CASE(PASS_ALL_FILTER):
        return flag(in->pass_all_filter, "pass_all_filter", edubba_filter_pass_all, ret_filter,
                    ret_error);
    case CASE(BLOCK_ALL_FILTER):
        return flag(in->block_all_filter, "block_all_filter", edubba_filter_block_all, ret_filter,
                    ret_error);
    case CASE(STRIP_VALUE_TRANSFORMER):
        return flag(in->strip_value_transformer, "strip_value_transformer",
                    edubba_filter_strip_value, ret_filter, ret_error);
    case CASE(ROW_KEY_REGEX_FILTER):
        *ret_filter = edubba_filter_row_key_regex(api_bytes(in->row_key_regex_filter));
        break;
    case CASE(ROW_SAMPLE_FILTER):
        *ret_filter = edubba_filter_row_sample(in->row_sample_filter);
        break;
    case CASE(FAMILY_NAME_REGEX_FILTER):
        *ret_filter = edubba_filter_family_regex(api_text(in->family_name_regex_filter));
        break;
    case CASE(COLUMN_QUALIFIER_REGEX_FILTER):
        *ret_filter = edubba_filter_qualifier_regex(api_bytes(in->column_qualifier_regex_filter));
        break;
    case CASE(COLUMN_RANGE_FILTER):
        *ret_filter = column_range(in->column_range_filter);
        break;
    case CASE(TIMESTAMP_RANGE_FILTER):
        *ret_filter = edubba_filter_timestamp_range(
            in->timestamp_range_filter->start_timestamp_micros,
            in->timestamp_range_filter->end_timestamp_micros);
        break;
    case CASE(VALUE_REGEX_FILTER):
        *ret_filter = edubba_filter_value_regex(api_bytes(in->value_regex_filter));
        break;
    case CASE(VALUE_RANGE_FILTER):
        *ret_filter = value_range(in->value_range_filter);
        break;
    case CASE(CELLS_PER_ROW_OFFSET_FILTER):
        *ret_filter = edubba_filter_cells_per_row_offset(in->cells_per_row_offset_filter);
        break;
    case CASE(CELLS_PER_ROW_LIMIT_FILTER):
        *ret_filter = edubba_filter_cells_per_row_limit(in->cells_per_row_limit_filter);
        break;
    case CASE(CELLS_PER_COLUMN_LIMIT_FILTER):
        *ret_filter = edubba_filter_cells_per_column_limit(in->cells_per_column_limit_filter);
        break;
    case CASE(APPLY_LABEL_TRANSFORMER):
        *ret_filter = edubba_filter_label(api_text(in->apply_label_transformer));
        break;
    case CASE(VALUE_BITMASK_FILTER):
        *ret_filter = edubba_filter_value_bitmask(api_bytes(in->value_bitmask_filter->mask));
        break;
    default:
        return nothing(in, ret_filter, ret_error);
    }
    return STATUS_OK;
}

/* --- filters of filters ----------------------------------------------------------------------- */

typedef struct edubba_filter *(*join)(struct edubba_filter *const *filters, size_t count);

static enum status convert(const Filter *in,
                           uint32_t depth,
                           struct edubba_filter **ret_filter,
                           struct error *ret_error);

static enum status convert_list(Filter *const *filters,
                                size_t count,
                                uint32_t depth,
                                join make,
                                struct edubba_filter **ret_filter,
                                struct error *ret_error)
{
    struct edubba_filter **made = memory_allocate_zeroed(count, sizeof *made);
    enum status status = made != NULL ? STATUS_OK : STATUS_NO_MEMORY;
    size_t done = 0;
    while (status == STATUS_OK && done < count) {
        status = convert(filters[done], depth + 1, &made[done], ret_error);
        done += status == STATUS_OK ? 1 : 0;
    }
    if (status == STATUS_OK) {
        *ret_filter = make(made, count); /* owns them now */
    } else {
        for (size_t i = 0; i < done; i++) {
            edubba_filter_free(made[i]);
        }
    }
    memory_free(made);
    return status;
}

static enum status convert_condition(const Google__Bigtable__V2__RowFilter__Condition *in,
                                     uint32_t depth,
                                     struct edubba_filter **ret_filter,
                                     struct error *ret_error)
{
    const Filter *parts[3] = {in->predicate_filter, in->true_filter, in->false_filter};
    struct edubba_filter *made[3] = {NULL, NULL, NULL};
    enum status status = STATUS_OK;
    if (parts[0] == NULL) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'condition' : predicate_filter must be set");
    }
    for (int i = 0; i < 3 && status == STATUS_OK; i++) {
        if (parts[i] != NULL) {
            status = convert(parts[i], depth + 1, &made[i], ret_error);
        }
    }
    if (status == STATUS_OK) {
        *ret_filter = edubba_filter_condition(made[0], made[1], made[2]);
        return STATUS_OK;
    }
    for (int i = 0; i < 3; i++) {
        edubba_filter_free(made[i]);
    }
    return status;
}

static enum status convert(const Filter *in,
                           uint32_t depth,
                           struct edubba_filter **ret_filter,
                           struct error *ret_error)
{
    struct edubba_filter *filter = NULL;
    enum status status = STATUS_OK;
    if (depth > LIMIT_FILTER_DEPTH) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'filter' : nested deeper than %d", LIMIT_FILTER_DEPTH);
    }
    switch ((int)in->filter_case) {
    case CASE(CHAIN):
        status = convert_list(in->chain->filters, in->chain->n_filters, depth, edubba_filter_chain,
                              &filter, ret_error);
        break;
    case CASE(INTERLEAVE):
        status = convert_list(in->interleave->filters, in->interleave->n_filters, depth,
                              edubba_filter_interleave, &filter, ret_error);
        break;
    case CASE(CONDITION):
        status = convert_condition(in->condition, depth, &filter, ret_error);
        break;
    default:
        status = leaf(in, &filter, ret_error);
        break;
    }
    if (status != STATUS_OK) {
        return status;
    }
    *ret_filter = filter; /* NULL: the parts of it are freed */
    return filter != NULL ? STATUS_OK : STATUS_NO_MEMORY;
}

enum status api_convert_filter(const Filter *filter,
                               struct edubba_filter **ret_filter,
                               struct error *ret_error)
{
    *ret_filter = NULL;
    if (filter == NULL ||
        (filter->filter_case == CASE(_NOT_SET) && filter->base.n_unknown_fields == 0)) {
        return STATUS_OK;
    }
    size_t size = google__bigtable__v2__row_filter__get_packed_size(filter);
    if (size > LIMIT_FILTER_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Row filter exceeds maximum size of %d bytes", LIMIT_FILTER_BYTES);
    }
    return convert(filter, 1, ret_filter, ret_error);
}

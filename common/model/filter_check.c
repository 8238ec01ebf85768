#include "common/model/filter_check.h"

#include "common/base/assert.h"
#include "common/base/limits.h"

#define FILTER_BYTES_MIN     2  /* the least that one filter takes in Bigtable's encoding */
#define PATTERN_WEIGHT_BYTES 64 /* what RE2 needs besides the pattern */

enum {
    CONDITION_PREDICATE,
    CONDITION_TRUE,
    CONDITION_FALSE,
    CONDITION_CHILDREN,
};

struct check {
    struct filter_facts facts;
    /* A lower bound of the filter's size: one that is much too large is refused before all of it
     * has been walked through. */
    size_t bytes;
    struct error *error;
};

const char *filter_field_name(enum filter_kind kind)
{
    switch (kind) {
    case FILTER_PASS_ALL:
        return "pass_all_filter";
    case FILTER_BLOCK_ALL:
        return "block_all_filter";
    case FILTER_CHAIN:
        return "chain";
    case FILTER_INTERLEAVE:
        return "interleave";
    case FILTER_CONDITION:
        return "condition";
    case FILTER_SINK:
        return "sink";
    case FILTER_ROW_KEY_REGEX:
        return "row_key_regex_filter";
    case FILTER_ROW_SAMPLE:
        return "row_sample_filter";
    case FILTER_FAMILY_REGEX:
        return "family_name_regex_filter";
    case FILTER_QUALIFIER_REGEX:
        return "column_qualifier_regex_filter";
    case FILTER_VALUE_REGEX:
        return "value_regex_filter";
    case FILTER_COLUMN_RANGE:
        return "column_range_filter";
    case FILTER_TIMESTAMP_RANGE:
        return "timestamp_range_filter";
    case FILTER_VALUE_RANGE:
        return "value_range_filter";
    case FILTER_CELLS_PER_ROW_OFFSET:
        return "cells_per_row_offset_filter";
    case FILTER_CELLS_PER_ROW_LIMIT:
        return "cells_per_row_limit_filter";
    case FILTER_CELLS_PER_COLUMN_LIMIT:
        return "cells_per_column_limit_filter";
    case FILTER_STRIP_VALUE:
        return "strip_value_transformer";
    case FILTER_APPLY_LABEL:
        return "apply_label_transformer";
    case FILTER_VALUE_BITMASK:
        return "value_bitmask_filter";
    }
    return "filter";
}

size_t filter_pattern_weight(struct bytes pattern)
{
    return pattern.size_bytes + PATTERN_WEIGHT_BYTES;
}

size_t filter_child_count(const struct filter *filter)
{
    switch ((int)filter->kind) {
    case FILTER_CHAIN:
    case FILTER_INTERLEAVE:
        return filter->child_count;
    case FILTER_CONDITION:
        return CONDITION_CHILDREN;
    default:
        return 0;
    }
}

bool filter_has_child(const struct filter *filter, size_t index)
{
    if (filter->kind != FILTER_CONDITION) {
        return true;
    }
    return index == CONDITION_PREDICATE || (index == CONDITION_TRUE && filter->has_true) ||
           (index == CONDITION_FALSE && filter->has_false);
}

uint32_t filter_level_after(const struct filter *filter, uint32_t before)
{
    uint32_t highest = before;
    uint32_t inside = before;
    for (size_t i = 0; i < filter_child_count(filter); i++) {
        if (!filter_has_child(filter, i)) {
            continue;
        }
        uint32_t after = filter_level_after(&filter->children[i], inside);
        highest = after > highest ? after : highest;
        if (filter->kind == FILTER_CHAIN) {
            inside = after;
        } else if (filter->kind == FILTER_CONDITION && i == CONDITION_PREDICATE) {
            inside = after + 1; /* the condition's own level: its branches come after it */
            highest = inside;
        }
    }
    return highest;
}

bool filter_has_sink(const struct filter *filter)
{
    if (filter->kind == FILTER_SINK) {
        return true;
    }
    for (size_t i = 0; i < filter_child_count(filter); i++) {
        if (filter_has_child(filter, i) && filter_has_sink(&filter->children[i])) {
            return true;
        }
    }
    return false;
}

static enum status refuse(const struct check *check, const struct filter *filter, const char *why)
{
    return error_set(check->error, STATUS_INVALID_ARGUMENT, "Error in field '%s' : %s",
                     filter_field_name(filter->kind), why);
}

/* Not held to the table's granularity: clients ask for one moment of a millisecond as [t, t + 1). */
static enum status check_timestamp_range(const struct check *check, const struct filter *filter)
{
    if (filter->start_us < 0 || filter->end_us < 0) {
        return refuse(check, filter, "Timestamps must not be negative");
    }
    if (filter->end_us != 0 && filter->end_us < filter->start_us) {
        return refuse(check, filter, "the start must not be after the end");
    }
    return STATUS_OK;
}

static bool is_label(struct bytes label)
{
    for (size_t i = 0; i < label.size_bytes; i++) {
        uint8_t c = label.data[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-') {
            return false;
        }
    }
    return label.size_bytes >= 1 && label.size_bytes <= LIMIT_LABEL_BYTES;
}

static enum status check_pattern(struct check *check, const struct filter *filter)
{
    check->facts.pattern_weight += filter_pattern_weight(filter->bytes);
    if (filter->kind == FILTER_ROW_KEY_REGEX && filter->bytes.size_bytes == 0) {
        return refuse(check, filter, "argument must not be empty");
    }
    if (filter->kind == FILTER_FAMILY_REGEX && filter->bytes.size_bytes > 0 &&
        memchr(filter->bytes.data, ':', filter->bytes.size_bytes) != NULL) {
        return refuse(check, filter, "the pattern must not contain ':'");
    }
    return STATUS_OK;
}

static enum status check_column_range(const struct check *check, const struct filter *filter)
{
    struct error reason;
    if (family_name_check(filter->bytes, &reason) != STATUS_OK) {
        return refuse(check, filter, reason.text);
    }
    if (filter->start.bytes.size_bytes > LIMIT_QUALIFIER_BYTES ||
        filter->end.bytes.size_bytes > LIMIT_QUALIFIER_BYTES) {
        return refuse(check, filter, "a qualifier is over 16384 bytes");
    }
    return STATUS_OK;
}

_Static_assert(LIMIT_QUALIFIER_BYTES == 16384, "the text above says so");

/* A filter without children. */
static enum status check_leaf(struct check *check, const struct filter *filter)
{
    check->bytes += filter->bytes.size_bytes + filter->start.bytes.size_bytes +
                    filter->end.bytes.size_bytes;
    switch ((int)filter->kind) {
    case FILTER_PASS_ALL:
    case FILTER_BLOCK_ALL:
    case FILTER_SINK:
    case FILTER_STRIP_VALUE:
        return filter->flag ? STATUS_OK : refuse(check, filter, "must be true");
    case FILTER_ROW_KEY_REGEX:
    case FILTER_FAMILY_REGEX:
    case FILTER_QUALIFIER_REGEX:
    case FILTER_VALUE_REGEX:
        return check_pattern(check, filter);
    case FILTER_ROW_SAMPLE:
        return filter->probability > 0.0 && filter->probability < 1.0
                   ? STATUS_OK
                   : refuse(check, filter, "must be between 0 and 1, exclusive");
    case FILTER_COLUMN_RANGE:
        return check_column_range(check, filter);
    case FILTER_TIMESTAMP_RANGE:
        return check_timestamp_range(check, filter);
    case FILTER_VALUE_RANGE:
        return STATUS_OK;
    case FILTER_CELLS_PER_ROW_OFFSET:
        return filter->count >= 0 ? STATUS_OK : refuse(check, filter, "must not be negative");
    case FILTER_CELLS_PER_ROW_LIMIT:
    case FILTER_CELLS_PER_COLUMN_LIMIT:
        return filter->count > 0 ? STATUS_OK : refuse(check, filter, "must be greater than 0");
    case FILTER_APPLY_LABEL:
        return is_label(filter->bytes) ? STATUS_OK
                                       : refuse(check, filter, "must match [a-z0-9\\-]{1,15}");
    case FILTER_VALUE_BITMASK:
        return filter->bytes.size_bytes > 0 ? STATUS_OK
                                            : refuse(check, filter, "the mask must not be empty");
    default:
        return error_set(check->error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'filter' : unknown kind %d", (int)filter->kind);
    }
}

static bool has_children(const struct filter *filter)
{
    return filter->kind == FILTER_CHAIN || filter->kind == FILTER_INTERLEAVE ||
           filter->kind == FILTER_CONDITION;
}

static enum status check_child_count(const struct check *check, const struct filter *filter)
{
    if (filter->kind == FILTER_CONDITION || filter->child_count >= 2) {
        return STATUS_OK;
    }
    return error_set(check->error, STATUS_INVALID_ARGUMENT,
                     "%s must contain at least two RowFilters",
                     filter->kind == FILTER_CHAIN ? "Chain" : "Interleave");
}

static enum status refuse_size(struct error *ret_error)
{
    return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                     "Row filter exceeds maximum size of %d bytes", LIMIT_FILTER_BYTES);
}

/* *ret_labels: how many labels one cell may have got on its way through, were all counted. */
static enum status check_tree(struct check *check,
                              const struct filter *filter,
                              int depth,
                              bool in_condition,
                              size_t *ret_labels)
{
    if (depth > LIMIT_FILTER_DEPTH) {
        return error_set(check->error, STATUS_INVALID_ARGUMENT,
                         "Row filter is nested deeper than %d", LIMIT_FILTER_DEPTH);
    }
    check->facts.filter_count++;
    check->bytes += FILTER_BYTES_MIN;
    if (check->bytes > LIMIT_FILTER_BYTES) {
        return refuse_size(check->error);
    }
    if (filter->kind == FILTER_SINK && in_condition) {
        return refuse(check, filter, "is not allowed inside a condition");
    }
    if (!has_children(filter)) {
        *ret_labels = filter->kind == FILTER_APPLY_LABEL ? 1 : 0;
        return check_leaf(check, filter);
    }
    enum status status = check_child_count(check, filter);
    if (filter->kind == FILTER_CONDITION) {
        check->facts.condition_count++;
        in_condition = true;
    }
    size_t labels = 0;
    for (size_t i = 0; i < filter_child_count(filter) && status == STATUS_OK; i++) {
        size_t child_labels = 0;
        if (!filter_has_child(filter, i)) {
            continue;
        }
        status = check_tree(check, &filter->children[i], depth + 1, in_condition, &child_labels);
        /* Along a chain labels add up; of other children a cell passes one, a predicate none. */
        if (filter->kind == FILTER_CHAIN) {
            labels += child_labels;
        } else if (filter->kind != FILTER_CONDITION || i != CONDITION_PREDICATE) {
            labels = child_labels > labels ? child_labels : labels;
        }
    }
    if (status == STATUS_OK && filter->kind == FILTER_CHAIN && labels > 1) {
        return refuse(check, filter, "may contain at most one apply_label_transformer");
    }
    *ret_labels = labels;
    return status;
}

enum status filter_check(const struct filter *filter,
                         size_t encoded_bytes,
                         struct filter_facts *ret_facts,
                         struct error *ret_error)
{
    struct check check = {.error = ret_error};
    size_t labels = 0;
    if (encoded_bytes > FILTER_WIRE_BYTES_MAX) {
        return refuse_size(ret_error);
    }
    enum status status = check_tree(&check, filter, 1, false, &labels);
    if (status == STATUS_OK && filter_size_bytes(filter) > LIMIT_FILTER_BYTES) {
        status = refuse_size(ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (filter_level_after(filter, 0) > LIMIT_FILTER_DEPTH) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'condition' : more than %d conditions wait for one "
                         "another",
                         LIMIT_FILTER_DEPTH);
    }
    ASSERT(check.facts.filter_count > 0);
    *ret_facts = check.facts;
    return STATUS_OK;
}

#include "client/load/lab/filter.h"

#define FILTERS_MAX 7

/* Rows whose column is the value: if the chain lets a cell by, all cells, else none. */
static struct edubba_filter *where(const struct lab_query *query)
{
    struct edubba_bounds value = {
        .start = query->where_value,
        .end = query->where_value,
        .end_closed = true,
    };
    struct edubba_filter *parts[] = {
        edubba_filter_family_regex(edubba_bytes_of_text(query->where_family)),
        edubba_filter_qualifier_regex(query->where_qualifier),
        edubba_filter_value_range(&value),
    };
    return edubba_filter_condition(edubba_filter_chain(parts, sizeof parts / sizeof parts[0]),
                                   edubba_filter_pass_all(), NULL);
}

struct edubba_filter *lab_filter_make(const struct lab_query *query, bool *ret_good)
{
    struct edubba_filter *parts[FILTERS_MAX];
    size_t count = 0;
    if (query->row_regex.size > 0) {
        parts[count++] = edubba_filter_row_key_regex(query->row_regex);
    }
    if (query->where_family != NULL) {
        parts[count++] = where(query);
    }
    if (query->family_regex.size > 0) {
        parts[count++] = edubba_filter_family_regex(query->family_regex);
    }
    if (query->qualifier_regex.size > 0) {
        parts[count++] = edubba_filter_qualifier_regex(query->qualifier_regex);
    }
    if (query->value_regex.size > 0) {
        parts[count++] = edubba_filter_value_regex(query->value_regex);
    }
    if (query->to_us > 0) {
        parts[count++] = edubba_filter_timestamp_range(query->from_us, query->to_us);
    }
    struct edubba_filter *filter = count == 1  ? parts[0]
                                   : count > 1 ? edubba_filter_chain(parts, count)
                                               : NULL;
    *ret_good = count == 0 || filter != NULL;
    return filter;
}

/*
 * Building filters.  A filter owns a chain of memory blocks, to which those of its children are
 * joined: so freeing walks a list, however deep the tree is.
 */
#include "client/operations/convert.h"
#include "common/base/memory.h"

struct filter_block {
    struct filter_block *next;
    uint8_t memory[];
};

struct edubba_filter {
    struct filter node;
    struct filter_block *first;
    struct filter_block *last;
};

void edubba_filter_free(struct edubba_filter *filter)
{
    if (filter == NULL) {
        return;
    }
    for (struct filter_block *block = filter->first; block != NULL;) {
        struct filter_block *next = block->next;
        memory_free(block);
        block = next;
    }
    memory_free(filter);
}

const struct filter *convert_filter(const struct edubba_filter *filter)
{
    return filter != NULL ? &filter->node : NULL;
}

static struct edubba_filter *make(enum filter_kind kind)
{
    struct edubba_filter *filter = memory_allocate_zeroed(1, sizeof *filter);
    if (filter != NULL) {
        filter->node.kind = kind;
    }
    return filter;
}

/* Memory that lives as long as the filter; NULL without. */
static void *filter_allocate(struct edubba_filter *filter, size_t size_bytes)
{
    struct filter_block *block = memory_allocate(sizeof *block + size_bytes);
    if (block == NULL) {
        return NULL;
    }
    block->next = filter->first;
    filter->first = block;
    filter->last = filter->last == NULL ? block : filter->last;
    return block->memory;
}

static bool copy_into(struct edubba_filter *filter,
                      struct edubba_bytes bytes,
                      struct bytes *ret_copy)
{
    uint8_t *copy = filter_allocate(filter, bytes.size);
    if (copy == NULL) {
        return false;
    }
    if (bytes.size > 0) {
        memcpy(copy, bytes.data, bytes.size);
    }
    *ret_copy = bytes_of(copy, bytes.size);
    return true;
}

/* The parent gets the child's memory; the child is gone. */
static void adopt(struct edubba_filter *parent, struct edubba_filter *child)
{
    if (child->first != NULL) {
        child->last->next = parent->first;
        parent->last = parent->last == NULL ? child->last : parent->last;
        parent->first = child->first;
    }
    memory_free(child);
}

static void free_all(struct edubba_filter *const *filters, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        edubba_filter_free(filters[i]);
    }
}

static struct edubba_filter *make_list(enum filter_kind kind,
                                       struct edubba_filter *const *filters,
                                       size_t count)
{
    struct edubba_filter *parent = make(kind);
    bool complete = parent != NULL;
    for (size_t i = 0; i < count; i++) {
        complete = complete && filters[i] != NULL;
    }
    struct filter *children = complete ? filter_allocate(parent, count * sizeof *children) : NULL;
    if (children == NULL) {
        free_all(filters, count);
        edubba_filter_free(parent);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        children[i] = filters[i]->node;
        adopt(parent, filters[i]);
    }
    parent->node.children = children;
    parent->node.child_count = count;
    return parent;
}

struct edubba_filter *edubba_filter_chain(struct edubba_filter *const *filters, size_t count)
{
    return make_list(FILTER_CHAIN, filters, count);
}

struct edubba_filter *edubba_filter_interleave(struct edubba_filter *const *filters, size_t count)
{
    return make_list(FILTER_INTERLEAVE, filters, count);
}

struct edubba_filter *edubba_filter_condition(struct edubba_filter *predicate,
                                              struct edubba_filter *if_true,
                                              struct edubba_filter *if_false)
{
    struct edubba_filter *given[3] = {predicate, if_true, if_false};
    struct edubba_filter *parent = predicate != NULL ? make(FILTER_CONDITION) : NULL;
    struct filter *children = parent != NULL ? filter_allocate(parent, 3 * sizeof *children) : NULL;
    if (children == NULL) {
        free_all(given, 3);
        edubba_filter_free(parent);
        return NULL;
    }
    parent->node.has_true = if_true != NULL;
    parent->node.has_false = if_false != NULL;
    for (size_t i = 0; i < 3; i++) {
        children[i] = (struct filter){0};
        if (given[i] != NULL) {
            children[i] = given[i]->node;
            adopt(parent, given[i]);
        }
    }
    parent->node.children = children;
    parent->node.child_count = 3;
    return parent;
}

/* --- leaves ----------------------------------------------------------------------------------- */

static struct edubba_filter *make_flag(enum filter_kind kind)
{
    struct edubba_filter *filter = make(kind);
    if (filter != NULL) {
        filter->node.flag = true;
    }
    return filter;
}

static struct edubba_filter *make_bytes(enum filter_kind kind, struct edubba_bytes bytes)
{
    struct edubba_filter *filter = make(kind);
    if (filter != NULL && !copy_into(filter, bytes, &filter->node.bytes)) {
        edubba_filter_free(filter);
        return NULL;
    }
    return filter;
}

static struct edubba_filter *make_count(enum filter_kind kind, int64_t count)
{
    struct edubba_filter *filter = make(kind);
    if (filter != NULL) {
        filter->node.count = count;
    }
    return filter;
}

struct edubba_filter *edubba_filter_pass_all(void)
{
    return make_flag(FILTER_PASS_ALL);
}

struct edubba_filter *edubba_filter_block_all(void)
{
    return make_flag(FILTER_BLOCK_ALL);
}

struct edubba_filter *edubba_filter_sink(void)
{
    return make_flag(FILTER_SINK);
}

struct edubba_filter *edubba_filter_row_key_regex(struct edubba_bytes pattern)
{
    return make_bytes(FILTER_ROW_KEY_REGEX, pattern);
}

struct edubba_filter *edubba_filter_row_sample(double probability)
{
    struct edubba_filter *filter = make(FILTER_ROW_SAMPLE);
    if (filter != NULL) {
        filter->node.probability = probability;
    }
    return filter;
}

struct edubba_filter *edubba_filter_family_regex(struct edubba_bytes pattern)
{
    return make_bytes(FILTER_FAMILY_REGEX, pattern);
}

struct edubba_filter *edubba_filter_qualifier_regex(struct edubba_bytes pattern)
{
    return make_bytes(FILTER_QUALIFIER_REGEX, pattern);
}

struct edubba_filter *edubba_filter_value_regex(struct edubba_bytes pattern)
{
    return make_bytes(FILTER_VALUE_REGEX, pattern);
}

struct edubba_filter *edubba_filter_timestamp_range(int64_t start_us, int64_t end_us)
{
    struct edubba_filter *filter = make(FILTER_TIMESTAMP_RANGE);
    if (filter != NULL) {
        filter->node.start_us = start_us;
        filter->node.end_us = end_us;
    }
    return filter;
}

struct edubba_filter *edubba_filter_cells_per_row_offset(int64_t count)
{
    return make_count(FILTER_CELLS_PER_ROW_OFFSET, count);
}

struct edubba_filter *edubba_filter_cells_per_row_limit(int64_t count)
{
    return make_count(FILTER_CELLS_PER_ROW_LIMIT, count);
}

struct edubba_filter *edubba_filter_cells_per_column_limit(int64_t count)
{
    return make_count(FILTER_CELLS_PER_COLUMN_LIMIT, count);
}

struct edubba_filter *edubba_filter_strip_value(void)
{
    return make_flag(FILTER_STRIP_VALUE);
}

struct edubba_filter *edubba_filter_label(struct edubba_bytes label)
{
    return make_bytes(FILTER_APPLY_LABEL, label);
}

struct edubba_filter *edubba_filter_value_bitmask(struct edubba_bytes mask)
{
    return make_bytes(FILTER_VALUE_BITMASK, mask);
}

static bool set_bounds(struct edubba_filter *filter, const struct edubba_bounds *bounds)
{
    struct filter *node = &filter->node;
    node->start.present = bounds->start.data != NULL;
    node->start.closed = !bounds->start_open;
    node->end.present = bounds->end.data != NULL;
    node->end.closed = bounds->end_closed;
    return (!node->start.present || copy_into(filter, bounds->start, &node->start.bytes)) &&
           (!node->end.present || copy_into(filter, bounds->end, &node->end.bytes));
}

struct edubba_filter *edubba_filter_column_range(const char *family,
                                                 const struct edubba_bounds *bounds)
{
    struct edubba_filter *filter = make_bytes(FILTER_COLUMN_RANGE, EDUBBA_TEXT(family));
    if (filter != NULL && !set_bounds(filter, bounds)) {
        edubba_filter_free(filter);
        return NULL;
    }
    return filter;
}

struct edubba_filter *edubba_filter_value_range(const struct edubba_bounds *bounds)
{
    struct edubba_filter *filter = make(FILTER_VALUE_RANGE);
    if (filter != NULL && !set_bounds(filter, bounds)) {
        edubba_filter_free(filter);
        return NULL;
    }
    return filter;
}

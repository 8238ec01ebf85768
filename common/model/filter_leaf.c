/*
 * Filters without children, as nodes.
 */
#include "common/base/assert.h"
#include "common/model/filter_check.h"
#include "common/model/filter_compiler.h"
#include "common/model/row_set.h"

/* All regexes of one filter together, with their caches. */
#define REGEX_MEMORY_BYTES (8 * 1024 * 1024)

static enum status copy_bytes(struct compiler *compiler, struct bytes from, struct bytes *ret_copy)
{
    struct bytes copy = arena_copy(&compiler->program->arena, from);
    if (copy.data == NULL) {
        return compiler_refuse_memory(compiler);
    }
    *ret_copy = copy;
    return STATUS_OK;
}

/* bytes, or the least bytes above them. */
static enum status make_bound(struct compiler *compiler,
                              struct bytes bytes,
                              bool above,
                              struct bytes *ret_bound)
{
    if (!above) {
        return copy_bytes(compiler, bytes, ret_bound);
    }
    enum status status = row_key_after(&compiler->program->arena, bytes, ret_bound);
    return status == STATUS_OK ? STATUS_OK : compiler_refuse_memory(compiler);
}

static enum status make_range(struct compiler *compiler,
                              const struct filter *filter,
                              struct byte_range *ret_range)
{
    struct byte_range range = {.bounded = filter->end.present};
    enum status status = STATUS_OK;
    if (filter->start.present) {
        status = make_bound(compiler, filter->start.bytes, !filter->start.closed, &range.first);
    }
    if (status == STATUS_OK && filter->end.present) {
        status = make_bound(compiler, filter->end.bytes, filter->end.closed, &range.end);
    }
    if (status == STATUS_OK) {
        *ret_range = range;
    }
    return status;
}

static enum status make_pattern(struct compiler *compiler,
                                const struct filter *filter,
                                struct pattern *ret_pattern)
{
    struct error reason;
    size_t share = REGEX_MEMORY_BYTES / compiler->pattern_weight;
    enum status status = pattern_compile(filter->bytes,
                                         share * filter_pattern_weight(filter->bytes),
                                         &compiler->program->arena, ret_pattern, &reason);
    if (status == STATUS_OK) {
        return STATUS_OK;
    }
    if (status == STATUS_NO_MEMORY) {
        return compiler_refuse_memory(compiler);
    }
    return error_set(compiler->error, status, "Error in field '%s' : %s",
                     filter_field_name(filter->kind), reason.text);
}

static enum status refuse_family(struct compiler *compiler, struct bytes family)
{
    char table[BYTES_PRINTABLE_SIZE_MAX];
    char name[BYTES_PRINTABLE_SIZE_MAX];
    return error_set(compiler->error, STATUS_NOT_FOUND,
                     "Error while reading table '%s' : Requested column family not found: '%s'",
                     bytes_printable(compiler->table->id, table), bytes_printable(family, name));
}

/* The names are matched here, once; cells are matched by number. */
static enum status compile_family_regex(struct compiler *compiler,
                                        const struct filter *filter,
                                        uint32_t next,
                                        uint32_t *ret_entry)
{
    const struct table *table = compiler->table;
    struct pattern pattern;
    uint32_t count = 0;
    uint32_t *numbers = arena_allocate_array(&compiler->program->arena, table->family_count,
                                             sizeof *numbers);
    if (numbers == NULL) {
        return compiler_refuse_memory(compiler);
    }
    enum status status = make_pattern(compiler, filter, &pattern);
    if (status != STATUS_OK) {
        return status;
    }
    for (uint32_t i = 0; i < table->family_count; i++) {
        if (pattern_matches(&pattern, table->families[i].name)) {
            numbers[count++] = table->families[i].number;
        }
    }
    /* The text is the arena's, so it outlives the pattern. */
    struct bytes one = pattern.kind == PATTERN_EXACT ? pattern.text : BYTES_EMPTY;
    pattern_deinit(&pattern);
    if (count == 0) {
        *ret_entry = INDEX_BLOCK;
        return one.size_bytes > 0 ? refuse_family(compiler, one) : STATUS_OK;
    }
    struct node *node = compiler_add_node(compiler, NODE_FAMILY, next);
    node->as.family.numbers = numbers;
    node->as.family.count = count;
    *ret_entry = compiler_finish_node(compiler, node);
    return STATUS_OK;
}

static enum status range_of_pattern(struct compiler *compiler,
                                    const struct pattern *pattern,
                                    struct byte_range *ret_range)
{
    struct row_range prefix = {.start = pattern->text};
    enum status status = STATUS_OK;
    if (pattern->kind == PATTERN_EXACT) {
        status = row_key_after(&compiler->program->arena, pattern->text, &prefix.end);
    } else if (pattern->kind == PATTERN_PREFIX) {
        status = row_range_of_prefix(&compiler->program->arena, pattern->text, &prefix);
    } else {
        prefix.start = BYTES_EMPTY;
    }
    if (status != STATUS_OK) {
        return compiler_refuse_memory(compiler);
    }
    *ret_range = (struct byte_range){prefix.start, prefix.end, prefix.end.size_bytes > 0};
    return STATUS_OK;
}

static enum status compile_qualifier_regex(struct compiler *compiler,
                                           const struct filter *filter,
                                           uint32_t next,
                                           uint32_t *ret_entry)
{
    struct pattern pattern;
    struct byte_range range;
    enum status status = make_pattern(compiler, filter, &pattern);
    if (status != STATUS_OK) {
        return status;
    }
    status = range_of_pattern(compiler, &pattern, &range);
    if (status != STATUS_OK) {
        pattern_deinit(&pattern);
        return status;
    }
    struct node *node = compiler_add_node(compiler, NODE_QUALIFIER, next);
    node->as.qualifier.pattern = pattern;
    node->as.qualifier.range = range;
    compiler->program->has_columns |= pattern.kind == PATTERN_REGEX;
    *ret_entry = compiler_finish_node(compiler, node);
    return STATUS_OK;
}

static enum status compile_pattern(struct compiler *compiler,
                                   const struct filter *filter,
                                   uint32_t next,
                                   uint32_t *ret_entry)
{
    struct pattern pattern;
    enum status status = make_pattern(compiler, filter, &pattern);
    if (status != STATUS_OK) {
        return status;
    }
    bool is_row_key = filter->kind == FILTER_ROW_KEY_REGEX;
    struct node *node = compiler_add_node(compiler, is_row_key ? NODE_ROW_KEY : NODE_VALUE, next);
    node->as.pattern = pattern;
    compiler->program->has_gates |= is_row_key;
    *ret_entry = compiler_finish_node(compiler, node);
    return STATUS_OK;
}

static enum status compile_column_range(struct compiler *compiler,
                                        const struct filter *filter,
                                        uint32_t next,
                                        uint32_t *ret_entry)
{
    struct byte_range range;
    const struct family *family = table_family_by_name(compiler->table, filter->bytes);
    if (family == NULL) {
        return refuse_family(compiler, filter->bytes);
    }
    enum status status = make_range(compiler, filter, &range);
    if (status != STATUS_OK) {
        return status;
    }
    struct node *node = compiler_add_node(compiler, NODE_COLUMN_RANGE, next);
    node->as.column_range.family = family->number;
    node->as.column_range.qualifiers = range;
    *ret_entry = compiler_finish_node(compiler, node);
    return STATUS_OK;
}

static enum status compile_value_range(struct compiler *compiler,
                                       const struct filter *filter,
                                       uint32_t next,
                                       uint32_t *ret_entry)
{
    struct byte_range range;
    enum status status = make_range(compiler, filter, &range);
    if (status != STATUS_OK) {
        return status;
    }
    struct node *node = compiler_add_node(compiler, NODE_VALUE_RANGE, next);
    node->as.values = range;
    *ret_entry = compiler_finish_node(compiler, node);
    return STATUS_OK;
}

static enum status compile_with_bytes(struct compiler *compiler,
                                      const struct filter *filter,
                                      uint32_t next,
                                      uint32_t *ret_entry)
{
    struct bytes bytes;
    enum status status = copy_bytes(compiler, filter->bytes, &bytes);
    if (status != STATUS_OK) {
        return status;
    }
    bool is_label = filter->kind == FILTER_APPLY_LABEL;
    struct node *node = compiler_add_node(compiler, is_label ? NODE_LABEL : NODE_BITMASK, next);
    node->as.bytes = bytes;
    *ret_entry = compiler_finish_node(compiler, node);
    return STATUS_OK;
}

static uint32_t compile_counter(struct compiler *compiler,
                                const struct filter *filter,
                                enum node_kind kind,
                                uint32_t next)
{
    struct node *node = compiler_add_node(compiler, kind, next);
    node->as.limit = (uint64_t)filter->count;
    compiler->program->has_columns |= kind == NODE_COLUMN_LIMIT;
    return compiler_finish_node(compiler, node);
}

/* A filter that needs no memory but its node. */
static uint32_t compile_simple(struct compiler *compiler,
                               const struct filter *filter,
                               uint32_t next)
{
    struct node *node = NULL;
    switch ((int)filter->kind) {
    case FILTER_PASS_ALL:
        return next;
    case FILTER_BLOCK_ALL:
        return INDEX_BLOCK;
    case FILTER_SINK:
        return INDEX_OUTPUT;
    case FILTER_STRIP_VALUE:
        node = compiler_add_node(compiler, NODE_STRIP, next);
        break;
    case FILTER_ROW_SAMPLE:
        node = compiler_add_node(compiler, NODE_ROW_SAMPLE, next);
        /* Two samples in one filter are independent of each other. */
        node->as.sample.seed = compiler->seed + compiler->program->node_count;
        node->as.sample.probability = filter->probability;
        compiler->program->has_gates = true;
        break;
    case FILTER_TIMESTAMP_RANGE:
        node = compiler_add_node(compiler, NODE_TIMESTAMP_RANGE, next);
        node->as.timestamps.start_us = filter->start_us;
        node->as.timestamps.end_us = filter->end_us;
        break;
    case FILTER_CELLS_PER_ROW_OFFSET:
        return compile_counter(compiler, filter, NODE_ROW_OFFSET, next);
    case FILTER_CELLS_PER_ROW_LIMIT:
        return compile_counter(compiler, filter, NODE_ROW_LIMIT, next);
    case FILTER_CELLS_PER_COLUMN_LIMIT:
        return compile_counter(compiler, filter, NODE_COLUMN_LIMIT, next);
    default:
        UNREACHABLE(); /* filter_check() knows every kind */
    }
    return compiler_finish_node(compiler, node);
}

enum status compiler_add_leaf(struct compiler *compiler,
                              const struct filter *filter,
                              uint32_t next,
                              uint32_t *ret_entry)
{
    switch ((int)filter->kind) {
    case FILTER_FAMILY_REGEX:
        return compile_family_regex(compiler, filter, next, ret_entry);
    case FILTER_QUALIFIER_REGEX:
        return compile_qualifier_regex(compiler, filter, next, ret_entry);
    case FILTER_ROW_KEY_REGEX:
    case FILTER_VALUE_REGEX:
        return compile_pattern(compiler, filter, next, ret_entry);
    case FILTER_COLUMN_RANGE:
        return compile_column_range(compiler, filter, next, ret_entry);
    case FILTER_VALUE_RANGE:
        return compile_value_range(compiler, filter, next, ret_entry);
    case FILTER_APPLY_LABEL:
    case FILTER_VALUE_BITMASK:
        return compile_with_bytes(compiler, filter, next, ret_entry);
    default:
        *ret_entry = compile_simple(compiler, filter, next);
        return STATUS_OK;
    }
}

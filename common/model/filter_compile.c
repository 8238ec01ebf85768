/*
 * From the tree of a filter to the graph of a program (filter_program.h).
 */
#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/model/filter_check.h"
#include "common/model/filter_compiler.h"

#define ARENA_BLOCK_BYTES 4096

static enum status compile_filter(struct compiler *compiler,
                                  const struct filter *filter,
                                  uint32_t level,
                                  uint32_t next,
                                  uint32_t *ret_entry);

/* Last member first: each enters where the one before it puts out. */
static enum status compile_chain(struct compiler *compiler,
                                 const struct filter *filter,
                                 uint32_t level,
                                 uint32_t next,
                                 uint32_t *ret_entry)
{
    uint32_t *levels = arena_allocate_array(&compiler->program->arena, filter->child_count,
                                            sizeof *levels);
    if (levels == NULL) {
        return compiler_refuse_memory(compiler);
    }
    for (size_t i = 0; i < filter->child_count; i++) {
        levels[i] = level;
        level = filter_level_after(&filter->children[i], level);
    }
    for (size_t i = filter->child_count; i > 0; i--) {
        enum status status = compile_filter(compiler, &filter->children[i - 1], levels[i - 1], next,
                                            &next);
        if (status != STATUS_OK) {
            return status;
        }
    }
    *ret_entry = next;
    return STATUS_OK;
}

static enum status compile_interleave(struct compiler *compiler,
                                      const struct filter *filter,
                                      uint32_t level,
                                      uint32_t next,
                                      uint32_t *ret_entry)
{
    struct member *members = arena_allocate_array(&compiler->program->arena, filter->child_count,
                                                  sizeof *members);
    if (members == NULL) {
        return compiler_refuse_memory(compiler);
    }
    /* OUTPUT and VERDICT have no state that two ways in could exhaust for one another. */
    enum node_kind kind = compiler_node(compiler, next)->kind;
    compiler_node(compiler, next)->join |= kind != NODE_OUTPUT && kind != NODE_VERDICT;
    for (size_t i = 0; i < filter->child_count; i++) {
        const struct filter *child = &filter->children[i];
        members[i] = (struct member){.escapes = filter_has_sink(child)};
        enum status status = compile_filter(compiler, child, level, next, &members[i].entry);
        if (status != STATUS_OK) {
            return status;
        }
    }
    struct node *node = compiler_add_node(compiler, NODE_INTERLEAVE, next);
    node->as.interleave.members = members;
    node->as.interleave.count = filter->child_count;
    *ret_entry = compiler_finish_node(compiler, node);
    return STATUS_OK;
}

static enum status compile_condition(struct compiler *compiler,
                                     const struct filter *filter,
                                     uint32_t level,
                                     uint32_t next,
                                     uint32_t *ret_entry)
{
    const struct filter *children = filter->children;
    uint32_t own_level = filter_level_after(&children[0], level) + 1;
    uint32_t predicate = INDEX_BLOCK;
    uint32_t branches[2] = {INDEX_BLOCK, INDEX_BLOCK};
    const bool present[2] = {filter->has_true, filter->has_false};

    struct node *end = compiler_add_node(compiler, NODE_VERDICT, INDEX_BLOCK);
    end->level = own_level;
    uint32_t verdict = compiler_finish_node(compiler, end);
    enum status status = compile_filter(compiler, &children[0], level, verdict, &predicate);
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        if (present[i]) {
            status = compile_filter(compiler, &children[1 + i], own_level, next, &branches[i]);
        }
    }
    if (status != STATUS_OK) {
        return status;
    }
    struct node *node = compiler_add_node(compiler, NODE_CONDITION, next);
    node->level = own_level;
    node->as.condition.verdict = verdict;
    node->as.condition.predicate = predicate;
    node->as.condition.branch_true = branches[0];
    node->as.condition.branch_false = branches[1];
    *ret_entry = compiler_finish_node(compiler, node);
    return STATUS_OK;
}

/* level: of the last condition that the filter's input has to wait for.  At most
 * LIMIT_FILTER_DEPTH deep: filter_check() said so. */
static enum status compile_filter(struct compiler *compiler,
                                  const struct filter *filter,
                                  uint32_t level,
                                  uint32_t next,
                                  uint32_t *ret_entry)
{
    switch ((int)filter->kind) {
    case FILTER_CHAIN:
        return compile_chain(compiler, filter, level, next, ret_entry);
    case FILTER_INTERLEAVE:
        return compile_interleave(compiler, filter, level, next, ret_entry);
    case FILTER_CONDITION:
        return compile_condition(compiler, filter, level, next, ret_entry);
    default:
        return compiler_add_leaf(compiler, filter, next, ret_entry);
    }
}

/* The nodes that every program has, and room for those of the filter. */
static enum status start_program(struct compiler *compiler, size_t node_capacity)
{
    struct filter_program *program = compiler->program;
    program->nodes = arena_allocate_array(&program->arena, node_capacity, sizeof(struct node));
    if (program->nodes == NULL) {
        return compiler_refuse_memory(compiler);
    }
    program->node_capacity = (uint32_t)node_capacity;
    uint32_t output = compiler_finish_node(compiler,
                                           compiler_add_node(compiler, NODE_OUTPUT, INDEX_OUTPUT));
    uint32_t block = compiler_finish_node(compiler,
                                          compiler_add_node(compiler, NODE_BLOCK, INDEX_BLOCK));
    ASSERT(output == INDEX_OUTPUT);
    ASSERT(block == INDEX_BLOCK);
    return STATUS_OK;
}

static enum status check_work(struct compiler *compiler)
{
    const struct node *entry = compiler_node(compiler, compiler->program->entry);
    if (entry->work <= FILTER_WORK_MAX && entry->depth <= FILTER_BRANCHING_MAX) {
        return STATUS_OK;
    }
    return error_set(compiler->error, STATUS_INVALID_ARGUMENT,
                     "Error in field 'interleave' : the filter copies each cell too many times");
}

static enum status compile_program(struct compiler *compiler,
                                   const struct filter *filter,
                                   size_t encoded_bytes)
{
    struct filter_program *program = compiler->program;
    struct filter_facts facts = {.filter_count = 0};
    enum status status = STATUS_OK;
    if (filter != NULL) {
        status = filter_check(filter, encoded_bytes, &facts, compiler->error);
    }
    if (status == STATUS_OK) {
        status = start_program(compiler, facts.filter_count + facts.condition_count + 2);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (filter != NULL) {
        compiler->pattern_weight = facts.pattern_weight;
        program->level_count = filter_level_after(filter, 0);
        status = compile_filter(compiler, filter, 0, INDEX_OUTPUT, &program->entry);
    }
    if (status == STATUS_OK) {
        status = check_work(compiler);
    }
    if (status == STATUS_OK && filter_plan_make(program, compiler->table) != STATUS_OK) {
        status = compiler_refuse_memory(compiler);
    }
    return status;
}

enum status filter_compile(const struct filter *filter,
                           size_t encoded_bytes,
                           const struct table *table,
                           uint64_t seed,
                           struct filter_program **ret_program,
                           struct error *ret_error)
{
    struct filter_program *program = memory_allocate_zeroed(1, sizeof *program);
    if (program == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "out of memory");
    }
    arena_init(&program->arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    buffer_init(&program->column_qualifier);
    struct compiler compiler = {
        .program = program, .table = table, .seed = seed, .error = ret_error};
    enum status status = compile_program(&compiler, filter, encoded_bytes);
    if (status != STATUS_OK) {
        filter_destroy(program);
        return status;
    }
    *ret_program = program;
    return STATUS_OK;
}

void filter_destroy(struct filter_program *program)
{
    if (program == NULL) {
        return;
    }
    for (uint32_t i = 0; i < program->node_count; i++) {
        struct node *node = &program->nodes[i];
        if (node->kind == NODE_QUALIFIER) {
            pattern_deinit(&node->as.qualifier.pattern);
        } else if (node->kind == NODE_ROW_KEY || node->kind == NODE_VALUE) {
            pattern_deinit(&node->as.pattern);
        }
    }
    buffer_deinit(&program->column_qualifier);
    arena_deinit(&program->arena);
    memory_free(program);
}

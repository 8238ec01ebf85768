#include "common/base/assert.h"
#include "common/model/filter_compiler.h"

enum status compiler_refuse_memory(struct compiler *compiler)
{
    return error_set(compiler->error, STATUS_NO_MEMORY, "out of memory");
}

struct node *compiler_node(struct compiler *compiler, uint32_t index)
{
    ASSERT(index < compiler->program->node_count);
    return &compiler->program->nodes[index];
}

struct node *compiler_add_node(struct compiler *compiler, enum node_kind kind, uint32_t next)
{
    struct filter_program *program = compiler->program;
    ASSERT(program->node_count < program->node_capacity);
    struct node *node = &program->nodes[program->node_count++];
    *node = (struct node){.kind = kind, .next = next};
    return node;
}

static void follow(struct node *node, const struct node *successor)
{
    node->passes |= successor->passes;
    uint32_t depth = successor->depth + (successor->join ? 1 : 0);
    node->depth = depth > node->depth ? depth : node->depth;
}

static void follow_members(struct compiler *compiler, struct node *node)
{
    node->work = 1;
    for (size_t i = 0; i < node->as.interleave.count; i++) {
        const struct node *entry = compiler_node(compiler, node->as.interleave.members[i].entry);
        follow(node, entry);
        node->work += entry->work;
    }
    node->depth++;
    node->work = node->work > FILTER_WORK_MAX ? FILTER_WORK_MAX + 1 : node->work;
}

static void follow_condition(struct compiler *compiler, struct node *node)
{
    const uint32_t successors[] = {node->as.condition.predicate, node->as.condition.branch_true,
                                   node->as.condition.branch_false};
    for (size_t i = 0; i < sizeof successors / sizeof *successors; i++) {
        const struct node *successor = compiler_node(compiler, successors[i]);
        follow(node, successor);
        node->work = successor->work > node->work ? successor->work : node->work;
    }
    node->work++;
}

uint32_t compiler_finish_node(struct compiler *compiler, struct node *node)
{
    struct filter_program *program = compiler->program;
    switch ((int)node->kind) {
    case NODE_OUTPUT:
        node->passes = PASS_OUTPUT;
        break;
    case NODE_VERDICT:
        node->passes = PASS_LEVEL(node->level);
        break;
    case NODE_BLOCK:
        break;
    case NODE_INTERLEAVE:
        follow_members(compiler, node);
        break;
    case NODE_CONDITION:
        follow_condition(compiler, node);
        break;
    default:
        follow(node, compiler_node(compiler, node->next));
        node->work = compiler_node(compiler, node->next)->work + 1;
        break;
    }
    node->box = filter_node_own_box(program, node);
    bool ends = node->kind == NODE_OUTPUT || node->kind == NODE_VERDICT ||
                node->kind == NODE_BLOCK || node->kind == NODE_INTERLEAVE ||
                node->kind == NODE_CONDITION;
    if (!ends && !filter_node_counts_row(node)) {
        node->box = column_box_intersect(&node->box, &compiler_node(compiler, node->next)->box);
    }
    return (uint32_t)(node - program->nodes);
}

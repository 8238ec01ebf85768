/*
 * Gates let a whole row through or none of it: row key regexes and samples.  They are decided once
 * a row; when every way through the graph is barred, its cells need not be read.
 */
#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/model/filter_run.h"

/* The same row and seed give the same answer on every machine. */
static bool is_sampled(struct bytes row, uint64_t seed, double probability)
{
    const double two_to_53 = 9007199254740992.0;
    uint64_t bits = checksum64(row.data, row.size_bytes, seed) >> 11;
    return (double)bits < probability * two_to_53;
}

static bool any_member_reachable(const struct filter_program *program, const struct node *node)
{
    for (size_t i = 0; i < node->as.interleave.count; i++) {
        if (program->nodes[node->as.interleave.members[i].entry].reachable) {
            return true;
        }
    }
    return false;
}

/* Nodes that follow are decided already: they have lower indexes. */
static bool decide(const struct filter_program *program, struct node *node, struct bytes row)
{
    const struct node *nodes = program->nodes;
    switch ((int)node->kind) {
    case NODE_OUTPUT:
    case NODE_VERDICT:
        return true;
    case NODE_BLOCK:
        return false;
    case NODE_INTERLEAVE:
        return any_member_reachable(program, node);
    case NODE_CONDITION:
        return nodes[node->as.condition.branch_false].reachable ||
               (nodes[node->as.condition.branch_true].reachable &&
                nodes[node->as.condition.predicate].reachable);
    case NODE_ROW_KEY:
        node->verdict = pattern_matches(&node->as.pattern, row);
        return node->verdict && nodes[node->next].reachable;
    case NODE_ROW_SAMPLE:
        node->verdict = is_sampled(row, node->as.sample.seed, node->as.sample.probability);
        return node->verdict && nodes[node->next].reachable;
    default:
        return nodes[node->next].reachable;
    }
}

bool filter_open_gates(struct filter_program *program, struct bytes row)
{
    const struct node *entry = &program->nodes[program->entry];
    if (!program->has_gates) {
        return (entry->passes & PASS_OUTPUT) != 0;
    }
    for (uint32_t i = 0; i < program->node_count; i++) {
        struct node *node = &program->nodes[i];
        node->reachable = decide(program, node, row);
    }
    return entry->reachable;
}

bool filter_skips_row(struct filter_program *program, struct bytes row)
{
    return program->plan_count == 0 || !filter_open_gates(program, row);
}

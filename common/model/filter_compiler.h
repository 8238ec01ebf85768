/*
 * The making of a program, shared by the files that compile filters.  Inside common/model only.
 *
 *   filter_node.c     nodes, and what is known of them from what follows them
 *   filter_leaf.c     filters without children
 *   filter_compile.c  chains, interleaves, conditions; the whole
 *
 * Whatever compiles is told which node its output goes to (next) and says at which node its input
 * enters (*ret_entry); so a tree is compiled from its end to its beginning.
 */
#ifndef COMMON_MODEL_FILTER_COMPILER_H
#define COMMON_MODEL_FILTER_COMPILER_H

#include "common/model/filter_program.h"

/* Copies multiply: interleaves in a row make one cell into thousands.  One cell may visit this many
 * nodes, and the evaluation may nest this deep; more is refused when compiling. */
#define FILTER_WORK_MAX      100000
#define FILTER_BRANCHING_MAX 128

struct compiler {
    struct filter_program *program;
    const struct table *table;
    uint64_t seed;
    size_t pattern_weight;
    struct error *error;
};

enum status compiler_refuse_memory(struct compiler *compiler);

struct node *compiler_node(struct compiler *compiler, uint32_t index);

/* The node is all zero but for kind and next; compiler_finish_node() must follow. */
struct node *compiler_add_node(struct compiler *compiler, enum node_kind kind, uint32_t next);

/* Works out what is known of a node from what it points at; returns its index. */
uint32_t compiler_finish_node(struct compiler *compiler, struct node *node);

/* A filter without children.  Errors: STATUS_INVALID_ARGUMENT (a bad regex), STATUS_NOT_FOUND (an
 * unknown family), STATUS_NO_MEMORY. */
enum status compiler_add_leaf(struct compiler *compiler,
                              const struct filter *filter,
                              uint32_t next,
                              uint32_t *ret_entry);

#endif /* COMMON_MODEL_FILTER_COMPILER_H */

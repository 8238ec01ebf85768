/*
 * The evaluation of one row.  Inside common/model only: filter_run.c drives the row past, and
 * filter_push.c takes one cell through the graph.
 */
#ifndef COMMON_MODEL_FILTER_RUN_H
#define COMMON_MODEL_FILTER_RUN_H

#include "common/model/filter_program.h"

struct run {
    struct filter_program *program;
    struct node *nodes;
    uint64_t epoch;  /* of this pass */
    uint32_t level;  /* of the conditions whose verdicts this pass finds; over the last: output */
    uint32_t pass;   /* the bit of that */
    uint64_t column; /* tells apart the columns of all passes; 0 when no node needs it */
    filter_output output;
    void *context;
    bool any;           /* something came out */
    bool stopped;       /* by an error, or because any was all that was asked */
    enum status status; /* of the output */
};

/*
 * Take a cell through the graph from a node on.  Returns the most that all of it could do without:
 * a source that leaves out what is said to be unwanted changes nothing in the result, and neither
 * does one that gives it nevertheless.
 * Requires: the node matters in this pass (node.passes).
 */
enum cell_demand filter_push(struct run *run, uint32_t index, const struct cell *cell);

/* For this row: open or close the gates, and tell whether any way to an end is open. */
bool filter_open_gates(struct filter_program *program, struct bytes row);

#endif /* COMMON_MODEL_FILTER_RUN_H */

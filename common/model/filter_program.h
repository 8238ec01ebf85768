/*
 * A compiled filter.  Inside common/model only: filter_compile.c makes it, filter_run.c runs it.
 *
 * The tree becomes a graph of nodes, each naming the node that its output goes to.  Chains vanish
 * into those arrows; the last node of a chain points at what followed the chain:
 *
 *     chain(interleave(A, chain(B, sink)), C)        A ──────▶ C ──▶ OUTPUT
 *                                               ──▶ ∥                  ▲
 *                                                    B ────────────────┘
 *
 * Invariants:
 *   1. A node is made after the nodes that it points at: node.next < its own index.  So facts
 *      about what follows a node are known when it is made, and one pass in index order can
 *      compute any other.  There are no cycles.
 *   2. Node 0 is OUTPUT, node 1 is BLOCK.
 *   3. Node counters belong to one pass over one row: they count only if node.epoch is the
 *      program's.  So nothing has to be reset.
 *
 * Conditions need their predicate's verdict before their branch may put anything out, so a row is
 * read in passes: pass n (level n) finds the verdicts of all conditions of level n, which wait for
 * none but lower levels; the last pass puts out.  node.passes has a bit for every pass in which
 * anything behind the node matters; elsewhere nothing enters it.
 */
#ifndef COMMON_MODEL_FILTER_PROGRAM_H
#define COMMON_MODEL_FILTER_PROGRAM_H

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/limits.h"
#include "common/model/filter.h"
#include "common/model/filter_pattern.h"

enum {
    INDEX_OUTPUT = 0,
    INDEX_BLOCK = 1,
};

#define PASS_OUTPUT       (UINT32_C(1) << 31)
#define PASS_LEVEL(level) (UINT32_C(1) << (level))

_Static_assert(LIMIT_FILTER_DEPTH < 31, "every level has a bit beside PASS_OUTPUT");

enum node_kind {
    NODE_OUTPUT,
    NODE_VERDICT, /* the end of a predicate */
    NODE_BLOCK,
    NODE_INTERLEAVE,
    NODE_CONDITION,
    NODE_ROW_KEY,
    NODE_ROW_SAMPLE,
    NODE_FAMILY,
    NODE_QUALIFIER,
    NODE_VALUE,
    NODE_COLUMN_RANGE,
    NODE_TIMESTAMP_RANGE,
    NODE_VALUE_RANGE,
    NODE_ROW_OFFSET,
    NODE_ROW_LIMIT,
    NODE_COLUMN_LIMIT,
    NODE_BITMASK,
    NODE_STRIP,
    NODE_LABEL,
};

/* [first, end); the end is infinite unless bounded. */
struct byte_range {
    struct bytes first;
    struct bytes end;
    bool bounded;
};

/* Columns that may matter: families first..last, in each of them the same qualifiers. */
struct column_box {
    uint32_t family_first; /* first > last: none at all */
    uint32_t family_last;
    struct byte_range qualifiers;
};

/* Columns from [family_first, qualifier_first] to below (family_end, qualifier_end). */
struct column_interval {
    uint64_t family_first;
    struct bytes qualifier_first;
    uint64_t family_end;
    struct bytes qualifier_end;
};

struct member {
    uint32_t entry;
    bool escapes;        /* a path leads to a sink: it may want cells when the joint end does not */
    uint64_t done_epoch; /* wants nothing more in this pass, if equal to the program's epoch */
};

struct node {
    enum node_kind kind;
    uint32_t next;
    uint32_t passes;           /* bits of the passes in which it matters */
    uint32_t level;            /* VERDICT, CONDITION */
    bool join;                 /* members of an interleave meet here */
    bool verdict;              /* state: of a gate for this row, of a family or column seen last */
    bool reachable;            /* state: some path from here to an end is open for this row */
    uint32_t depth;            /* recursion needed from here on */
    uint64_t work;             /* nodes that one cell may visit from here on */
    struct column_box box;     /* columns that can matter from here on */
    uint64_t epoch;            /* state: of count; of a VERDICT, the row that matched */
    uint64_t count;            /* state: cells counted; the limit below is never passed by it */
    uint64_t column;           /* state: the column that count or verdict is about */
    uint64_t joint_done_epoch; /* state: of a join that wants nothing more in that pass */
    union {
        struct {
            struct member *members;
            size_t count;
        } interleave;
        struct {
            uint32_t verdict; /* index of the VERDICT */
            uint32_t predicate;
            uint32_t branch_true;
            uint32_t branch_false;
        } condition;
        struct {
            uint32_t *numbers; /* ascending */
            uint32_t count;
            uint32_t number; /* state: the family that verdict is about */
        } family;
        struct {
            uint32_t family;
            struct byte_range qualifiers;
        } column_range;
        struct {
            int64_t start_us;
            int64_t end_us; /* 0 = for ever */
        } timestamps;
        struct {
            uint64_t seed;
            double probability;
        } sample;
        struct {
            struct pattern pattern;
            struct byte_range range; /* holds all that the pattern can match */
        } qualifier;
        struct pattern pattern; /* ROW_KEY, VALUE */
        struct byte_range values;
        struct bytes bytes; /* LABEL, BITMASK */
        uint64_t limit;     /* ROW_OFFSET, ROW_LIMIT, COLUMN_LIMIT */
    } as;
};

struct filter_program {
    struct arena arena; /* everything but regexes and column_qualifier */
    struct node *nodes;
    uint32_t node_count;
    uint32_t node_capacity;
    uint32_t entry;
    uint32_t level_count; /* passes before the last one */
    bool has_gates;       /* ROW_KEY or ROW_SAMPLE */
    bool has_columns;     /* some node must know where a column ends */

    struct column_interval *plan; /* ascending, disjoint: only these columns matter */
    size_t plan_count;

    uint64_t epoch; /* one for every pass */
    uint64_t row;   /* one for every row: the epoch at its start */
    uint64_t column;
    uint32_t column_family;
    struct buffer column_qualifier; /* a copy: the source's bytes are gone by the next cell */
};

/* filter_plan.c */

#define COLUMN_BOX_ALL ((struct column_box){.family_last = UINT32_MAX})

bool column_box_is_empty(const struct column_box *box);
struct column_box column_box_intersect(const struct column_box *a, const struct column_box *b);

/* The least box that holds both. */
struct column_box column_box_cover(const struct column_box *a, const struct column_box *b);

/* What the node itself lets through, apart from what follows it. */
struct column_box filter_node_own_box(const struct filter_program *program,
                                      const struct node *node);

/* Does what the node lets through depend on how many cells of other columns came before? */
static inline bool filter_node_counts_row(const struct node *node)
{
    return node->kind == NODE_ROW_OFFSET || node->kind == NODE_ROW_LIMIT;
}

/* Fills plan and plan_count once all nodes stand.  Errors: STATUS_NO_MEMORY. */
enum status filter_plan_make(struct filter_program *program, const struct table *table);

#endif /* COMMON_MODEL_FILTER_PROGRAM_H */

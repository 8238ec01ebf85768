/*
 * One cell on its way through the graph.
 *
 * The way from a node on is a straight line of tests and changes, up to an end (OUTPUT, VERDICT,
 * BLOCK), an interleave, or a place where members of an interleave meet again.  Only the latter two
 * recurse, at most FILTER_BRANCHING_MAX deep.
 *
 * Demand.  A line wants as little as any of its nodes: if one has enough, the others get nothing.
 * But a counter over the row needs all cells before it reaches its limit, so what is behind it
 * cannot spare it the rest of a column.  Members of an interleave want as much as any of them.
 */
#include "common/base/assert.h"
#include "common/model/filter_compiler.h"
#include "common/model/filter_run.h"

/* On the way through the filter's nodes: which cells those that were passed so far need not be shown. */
struct way {
    enum cell_demand demand;
    bool counts; /* a counter over the row has been passed */
};

struct answer {
    bool passes;
    enum cell_demand demand;
};

static void way_note(struct way *way, enum cell_demand demand)
{
    if (demand == CELL_NEXT_COLUMN && way->counts) {
        return;
    }
    way->demand = demand > way->demand ? demand : way->demand;
}

static enum cell_demand way_end(struct way way, enum cell_demand demand)
{
    way_note(&way, demand);
    return way.demand;
}

static bool range_holds(const struct byte_range *range, struct bytes bytes)
{
    return bytes_compare(range->first, bytes) <= 0 &&
           (!range->bounded || bytes_compare(bytes, range->end) < 0);
}

static bool mask_matches(struct bytes mask, struct bytes value)
{
    if (mask.size_bytes != value.size_bytes) {
        return false;
    }
    for (size_t i = 0; i < mask.size_bytes; i++) {
        if ((value.data[i] & mask.data[i]) != mask.data[i]) {
            return false;
        }
    }
    return true;
}

static bool find_number(const uint32_t *numbers, uint32_t count, uint32_t number)
{
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] == number) {
            return true;
        }
    }
    return false;
}

/* Cells come family by family, so the answer for the last one is nearly always good. */
static bool family_matches(struct node *node, uint32_t family)
{
    if (node->as.family.number != family) {
        node->as.family.number = family;
        node->verdict = find_number(node->as.family.numbers, node->as.family.count, family);
    }
    return node->verdict;
}

/* Bytes are compared every time; RE2 is asked once a column. */
static bool qualifier_matches(const struct run *run, struct node *node, struct bytes qualifier)
{
    if (node->as.qualifier.pattern.kind != PATTERN_REGEX) {
        return pattern_matches(&node->as.qualifier.pattern, qualifier);
    }
    if (node->column != run->column) {
        node->column = run->column;
        node->verdict = pattern_matches(&node->as.qualifier.pattern, qualifier);
    }
    return node->verdict;
}

/* As many cells as the limit in each column. */
static struct answer test_column_limit(const struct run *run, struct node *node)
{
    if (node->column != run->column) {
        node->column = run->column;
        node->count = 0;
    }
    if (node->count >= node->as.limit) {
        return (struct answer){false, CELL_NEXT_COLUMN};
    }
    node->count++;
    return (struct answer){true, node->count == node->as.limit ? CELL_NEXT_COLUMN : CELL_NEXT};
}

/* Counts the cell and tells whether it is among the first `limit` of the row. */
static bool count_in_row(const struct run *run, struct node *node)
{
    if (node->epoch != run->epoch) {
        node->epoch = run->epoch;
        node->count = 0;
    }
    if (node->count >= node->as.limit) {
        return false;
    }
    node->count++;
    return true;
}

static struct answer test_row_limit(const struct run *run, struct node *node)
{
    bool passes = count_in_row(run, node);
    return (struct answer){passes, node->count == node->as.limit ? CELL_ROW_DONE : CELL_NEXT};
}

static struct answer test_timestamp(const struct node *node, int64_t timestamp_us)
{
    if (timestamp_us < node->as.timestamps.start_us) {
        return (struct answer){false, CELL_NEXT_COLUMN}; /* the others are older still */
    }
    int64_t end_us = node->as.timestamps.end_us;
    return (struct answer){end_us == 0 || timestamp_us < end_us, CELL_NEXT};
}

/* An answer that is the same for the whole column. */
static struct answer of_column(bool passes)
{
    return (struct answer){passes, passes ? CELL_NEXT : CELL_NEXT_COLUMN};
}

static struct answer of_cell(bool passes)
{
    return (struct answer){passes, CELL_NEXT};
}

/* Any node that lets a cell through unchanged or not at all. */
static struct answer test(const struct run *run, struct node *node, const struct cell *cell)
{
    switch ((int)node->kind) {
    case NODE_ROW_KEY:
    case NODE_ROW_SAMPLE:
        return (struct answer){node->verdict, node->verdict ? CELL_NEXT : CELL_ROW_DONE};
    case NODE_FAMILY:
        return of_column(family_matches(node, cell->family));
    case NODE_QUALIFIER:
        return of_column(qualifier_matches(run, node, cell->qualifier));
    case NODE_COLUMN_RANGE:
        return of_column(node->as.column_range.family == cell->family &&
                         range_holds(&node->as.column_range.qualifiers, cell->qualifier));
    case NODE_TIMESTAMP_RANGE:
        return test_timestamp(node, cell->timestamp_us);
    case NODE_VALUE:
        return of_cell(pattern_matches(&node->as.pattern, cell->value));
    case NODE_VALUE_RANGE:
        return of_cell(range_holds(&node->as.values, cell->value));
    case NODE_BITMASK:
        return of_cell(mask_matches(node->as.bytes, cell->value));
    case NODE_ROW_OFFSET:
        return of_cell(!count_in_row(run, node));
    case NODE_ROW_LIMIT:
        return test_row_limit(run, node);
    case NODE_COLUMN_LIMIT:
        return test_column_limit(run, node);
    default:
        UNREACHABLE();
    }
}

static enum cell_demand emit(struct run *run, const struct cell *cell)
{
    ASSERT(run->pass == PASS_OUTPUT);
    run->any = true;
    if (run->output == NULL) {
        run->stopped = true;
        return CELL_ROW_DONE;
    }
    run->status = run->output(run->context, cell);
    if (run->status != STATUS_OK) {
        run->stopped = true;
        return CELL_ROW_DONE;
    }
    return CELL_NEXT;
}

static bool is_matched(const struct run *run, const struct node *condition)
{
    return run->nodes[condition->as.condition.verdict].epoch == run->program->row;
}

/* Where a condition's cells go: into its predicate until its verdict is found. */
static uint32_t condition_next(const struct run *run, const struct node *node)
{
    uint32_t index = node->as.condition.predicate;
    if (node->level < run->level) {
        index = is_matched(run, node) ? node->as.condition.branch_true
                                      : node->as.condition.branch_false;
    } else if (is_matched(run, node)) {
        return INDEX_BLOCK; /* nothing more to find out */
    }
    return (run->nodes[index].passes & run->pass) != 0 ? index : INDEX_BLOCK;
}

/* Where members meet, having had enough has to be kept: a member that lets no cell through would
 * never learn it. */
static enum cell_demand push_joint(struct run *run, uint32_t index, const struct cell *cell)
{
    struct node *node = &run->nodes[index];
    if (node->joint_done_epoch == run->epoch) {
        return CELL_ROW_DONE;
    }
    enum cell_demand demand = filter_push(run, index, cell);
    if (demand == CELL_ROW_DONE) {
        node->joint_done_epoch = run->epoch;
    }
    return demand;
}

static enum cell_demand push_members(struct run *run,
                                     const struct node *node,
                                     const struct cell *cell)
{
    enum cell_demand least = CELL_ROW_DONE;
    const struct node *joint = &run->nodes[node->next];
    for (size_t i = 0; i < node->as.interleave.count; i++) {
        struct member *member = &node->as.interleave.members[i];
        if (member->done_epoch == run->epoch ||
            (run->nodes[member->entry].passes & run->pass) == 0) {
            continue;
        }
        bool at_joint = run->nodes[member->entry].join;
        enum cell_demand demand = at_joint ? push_joint(run, member->entry, cell)
                                           : filter_push(run, member->entry, cell);
        if (run->stopped) {
            return CELL_ROW_DONE;
        }
        if (joint->joint_done_epoch == run->epoch && !member->escapes) {
            demand = CELL_ROW_DONE;
        }
        if (demand == CELL_ROW_DONE) {
            member->done_epoch = run->epoch;
        }
        least = demand < least ? demand : least;
    }
    return least;
}

enum cell_demand filter_push(struct run *run, uint32_t index, const struct cell *cell)
{
    struct way way = {CELL_NEXT, false};
    struct cell changed;
    struct answer answer;

    for (;;) {
        struct node *node = &run->nodes[index];
        switch ((int)node->kind) {
        case NODE_OUTPUT:
            return way_end(way, emit(run, cell));
        case NODE_VERDICT:
            ASSERT(run->level == node->level);
            node->epoch = run->program->row;
            return CELL_ROW_DONE;
        case NODE_BLOCK:
            return CELL_ROW_DONE;
        case NODE_INTERLEAVE:
            return way_end(way, push_members(run, node, cell));
        case NODE_CONDITION:
            index = condition_next(run, node);
            if (run->nodes[index].join) {
                return way_end(way, push_joint(run, index, cell));
            }
            continue;
        case NODE_STRIP:
            changed = *cell;
            changed.value = BYTES_EMPTY;
            cell = &changed;
            break;
        case NODE_LABEL:
            changed = *cell;
            changed.label = node->as.bytes;
            cell = &changed;
            break;
        default:
            answer = test(run, node, cell);
            if (!answer.passes) {
                return way_end(way, answer.demand);
            }
            way_note(&way, answer.demand);
            way.counts |= filter_node_counts_row(node);
            break;
        }
        index = node->next;
        if (run->nodes[index].join) {
            return way_end(way, push_joint(run, index, cell));
        }
    }
}

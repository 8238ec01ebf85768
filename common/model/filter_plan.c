/*
 * Which columns of a row a program has to see.
 *
 * Every node has a box that holds all columns which can matter from it on.  Where the top of the
 * program is an interleave, the boxes of its members make a list of intervals; filter_run() seeks
 * from one to the next and stops behind the last.  So reading three named columns out of a row of
 * ten million touches little more than three.  Columns that are named without a family may be in each:
 * there is an interval in each of the table's.
 *
 * A counter over the row (cells per row, offset) must see every cell before it, so no box behind
 * it narrows what is in front of it.
 */
#include "common/base/assert.h"
#include "common/model/filter_program.h"

/* More members than this share one interval: a plan must stay small. */
#define PLAN_INTERVALS_MAX 256

static struct bytes greater(struct bytes a, struct bytes b)
{
    return bytes_compare(a, b) >= 0 ? a : b;
}

static struct bytes lesser(struct bytes a, struct bytes b)
{
    return bytes_compare(a, b) <= 0 ? a : b;
}

bool column_box_is_empty(const struct column_box *box)
{
    return box->family_first > box->family_last ||
           (box->qualifiers.bounded &&
            bytes_compare(box->qualifiers.first, box->qualifiers.end) >= 0);
}

struct column_box column_box_intersect(const struct column_box *a, const struct column_box *b)
{
    struct column_box both = {
        .family_first = a->family_first > b->family_first ? a->family_first : b->family_first,
        .family_last = a->family_last < b->family_last ? a->family_last : b->family_last,
    };
    both.qualifiers.first = greater(a->qualifiers.first, b->qualifiers.first);
    both.qualifiers.bounded = a->qualifiers.bounded || b->qualifiers.bounded;
    if (a->qualifiers.bounded && b->qualifiers.bounded) {
        both.qualifiers.end = lesser(a->qualifiers.end, b->qualifiers.end);
    } else if (both.qualifiers.bounded) {
        both.qualifiers.end = a->qualifiers.bounded ? a->qualifiers.end : b->qualifiers.end;
    }
    return both;
}

struct column_box column_box_cover(const struct column_box *a, const struct column_box *b)
{
    if (column_box_is_empty(a)) {
        return *b;
    }
    if (column_box_is_empty(b)) {
        return *a;
    }
    struct column_box cover = {
        .family_first = a->family_first < b->family_first ? a->family_first : b->family_first,
        .family_last = a->family_last > b->family_last ? a->family_last : b->family_last,
    };
    cover.qualifiers.first = lesser(a->qualifiers.first, b->qualifiers.first);
    cover.qualifiers.bounded = a->qualifiers.bounded && b->qualifiers.bounded;
    if (cover.qualifiers.bounded) {
        cover.qualifiers.end = greater(a->qualifiers.end, b->qualifiers.end);
    }
    return cover;
}

static struct column_box box_of_members(const struct filter_program *program,
                                        const struct node *node)
{
    struct column_box cover = {.family_first = 1, .family_last = 0};
    for (size_t i = 0; i < node->as.interleave.count; i++) {
        const struct node *entry = &program->nodes[node->as.interleave.members[i].entry];
        cover = column_box_cover(&cover, &entry->box);
    }
    return cover;
}

static struct column_box box_of_condition(const struct filter_program *program,
                                          const struct node *node)
{
    const struct node *nodes = program->nodes;
    struct column_box branches = column_box_cover(&nodes[node->as.condition.branch_true].box,
                                                  &nodes[node->as.condition.branch_false].box);
    return column_box_cover(&branches, &nodes[node->as.condition.predicate].box);
}

struct column_box filter_node_own_box(const struct filter_program *program, const struct node *node)
{
    struct column_box box = COLUMN_BOX_ALL;
    switch ((int)node->kind) {
    case NODE_BLOCK:
        box.family_first = 1;
        box.family_last = 0;
        break;
    case NODE_INTERLEAVE:
        return box_of_members(program, node);
    case NODE_CONDITION:
        return box_of_condition(program, node);
    case NODE_FAMILY:
        box.family_first = node->as.family.numbers[0];
        box.family_last = node->as.family.numbers[node->as.family.count - 1];
        break;
    case NODE_QUALIFIER:
        box.qualifiers = node->as.qualifier.range;
        break;
    case NODE_COLUMN_RANGE:
        box.family_first = node->as.column_range.family;
        box.family_last = node->as.column_range.family;
        box.qualifiers = node->as.column_range.qualifiers;
        break;
    default:
        break;
    }
    return box;
}

static struct column_interval interval_of_box(const struct column_box *box)
{
    struct column_interval interval = {
        .family_first = box->family_first,
        .qualifier_first = box->qualifiers.first,
        .family_end = (uint64_t)box->family_last + 1,
    };
    if (box->qualifiers.bounded) {
        interval.family_end = box->family_last;
        interval.qualifier_end = box->qualifiers.end;
    }
    return interval;
}

static int compare_columns(uint64_t family_a, struct bytes a, uint64_t family_b, struct bytes b)
{
    if (family_a != family_b) {
        return family_a < family_b ? -1 : 1;
    }
    return bytes_compare(a, b);
}

/* Insert in order of start: the clients' lists are nearly sorted, and short. */
static void add_interval(struct filter_program *program, const struct column_box *box)
{
    if (column_box_is_empty(box)) {
        return;
    }
    struct column_interval interval = interval_of_box(box);
    size_t at = program->plan_count++;
    while (at > 0 && compare_columns(program->plan[at - 1].family_first,
                                     program->plan[at - 1].qualifier_first, interval.family_first,
                                     interval.qualifier_first) > 0) {
        program->plan[at] = program->plan[at - 1];
        at--;
    }
    program->plan[at] = interval;
}

/* Join intervals that touch or overlap. */
static void merge_intervals(struct filter_program *program)
{
    size_t merged = 0;
    for (size_t i = 0; i < program->plan_count; i++) {
        struct column_interval *next = &program->plan[i];
        struct column_interval *last = merged > 0 ? &program->plan[merged - 1] : NULL;
        if (last == NULL || compare_columns(next->family_first, next->qualifier_first,
                                            last->family_end, last->qualifier_end) > 0) {
            program->plan[merged++] = *next;
        } else if (compare_columns(next->family_end, next->qualifier_end, last->family_end,
                                   last->qualifier_end) > 0) {
            last->family_end = next->family_end;
            last->qualifier_end = next->qualifier_end;
        }
    }
    program->plan_count = merged;
}

static bool is_plain_step(const struct node *node)
{
    return node->kind != NODE_OUTPUT && node->kind != NODE_VERDICT && node->kind != NODE_BLOCK &&
           node->kind != NODE_INTERLEAVE && node->kind != NODE_CONDITION &&
           !filter_node_counts_row(node);
}

struct families {
    const uint32_t *numbers; /* ascending */
    size_t count;
};

static bool names_columns(const struct column_box *box)
{
    return box->qualifiers.bounded || box->qualifiers.first.size_bytes > 0;
}

/* Add the box to what is to be read, cut to each of the families. */
static void add_intervals(struct filter_program *program,
                          const struct column_box *box,
                          const struct families *families)
{
    for (size_t i = 0; i < families->count; i++) {
        struct column_box one = COLUMN_BOX_ALL;
        one.family_first = families->numbers[i];
        one.family_last = families->numbers[i];
        one = column_box_intersect(&one, box);
        add_interval(program, &one);
    }
}

static enum status families_of_table(struct filter_program *program,
                                     const struct table *table,
                                     struct families *ret_families)
{
    uint32_t *numbers = arena_allocate_array(&program->arena, table->family_count + 1U,
                                             sizeof *numbers);
    if (numbers == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < table->family_count; i++) {
        numbers[i] = table->families[i].number;
    }
    *ret_families = (struct families){numbers, table->family_count};
    return STATUS_OK;
}

/* What the plan is made of: boxes, and the families that each is looked for in. */
struct plan_parts {
    struct column_box box;    /* of the line at the top */
    const struct node *named; /* on it: families; NULL = none are */
    const struct node *end;   /* of it */
    bool is_list;             /* end is an interleave, of few */
    size_t count;             /* of its members; else 1 */
};

static struct column_box box_at(const struct filter_program *program,
                                const struct plan_parts *parts,
                                size_t index)
{
    const struct node *end = parts->is_list
                                 ? &program->nodes[parts->end->as.interleave.members[index].entry]
                                 : parts->end;
    return column_box_intersect(&parts->box, &end->box);
}

static struct plan_parts parts_of(const struct filter_program *program)
{
    struct plan_parts parts = {.box = COLUMN_BOX_ALL, .end = &program->nodes[program->entry]};
    /* Along the one line at the top, boxes narrow one another. */
    while (is_plain_step(parts.end)) {
        struct column_box own = filter_node_own_box(program, parts.end);
        parts.box = column_box_intersect(&parts.box, &own);
        parts.named = parts.end->kind == NODE_FAMILY ? parts.end : parts.named;
        parts.end = &program->nodes[parts.end->next];
    }
    parts.is_list = parts.end->kind == NODE_INTERLEAVE &&
                    parts.end->as.interleave.count <= PLAN_INTERVALS_MAX;
    parts.count = parts.is_list ? parts.end->as.interleave.count : 1;
    return parts;
}

static bool any_names_columns(const struct filter_program *program, const struct plan_parts *parts)
{
    bool any = false;
    for (size_t i = 0; i < parts->count; i++) {
        struct column_box box = box_at(program, parts, i);
        any = any || (names_columns(&box) && box.family_first != box.family_last);
    }
    return any;
}

static enum status choose_families(struct filter_program *program,
                                   const struct table *table,
                                   const struct plan_parts *parts,
                                   struct families *ret_families)
{
    *ret_families = (struct families){NULL, 0};
    if (parts->named != NULL) {
        *ret_families = (struct families){parts->named->as.family.numbers,
                                          parts->named->as.family.count};
    } else if (any_names_columns(program, parts) &&
               families_of_table(program, table, ret_families) != STATUS_OK) {
        return STATUS_NO_MEMORY;
    }
    if (parts->count * ret_families->count > PLAN_INTERVALS_MAX) {
        ret_families->count = 0; /* the box holds them all */
    }
    return STATUS_OK;
}

enum status filter_plan_make(struct filter_program *program, const struct table *table)
{
    struct plan_parts parts = parts_of(program);
    struct families families;
    if (choose_families(program, table, &parts, &families) != STATUS_OK) {
        return STATUS_NO_MEMORY;
    }
    size_t capacity = parts.count * (families.count > 0 ? families.count : 1);
    program->plan = arena_allocate_array(&program->arena, capacity, sizeof *program->plan);
    if (program->plan == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < parts.count; i++) {
        struct column_box box = box_at(program, &parts, i);
        if (families.count > 0 && (parts.named != NULL || names_columns(&box))) {
            add_intervals(program, &box, &families);
        } else {
            add_interval(program, &box);
        }
    }
    ASSERT(program->plan_count <= capacity);
    merge_intervals(program);
    return STATUS_OK;
}

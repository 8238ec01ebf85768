/*
 * What a store that collects may show: random rules, a clock, and an array of cells that nothing
 * collects but that knows what may be gone.  One test's own; includes forked.h.
 */
#ifndef TESTS_MODEL_STORE_GC_TRUTH_H
#define TESTS_MODEL_STORE_GC_TRUTH_H

#include "tests/support/forked.h"

#include "common/base/prng.h"
#include "tests/support/store_fixture.h"

#define SECOND_US      INT64_C(1000000)
#define OPERATIONS_MAX 4000
#define CELLS_MAX      4000
#define ROW_COUNT      6
#define FAMILY_COUNT   4
#define FAMILY_SUM     3
#define TABLETS_MAX    4

enum kind {
    CHANGE, /* of one row, by one change */
    SPLIT,
    RULES,
    CLOCK
};

struct operation {
    enum kind kind;
    uint64_t tablet;
    uint64_t sequence;
    uint8_t row;
    uint8_t family;
    uint8_t qualifier;
    enum change_kind change;
    int64_t timestamp_us;
    int64_t end_us;
    int64_t number;
    uint64_t rules_seed; /* RULES */
    int64_t now_us;      /* CLOCK */
};

struct shared {
    struct operation operations[OPERATIONS_MAX];
    uint32_t count;
    struct operation pending; /* noted, perhaps appended; kind CHANGE or SPLIT */
    bool is_pending;
    uint64_t tablet_next;
};

struct cell_model {
    uint8_t row;
    uint8_t family;
    uint8_t qualifier;
    bool may_be_gone;
    /* A sum of which a part may be gone: what lay in the base, but not what came since. */
    bool is_vague;
    int64_t timestamp_us;
    int64_t number;
};

static struct shared *shared;
static struct fixture fixture;
static struct prng prng;
static struct cell_model cells[CELLS_MAX];
static bool seen[CELLS_MAX];
static size_t cell_count;
static int64_t model_now_us;
static struct gc_rule rules[FAMILY_COUNT][4];
static struct family bare_families[FAMILY_COUNT];
static struct table bare_table;

/* --- rules ---------------------------------------------------------------------------------------- */

static struct gc_rule random_leaf(struct prng *random)
{
    return prng_chance(random, 2)
               ? (struct gc_rule){.kind = GC_VERSIONS,
                                  .versions = 1 + (uint32_t)prng_below(random, 3)}
               : (struct gc_rule){.kind = GC_AGE,
                                  .age_us = SECOND_US * (int64_t)(1 + prng_below(random, 20))};
}

/* A leaf, or a list of leaves, or a list with a list in it; parts are its memory. */
static struct gc_rule random_rule(struct prng *random, struct gc_rule parts[4])
{
    uint64_t dice = prng_below(random, 10);
    if (dice < 2) {
        return (struct gc_rule){.kind = GC_NONE};
    }
    if (dice < 6) {
        return random_leaf(random);
    }
    enum gc_kind kind = prng_chance(random, 2) ? GC_UNION : GC_INTERSECTION;
    parts[0] = random_leaf(random);
    parts[1] = random_leaf(random);
    if (dice >= 8) {
        parts[2] = random_leaf(random);
        parts[3] = random_leaf(random);
        parts[1] = (struct gc_rule){.kind = kind == GC_UNION ? GC_INTERSECTION : GC_UNION,
                                    .children = &parts[2],
                                    .child_count = 2};
    }
    return (struct gc_rule){.kind = kind, .children = parts, .child_count = 2};
}

static void set_rules(uint64_t seed)
{
    struct prng random = prng_of_seed(seed);
    for (unsigned i = 0; i < FAMILY_COUNT; i++) {
        fixture_families[i].gc = random_rule(&random, rules[i]);
    }
    fixture_table.version++;
}

static bool is_dropped(const struct cell_model *cell, uint64_t index)
{
    return gc_rule_drops(&fixture_families[cell->family - 1].gc, index, cell->timestamp_us,
                         model_now_us);
}

/* --- the truth ------------------------------------------------------------------------------------ */

static int cell_order(const struct cell_model *a, const struct cell_model *b)
{
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    if (a->family != b->family) {
        return a->family < b->family ? -1 : 1;
    }
    if (a->qualifier != b->qualifier) {
        return a->qualifier < b->qualifier ? -1 : 1;
    }
    return (a->timestamp_us < b->timestamp_us) - (a->timestamp_us > b->timestamp_us);
}

static bool is_same_column(const struct cell_model *a, const struct cell_model *b)
{
    return a->row == b->row && a->family == b->family && a->qualifier == b->qualifier;
}

/* How many newer cells the column has. */
static uint64_t index_of(size_t at)
{
    size_t first = at;
    while (first > 0 && is_same_column(&cells[first - 1], &cells[at])) {
        first--;
    }
    return at - first;
}

/* What is dropped now may be collected from now on. */
static void mark_dropped(void)
{
    for (size_t i = 0; i < cell_count; i++) {
        if (is_dropped(&cells[i], index_of(i))) {
            cells[i].may_be_gone = true;
            cells[i].is_vague = cells[i].family >= FAMILY_SUM;
        }
    }
}

/* The place of a cell, or where it belongs. */
static size_t find_cell(const struct cell_model *cell, bool *ret_found)
{
    size_t at = 0;
    while (at < cell_count && cell_order(&cells[at], cell) < 0) {
        at++;
    }
    *ret_found = at < cell_count && cell_order(&cells[at], cell) == 0;
    return at;
}

static void fold(struct cell_model *cell, int64_t number)
{
    int64_t old = cell->number;
    cell->number = cell->family == FAMILY_SUM ? old + number : (old > number ? old : number);
    cell->may_be_gone = false;
}

static void put_model(const struct operation *o)
{
    struct cell_model cell = {.row = o->row,
                              .family = o->family,
                              .qualifier = o->qualifier,
                              .timestamp_us = o->timestamp_us,
                              .number = o->number};
    bool found = false;
    size_t at = find_cell(&cell, &found);
    if (found && o->change == CHANGE_FOLD) {
        fold(&cells[at], o->number);
        return;
    }
    if (!found) {
        cr_assert_lt(cell_count, CELLS_MAX);
        memmove(&cells[at + 1], &cells[at], (cell_count - at) * sizeof cells[0]);
        cell_count++;
    }
    cells[at] = cell;
}

static bool is_covered(const struct cell_model *cell, const struct operation *o)
{
    if (cell->row != o->row || o->change == CHANGE_DELETE_ROW) {
        return cell->row == o->row;
    }
    if (cell->family != o->family || o->change == CHANGE_DELETE_FAMILY) {
        return cell->family == o->family;
    }
    return cell->qualifier == o->qualifier && cell->timestamp_us >= o->timestamp_us &&
           cell->timestamp_us < o->end_us;
}

static void apply_operation(const struct operation *o)
{
    mark_dropped();
    if (o->kind == CLOCK) {
        model_now_us = o->now_us;
    } else if (o->kind == RULES) {
        set_rules(o->rules_seed);
    } else if (o->kind == CHANGE && (o->change == CHANGE_PUT || o->change == CHANGE_FOLD)) {
        put_model(o);
    } else if (o->kind == CHANGE) {
        size_t kept = 0;
        for (size_t i = 0; i < cell_count; i++) {
            if (!is_covered(&cells[i], o)) {
                cells[kept++] = cells[i];
            }
        }
        cell_count = kept;
    }
    mark_dropped();
}

static void note(const struct operation *operation)
{
    cr_assert_lt(shared->count, OPERATIONS_MAX);
    shared->operations[shared->count] = *operation;
    shared->count++;
    apply_operation(operation);
}

/* --- telling -------------------------------------------------------------------------------------- */

/* What may have become of a column, for whoever looks into a failure. */
static void tell_history(const struct cell_model *cell)
{
    fprintf(stderr, "timestamp %lld, now %lld, may be gone %d, number %lld\n",
            (long long)cell->timestamp_us, (long long)model_now_us, cell->may_be_gone,
            (long long)cell->number);
    for (uint32_t i = 0; i < shared->count; i++) {
        const struct operation *o = &shared->operations[i];
        bool touches = o->row == cell->row &&
                       (o->change == CHANGE_DELETE_ROW ||
                        (o->family == cell->family &&
                         (o->change == CHANGE_DELETE_FAMILY || o->qualifier == cell->qualifier)));
        if (o->kind != CHANGE || touches) {
            fprintf(stderr,
                    "%4u kind %d change %d sequence %llu times %lld..%lld number %lld, "
                    "clock %lld, rules %llx\n",
                    i, o->kind, o->kind == CHANGE ? (int)o->change : -1,
                    (unsigned long long)o->sequence, (long long)o->timestamp_us,
                    (long long)o->end_us, (long long)o->number, (long long)o->now_us,
                    (unsigned long long)o->rules_seed);
        }
    }
}

#endif /* TESTS_MODEL_STORE_GC_TRUTH_H */

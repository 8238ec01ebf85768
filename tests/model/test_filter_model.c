/*
 * Filters against a deliberately dumb evaluator that holds whole rows in arrays.
 *
 * The dumb one works bottom-up on lists: a filter takes a list of cells and gives a list; sinks
 * add to a second list.  Every cell carries the way it came, a string of member indexes; sorting by
 * it is the order of results: that of the input, copies side by side.
 */
#include <criterion/criterion.h>

#include <stdio.h>

#include "common/base/memory.h"
#include "common/base/prng.h"
#include "common/model/filter.h"
#include "tests/support/row_source.h"

#define CELLS_MAX 20000
#define WAY_MAX   24
#define NODES_MAX 200

/* Dumb cells and lists. */

struct dumb_cell {
    struct cell cell;
    uint16_t way[WAY_MAX];
    int way_size;
};

struct list {
    struct dumb_cell *cells;
    size_t count;
};

/* All lists of one evaluation; freed at once. */
static struct dumb_cell pool[CELLS_MAX];
static size_t pool_used;
static bool pool_overflow;

static struct list list_of_size(size_t count)
{
    if (pool_used + count > CELLS_MAX) {
        pool_overflow = true;
        return (struct list){pool, 0};
    }
    struct list list = {pool + pool_used, 0};
    pool_used += count;
    return list;
}

static int compare_ways(const struct dumb_cell *a, const struct dumb_cell *b)
{
    for (int i = 0; i < a->way_size && i < b->way_size; i++) {
        if (a->way[i] != b->way[i]) {
            return a->way[i] < b->way[i] ? -1 : 1;
        }
    }
    return a->way_size - b->way_size;
}

static struct list join(struct list a, struct list b)
{
    struct list both = list_of_size(a.count + b.count);
    if (pool_overflow) {
        return both;
    }
    memcpy(both.cells, a.cells, a.count * sizeof *a.cells);
    memcpy(both.cells + a.count, b.cells, b.count * sizeof *b.cells);
    both.count = a.count + b.count;
    for (size_t i = 1; i < both.count; i++) { /* insertion sort */
        struct dumb_cell moving = both.cells[i];
        size_t at = i;
        while (at > 0 && compare_ways(&both.cells[at - 1], &moving) > 0) {
            both.cells[at] = both.cells[at - 1];
            at--;
        }
        both.cells[at] = moving;
    }
    return both;
}

/* Patterns of which the test knows the meaning without an engine. */

enum {
    PATTERN_COUNT = 9
};
static const char *const PATTERNS[PATTERN_COUNT] = {
    "a", "a.*", ".*", "\\C*", "a|b", "[ab]+", "", "b\\C*", "a\\.b",
};

static bool dumb_pattern(int pattern, struct bytes text)
{
    bool newline = text.size_bytes > 0 && memchr(text.data, '\n', text.size_bytes) != NULL;
    switch (pattern) {
    case 0:
        return bytes_equal(text, bytes_of_text("a"));
    case 1:
        return bytes_starts_with(text, bytes_of_text("a")) && !newline;
    case 2:
        return !newline;
    case 3:
        return true;
    case 4:
        return bytes_equal(text, bytes_of_text("a")) || bytes_equal(text, bytes_of_text("b"));
    case 5:
        for (size_t i = 0; i < text.size_bytes; i++) {
            if (text.data[i] != 'a' && text.data[i] != 'b') {
                return false;
            }
        }
        return text.size_bytes > 0;
    case 6:
        return text.size_bytes == 0;
    case 7:
        return bytes_starts_with(text, bytes_of_text("b"));
    default:
        return bytes_equal(text, bytes_of_text("a.b"));
    }
}

static int pattern_number(struct bytes bytes)
{
    for (int i = 0; i < PATTERN_COUNT; i++) {
        if (bytes_equal(bytes, bytes_of_text(PATTERNS[i]))) {
            return i;
        }
    }
    cr_assert(0, "unknown pattern");
    return -1;
}

/* The table. */

static struct family families[] = {
    {.number = 2, .name = {(const uint8_t *)"a", 1}},
    {.number = 5, .name = {(const uint8_t *)"b", 1}},
    {.number = 9, .name = {(const uint8_t *)"cc", 2}},
};

static const struct table table = {
    .number = 1,
    .id = {(const uint8_t *)"t", 1},
    .families = families,
    .family_count = 3,
    .family_number_next = 10,
};

static struct bytes family_name(uint32_t number)
{
    return table_family_by_number(&table, number)->name;
}

static const struct bytes ROW = {(const uint8_t *)"ab", 2};

/* The dumb evaluator. */

static bool above_start(const struct filter_bound *bound, struct bytes bytes)
{
    int order = bound->present ? bytes_compare(bytes, bound->bytes) : 1;
    return order > 0 || (order == 0 && bound->closed);
}

static bool below_end(const struct filter_bound *bound, struct bytes bytes)
{
    int order = bound->present ? bytes_compare(bytes, bound->bytes) : -1;
    return order < 0 || (order == 0 && bound->closed);
}

static bool same_column(const struct cell *a, const struct cell *b)
{
    return a->family == b->family && bytes_equal(a->qualifier, b->qualifier);
}

static bool dumb_mask(struct bytes mask, struct bytes value)
{
    if (mask.size_bytes != value.size_bytes) {
        return false;
    }
    for (size_t i = 0; i < mask.size_bytes; i++) {
        if ((mask.data[i] & ~value.data[i]) != 0) {
            return false;
        }
    }
    return true;
}

static bool dumb_keeps(const struct filter *filter, struct list in, size_t index)
{
    const struct cell *cell = &in.cells[index].cell;
    size_t in_column = 0;
    switch ((int)filter->kind) {
    case FILTER_ROW_KEY_REGEX:
        return dumb_pattern(pattern_number(filter->bytes), ROW);
    case FILTER_FAMILY_REGEX:
        return dumb_pattern(pattern_number(filter->bytes), family_name(cell->family));
    case FILTER_QUALIFIER_REGEX:
        return dumb_pattern(pattern_number(filter->bytes), cell->qualifier);
    case FILTER_VALUE_REGEX:
        return dumb_pattern(pattern_number(filter->bytes), cell->value);
    case FILTER_COLUMN_RANGE:
        return bytes_equal(filter->bytes, family_name(cell->family)) &&
               above_start(&filter->start, cell->qualifier) &&
               below_end(&filter->end, cell->qualifier);
    case FILTER_TIMESTAMP_RANGE:
        return cell->timestamp_us >= filter->start_us &&
               (filter->end_us == 0 || cell->timestamp_us < filter->end_us);
    case FILTER_VALUE_RANGE:
        return above_start(&filter->start, cell->value) && below_end(&filter->end, cell->value);
    case FILTER_CELLS_PER_ROW_OFFSET:
        return index >= (size_t)filter->count;
    case FILTER_CELLS_PER_ROW_LIMIT:
        return index < (size_t)filter->count;
    case FILTER_CELLS_PER_COLUMN_LIMIT:
        for (size_t i = 0; i < index; i++) {
            in_column += same_column(&in.cells[i].cell, cell) ? 1 : 0;
        }
        return in_column < (size_t)filter->count;
    case FILTER_VALUE_BITMASK:
        return dumb_mask(filter->bytes, cell->value);
    case FILTER_BLOCK_ALL:
        return false;
    default:
        return true;
    }
}

static struct list dumb_leaf(const struct filter *filter, struct list in)
{
    struct list out = list_of_size(in.count);
    if (pool_overflow) {
        return out;
    }
    for (size_t i = 0; i < in.count; i++) {
        if (dumb_keeps(filter, in, i)) {
            out.cells[out.count++] = in.cells[i];
            struct cell *cell = &out.cells[out.count - 1].cell;
            if (filter->kind == FILTER_STRIP_VALUE) {
                cell->value = BYTES_EMPTY;
            } else if (filter->kind == FILTER_APPLY_LABEL) {
                cell->label = filter->bytes;
            }
        }
    }
    return out;
}

static struct list dumb_run(const struct filter *filter, struct list in, struct list *sunk);

static struct list dumb_interleave(const struct filter *filter, struct list in, struct list *sunk)
{
    struct list out = {pool, 0};
    for (size_t m = 0; m < filter->child_count && !pool_overflow; m++) {
        struct list copy = list_of_size(in.count);
        if (pool_overflow) {
            break;
        }
        memcpy(copy.cells, in.cells, in.count * sizeof *in.cells);
        copy.count = in.count;
        for (size_t i = 0; i < copy.count; i++) {
            cr_assert_lt(copy.cells[i].way_size, WAY_MAX);
            copy.cells[i].way[copy.cells[i].way_size++] = (uint16_t)m;
        }
        out = join(out, dumb_run(&filter->children[m], copy, sunk));
    }
    return out;
}

static struct list dumb_run(const struct filter *filter, struct list in, struct list *sunk)
{
    struct list none = {pool, 0};
    if (pool_overflow) {
        return none;
    }
    switch ((int)filter->kind) {
    case FILTER_CHAIN:
        for (size_t i = 0; i < filter->child_count; i++) {
            in = dumb_run(&filter->children[i], in, sunk);
        }
        return in;
    case FILTER_INTERLEAVE:
        return dumb_interleave(filter, in, sunk);
    case FILTER_CONDITION: {
        bool matched = dumb_run(&filter->children[0], in, sunk).count > 0;
        bool present = matched ? filter->has_true : filter->has_false;
        return present ? dumb_run(&filter->children[matched ? 1 : 2], in, sunk) : none;
    }
    case FILTER_SINK:
        *sunk = join(*sunk, in);
        return none;
    default:
        return dumb_leaf(filter, in);
    }
}

/* Random rows and filters. */

static const char *const WORDS[] = {"", "a", "b", "ab", "a.b", "ba", "a\n", "c"};
enum {
    WORD_COUNT = sizeof WORDS / sizeof *WORDS
};

static struct bytes random_word(struct prng *prng)
{
    return bytes_of_text(WORDS[prng_below(prng, WORD_COUNT)]);
}

static size_t random_row(struct prng *prng, struct cell *cells)
{
    static const char *const SORTED[] = {"", "a", "a\n", "a.b", "ab", "b", "ba", "c"};
    size_t count = 0;
    for (size_t f = 0; f < 3; f++) {
        for (int q = 0; q < WORD_COUNT; q++) {
            if (!prng_chance(prng, 3)) {
                continue;
            }
            for (int64_t t = 4; t >= 0; t--) {
                if (prng_chance(prng, 2)) {
                    cells[count++] = (struct cell){
                        .family = families[f].number,
                        .qualifier = bytes_of_text(SORTED[q]),
                        .timestamp_us = t * 1000,
                        .value = random_word(prng),
                    };
                }
            }
        }
    }
    return count;
}

struct maker {
    struct prng *prng;
    struct filter nodes[NODES_MAX];
    size_t used;
};

static struct filter *take_nodes(struct maker *maker, size_t count)
{
    cr_assert_leq(maker->used + count, NODES_MAX);
    struct filter *nodes = maker->nodes + maker->used;
    memset(nodes, 0, count * sizeof *nodes);
    maker->used += count;
    return nodes;
}

static struct filter_bound random_bound(struct prng *prng)
{
    return (struct filter_bound){
        .present = !prng_chance(prng, 3),
        .closed = prng_chance(prng, 2),
        .bytes = random_word(prng),
    };
}

static void make_leaf(struct maker *maker, bool in_condition, struct filter *filter)
{
    static const enum filter_kind LEAVES[] = {
        FILTER_PASS_ALL,
        FILTER_BLOCK_ALL,
        FILTER_SINK,
        FILTER_ROW_KEY_REGEX,
        FILTER_FAMILY_REGEX,
        FILTER_QUALIFIER_REGEX,
        FILTER_QUALIFIER_REGEX,
        FILTER_VALUE_REGEX,
        FILTER_COLUMN_RANGE,
        FILTER_COLUMN_RANGE,
        FILTER_TIMESTAMP_RANGE,
        FILTER_TIMESTAMP_RANGE,
        FILTER_VALUE_RANGE,
        FILTER_CELLS_PER_ROW_OFFSET,
        FILTER_STRIP_VALUE,
        FILTER_CELLS_PER_ROW_LIMIT,
        FILTER_APPLY_LABEL,
        FILTER_CELLS_PER_COLUMN_LIMIT,
        FILTER_VALUE_BITMASK,
        FILTER_CELLS_PER_COLUMN_LIMIT,
    };
    struct prng *prng = maker->prng;
    filter->kind = LEAVES[prng_below(prng, sizeof LEAVES / sizeof *LEAVES)];
    filter->flag = true;
    filter->count = (int64_t)prng_below(prng, 4) + 1;
    filter->start = random_bound(prng);
    filter->end = random_bound(prng);
    filter->start_us = (int64_t)prng_below(prng, 4) * 1000;
    filter->end_us = prng_chance(prng, 2) ? 0 : filter->start_us + 2000;
    int pattern = (int)prng_below(prng, PATTERN_COUNT);
    switch ((int)filter->kind) {
    case FILTER_SINK:
        filter->kind = in_condition ? FILTER_PASS_ALL : FILTER_SINK;
        break;
    case FILTER_ROW_KEY_REGEX:
        pattern = pattern == 6 ? 2 : pattern; /* the empty one is refused */
        filter->bytes = bytes_of_text(PATTERNS[pattern]);
        break;
    case FILTER_FAMILY_REGEX:
        pattern = pattern == 8 ? 4 : pattern; /* exact names must exist */
        filter->bytes = bytes_of_text(PATTERNS[pattern]);
        break;
    case FILTER_QUALIFIER_REGEX:
    case FILTER_VALUE_REGEX:
        filter->bytes = bytes_of_text(PATTERNS[pattern]);
        break;
    case FILTER_COLUMN_RANGE:
        filter->bytes = families[prng_below(prng, 3)].name;
        break;
    case FILTER_APPLY_LABEL:
        filter->bytes = bytes_of_text(prng_chance(prng, 2) ? "l1" : "l2");
        break;
    case FILTER_VALUE_BITMASK:
        filter->bytes = bytes_of_text(prng_chance(prng, 2) ? "a" : "ab");
        break;
    default:
        break;
    }
}

static void make_filter(struct maker *maker, int depth, bool in_condition, struct filter *filter)
{
    uint64_t pick = prng_below(maker->prng, 10);
    if (depth == 0 || pick >= 7 || maker->used + 4 > NODES_MAX) {
        make_leaf(maker, in_condition, filter);
        return;
    }
    filter->kind = pick < 3 ? FILTER_CHAIN : pick < 5 ? FILTER_INTERLEAVE : FILTER_CONDITION;
    bool condition = filter->kind == FILTER_CONDITION;
    size_t count = condition ? 3 : 2 + prng_below(maker->prng, 2);
    struct filter *children = take_nodes(maker, count);
    filter->children = children;
    filter->child_count = count;
    filter->has_true = !prng_chance(maker->prng, 4);
    filter->has_false = !prng_chance(maker->prng, 4);
    for (size_t i = 0; i < count; i++) {
        make_filter(maker, depth - 1, in_condition || condition, &children[i]);
    }
}

/* Comparison. */

struct expectation {
    struct list list;
    size_t at;
    bool differs;
};

static enum status compare_output(void *context, const struct cell *cell)
{
    struct expectation *expectation = context;
    if (expectation->at >= expectation->list.count) {
        expectation->differs = true;
        return STATUS_OK;
    }
    const struct cell *wanted = &expectation->list.cells[expectation->at++].cell;
    if (!same_column(wanted, cell) || wanted->timestamp_us != cell->timestamp_us ||
        !bytes_equal(wanted->value, cell->value) || !bytes_equal(wanted->label, cell->label)) {
        expectation->differs = true;
    }
    return STATUS_OK;
}

static struct list dumb_result(const struct filter *filter, const struct cell *cells, size_t count)
{
    pool_used = 0;
    pool_overflow = false;
    struct list in = list_of_size(count);
    in.count = count;
    for (size_t i = 0; i < count; i++) {
        in.cells[i] = (struct dumb_cell){.cell = cells[i], .way = {(uint16_t)i}, .way_size = 1};
    }
    struct list sunk = {pool, 0};
    struct list out = dumb_run(filter, in, &sunk);
    return join(out, sunk);
}

static void describe(uint64_t seed, const struct filter *filter)
{
    struct buffer text = BUFFER_INIT;
    filter_format(filter, &text);
    fprintf(stderr, "seed %llu: %.*s\n", (unsigned long long)seed, (int)text.size_bytes,
            (const char *)text.data);
    buffer_deinit(&text);
}

/* One row through one program, with an obedient or a deaf source. */
static void check_row(struct filter_program *program,
                      const struct filter *filter,
                      const struct cell *cells,
                      size_t count,
                      bool deaf,
                      uint64_t seed)
{
    struct expectation expectation = {.list = dumb_result(filter, cells, count)};
    if (pool_overflow) {
        return;
    }
    struct row_source rows = row_source_of(cells, count);
    rows.deaf = deaf;
    struct cell_source source = row_source_cells(&rows);
    bool any = false;
    uint64_t seen = 0;
    enum status status = filter_run(program, ROW, &source, compare_output, &expectation, &any,
                                    &seen);
    bool right = status == STATUS_OK && !expectation.differs &&
                 expectation.at == expectation.list.count && any == (expectation.list.count > 0) &&
                 seen == rows.pulled;
    if (!right) {
        describe(seed, filter);
        cr_assert(0, "seed %llu: %zu of %zu cells, %s", (unsigned long long)seed, expectation.at,
                  expectation.list.count, deaf ? "deaf" : "obedient");
    }
    bool predicate = false;
    status = filter_run(program, ROW, &source, NULL, NULL, &predicate, NULL);
    cr_assert_eq(status, STATUS_OK);
    cr_assert_eq(predicate, any);
}

static bool check_seed(uint64_t seed)
{
    struct prng prng = prng_of_seed(seed);
    static struct maker maker;
    maker = (struct maker){.prng = &prng};
    struct filter *filter = take_nodes(&maker, 1);
    make_filter(&maker, 1 + (int)prng_below(&prng, 4), false, filter);

    struct filter_program *program = NULL;
    struct error error;
    enum status status = filter_compile(filter, 0, &table, seed, &program, &error);
    if (status != STATUS_OK) {
        /* The maker avoids all but two labels in a chain. */
        if (strstr(error.text, "apply_label") == NULL) {
            describe(seed, filter);
            cr_assert(0, "%s", error.text);
        }
        return false;
    }
    for (int row = 0; row < 3; row++) {
        struct cell cells[200];
        size_t count = random_row(&prng, cells);
        check_row(program, filter, cells, count, row == 1, seed);
    }
    filter_destroy(program);
    return true;
}

Test(filter_model, random_filters_on_random_rows)
{
    int compiled = 0;
    for (uint64_t seed = 1; seed <= 40000; seed++) {
        compiled += check_seed(seed) ? 1 : 0;
    }
    cr_assert_gt(compiled, 30000);
}

/*
 * The row reader against a list of changes: a history cut into up to four memtables, read at a
 * random sequence with random range deletes, rules and unknown families, in every way that a
 * consumer may.  The last layer plays the base; now and then the layer before it is half flushed:
 * then the base holds what lies below a random position of it, and the reader must not count that
 * twice.
 */
#include "tests/model/history.h"

#include "common/model/schema.h"
#include "tabletserver/storage/memtable/memtable.h"
#include "tabletserver/storage/rows/row_reader.h"

#define LAYERS_MAX 4
#define SEEDS      600
#define READS      12
#define NOW_US     8

struct world {
    struct prng prng;
    uint64_t seed;
    struct history history;
    size_t cuts[LAYERS_MAX + 1]; /* oldest first: layer i holds items [cuts[i], cuts[i + 1]) */
    uint32_t layer_count;
    struct memtable *layers[LAYERS_MAX]; /* oldest first */
    uint64_t sequence;
    uint64_t read_sequence;
    struct range_delete range_deletes[2];
    uint32_t range_delete_count;
    struct family families[HISTORY_FAMILY_COUNT];
    struct gc_rule children[2];
    struct table table;
    struct tablet_position flushed;
};

static struct world world;

/* Does the item lie below the position, as row_reader.h says? */
static bool is_below(const struct tablet_position *position, const struct history_item *item)
{
    int order = bytes_compare(item->row, position->row);
    if (position->everything || order < 0) {
        return true;
    }
    struct entry edge = {
        .kind = ENTRY_PUT,
        .family = position->family,
        .qualifier = position->qualifier,
        .timestamp_us = position->timestamp_us,
    };
    return order == 0 && position->family != 0 && entry_compare(&item->entry, &edge) < 0;
}

static struct change change_of(const struct entry *entry)
{
    static const enum change_kind kinds[] = {
        [ENTRY_ROW_DELETE] = CHANGE_DELETE_ROW,
        [ENTRY_FAMILY_DELETE] = CHANGE_DELETE_FAMILY,
        [ENTRY_COLUMN_DELETE] = CHANGE_DELETE_CELLS,
        [ENTRY_PUT] = CHANGE_PUT,
        [ENTRY_FOLD] = CHANGE_FOLD,
    };
    return (struct change){
        .kind = kinds[entry->kind],
        .family = entry->family,
        .aggregate = entry->aggregate,
        .qualifier = entry->qualifier,
        .timestamp_us = entry->timestamp_us,
        .start_us = entry->start_us,
        .end_us = entry->end_us,
        .value = entry->value,
    };
}

static void apply_item(struct memtable *memtable, const struct history_item *item)
{
    struct change change = change_of(&item->entry);
    cr_assert_eq(memtable_reserve(memtable, item->row, &change, 1), STATUS_OK);
    memtable_apply(memtable, item->sequence, item->entry.stamp, item->row, &change, 1);
}

/* A range delete freezes the memtable, as memtable.h asks for: one stands at a cut only. */
static void make_history(void)
{
    size_t count = prng_below(&world.prng, 160);
    uint64_t clock = 1;
    world.layer_count = 1 + (uint32_t)prng_below(&world.prng, LAYERS_MAX);
    for (uint32_t i = 0; i < world.layer_count; i++) {
        world.cuts[i] = world.history.count;
        if (i > 0 && world.range_delete_count < 2 && prng_chance(&world.prng, 3)) {
            world.range_deletes[world.range_delete_count++] = (struct range_delete){
                .range = {history_row(prng_below(&world.prng, 4)),
                          prng_chance(&world.prng, 2)
                              ? BYTES_EMPTY
                              : history_row(4 + prng_below(&world.prng, 3))},
                .stamp = {++clock, 1, 0},
                .sequence = ++world.sequence,
            };
        }
        for (size_t j = 0; j < count / world.layer_count; j++) {
            struct change change = history_random_change(&world.prng);
            history_add(&world.history, ++world.sequence, (struct stamp){++clock, 1, 0},
                        history_row(prng_next(&world.prng)), &change);
        }
    }
    world.cuts[world.layer_count] = world.history.count;
}

static void choose_flushed(void)
{
    world.flushed = (struct tablet_position){0};
    if (world.layer_count < 2 || prng_chance(&world.prng, 3)) {
        return;
    }
    world.flushed.row = history_row(prng_next(&world.prng));
    world.flushed.everything = prng_chance(&world.prng, 10);
    if (!prng_chance(&world.prng, 3)) {
        world.flushed.family = 1 + (uint32_t)prng_below(&world.prng, HISTORY_FAMILY_COUNT);
        world.flushed.qualifier = history_qualifier(&world.prng);
        world.flushed.timestamp_us = (int64_t)prng_below(&world.prng, 9);
    }
}

/* A flush puts a range delete into the rows that it writes, before what came later is merged. */
static void flush_range_deletes(void)
{
    for (uint32_t i = 0; i < world.range_delete_count; i++) {
        const struct range_delete *delete = &world.range_deletes[i];
        for (uint64_t row = 0; row < HISTORY_ROW_COUNT; row++) {
            struct history_item item = {
                .sequence = delete->sequence,
                .row = history_row(row),
                .entry = {.kind = ENTRY_ROW_DELETE, .stamp = delete->stamp},
            };
            bool is_older = world.history.count <= world.cuts[1] ||
                            delete->sequence < world.history.items[world.cuts[1]].sequence;
            if (is_older && row_range_contains(&delete->range, item.row)) {
                apply_item(world.layers[0], &item);
            }
        }
    }
}

/* Layer 1's items below the flushed position are in layer 0 as well. */
static void make_layers(void)
{
    for (uint32_t i = 0; i < world.layer_count; i++) {
        cr_assert_eq(memtable_create(&world.layers[i]), STATUS_OK);
        if (prng_chance(&world.prng, 2)) {
            memtable_raise_floor(world.layers[i], world.read_sequence);
        }
        for (size_t j = world.cuts[i]; j < world.cuts[i + 1]; j++) {
            apply_item(world.layers[i], &world.history.items[j]);
        }
    }
    if (world.layer_count > 1) {
        flush_range_deletes();
    }
    for (size_t j = world.cuts[1]; world.layer_count > 1 && j < world.cuts[2]; j++) {
        const struct history_item *item = &world.history.items[j];
        if (is_below(&world.flushed, item)) {
            apply_item(world.layers[0], item);
        }
    }
}

static struct gc_rule random_rule(uint64_t kinds)
{
    switch (prng_below(&world.prng, kinds)) {
    case 1:
        return (struct gc_rule){.kind = GC_VERSIONS,
                                .versions = 1 + (uint32_t)prng_below(&world.prng, 3)};
    case 2:
        return (struct gc_rule){.kind = GC_AGE, .age_us = 1 + (int64_t)prng_below(&world.prng, 8)};
    case 3:
        return (struct gc_rule){.kind = GC_UNION, .children = world.children, .child_count = 2};
    case 4:
        return (struct gc_rule){
            .kind = GC_INTERSECTION, .children = world.children, .child_count = 2};
    default:
        return (struct gc_rule){.kind = GC_NONE};
    }
}

static void make_table(void)
{
    world.children[0] = (struct gc_rule){.kind = GC_VERSIONS, .versions = 2};
    world.children[1] = (struct gc_rule){.kind = GC_AGE, .age_us = 4};
    world.table.families = world.families;
    for (uint32_t number = 1; number <= HISTORY_FAMILY_COUNT; number++) {
        if (!prng_chance(&world.prng, 4)) {
            world.families[world.table.family_count++] = (struct family){
                .number = number,
                .aggregate = history_aggregate(number),
                .gc = random_rule(prng_chance(&world.prng, 2) ? 1 : 5),
            };
        }
    }
}

static struct row_reader *open_reader(void)
{
    struct row_reader_options options = {
        .table = &world.table,
        .layer_count = world.layer_count,
        .range_deletes = world.range_deletes,
        .now_us = NOW_US,
    };
    /* Those visible at the read's sequence. */
    while (options.range_delete_count < world.range_delete_count &&
           world.range_deletes[options.range_delete_count].sequence <= world.read_sequence) {
        options.range_delete_count++;
    }
    for (uint32_t i = 0; i < world.layer_count; i++) {
        uint32_t from = world.layer_count - 1 - i;
        cr_assert_eq(memtable_cursor_open(world.layers[from], world.read_sequence,
                                          &options.layers[i].cursor),
                     STATUS_OK);
        if (from == 1) {
            options.layers[i].flushed = world.flushed;
        }
    }
    struct row_reader *reader = row_reader_create();
    cr_assert_not_null(reader);
    row_reader_open(reader, &options);
    return reader;
}

/* --- the truth ---------------------------------------------------------------------------------- */

/* A range delete becomes row deletes of all rows. */
static void spread_range_deletes(void)
{
    for (uint32_t i = 0; i < world.range_delete_count; i++) {
        for (uint64_t row = 0; row < HISTORY_ROW_COUNT; row++) {
            if (row_range_contains(&world.range_deletes[i].range, history_row(row))) {
                struct change change = {.kind = CHANGE_DELETE_ROW};
                history_add(&world.history, world.range_deletes[i].sequence,
                            world.range_deletes[i].stamp, history_row(row), &change);
            }
        }
    }
}

static size_t visible_cells(struct bytes row, struct entry *cells)
{
    static struct entry entries[HISTORY_ENTRIES_MAX];
    size_t count = history_read(&world.history, world.read_sequence, row, entries);
    size_t used = 0;
    uint64_t index = 0;
    for (size_t i = 0; i < count; i++) {
        const struct entry *entry = &entries[i];
        const struct family *family = table_family_by_number(&world.table, entry->family);
        if (entry->kind < ENTRY_PUT || family == NULL) {
            continue;
        }
        const struct entry *last = i > 0 ? &entries[i - 1] : NULL;
        bool same = last != NULL && last->kind >= ENTRY_PUT && last->family == entry->family &&
                    bytes_equal(last->qualifier, entry->qualifier);
        index = same ? index + 1 : 0;
        if (!gc_rule_drops(&family->gc, index, entry->timestamp_us, NOW_US)) {
            cells[used++] = *entry;
        }
    }
    return used;
}

/* --- reading ------------------------------------------------------------------------------------ */

static bool same_column(const struct entry *a, const struct entry *b)
{
    return a->family == b->family && bytes_equal(a->qualifier, b->qualifier);
}

/* Some of the cells from the first on, with demands at random. */
static void read_cells(const struct cell_source *source, const struct entry *cells, size_t count)
{
    enum cell_demand demand = CELL_NEXT;
    size_t at = 0;
    for (;;) {
        struct cell cell = {0};
        bool found = false;
        cr_assert_eq(source->next(source->context, demand, &cell, &found), STATUS_OK);
        cr_assert_eq(found, at < count && demand != CELL_ROW_DONE, "seed %lu: end", world.seed);
        if (!found) {
            return;
        }
        const struct entry *expected = &cells[at];
        cr_assert(cell.family == expected->family &&
                      bytes_equal(cell.qualifier, expected->qualifier) &&
                      cell.timestamp_us == expected->timestamp_us &&
                      bytes_equal(cell.value, expected->value) && cell.label.size_bytes == 0,
                  "seed %lu: family %u for %u, timestamp %ld for %ld", world.seed, cell.family,
                  expected->family, cell.timestamp_us, expected->timestamp_us);
        at++;
        demand = prng_chance(&world.prng, 5)    ? CELL_NEXT_COLUMN
                 : prng_chance(&world.prng, 30) ? CELL_ROW_DONE
                                                : CELL_NEXT;
        while (demand == CELL_NEXT_COLUMN && at < count && same_column(expected, &cells[at])) {
            at++;
        }
    }
}

static void read_row(struct row_reader *reader, struct bytes row)
{
    static struct entry cells[HISTORY_ENTRIES_MAX];
    size_t count = visible_cells(row, cells);
    struct cell_source source = row_reader_source(reader);
    if (prng_chance(&world.prng, 2)) {
        cr_assert_eq(source.rewind(source.context, 0, BYTES_EMPTY), STATUS_OK);
    }
    read_cells(&source, cells, count);

    uint32_t family = 1 + (uint32_t)prng_below(&world.prng, HISTORY_FAMILY_COUNT);
    struct bytes qualifier = history_qualifier(&world.prng);
    size_t first = 0;
    while (first < count && (cells[first].family < family ||
                             (cells[first].family == family &&
                              bytes_compare(cells[first].qualifier, qualifier) < 0))) {
        first++;
    }
    cr_assert_eq(source.rewind(source.context, family, qualifier), STATUS_OK);
    read_cells(&source, cells + first, count - first);
}

/* Rows between two that the reader stood on have no visible cell. */
static void expect_nothing_between(enum row_seek seek, struct bytes from, struct bytes to)
{
    static struct entry cells[HISTORY_ENTRIES_MAX];
    bool forward = seek == ROW_AT_OR_AFTER || seek == ROW_AFTER;
    for (uint64_t i = 0; i < HISTORY_ROW_COUNT; i++) {
        struct bytes row = history_row(i);
        int order_from = bytes_compare(row, from) * (forward ? 1 : -1);
        int order_to = bytes_compare(row, to) * (forward ? 1 : -1);
        bool is_from = seek == ROW_AT_OR_AFTER || seek == ROW_AT_OR_BEFORE;
        if ((seek == ROW_LAST || order_from > 0 || (is_from && order_from == 0)) &&
            (to.size_bytes == 0 || order_to < 0)) {
            cr_assert_eq(visible_cells(row, cells), 0, "seed %lu: a row was passed", world.seed);
        }
    }
}

static void read_some(struct row_reader *reader)
{
    enum row_seek seek = (enum row_seek)prng_below(&world.prng, 5);
    struct bytes row = history_row(prng_next(&world.prng));
    for (;;) {
        struct bytes got = BYTES_EMPTY;
        bool found = false;
        cr_assert_eq(row_reader_seek(reader, seek, row, &got, &found), STATUS_OK);
        struct bytes known = BYTES_EMPTY; /* row may be the reader's own memory */
        for (uint64_t i = 0; i < HISTORY_ROW_COUNT && found; i++) {
            known = bytes_equal(got, history_row(i)) ? history_row(i) : known;
        }
        cr_assert_eq(known.size_bytes > 0, found);
        expect_nothing_between(seek, row, known);
        if (!found || prng_chance(&world.prng, 10)) {
            return;
        }
        read_row(reader, got);
        bool forward = seek == ROW_AT_OR_AFTER || seek == ROW_AFTER;
        row = known;
        seek = forward ? ROW_AFTER : ROW_BEFORE;
        if (prng_chance(&world.prng, 6)) {
            seek = forward ? ROW_AT_OR_AFTER : ROW_AT_OR_BEFORE;
            row = history_row(prng_next(&world.prng));
        }
        if (prng_chance(&world.prng, 20)) {
            return;
        }
    }
}

static void run_seed(uint64_t seed)
{
    world = (struct world){.prng = prng_of_seed(seed), .seed = seed};
    make_history();
    world.read_sequence = world.cuts[world.layer_count > 1 ? 2 : 1] > 0
                              ? world.history.items[world.cuts[world.layer_count > 1 ? 2 : 1] - 1]
                                    .sequence
                              : 0;
    world.read_sequence += prng_below(&world.prng, world.sequence - world.read_sequence + 1);
    choose_flushed();
    make_table();
    make_layers();
    spread_range_deletes();
    struct row_reader *reader = open_reader();
    for (int i = 0; i < READS; i++) {
        read_some(reader);
    }
    row_reader_close(reader);
    row_reader_destroy(reader);
    for (uint32_t i = 0; i < world.layer_count; i++) {
        memtable_unref(world.layers[i]);
    }
}

Test(row_reader_model, equals_the_history)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_seed(seed);
    }
}

/*
 * The base against a sorted array: random entries with every kind of delete, folds, long keys and
 * large values, cut into transactions at random places, with sweeps and reopening between; on LMDB
 * and in memory.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/endian.h"
#include "common/base/memory.h"
#include "common/base/prng.h"
#include "tabletserver/storage/base.h"

#define ROWS       24
#define QUALIFIERS 14
#define EXTENT     7
#define BATCH_MAX  4000
#define CELLS_MAX  60000

struct key {
    size_t size_bytes;
    uint8_t *data;
};

struct model_cell {
    uint32_t row;
    uint32_t family;
    uint32_t qualifier;
    int64_t timestamp_us;
    enum aggregate_kind aggregate;
    struct stamp stamp;
    uint64_t value_seed;
    size_t value_size;
    uint8_t state[8];
};

struct world {
    struct prng prng;
    struct kv *kv;
    struct base *base;
    char folder[64];
    struct key rows[ROWS];
    struct key qualifiers[QUALIFIERS];
    uint32_t wide_qualifiers; /* the wide row has numbered ones too */
    struct model_cell *cells; /* sorted */
    size_t count;
    uint64_t clock;
    int64_t stored_bytes; /* as the writers count them */
};

struct batch_entry {
    uint32_t row;
    uint32_t qualifier;
    struct entry entry;
    uint64_t value_seed;
    size_t value_size;
};

#define WIDE_ROW   3
#define WIDE_FIRST 1000 /* qualifier numbers from here on are "w%06u" */

static struct bytes key_bytes(const struct key *key)
{
    return bytes_of(key->data, key->size_bytes);
}

static struct bytes qualifier_bytes(const struct world *world, uint32_t index, char text[16])
{
    if (index < WIDE_FIRST) {
        return key_bytes(&world->qualifiers[index]);
    }
    snprintf(text, 16, "w%06u", index);
    return bytes_of_text(text);
}

static int compare_keys(const void *a, const void *b)
{
    return bytes_compare(key_bytes(a), key_bytes(b));
}

/* Short and long, with and without what must be escaped, with long shared prefixes. */
static struct key make_key(struct prng *prng, size_t longest)
{
    static const size_t lengths[] = {1, 2, 5, 14, 195, 196, 395, 396, 397, 594, 595, 596, 1010};
    size_t length = lengths[prng_below(prng, sizeof lengths / sizeof *lengths)];
    struct key key = {length + 4, NULL};
    if (prng_chance(prng, 12)) {
        key.size_bytes = longest;
    }
    key.data = malloc(key.size_bytes);
    uint8_t fill = (uint8_t)(prng_chance(prng, 3) ? 0 : 'p');
    memset(key.data, fill, key.size_bytes);
    for (int i = 0; i < 4; i++) {
        key.data[key.size_bytes - 1 - (size_t)i] = (uint8_t)prng_below(prng, 4);
    }
    if (prng_chance(prng, 2)) {
        key.data[0] = (uint8_t)prng_below(prng, 256);
    }
    return key;
}

static void make_keys(struct prng *prng, struct key *keys, size_t count, size_t longest)
{
    for (size_t i = 0; i < count; i++) {
        bool fresh = false;
        while (!fresh) {
            keys[i] = make_key(prng, longest);
            fresh = true;
            for (size_t j = 0; j < i; j++) {
                fresh = fresh && !bytes_equal(key_bytes(&keys[i]), key_bytes(&keys[j]));
            }
        }
    }
    qsort(keys, count, sizeof *keys, compare_keys);
}

static struct bytes value_bytes(uint64_t seed, size_t size, uint8_t *out)
{
    struct prng prng = prng_of_seed(seed);
    for (size_t i = 0; i < size; i++) {
        out[i] = (uint8_t)prng_next(&prng);
    }
    return bytes_of(out, size);
}

static uint8_t value_room[200000];
static uint64_t tombstones_seen; /* stored ones, as cursors yield them */

/* --- the model -------------------------------------------------------------------------------- */

static int compare_qualifiers(const struct world *world, uint32_t a, uint32_t b)
{
    char text_a[16];
    char text_b[16];
    return a == b ? 0
                  : bytes_compare(qualifier_bytes(world, a, text_a),
                                  qualifier_bytes(world, b, text_b));
}

static int compare_cell(const struct world *world,
                        const struct model_cell *a,
                        const struct model_cell *b)
{
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    if (a->family != b->family) {
        return a->family < b->family ? -1 : 1;
    }
    int order = compare_qualifiers(world, a->qualifier, b->qualifier);
    if (order != 0) {
        return order;
    }
    return (a->timestamp_us < b->timestamp_us) - (a->timestamp_us > b->timestamp_us);
}

static size_t model_find(const struct world *world, const struct model_cell *cell)
{
    size_t low = 0;
    size_t high = world->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare_cell(world, &world->cells[middle], cell) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool covers(const struct batch_entry *e, const struct model_cell *cell)
{
    if (e->row != cell->row) {
        return false;
    }
    switch (e->entry.kind) {
    case ENTRY_ROW_DELETE:
        return true;
    case ENTRY_FAMILY_DELETE:
        return e->entry.family == cell->family;
    case ENTRY_COLUMN_DELETE:
        return e->entry.family == cell->family && e->qualifier == cell->qualifier &&
               cell->timestamp_us >= e->entry.start_us &&
               (cell->timestamp_us < e->entry.end_us || e->entry.end_us == INT64_MAX);
    default:
        return false;
    }
}

static bool is_delete(const struct batch_entry *e)
{
    return e->entry.kind <= ENTRY_COLUMN_DELETE;
}

static void model_apply(struct world *world, const struct batch_entry *e)
{
    if (is_delete(e)) {
        size_t kept = 0;
        for (size_t i = 0; i < world->count; i++) {
            if (!covers(e, &world->cells[i]) ||
                stamp_compare(world->cells[i].stamp, e->entry.stamp) >= 0) {
                world->cells[kept++] = world->cells[i];
            }
        }
        world->count = kept;
        return;
    }
    struct model_cell cell = {
        .row = e->row,
        .family = e->entry.family,
        .qualifier = e->qualifier,
        .timestamp_us = e->entry.timestamp_us,
        .aggregate = e->entry.aggregate,
        .stamp = e->entry.stamp,
        .value_seed = e->value_seed,
        .value_size = e->value_size,
    };
    store_be64(cell.state, e->value_seed);
    size_t at = model_find(world, &cell);
    bool found = at < world->count && compare_cell(world, &world->cells[at], &cell) == 0;
    if (e->entry.kind == ENTRY_ERASE) {
        if (found) {
            world->count--;
            memmove(world->cells + at, world->cells + at + 1,
                    (world->count - at) * sizeof *world->cells);
        }
        return;
    }
    if (found && e->entry.kind == ENTRY_FOLD) {
        store_be64(cell.state, load_be64(world->cells[at].state) + e->value_seed);
    }
    if (!found) {
        cr_assert_lt(world->count, CELLS_MAX);
        memmove(world->cells + at + 1, world->cells + at,
                (world->count - at) * sizeof *world->cells);
        world->count++;
    }
    world->cells[at] = cell;
}

/* --- random batches --------------------------------------------------------------------------- */

static struct batch_entry make_entry(struct world *world, uint32_t row, bool with_deletes)
{
    struct prng *prng = &world->prng;
    static const uint32_t families[] = {1, 2, 3, 300};
    static const int64_t times[] = {
        0, 1000, 2000, 3000, 3001, 1700000000000000, 1700000000001000, -5, INT64_MAX, INT64_MIN};
    struct batch_entry e = {.row = row};
    e.entry.family = families[prng_below(prng, 4)];
    e.qualifier = (uint32_t)prng_below(prng, QUALIFIERS);
    if (row == WIDE_ROW && !prng_chance(prng, 4)) {
        e.qualifier = WIDE_FIRST + (uint32_t)prng_below(prng, world->wide_qualifiers);
        e.entry.family = 2;
    }
    e.entry.timestamp_us = times[prng_below(prng, sizeof times / sizeof *times)];
    e.entry.stamp = (struct stamp){world->clock + prng_below(prng, 1000), 1, 0};
    uint64_t dice = prng_below(prng, 100);
    if (with_deletes && dice < 20) {
        e.entry.kind = dice < 2   ? ENTRY_ROW_DELETE
                       : dice < 6 ? ENTRY_FAMILY_DELETE
                                  : ENTRY_COLUMN_DELETE;
        if (e.entry.kind == ENTRY_ROW_DELETE) {
            e.entry.family = 0;
        }
        e.entry.start_us = prng_chance(prng, 2) ? 0 : 1001;
        e.entry.end_us = prng_chance(prng, 2) ? INT64_MAX : 3001;
    } else if (dice < 27) {
        e.entry.kind = ENTRY_ERASE;
        e.entry.aggregate = e.entry.family == 3 ? AGGREGATE_INTSUM : AGGREGATE_NONE;
    } else if (e.entry.family == 3) {
        e.entry.kind = ENTRY_FOLD;
        e.entry.aggregate = AGGREGATE_INTSUM;
        e.value_seed = prng_next(prng);
        e.value_size = 8;
    } else {
        e.entry.kind = ENTRY_PUT;
        e.value_seed = prng_next(prng);
        e.value_size = prng_below(prng, 100);
        if (row != WIDE_ROW && prng_chance(prng, 8)) {
            e.value_size = 600 + prng_below(prng, 3000);
        } else if (row != WIDE_ROW && prng_chance(prng, 40)) {
            e.value_size = 60000 + prng_below(prng, 70000);
        }
    }
    return e;
}

static struct world *sorting; /* qsort has no context */

static int compare_entries(const void *a, const void *b)
{
    const struct batch_entry *x = a;
    const struct batch_entry *y = b;
    char text_x[16];
    char text_y[16];
    if (x->row != y->row) {
        return x->row < y->row ? -1 : 1;
    }
    struct entry ex = x->entry;
    struct entry ey = y->entry;
    ex.qualifier = qualifier_bytes(sorting, x->qualifier, text_x);
    ey.qualifier = qualifier_bytes(sorting, y->qualifier, text_y);
    return entry_compare(&ex, &ey);
}

/* One a position, none dead by a delete of the same batch: as a memtable yields them. */
static size_t resolve(struct batch_entry *batch, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool keep = kept == 0 || compare_entries(&batch[kept - 1], &batch[i]) != 0;
        struct model_cell cell = {.row = batch[i].row,
                                  .family = batch[i].entry.family,
                                  .qualifier = batch[i].qualifier,
                                  .timestamp_us = batch[i].entry.timestamp_us};
        for (size_t j = 0; j < count && keep && !is_delete(&batch[i]); j++) {
            keep = !covers(&batch[j], &cell) ||
                   stamp_compare(batch[j].entry.stamp, batch[i].entry.stamp) <= 0;
        }
        if (keep) {
            batch[kept++] = batch[i];
        }
    }
    return kept;
}

static void put(struct world *world, struct base_writer *writer, const struct batch_entry *e)
{
    char text[16];
    uint8_t state[8];
    struct entry entry = e->entry;
    entry.qualifier = qualifier_bytes(world, e->qualifier, text);
    if (entry.kind == ENTRY_ROW_DELETE || entry.kind == ENTRY_FAMILY_DELETE) {
        entry.qualifier = BYTES_EMPTY;
    }
    if (entry.kind == ENTRY_FOLD) {
        store_be64(state, e->value_seed);
        entry.value = bytes_of(state, 8);
    } else {
        entry.value = value_bytes(e->value_seed, e->value_size, value_room);
    }
    enum status status = base_writer_put(writer, EXTENT, key_bytes(&world->rows[e->row]), &entry);
    cr_assert_eq(status, STATUS_OK, "put: %s", status_name(status));
}

static void commit(struct world *world, struct base_writer *writer)
{
    cr_assert_eq(base_writer_settle(writer), STATUS_OK);
    world->stored_bytes += base_writer_delta_bytes(writer);
    cr_assert_eq(base_writer_commit(writer), STATUS_OK);
}

static void run_batch(struct world *world)
{
    static struct batch_entry batch[BATCH_MAX];
    size_t count = 1 + prng_below(&world->prng, 60);
    bool wide = prng_chance(&world->prng, 4);
    bool deletes = !wide || prng_chance(&world->prng, 3);
    count = wide ? 500 + prng_below(&world->prng, 1500) : count;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = wide ? WIDE_ROW : (uint32_t)prng_below(&world->prng, ROWS);
        batch[i] = make_entry(world, row, deletes && prng_chance(&world->prng, wide ? 200 : 1));
    }
    sorting = world;
    qsort(batch, count, sizeof *batch, compare_entries);
    count = resolve(batch, count);
    world->clock += 1000;

    struct base_writer *writer = NULL;
    cr_assert_eq(base_writer_begin(world->base, &writer), STATUS_OK);
    for (size_t i = 0; i < count; i++) {
        put(world, writer, &batch[i]);
        model_apply(world, &batch[i]);
        if (prng_chance(&world->prng, 20)) {
            cr_assert_eq(base_writer_settle(writer), STATUS_OK);
        }
        if (prng_chance(&world->prng, 50)) {
            commit(world, writer);
            cr_assert_eq(base_writer_begin(world->base, &writer), STATUS_OK);
        }
    }
    commit(world, writer);
}

/* One paced step of the sweep, or all of it. */
static void sweep(struct world *world, struct buffer *resume, bool to_the_end)
{
    const struct row_range all = {BYTES_EMPTY, BYTES_EMPTY};
    bool done = false;
    do {
        struct base_writer *writer = NULL;
        uint64_t budget = 1 + prng_below(&world->prng, 20000);
        cr_assert_eq(base_writer_begin(world->base, &writer), STATUS_OK);
        cr_assert_eq(base_sweep_step(writer, EXTENT, &all, resume, budget, &done), STATUS_OK);
        commit(world, writer);
    } while (to_the_end && !done);
    if (done) {
        buffer_reset(resume);
    }
}

/* Nothing is damaged; the bytes in the file are those that the writers counted. */
static void scrub(struct world *world)
{
    struct base_snapshot *snapshot = NULL;
    struct buffer resume = BUFFER_INIT;
    struct error error = {0};
    uint64_t bad = 0;
    bool done = false;
    cr_assert_eq(base_snapshot_begin(world->base, &snapshot), STATUS_OK);
    while (!done) {
        uint64_t budget = 1 + prng_below(&world->prng, 100000);
        cr_assert_eq(base_scrub_step(snapshot, EXTENT, &resume, budget, &bad, &done, &error),
                     STATUS_OK);
        cr_assert_eq(bad, 0, "%s", error.text);
    }
    base_snapshot_end(snapshot);
    buffer_deinit(&resume);

    struct kv_read *read = NULL;
    struct kv_cursor *cursor = NULL;
    struct bytes key;
    struct bytes value;
    bool found = false;
    int64_t stored = 0;
    cr_assert_eq(kv_read_begin(world->kv, &read), STATUS_OK);
    cr_assert_eq(kv_cursor_open_read(read, &cursor), STATUS_OK);
    cr_assert_eq(kv_cursor_move(cursor, KV_SEEK, bytes_of("\x02", 1), &key, &value, &found),
                 STATUS_OK);
    while (found) {
        stored += (int64_t)(key.size_bytes + value.size_bytes);
        cr_assert_eq(kv_cursor_move(cursor, KV_NEXT, BYTES_EMPTY, &key, &value, &found), STATUS_OK);
    }
    kv_cursor_close(cursor);
    kv_read_end(read);
    cr_assert_eq(stored, world->stored_bytes, "%ld bytes, counted %ld", stored,
                 world->stored_bytes);
}

/* Erase a range of rows in paced steps; the model does too. */
static void erase(struct world *world, uint32_t first, uint32_t last)
{
    struct buffer resume = BUFFER_INIT;
    const struct row_range range = {first == 0 ? bytes_of("", 1) : key_bytes(&world->rows[first]),
                                    last == ROWS ? BYTES_EMPTY : key_bytes(&world->rows[last])};
    const struct stamp all = {UINT64_MAX, 0, 0};
    bool done = false;
    while (!done) {
        struct base_writer *writer = NULL;
        uint64_t budget = 1 + prng_below(&world->prng, 20000);
        cr_assert_eq(base_writer_begin(world->base, &writer), STATUS_OK);
        cr_assert_eq(base_erase_step(writer, EXTENT, &range, all, &resume, budget, &done),
                     STATUS_OK);
        commit(world, writer);
    }
    buffer_deinit(&resume);
    size_t kept = 0;
    for (size_t i = 0; i < world->count; i++) {
        if (world->cells[i].row < first || world->cells[i].row >= last) {
            world->cells[kept++] = world->cells[i];
        }
    }
    world->count = kept;
}

/* --- comparing -------------------------------------------------------------------------------- */

static void check_cell(const struct world *world,
                       const struct model_cell *cell,
                       const struct entry *entry)
{
    char text[16];
    cr_assert_eq(entry->kind, cell->aggregate != AGGREGATE_NONE ? ENTRY_FOLD : ENTRY_PUT);
    cr_assert_eq(entry->family, cell->family);
    cr_assert(bytes_equal(entry->qualifier, qualifier_bytes(world, cell->qualifier, text)));
    cr_assert_eq(entry->timestamp_us, cell->timestamp_us);
    cr_assert_geq(stamp_compare(entry->stamp, cell->stamp), 0);
    if (cell->aggregate != AGGREGATE_NONE) {
        cr_assert(bytes_equal(entry->value, bytes_of(cell->state, 8)));
    } else {
        cr_assert_eq(entry->value.size_bytes, cell->value_size);
        struct bytes value = value_bytes(cell->value_seed, cell->value_size, value_room);
        cr_assert(bytes_equal(entry->value, value));
    }
}

/* The cells of the row stood on, from (family, qualifier) on, are the model's from `at` on. */
static size_t check_row(struct world *world,
                        struct layer_cursor *cursor,
                        uint32_t row,
                        uint32_t family,
                        uint32_t qualifier,
                        bool columns_only)
{
    char text[16];
    struct model_cell from = {
        .row = row, .family = family, .qualifier = qualifier, .timestamp_us = INT64_MAX};
    size_t at = model_find(world, &from);
    struct bytes sought = family == 0 ? BYTES_EMPTY : qualifier_bytes(world, qualifier, text);
    if (family == 0) {
        while (at > 0 && world->cells[at - 1].row == row) {
            at--;
        }
    }
    struct entry entry = {0};
    bool found = true;
    cr_assert_eq(cursor->operations->seek_entry(cursor, family, sought), STATUS_OK);
    bool skip = false;
    while (found) {
        enum status status = skip ? cursor->operations->skip_column(cursor, &entry, &found)
                                  : cursor->operations->next_entry(cursor, &entry, &found);
        cr_assert_eq(status, STATUS_OK);
        if (!found || entry.kind <= ENTRY_COLUMN_DELETE) {
            tombstones_seen += found ? 1 : 0;
            skip = false;
            continue;
        }
        cr_assert_lt(at, world->count, "a cell too many");
        cr_assert_eq(world->cells[at].row, row, "a cell too many in its row");
        check_cell(world, &world->cells[at], &entry);
        at++;
        skip = columns_only;
        while (skip && at < world->count && world->cells[at].row == row &&
               world->cells[at].family == world->cells[at - 1].family &&
               world->cells[at].qualifier == world->cells[at - 1].qualifier) {
            at++;
        }
    }
    cr_assert(at == world->count || world->cells[at].row != row, "a cell is missing");
    return at;
}

static uint32_t row_of(const struct world *world, struct bytes row)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        if (bytes_equal(key_bytes(&world->rows[i]), row)) {
            return i;
        }
    }
    cr_assert_fail("a row that nobody wrote");
    return 0;
}

static void check_scan(struct world *world, struct layer_cursor *cursor, bool forward)
{
    struct bytes row = BYTES_EMPTY;
    bool found = false;
    uint32_t seen[ROWS] = {0};
    enum row_seek seek = forward ? ROW_AT_OR_AFTER : ROW_LAST;
    uint32_t last = forward ? 0 : ROWS;
    for (;;) {
        cr_assert_eq(cursor->operations->seek_row(cursor, seek, row, &row, &found), STATUS_OK);
        if (!found) {
            break;
        }
        uint32_t index = row_of(world, row);
        cr_assert(seek == ROW_AT_OR_AFTER || seek == ROW_LAST ||
                  (forward ? index > last : index < last));
        last = index;
        seen[index] = 1;
        if (!prng_chance(&world->prng, 5)) {
            check_row(world, cursor, index, 0, 0, prng_chance(&world->prng, 3));
        }
        seek = forward ? ROW_AFTER : ROW_BEFORE;
    }
    for (size_t i = 0; i < world->count; i++) {
        cr_assert(seen[world->cells[i].row], "a row was passed over");
    }
}

static bool model_has_row(const struct world *world, uint32_t row)
{
    for (size_t i = 0; i < world->count; i++) {
        if (world->cells[i].row == row) {
            return true;
        }
    }
    return false;
}

/* Random seeks; rows that hold nothing but tombstones may come up where the model has none. */
static void check_seeks(struct world *world, struct layer_cursor *cursor)
{
    for (int i = 0; i < 20; i++) {
        uint32_t target = (uint32_t)prng_below(&world->prng, ROWS);
        enum row_seek seek = (enum row_seek)prng_below(&world->prng, 4);
        bool forward = seek == ROW_AT_OR_AFTER || seek == ROW_AFTER;
        struct bytes row;
        bool found = false;
        cr_assert_eq(cursor->operations->seek_row(cursor, seek, key_bytes(&world->rows[target]),
                                                  &row, &found),
                     STATUS_OK);
        int64_t index = found ? (int64_t)row_of(world, row) : forward ? ROWS : -1;
        int64_t first = (int64_t)target;
        first += seek == ROW_AFTER ? 1 : seek == ROW_BEFORE ? -1 : 0;
        cr_assert(forward ? index >= first : index <= first);
        for (int64_t r = first; r != index && r >= 0 && r < ROWS; r += forward ? 1 : -1) {
            cr_assert(!model_has_row(world, (uint32_t)r), "a row was passed over");
        }
        if (found) {
            static const uint32_t families[] = {0, 1, 2, 3, 4, 300};
            uint32_t qualifier = (uint32_t)prng_below(&world->prng, QUALIFIERS);
            if (index == WIDE_ROW && prng_chance(&world->prng, 2)) {
                qualifier = WIDE_FIRST + (uint32_t)prng_below(&world->prng, 3000);
            }
            check_row(world, cursor, (uint32_t)index, families[prng_below(&world->prng, 6)],
                      qualifier, prng_chance(&world->prng, 3));
        }
    }
}

static void check(struct world *world)
{
    struct base_snapshot *snapshot = NULL;
    struct layer_cursor *cursor = NULL;
    /* The extent as one piece, or cut at a row. */
    struct bytes cut = key_bytes(&world->rows[prng_below(&world->prng, ROWS)]);
    const struct base_piece pieces[] = {{{BYTES_EMPTY, cut}, EXTENT}, {{cut, BYTES_EMPTY}, EXTENT}};
    const struct base_piece whole = {{BYTES_EMPTY, BYTES_EMPTY}, EXTENT};
    bool two = prng_chance(&world->prng, 2);

    cr_assert_eq(base_snapshot_begin(world->base, &snapshot), STATUS_OK);
    cr_assert_eq(base_cursor_open(snapshot, two ? pieces : &whole, two ? 2 : 1, &cursor),
                 STATUS_OK);
    check_scan(world, cursor, true);
    check_scan(world, cursor, false);
    check_seeks(world, cursor);
    cursor->operations->close(cursor);
    base_snapshot_end(snapshot);
}

/* --- worlds ----------------------------------------------------------------------------------- */

static void open_world(struct world *world)
{
    struct error error;
    if (world->folder[0] != '\0') {
        struct kv_options options = {.map_size_bytes = UINT64_C(1) << 30};
        cr_assert_eq(kv_open(world->folder, &options, &world->kv, &error), STATUS_OK);
    } else if (world->kv == NULL) {
        cr_assert_eq(kv_create_in_memory(&world->kv), STATUS_OK);
    }
    cr_assert_eq(base_open(world->kv, &world->base, &error), STATUS_OK);
}

static void reopen_world(struct world *world)
{
    base_close(world->base);
    if (world->folder[0] != '\0') {
        kv_close(world->kv);
    }
    open_world(world);
}

static void run(uint64_t seed, bool in_memory, int batches)
{
    static struct world world;
    world = (struct world){.prng = prng_of_seed(seed), .wide_qualifiers = 3000, .clock = 1000};
    world.cells = malloc(CELLS_MAX * sizeof *world.cells);
    if (!in_memory) {
        strcpy(world.folder, "/tmp/edubba_base_XXXXXX");
        cr_assert_not_null(mkdtemp(world.folder));
    }
    make_keys(&world.prng, world.rows, ROWS, 4096);
    make_keys(&world.prng, world.qualifiers, QUALIFIERS, 16384);
    open_world(&world);
    struct buffer resume = BUFFER_INIT;
    for (int i = 0; i < batches; i++) {
        run_batch(&world);
        if (prng_chance(&world.prng, 4)) {
            sweep(&world, &resume, prng_chance(&world.prng, 4));
        }
        if (prng_chance(&world.prng, 12)) {
            uint32_t first = (uint32_t)prng_below(&world.prng, ROWS);
            erase(&world, first, first + 1 + (uint32_t)prng_below(&world.prng, 3) % (ROWS - first));
        }
        if (prng_chance(&world.prng, 6)) {
            scrub(&world);
        }
        if (prng_chance(&world.prng, 3)) {
            check(&world);
        }
        if (prng_chance(&world.prng, 10)) {
            reopen_world(&world);
        }
    }
    check(&world);
    scrub(&world);
    erase(&world, 0, ROWS); /* row by row and not the extent as a whole: nothing may stay behind */
    cr_assert_eq(world.stored_bytes, 0);
    scrub(&world);
    base_close(world.base);
    kv_close(world.kv);
    buffer_deinit(&resume);
    for (int i = 0; i < ROWS; i++) {
        free(world.rows[i].data);
    }
    for (int i = 0; i < QUALIFIERS; i++) {
        free(world.qualifiers[i].data);
    }
    if (!in_memory) {
        char command[128];
        snprintf(command, sizeof command, "%s/data.mdb", world.folder);
        unlink(command);
        snprintf(command, sizeof command, "%s/lock.mdb", world.folder);
        unlink(command);
        rmdir(world.folder);
    }
    free(world.cells);
}

static void run_seeds(bool in_memory, int batches)
{
    const char *only = getenv("EDUBBA_SEED");
    if (only != NULL) {
        run(strtoull(only, NULL, 10), in_memory, batches);
        return;
    }
    for (uint64_t seed = 1; seed <= 6; seed++) {
        run(seed, in_memory, batches);
    }
    cr_assert_gt(tombstones_seen, 0, "no delete was wide enough to be stored");
}

Test(base_model, in_memory)
{
    run_seeds(true, 60);
}

Test(base_model, lmdb)
{
    run_seeds(false, 40);
}

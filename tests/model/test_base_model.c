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
#include "tabletserver/storage/base/base.h"
#include "tests/model/base_compare.h"
#include "tests/model/base_truth.h"
#include "tests/support/test_folder.h"

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

/* Bytes of keys and values in the file, but for the base's own and the meta records. */
static int64_t sum_stored(const struct world *world)
{
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
    return stored;
}

/* In the middle of a row the writer must be settled first; at its end it may be. */
static void commit(struct world *world, struct base_writer *writer, bool settle)
{
    if (!settle) {
        cr_assert_eq(base_writer_commit(writer), STATUS_OK);
        world->stored_bytes = sum_stored(world); /* what commit adds, no one counts */
        return;
    }
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
            commit(world, writer, true);
            cr_assert_eq(base_writer_begin(world->base, &writer), STATUS_OK);
        }
    }
    commit(world, writer, prng_chance(&world->prng, 2));
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
        commit(world, writer, true);
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

    int64_t stored = sum_stored(world);
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
        commit(world, writer, true);
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
        test_folder_make(world.folder, sizeof world.folder, "base");
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
        char command[300];
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

/*
 * The deliberately simple side of the base's model test: random keys, and a sorted array of cells to
 * which every kind of entry is applied as entry.h says.
 */
#ifndef TESTS_MODEL_BASE_TRUTH_H
#define TESTS_MODEL_BASE_TRUTH_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/endian.h"
#include "common/base/prng.h"
#include "tabletserver/storage/base/base.h"

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
    char folder[256];
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

#endif /* TESTS_MODEL_BASE_TRUTH_H */

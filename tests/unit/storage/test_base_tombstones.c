/* The tombstones of a row, few or many, against each of them by itself. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "common/base/prng.h"
#include "tabletserver/storage/base/base_tombstone.h"

#define ROUNDS        300
#define DELETES_MAX   40
#define CELLS         200
#define FAMILIES      3
#define COLUMNS       4
#define TIMES         12
#define NAME_SIZE_MAX 8

static struct bytes column_of(struct prng *prng, char name[NAME_SIZE_MAX])
{
    snprintf(name, NAME_SIZE_MAX, "q%u", (unsigned)prng_below(prng, COLUMNS));
    return bytes_of_text(name);
}

static int64_t time_of(struct prng *prng)
{
    return prng_chance(prng, 6) ? INT64_MAX : (int64_t)prng_below(prng, TIMES);
}

static struct entry any_delete(struct prng *prng, char name[NAME_SIZE_MAX])
{
    struct entry entry = {.kind = ENTRY_COLUMN_DELETE,
                          .family = 1 + (uint32_t)prng_below(prng, FAMILIES),
                          .qualifier = column_of(prng, name),
                          .start_us = (int64_t)prng_below(prng, TIMES),
                          .stamp = {1 + prng_below(prng, 30), 0, 0}};
    entry.end_us = time_of(prng);
    if (prng_chance(prng, 20)) {
        entry = (struct entry){.kind = ENTRY_ROW_DELETE, .stamp = {1 + prng_below(prng, 8), 0, 0}};
    } else if (prng_chance(prng, 8)) {
        entry = (struct entry){
            .kind = ENTRY_FAMILY_DELETE, .family = entry.family, .stamp = entry.stamp};
    }
    return entry;
}

static bool is_killed_by_one(const struct base_tombstones *tombstones,
                             const struct chunk_cell *cell,
                             struct stamp stamp)
{
    bool killed = false;
    for (size_t i = 0; i < tombstones->count; i++) {
        killed |= base_tombstone_kills(&tombstones->entries[i], cell, stamp);
    }
    return killed;
}

/* As chunks have them, column by column, and to and fro. */
static void ask(struct base_tombstones *tombstones, struct prng *prng, int cells)
{
    char name[NAME_SIZE_MAX];
    struct chunk_cell cell = {.family = 1, .qualifier = column_of(prng, name)};
    for (int i = 0; i < cells; i++) {
        const struct stamp stamp = {prng_below(prng, 32), 0, 0};
        if (prng_chance(prng, 5)) {
            cell.family = 1 + (uint32_t)prng_below(prng, FAMILIES + 1);
            cell.qualifier = column_of(prng, name);
        }
        cell.timestamp_us = time_of(prng);
        cr_assert_eq(base_tombstones_kill(tombstones, &cell, stamp),
                     is_killed_by_one(tombstones, &cell, stamp));
    }
}

static void expect_in_order(const struct base_tombstones *tombstones)
{
    for (size_t i = 1; i < tombstones->count; i++) {
        cr_assert_lt(entry_compare(&tombstones->entries[i - 1], &tombstones->entries[i]), 0);
    }
}

Test(base_tombstones, together_they_kill_what_one_of_them_does)
{
    struct prng prng = prng_of_seed(7);
    struct base_tombstones tombstones;
    char name[NAME_SIZE_MAX];
    base_tombstones_init(&tombstones);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t deletes = prng_below(&prng, DELETES_MAX);
        base_tombstones_reset(&tombstones);
        for (uint64_t i = 0; i < deletes; i++) {
            struct entry entry = any_delete(&prng, name);
            if (!base_tombstones_have(&tombstones, &entry)) {
                cr_assert_eq(base_tombstones_add(&tombstones, &entry), STATUS_OK);
            }
            cr_assert(base_tombstones_have(&tombstones, &entry));
            entry.stamp.clock = 31;
            cr_assert_not(base_tombstones_have(&tombstones, &entry), "that would be younger");
            ask(&tombstones, &prng, 3);
        }
        expect_in_order(&tombstones);
        ask(&tombstones, &prng, CELLS);
    }
    base_tombstones_deinit(&tombstones);
}

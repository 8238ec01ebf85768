/*
 * The dumb truth that storage is compared with: a list of all changes ever made, read by the rule
 * of entry.h and nothing else.
 */
#ifndef TESTS_MODEL_HISTORY_H
#define TESTS_MODEL_HISTORY_H

#include <criterion/criterion.h>

#include <stdlib.h>

#include "common/base/endian.h"
#include "common/base/prng.h"
#include "common/model/mutation.h"
#include "tabletserver/storage/rows/entry.h"

#define HISTORY_MAX         4000
#define HISTORY_ENTRIES_MAX 512
#define HISTORY_ROW_COUNT   7

struct history_item {
    uint64_t sequence;
    struct bytes row;
    struct entry entry; /* stamps included; FOLD: value is the operand */
};

struct history {
    struct history_item items[HISTORY_MAX];
    size_t count;
};

/* Families 1 and 2 are plain, 3 is intsum, 4 is intmax, 5 is plain (and may be unknown). */
#define HISTORY_FAMILY_COUNT 5

__attribute__((unused)) static enum aggregate_kind history_aggregate(uint32_t family)
{
    return family == 3 ? AGGREGATE_INTSUM : family == 4 ? AGGREGATE_INTMAX : AGGREGATE_NONE;
}

__attribute__((unused)) static struct bytes history_row(uint64_t i)
{
    static const struct bytes rows[HISTORY_ROW_COUNT] = {
        {(const uint8_t *)"a", 1},
        {(const uint8_t *)"a\0", 2},
        {(const uint8_t *)"aaaaaaaaaaaa", 12},
        {(const uint8_t *)"aaaaaaaaaaab", 12},
        {(const uint8_t *)"b", 1},
        {(const uint8_t *)"\xff", 1},
        {(const uint8_t *)"\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9},
    };
    return rows[i % HISTORY_ROW_COUNT];
}

__attribute__((unused)) static struct bytes history_qualifier(struct prng *prng)
{
    static const struct bytes qualifiers[] = {
        {(const uint8_t *)"", 0},
        {(const uint8_t *)"a", 1},
        {(const uint8_t *)"a\0", 2},
        {(const uint8_t *)"\xff", 1},
    };
    return qualifiers[prng_below(prng, 4)];
}

/* A random change; its value lives as long as the program. */
__attribute__((unused)) static struct change history_random_change(struct prng *prng)
{
    static const uint64_t weights[] = {
        CHANGE_PUT,  CHANGE_PUT,          CHANGE_PUT,          CHANGE_FOLD,
        CHANGE_FOLD, CHANGE_FOLD,         CHANGE_FOLD,         CHANGE_FOLD,
        CHANGE_FOLD, CHANGE_DELETE_CELLS, CHANGE_DELETE_CELLS, CHANGE_DELETE_CELLS};
    struct change change = {.kind = (enum change_kind)weights[prng_below(prng, 12)]};
    if (prng_chance(prng, 12)) {
        change.kind = CHANGE_DELETE_FAMILY;
    }
    if (prng_chance(prng, 40)) {
        change.kind = CHANGE_DELETE_ROW;
        return change;
    }
    change.family = 1 + (uint32_t)prng_below(prng, HISTORY_FAMILY_COUNT);
    if (change.kind == CHANGE_DELETE_FAMILY) {
        return change;
    }
    change.qualifier = history_qualifier(prng);
    if (change.kind == CHANGE_DELETE_CELLS) {
        change.start_us = (int64_t)prng_below(prng, 8) - 1;
        change.end_us = change.start_us + 1 + (int64_t)prng_below(prng, 6);
        if (prng_chance(prng, 5)) {
            change.end_us = INT64_MAX;
        }
        return change;
    }
    change.timestamp_us = prng_chance(prng, 30) ? INT64_MAX : (int64_t)prng_below(prng, 8);
    change.kind = history_aggregate(change.family) != AGGREGATE_NONE ? CHANGE_FOLD : CHANGE_PUT;
    change.aggregate = history_aggregate(change.family);
    static uint8_t values[1 << 20];
    static size_t used = 0;
    used = used + 16 > sizeof values ? 0 : used;
    uint8_t *value = values + used;
    used += 8;
    store_be64(value, prng_below(prng, 1000));
    change.value = bytes_of(value, change.kind == CHANGE_FOLD ? 8 : prng_below(prng, 9));
    return change;
}

__attribute__((unused)) static void history_add(struct history *history,
                                                uint64_t sequence,
                                                struct stamp stamp,
                                                struct bytes row,
                                                const struct change *change)
{
    static const enum entry_kind kinds[] = {
        0, ENTRY_PUT, ENTRY_FOLD, ENTRY_COLUMN_DELETE, ENTRY_FAMILY_DELETE, ENTRY_ROW_DELETE};
    cr_assert_lt(history->count, HISTORY_MAX);
    struct history_item *item = &history->items[history->count++];
    item->sequence = sequence;
    item->row = row;
    item->entry = (struct entry){.kind = kinds[change->kind], .stamp = stamp};
    struct entry *entry = &item->entry;
    if (entry->kind != ENTRY_ROW_DELETE) {
        entry->family = change->family;
    }
    if (entry->kind >= ENTRY_COLUMN_DELETE) {
        entry->qualifier = change->qualifier;
    }
    if (entry->kind == ENTRY_COLUMN_DELETE) {
        entry->start_us = change->start_us;
        entry->end_us = change->end_us;
    }
    if (entry->kind >= ENTRY_PUT) {
        entry->timestamp_us = change->timestamp_us;
        entry->value = change->value;
        entry->aggregate = change->aggregate;
    }
}

static bool history_covers(const struct entry *delete, const struct entry *cell)
{
    if (stamp_compare(delete->stamp, cell->stamp) <= 0) {
        return false;
    }
    if (delete->kind == ENTRY_ROW_DELETE) {
        return true;
    }
    if (delete->family != cell->family || delete->kind >= ENTRY_PUT) {
        return false;
    }
    return delete->kind == ENTRY_FAMILY_DELETE ||
           (bytes_equal(delete->qualifier, cell->qualifier) &&
            delete->start_us <= cell->timestamp_us &&
            (cell->timestamp_us < delete->end_us || delete->end_us == INT64_MAX));
}

static int history_order(const void *a, const void *b)
{
    const struct entry *left = a;
    const struct entry *right = b;
    int order = entry_compare(left, right);
    return order != 0 ? order : stamp_compare(right->stamp, left->stamp);
}

/* A row at a sequence, as one layer would yield it: sorted, resolved.  Items before `from` and at
 * or behind `to` are not looked at. */
__attribute__((unused)) static size_t history_read_part(const struct history *history,
                                                        size_t from,
                                                        size_t to,
                                                        uint64_t sequence,
                                                        struct bytes row,
                                                        struct entry *entries)
{
    static struct entry all[HISTORY_MAX];
    static uint8_t sums[HISTORY_ENTRIES_MAX][8];
    size_t count = 0;
    for (size_t i = from; i < to && i < history->count; i++) {
        if (history->items[i].sequence <= sequence && bytes_equal(history->items[i].row, row)) {
            all[count++] = history->items[i].entry;
        }
    }
    qsort(all, count, sizeof *all, history_order);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_dead = false;
        for (size_t j = 0; j < count && all[i].kind >= ENTRY_PUT; j++) {
            is_dead = is_dead || (all[j].kind < ENTRY_PUT && history_covers(&all[j], &all[i]));
        }
        if (is_dead) {
            continue;
        }
        struct entry *last = used > 0 ? &entries[used - 1] : NULL;
        if (last == NULL || entry_compare(last, &all[i]) != 0) {
            cr_assert_lt(used, HISTORY_ENTRIES_MAX);
            entries[used] = all[i];
            if (all[i].kind == ENTRY_FOLD) {
                memcpy(sums[used], all[i].value.data, 8);
                entries[used].value.data = sums[used];
            }
            used++;
        } else if (all[i].kind == ENTRY_FOLD) {
            uint8_t *sum = sums[used - 1];
            uint64_t a = load_be64(sum);
            uint64_t b = load_be64(all[i].value.data);
            store_be64(sum, all[i].aggregate == AGGREGATE_INTSUM ? a + b : a > b ? a : b);
        }
    }
    return used;
}

__attribute__((unused)) static size_t history_read(const struct history *history,
                                                   uint64_t sequence,
                                                   struct bytes row,
                                                   struct entry *entries)
{
    return history_read_part(history, 0, history->count, sequence, row, entries);
}

__attribute__((unused)) static bool history_has_row(const struct history *history,
                                                    uint64_t sequence,
                                                    struct bytes row)
{
    for (size_t i = 0; i < history->count; i++) {
        if (history->items[i].sequence <= sequence && bytes_equal(history->items[i].row, row)) {
            return true;
        }
    }
    return false;
}

__attribute__((unused)) static bool history_entry_equal(const struct entry *a,
                                                        const struct entry *b)
{
    return a->kind == b->kind && a->family == b->family &&
           bytes_equal(a->qualifier, b->qualifier) && a->timestamp_us == b->timestamp_us &&
           a->start_us == b->start_us && a->end_us == b->end_us &&
           stamp_compare(a->stamp, b->stamp) == 0 && a->aggregate == b->aggregate &&
           bytes_equal(a->value, b->value);
}

#endif /* TESTS_MODEL_HISTORY_H */

/*
 * Rows of many series, in every order that hints might trip over, in tables large enough to have
 * them: what is in the table must come out in order, all of it.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/prng.h"
#include "tabletserver/storage/memtable/memtable.h"
#include "tabletserver/storage/memtable/memtable_rows.h"

#define ROWS      60000
#define KEY_BYTES 48

static char keys[ROWS][KEY_BYTES];
static struct prng prng;

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void insert_all(struct memtable *memtable, size_t batch)
{
    static const struct change put = {.kind = CHANGE_PUT, .family = 1};
    for (size_t i = 0; i < ROWS; i += batch) {
        size_t end = i + batch < ROWS ? i + batch : ROWS;
        for (size_t j = i; j < end; j++) {
            cr_assert_eq(memtable_reserve(memtable, bytes_of_text(keys[j]), &put, 1), STATUS_OK);
        }
        size_t foreseen = i;
        for (size_t j = i; j < end; j++) {
            for (; foreseen < end && foreseen < j + MEMTABLE_FORESEEN_MAX; foreseen++) {
                memtable_foresee(memtable, bytes_of_text(keys[foreseen]));
            }
            memtable_apply(memtable, j + 1, (struct stamp){j + 1, 1, 0}, bytes_of_text(keys[j]),
                           &put, 1);
        }
    }
}

/* The keys, which repeat where rows were written twice, against a walk. */
static void check_all(struct memtable *memtable)
{
    struct layer_cursor *cursor = NULL;
    struct bytes row = BYTES_EMPTY;
    bool found = false;
    qsort(keys, ROWS, KEY_BYTES, compare);
    cr_assert_eq(memtable_cursor_open(memtable, ROWS, &cursor), STATUS_OK);
    cr_assert_eq(cursor->operations->seek_row(cursor, ROW_AT_OR_AFTER, row, &row, &found),
                 STATUS_OK);
    for (size_t i = 0; i < ROWS; i++) {
        if (i > 0 && strcmp(keys[i], keys[i - 1]) == 0) {
            continue;
        }
        cr_assert(found && bytes_equal(row, bytes_of_text(keys[i])), "row %zu, %s", i, keys[i]);
        cr_assert_eq(cursor->operations->seek_row(cursor, ROW_AFTER, row, &row, &found), STATUS_OK);
    }
    cr_assert_not(found);
    cursor->operations->close(cursor);
}

static void run(void (*make_key)(size_t i), const char *expected)
{
    prng = prng_of_seed(7);
    for (size_t batch = 1; batch <= 100; batch += 33) {
        struct memtable *memtable = NULL;
        for (size_t i = 0; i < ROWS; i++) {
            make_key(i);
        }
        cr_assert_eq(memtable_create(&memtable), STATUS_OK);
        memtable_expect(memtable, bytes_of_text(expected));
        insert_all(memtable, batch);
        cr_assert(memtable_rows_check(memtable));
        check_all(memtable);
        memtable_unref(memtable);
    }
}

static void make_forward(size_t i)
{
    (void)snprintf(keys[i], KEY_BYTES, "server%zu.bbb.com#%013zu", i % 1000, i / 1000 + 1426535612);
}

static void make_backward(size_t i)
{
    (void)snprintf(keys[i], KEY_BYTES, "server%zu.bbb.com#%013zu", i % 1000, ROWS - i / 1000);
}

static void make_random(size_t i)
{
    (void)snprintf(keys[i], KEY_BYTES, "user%020llu", (unsigned long long)prng_next(&prng));
}

/* More series than there are places, some late, some twice, some that begin anew in the middle. */
static void make_mixed(size_t i)
{
    uint64_t series = prng_below(&prng, 6000);
    uint64_t time = i / 10;
    if (prng_chance(&prng, 10)) {
        time = prng_below(&prng, time + 1);
    }
    (void)snprintf(keys[i], KEY_BYTES, "m%04llu#%08llu", (unsigned long long)series,
                   (unsigned long long)time);
}

Test(memtable_series, rows_behind_their_series)
{
    run(make_forward, "");
    run(make_forward, "server");
}

Test(memtable_series, rows_before_their_series)
{
    run(make_backward, "server");
}

Test(memtable_series, no_series)
{
    run(make_random, "user");
}

Test(memtable_series, late_rows_and_more_series_than_places)
{
    run(make_mixed, "m");
    run(make_mixed, "nothing like it");
}

/* The largest rise, and the largest fall, of what the table says to hold when a row comes. */
static void measure_steps(void (*make_key)(size_t i), size_t *ret_rise, size_t *ret_fall)
{
    static const struct change put = {.kind = CHANGE_PUT, .family = 1};
    struct memtable *memtable = NULL;
    size_t before = 0;
    cr_assert_eq(memtable_create(&memtable), STATUS_OK);
    for (size_t i = 0; i < ROWS; i++) {
        make_key(i);
        cr_assert_eq(memtable_reserve(memtable, bytes_of_text(keys[i]), &put, 1), STATUS_OK);
        memtable_apply(memtable, i + 1, (struct stamp){i + 1, 1, 0}, bytes_of_text(keys[i]), &put,
                       1);
        size_t now = memtable_bytes(memtable);
        *ret_rise = now > before && now - before > *ret_rise ? now - before : *ret_rise;
        *ret_fall = now < before && before - now > *ret_fall ? before - now : *ret_fall;
        before = now;
    }
    memtable_unref(memtable);
}

Test(memtable_series, what_the_hints_hold_is_counted)
{
    size_t rise = 0;
    size_t fall = 0;
    measure_steps(make_forward, &rise, &fall);
    cr_assert_gt(rise, 300000);
    cr_assert_eq(fall, 0);
    rise = 0;
    measure_steps(make_random, &rise, &fall);
    cr_assert_gt(rise, 300000);
    cr_assert_gt(fall, 300000, "given up, and given back");
}

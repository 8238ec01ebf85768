/* Columns: packed and read again; what is damaged is refused. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/prng.h"
#include "master/heat/heat_column.h"

static const struct row_range all = {{NULL, 0}, {NULL, 0}};

static void fill(struct heat_rows *rows, uint64_t seed, size_t count)
{
    struct prng prng = prng_of_seed(seed);
    cr_assert_eq(heat_rows_init(rows, &all, 512), STATUS_OK);
    for (size_t i = 0; i < count; i++) {
        char key[24];
        struct heat_values values = {0};
        (void)snprintf(key, sizeof key, "row%06u", (unsigned)prng_below(&prng, 1000000));
        heat_rows_cut(rows, bytes_of_text(key));
        for (size_t v = 0; v < HEAT_VALUES; v++) {
            values.of[v] = prng_chance(&prng, 2) ? prng_next(&prng) >> (20 + prng_below(&prng, 40))
                                                 : 0;
        }
        const struct row_range range = {bytes_of_text(key), BYTES_EMPTY};
        heat_rows_add(rows, &range, &values);
    }
}

static struct heat_values sum_of(const struct heat_column *column)
{
    struct heat_walk walk;
    struct heat_values sum = {0};
    heat_walk_begin(&walk, bytes_of(column->packed, column->packed_bytes));
    while (heat_walk_next(&walk)) {
        for (size_t v = 0; v < HEAT_VALUES; v++) {
            sum.of[v] += walk.values.of[v];
        }
    }
    cr_assert_not(walk.broken);
    return sum;
}

Test(heat_column, what_is_packed_is_read_again)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct heat_rows rows;
        struct heat_rows again;
        fill(&rows, seed, 100);
        struct heat_column *column = heat_column_pack(&rows, 1000, 2000);
        struct heat_values sum = sum_of(column);
        cr_assert_eq(heat_rows_init(&again, &all, 512), STATUS_OK);
        heat_column_add_to(column, &again);
        for (size_t v = 0; v < HEAT_VALUES; v++) {
            uint64_t in = 0;
            uint64_t out = 0;
            for (size_t i = 0; i < rows.count; i++) {
                in += rows.rows[i]->values.of[v];
            }
            for (size_t i = 0; i < again.count; i++) {
                out += again.rows[i]->values.of[v];
            }
            cr_assert_eq(sum.of[v], in);
            cr_assert_eq(out, in);
        }
        heat_rows_deinit(&again);
        heat_rows_deinit(&rows);
        heat_column_destroy(column);
    }
}

Test(heat_column, quiet_neighbours_are_one)
{
    struct heat_rows rows;
    struct heat_walk walk;
    size_t count = 0;
    cr_assert_eq(heat_rows_init(&rows, &all, 512), STATUS_OK);
    for (char c = 'a'; c < 'z'; c++) {
        heat_rows_cut(&rows, bytes_of(&c, 1));
    }
    struct heat_values values = {.of = {[HEAT_READS] = 7}};
    const struct row_range range = {bytes_of_text("m"), bytes_of_text("n")};
    heat_rows_add(&rows, &range, &values);
    struct heat_column *column = heat_column_pack(&rows, 1, 2);
    heat_walk_begin(&walk, bytes_of(column->packed, column->packed_bytes));
    while (heat_walk_next(&walk)) {
        count++;
        if (walk.values.of[HEAT_READS] != 0) {
            cr_assert(bytes_equal(walk.range.start, bytes_of_text("m")));
            cr_assert(bytes_equal(walk.range.end, bytes_of_text("n")));
        }
    }
    cr_assert_eq(count, 3);
    heat_column_destroy(column);
    heat_rows_deinit(&rows);
}

/* Whatever is in the file, it is refused or makes sense. */
Test(heat_column, damage_is_refused_or_harmless, .timeout = 600)
{
    struct heat_rows rows;
    struct prng prng = prng_of_seed(11);
    fill(&rows, 5, 60);
    struct heat_column *column = heat_column_pack(&rows, 1000, 2000);
    uint8_t *copy = memory_allocate(column->packed_bytes);
    for (int i = 0; i < 20000; i++) {
        struct heat_column *read = NULL;
        size_t size = prng_chance(&prng, 2) ? column->packed_bytes
                                            : prng_below(&prng, column->packed_bytes);
        memcpy(copy, column->packed, column->packed_bytes);
        copy[prng_below(&prng, column->packed_bytes)] = (uint8_t)prng_next(&prng);
        enum status status = heat_column_unpack(bytes_of(copy, size), 1, 2, &read);
        if (status == STATUS_OK) {
            struct heat_rows into;
            cr_assert_eq(heat_rows_init(&into, &all, 64), STATUS_OK);
            heat_column_add_to(read, &into);
            heat_rows_check(&into);
            heat_rows_deinit(&into);
            heat_column_destroy(read);
        } else {
            cr_assert_eq(status, STATUS_CORRUPT);
        }
    }
    memory_free(copy);
    struct heat_column *read = NULL;
    cr_assert_eq(heat_column_unpack(BYTES_EMPTY, 1, 2, &read), STATUS_CORRUPT);
    cr_assert_eq(heat_column_unpack(bytes_of(column->packed, column->packed_bytes), 2, 2, &read),
                 STATUS_CORRUPT);
    heat_column_destroy(column);
    heat_rows_deinit(&rows);
}

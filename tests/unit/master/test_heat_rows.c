/* Rows of a heat map: cut where there is load, joined where there is none; nothing is lost or made. */
#include <criterion/criterion.h>

#include <stdio.h>

#include "common/base/memory.h"
#include "common/base/prng.h"
#include "master/heat/heat_rows.h"

static const struct row_range all = {{NULL, 0}, {NULL, 0}};
static struct heat_rows rows;

static void start(void)
{
    cr_assert_eq(heat_rows_init(&rows, &all, 64), STATUS_OK);
}

static void stop(void)
{
    if (rows.rows != NULL) {
        heat_rows_check(&rows);
    }
    heat_rows_deinit(&rows);
}

TestSuite(heat_rows, .init = start, .fini = stop, .timeout = 600);

static struct row_range range(const char *start, const char *end)
{
    return (struct row_range){bytes_of_text(start), bytes_of_text(end)};
}

static void add(const char *start, const char *end, uint64_t reads)
{
    const struct row_range where = range(start, end);
    struct heat_values values = {0};
    values.of[HEAT_READS] = reads;
    heat_rows_add(&rows, &where, &values);
}

static uint64_t sum(enum heat_value value)
{
    uint64_t total = 0;
    for (size_t i = 0; i < rows.count; i++) {
        total += rows.rows[i]->values.of[value];
    }
    return total;
}

static uint64_t reads_at(const char *key)
{
    return rows.rows[heat_rows_find(&rows, bytes_of_text(key))]->values.of[HEAT_READS];
}

Test(heat_rows, what_is_cut_is_shared_out_by_where)
{
    heat_rows_cut(&rows, bytes_of_text("user0000"));
    heat_rows_cut(&rows, bytes_of_text("user1000"));
    cr_assert_eq(rows.count, 3);
    add("user0000", "user1000", 1000);
    cr_assert_eq(reads_at("user0500"), 1000);
    heat_rows_cut(&rows, bytes_of_text("user0250"));
    cr_assert_eq(reads_at("user0100"), 250);
    cr_assert_eq(reads_at("user0250"), 750);
    cr_assert_eq(sum(HEAT_READS), 1000);
}

Test(heat_rows, below_the_lowest_and_above_the_highest_key_there_is_nothing)
{
    add("", "", 100);
    heat_rows_cut(&rows, bytes_of_text("m"));
    cr_assert_eq(reads_at("a") + reads_at("z"), 100);
    heat_rows_cut(&rows, bytes_of_text("p")); /* above all that anybody named */
    cr_assert_eq(reads_at("q"), 0);
    heat_rows_cut(&rows, bytes_of_text("c"));
    cr_assert_eq(reads_at("a"), 0);
}

Test(heat_rows, a_range_over_several_rows_is_shared_out_by_size)
{
    const struct row_range low = range("", "h");
    const struct row_range high = range("h", "");
    heat_rows_cut(&rows, bytes_of_text("h"));
    heat_rows_sweep(&rows, &low, 300);
    heat_rows_sweep(&rows, &high, 100);
    heat_rows_sweep_end(&rows);
    add("", "", 1000);
    cr_assert_eq(reads_at("a"), 750);
    cr_assert_eq(reads_at("x"), 250);
}

Test(heat_rows, one_key_beside_itself_is_one_place)
{
    heat_rows_cut(&rows, bytes_of_text("k"));
    add("k", "k", 5); /* two keys that were cut to the same */
    cr_assert_eq(reads_at("k"), 5);
}

Test(heat_rows, only_what_lies_inside_counts)
{
    heat_rows_deinit(&rows);
    const struct row_range part = range("d", "h");
    cr_assert_eq(heat_rows_init(&rows, &part, 64), STATUS_OK);
    add("a", "c", 100);
    add("h", "", 100);
    cr_assert_eq(sum(HEAT_READS), 0);
    const struct row_range wide = range("b", "j");
    struct heat_values values = {0};
    values.of[HEAT_READS] = 800;
    struct heat_values inside = heat_rows_clip(&rows, &wide, &values);
    cr_assert_eq(inside.of[HEAT_READS], 400);
}

Test(heat_rows, growth_goes_where_was_written)
{
    const struct row_range tablet = range("", "");
    struct heat_values written = {0};
    written.of[HEAT_WRITE_BYTES] = 100;
    heat_rows_cut(&rows, bytes_of_text("a"));
    heat_rows_cut(&rows, bytes_of_text("n"));
    heat_rows_cut(&rows, bytes_of_text("z"));
    heat_rows_sweep(&rows, &tablet, 1000);
    heat_rows_sweep_end(&rows);
    uint64_t before = rows.rows[2]->values.of[HEAT_SIZE_BYTES];
    const struct row_range where = range("n", "z");
    heat_rows_add(&rows, &where, &written);
    heat_rows_sweep(&rows, &tablet, 1600);
    heat_rows_sweep_end(&rows);
    cr_assert_eq(rows.rows[2]->values.of[HEAT_SIZE_BYTES], before + 600);
    cr_assert_eq(sum(HEAT_SIZE_BYTES), 1600);
}

static uint64_t size_at(const char *key)
{
    return rows.rows[heat_rows_find(&rows, bytes_of_text(key))]->values.of[HEAT_SIZE_BYTES];
}

static void sweep_all(uint64_t size_bytes)
{
    heat_rows_sweep(&rows, &all, size_bytes);
    heat_rows_sweep_end(&rows);
}

Test(heat_rows, keys_that_are_named_later_have_their_part_of_the_size)
{
    heat_rows_cut(&rows, bytes_of_text("0200"));
    heat_rows_cut(&rows, bytes_of_text("0600"));
    heat_rows_name(&rows, bytes_of_text("0999"));
    sweep_all(8000);
    heat_rows_cut(&rows, bytes_of_text("0100")); /* lower than all that had been named */
    sweep_all(9000);
    cr_assert_eq(size_at("0050"), 0, "nobody has named a key down there");
    cr_assert_geq(size_at("0150"), 950);
    cr_assert_leq(size_at("0150"), 1050);
    cr_assert_eq(sum(HEAT_SIZE_BYTES), 9000);
    uint64_t before = size_at("0700");
    sweep_all(9000);
    cr_assert_eq(size_at("0700"), before, "once it has a size it keeps it");
}

Test(heat_rows, a_key_far_off_takes_no_more_than_a_row)
{
    heat_rows_cut(&rows, bytes_of_text("0200"));
    heat_rows_cut(&rows, bytes_of_text("0600"));
    heat_rows_name(&rows, bytes_of_text("0999"));
    sweep_all(8000);
    heat_rows_cut(&rows, bytes_of_text("0998"));
    heat_rows_cut(&rows, bytes_of_text("zzzz"));
    sweep_all(8000);
    cr_assert_gt(size_at("0200") + size_at("0600"), 5000);
    cr_assert_eq(sum(HEAT_SIZE_BYTES), 8000);
}

Test(heat_rows, load_without_size_goes_to_its_neighbour)
{
    const struct row_range middle = range("c", "m");
    heat_rows_cut(&rows, bytes_of_text("b"));
    heat_rows_cut(&rows, bytes_of_text("c"));
    heat_rows_cut(&rows, bytes_of_text("h"));
    heat_rows_cut(&rows, bytes_of_text("m"));
    heat_rows_cut(&rows, bytes_of_text("p"));
    add("", "b", 7);
    add("b", "c", 5);
    add("p", "", 3);
    heat_rows_join_unsized(&rows);
    cr_assert_eq(rows.count, 6, "nothing is known of sizes");
    heat_rows_sweep(&rows, &middle, 1000);
    heat_rows_sweep_end(&rows);
    heat_rows_join_unsized(&rows);
    cr_assert_eq(rows.count, 2);
    cr_assert_eq(reads_at("a"), 12);
    cr_assert_eq(reads_at("k"), 3);
    cr_assert_eq(sum(HEAT_READS), 15);
    cr_assert_eq(rows.rows[1]->key[0], 'h');
}

Test(heat_rows, beyond_what_was_named_it_is_as_dense_as_beside)
{
    const struct row_range middle = range("c", "m");
    heat_rows_cut(&rows, bytes_of_text("c"));
    heat_rows_cut(&rows, bytes_of_text("h"));
    heat_rows_cut(&rows, bytes_of_text("m"));
    heat_rows_sweep(&rows, &middle, 1000);
    heat_rows_sweep_end(&rows);
    uint64_t beside = rows.rows[1]->width;
    add("", "c", 10);
    add("c", "h", 40);
    add("h", "m", 1);
    add("m", "", 100000);
    heat_rows_join_unsized(&rows);
    cr_assert_eq(rows.count, 4);
    cr_assert_eq(rows.rows[0]->width, beside / 4);
    cr_assert_eq(rows.rows[3]->width, 250, "a hot row stays one");
}

Test(heat_rows, are_bounded_and_finer_where_there_is_load)
{
    char key[16];
    struct prng prng = prng_of_seed(3);
    uint64_t added = 0;
    for (int i = 0; i < 20000; i++) {
        bool hot = !prng_chance(&prng, 10);
        unsigned at = hot ? 5000 + (unsigned)prng_below(&prng, 100)
                          : (unsigned)prng_below(&prng, 9999);
        (void)snprintf(key, sizeof key, "%04u", at);
        heat_rows_cut(&rows, bytes_of_text(key));
        add(key, "", 0);
        char next[16];
        (void)snprintf(next, sizeof next, "%04u", at + 1);
        add(key, next, 10);
        added += 10;
    }
    cr_assert_leq(rows.count, 64);
    cr_assert_eq(sum(HEAT_READS), added);
    size_t inside = heat_rows_find(&rows, bytes_of_text("5100")) -
                    heat_rows_find(&rows, bytes_of_text("5000"));
    cr_assert_gt(inside, rows.count / 4, "%zu of %zu rows", inside, rows.count);
}

Test(heat_rows, joining_keeps_sums_and_what_stands_out)
{
    char key[16];
    for (unsigned i = 0; i < 32; i++) {
        (void)snprintf(key, sizeof key, "%02u", i);
        heat_rows_cut(&rows, bytes_of_text(key));
        add(key, "", 0);
    }
    for (unsigned i = 0; i < 32; i++) {
        char next[16];
        (void)snprintf(key, sizeof key, "%02u", i);
        (void)snprintf(next, sizeof next, "%02u", i + 1);
        add(key, next, i == 20 ? 1000 : 1);
    }
    heat_rows_join(&rows, 4);
    cr_assert_leq(rows.count, 4);
    cr_assert_eq(sum(HEAT_READS), 1031);
    cr_assert_eq(reads_at("20"), 1000, "the hot one stands alone");
}

Test(heat_rows, without_memory_there_is_a_boundary_less_and_nothing_else)
{
    add("", "", 10);
    memory_fail_arm(0, 1);
    heat_rows_cut(&rows, bytes_of_text("k"));
    add("", "", 5);
    memory_fail_disarm();
    cr_assert_eq(rows.count, 1);
    cr_assert_eq(sum(HEAT_READS), 15);
}

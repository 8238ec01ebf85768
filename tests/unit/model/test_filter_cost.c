/*
 * What evaluation leaves unread: every filter here runs over a wide row whose cells are counted.
 */
#include <criterion/criterion.h>

#include <stdio.h>

#include "common/model/filter.h"
#include "tests/support/filters.h"
#include "tests/support/row_source.h"

/* A wide row: `columns` columns of family 1 with three cells each, and one cell in family 2. */

#define WIDE_COLUMNS 1000

static struct cell wide_row[WIDE_COLUMNS * 3 + 1];
static char wide_names[WIDE_COLUMNS][8];

static void make_wide_row(void)
{
    size_t count = 0;
    for (size_t i = 0; i < WIDE_COLUMNS; i++) {
        snprintf(wide_names[i], sizeof wide_names[i], "q%04zu", i);
        for (int64_t ms = 3; ms >= 1; ms--) {
            wide_row[count++] = (struct cell){.family = 1,
                                              .qualifier = bytes_of_text(wide_names[i]),
                                              .timestamp_us = ms * 1000,
                                              .value = bytes_of_text("v")};
        }
    }
    wide_row[count] = (struct cell){.family = 2, .qualifier = bytes_of_text("end")};
}

struct cost {
    uint64_t pulled;
    uint64_t rewinds;
    uint64_t out;
};

static enum status count_cell(void *context, const struct cell *cell)
{
    (void)cell;
    (*(uint64_t *)context)++;
    return STATUS_OK;
}

static struct cost cost_of_program(struct filter_program *program, bool is_predicate)
{
    struct cost cost = {0};
    struct row_source rows = row_source_of(wide_row, sizeof wide_row / sizeof *wide_row);
    struct cell_source source = row_source_cells(&rows);
    bool any = false;
    enum status status = filter_run(program, bytes_of_text("row"), &source,
                                    is_predicate ? NULL : count_cell, &cost.out, &any, NULL);
    cr_assert_eq(status, STATUS_OK);
    cost.pulled = rows.pulled;
    cost.rewinds = rows.rewinds;
    return cost;
}

static struct cost cost_of(struct filter filter)
{
    make_wide_row();
    struct filter_program *program = compile(&filter);
    struct cost cost = cost_of_program(program, false);
    filter_destroy(program);
    return cost;
}

/* A family is wanted from the column's place in it to behind it, and no further. */
Test(filter_cost, columns_without_a_family_are_sought_in_each)
{
    struct cost cost = cost_of(of_bytes(FILTER_QUALIFIER_REGEX, "end"));
    cr_assert_eq(cost.out, 1);
    cr_assert_lt(cost.pulled, 10, "%lu", (unsigned long)cost.pulled);
    cost = cost_of(of_bytes(FILTER_QUALIFIER_REGEX, "q0010"));
    cr_assert_eq(cost.out, 3);
    cr_assert_lt(cost.pulled, 20, "%lu", (unsigned long)cost.pulled);
    const struct filter names[] = {of_bytes(FILTER_QUALIFIER_REGEX, "q0001"),
                                   of_bytes(FILTER_QUALIFIER_REGEX, "q0900")};
    cost = cost_of(INTERLEAVE(names));
    cr_assert_eq(cost.out, 6);
    cr_assert_lt(cost.pulled, 30, "%lu", (unsigned long)cost.pulled);
}

Test(filter_cost, rows_are_skipped_without_their_cells)
{
    make_wide_row();
    const struct filter keys[] = {of_bytes(FILTER_ROW_KEY_REGEX, "a.*"),
                                  of_bytes(FILTER_ROW_KEY_REGEX, "b.*")};
    struct filter either = INTERLEAVE(keys);
    struct filter_program *program = compile(&either);
    cr_assert_not(filter_skips_row(program, bytes_of_text("apple")));
    cr_assert_not(filter_skips_row(program, bytes_of_text("banana")));
    cr_assert(filter_skips_row(program, bytes_of_text("cherry")));
    cr_assert_eq(cost_of_program(program, false).pulled, 0);
    filter_destroy(program);

    const struct filter parts[] = {of_bytes(FILTER_ROW_KEY_REGEX, "a.*"), of_kind(FILTER_PASS_ALL),
                                   of_kind(FILTER_BLOCK_ALL)};
    struct filter condition = of_condition(parts);
    program = compile(&condition);
    cr_assert_not(filter_skips_row(program, bytes_of_text("apple")));
    cr_assert(filter_skips_row(program, bytes_of_text("cherry")));
    filter_destroy(program);
}

Test(filter_cost, limits_stop_early)
{
    cr_assert_eq(cost_of(of_count(FILTER_CELLS_PER_ROW_LIMIT, 1)).pulled, 1);
    cr_assert_eq(cost_of(of_count(FILTER_CELLS_PER_ROW_LIMIT, 7)).pulled, 7);
    cr_assert_eq(cost_of(of_count(FILTER_CELLS_PER_COLUMN_LIMIT, 1)).pulled, WIDE_COLUMNS + 1);
    cr_assert_eq(cost_of(of_kind(FILTER_BLOCK_ALL)).pulled, 0);
    struct filter newest = {.kind = FILTER_TIMESTAMP_RANGE, .start_us = 3000};
    cr_assert_eq(cost_of(newest).pulled, WIDE_COLUMNS * 2 + 1);
    const struct filter first_columns[] = {of_count(FILTER_CELLS_PER_COLUMN_LIMIT, 1),
                                           of_count(FILTER_CELLS_PER_ROW_LIMIT, 5)};
    cr_assert_eq(cost_of(CHAIN(first_columns)).pulled, 5);
    const struct filter counted_first[] = {of_count(FILTER_CELLS_PER_ROW_LIMIT, 7),
                                           of_count(FILTER_CELLS_PER_COLUMN_LIMIT, 1)};
    struct cost cost = cost_of(CHAIN(counted_first));
    cr_assert_eq(cost.pulled, 7); /* the row limit has to see every cell */
    cr_assert_eq(cost.out, 3);
}

Test(filter_cost, interleave_stops_when_all_members_have_enough)
{
    const struct filter members[] = {of_count(FILTER_CELLS_PER_ROW_LIMIT, 2),
                                     of_count(FILTER_CELLS_PER_ROW_LIMIT, 5)};
    cr_assert_eq(cost_of(INTERLEAVE(members)).pulled, 5);
    const struct filter names[] = {of_bytes(FILTER_QUALIFIER_REGEX, "q000[01]"),
                                   of_bytes(FILTER_QUALIFIER_REGEX, "q05(0|1).")};
    const struct filter chain[] = {INTERLEAVE(names), of_count(FILTER_CELLS_PER_ROW_LIMIT, 4)};
    cr_assert_lt(cost_of(CHAIN(chain)).pulled, 7); /* the second member alone would never stop */
}

Test(filter_cost, column_ranges_seek)
{
    struct cost cost = cost_of(of_columns("cf", "q0500", "q0502"));
    cr_assert_eq(cost.out, 6);
    cr_assert_eq(cost.pulled, 7);
    cost = cost_of(of_columns("stats", "", NULL));
    cr_assert_eq(cost.out, 1);
    cr_assert_eq(cost.pulled, 1);
    cost = cost_of(of_columns("cf", "q0502", "q0500"));
    cr_assert_eq(cost.out, 0);
    cr_assert_eq(cost.pulled, 0);

    const struct filter named[] = {of_bytes(FILTER_QUALIFIER_REGEX, "q0700"),
                                   of_bytes(FILTER_FAMILY_REGEX, "cf"),
                                   of_count(FILTER_CELLS_PER_COLUMN_LIMIT, 1)};
    cost = cost_of(CHAIN(named));
    cr_assert_eq(cost.out, 1);
    cr_assert_leq(cost.pulled, 2);
    const struct filter prefixed[] = {of_bytes(FILTER_FAMILY_REGEX, "cf"),
                                      of_bytes(FILTER_QUALIFIER_REGEX, "q030.*")};
    cost = cost_of(CHAIN(prefixed));
    cr_assert_eq(cost.out, 30);
    cr_assert_eq(cost.pulled, 31);
}

Test(filter_cost, named_columns_of_an_interleave_are_sought_one_by_one)
{
    const struct filter columns[] = {of_columns("cf", "q0900", "q0901"),
                                     of_columns("cf", "q0100", "q0101"),
                                     of_columns("stats", "e", "f")};
    const struct filter chain[] = {of_bytes(FILTER_FAMILY_REGEX, "cf|stats"), INTERLEAVE(columns),
                                   of_count(FILTER_CELLS_PER_COLUMN_LIMIT, 1)};
    struct cost cost = cost_of(CHAIN(chain));
    cr_assert_eq(cost.out, 3);
    cr_assert_lt(cost.pulled, 20);
    cr_assert_leq(cost.rewinds, 3);
}

Test(filter_cost, families_between_are_sought_over)
{
    static struct cell row[302];
    make_wide_row();
    row[0] = (struct cell){.family = 1, .qualifier = bytes_of_text("x")};
    for (size_t i = 0; i < 300; i++) {
        row[1 + i] = wide_row[i];
        row[1 + i].family = 2;
    }
    row[301] = (struct cell){.family = 3, .qualifier = bytes_of_text("x")};
    struct filter filter = of_bytes(FILTER_FAMILY_REGEX, "cf(\\.x)?");
    struct filter_program *program = compile(&filter);
    struct row_source rows = row_source_of(row, 302);
    struct cell_source source = row_source_cells(&rows);
    uint64_t out = 0;
    bool any = false;
    cr_assert_eq(filter_run(program, bytes_of_text("row"), &source, count_cell, &out, &any, NULL),
                 STATUS_OK);
    cr_assert_eq(out, 2);
    cr_assert_lt(rows.pulled, 10);
    filter_destroy(program);
}

Test(filter_cost, a_counter_in_front_forbids_the_seek)
{
    const struct filter chain[] = {of_count(FILTER_CELLS_PER_ROW_LIMIT, 10),
                                   of_columns("cf", "q0500", "q0502")};
    struct cost cost = cost_of(CHAIN(chain));
    cr_assert_eq(cost.out, 0);
    cr_assert_eq(cost.pulled, 10);
}

Test(filter_cost, predicates_end_at_the_first_cell)
{
    make_wide_row();
    struct filter_program *program = compile(NULL);
    cr_assert_eq(cost_of_program(program, true).pulled, 1);
    filter_destroy(program);
    const struct filter parts[] = {of_bytes(FILTER_QUALIFIER_REGEX, "q000[12]"),
                                   of_count(FILTER_CELLS_PER_ROW_LIMIT, 1),
                                   of_kind(FILTER_PASS_ALL)};
    /* Three cells skipped by column, one that matches; then one for the result. */
    struct cost cost = cost_of(of_condition(parts));
    cr_assert_eq(cost.out, 1);
    cr_assert_leq(cost.pulled, 4);
}

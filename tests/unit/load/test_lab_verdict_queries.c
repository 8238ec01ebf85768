/* The verdict on queries: those that look at much, are given much or never end. */
#include "tests/support/lab_results.h"

Test(lab_verdict, queries_that_look_at_much_are_named)
{
    struct lab_result *result = result_of(&LAB_GAMES);
    struct lab_phase *query = &result->variants[0].queries[0];
    set_writes(&result->variants[0], EVEN);
    query->has_run = true;
    query->operations = 10;
    query->rows_seen = 20000;
    query->rows_found = 100;
    lab_verdict(result);
    cr_assert(has_fault(&result->variants[0], LAB_LOOKS_AT_MUCH));
    SAYS(result->variants[0].verdict, "“a player's latest ten games” looks at 200 rows for each");
    SAYS(result->variants[0].verdict, ": begin with what every query names: GAME#PLAYER#DATE");
    query->rows_found = 20000;
    lab_verdict(result);
    cr_assert_eq(result->variants[0].fault_count, 0);
    drop(result);
}

Test(lab_verdict, queries_that_never_end_are_named)
{
    struct lab_result *result = result_of(&LAB_GAMES);
    struct lab_phase *query = &result->variants[1].queries[1];
    set_writes(&result->variants[1], EVEN);
    query->has_run = true;
    query->length_s = 3;
    query->cut_off = 64;
    lab_verdict(result);
    cr_assert(has_fault(&result->variants[1], LAB_NO_ANSWER));
    SAYS(result->variants[1].verdict, "not one “all games of 8 hours” came to its end in 3 s");
    query->operations = 1;
    lab_verdict(result);
    cr_assert_not(has_fault(&result->variants[1], LAB_NO_ANSWER));
    drop(result);
}

static void give(struct lab_variant_result *variant, size_t query, uint64_t bytes)
{
    variant->queries[query].has_run = true;
    variant->queries[query].operations = 100;
    variant->queries[query].bytes_given = 100 * bytes;
}

Test(lab_verdict, what_is_given_unasked_is_a_fault)
{
    struct lab_result *result = result_of(&LAB_BALLOON);
    for (size_t v = 0; v < 4; v++) {
        set_writes(&result->variants[v], EVEN);
        give(&result->variants[v], 1, 4000);
        give(&result->variants[v], 2, v == 2 ? 3400 : 700);
    }
    lab_verdict(result);
    cr_assert_not(has_fault(&result->variants[2], LAB_GIVES_MUCH), "five times it is not");
    give(&result->variants[2], 2, 3630);
    give(&result->variants[0], 2, 22);
    lab_verdict(result);
    cr_assert(has_fault(&result->variants[2], LAB_GIVES_MUCH));
    SAYS(result->variants[2].verdict,
         "is given 3630 bytes, 165 × those of new columns: give a measure");
    give(&result->variants[3], 2, 111);
    lab_verdict(result);
    cr_assert_not(has_fault(&result->variants[3], LAB_GIVES_MUCH),
                  "so few are nothing to speak of");
    drop(result);
}

/* Of a query that scans all there is one may come to its end in the time, and it may have asked for next to nothing. */
Test(lab_verdict, what_few_queries_were_given_is_no_measure)
{
    struct lab_result *result = result_of(&LAB_QUOTE);
    struct lab_phase *lean = &result->variants[0].queries[0];
    struct lab_phase *other = &result->variants[1].queries[0];
    for (size_t v = 0; v < 2; v++) {
        set_writes(&result->variants[v], EVEN);
        give(&result->variants[v], 0, 2101);
    }
    lean->operations = LAB_QUERIES_LEAST - 1;
    lean->bytes_given = lean->operations * 176;
    lab_verdict(result);
    cr_assert_eq(result->variants[1].fault_count, 0, "%s", result->variants[1].verdict);
    lean->operations = LAB_QUERIES_LEAST;
    lean->bytes_given = lean->operations * 176;
    lab_verdict(result);
    cr_assert(has_fault(&result->variants[1], LAB_GIVES_MUCH));
    other->operations = LAB_QUERIES_LEAST - 1;
    other->bytes_given = other->operations * 2101;
    lab_verdict(result);
    cr_assert_eq(result->variants[1].fault_count, 0, "nor is it said of few");
    drop(result);
}

/* Queries of which so many cells were looked at, each. */
static void look_at(struct lab_variant_result *variant, size_t query, uint64_t cells)
{
    variant->queries[query].has_run = true;
    variant->queries[query].operations = 10;
    variant->queries[query].cells_seen = 10 * cells;
    variant->queries[query].rows_seen = 100;
    variant->queries[query].rows_found = 100;
    variant->queries[query].rows = 100;
}

Test(lab_verdict, queries_that_look_at_many_more_cells_than_the_leanest_are_named)
{
    struct lab_result *result = result_of(&LAB_COLUMNS);
    for (size_t v = 0; v < 4; v++) {
        set_writes(&result->variants[v], EVEN);
    }
    look_at(&result->variants[0], 0, 240);
    look_at(&result->variants[1], 0, 960);
    look_at(&result->variants[2], 0, 719);
    lab_verdict(result);
    cr_assert_eq(result->variants[0].fault_count, 0);
    cr_assert_eq(result->variants[2].fault_count, 0, "not quite three times as many");
    cr_assert_eq(result->variants[3].fault_count, 0, "of what is not known nothing is said");
    cr_assert(has_fault(&result->variants[1], LAB_LOOKS_AT_CELLS));
    SAYS(result->variants[1].verdict, "“a machine's processors, 10 minutes” looks at 960 cells, "
                                      "4 × those of row a metric: give what is read together");
    look_at(&result->variants[0], 0, 9);
    look_at(&result->variants[1], 0, 99);
    look_at(&result->variants[2], 0, 99);
    lab_verdict(result);
    cr_assert_eq(result->variants[1].fault_count, 0, "so few are nothing to speak of");
    look_at(&result->variants[1], 0, 960);
    result->variants[1].queries[0].rows = 60;
    lab_verdict(result);
    cr_assert_not(has_fault(&result->variants[1], LAB_LOOKS_AT_CELLS), "it is the rows");
    drop(result);
}

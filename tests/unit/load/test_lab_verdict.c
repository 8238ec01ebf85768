/*
 * The lab's verdicts are made of figures: each fault of the writes where its figures are, and nowhere else.  Beside it:
 * test_lab_verdict_queries.c, test_lab_verdict_refusals.c (what the cluster refused meanwhile), test_lab_verdict_variants.c
 * (which to take).
 */
#include "tests/support/lab_results.h"

/* --- faults ------------------------------------------------------------------------------------ */

Test(lab_verdict, one_tablet_at_its_end_is_monotonic)
{
    struct lab_result *result = result_of(&LAB_BATTERY);
    set_writes(&result->variants[0], ONE);
    result->variants[0].write.behind = 990;
    set_writes(&result->variants[1], EVEN);
    lab_verdict(result);
    cr_assert(has_fault(&result->variants[0], LAB_MONOTONIC));
    SAYS(result->variants[0].verdict, "97 % of the writes hit one tablet");
    SAYS(result->variants[0].verdict, "BATTERY#TS grows at its end only");
    SAYS(result->variants[0].verdict, ": promote USER in front of the time, or salt");
    cr_assert_eq(result->variants[1].fault_count, 0);
    SAYS(result->variants[1].verdict, "the busiest of 4 tablets took 25 %");
    cr_assert_null(strstr(result->variants[1].verdict, "keep a second table"));
    drop(result);
}

/* Named bad, and yet its figures are good: nothing is said against it. */
Test(lab_verdict, figures_count_and_not_names)
{
    struct lab_result *result = result_of(&LAB_BATTERY);
    set_writes(&result->variants[0], EVEN);
    result->variants[0].write.behind = 1000;
    lab_verdict(result);
    cr_assert_eq(result->variants[0].fault_count, 0);
    drop(result);
}

Test(lab_verdict, one_tablet_all_over_it_is_a_hot_range)
{
    struct lab_result *result = result_of(&LAB_SENSOR);
    set_writes(&result->variants[0], ONE);
    result->variants[0].write.behind = 30;
    lab_verdict(result);
    cr_assert(has_fault(&result->variants[0], LAB_HOT_RANGE));
    cr_assert_not(has_fault(&result->variants[0], LAB_MONOTONIC));
    SAYS(result->variants[0].verdict, "side by side under DATE#METER");
    drop(result);
}

Test(lab_verdict, a_popular_user_is_named)
{
    struct lab_result *result = result_of(&LAB_CELEBRITY);
    struct lab_phase *write = &result->variants[0].write;
    set_writes(&result->variants[0], ONE);
    for (int i = 0; i < 1000; i++) {
        lab_frequent_add(&write->by_who, i % 5 == 0 ? 1000 + (uint64_t)i : 42, NULL, 0);
    }
    lab_verdict(result);
    cr_assert(has_fault(&result->variants[0], LAB_POPULAR_SERIES));
    SAYS(result->variants[0].verdict, "80 % of them are about one user, u000042");
    drop(result);
}

Test(lab_verdict, a_popular_row_is_named)
{
    struct lab_result *result = result_of(&LAB_GARDEN);
    struct lab_phase *write = &result->variants[1].write;
    set_writes(&result->variants[1], ONE);
    for (int i = 0; i < 1000; i++) {
        lab_frequent_add(&write->by_row, i % 2 == 0 ? 1 : (uint64_t)i + 10, "ROW7", 4);
    }
    lab_verdict(result);
    cr_assert(has_fault(&result->variants[1], LAB_POPULAR_ROW));
    SAYS(result->variants[1].verdict, "50 % of the writes change one row, ROW7");
    drop(result);
}

Test(lab_verdict, rows_without_bound_are_a_fault_of_those_that_add_up_only)
{
    struct lab_result *result = result_of(&LAB_GARDEN);
    for (size_t v = 0; v < 2; v++) {
        set_writes(&result->variants[v], EVEN);
        for (uint64_t i = 0; i < 1000; i++) {
            lab_frequent_add(&result->variants[v].write.by_row, i % 20, "VEGGIEGARDEN", 12);
        }
    }
    lab_verdict(result);
    cr_assert(has_fault(&result->variants[0], LAB_GROWING_ROW));
    SAYS(result->variants[0].verdict, "VEGGIEGARDEN by 50 cells");
    cr_assert_not(has_fault(&result->variants[1], LAB_GROWING_ROW));
    drop(result);
}

Test(lab_verdict, reading_first_is_compared_with_the_fastest_that_does_not)
{
    struct lab_result *result = result_of(&LAB_DONATIONS);
    for (size_t v = 0; v < 3; v++) {
        set_writes(&result->variants[v], EVEN);
    }
    result->variants[2].write.operations = 4000;
    lab_verdict(result);
    cr_assert(has_fault(&result->variants[0], LAB_READS_FIRST));
    SAYS(result->variants[0].verdict, "0.25 × the writes of aggregate");
    cr_assert_not(has_fault(&result->variants[2], LAB_READS_FIRST));
    drop(result);
}

Test(lab_verdict, many_bytes_are_compared_with_the_least)
{
    struct lab_result *result = result_of(&LAB_METRIC);
    for (size_t v = 0; v < 3; v++) {
        set_writes(&result->variants[v], EVEN);
    }
    result->variants[2].event_bytes = 150;
    lab_verdict(result);
    cr_assert_not(has_fault(&result->variants[1], LAB_HEAVY));
    cr_assert(has_fault(&result->variants[2], LAB_HEAVY));
    SAYS(result->variants[2].verdict, "150 bytes, 3 × those of by time: shorten the names");
    drop(result);
}

/* --- sums, ends -------------------------------------------------------------------------------- */

Test(lab_verdict, sums_are_told)
{
    struct lab_result *result = result_of(&LAB_DONATIONS);
    set_writes(&result->variants[2], EVEN);
    result->variants[2].sums_checked = 100;
    lab_verdict(result);
    SAYS(result->variants[2].verdict, "all 100 sums are exact");
    result->variants[2].sums_wrong = 1;
    (void)snprintf(result->variants[2].sums_example, LAB_ERROR_BYTES, "sum 3 is 4");
    lab_verdict(result);
    cr_assert(has_fault(&result->variants[2], LAB_WRONG_SUMS));
    SAYS(result->variants[2].verdict, "1 of 100 sums are WRONG: sum 3 is 4");
    drop(result);
}

Test(lab_verdict, what_failed_is_no_schema_s_fault)
{
    struct lab_result *result = result_of(&LAB_BATTERY);
    set_writes(&result->variants[0], ONE);
    (void)snprintf(result->variants[0].failure, LAB_ERROR_BYTES, "its table could not be made: X");
    result->variants[1].has_run = true;
    (void)snprintf(result->variants[1].write.first_error, LAB_ERROR_BYTES, "UNAVAILABLE: gone");
    lab_verdict(result);
    cr_assert_str_eq(result->variants[0].verdict, "its table could not be made: X");
    SAYS(result->variants[1].verdict, "not one write came to its end: UNAVAILABLE: gone");
    cr_assert_eq(result->variants[0].fault_count + result->variants[1].fault_count, 0);
    drop(result);
}

Test(lab_verdict, what_was_interrupted_is_not_judged)
{
    struct lab_result *result = result_of(&LAB_BATTERY);
    result->variants[0].has_run = true;
    result->interrupted = true;
    lab_verdict(result);
    cr_assert_str_eq(result->variants[0].verdict, "it was interrupted before its writes");
    cr_assert_eq(result->variants[0].fault_count, 0);
    drop(result);
}

Test(lab_verdict, one_tablet_cannot_spread)
{
    struct lab_result *result = result_of(&LAB_BATTERY);
    set_writes(&result->variants[1], ONE);
    result->variants[1].tablets_after = 1;
    lab_verdict(result);
    cr_assert_eq(result->variants[1].fault_count, 0);
    SAYS(result->variants[1].verdict, "--presplit");
    drop(result);
}

Test(lab_verdict, fits_whatever_it_says)
{
    struct lab_result *result = result_of(&LAB_CELEBRITY);
    struct lab_variant_result *variant = &result->variants[0];
    char key[LAB_FREQUENT_TEXT_BYTES];
    memset(key, 'k', sizeof key);
    set_writes(variant, ONE);
    lab_frequent_add(&variant->write.by_row, 1, key, sizeof key);
    variant->event_bytes = 1e9;
    set_writes(&result->variants[1], EVEN);
    variant->sums_checked = 5;
    variant->sums_wrong = 5;
    memset(variant->sums_example, 'x', sizeof variant->sums_example - 1);
    lab_verdict(result);
    cr_assert(strlen(variant->verdict) < LAB_SENTENCE_BYTES);
    drop(result);
}

/* Of what the cluster has refused meanwhile, what the verdict on the writes says: what fits, and only there. */
#include "tests/support/lab_results.h"

Test(lab_verdict, refusals_stand_between_where_the_writes_go_and_the_remedy)
{
    struct lab_result *result = result_of(&LAB_BATTERY);
    struct lab_variant_result *variant = &result->variants[0];
    set_writes(variant, ONE);
    variant->write.behind = 990;
    lab_verdict(result);
    cr_assert_null(strstr(variant->verdict, "refused"), "nothing was: %s", variant->verdict);
    refuse(variant, "monotonic", 1);
    lab_verdict(result);
    SAYS(variant->verdict, "grows at its end only; splitting refused: monotonic; promote USER in "
                           "front of the time, or salt");
    drop(result);
}

Test(lab_verdict, two_reasons_of_refusals_are_said_the_more_frequent_first)
{
    struct lab_result *result = result_of(&LAB_BATTERY);
    struct lab_variant_result *variant = &result->variants[0];
    set_writes(variant, ONE);
    variant->write.behind = 990;
    variant->event_bytes = 100;
    set_writes(&result->variants[1], EVEN);
    refuse(variant, "too_few", 2);
    refuse(variant, "alone", 1);
    refuse(variant, "monotonic", 12);
    lab_verdict(result);
    SAYS(variant->verdict, "; splitting refused: monotonic, too_few; an event takes 100 bytes, 2 × "
                           "those of promoted: promote USER");
    drop(result);
}

/* A tablet may have been hot while the table was filled. */
Test(lab_verdict, refusals_are_not_said_of_writes_that_are_spread)
{
    struct lab_result *result = result_of(&LAB_METRIC);
    for (size_t v = 0; v < 3; v++) {
        set_writes(&result->variants[v], EVEN);
    }
    result->variants[2].event_bytes = 150;
    refuse(&result->variants[1], "monotonic", 3);
    refuse(&result->variants[2], "monotonic", 3);
    lab_verdict(result);
    cr_assert_null(strstr(result->variants[1].verdict, "refused"));
    cr_assert(has_fault(&result->variants[2], LAB_HEAVY));
    cr_assert_null(strstr(result->variants[2].verdict, "refused"));
    drop(result);
}

/* The master decides some seconds late: what it says of queries may fall into the writes. */
Test(lab_verdict, the_reason_that_fits_the_fault_is_said_first)
{
    struct lab_result *result = result_of(&LAB_BATTERY);
    struct lab_variant_result *variant = &result->variants[0];
    set_writes(variant, ONE);
    variant->write.behind = 990;
    refuse(variant, "too_wide", 14);
    refuse(variant, "cooling_down", 8);
    refuse(variant, "monotonic", 2);
    lab_verdict(result);
    SAYS(variant->verdict, "; splitting refused: monotonic, too_wide; promote USER");
    drop(result);
}

/* A split a moment ago says nothing of the keys: time cures it. */
Test(lab_verdict, what_only_has_to_wait_is_no_reason)
{
    struct lab_result *result = result_of(&LAB_BATTERY);
    struct lab_variant_result *variant = &result->variants[0];
    set_writes(variant, ONE);
    variant->write.behind = 990;
    refuse(variant, "cooling_down", 8);
    lab_verdict(result);
    cr_assert_null(strstr(variant->verdict, "refused"));
    SAYS(variant->verdict, "grows at its end only: promote USER");
    refuse(variant, "monotonic", 1);
    lab_verdict(result);
    SAYS(variant->verdict, "; splitting refused: monotonic; promote USER");
    drop(result);
}

Test(lab_verdict, what_was_refused_of_queries_is_not_said_of_writes)
{
    struct lab_result *result = result_of(&LAB_BATTERY);
    struct lab_variant_result *variant = &result->variants[0];
    set_writes(variant, ONE);
    variant->write.behind = 990;
    refuse(variant, "monotonic", 1);
    for (int i = 0; i < 10; i++) {
        struct edubba_event event = {.kind = "refuse", .reason = "too_wide"};
        lab_decided_add(&variant->decided, &event);
    }
    lab_verdict(result);
    SAYS(variant->verdict, "; splitting refused: monotonic; promote USER");
    drop(result);
}

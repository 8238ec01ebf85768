/* Variants beside each other: how much better than the bad one, which to take for what, why a cure does not win. */
#include "tests/support/lab_results.h"

Test(lab_verdict, variants_are_compared_with_the_bad_one)
{
    struct lab_result *result = result_of(&LAB_BATTERY);
    for (size_t v = 0; v < 3; v++) {
        set_writes(&result->variants[v], EVEN);
        result->variants[v].write.operations = 1000 * (v + 1);
    }
    lab_verdict(result);
    cr_assert_str_eq(result->verdict, "compared with “by time”: writes promoted 2 ×, salted 3 ×");
    result->rate = 1000;
    result->variants[1].write.p99_ns = 500000;
    lab_verdict(result);
    SAYS(result->verdict, "quickness of writes at p99 promoted 4 ×, salted 1 ×");
    drop(result);
}

Test(lab_verdict, what_to_take_is_said_for_writes_and_each_query)
{
    struct lab_result *result = result_of(&LAB_BATTERY);
    const double rates[][3] = {{900, 1000, 800}, {1, 1000, 2}, {100, 0, 90}, {500, 1000, 950}};
    for (size_t v = 0; v < 3; v++) {
        set_writes(&result->variants[v], v == 0 ? ONE : EVEN);
        result->variants[v].write.operations = (uint64_t)rates[0][v];
        for (size_t query = 0; query < 3; query++) {
            struct lab_phase *phase = &result->variants[v].queries[query];
            phase->has_run = true;
            phase->length_s = 1;
            phase->operations = (uint64_t)rates[1 + query][v];
        }
    }
    result->variants[0].write.behind = 1000;
    lab_verdict(result);
    cr_assert_str_eq(
        result->choice,
        "For writes take promoted or salted; for \u201ca user's reports of 2 s\u201d promoted; "
        "for \u201call reports of 0.5 s\u201d by time or salted; for \u201cone report\u201d promoted "
        "or salted",
        "%s", result->choice);
    result->variants[1].has_run = false;
    result->variants[2].sums_wrong = 1;
    lab_verdict(result);
    cr_assert_str_eq(
        result->choice,
        "For \u201ca user's reports of 2 s\u201d take by time; for \u201call reports of 0.5 s\u201d by time; "
        "for \u201cone report\u201d by time",
        "%s", result->choice);
    result->variants[2].has_run = false;
    lab_verdict(result);
    cr_assert_str_empty(result->choice);
    drop(result);
}

/* A hotspot that costs nothing is explained by what hides it, where that is so and nowhere else. */
Test(lab_verdict, a_cure_that_does_not_win_is_explained)
{
    static const char WHY[] = "No cure wrote faster";
    static const char STORED[] = "with 2 copies on 2 servers every server stores every write";
    static const char SHARED[] = "the servers share processors and nothing confines them";
    struct lab_result *result = result_of(&LAB_BATTERY);
    set_writes(&result->variants[0], ONE);
    result->variants[0].write.behind = 1000;
    set_writes(&result->variants[1], EVEN);
    set_writes(&result->variants[2], EVEN);
    result->replicas = 1;
    result->clients = 1;
    result->in_flight = 512;
    lab_verdict(result);
    cr_assert_null(strstr(result->verdict, WHY), "nothing hides it: %s", result->verdict);
    result->replicas = 2;
    lab_verdict(result);
    SAYS(result->verdict, WHY);
    SAYS(result->verdict, STORED);
    cr_assert_null(strstr(result->verdict, SHARED));
    result->shares_processors = true;
    lab_verdict(result);
    SAYS(result->verdict, STORED);
    SAYS(result->verdict, SHARED);
    result->replicas = 1;
    lab_verdict(result);
    SAYS(result->verdict, SHARED);
    cr_assert_null(strstr(result->verdict, STORED));
    result->in_flight = 64;
    lab_verdict(result);
    SAYS(result->verdict,
         "as root); 64 requests at a time may not fill one server (--in-flight 512)");
    result->variants[2].write.operations *= 2;
    lab_verdict(result);
    cr_assert_null(strstr(result->verdict, WHY), "one cure won: %s", result->verdict);
    drop(result);
}

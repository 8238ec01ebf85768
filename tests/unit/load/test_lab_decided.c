/* What the lab counts of the master's decisions: kinds with what came of them, reasons of refusals. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "client/load/lab/core/decided.h"

static void add(struct lab_decided *decided, const char *kind, const char *outcome)
{
    struct edubba_event event = {.kind = kind, .reason = "hot", .outcome = outcome};
    lab_decided_add(decided, &event);
}

static void refuse(struct lab_decided *decided, const char *reason, int times)
{
    struct edubba_event event = {.kind = "refuse", .reason = reason, .outcome = "refused"};
    for (int i = 0; i < times; i++) {
        lab_decided_add(decided, &event);
    }
}

static void is_in_words(const struct lab_decided *decided, const char *words)
{
    char text[LAB_DECIDED_BYTES];
    lab_decided_text(decided, text);
    cr_assert_str_eq(text, words);
}

Test(lab_decided, nothing_is_no_words)
{
    const struct lab_decided decided = {0};
    is_in_words(&decided, "");
}

Test(lab_decided, kinds_are_counted_with_what_came_of_them)
{
    struct lab_decided decided = {0};
    add(&decided, "split", "done");
    add(&decided, "split", "done");
    add(&decided, "split", "given_up");
    add(&decided, "split", "under_way");
    add(&decided, "merge", "given_up");
    add(&decided, "lead", "done");
    add(&decided, "move", "under_way");
    add(&decided, "move", "under_way");
    cr_assert_eq(decided.kinds[LAB_DECIDED_SPLIT].count, 4);
    cr_assert_eq(decided.kinds[LAB_DECIDED_SPLIT].done, 2);
    cr_assert_eq(decided.kinds[LAB_DECIDED_SPLIT].given_up, 1);
    cr_assert_eq(decided.refusal_count, 0);
    is_in_words(&decided, "decided: 4 splits (2 done, 1 given up), 1 merge (1 given up), 2 moves, "
                          "1 hand-over (1 done)");
}

Test(lab_decided, what_is_decided_of_queries_is_not_of_writes)
{
    const struct lab_times times = {
        .since_us = 100, .queries_us = 2000000, .writes_us = 10000000, .ended_us = 20000000};
    cr_assert_not(lab_is_of_writes(99, &times), "of an earlier run");
    cr_assert(lab_is_of_writes(100, &times), "of the history, which is written");
    cr_assert_not(lab_is_of_writes(2000000, &times));
    cr_assert_not(lab_is_of_writes(9999999, &times));
    cr_assert_not(lab_is_of_writes(10000001, &times), "the averages are still of queries");
    cr_assert_not(lab_is_of_writes(11999999, &times));
    cr_assert(lab_is_of_writes(12000000, &times));
    cr_assert(lab_is_of_writes(20000000, &times));
    cr_assert_not(lab_is_of_writes(23000000, &times), "sums are read, and the day is copied");
}

Test(lab_decided, kinds_of_a_newer_master_are_others)
{
    struct lab_decided decided = {0};
    add(&decided, "shrink", "done");
    add(&decided, "", "done");
    cr_assert_eq(decided.kinds[LAB_DECIDED_OTHER].count, 2);
    is_in_words(&decided, "decided: 2 others (2 done)");
}

Test(lab_decided, the_most_frequent_reason_is_the_first)
{
    struct lab_decided decided = {0};
    refuse(&decided, "too_few", 1);
    is_in_words(&decided, "refused: 1 too_few");
    refuse(&decided, "alone", 1);
    refuse(&decided, "monotonic", 12);
    refuse(&decided, "alone", 2);
    add(&decided, "move", "done");
    is_in_words(&decided, "decided: 1 move (1 done); refused: 12 monotonic, 3 alone, 1 too_few");
}

/* Each as often as its number, but for the last few, which find no place. */
Test(lab_decided, reasons_are_bounded_and_none_is_lost)
{
    const int count = LAB_REFUSALS_MAX + 5;
    struct lab_decided decided = {0};
    uint64_t sum = 0;
    for (int i = 0; i < count; i++) {
        char reason[LAB_REASON_BYTES];
        (void)snprintf(reason, sizeof reason, "reason %d", i);
        refuse(&decided, reason, 100 - i);
    }
    refuse(&decided, "reason 0", 1);
    cr_assert_eq(decided.refusal_count, LAB_REFUSALS_MAX);
    cr_assert_str_eq(decided.refusals[0].reason, LAB_REASON_OTHER);
    cr_assert_str_eq(decided.refusals[1].reason, "reason 0");
    cr_assert_eq(decided.refusals[1].count, 101);
    for (size_t i = 0; i < decided.refusal_count; i++) {
        sum += decided.refusals[i].count;
        cr_assert(i == 0 || decided.refusals[i - 1].count >= decided.refusals[i].count);
    }
    cr_assert_eq(sum, (uint64_t)(count * 100 - count * (count - 1) / 2 + 1));
}

Test(lab_decided, a_reason_has_to_fit)
{
    char longest[LAB_REASON_BYTES];
    char longer[LAB_REASON_BYTES + 1];
    struct lab_decided decided = {0};
    memset(longest, 'r', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    memset(longer, 'r', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    refuse(&decided, longest, 3);
    refuse(&decided, longer, 2);
    refuse(&decided, "", 1);
    refuse(&decided, LAB_REASON_OTHER, 1);
    cr_assert_eq(decided.refusal_count, 2);
    cr_assert_str_eq(decided.refusals[0].reason, LAB_REASON_OTHER);
    cr_assert_eq(decided.refusals[0].count, 4);
    cr_assert_str_eq(decided.refusals[1].reason, longest);
    cr_assert_eq(decided.refusals[1].count, 3);
}

/* All kinds, all places, and figures as long as they can be. */
Test(lab_decided, all_of_it_fits_its_line)
{
    struct lab_decided decided = {0};
    char text[LAB_DECIDED_BYTES];
    for (size_t i = 0; i < LAB_DECISION_KINDS; i++) {
        decided.kinds[i] = (struct lab_decisions){UINT64_MAX, UINT64_MAX, UINT64_MAX};
    }
    for (size_t i = 0; i < LAB_REFUSALS_MAX; i++) {
        decided.refusals[i].count = UINT64_MAX;
        memset(decided.refusals[i].reason, 'r', LAB_REASON_BYTES - 1);
    }
    decided.refusal_count = LAB_REFUSALS_MAX;
    lab_decided_text(&decided, text);
    cr_assert_eq(text[strlen(text) - 1], 'r');
    cr_assert(strlen(text) < sizeof text - 1);
}

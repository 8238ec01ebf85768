/* The lab's verdicts: made of figures, each fault where its figures are and nowhere else; and reports. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/load/lab/core/json.h"
#include "client/load/lab/core/page.h"
#include "client/load/lab/core/text.h"
#include "client/load/lab/core/verdict.h"

/* Write figures of four tablets on two servers, so many operations each. */
static void set_writes(struct lab_variant_result *variant, const uint64_t operations[4])
{
    static const char *const STARTS[] = {"", "b", "c", "d"};
    struct edubba_tablet_replicas tablets[4] = {0};
    struct edubba_replica copies[4] = {0};
    struct lab_phase *write = &variant->write;
    struct lab_moment moment = {.to_s = 1, .p99_ns = 2000000};
    for (size_t i = 0; i < 4; i++) {
        tablets[i].number = i + 1;
        copies[i] = (struct edubba_replica){
            .server = i % 2 + 1, .is_member = true, .is_primary = true, .is_wanted = true};
        tablets[i].state = "serving";
        tablets[i].replicas = &copies[i];
        tablets[i].replica_count = 1;
        tablets[i].start = edubba_bytes_of_text(STARTS[i]);
        tablets[i].end = edubba_bytes_of_text(i < 3 ? STARTS[i + 1] : "");
        moment.total += operations[i];
    }
    (void)lab_timeline_look(&write->timeline, lab_map_create(tablets, 4), 0);
    cr_assert(lab_timeline_add(&write->timeline, &moment, operations, 4));
    variant->has_run = true;
    variant->tablets_before = 4;
    variant->tablets_after = 4;
    variant->event_bytes = 50;
    write->has_run = true;
    write->length_s = 1;
    write->operations = moment.total;
    write->p99_ns = 2000000;
    write->judged = moment.total;
}

static const uint64_t EVEN[] = {250, 250, 250, 250};
static const uint64_t ONE[] = {10, 10, 10, 970};

static struct lab_result *result_of(const struct lab_experiment *experiment)
{
    struct lab_result *result = malloc(sizeof *result);
    cr_assert(result != NULL && lab_result_init(result, experiment));
    result->server_count = 2;
    for (size_t i = 0; i < 2; i++) {
        result->servers[i].number = i + 1;
        (void)snprintf(result->servers[i].address, LAB_ADDRESS_BYTES, "tcp://127.0.0.1:%zu", i + 1);
    }
    return result;
}

static void drop(struct lab_result *result)
{
    lab_result_deinit(result);
    free(result);
}

static bool has_fault(const struct lab_variant_result *variant, enum lab_fault fault)
{
    for (size_t i = 0; i < variant->fault_count; i++) {
        if (variant->faults[i] == fault) {
            return true;
        }
    }
    return false;
}

#define SAYS(text, part) \
    cr_assert(strstr((text), (part)) != NULL, "\"%s\" does not say \"%s\"", (text), (part))

/* --- faults of writes ------------------------------------------------------------------------- */

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

static void refuse(struct lab_variant_result *variant, const char *reason, int times)
{
    struct edubba_event event = {.kind = "refuse", .reason = reason, .outcome = "refused"};
    for (int i = 0; i < times; i++) {
        lab_decided_add(&variant->decided, &event);
        lab_decided_add(&variant->decided_of_writes, &event);
    }
}

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

/* --- queries, sums, ends ---------------------------------------------------------------------- */

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

/* --- of the experiment ------------------------------------------------------------------------ */

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
        "Take for writes promoted or salted; for \u201ca user's reports of 2 s\u201d promoted; "
        "for \u201call reports of 0.5 s\u201d by time or salted; for \u201cone report\u201d promoted "
        "or salted",
        "%s", result->choice);
    result->variants[1].has_run = result->variants[2].has_run = false;
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

/* --- reports ---------------------------------------------------------------------------------- */

static char *printed(void (*print)(FILE *, const struct lab_result *),
                     const struct lab_result *result)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert_not_null(out);
    print(out, result);
    cr_assert_eq(fclose(out), 0);
    return text;
}

static void print_text(FILE *out, const struct lab_result *result)
{
    lab_text(out, result, true);
}

static void print_page(FILE *out, const struct lab_result *result)
{
    lab_page_begin(out);
    lab_page_add(out, result, true);
    lab_page_add(out, result, false);
    lab_page_end(out);
}

Test(lab_reports, tell_figures_and_verdict)
{
    struct lab_result *result = result_of(&LAB_BATTERY);
    set_writes(&result->variants[0], ONE);
    result->variants[0].write.behind = 1000;
    (void)snprintf(result->variants[0].told[0], LAB_SENTENCE_BYTES, "</script><b>\"&");
    result->variants[0].told_count = 1;
    refuse(&result->variants[0], "monotonic", 12);
    refuse(&result->variants[0], "<", 1);
    result->replicas = 1;
    lab_verdict(result);
    char *text = printed(print_text, result);
    SAYS(text, "2 servers; 1 copy of each tablet; ");
    SAYS(text, "tablets splits moves hand-overs\n");
    SAYS(text, "4 > 4      0     0          0\n");
    SAYS(text, "by time");
    SAYS(text, "grows at its");
    SAYS(text, "tcp://127.0.0.1:2             98.0 %");
    SAYS(text, "\n    refused: 12 monotonic, 1 <\n");
    free(text);
    text = printed(lab_json, result);
    SAYS(text, "\"faults\":[\"monotonic\"]");
    SAYS(text, "\"replicas\":1,");
    SAYS(text, "\"by_tablet\":[10,10,10,970]");
    SAYS(text, "{\"server\":\"2\",\"operations\":980,\"share\":0.980000}");
    SAYS(text, "\"decided\":{\"splits\":{\"count\":0,\"done\":0,\"given_up\":0},");
    SAYS(text, "\"refusals\":{\"monotonic\":12,\"\\u003c\":1}},");
    cr_assert_null(strchr(text, '<')); /* nothing of it ends a script of the page */
    free(text);
    text = printed(print_page, result);
    cr_assert_eq(strncmp(text, "<!doctype html>", 15), 0);
    SAYS(text, "</html>");
    free(text);
    drop(result);
}

/* As long as advice can be: all of it is told, in lines that a screen has. */
Test(lab_reports, what_the_cluster_says_is_wrapped)
{
    struct lab_result *result = result_of(&LAB_BATTERY);
    struct lab_variant_result *variant = &result->variants[0];
    size_t size = (size_t)snprintf(variant->told[0], LAB_SENTENCE_BYTES, "advice:");
    while (size < LAB_SENTENCE_BYTES / 2) {
        size += (size_t)snprintf(variant->told[0] + size, LAB_SENTENCE_BYTES - size, " salt it");
    }
    (void)snprintf(variant->told[0] + size, LAB_SENTENCE_BYTES - size, " END.");
    variant->has_run = true;
    variant->told_count = 1;
    char *text = printed(print_text, result);
    const char *line = strstr(text, "    the cluster says: advice: salt it");
    cr_assert_not_null(line);
    SAYS(line, " END.\n");
    for (; *line != '\0'; line += strcspn(line, "\n") + 1) {
        cr_assert_leq(strcspn(line, "\n"), 98, "too long a line: %s", line);
        cr_assert_eq(strncmp(line, "    ", 4), 0);
    }
    free(text);
    drop(result);
}

Test(lab_reports, keys_of_any_bytes_are_text)
{
    struct lab_result *result = result_of(&LAB_BATTERY);
    struct edubba_tablet_replicas tablets[2] = {
        {.number = 1, .state = "serving", .end = edubba_bytes_of("\xff\0<\"\\", 5)},
        {.number = 2, .state = "serving", .start = edubba_bytes_of("\xff\0<\"\\", 5)},
    };
    const uint64_t operations[] = {1, 1};
    struct lab_moment moment = {.to_s = 1, .total = 2};
    struct lab_timeline *timeline = &result->variants[0].write.timeline;
    result->variants[0].has_run = true;
    (void)lab_timeline_look(timeline, lab_map_create(tablets, 2), 0);
    cr_assert(lab_timeline_add(timeline, &moment, operations, 2));
    char *text = printed(lab_json, result);
    SAYS(text, "\"start\":\"\\\\xff\\\\x00\\u003c\\\"\\\\\"");
    free(text);
    drop(result);
}

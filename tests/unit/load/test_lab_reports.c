/* What the lab has found, as text, as JSON and as a page. */
#include "tests/support/lab_results.h"

#include "client/load/lab/core/report/json.h"
#include "client/load/lab/core/report/page.h"
#include "client/load/lab/core/report/text.h"

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
    lab_result_keep(result, "LAB_battery_by-time");
    lab_result_keep(result, "LAB_battery_salted");
    lab_verdict(result);
    char *text = printed(print_text, result);
    SAYS(text, "2 servers; 1 copy of each tablet; ");
    SAYS(text, "tablets splits moves hand-overs\n");
    SAYS(text, "4 > 4      0     0          0\n");
    SAYS(text, "by time");
    SAYS(text, "grows at its");
    SAYS(text, "tcp://127.0.0.1:2             98.0 %");
    SAYS(text, "\n    refused: 12 monotonic, 1 <\n");
    SAYS(text, "\n  kept: LAB_battery_by-time LAB_battery_salted\n");
    free(text);
    text = printed(lab_json, result);
    SAYS(text, "\"faults\":[\"monotonic\"]");
    SAYS(text, "\"replicas\":1,");
    SAYS(text, "\"kept\":[\"LAB_battery_by-time\",\"LAB_battery_salted\"]");
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

/* It was stopped while it wrote its history: there are no figures, and nobody knows what was stored. */
Test(lab_reports, what_was_not_run_has_no_table)
{
    struct lab_result *result = result_of(&LAB_BATTERY);
    struct lab_variant_result *variant = &result->variants[0];
    variant->has_run = true;
    variant->stored_is_known = true;
    variant->stored_bytes = 1000000;
    result->interrupted = true;
    lab_verdict(result);
    char *text = printed(print_text, result);
    SAYS(text, "INTERRUPTED");
    SAYS(text, "it was interrupted before its writes");
    cr_assert_null(strstr(text, "events/s"), "%s", text);
    cr_assert_null(strstr(text, "queries/s"), "%s", text);
    cr_assert_null(strstr(text, "stored"), "%s", text);
    free(text);
    variant->queries[1].has_run = true;
    text = printed(print_text, result);
    SAYS(text, result->experiment->queries[1]);
    cr_assert_null(strstr(text, result->experiment->queries[0]), "%s", text);
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

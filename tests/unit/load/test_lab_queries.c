/* Queries of the lab's experiments, on a model of the table: every variant finds what it should. */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/lab_table.h"

static bool lets_by(const struct lab_query *query,
                    const struct lab_experiment *experiment,
                    const struct lab_variant *variant,
                    const struct model_row *row,
                    struct edubba_bytes key)
{
    struct lab_event event;
    struct lab_change change;
    bool is_where = query->where_family == NULL;
    bool is_then = query->to_us == 0;
    experiment->event(&WORLD, row->number, &event);
    lab_change_init(&change);
    variant->change(&event, &change);
    for (size_t i = 0; i < change.cell_count; i++) {
        const struct edubba_mutation *cell = &change.cells[i];
        is_where = is_where || (compare_bytes(cell->qualifier, query->where_qualifier) == 0 &&
                                compare_bytes(cell->value, query->where_value) == 0);
        is_then = is_then ||
                  (cell->timestamp_us >= query->from_us && cell->timestamp_us < query->to_us);
    }
    if (query->row_regex.size > 0) {
        char pattern[256];
        char text[LAB_KEY_BYTES_MAX + 1];
        regex_t regex;
        (void)snprintf(pattern, sizeof pattern, "^%.*s$", (int)query->row_regex.size,
                       (const char *)query->row_regex.data);
        (void)snprintf(text, sizeof text, "%.*s", (int)key.size, (const char *)key.data);
        cr_assert_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
        bool matches = regexec(&regex, text, 0, NULL, 0) == 0;
        regfree(&regex);
        return matches && is_where && is_then;
    }
    return is_where && is_then;
}

static bool is_in_ranges(const struct lab_query *query, struct edubba_bytes key)
{
    bool is_in = false;
    for (size_t i = 0; i < query->range_count; i++) {
        const struct edubba_bounds *range = &query->ranges[i];
        is_in = is_in ||
                (compare_bytes(key, range->start) >= 0 && compare_bytes(key, range->end) < 0);
    }
    return is_in;
}

/* How many of the rows the query finds. */
static size_t find(const struct lab_query *query,
                   const struct lab_experiment *experiment,
                   const struct lab_variant *variant,
                   const struct model_row *rows,
                   size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        struct edubba_bytes key = edubba_bytes_of(rows[i].row.key, rows[i].row.key_size);
        struct edubba_bytes bare = key;
        bool is_in = query->kind == LAB_QUERY_SCAN && query->range_count == 0;
        if (query->salts > 0) { /* one digit and '#' */
            bare = edubba_bytes_of((const char *)key.data + 2, key.size - 2);
        }
        for (size_t j = 0; j < query->key_count; j++) {
            is_in = is_in || compare_bytes(query->keys[j], key) == 0;
        }
        found += (is_in || is_in_ranges(query, bare)) &&
                         lets_by(query, experiment, variant, &rows[i], key)
                     ? 1
                     : 0;
    }
    return query->rows_limit > 0 && found > query->rows_limit ? query->rows_limit : found;
}

/* Rows found for the same question are as many in every variant that has a row an event. */
static void compare_variants(const struct lab_experiment *experiment, size_t query_number)
{
    struct model_row *rows = calloc(MODEL_ROWS, sizeof *rows);
    size_t wanted[40];
    bool has_wanted = false;
    for (size_t i = 0; i < experiment->variant_count; i++) {
        const struct lab_variant *variant = &experiment->variants[i];
        if (variant->queries[query_number] == NULL || strcmp(variant->name, "current") == 0) {
            continue;
        }
        size_t count = fill(experiment, variant, rows);
        for (size_t j = 0; j < 40; j++) {
            struct lab_event event;
            struct lab_query query;
            experiment->event(&WORLD, lab_dice(&WORLD, j, 9) % WORLD.history, &event);
            variant->queries[query_number](&WORLD, &event, &query);
            cr_assert(query.fits);
            size_t found = find(&query, experiment, variant, rows, count);
            cr_assert(found > 0, "%s, %s: nothing is found", experiment->name, variant->name);
            wanted[j] = has_wanted ? wanted[j] : found;
            if (query.rows_limit == 0 && found > wanted[j]) {
                cr_assert_eq(wanted[j], 10, "it cannot know where the ten are, and reads all");
                continue;
            }
            cr_assert_eq(found, wanted[j], "%s, %s: %zu rows, and %zu in the first",
                         experiment->name, variant->name, found, wanted[j]);
        }
        has_wanted = true;
    }
    free(rows);
}

Test(lab_queries, battery)
{
    compare_variants(&LAB_BATTERY, 0);
    compare_variants(&LAB_BATTERY, 1);
    compare_variants(&LAB_BATTERY, 2);
}

Test(lab_queries, quote)
{
    compare_variants(&LAB_QUOTE, 0);
}

Test(lab_queries, metric)
{
    compare_variants(&LAB_METRIC, 0);
    compare_variants(&LAB_METRIC, 1);
}

Test(lab_queries, sensor)
{
    compare_variants(&LAB_SENSOR, 0);
    compare_variants(&LAB_SENSOR, 1);
}

Test(lab_queries, celebrity)
{
    compare_variants(&LAB_CELEBRITY, 0);
}

Test(lab_queries, games)
{
    compare_variants(&LAB_GAMES, 0);
    compare_variants(&LAB_GAMES, 1);
    compare_variants(&LAB_GAMES, 2);
}

/* Those that find a row of many events: all of them are found, and fit. */
Test(lab_queries, of_whole_rows_name_rows_that_are_there)
{
    const struct lab_experiment *const of[] = {&LAB_BALLOON, &LAB_COLUMNS, &LAB_DONATIONS,
                                               &LAB_GARDEN};
    struct model_row *rows = calloc(MODEL_ROWS, sizeof *rows);
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        for (size_t j = 0; j < of[i]->variant_count; j++) {
            const struct lab_variant *variant = &of[i]->variants[j];
            size_t count = fill(of[i], variant, rows);
            for (size_t k = 0; k < LAB_QUERIES_MAX && of[i]->queries[k] != NULL; k++) {
                struct lab_event event;
                struct lab_query query;
                of[i]->event(&WORLD, 1234, &event);
                variant->queries[k](&WORLD, &event, &query);
                cr_assert(query.fits);
                query.from_us = 0;
                query.to_us = 0;
                query.where_family = NULL;
                cr_assert(find(&query, of[i], variant, rows, count) > 0, "%s, %s", of[i]->name,
                          variant->name);
            }
        }
    }
    free(rows);
}

/* The lab's experiments: their keys and cells as the patterns say, and queries that find what they should. */
#include <criterion/criterion.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/load/lab/core/cuts.h"
#include "client/load/lab/core/story.h"

static const struct lab_world WORLD = {.seed = 1, .history = 2000};

static const struct lab_variant *variant_of(const struct lab_experiment *experiment,
                                            const char *name)
{
    for (size_t i = 0; i < experiment->variant_count; i++) {
        if (strcmp(experiment->variants[i].name, name) == 0) {
            return &experiment->variants[i];
        }
    }
    cr_assert_fail("no variant %s", name);
    return NULL;
}

/* The key of the event's row-th row; lives until the next call. */
static const char *key_of(const struct lab_experiment *experiment,
                          const char *name,
                          struct lab_event event,
                          size_t row)
{
    static struct lab_change change;
    static char text[LAB_KEY_BYTES_MAX + 1];
    lab_change_init(&change);
    variant_of(experiment, name)->change(&event, &change);
    cr_assert(change.fits && row < change.row_count);
    memcpy(text, change.rows[row].key, change.rows[row].key_size);
    text[change.rows[row].key_size] = '\0';
    return text;
}

static bool is_text(struct edubba_bytes bytes, const char *text)
{
    return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

/* --- clocks and dice -------------------------------------------------------------------------- */

Test(lab_story, times_are_dates)
{
    char text[LAB_TIME_BYTES];
    cr_assert_str_eq(lab_time_text(LAB_BEGIN_MS, text), "20150301124501001");
    cr_assert_str_eq(lab_time_text(0, text), "19700101000000000");
    cr_assert_str_eq(lab_day_text(INT64_C(951782400000), text), "20000229");
    cr_assert_str_eq(lab_day_text(INT64_C(951868800000), text), "20000301");
    cr_assert_str_eq(lab_day_text(INT64_C(946684799999), text), "19991231");
    cr_assert_str_eq(lab_day_text(INT64_C(4107542400000), text), "21000301");
    cr_assert_str_eq(lab_month_text(LAB_BEGIN_MS, text), "201503");
    cr_assert_eq(lab_day_of_month(INT64_C(951782400000)), 29);
}

Test(lab_story, days_follow_each_other)
{
    char before[LAB_TIME_BYTES];
    char after[LAB_TIME_BYTES];
    for (int64_t day = 0; day < 366 * 400; day++) {
        lab_day_text(day * LAB_DAY_MS, before);
        lab_day_text((day + 1) * LAB_DAY_MS, after);
        cr_assert(strcmp(before, after) < 0, "%s, then %s", before, after);
        unsigned next = lab_day_of_month((day + 1) * LAB_DAY_MS);
        cr_assert(next == 1 || next == lab_day_of_month(day * LAB_DAY_MS) + 1);
    }
}

Test(lab_story, the_busy_get_their_share)
{
    uint64_t busy = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t who = lab_popular(lab_dice(&WORLD, i, 0), 3000, 300, 0.9);
        cr_assert(who < 3000);
        busy += who < 300 ? 1 : 0;
    }
    cr_assert(busy > 17800 && busy < 18200, "%lu", (unsigned long)busy);
}

/* --- keys ------------------------------------------------------------------------------------- */

Test(lab_keys, battery)
{
    struct lab_event event = {.time_ms = LAB_BEGIN_MS, .who = 0};
    size_t of_salt[3] = {0};
    cr_assert_str_eq(key_of(&LAB_BATTERY, "by time", event, 0), "BATTERY#20150301124501001");
    cr_assert_str_eq(key_of(&LAB_BATTERY, "promoted", event, 0),
                     "BATTERY#Corrie#20150301124501001");
    cr_assert_str_eq(key_of(&LAB_BATTERY, "salted", event, 0) + 1, "#BATTERY#20150301124501001");
    for (int i = 0; i < 3000; i++, event.time_ms++) {
        char salt = key_of(&LAB_BATTERY, "salted", event, 0)[0];
        cr_assert(salt >= '0' && salt <= '2');
        of_salt[salt - '0']++;
    }
    for (int i = 0; i < 3; i++) {
        cr_assert(of_salt[i] > 850 && of_salt[i] < 1150);
    }
}

Test(lab_keys, quote)
{
    static const char *const COLUMNS[] = {"SYMBOL",  "BID",       "ASK",     "BIDSIZE",
                                          "ASKSIZE", "QUOTETIME", "EXCHANGE"};
    struct lab_event event = {.time_ms = INT64_C(1426535612156), .who = 0};
    struct lab_change change;
    cr_assert_str_eq(key_of(&LAB_QUOTE, "by symbol", event, 0), "NASDAQ#ZXZZT#1426535612156");
    cr_assert_str_eq(key_of(&LAB_QUOTE, "by time", event, 0), "1426535612156#NASDAQ#ZXZZT");
    event.who = 1;
    const char *key = key_of(&LAB_QUOTE, "by symbol", event, 0);
    cr_assert_eq(strncmp(key, "NYSE  #", 7), 0, "%s", key);
    cr_assert_eq(key[11], ' ');
    cr_assert_eq(strlen(key), 6 + 1 + 5 + 1 + 13);
    lab_change_init(&change);
    variant_of(&LAB_QUOTE, "by symbol")->change(&event, &change);
    cr_assert_eq(change.cell_count, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (size_t i = 0; i < change.cell_count; i++) {
        cr_assert(is_text(change.cells[i].qualifier, COLUMNS[i]));
        cr_assert(is_text(change.cells[i].family, "MD"));
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

Test(lab_keys, symbols_are_all_different)
{
    static char names[3000][16];
    for (size_t i = 0; i < 3000; i++) {
        LAB_QUOTE.who_text(i, names[i], sizeof names[i]);
        cr_assert(strlen(names[i]) >= 4 && strlen(names[i]) <= 5);
    }
    qsort(names, 3000, sizeof names[0], compare_names);
    for (size_t i = 1; i < 3000; i++) {
        cr_assert_str_neq(names[i - 1], names[i]);
    }
}

Test(lab_keys, metric)
{
    struct lab_event event = {.time_ms = INT64_C(1426535612045), .who = 1};
    struct lab_change change;
    cr_assert_str_eq(key_of(&LAB_METRIC, "by host", event, 0), "server1.bbb.com#1426535612045");
    cr_assert_str_eq(key_of(&LAB_METRIC, "by time", event, 0), "1426535612045#server1.bbb.com");
    cr_assert_str_eq(key_of(&LAB_METRIC, "current", event, 0), "server1.bbb.com");
    lab_change_init(&change);
    variant_of(&LAB_METRIC, "families")->change(&event, &change);
    cr_assert(is_text(change.cells[0].qualifier, "CPU/CPU1_USR"));
    cr_assert(is_text(change.cells[0].family, "CPU"));
    cr_assert(is_text(change.cells[4].qualifier, "IO/BLK_READ"));
    cr_assert(is_text(change.cells[4].family, "IO"));
}

Test(lab_keys, sensor)
{
    struct lab_event event = {.time_ms = INT64_C(1501027200000), .who = 987654};
    struct lab_event history;
    cr_assert_str_eq(key_of(&LAB_SENSOR, "by meter", event, 0), "0000987654#20170726");
    cr_assert_str_eq(key_of(&LAB_SENSOR, "by date", event, 0), "20170726#0000987654");
    /* The history is the ten days before; then it is midnight. */
    LAB_SENSOR.event(&WORLD, 0, &history);
    cr_assert_eq(history.time_ms, INT64_C(1501027200000) - 10 * LAB_DAY_MS);
    LAB_SENSOR.event(&WORLD, WORLD.history - 1, &history);
    cr_assert_eq(history.time_ms, INT64_C(1501027200000) - LAB_DAY_MS);
    LAB_SENSOR.event(&WORLD, WORLD.history, &history);
    cr_assert_eq(history.time_ms, INT64_C(1501027200000));
    LAB_SENSOR.event(&WORLD, WORLD.history * 1000, &history);
    cr_assert_eq(history.time_ms, INT64_C(1501027200000));
}

Test(lab_keys, balloon)
{
    struct lab_event event = {.time_ms = LAB_BEGIN_MS, .who = 0, .random = 4558};
    struct lab_change change;
    cr_assert_str_eq(key_of(&LAB_BALLOON, "new columns", event, 0), "us-west2#3698#pressure#week1");
    cr_assert_str_eq(key_of(&LAB_BALLOON, "new columns", event, 3), "us-west2#3698#altitude#week1");
    cr_assert_str_eq(key_of(&LAB_BALLOON, "new cells", event, 0), "us-west2#3698#week1");
    cr_assert_str_eq(key_of(&LAB_BALLOON, "unserialised", event, 0),
                     "us-west2#3698#20150301124501001");
    lab_change_init(&change);
    variant_of(&LAB_BALLOON, "new columns")->change(&event, &change);
    cr_assert(is_text(change.cells[0].qualifier, "94558"));
    cr_assert_eq(change.cells[0].value.size, 0);
    cr_assert_eq(change.cells[0].timestamp_us, LAB_BEGIN_MS * 1000);
    event.time_ms += 7 * LAB_DAY_MS;
    cr_assert_str_eq(key_of(&LAB_BALLOON, "new cells", event, 0), "us-west2#3698#week2");
}

Test(lab_keys, celebrity)
{
    struct lab_event event = {.time_ms = LAB_BEGIN_MS, .who = 42, .what = 0};
    char salt = key_of(&LAB_CELEBRITY, "salted by series", event, 0)[0];
    bool seen[8] = {false};
    size_t celebrity = 0;
    cr_assert_str_eq(key_of(&LAB_CELEBRITY, "plain", event, 0), "u000042-site0-20150301124501001");
    for (int i = 0; i < 200; i++, event.time_ms++) {
        cr_assert_eq(key_of(&LAB_CELEBRITY, "salted by series", event, 0)[0], salt);
        char other = key_of(&LAB_CELEBRITY, "salted by key", event, 0)[0];
        cr_assert(other >= '0' && other <= '7');
        seen[other - '0'] = true;
    }
    for (int i = 0; i < 8; i++) {
        cr_assert(seen[i]);
    }
    for (uint64_t i = 0; i < WORLD.history; i++) {
        LAB_CELEBRITY.event(&WORLD, i, &event);
        celebrity += event.who == 42 ? 1 : 0;
    }
    cr_assert(celebrity > WORLD.history * 3 / 4 && celebrity < WORLD.history * 17 / 20);
}

Test(lab_keys, garden)
{
    struct lab_event event = {.time_ms = LAB_BEGIN_MS, .who = 0};
    struct lab_change change;
    cr_assert_str_eq(key_of(&LAB_GARDEN, "tall and narrow", event, 0), "VEGGIEGARDEN#20150301");
    cr_assert_str_eq(key_of(&LAB_GARDEN, "short and wide", event, 0), "VEGGIEGARDEN#201503");
    cr_assert_str_eq(key_of(&LAB_GARDEN, "versions", event, 0), "VEGGIEGARDEN");
    lab_change_init(&change);
    event.time_ms += 30 * LAB_DAY_MS;
    variant_of(&LAB_GARDEN, "short and wide")->change(&event, &change);
    cr_assert(is_text(change.cells[0].family, "TEMP"));
    cr_assert(is_text(change.cells[0].qualifier, "31"));
}

Test(lab_keys, games)
{
    struct lab_event event = {.time_ms = LAB_BEGIN_MS, .who = 0};
    char newer[LAB_KEY_BYTES_MAX + 1];
    char wanted[LAB_KEY_BYTES_MAX];
    cr_assert_str_eq(key_of(&LAB_GAMES, "by date", event, 0), "LoL#20150301124501001");
    cr_assert_str_eq(key_of(&LAB_GAMES, "by player", event, 0), "LoL#Corrie#20150301124501001");
    (void)snprintf(wanted, sizeof wanted, "LoL#Corrie#%lld", (long long)(INT64_MAX - LAB_BEGIN_MS));
    cr_assert_str_eq(key_of(&LAB_GAMES, "reversed time", event, 0), wanted);
    event.time_ms++;
    strncpy(newer, key_of(&LAB_GAMES, "reversed time", event, 0), sizeof newer - 1);
    cr_assert(strcmp(newer, wanted) < 0);
}

Test(lab_keys, donations)
{
    struct lab_event event = {.time_ms = INT64_C(1425254400000), .who = 7, .what = 3, .random = 99};
    struct lab_change change;
    lab_change_init(&change);
    variant_of(&LAB_DONATIONS, "aggregate")->change(&event, &change);
    cr_assert_eq(change.cells[0].kind, EDUBBA_ADD_TO_CELL);
    cr_assert(is_text(change.cells[0].family, "donations"));
    cr_assert(is_text(change.cells[0].qualifier, "campaign3"));
    cr_assert_eq(change.cells[0].timestamp_us, INT64_C(1425254400000000));
    cr_assert_eq(change.cells[0].integer, 100);
    cr_assert_str_eq(key_of(&LAB_DONATIONS, "aggregate", event, 0), "charity07");
    cr_assert_str_eq(key_of(&LAB_DONATIONS, "rows", event, 0),
                     "charity07#campaign3#20150302#0000000000");
    LAB_DONATIONS.event(&WORLD, 123456, &event);
    cr_assert_eq(event.time_ms % LAB_DAY_MS, 0);
}

/* What a cell that stands for the event adds is what the event gave. */
Test(lab_keys, sums_of_cells_are_those_of_events)
{
    for (uint64_t i = 0; i < 200000; i += 97) {
        struct lab_event event;
        LAB_DONATIONS.event(&WORLD, i, &event);
        struct lab_sum_cell wanted = LAB_DONATIONS.sum_of_event(&event);
        cr_assert(wanted.index < LAB_SUMS_MAX && wanted.amount > 0);
        for (size_t j = 0; j < LAB_DONATIONS.variant_count; j++) {
            const struct lab_variant *variant = &LAB_DONATIONS.variants[j];
            struct lab_change change;
            struct lab_sum_cell got = {0};
            unsigned char eight[8];
            lab_change_init(&change);
            variant->change(&event, &change);
            struct edubba_cell cell = {
                .qualifier = change.increments ? change.rule.qualifier : change.cells[0].qualifier,
                .timestamp_us = change.increments ? 0 : change.cells[0].timestamp_us,
                .value = change.cells[0].value};
            struct edubba_row row = {
                .key = edubba_bytes_of(change.rows[0].key, change.rows[0].key_size),
                .cells = &cell,
                .cell_count = 1};
            if (change.increments || change.cells[0].kind == EDUBBA_ADD_TO_CELL) {
                for (int k = 0; k < 8; k++) {
                    eight[k] = (unsigned char)((uint64_t)wanted.amount >> (56 - 8 * k));
                }
                cell.value = edubba_bytes_of(eight, 8);
            }
            cr_assert(variant->sum_of_cell(&row, &cell, &got), "%s", variant->name);
            cr_assert_eq(got.index, wanted.index, "%s", variant->name);
            cr_assert_eq(got.amount, wanted.amount, "%s", variant->name);
        }
    }
}

/* --- all of them ------------------------------------------------------------------------------ */

Test(lab_experiments, are_found_by_name_and_have_what_they_need)
{
    cr_assert_eq(LAB_EXPERIMENT_COUNT, 10);
    for (size_t i = 0; i < LAB_EXPERIMENT_COUNT; i++) {
        const struct lab_experiment *experiment = LAB_EXPERIMENTS[i];
        cr_assert(lab_experiment_find(experiment->name) == experiment);
        cr_assert(experiment->variant_count >= 2 && experiment->variant_count <= LAB_VARIANTS_MAX);
        for (size_t j = 0; j < experiment->variant_count; j++) {
            const struct lab_variant *variant = &experiment->variants[j];
            /* LAB_<experiment>_<variant> is to be a table's name. */
            cr_assert(strlen(experiment->name) + strlen(variant->name) + 5 <= 50);
            cr_assert(variant->families[0].name != NULL && variant->key[0] != '\0');
            cr_assert(variant->role != LAB_BAD || variant->remedy[0] != '\0');
            cr_assert((experiment->sum_of_event == NULL) == (variant->sum_of_cell == NULL));
        }
    }
    cr_assert(lab_experiment_find("nothing") == NULL);
}

Test(lab_experiments, every_event_fits)
{
    for (size_t i = 0; i < LAB_EXPERIMENT_COUNT; i++) {
        const struct lab_experiment *experiment = LAB_EXPERIMENTS[i];
        for (size_t j = 0; j < experiment->variant_count; j++) {
            for (uint64_t k = 0; k < 5000000; k += 4999) {
                struct lab_event event;
                struct lab_change change;
                experiment->event(&WORLD, k, &event);
                lab_change_init(&change);
                experiment->variants[j].change(&event, &change);
                cr_assert(change.fits && change.row_count > 0, "%s, %s", experiment->name,
                          experiment->variants[j].name);
                cr_assert(change.increments || change.cell_count >= change.row_count);
                cr_assert(lab_change_bytes(&change) > 10);
            }
        }
    }
}

/* The worlds of all variants are one: an event is the same however it is asked for. */
Test(lab_experiments, events_follow_from_their_numbers)
{
    for (size_t i = 0; i < LAB_EXPERIMENT_COUNT; i++) {
        struct lab_event first;
        struct lab_event again;
        LAB_EXPERIMENTS[i]->event(&WORLD, 777, &first);
        LAB_EXPERIMENTS[i]->event(&WORLD, 777, &again);
        cr_assert_eq(memcmp(&first, &again, sizeof first), 0);
    }
}

/* --- queries, on a model of the table --------------------------------------------------------- */

enum {
    MODEL_ROWS = 16000
};

struct model_row {
    struct lab_change change;
    struct lab_row row;
    uint64_t number;
};

static size_t fill(const struct lab_experiment *experiment,
                   const struct lab_variant *variant,
                   struct model_row *rows)
{
    size_t count = 0;
    for (uint64_t i = 0; i < WORLD.history; i++) {
        struct lab_event event;
        struct lab_change change;
        experiment->event(&WORLD, i, &event);
        lab_change_init(&change);
        variant->change(&event, &change);
        for (size_t j = 0; j < change.row_count; j++) {
            rows[count].row = change.rows[j];
            rows[count].number = i;
            count++;
        }
    }
    return count;
}

static int compare_bytes(struct edubba_bytes a, struct edubba_bytes b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common > 0 ? memcmp(a.data, b.data, common) : 0;
    return order != 0 ? order : a.size < b.size ? -1 : a.size > b.size;
}

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

/* --- cuts ------------------------------------------------------------------------------------- */

Test(lab_cuts, the_history_lies_in_equal_parts)
{
    static struct lab_cut cuts[LAB_CUTS_MAX];
    struct model_row *rows = calloc(MODEL_ROWS, sizeof *rows);
    for (size_t i = 0; i < LAB_BATTERY.variant_count; i++) {
        const struct lab_variant *variant = &LAB_BATTERY.variants[i];
        size_t count = 0;
        cr_assert(lab_cuts_make(&LAB_BATTERY, variant, &WORLD, 8, cuts, &count));
        cr_assert_eq(count, 7);
        size_t all = fill(&LAB_BATTERY, variant, rows);
        for (size_t j = 0; j < count; j++) {
            struct edubba_bytes cut = edubba_bytes_of(cuts[j].key, cuts[j].size);
            size_t below = 0;
            for (size_t k = 0; k < all; k++) {
                below += compare_bytes(edubba_bytes_of(rows[k].row.key, rows[k].row.key_size),
                                       cut) < 0
                             ? 1
                             : 0;
            }
            cr_assert_eq(below, all * (j + 1) / 8);
        }
    }
    free(rows);
}

Test(lab_cuts, few_rows_are_cut_into_few)
{
    static struct lab_cut cuts[LAB_CUTS_MAX];
    size_t count = 0;
    cr_assert(lab_cuts_make(&LAB_GARDEN, variant_of(&LAB_GARDEN, "versions"), &WORLD, 1000, cuts,
                            &count));
    cr_assert_eq(count, 19); /* 20 gardens */
    cr_assert(
        lab_cuts_make(&LAB_GARDEN, variant_of(&LAB_GARDEN, "versions"), &WORLD, 1, cuts, &count));
    cr_assert_eq(count, 0);
}

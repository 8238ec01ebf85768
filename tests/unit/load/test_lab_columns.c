/* The lab's metrics as rows, columns and time buckets: keys, and queries that are given the same readings in every variant. */
#include <criterion/criterion.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "client/load/lab/core/experiments/story.h"

#define BUCKET 4 /* the variant; 0 is a row a metric */

static const struct lab_world WORLD = {.seed = 1, .history = 12000}; /* 25 minutes */

static int compare(struct edubba_bytes a, struct edubba_bytes b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common > 0 ? memcmp(a.data, b.data, common) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* --- keys ------------------------------------------------------------------------------------- */

static void change_of(size_t variant, int64_t time_ms, struct lab_change *change)
{
    struct lab_event event = {.time_ms = time_ms, .who = 7, .random = 12345};
    lab_change_init(change);
    LAB_COLUMNS.variants[variant].change(&event, change);
    cr_assert(change->fits);
}

static void assert_row(const struct lab_change *change, size_t row, const char *key)
{
    struct edubba_bytes got = edubba_bytes_of(change->rows[row].key, change->rows[row].key_size);
    cr_assert_eq(compare(got, edubba_bytes_of_text(key)), 0, "%.*s", (int)got.size,
                 (const char *)got.data);
}

Test(lab_columns, a_moment_is_eight_rows_one_or_a_part_of_one)
{
    struct lab_change change;
    change_of(0, INT64_C(1426535612045), &change);
    cr_assert(change.row_count == 8 && change.cell_count == 8);
    assert_row(&change, 0, "server7.bbb.com#FREE#1426535612045");
    assert_row(&change, 6, "server7.bbb.com#USR#1426535612045");
    for (size_t variant = 1; variant < BUCKET; variant++) {
        change_of(variant, INT64_C(1426535612045), &change);
        cr_assert(change.row_count == 1 && change.cell_count == 8);
        assert_row(&change, 0, "server7.bbb.com#1426535612045");
    }
    change_of(BUCKET, INT64_C(1426535612045), &change);
    cr_assert(change.row_count == 1 && change.cell_count == 8);
    assert_row(&change, 0, "server7.bbb.com#1426535400000");
    cr_assert_eq(change.cells[0].timestamp_us, INT64_C(1426535612045000));
    change_of(BUCKET, INT64_C(1426535999999), &change);
    assert_row(&change, 0, "server7.bbb.com#1426535400000");
    change_of(BUCKET, INT64_C(1426536000000), &change);
    assert_row(&change, 0, "server7.bbb.com#1426536000000");
}

/* A bucket has a bound: its rule keeps as many cells as a machine has moments in it. */
Test(lab_columns, the_rule_keeps_all_of_a_bucket_and_no_more)
{
    struct lab_event event;
    uint32_t moments = 0;
    for (uint64_t i = 0; i < WORLD.history; i++) {
        LAB_COLUMNS.event(&WORLD, i, &event);
        bool is_in = event.time_ms >= INT64_C(1426536000000) &&
                     event.time_ms < INT64_C(1426536600000);
        moments += is_in && event.who == 7 ? 1 : 0;
    }
    cr_assert_eq(LAB_COLUMNS.variants[BUCKET].families[0].versions, moments);
}

/* --- queries ---------------------------------------------------------------------------------- */

static bool matches(struct edubba_bytes pattern, struct edubba_bytes text)
{
    char whole[64];
    char subject[64];
    regex_t regex;
    if (pattern.size == 0) {
        return true;
    }
    (void)snprintf(whole, sizeof whole, "^(%.*s)$", (int)pattern.size, (const char *)pattern.data);
    (void)snprintf(subject, sizeof subject, "%.*s", (int)text.size, (const char *)text.data);
    cr_assert_eq(regcomp(&regex, whole, REG_EXTENDED | REG_NOSUB), 0);
    bool is_match = regexec(&regex, subject, 0, NULL, 0) == 0;
    regfree(&regex);
    return is_match;
}

static bool has_key(const struct lab_query *query, const struct lab_row *row)
{
    struct edubba_bytes key = edubba_bytes_of(row->key, row->key_size);
    bool has = false;
    for (size_t i = 0; i < query->range_count; i++) {
        has = has ||
              (compare(key, query->ranges[i].start) >= 0 && compare(key, query->ranges[i].end) < 0);
    }
    return has;
}

static size_t count_cells(const struct lab_query *query, const struct lab_change *change)
{
    size_t count = 0;
    for (size_t i = 0; i < change->row_count; i++) {
        const struct lab_row *row = &change->rows[i];
        for (size_t j = row->first; has_key(query, row) && j < row->first + row->count; j++) {
            const struct edubba_mutation *cell = &change->cells[j];
            bool is_then = query->to_us == 0 || (cell->timestamp_us >= query->from_us &&
                                                 cell->timestamp_us < query->to_us);
            count += is_then && matches(query->family_regex, cell->family) &&
                             matches(query->qualifier_regex, cell->qualifier)
                         ? 1
                         : 0;
        }
    }
    return count;
}

static size_t given(const struct lab_variant *variant, const struct lab_query *query, uint64_t who)
{
    size_t count = 0;
    for (uint64_t i = 0; i < WORLD.history; i++) {
        struct lab_event event;
        struct lab_change change;
        LAB_COLUMNS.event(&WORLD, i, &event);
        if (event.who == who) {
            lab_change_init(&change);
            variant->change(&event, &change);
            count += count_cells(query, &change);
        }
    }
    return count;
}

/* Two metrics, one, and eight: of the 120 moments of ten minutes, wherever buckets end. */
Test(lab_columns, every_variant_is_given_the_same_readings)
{
    static const size_t WANTED[LAB_QUERIES_MAX] = {240, 120, 960};
    static const uint64_t ABOUT[] = {0, 5000, 7777, 11999};
    for (size_t i = 0; i < LAB_COLUMNS.variant_count; i++) {
        const struct lab_variant *variant = &LAB_COLUMNS.variants[i];
        for (size_t j = 0; j < LAB_QUERIES_MAX; j++) {
            for (size_t k = 0; k < sizeof ABOUT / sizeof ABOUT[0]; k++) {
                struct lab_event event;
                struct lab_query query;
                LAB_COLUMNS.event(&WORLD, ABOUT[k], &event);
                variant->queries[j](&WORLD, &event, &query);
                cr_assert(query.fits);
                size_t got = given(variant, &query, event.who);
                cr_assert_eq(got, WANTED[j], "%s, %zu: %zu", variant->name, j, got);
            }
        }
    }
}

/* The lab's experiments: their keys and cells as the patterns say. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/lab_keys.h"

static bool is_text(struct edubba_bytes bytes, const char *text)
{
    return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

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

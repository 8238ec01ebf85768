/*
 * Gardens: a temperature a day, as versions of one cell, as rows, as a row a month.
 *
 *   versions   VEGGIEGARDEN                DAILY:TEMP, a version a day: the row never ends
 *   tall       VEGGIEGARDEN#20150301       DAILY:TEMP
 *   wide       VEGGIEGARDEN#201503         TEMP:1 ... TEMP:31
 */
#include <stdio.h>

#include "client/load/lab/core/experiments/story.h"

#define GARDENS    20
#define MONTH_DAYS 31
#define NAME_BYTES 32
#define DAILY      "DAILY"
#define TEMP       "TEMP"

static int64_t time_of(uint64_t number)
{
    return LAB_BEGIN_MS + (int64_t)(number / GARDENS) * LAB_DAY_MS;
}

static void event(const struct lab_world *world, uint64_t number, struct lab_event *ret_event)
{
    *ret_event = (struct lab_event){
        .number = number,
        .time_ms = time_of(number),
        .who = number % GARDENS,
        .random = lab_dice(world, number, 1),
    };
}

static void who_text(uint64_t who, char *out, size_t size)
{
    if (who == 0) {
        (void)snprintf(out, size, "VEGGIEGARDEN");
    } else {
        (void)snprintf(out, size, "VEGGIEGARDEN%02u", (unsigned)who);
    }
}

/* --- keys ------------------------------------------------------------------------------------- */

static void key_of_garden(struct edubba_key *key, uint64_t who)
{
    char name[NAME_BYTES];
    who_text(who, name, sizeof name);
    edubba_key_init(key);
    edubba_key_add_text(key, name);
}

static void key_of_day(struct edubba_key *key, uint64_t who, int64_t time_ms)
{
    char day[LAB_TIME_BYTES];
    key_of_garden(key, who);
    edubba_key_add_text(key, lab_day_text(time_ms, day));
}

static void key_of_month(struct edubba_key *key, uint64_t who, int64_t time_ms)
{
    char month[LAB_TIME_BYTES];
    key_of_garden(key, who);
    edubba_key_add_text(key, lab_month_text(time_ms, month));
}

/* --- changes ---------------------------------------------------------------------------------- */

static struct edubba_bytes temperature(const struct lab_event *of, struct lab_change *change)
{
    unsigned tenths = 300 + (unsigned)(of->random % 600);
    return lab_change_text(change, "%u.%u", tenths / 10, tenths % 10);
}

static void change_versions(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_of_garden(&key, of->who);
    lab_change_row(change, &key);
    lab_change_set(change, DAILY, EDUBBA_TEXT("TEMP"), of->time_ms * 1000, temperature(of, change));
}

static void change_tall(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_of_day(&key, of->who, of->time_ms);
    lab_change_row(change, &key);
    lab_change_set(change, DAILY, EDUBBA_TEXT("TEMP"), of->time_ms * 1000, temperature(of, change));
}

static void change_wide(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_of_month(&key, of->who, of->time_ms);
    lab_change_row(change, &key);
    lab_change_set(change, TEMP, lab_change_text(change, "%u", lab_day_of_month(of->time_ms)),
                   of->time_ms * 1000, temperature(of, change));
}

/* --- queries: a garden's month ---------------------------------------------------------------- */

static int64_t month_start_ms(int64_t time_ms)
{
    return time_ms - (int64_t)(lab_day_of_month(time_ms) - 1) * LAB_DAY_MS;
}

static void month_of_versions(const struct lab_world *world,
                              const struct lab_event *of,
                              struct lab_query *query)
{
    struct edubba_key key;
    int64_t start_ms = month_start_ms(of->time_ms);
    (void)world;
    key_of_garden(&key, of->who);
    lab_query_init(query, LAB_QUERY_ROW);
    lab_query_key(query, &key);
    query->from_us = start_ms * 1000;
    query->to_us = (start_ms + MONTH_DAYS * LAB_DAY_MS) * 1000;
}

static void month_of_days(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    struct edubba_key start;
    struct edubba_key end;
    int64_t start_ms = month_start_ms(of->time_ms);
    (void)world;
    key_of_day(&start, of->who, start_ms);
    key_of_day(&end, of->who, start_ms + MONTH_DAYS * LAB_DAY_MS);
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_range(query, &start, &end);
}

static void month_of_wide(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    struct edubba_key key;
    (void)world;
    key_of_month(&key, of->who, of->time_ms);
    lab_query_init(query, LAB_QUERY_ROW);
    lab_query_key(query, &key);
}

static const struct lab_variant VARIANTS[] = {
    {
        .name = "versions",
        .key = "GARDEN, a version a day",
        .about = "A new version of one cell for each event: the row grows for ever.",
        .remedy = "write a row for each event, or for each month; versions are for corrections",
        .role = LAB_BAD,
        .families = {{DAILY, EDUBBA_PLAIN, 0}},
        .cells_add_up = true,
        .change = change_versions,
        .queries = {month_of_versions},
    },
    {
        .name = "tall and narrow",
        .key = "GARDEN#YYYYMMDD",
        .about = "A row an event: no row grows.  More rows, each with its key.",
        .remedy = "",
        .role = LAB_GOOD,
        .families = {{DAILY, EDUBBA_PLAIN, 1}},
        .change = change_tall,
        .queries = {month_of_days},
    },
    {
        .name = "short and wide",
        .key = "GARDEN#YYYYMM",
        .about = "A row a month, 31 columns at most: bounded, and a month is one row.",
        .remedy = "",
        .role = LAB_GOOD,
        .families = {{TEMP, EDUBBA_PLAIN, 1}},
        .change = change_wide,
        .queries = {month_of_wide},
    },
};

const struct lab_experiment LAB_GARDEN = {
    .name = "garden",
    .summary = "a value a day: versions of a cell, tall and narrow rows, short and wide ones",
    .story = "20 vegetable gardens, a temperature a day, over many years.  Queries are about a "
             "garden's month.",
    .who = "garden",
    .queries = {"a garden's month"},
    .event = event,
    .who_text = who_text,
    .variants = VARIANTS,
    .variant_count = sizeof VARIANTS / sizeof VARIANTS[0],
};

/*
 * Power meters: one row a meter and day, a column a quarter of an hour.  At midnight all 10 million
 * meters write; with DATE#METER they all write into one range.
 *
 * The history is the ten days before; what is written is the first reading of the day that begins.
 * The nightly copy of one day into a table SENSOR_YYYYMMDD is the query for a whole day: with
 * METER#DATE it is a full scan, which is why it is done once, by night.
 */
#include <stdio.h>

#include "client/load/lab/core/experiments/story.h"

#define METERS      UINT64_C(10000000)
#define METER_WIDTH 10
#define DAYS        10
#define MIDNIGHT_MS INT64_C(1501027200000) /* 2017-07-26 00:00 */
#define FAMILY      "METER"
#define WATTS       5000

static uint64_t meters_a_day(const struct lab_world *world)
{
    return world->history > DAYS ? world->history / DAYS : 1;
}

static uint64_t day_of(const struct lab_world *world, uint64_t number)
{
    uint64_t day = number / meters_a_day(world);
    return number >= world->history ? DAYS : day < DAYS ? day : DAYS - 1;
}

static int64_t time_of_day(uint64_t day)
{
    return MIDNIGHT_MS - (int64_t)(DAYS - day) * LAB_DAY_MS;
}

static void event(const struct lab_world *world, uint64_t number, struct lab_event *ret_event)
{
    bool is_history = number < world->history;
    uint64_t meter = is_history ? number % meters_a_day(world) : number;
    *ret_event = (struct lab_event){
        .number = number,
        .time_ms = time_of_day(day_of(world, number)),
        .who = lab_dice(world, meter, 0) % METERS,
        .random = lab_dice(world, number, 1),
    };
}

static void who_text(uint64_t who, char *out, size_t size)
{
    (void)snprintf(out, size, "%010u", (unsigned)who);
}

static void key_by_day(struct edubba_key *key, uint64_t who, int64_t time_ms)
{
    char day[LAB_TIME_BYTES];
    edubba_key_init(key);
    edubba_key_add_text(key, lab_day_text(time_ms, day));
    edubba_key_add_number(key, who, METER_WIDTH);
}

static void key_by_meter(struct edubba_key *key, uint64_t who, int64_t time_ms)
{
    char day[LAB_TIME_BYTES];
    edubba_key_init(key);
    edubba_key_add_number(key, who, METER_WIDTH);
    edubba_key_add_text(key, lab_day_text(time_ms, day));
}

static void set_reading(const struct lab_event *of, struct lab_change *change)
{
    char meter[LAB_TIME_BYTES];
    who_text(of->who, meter, sizeof meter);
    lab_change_set(change, FAMILY, EDUBBA_TEXT("ID"), of->time_ms * 1000,
                   lab_change_text(change, "%s", meter));
    lab_change_set(change, FAMILY, EDUBBA_TEXT("0000"), of->time_ms * 1000,
                   lab_change_text(change, "%u", (unsigned)(of->random % WATTS)));
}

static void change_by_day(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_by_day(&key, of->who, of->time_ms);
    lab_change_row(change, &key);
    set_reading(of, change);
}

static void change_by_meter(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_by_meter(&key, of->who, of->time_ms);
    lab_change_row(change, &key);
    set_reading(of, change);
}

/* --- queries ---------------------------------------------------------------------------------- */

/* The days are known: a row of each. */
static void meter_by_day(const struct lab_world *world,
                         const struct lab_event *of,
                         struct lab_query *query)
{
    struct edubba_key key;
    (void)world;
    lab_query_init(query, LAB_QUERY_KEYS);
    for (uint64_t day = 0; day < DAYS; day++) {
        key_by_day(&key, of->who, time_of_day(day));
        lab_query_key(query, &key);
    }
}

static void meter_by_meter(const struct lab_world *world,
                           const struct lab_event *of,
                           struct lab_query *query)
{
    struct edubba_key prefix;
    (void)world;
    edubba_key_init(&prefix);
    edubba_key_add_number(&prefix, of->who, METER_WIDTH);
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_prefix(query, &prefix);
}

static void day_by_day(const struct lab_world *world,
                       const struct lab_event *of,
                       struct lab_query *query)
{
    struct edubba_key prefix;
    char day[LAB_TIME_BYTES];
    (void)world;
    edubba_key_init(&prefix);
    edubba_key_add_text(&prefix, lab_day_text(of->time_ms, day));
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_prefix(query, &prefix);
}

static void day_by_meter(const struct lab_world *world,
                         const struct lab_event *of,
                         struct lab_query *query)
{
    char day[LAB_TIME_BYTES];
    (void)world;
    lab_query_init(query, LAB_QUERY_SCAN);
    query->row_regex = lab_query_text(query, ".*#%s", lab_day_text(of->time_ms, day));
}

/* --- the nightly copy: SENSOR_YYYYMMDD has a row a meter -------------------------------------- */

static void copy_of_last_day(const struct lab_world *world, struct lab_query *query)
{
    struct lab_event last;
    event(world, world->history - 1, &last);
    day_by_meter(world, &last, query);
}

static void key_of_copy(const struct edubba_row *row, struct edubba_key *key)
{
    size_t size = row->key.size < METER_WIDTH ? row->key.size : METER_WIDTH;
    edubba_key_init(key);
    edubba_key_add_bytes(key, edubba_bytes_of(row->key.data, size));
}

static const struct lab_variant VARIANTS[] = {
    {
        .name = "by date",
        .key = "DATE#METER",
        .about = "All readings of a day lie side by side, and so do all writes of its midnight.",
        .remedy = "put METER in front, and copy each day into a table of its own by night",
        .role = LAB_BAD,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_by_day,
        .queries = {meter_by_day, day_by_day},
    },
    {
        .name = "by meter",
        .key = "METER#DATE",
        .about = "Midnight is spread over all meters.  A day of all of them is a full scan: the "
                 "nightly copy.",
        .remedy = "do that once a night, into a table SENSOR_YYYYMMDD",
        .role = LAB_GOOD,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .copy = copy_of_last_day,
        .copy_key = key_of_copy,
        .change = change_by_meter,
        .queries = {meter_by_meter, day_by_meter},
    },
};

const struct lab_experiment LAB_SENSOR = {
    .name = "sensor",
    .summary = "power meters at midnight: the date leads the key, or the meter",
    .story = "10 million meters, one row a meter and day.  It is midnight: all of them write the "
             "first reading of the new day.",
    .who = "meter",
    .queries = {"a meter's ten days", "a day of all meters (the nightly copy)"},
    .event = event,
    .who_text = who_text,
    .variants = VARIANTS,
    .variant_count = sizeof VARIANTS / sizeof VARIANTS[0],
};

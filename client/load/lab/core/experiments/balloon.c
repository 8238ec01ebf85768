/*
 * Weather balloons: the four ways to store a series, on the same data.
 *
 *   new columns    a row a measure and week, a column an event: the value is the qualifier, the cell empty
 *   new cells      a row a week, a column a measure, an event is a cell with its timestamp
 *   serialised     a row an event, all measures in one value
 *   unserialised   a row an event, a column a measure
 */
#include <stdio.h>

#include "client/load/lab/core/experiments/story.h"

#define BALLOONS       200
#define FIRST_BALLOON  3698
#define STEP_MS        60000 /* of one balloon */
#define WEEK_MS        (7 * LAB_DAY_MS)
#define WEEK_CELLS     10080           /* one a minute: what the rule of new cells keeps */
#define WINDOW         (60 * BALLOONS) /* an hour */
#define FAMILY         "M"
#define LOCATION       "us-west2"
#define MEASURES       4
#define HUMIDITY       2 /* in NAMES */
#define HUMIDITY_ASKED 40U

static const char *const NAMES[MEASURES] = {"pressure", "temperature", "humidity", "altitude"};

static int64_t time_of(uint64_t number)
{
    return LAB_BEGIN_MS + (int64_t)(number / BALLOONS) * STEP_MS;
}

static void event(const struct lab_world *world, uint64_t number, struct lab_event *ret_event)
{
    *ret_event = (struct lab_event){
        .number = number,
        .time_ms = time_of(number),
        .who = number % BALLOONS,
        .random = lab_dice(world, number, 1),
    };
}

static void who_text(uint64_t who, char *out, size_t size)
{
    (void)snprintf(out, size, "%u", FIRST_BALLOON + (unsigned)who);
}

static unsigned value_of(const struct lab_event *of, size_t measure)
{
    static const unsigned LEAST[MEASURES] = {90000, 230, 10, 1000};
    static const unsigned SPAN[MEASURES] = {10000, 80, 80, 20000};
    return LEAST[measure] + (unsigned)(of->random >> (measure * 16) & 0xffff) % SPAN[measure];
}

/* --- keys ------------------------------------------------------------------------------------- */

static void key_of_balloon(struct edubba_key *key, uint64_t who)
{
    char number[LAB_TIME_BYTES];
    who_text(who, number, sizeof number);
    edubba_key_init(key);
    edubba_key_add_text(key, LOCATION);
    edubba_key_add_text(key, number);
}

/* measure NULL = all of them in one row. */
static void key_of_week(struct edubba_key *key, uint64_t who, const char *measure, int64_t time_ms)
{
    char week[LAB_TIME_BYTES];
    (void)snprintf(week, sizeof week, "week%u", 1 + (unsigned)((time_ms - LAB_BEGIN_MS) / WEEK_MS));
    key_of_balloon(key, who);
    if (measure != NULL) {
        edubba_key_add_text(key, measure);
    }
    edubba_key_add_text(key, week);
}

static void key_of_event(struct edubba_key *key, uint64_t who, int64_t time_ms)
{
    char time[LAB_TIME_BYTES];
    key_of_balloon(key, who);
    edubba_key_add_text(key, lab_time_text(time_ms, time));
}

/* --- changes ---------------------------------------------------------------------------------- */

static void change_new_columns(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    for (size_t i = 0; i < MEASURES; i++) {
        key_of_week(&key, of->who, NAMES[i], of->time_ms);
        lab_change_row(change, &key);
        lab_change_set(change, FAMILY, lab_change_text(change, "%u", value_of(of, i)),
                       of->time_ms * 1000, EDUBBA_TEXT(""));
    }
}

static void set_columns(const struct lab_event *of, struct lab_change *change)
{
    for (size_t i = 0; i < MEASURES; i++) {
        lab_change_set(change, FAMILY, EDUBBA_TEXT(NAMES[i]), of->time_ms * 1000,
                       lab_change_text(change, "%u", value_of(of, i)));
    }
}

static void change_new_cells(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_of_week(&key, of->who, NULL, of->time_ms);
    lab_change_row(change, &key);
    set_columns(of, change);
}

static void change_serialised(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_of_event(&key, of->who, of->time_ms);
    lab_change_row(change, &key);
    lab_change_set(change, FAMILY, EDUBBA_TEXT("all"), of->time_ms * 1000,
                   lab_change_text(change, "%u,%u,%u,%u", value_of(of, 0), value_of(of, 1),
                                   value_of(of, 2), value_of(of, 3)));
}

static void change_unserialised(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_of_event(&key, of->who, of->time_ms);
    lab_change_row(change, &key);
    set_columns(of, change);
}

/* --- queries ---------------------------------------------------------------------------------- */

static void set_times(const struct lab_world *world,
                      const struct lab_event *of,
                      struct lab_query *query)
{
    struct lab_window window = lab_window_about(world, of->number, WINDOW);
    query->from_us = time_of(window.from) * 1000;
    query->to_us = time_of(window.to) * 1000;
}

static void pressure_new_columns(const struct lab_world *world,
                                 const struct lab_event *of,
                                 struct lab_query *query)
{
    struct edubba_key key;
    key_of_week(&key, of->who, NAMES[0], of->time_ms);
    lab_query_init(query, LAB_QUERY_ROW);
    lab_query_key(query, &key);
    set_times(world, of, query);
}

static void all_new_columns(const struct lab_world *world,
                            const struct lab_event *of,
                            struct lab_query *query)
{
    struct edubba_key key;
    lab_query_init(query, LAB_QUERY_KEYS);
    for (size_t i = 0; i < MEASURES; i++) {
        key_of_week(&key, of->who, NAMES[i], of->time_ms);
        lab_query_key(query, &key);
    }
    set_times(world, of, query);
}

static void all_new_cells(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    struct edubba_key key;
    key_of_week(&key, of->who, NULL, of->time_ms);
    lab_query_init(query, LAB_QUERY_ROW);
    lab_query_key(query, &key);
    set_times(world, of, query);
}

static void pressure_new_cells(const struct lab_world *world,
                               const struct lab_event *of,
                               struct lab_query *query)
{
    all_new_cells(world, of, query);
    query->qualifier_regex = EDUBBA_TEXT(NAMES[0]);
}

static void all_events(const struct lab_world *world,
                       const struct lab_event *of,
                       struct lab_query *query)
{
    struct lab_window window = lab_window_about(world, of->number, WINDOW);
    struct edubba_key start;
    struct edubba_key end;
    key_of_event(&start, of->who, time_of(window.from));
    key_of_event(&end, of->who, time_of(window.to));
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_range(query, &start, &end);
}

static void pressure_events(const struct lab_world *world,
                            const struct lab_event *of,
                            struct lab_query *query)
{
    all_events(world, of, query);
    query->qualifier_regex = EDUBBA_TEXT(NAMES[0]);
}

/* --- queries: by a value ----------------------------------------------------------------------------- */

static struct edubba_bytes asked_humidity(struct lab_query *query)
{
    return lab_query_text(query, "%u", HUMIDITY_ASKED);
}

static void humid_new_columns(const struct lab_world *world,
                              const struct lab_event *of,
                              struct lab_query *query)
{
    struct edubba_key key;
    key_of_week(&key, of->who, NAMES[HUMIDITY], of->time_ms);
    lab_query_init(query, LAB_QUERY_ROW);
    lab_query_key(query, &key);
    set_times(world, of, query);
    query->qualifier_regex = asked_humidity(query);
}

static void humid_new_cells(const struct lab_world *world,
                            const struct lab_event *of,
                            struct lab_query *query)
{
    all_new_cells(world, of, query);
    query->qualifier_regex = EDUBBA_TEXT(NAMES[HUMIDITY]);
    query->value_regex = asked_humidity(query);
}

static void humid_unserialised(const struct lab_world *world,
                               const struct lab_event *of,
                               struct lab_query *query)
{
    all_events(world, of, query);
    query->qualifier_regex = EDUBBA_TEXT(NAMES[HUMIDITY]);
    query->value_regex = asked_humidity(query);
}

static const struct lab_variant VARIANTS[] = {
    {
        .name = "new columns",
        .key = "LOCATION#BALLOON#MEASURE#WEEK",
        .about = "A row a measure and week; the value is the qualifier, the cell empty.",
        .remedy = "",
        .role = LAB_ALSO,
        .families = {{FAMILY, EDUBBA_PLAIN, 0}},
        .change = change_new_columns,
        .queries = {pressure_new_columns, all_new_columns, humid_new_columns},
    },
    {
        .name = "new cells",
        .key = "LOCATION#BALLOON#WEEK",
        .about = "A row a week, a column a measure, a cell an event; a rule keeps 10 080 of each.",
        .remedy = "",
        .role = LAB_ALSO,
        .families = {{FAMILY, EDUBBA_PLAIN, WEEK_CELLS}},
        .change = change_new_cells,
        .queries = {pressure_new_cells, all_new_cells, humid_new_cells},
    },
    {
        .name = "serialised",
        .key = "LOCATION#BALLOON#TS, one value",
        .about = "A row an event, all measures in one value: the least bytes a row, no column "
                 "filters: whoever wants one measure, or asks by a value, is given all.",
        .remedy = "give a measure that is asked by a column of its own",
        .role = LAB_ALSO,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_serialised,
        .queries = {all_events, all_events, all_events},
    },
    {
        .name = "unserialised",
        .key = "LOCATION#BALLOON#TS, four columns",
        .about = "A row an event, a column a measure: plain to read, and names in every row.",
        .remedy = "",
        .role = LAB_ALSO,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_unserialised,
        .queries = {pressure_events, all_events, humid_unserialised},
    },
};

const struct lab_experiment LAB_BALLOON = {
    .name = "balloon",
    .summary = "weather balloons: time buckets of columns or cells, rows of one value or four",
    .story =
        "200 balloons report pressure, temperature, humidity and altitude, each once a minute. "
        "Four ways to store the same series: compare what writing and reading them takes.",
    .who = "balloon",
    .queries = {"a balloon's pressure, an hour", "all its measures, an hour",
                "when its humidity was 40 %, an hour"},
    .event = event,
    .who_text = who_text,
    .variants = VARIANTS,
    .variant_count = sizeof VARIANTS / sizeof VARIANTS[0],
};

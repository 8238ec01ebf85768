/*
 * Battery reports: BATTERY#TS, whose writes all go to the end of the table, against the user promoted
 * into the key, and against three salts.
 *
 * Salts stand first in the key, as edubba_scan_open_salted() wants them: 2#BATTERY#20150301124501001.
 */
#include <stdio.h>

#include "client/load/lab/core/experiments/story.h"

#define USERS       200
#define SALTS       3
#define STEP_MS     1
#define USER_WINDOW 2000 /* events: about ten of each user */
#define ALL_WINDOW  500
#define FAMILY      "B"
#define NAME_BYTES  32
#define PERCENT     100

static void event(const struct lab_world *world, uint64_t number, struct lab_event *ret_event)
{
    uint64_t dice = lab_dice(world, number, 0);
    *ret_event = (struct lab_event){
        .number = number,
        .time_ms = LAB_BEGIN_MS + (int64_t)number * STEP_MS,
        .who = dice % USERS,
        .random = lab_dice(world, number, 1),
    };
}

static void who_text(uint64_t who, char *out, size_t size)
{
    if (who == 0) {
        (void)snprintf(out, size, "Corrie");
    } else {
        (void)snprintf(out, size, "user%04u", (unsigned)who);
    }
}

/* --- keys ------------------------------------------------------------------------------------- */

static void key_by_time(struct edubba_key *key, int64_t time_ms)
{
    char time[LAB_TIME_BYTES];
    edubba_key_init(key);
    edubba_key_add_text(key, "BATTERY");
    edubba_key_add_text(key, lab_time_text(time_ms, time));
}

static void key_promoted(struct edubba_key *key, uint64_t who, int64_t time_ms)
{
    char time[LAB_TIME_BYTES];
    char name[NAME_BYTES];
    who_text(who, name, sizeof name);
    edubba_key_init(key);
    edubba_key_add_text(key, "BATTERY");
    edubba_key_add_text(key, name);
    edubba_key_add_text(key, lab_time_text(time_ms, time));
}

static void key_salted(struct edubba_key *key, int64_t time_ms)
{
    char time[LAB_TIME_BYTES];
    lab_time_text(time_ms, time);
    edubba_key_init(key);
    edubba_key_add_salt(key, edubba_salt(EDUBBA_TEXT(time), SALTS), SALTS);
    edubba_key_add_text(key, "BATTERY");
    edubba_key_add_text(key, time);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void set_level(const struct lab_event *of, struct lab_change *change)
{
    lab_change_set(change, FAMILY, EDUBBA_TEXT("level"), of->time_ms * 1000,
                   lab_change_text(change, "%u", (unsigned)(of->random % PERCENT)));
}

static void set_user(const struct lab_event *of, struct lab_change *change)
{
    char name[NAME_BYTES];
    who_text(of->who, name, sizeof name);
    lab_change_set(change, FAMILY, EDUBBA_TEXT("user"), of->time_ms * 1000,
                   lab_change_text(change, "%s", name));
}

static void change_by_time(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_by_time(&key, of->time_ms);
    lab_change_row(change, &key);
    set_level(of, change);
    set_user(of, change);
}

static void change_promoted(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_promoted(&key, of->who, of->time_ms);
    lab_change_row(change, &key);
    set_level(of, change);
}

static void change_salted(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_salted(&key, of->time_ms);
    lab_change_row(change, &key);
    set_level(of, change);
    set_user(of, change);
}

/* --- queries ---------------------------------------------------------------------------------- */

struct times {
    int64_t from_ms;
    int64_t to_ms;
};

static struct times times_about(const struct lab_world *world, uint64_t number, uint64_t size)
{
    struct lab_window window = lab_window_about(world, number, size);
    return (struct times){LAB_BEGIN_MS + (int64_t)window.from * STEP_MS,
                          LAB_BEGIN_MS + (int64_t)window.to * STEP_MS};
}

static void where_user(const struct lab_event *of, struct lab_query *query)
{
    char name[NAME_BYTES];
    who_text(of->who, name, sizeof name);
    query->where_family = FAMILY;
    query->where_qualifier = EDUBBA_TEXT("user");
    query->where_value = lab_query_text(query, "%s", name);
}

static void range_of_times(struct lab_query *query, struct times times)
{
    struct edubba_key start;
    struct edubba_key end;
    key_by_time(&start, times.from_ms);
    key_by_time(&end, times.to_ms);
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_range(query, &start, &end);
}

static void user_by_time(const struct lab_world *world,
                         const struct lab_event *of,
                         struct lab_query *query)
{
    range_of_times(query, times_about(world, of->number, USER_WINDOW));
    where_user(of, query);
}

static void user_promoted(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    struct times times = times_about(world, of->number, USER_WINDOW);
    struct edubba_key start;
    struct edubba_key end;
    key_promoted(&start, of->who, times.from_ms);
    key_promoted(&end, of->who, times.to_ms);
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_range(query, &start, &end);
}

static void user_salted(const struct lab_world *world,
                        const struct lab_event *of,
                        struct lab_query *query)
{
    user_by_time(world, of, query);
    query->salts = SALTS;
}

static void all_by_time(const struct lab_world *world,
                        const struct lab_event *of,
                        struct lab_query *query)
{
    range_of_times(query, times_about(world, of->number, ALL_WINDOW));
}

/* No user is named: every row has to be looked at. */
static void all_promoted(const struct lab_world *world,
                         const struct lab_event *of,
                         struct lab_query *query)
{
    struct times times = times_about(world, of->number, ALL_WINDOW);
    lab_query_init(query, LAB_QUERY_SCAN);
    query->from_us = times.from_ms * 1000;
    query->to_us = times.to_ms * 1000;
}

static void all_salted(const struct lab_world *world,
                       const struct lab_event *of,
                       struct lab_query *query)
{
    all_by_time(world, of, query);
    query->salts = SALTS;
}

/* --- one report, by its whole key: a salt follows from it ------------------------------------------- */

static void one_by_time(const struct lab_world *world,
                        const struct lab_event *of,
                        struct lab_query *query)
{
    struct edubba_key key;
    (void)world;
    key_by_time(&key, of->time_ms);
    lab_query_init(query, LAB_QUERY_ROW);
    lab_query_key(query, &key);
}

static void one_promoted(const struct lab_world *world,
                         const struct lab_event *of,
                         struct lab_query *query)
{
    struct edubba_key key;
    (void)world;
    key_promoted(&key, of->who, of->time_ms);
    lab_query_init(query, LAB_QUERY_ROW);
    lab_query_key(query, &key);
}

static void one_salted(const struct lab_world *world,
                       const struct lab_event *of,
                       struct lab_query *query)
{
    struct edubba_key key;
    (void)world;
    key_salted(&key, of->time_ms);
    lab_query_init(query, LAB_QUERY_ROW);
    lab_query_key(query, &key);
}

static const struct lab_variant VARIANTS[] = {
    {
        .name = "by time",
        .key = "BATTERY#TS",
        .about = "The time leads: every write goes behind all others, to the end of the table.",
        .remedy = "promote USER in front of the time, or salt",
        .role = LAB_BAD,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_by_time,
        .queries = {user_by_time, all_by_time, one_by_time},
    },
    {
        .name = "promoted",
        .key = "BATTERY#USER#TS",
        .about = "Field promotion, the preferred cure.  Its price: queries must name the user.",
        .remedy = "ask for a user, or keep a second table by time",
        .role = LAB_GOOD,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_promoted,
        .queries = {user_promoted, all_promoted, one_promoted},
    },
    {
        .name = "salted",
        .key = "SALT#BATTERY#TS",
        .about = "Three salts: the writes have three ends.  Its price: a range is three scans; one "
                 "report stays one read, as its salt follows from its key.",
        .remedy = "promote USER, so that a query need not look at everybody's rows",
        .role = LAB_GOOD,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_salted,
        .queries = {user_salted, all_salted, one_salted},
    },
};

const struct lab_experiment LAB_BATTERY = {
    .name = "battery",
    .summary = "the time leads the key: field promotion and salting against it",
    .story = "Batteries of 200 users report, a report a millisecond.  With the time in front all "
             "writes pile up at the end of the table, on one server, however many there are.",
    .who = "user",
    .queries = {"a user's reports of 2 s", "all reports of 0.5 s", "one report"},
    .event = event,
    .who_text = who_text,
    .variants = VARIANTS,
    .variant_count = sizeof VARIANTS / sizeof VARIANTS[0],
};

/*
 * A celebrity: rows user_id-site-ts, and one user takes most of the traffic, most of it on one site.
 *
 * Salt over the whole key spreads even one series, and a range of it becomes a scan a salt.  Salt over
 * user and site keeps a series together, and so does not help the one that is hot.
 */
#include <stdio.h>

#include "client/load/core/random.h"
#include "client/load/lab/core/experiments/story.h"

#define USERS           10000
#define CELEBRITY       42
#define CELEBRITY_SHARE 0.8
#define SITES           10
#define SITE_SHARE      0.75 /* of the celebrity's traffic, on the first site */
#define SALTS           8
#define STEP_MS         1
#define WINDOW          2000
#define ROWS_LIMIT      50
#define FAMILY          "V"
#define NAME_BYTES      16
#define SERIES_BYTES    48

static void event(const struct lab_world *world, uint64_t number, struct lab_event *ret_event)
{
    uint64_t state = lab_dice(world, number, 0);
    bool is_celebrity = load_random_unit(&state) < CELEBRITY_SHARE;
    bool is_first_site = is_celebrity && load_random_unit(&state) < SITE_SHARE;
    *ret_event = (struct lab_event){
        .number = number,
        .time_ms = LAB_BEGIN_MS + (int64_t)number * STEP_MS,
        .who = is_celebrity ? CELEBRITY : load_random_below(&state, USERS),
        .what = is_first_site ? 0 : load_random_below(&state, SITES),
        .random = load_random_next(&state),
    };
}

static void who_text(uint64_t who, char *out, size_t size)
{
    (void)snprintf(out, size, "u%06u", (unsigned)who);
}

/* --- keys: fields are joined by '-', so it is one field of '#' ------------------------------- */

static struct edubba_bytes series_of(const struct lab_event *of, char out[SERIES_BYTES])
{
    int size = snprintf(out, SERIES_BYTES, "u%06u-site%u", (unsigned)of->who, (unsigned)of->what);
    return edubba_bytes_of(out, (size_t)size);
}

static struct edubba_bytes row_of(const struct lab_event *of,
                                  int64_t time_ms,
                                  char out[SERIES_BYTES + LAB_TIME_BYTES])
{
    char series[SERIES_BYTES];
    char time[LAB_TIME_BYTES];
    (void)series_of(of, series);
    int size = snprintf(out, SERIES_BYTES + LAB_TIME_BYTES, "%s-%s", series,
                        lab_time_text(time_ms, time));
    return edubba_bytes_of(out, (size_t)size);
}

enum salting {
    UNSALTED,
    BY_KEY,
    BY_SERIES,
};

static void key_of(struct edubba_key *key,
                   const struct lab_event *of,
                   int64_t time_ms,
                   enum salting salting)
{
    char row[SERIES_BYTES + LAB_TIME_BYTES];
    char series[SERIES_BYTES];
    struct edubba_bytes bytes = row_of(of, time_ms, row);
    edubba_key_init(key);
    if (salting != UNSALTED) {
        struct edubba_bytes hashed = salting == BY_KEY ? bytes : series_of(of, series);
        edubba_key_add_salt(key, edubba_salt(hashed, SALTS), SALTS);
    }
    edubba_key_add_bytes(key, bytes);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void change_of(const struct lab_event *of, struct lab_change *change, enum salting salting)
{
    struct edubba_key key;
    key_of(&key, of, of->time_ms, salting);
    lab_change_row(change, &key);
    lab_change_set(change, FAMILY, EDUBBA_TEXT("page"), of->time_ms * 1000,
                   lab_change_text(change, "/page/%08x", (unsigned)of->random));
}

static void change_plain(const struct lab_event *of, struct lab_change *change)
{
    change_of(of, change, UNSALTED);
}

static void change_by_series(const struct lab_event *of, struct lab_change *change)
{
    change_of(of, change, BY_SERIES);
}

static void change_by_key(const struct lab_event *of, struct lab_change *change)
{
    change_of(of, change, BY_KEY);
}

/* --- queries ---------------------------------------------------------------------------------- */

static void visits(const struct lab_world *world,
                   const struct lab_event *of,
                   struct lab_query *query,
                   enum salting salting)
{
    struct lab_window window = lab_window_about(world, of->number, WINDOW);
    struct edubba_key start;
    struct edubba_key end;
    key_of(&start, of, LAB_BEGIN_MS + (int64_t)window.from * STEP_MS, salting);
    key_of(&end, of, LAB_BEGIN_MS + (int64_t)window.to * STEP_MS, salting);
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_range(query, &start, &end);
    query->rows_limit = ROWS_LIMIT;
}

static void visits_plain(const struct lab_world *world,
                         const struct lab_event *of,
                         struct lab_query *query)
{
    visits(world, of, query, UNSALTED);
}

static void visits_by_series(const struct lab_world *world,
                             const struct lab_event *of,
                             struct lab_query *query)
{
    visits(world, of, query, BY_SERIES);
}

static void visits_by_key(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    visits(world, of, query, UNSALTED);
    query->salts = SALTS;
}

static const struct lab_variant VARIANTS[] = {
    {
        .name = "plain",
        .key = "USER-SITE-TS",
        .about = "One user's visits to one site lie side by side, and grow at one place.",
        .remedy = "salt over the whole key, or give the celebrity tables of its own",
        .role = LAB_BAD,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_plain,
        .queries = {visits_plain},
    },
    {
        .name = "salted by series",
        .key = "SALT(USER-SITE)#USER-SITE-TS",
        .about =
            "Keeps each series together, a range is one scan; one very hot series stays whole.",
        .remedy = "salt over the whole key: a hash of user and site cannot spread one series",
        .role = LAB_ALSO,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_by_series,
        .queries = {visits_by_series},
    },
    {
        .name = "salted by key",
        .key = "SALT(USER-SITE-TS)#USER-SITE-TS",
        .about = "Spreads even one series over eight places; a range is eight scans, merged.",
        .remedy = "",
        .role = LAB_GOOD,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_by_key,
        .queries = {visits_by_key},
    },
};

const struct lab_experiment LAB_CELEBRITY = {
    .name = "celebrity",
    .summary = "one user takes 80 % of the traffic: what to hash a salt of",
    .story = "Visits of 10 000 users to 10 sites.  One user is 80 % of them, and three quarters of "
             "those are on one site: one series is 60 % of all.",
    .who = "user",
    .queries = {"50 visits of a user to a site"},
    .event = event,
    .who_text = who_text,
    .variants = VARIANTS,
    .variant_count = sizeof VARIANTS / sizeof VARIANTS[0],
};

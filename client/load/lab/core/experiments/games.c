/*
 * Games played: the leading fields of the key are those that every query names, LoL#Corrie#20150301, not
 * LoL#20150301; and a reversed time where the newest rows are the ones that are asked for.
 */
#include <stdio.h>

#include "client/load/lab/core/experiments/story.h"

#define PLAYERS    50
#define STEP_MS    60000
#define WINDOW     500
#define LATEST     10
#define GAME       "LoL"
#define FAMILY     "G"
#define NAME_BYTES 32

static int64_t time_of(uint64_t number)
{
    return LAB_BEGIN_MS + (int64_t)number * STEP_MS;
}

static void event(const struct lab_world *world, uint64_t number, struct lab_event *ret_event)
{
    *ret_event = (struct lab_event){
        .number = number,
        .time_ms = time_of(number),
        .who = lab_dice(world, number, 0) % PLAYERS,
        .random = lab_dice(world, number, 1),
    };
}

static void who_text(uint64_t who, char *out, size_t size)
{
    if (who == 0) {
        (void)snprintf(out, size, "Corrie");
    } else {
        (void)snprintf(out, size, "player%04u", (unsigned)who);
    }
}

/* --- keys ------------------------------------------------------------------------------------- */

static void key_by_date(struct edubba_key *key, int64_t time_ms)
{
    char time[LAB_TIME_BYTES];
    edubba_key_init(key);
    edubba_key_add_text(key, GAME);
    edubba_key_add_text(key, lab_time_text(time_ms, time));
}

static void key_of_player(struct edubba_key *key, uint64_t who)
{
    char name[NAME_BYTES];
    who_text(who, name, sizeof name);
    edubba_key_init(key);
    edubba_key_add_text(key, GAME);
    edubba_key_add_text(key, name);
}

static void key_by_player(struct edubba_key *key, uint64_t who, int64_t time_ms)
{
    char time[LAB_TIME_BYTES];
    key_of_player(key, who);
    edubba_key_add_text(key, lab_time_text(time_ms, time));
}

static void key_reversed(struct edubba_key *key, uint64_t who, int64_t time_ms)
{
    key_of_player(key, who);
    edubba_key_add_reversed_time(key, time_ms);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void set_score(const struct lab_event *of, struct lab_change *change)
{
    lab_change_set(change, FAMILY, EDUBBA_TEXT("score"), of->time_ms * 1000,
                   lab_change_text(change, "%u", (unsigned)(of->random % 3000)));
}

static void change_by_date(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    char name[NAME_BYTES];
    who_text(of->who, name, sizeof name);
    key_by_date(&key, of->time_ms);
    lab_change_row(change, &key);
    set_score(of, change);
    lab_change_set(change, FAMILY, EDUBBA_TEXT("player"), of->time_ms * 1000,
                   lab_change_text(change, "%s", name));
}

static void change_by_player(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_by_player(&key, of->who, of->time_ms);
    lab_change_row(change, &key);
    set_score(of, change);
}

static void change_reversed(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_reversed(&key, of->who, of->time_ms);
    lab_change_row(change, &key);
    set_score(of, change);
}

/* --- queries: a player's latest games --------------------------------------------------------- */

/* Backwards from the end of the history, past everybody's games. */
static void latest_by_date(const struct lab_world *world,
                           const struct lab_event *of,
                           struct lab_query *query)
{
    struct edubba_key start;
    struct edubba_key end;
    char name[NAME_BYTES];
    who_text(of->who, name, sizeof name);
    key_by_date(&start, LAB_BEGIN_MS);
    key_by_date(&end, time_of(world->history));
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_range(query, &start, &end);
    query->reversed = true;
    query->rows_limit = LATEST;
    query->where_family = FAMILY;
    query->where_qualifier = EDUBBA_TEXT("player");
    query->where_value = lab_query_text(query, "%s", name);
}

/* Who only reads forwards cannot know where the last ten begin: all of the player's. */
static void latest_forwards(const struct lab_world *world,
                            const struct lab_event *of,
                            struct lab_query *query)
{
    struct edubba_key start;
    struct edubba_key end;
    key_by_player(&start, of->who, LAB_BEGIN_MS);
    key_by_player(&end, of->who, time_of(world->history));
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_range(query, &start, &end);
}

static void latest_by_player(const struct lab_world *world,
                             const struct lab_event *of,
                             struct lab_query *query)
{
    struct edubba_key start;
    struct edubba_key end;
    key_by_player(&start, of->who, LAB_BEGIN_MS);
    key_by_player(&end, of->who, time_of(world->history));
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_range(query, &start, &end);
    query->reversed = true;
    query->rows_limit = LATEST;
}

/* The first rows of the player's are the newest. */
static void latest_reversed(const struct lab_world *world,
                            const struct lab_event *of,
                            struct lab_query *query)
{
    struct edubba_key start;
    struct edubba_key end;
    key_reversed(&start, of->who, time_of(world->history));
    key_reversed(&end, of->who, 0);
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_range(query, &start, &end);
    query->rows_limit = LATEST;
}

/* --- queries: a player's first games ------------------------------------------------------------ */

static void first_by_date(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    latest_by_date(world, of, query);
    query->reversed = false;
}

static void first_by_player(const struct lab_world *world,
                            const struct lab_event *of,
                            struct lab_query *query)
{
    latest_forwards(world, of, query);
    query->rows_limit = LATEST;
}

/* The first games are the last rows. */
static void first_reversed(const struct lab_world *world,
                           const struct lab_event *of,
                           struct lab_query *query)
{
    latest_reversed(world, of, query);
    query->rows_limit = 0;
}

/* --- queries: all games of some hours --------------------------------------------------------- */

static void all_by_date(const struct lab_world *world,
                        const struct lab_event *of,
                        struct lab_query *query)
{
    struct lab_window window = lab_window_about(world, of->number, WINDOW);
    struct edubba_key start;
    struct edubba_key end;
    key_by_date(&start, time_of(window.from));
    key_by_date(&end, time_of(window.to));
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_range(query, &start, &end);
}

static void all_by_player(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    struct lab_window window = lab_window_about(world, of->number, WINDOW);
    lab_query_init(query, LAB_QUERY_SCAN);
    query->from_us = time_of(window.from) * 1000;
    query->to_us = time_of(window.to) * 1000;
}

static const struct lab_variant VARIANTS[] = {
    {
        .name = "by date",
        .key = "GAME#DATE",
        .about = "The key does not begin with what queries name: they look at everybody's games.",
        .remedy = "begin with what every query names: GAME#PLAYER#DATE",
        .role = LAB_BAD,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_by_date,
        .queries = {latest_by_date, all_by_date, first_by_date},
    },
    {
        .name = "by player",
        .key = "GAME#PLAYER#DATE",
        .about =
            "A player's games lie together, oldest first.  Read forwards, as many clients do, the "
            "latest are the last of all that is read.",
        .remedy = "read backwards, or reverse the time; keep a second table by date for all games",
        .role = LAB_GOOD,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_by_player,
        .queries = {latest_forwards, all_by_player, first_by_player},
    },
    {
        .name = "reversed time",
        .key = "GAME#PLAYER#(MAX-DATE)",
        .about =
            "The newest game comes first: the latest ten are the first ten rows.  Its price: the "
            "first ten are the last of all that is read.",
        .remedy = "keep a second table for what is not asked newest first",
        .role = LAB_GOOD,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_reversed,
        .queries = {latest_reversed, all_by_player, first_reversed},
    },
    {
        .name = "backwards",
        .key = "GAME#PLAYER#DATE, read backwards",
        .about =
            "By player again, with scans that go backwards, as this cluster's can: a reversed time "
            "gains nothing then.",
        .remedy = "keep a second table by date for all games",
        .role = LAB_ALSO,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_by_player,
        .queries = {latest_by_player, all_by_player, first_by_player},
    },
};

const struct lab_experiment LAB_GAMES = {
    .name = "games",
    .summary = "the key begins with what queries name; a reversed time for the latest rows",
    .story =
        "50 players, a game a minute.  Queries ask for a player's latest ten games, for all games of "
        "some hours, or for a player's first ten.",
    .who = "player",
    .queries = {"a player's latest ten games", "all games of 8 hours",
                "a player's first ten games"},
    .event = event,
    .who_text = who_text,
    .variants = VARIANTS,
    .variant_count = sizeof VARIANTS / sizeof VARIANTS[0],
};

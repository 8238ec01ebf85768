/*
 * Donations: sums by charity, campaign and day, in three ways; each is compared with what was given.
 *
 *   read-modify-write   the number is read, added to and written back, under the row's lock
 *   rows                a row a donation; who asks adds them up
 *   aggregate           AddToCell: row = charity, qualifier = campaign, timestamp = start of the day
 */
#include <inttypes.h>
#include <stdio.h>

#include "client/load/lab/core/experiments/story.h"

#define CHARITIES      20
#define CHARITIES_BUSY 4
#define BUSY_SHARE     0.6
#define CAMPAIGNS      5
#define DAYS           40 /* days wrap: sums of a day and of the 40th after it are one */
#define EVENTS_A_DAY   20000
#define CENTS_MAX      10000
#define BEGIN_DAY_MS   INT64_C(1425168000000) /* 2015-03-01 */
#define SUM_FAMILY     "donations"
#define FAMILY         "D"
#define NAME_BYTES     32
#define CAMPAIGN       "campaign"
#define CHARITY        "charity"

static int64_t day_start_ms(uint64_t number)
{
    return BEGIN_DAY_MS + (int64_t)(number / EVENTS_A_DAY) * LAB_DAY_MS;
}

static void event(const struct lab_world *world, uint64_t number, struct lab_event *ret_event)
{
    uint64_t dice = lab_dice(world, number, 0);
    *ret_event = (struct lab_event){
        .number = number,
        .time_ms = day_start_ms(number),
        .who = lab_popular(dice, CHARITIES, CHARITIES_BUSY, BUSY_SHARE),
        .what = lab_dice(world, number, 2) % CAMPAIGNS,
        .random = lab_dice(world, number, 1),
    };
}

static void who_text(uint64_t who, char *out, size_t size)
{
    (void)snprintf(out, size, CHARITY "%02u", (unsigned)who);
}

static int64_t cents_of(const struct lab_event *of)
{
    return 1 + (int64_t)(of->random % CENTS_MAX);
}

static uint64_t day_number(int64_t time_ms)
{
    return (uint64_t)((time_ms - BEGIN_DAY_MS) / LAB_DAY_MS);
}

/* --- sums ------------------------------------------------------------------------------------- */

static size_t sum_index(uint64_t charity, uint64_t campaign, uint64_t day)
{
    return (size_t)((charity % CHARITIES * CAMPAIGNS + campaign % CAMPAIGNS) * DAYS + day % DAYS);
}

static struct lab_sum_cell sum_of_event(const struct lab_event *of)
{
    return (struct lab_sum_cell){
        .index = sum_index(of->who, of->what, day_number(of->time_ms)),
        .amount = cents_of(of),
    };
}

/* The number behind a word that the bytes begin with. */
static bool number_behind(struct edubba_bytes bytes, const char *word, uint64_t *ret_number)
{
    size_t length = strlen(word);
    const char *text = bytes.data;
    uint64_t number = 0;
    if (bytes.size <= length || memcmp(text, word, length) != 0) {
        return false;
    }
    for (size_t i = length; i < bytes.size && text[i] >= '0' && text[i] <= '9'; i++) {
        number = number * 10 + (uint64_t)(text[i] - '0');
    }
    *ret_number = number;
    return true;
}

/* The bytes behind the first '#'. */
static struct edubba_bytes behind_separator(struct edubba_bytes bytes)
{
    const char *text = bytes.data;
    const char *at = bytes.size > 0 ? memchr(text, '#', bytes.size) : NULL;
    return at != NULL ? edubba_bytes_of(at + 1, bytes.size - (size_t)(at + 1 - text))
                      : EDUBBA_NOTHING;
}

static bool sum_of_aggregate(const struct edubba_row *row,
                             const struct edubba_cell *cell,
                             struct lab_sum_cell *ret_sum)
{
    uint64_t charity = 0;
    uint64_t campaign = 0;
    if (!number_behind(row->key, CHARITY, &charity) ||
        !number_behind(cell->qualifier, CAMPAIGN, &campaign)) {
        return false;
    }
    ret_sum->index = sum_index(charity, campaign, day_number(cell->timestamp_us / 1000));
    return edubba_aggregate_value(cell->value, &ret_sum->amount) == EDUBBA_OK;
}

/* A read-modify-write keeps its number in eight bytes, the highest first. */
static bool sum_of_counter(const struct edubba_row *row,
                           const struct edubba_cell *cell,
                           struct lab_sum_cell *ret_sum)
{
    uint64_t charity = 0;
    uint64_t campaign = 0;
    uint64_t day = 0;
    uint64_t amount = 0;
    const unsigned char *bytes = cell->value.data;
    if (!number_behind(row->key, CHARITY, &charity) ||
        !number_behind(cell->qualifier, CAMPAIGN, &campaign) ||
        !number_behind(behind_separator(cell->qualifier), "day", &day) ||
        cell->value.size != sizeof amount) {
        return false;
    }
    for (size_t i = 0; i < sizeof amount; i++) {
        amount = amount << 8 | bytes[i];
    }
    *ret_sum = (struct lab_sum_cell){sum_index(charity, campaign, day), (int64_t)amount};
    return true;
}

static bool sum_of_row(const struct edubba_row *row,
                       const struct edubba_cell *cell,
                       struct lab_sum_cell *ret_sum)
{
    uint64_t charity = 0;
    uint64_t campaign = 0;
    uint64_t amount = 0;
    if (!number_behind(row->key, CHARITY, &charity) ||
        !number_behind(behind_separator(row->key), CAMPAIGN, &campaign) ||
        !number_behind(cell->value, "", &amount)) {
        return false;
    }
    ret_sum->index = sum_index(charity, campaign, day_number(cell->timestamp_us / 1000));
    ret_sum->amount = (int64_t)amount;
    return true;
}

/* --- changes ---------------------------------------------------------------------------------- */

static void key_of_charity(struct edubba_key *key, uint64_t who)
{
    char name[NAME_BYTES];
    who_text(who, name, sizeof name);
    edubba_key_init(key);
    edubba_key_add_text(key, name);
}

static void change_counter(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_of_charity(&key, of->who);
    lab_change_row(change, &key);
    lab_change_increment(change, FAMILY,
                         lab_change_text(change, CAMPAIGN "%u#day%u", (unsigned)of->what,
                                         (unsigned)day_number(of->time_ms)),
                         cents_of(of));
}

static void change_rows(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    char day[LAB_TIME_BYTES];
    char campaign[NAME_BYTES];
    (void)snprintf(campaign, sizeof campaign, CAMPAIGN "%u", (unsigned)of->what);
    key_of_charity(&key, of->who);
    edubba_key_add_text(&key, campaign);
    edubba_key_add_text(&key, lab_day_text(of->time_ms, day));
    edubba_key_add_number(&key, of->number, 10);
    lab_change_row(change, &key);
    lab_change_set(change, FAMILY, EDUBBA_TEXT("cents"), of->time_ms * 1000,
                   lab_change_text(change, "%" PRId64, cents_of(of)));
}

static void change_aggregate(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_of_charity(&key, of->who);
    lab_change_row(change, &key);
    lab_change_add(change, SUM_FAMILY, lab_change_text(change, CAMPAIGN "%u", (unsigned)of->what),
                   of->time_ms * 1000, cents_of(of));
}

/* --- queries ---------------------------------------------------------------------------------- */

static void sums_in_a_row(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    struct edubba_key key;
    (void)world;
    key_of_charity(&key, of->who);
    lab_query_init(query, LAB_QUERY_ROW);
    lab_query_key(query, &key);
}

static void sums_of_rows(const struct lab_world *world,
                         const struct lab_event *of,
                         struct lab_query *query)
{
    struct edubba_key key;
    (void)world;
    key_of_charity(&key, of->who);
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_prefix(query, &key);
}

static const struct lab_variant VARIANTS[] = {
    {
        .name = "read-modify-write",
        .key = "CHARITY, a counter",
        .about =
            "Each donation reads the counter and writes it back; donations to one charity wait "
            "for each other.",
        .remedy = "add to a cell of an aggregate family, or write a new row for each change",
        .role = LAB_BAD,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .reads_first = true,
        .change = change_counter,
        .queries = {sums_in_a_row},
        .sum_of_cell = sum_of_counter,
    },
    {
        .name = "rows",
        .key = "CHARITY#CAMPAIGN#DAY#NUMBER",
        .about = "A new row for each donation: nothing waits; who wants a sum adds the rows up.",
        .remedy = "keep sums in an aggregate family besides",
        .role = LAB_ALSO,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_rows,
        .queries = {sums_of_rows},
        .sum_of_cell = sum_of_row,
    },
    {
        .name = "aggregate",
        .key = "CHARITY, sums a campaign and day",
        .about = "AddToCell with the timestamp cut to the day: sums in place, nothing is read.",
        .remedy = "",
        .role = LAB_GOOD,
        .families = {{SUM_FAMILY, EDUBBA_INTSUM, 0}},
        .change = change_aggregate,
        .queries = {sums_in_a_row},
        .sum_of_cell = sum_of_aggregate,
    },
};

const struct lab_experiment LAB_DONATIONS = {
    .name = "donations",
    .summary = "sums by charity, campaign and day: read-modify-write, rows, aggregate cells",
    .story =
        "Donations to 5 campaigns of 20 charities, four of them well known.  What is stored is "
        "compared with what was given, to the cent.",
    .who = "charity",
    .queries = {"a charity's sums"},
    .event = event,
    .who_text = who_text,
    .sum_of_event = sum_of_event,
    .variants = VARIANTS,
    .variant_count = sizeof VARIANTS / sizeof VARIANTS[0],
};

/*
 * Stock quotes: a few hundred of several thousand symbols are 90 % of the messages.
 *
 * EXCHANGE is padded to 6, SYMBOL to 5, QUOTETIME has 13 digits: "NASDAQ#ZXZZT#1426535612156".  A TRADE
 * table has keys of the same form.
 */
#include <inttypes.h>
#include <stdio.h>

#include "client/load/lab/core/experiments/story.h"

#define SYMBOLS        3000
#define SYMBOLS_BUSY   300
#define BUSY_SHARE     0.9
#define BEGIN_MS       INT64_C(1426535612156)
#define STEP_MS        1
#define WINDOW         4000
#define FAMILY         "MD"
#define EXCHANGE_WIDTH 6
#define SYMBOL_WIDTH   5
#define TIME_WIDTH     13
#define NAME_BYTES     16
#define LETTERS        26
#define LETTERS_FOUR   (LETTERS * LETTERS * LETTERS * LETTERS)
#define LETTERS_STEP   2749 /* has no divisor in common with 26, so no two symbols are equal */

static void event(const struct lab_world *world, uint64_t number, struct lab_event *ret_event)
{
    *ret_event = (struct lab_event){
        .number = number,
        .time_ms = BEGIN_MS + (int64_t)number * STEP_MS,
        .who = lab_popular(lab_dice(world, number, 0), SYMBOLS, SYMBOLS_BUSY, BUSY_SHARE),
        .random = lab_dice(world, number, 1),
    };
}

static const char *exchange_of(uint64_t who)
{
    static const char *const EXCHANGES[] = {"NASDAQ", "NYSE", "AMEX"};
    return EXCHANGES[who % (sizeof EXCHANGES / sizeof EXCHANGES[0])];
}

/* Four letters that lie scattered over the alphabet; the first is the test symbol of NASDAQ. */
static void symbol_of(uint64_t who, char *out, size_t size)
{
    uint64_t number = who * LETTERS_STEP % LETTERS_FOUR;
    if (who == 0) {
        (void)snprintf(out, size, "ZXZZT");
        return;
    }
    char letters[SYMBOL_WIDTH] = {0};
    for (int i = SYMBOL_WIDTH - 2; i >= 0; i--) {
        letters[i] = (char)('A' + number % LETTERS);
        number /= LETTERS;
    }
    (void)snprintf(out, size, "%s", letters);
}

static void who_text(uint64_t who, char *out, size_t size)
{
    symbol_of(who, out, size);
}

/* --- keys ------------------------------------------------------------------------------------- */

static void key_by_time(struct edubba_key *key, int64_t time_ms)
{
    edubba_key_init(key);
    edubba_key_add_number(key, (uint64_t)time_ms, TIME_WIDTH);
}

static void add_symbol(struct edubba_key *key, uint64_t who)
{
    char symbol[NAME_BYTES];
    symbol_of(who, symbol, sizeof symbol);
    edubba_key_add_padded(key, exchange_of(who), EXCHANGE_WIDTH);
    edubba_key_add_padded(key, symbol, SYMBOL_WIDTH);
}

static void key_by_symbol(struct edubba_key *key, uint64_t who, int64_t time_ms)
{
    edubba_key_init(key);
    add_symbol(key, who);
    edubba_key_add_number(key, (uint64_t)time_ms, TIME_WIDTH);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void set_quote(const struct lab_event *of, struct lab_change *change)
{
    char symbol[NAME_BYTES];
    int64_t time_us = of->time_ms * 1000;
    unsigned cents = (unsigned)(1000 + of->random % 50000);
    unsigned size = (unsigned)(of->random >> 32) % 1000;
    symbol_of(of->who, symbol, sizeof symbol);
    lab_change_set(change, FAMILY, EDUBBA_TEXT("SYMBOL"), time_us,
                   lab_change_text(change, "%s", symbol));
    lab_change_set(change, FAMILY, EDUBBA_TEXT("BID"), time_us,
                   lab_change_text(change, "%u.%02u", cents / 100, cents % 100));
    lab_change_set(change, FAMILY, EDUBBA_TEXT("ASK"), time_us,
                   lab_change_text(change, "%u.%02u", (cents + 7) / 100, (cents + 7) % 100));
    lab_change_set(change, FAMILY, EDUBBA_TEXT("BIDSIZE"), time_us,
                   lab_change_text(change, "%u", size));
    lab_change_set(change, FAMILY, EDUBBA_TEXT("ASKSIZE"), time_us,
                   lab_change_text(change, "%u", size / 2));
    lab_change_set(change, FAMILY, EDUBBA_TEXT("QUOTETIME"), time_us,
                   lab_change_text(change, "%" PRId64, of->time_ms));
    lab_change_set(change, FAMILY, EDUBBA_TEXT("EXCHANGE"), time_us,
                   lab_change_text(change, "%s", exchange_of(of->who)));
}

static void change_by_time(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_by_time(&key, of->time_ms);
    add_symbol(&key, of->who);
    lab_change_row(change, &key);
    set_quote(of, change);
}

static void change_by_symbol(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_by_symbol(&key, of->who, of->time_ms);
    lab_change_row(change, &key);
    set_quote(of, change);
}

/* --- queries ---------------------------------------------------------------------------------- */

static void of_symbol_by_time(const struct lab_world *world,
                              const struct lab_event *of,
                              struct lab_query *query)
{
    struct lab_window window = lab_window_about(world, of->number, WINDOW);
    struct edubba_key start;
    struct edubba_key end;
    char symbol[NAME_BYTES];
    key_by_time(&start, BEGIN_MS + (int64_t)window.from * STEP_MS);
    key_by_time(&end, BEGIN_MS + (int64_t)window.to * STEP_MS);
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_range(query, &start, &end);
    symbol_of(of->who, symbol, sizeof symbol);
    query->where_family = FAMILY;
    query->where_qualifier = EDUBBA_TEXT("SYMBOL");
    query->where_value = lab_query_text(query, "%s", symbol);
}

static void of_symbol(const struct lab_world *world,
                      const struct lab_event *of,
                      struct lab_query *query)
{
    struct lab_window window = lab_window_about(world, of->number, WINDOW);
    struct edubba_key start;
    struct edubba_key end;
    key_by_symbol(&start, of->who, BEGIN_MS + (int64_t)window.from * STEP_MS);
    key_by_symbol(&end, of->who, BEGIN_MS + (int64_t)window.to * STEP_MS);
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_range(query, &start, &end);
}

static const struct lab_variant VARIANTS[] = {
    {
        .name = "by time",
        .key = "QUOTETIME#EXCHANGE#SYMBOL",
        .about = "Arrival order: all quotes of a moment lie side by side, at the end of the table.",
        .remedy = "begin the key with what queries name: EXCHANGE#SYMBOL#QUOTETIME",
        .role = LAB_BAD,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_by_time,
        .queries = {of_symbol_by_time},
    },
    {
        .name = "by symbol",
        .key = "EXCHANGE#SYMBOL#QUOTETIME",
        .about = "Each symbol's quotes lie together; 300 busy symbols lie scattered among 3 000.",
        .remedy = "",
        .role = LAB_GOOD,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_by_symbol,
        .queries = {of_symbol},
    },
};

const struct lab_experiment LAB_QUOTE = {
    .name = "quote",
    .summary = "stock quotes: arrival order against exchange and symbol, 300 symbols busy",
    .story = "Quotes of 3 000 symbols on three exchanges; 300 of them are 90 % of the messages.  "
             "Every query names an exchange, a symbol and a range of time.",
    .who = "symbol",
    .queries = {"a symbol's quotes of 4 s"},
    .event = event,
    .who_text = who_text,
    .variants = VARIANTS,
    .variant_count = sizeof VARIANTS / sizeof VARIANTS[0],
};

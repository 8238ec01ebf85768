/* Scans: opened by who starts the slot, then driven from on_ready. */
#include "client/load/core/random.h"
#include "client/load/run.h"

/* Rows of ours in this form of key; counters have a prefix of their own. */
static struct edubba_bounds bounds_of_form(enum load_key_form form)
{
    static const char *const FIRST[] = {"", "0", "user", "server", LOAD_COUNTER_PREFIX};
    static const char *const END[] = {"", ":", "uses", "serves", "sum$"};
    return (struct edubba_bounds){.start = EDUBBA_TEXT(FIRST[form]), .end = EDUBBA_TEXT(END[form])};
}

/* Of the whole table's rows; of so many only the one that the scan began at is known to be there. */
static uint64_t count_missing(const struct load_slot *slot)
{
    uint64_t wanted = slot->scan_rows_wanted == 0 ? slot->client->run->options->records : 1;
    return slot->scan_rows < wanted ? wanted - slot->scan_rows : 0;
}

static void end_scan(struct load_slot *slot, enum edubba_code code, const char *text)
{
    struct load_tally *tally = load_slot_tally(slot);
    edubba_scan_close(slot->scan);
    slot->scan = NULL;
    if (code != EDUBBA_OK) {
        load_slot_count_error(slot, code, text);
    } else {
        load_tally_add(&tally->operations, 1);
        load_tally_add(&tally->codes[EDUBBA_OK], 1);
        load_tally_add(&tally->missing, count_missing(slot));
    }
    load_tally_request(tally, load_now_ns() - slot->begun_ns);
}

static void on_ready(void *context);

/* The phase is over, and the scan is not: it is no operation, and nothing of it was timed.  Rows that
 * came of it came within the time, and count. */
static void cut_off(struct load_slot *slot)
{
    edubba_scan_close(slot->scan);
    slot->scan = NULL;
    load_tally_add(&load_slot_tally(slot)->cut_off, 1);
}

/* A scan of so many rows is soon done and is waited for, as all requests are; one of the whole table
 * may take many times as long as the phase. */
static bool is_to_be_cut_off(const struct load_slot *slot)
{
    return slot->scan_rows_wanted == 0 &&
           atomic_load_explicit(&slot->client->run->stop, memory_order_relaxed);
}

/* Is it one of the rows that are looked for?  Of hashed rows and series keys do not tell: all count. */
static bool is_looked_for(const struct load_slot *slot, const struct edubba_row *row)
{
    const struct load_run *run = slot->client->run;
    uint64_t number = 0;
    if (slot->scan_rows_wanted > 0) {
        return load_row_place_is(&slot->scan_place, row->key.data, row->key.size);
    }
    return run->keys != LOAD_KEY_ORDERED ||
           (load_row_key_parse(LOAD_KEY_ORDERED, row->key.data, row->key.size, &number) &&
            number < run->options->records);
}

static void take_row(struct load_slot *slot, const struct edubba_row *row)
{
    bool is_one = is_looked_for(slot, row); /* before its place is that of this row */
    if (load_slot_take_scanned(slot, row)) {
        slot->scan_rows += is_one ? 1 : 0;
    }
}

/* Take what is there.  True: the scan has ended; false: on_ready will go on. */
static bool pump(struct load_slot *slot)
{
    for (;;) {
        const struct edubba_row *row = NULL;
        struct edubba_error error;
        bool ready = false;
        enum edubba_code code = edubba_scan_poll(slot->scan, &row, &ready, on_ready, slot, &error);
        if (!ready) {
            return false; /* from now on the slot is on_ready's */
        }
        if (code != EDUBBA_OK || row == NULL) {
            end_scan(slot, code, error.text);
            return true;
        }
        take_row(slot, row);
        if (is_to_be_cut_off(slot)) {
            cut_off(slot);
            return true;
        }
    }
}

static void on_ready(void *context)
{
    struct load_slot *slot = context;
    if (pump(slot)) {
        load_slot_ended(slot);
    }
}

bool load_scan_start(struct load_slot *slot)
{
    const struct load_run *run = slot->client->run;
    uint8_t key[LOAD_ROW_KEY_BYTES_MAX];
    struct edubba_bounds range = bounds_of_form(run->keys);
    struct edubba_scan_options options = {.ranges = &range, .range_count = 1};
    struct edubba_error error;
    slot->scan_rows = 0;
    slot->scan_rows_wanted = 0;
    if (run->options->scan_rows > 0) {
        size_t size = load_row_key(run->keys, run->options->hosts,
                                   load_slot_choose(slot, slot->first), key);
        range.start = edubba_bytes_of(key, size);
        slot->scan_rows_wanted = 1 + load_random_below(&slot->random, run->options->scan_rows);
        options.rows_limit = slot->scan_rows_wanted;
    }
    slot->scan_end = range.end;
    load_row_place_begin(&slot->scan_place, range.start.data, range.start.size);
    enum edubba_code code = edubba_scan_open(slot->client->table, &options, &slot->scan, &error);
    if (code != EDUBBA_OK) {
        slot->scan = NULL;
        end_scan(slot, code, error.text);
        return true;
    }
    return pump(slot);
}

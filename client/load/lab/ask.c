/* Queries: a row asked for, or a scan that is driven from on_ready. */
#include "client/load/lab/core/experiments/query.h"

#include "client/load/lab/filter.h"
#include "client/load/lab/flight.h"
#include "client/load/run.h"

/* --- a row ------------------------------------------------------------------------------------ */

static uint64_t bytes_of(const struct edubba_row *row)
{
    uint64_t bytes = row->key.size;
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct edubba_cell *cell = &row->cells[i];
        bytes += cell->family.size + cell->qualifier.size + sizeof cell->timestamp_us +
                 cell->value.size;
    }
    return bytes;
}

static void on_read(void *context, const struct edubba_result *result)
{
    struct lab_slot *slot = context;
    slot->bytes = result->row != NULL ? bytes_of(result->row) : 0;
    if (result->code == EDUBBA_OK) {
        lab_flight_count_row(slot->flight, slot->keys[0].data, slot->keys[0].size);
    }
    lab_slot_count(slot, result->code, result->text, result->row != NULL ? 1 : 0);
    lab_slot_ended(slot);
}

static enum lab_start read_row(struct lab_slot *slot,
                               const struct lab_query *query,
                               const struct edubba_filter *filter)
{
    struct edubba_error error;
    struct edubba_operation operation = {
        .kind = EDUBBA_OPERATION_READ,
        .row = query->keys[0],
        .filter = filter,
    };
    slot->keys[0].size = query->keys[0].size;
    memcpy(slot->keys[0].data, query->keys[0].data, query->keys[0].size);
    enum edubba_code code = edubba_submit(slot->client->table, &operation, on_read, slot, &error);
    if (code == EDUBBA_OK) {
        return LAB_ON_ITS_WAY;
    }
    lab_slot_refused(slot, code, error.text);
    return LAB_ENDED;
}

/* --- a scan ----------------------------------------------------------------------------------- */

static void end_scan(struct lab_slot *slot, enum edubba_code code, const char *text)
{
    struct lab_flight *flight = slot->flight;
    struct edubba_scan_statistics statistics = {0};
    if (code == EDUBBA_OK) {
        edubba_scan_statistics(slot->scan, &statistics);
    }
    edubba_scan_close(slot->scan);
    slot->scan = NULL;
    pthread_mutex_lock(&flight->lock);
    flight->rows_seen += statistics.rows_seen;
    flight->rows_found += statistics.rows_returned;
    flight->cells_seen += statistics.cells_seen;
    pthread_mutex_unlock(&flight->lock);
    lab_slot_count(slot, code, text, slot->rows);
}

/* The phase is over, and the query is not: it was not timed, and is none. */
static void cut_off(struct lab_slot *slot)
{
    edubba_scan_close(slot->scan);
    slot->scan = NULL;
    load_tally_add(&slot->flight->tally->cut_off, 1);
}

static void on_ready(void *context);

/* Take what is there.  True: the scan has ended; false: on_ready will go on. */
static bool pump(struct lab_slot *slot)
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
        slot->rows++;
        slot->bytes += bytes_of(row);
        lab_flight_count_row(slot->flight, row->key.data, row->key.size);
        if (atomic_load_explicit(&slot->flight->stop, memory_order_relaxed)) {
            cut_off(slot);
            return true;
        }
    }
}

static void on_ready(void *context)
{
    struct lab_slot *slot = context;
    if (pump(slot)) {
        lab_slot_ended(slot);
    }
}

static enum lab_start scan(struct lab_slot *slot,
                           const struct lab_query *query,
                           const struct edubba_filter *filter)
{
    struct edubba_error error;
    struct edubba_scan_options options = {
        .keys = query->keys,
        .key_count = query->key_count,
        .ranges = query->ranges,
        .range_count = query->range_count,
        .filter = filter,
        .rows_limit = query->rows_limit,
        .reversed = query->reversed,
    };
    slot->rows = 0;
    slot->bytes = 0;
    enum edubba_code code = query->salts > 0
                                ? edubba_scan_open_salted(slot->client->table, &options,
                                                          query->salts, &slot->scan, &error)
                                : edubba_scan_open(slot->client->table, &options, &slot->scan,
                                                   &error);
    if (code != EDUBBA_OK) {
        lab_slot_refused(slot, code, error.text);
        return LAB_ENDED;
    }
    return pump(slot) ? LAB_ENDED : LAB_ON_ITS_WAY;
}

enum lab_start lab_query_start(struct lab_slot *slot)
{
    const struct lab_flight *flight = slot->flight;
    struct lab_query query;
    bool good = false;
    flight->variant->queries[flight->query](&flight->world, &slot->event, &query);
    struct edubba_filter *filter = lab_filter_make(&query, &good);
    slot->key_count = 0;
    if (!good || !query.fits) {
        lab_slot_refused(slot, EDUBBA_RESOURCE_EXHAUSTED, "no memory for a filter");
        return LAB_ENDED;
    }
    enum lab_start became = query.kind == LAB_QUERY_ROW ? read_row(slot, &query, filter)
                                                        : scan(slot, &query, filter);
    edubba_filter_free(filter);
    return became;
}

/* Requests on single rows: starting them, and what their completions count. */
#include <string.h>
#include <time.h>

#include "client/load/core/random.h"
#include "client/load/core/value.h"
#include "client/load/run.h"
#include "client/load/sums.h"

int64_t load_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

struct load_tally *load_slot_tally(const struct load_slot *slot)
{
    return &slot->client->tallies[slot->kind];
}

/* --- choosing --------------------------------------------------------------------------------- */

static uint64_t choose_latest(struct load_slot *slot)
{
    const struct load_run *run = slot->client->run;
    struct load_zipfian zipfian = run->zipfian;
    uint64_t readable = load_inserts_readable(&run->inserts);
    if (readable != zipfian.items) {
        load_zipfian_resize(&zipfian, readable);
    }
    return readable - 1 - load_zipfian_item(&zipfian, load_random_unit(&slot->random));
}

static uint64_t choose_zipfian(struct load_slot *slot)
{
    const struct load_run *run = slot->client->run;
    uint64_t readable = load_inserts_readable(&run->inserts);
    uint64_t number = 0;
    do { /* as YCSB: what is not there yet is chosen again */
        number = load_scrambled_item(&run->scrambled, run->choices,
                                     load_random_unit(&slot->random));
    } while (number >= readable);
    return number;
}

/* The number of the row for the index-th operation of the phase. */
uint64_t load_slot_choose(struct load_slot *slot, uint64_t index)
{
    const struct load_run *run = slot->client->run;
    switch (run->distribution) {
    case LOAD_SEQUENTIAL:
        /* Time goes on, where rows have one. */
        return run->keys == LOAD_KEY_SERIES && slot->kind == LOAD_WRITE
                   ? index
                   : index % run->options->records;
    case LOAD_ZIPFIAN:
        return choose_zipfian(slot);
    case LOAD_LATEST:
        return choose_latest(slot);
    case LOAD_UNIFORM:
        return load_random_below(&slot->random, load_inserts_readable(&run->inserts));
    }
    return 0;
}

/* --- counting --------------------------------------------------------------------------------- */

static void keep_first(struct load_run *run,
                       struct edubba_error *error,
                       enum edubba_code code,
                       const char *text)
{
    pthread_mutex_lock(&run->lock);
    if (error->code == EDUBBA_OK) {
        error->code = code;
        size_t size = strnlen(text, sizeof error->text - 1);
        memcpy(error->text, text, size);
        error->text[size] = '\0';
    }
    pthread_mutex_unlock(&run->lock);
}

/* changes: the request may have changed something, so where its outcome is unknown that is counted, too. */
static void count_error(struct load_slot *slot,
                        enum edubba_code code,
                        const char *text,
                        bool changes)
{
    struct load_run *run = slot->client->run;
    struct load_tally *tally = load_slot_tally(slot);
    load_tally_add(&tally->codes[code < LOAD_CODES ? code : EDUBBA_UNKNOWN], 1);
    if (changes && load_outcome_is_unknown(code)) {
        load_tally_add(&tally->unknown, 1);
    }
    keep_first(run, &run->first_error, code, text);
}

void load_slot_count_error(struct load_slot *slot, enum edubba_code code, const char *text)
{
    count_error(slot, code, text, slot->kind != LOAD_READ && slot->kind != LOAD_SCAN);
}

void load_slot_submit_failed(struct load_slot *slot, enum edubba_code code, const char *text)
{
    struct load_run *run = slot->client->run;
    load_slot_count_error(slot, code, text);
    keep_first(run, &run->fatal, code, text);
    atomic_store(&run->stop, true);
}

/* --- submitting ------------------------------------------------------------------------------- */

static void set_fields(
    struct load_slot *slot, const uint8_t *key, size_t key_size, uint64_t first, uint64_t count)
{
    const struct load_run *run = slot->client->run;
    size_t size = run->options->value_bytes;
    uint64_t key_hash = load_value_key_hash(key, key_size);
    uint64_t version = load_random_next(&slot->random);
    for (uint64_t i = 0; i < count; i++) {
        const struct load_field *field = &run->fields[first + i];
        uint8_t *value = slot->values + i * size;
        load_value_make(run->pool, key_hash, field->hash, version, value, size);
        slot->mutations[i] = edubba_set_cell(LOAD_FAMILY, edubba_bytes_of(field->name, field->size),
                                             EDUBBA_NOW, edubba_bytes_of(value, size));
    }
}

/* Errors: of the submission, which its slot is told of. */
static enum edubba_code submit(struct load_item *item,
                               const struct edubba_operation *operation,
                               edubba_completion completion)
{
    struct load_slot *slot = item->slot;
    struct edubba_error error;
    enum edubba_code code = edubba_submit(slot->client->table, operation, completion, item, &error);
    if (code != EDUBBA_OK) {
        load_slot_submit_failed(slot, code, error.text);
    }
    return code;
}

/* Submit item's row: a change of `count` fields from `first`, or an addition. */
static enum edubba_code submit_change(struct load_item *item,
                                      uint64_t first,
                                      uint64_t count,
                                      edubba_completion completion)
{
    struct load_slot *slot = item->slot;
    const struct load_run *run = slot->client->run;
    uint8_t key[LOAD_ROW_KEY_BYTES_MAX];
    size_t size = load_row_key(run->keys, run->options->hosts, item->number, key);
    if (slot->kind == LOAD_ADD) {
        slot->mutations[0] = edubba_add_int64(LOAD_SUM_FAMILY, edubba_bytes_of("n", 1), 0, 1);
    } else {
        set_fields(slot, key, size, first, count);
    }
    struct edubba_operation operation = {
        .kind = EDUBBA_OPERATION_MUTATE,
        .row = edubba_bytes_of(key, size),
        .mutations = slot->mutations,
        .mutation_count = count,
    };
    return submit(item, &operation, completion);
}

/* True when that was the last. */
static bool one_less(struct load_slot *slot)
{
    return atomic_fetch_sub_explicit(&slot->left, 1, memory_order_acq_rel) == 1;
}

void load_slot_count_request(struct load_slot *slot)
{
    struct load_tally *tally = load_slot_tally(slot);
    if (slot->rows_ok > 0) {
        const struct load_run *run = slot->client->run;
        uint64_t fields = slot->kind == LOAD_WRITE || slot->kind == LOAD_INSERT
                              ? run->options->fields
                              : 1;
        load_tally_add(&tally->codes[EDUBBA_OK], slot->rows_ok);
        load_tally_add(&tally->operations, slot->rows_ok);
        if (slot->kind != LOAD_READ && slot->kind != LOAD_RMW) {
            load_tally_add(&tally->rows, slot->rows_ok);
            load_tally_add(&tally->bytes, slot->rows_ok * fields * run->options->value_bytes);
        }
    }
    load_tally_request(tally, load_now_ns() - slot->begun_ns);
}

void load_slot_row_ended(struct load_slot *slot, uint64_t number, enum edubba_code code)
{
    struct load_run *run = slot->client->run;
    if (slot->kind == LOAD_ADD && run->sums != NULL) {
        if (code == EDUBBA_OK) {
            load_sums_acknowledge(run->sums, number);
        } else if (load_outcome_is_unknown(code)) {
            load_sums_doubt(run->sums, number);
        }
    } else if (slot->kind == LOAD_INSERT) {
        load_inserts_end(&run->inserts, number, code == EDUBBA_OK);
    }
}

static void on_changed(void *context, const struct edubba_result *result)
{
    struct load_item *item = context;
    struct load_slot *slot = item->slot;
    if (result->code == EDUBBA_OK) {
        slot->rows_ok++;
    } else {
        load_slot_count_error(slot, result->code, result->text);
    }
    load_slot_row_ended(slot, item->number, result->code);
    if (one_less(slot)) {
        load_slot_count_request(slot);
        load_slot_ended(slot);
    }
}

/* What a read found.  False: an error. */
static bool take_read(const struct load_item *item, const struct edubba_result *result)
{
    struct load_slot *slot = item->slot;
    if (result->code != EDUBBA_OK) { /* of a read-modify-write, too, nothing was changed yet */
        count_error(slot, result->code, result->text, false);
        return false;
    }
    if (result->row == NULL) {
        load_tally_add(&load_slot_tally(slot)->missing, 1);
    } else {
        load_slot_take_row(slot, item->number, result->row);
    }
    return true;
}

static void on_read(void *context, const struct edubba_result *result)
{
    struct load_item *item = context;
    struct load_slot *slot = item->slot;
    slot->rows_ok += take_read(item, result) ? 1 : 0;
    if (one_less(slot)) {
        load_slot_count_request(slot);
        load_slot_ended(slot);
    }
}

static uint64_t any_field(struct load_slot *slot)
{
    return load_random_below(&slot->random, slot->client->run->options->fields);
}

static void on_read_to_modify(void *context, const struct edubba_result *result)
{
    struct load_item *item = context;
    struct load_slot *slot = item->slot;
    if (take_read(item, result) &&
        submit_change(item, any_field(slot), 1, on_changed) == EDUBBA_OK) {
        return;
    }
    if (one_less(slot)) {
        load_slot_count_request(slot);
        load_slot_ended(slot);
    }
}

static enum edubba_code submit_read(struct load_item *item, edubba_completion completion)
{
    struct load_slot *slot = item->slot;
    const struct load_run *run = slot->client->run;
    uint8_t key[LOAD_ROW_KEY_BYTES_MAX];
    size_t size = load_row_key(run->keys, run->options->hosts, item->number, key);
    struct edubba_operation operation = {
        .kind = EDUBBA_OPERATION_READ,
        .row = edubba_bytes_of(key, size),
        .filter = slot->filter,
    };
    return submit(item, &operation, completion);
}

/* --- starting --------------------------------------------------------------------------------- */

static enum edubba_code submit_item(struct load_item *item, uint64_t index)
{
    struct load_slot *slot = item->slot;
    struct load_run *run = slot->client->run;
    item->number = slot->kind == LOAD_INSERT ? load_inserts_take(&run->inserts)
                                             : load_slot_choose(slot, index);
    switch (slot->kind) {
    case LOAD_READ:
        return submit_read(item, on_read);
    case LOAD_RMW:
        return submit_read(item, on_read_to_modify);
    case LOAD_UPDATE:
        return submit_change(item, any_field(slot), 1, on_changed);
    case LOAD_ADD:
        return submit_change(item, 0, 1, on_changed);
    case LOAD_WRITE:
    case LOAD_INSERT:
    case LOAD_SCAN:
    case LOAD_KINDS:
        break;
    }
    return submit_change(item, 0, run->options->fields, on_changed);
}

/* Take numbers for the next request; false at the end of the phase. */
static bool take_operations(struct load_slot *slot)
{
    struct load_run *run = slot->client->run;
    if (atomic_load_explicit(&run->stop, memory_order_relaxed)) {
        return false;
    }
    slot->first = atomic_fetch_add_explicit(&run->started, run->batch, memory_order_relaxed);
    slot->count = (uint32_t)run->batch;
    if (run->operations > 0) {
        if (slot->first >= run->operations) {
            return false;
        }
        uint64_t rest = run->operations - slot->first;
        slot->count = rest < run->batch ? (uint32_t)rest : slot->count;
    }
    return true;
}

enum load_start load_slot_start(struct load_slot *slot, int64_t begun_ns)
{
    struct load_run *run = slot->client->run;
    if (!take_operations(slot)) {
        load_slot_park(slot);
        return LOAD_PARKED;
    }
    slot->kind = load_workload_kind(run->workload, load_random_below(&slot->random, 100));
    slot->begun_ns = begun_ns > 0 ? begun_ns : load_now_ns();
    slot->rows_ok = 0;
    if (slot->kind == LOAD_SCAN) {
        return load_scan_start(slot) ? LOAD_ENDED : LOAD_ON_ITS_WAY;
    }
    if (load_batch_is(slot)) {
        return load_batch_start(slot);
    }
    uint32_t count = slot->count;
    atomic_store_explicit(&slot->left, count + 1, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++) {
        if (submit_item(&slot->items[i], slot->first + i) != EDUBBA_OK) {
            (void)one_less(slot); /* never the last: one more is held here */
        }
    }
    if (!one_less(slot)) {
        return LOAD_ON_ITS_WAY;
    }
    load_slot_count_request(slot);
    return LOAD_ENDED;
}

void load_slot_go(struct load_slot *slot)
{
    while (load_slot_start(slot, 0) == LOAD_ENDED) {
    }
}

void load_slot_ended(struct load_slot *slot)
{
    if (slot->client->starter != NULL) {
        load_starter_take(slot->client->starter, slot);
    } else {
        load_slot_go(slot);
    }
}

void load_slot_park(struct load_slot *slot)
{
    struct load_run *run = slot->client->run;
    pthread_mutex_lock(&run->lock);
    run->active--;
    if (run->active == 0) {
        pthread_cond_broadcast(&run->changed);
    }
    pthread_mutex_unlock(&run->lock);
}

/* Batches: requests that change many rows with one call and one completion. */
#include "client/load/core/random.h"
#include "client/load/core/value.h"
#include "client/load/run.h"

bool load_batch_is(const struct load_slot *slot)
{
    bool changes = slot->kind == LOAD_WRITE || slot->kind == LOAD_INSERT ||
                   slot->kind == LOAD_UPDATE || slot->kind == LOAD_ADD;
    return changes && slot->client->run->batch > 1;
}

static void on_changed(void *context, const struct edubba_rows_result *result)
{
    struct load_slot *slot = context;
    size_t failure = 0;
    for (size_t i = 0; i < result->entry_count; i++) {
        enum edubba_code code = EDUBBA_OK;
        if (failure < result->failure_count && result->failures[failure].entry == i) {
            code = result->failures[failure].code;
            load_slot_count_error(slot, code, result->failures[failure].text);
            failure++;
        }
        load_slot_row_ended(slot, slot->items[i].number, code);
    }
    slot->rows_ok = (uint32_t)(result->entry_count - result->failure_count);
    load_slot_count_request(slot);
    load_slot_ended(slot);
}

/* --- writing the sheet ------------------------------------------------------------------------ */

/* All fields of the row, whose mutations stand on the sheet. */
static void write_row(struct load_slot *slot, struct load_sheet *sheet, uint32_t index)
{
    const struct load_run *run = slot->client->run;
    struct edubba_entry *entry = &sheet->entries[index];
    size_t fields = run->options->fields;
    size_t size = run->options->value_bytes;
    uint8_t *value = sheet->values + index * fields * size;
    uint64_t key_hash = load_value_key_hash(sheet->keys[index], entry->row.size);
    uint64_t version = load_random_next(&slot->random);
    for (size_t i = 0; i < fields; i++) {
        load_value_make(run->pool, key_hash, run->fields[i].hash, version, value + i * size, size);
    }
    entry->mutations = &sheet->rows[index * fields];
    entry->count = fields;
}

/* One field of the row, in the place of its first. */
static void write_field(struct load_slot *slot, struct load_sheet *sheet, uint32_t index)
{
    const struct load_run *run = slot->client->run;
    struct edubba_entry *entry = &sheet->entries[index];
    size_t size = run->options->value_bytes;
    uint8_t *value = sheet->values + index * run->options->fields * size;
    uint64_t key_hash = load_value_key_hash(sheet->keys[index], entry->row.size);
    uint64_t number = load_random_below(&slot->random, run->options->fields);
    const struct load_field *field = &run->fields[number];
    load_value_make(run->pool, key_hash, field->hash, load_random_next(&slot->random), value, size);
    sheet->changes[index] = edubba_set_cell(LOAD_FAMILY, edubba_bytes_of(field->name, field->size),
                                            EDUBBA_NOW, edubba_bytes_of(value, size));
    entry->mutations = &sheet->changes[index];
    entry->count = 1;
}

static void write_addition(struct load_sheet *sheet, uint32_t index)
{
    struct edubba_entry *entry = &sheet->entries[index];
    sheet->changes[index] = edubba_add_int64(LOAD_SUM_FAMILY, edubba_bytes_of("n", 1), 0, 1);
    entry->mutations = &sheet->changes[index];
    entry->count = 1;
}

static void write_entry(struct load_slot *slot, struct load_sheet *sheet, uint32_t index)
{
    struct load_run *run = slot->client->run;
    uint64_t number = slot->kind == LOAD_INSERT ? load_inserts_take(&run->inserts)
                                                : load_slot_choose(slot, slot->first + index);
    slot->items[index].number = number;
    sheet->entries[index].row.size = load_row_key(run->keys, run->options->hosts, number,
                                                  sheet->keys[index]);
    if (slot->kind == LOAD_ADD) {
        write_addition(sheet, index);
    } else if (slot->kind == LOAD_UPDATE) {
        write_field(slot, sheet, index);
    } else {
        write_row(slot, sheet, index);
    }
}

enum load_start load_batch_start(struct load_slot *slot)
{
    struct load_sheet *sheet = load_sheet_take(slot->client->sheets);
    uint32_t count = slot->count;
    struct edubba_error error;
    for (uint32_t i = 0; i < count; i++) {
        write_entry(slot, sheet, i);
    }
    enum edubba_code code = edubba_submit_rows(slot->client->table, sheet->entries, count, 0,
                                               on_changed, slot, &error);
    load_sheet_give(sheet);
    if (code != EDUBBA_OK) {
        load_slot_submit_failed(slot, code, error.text);
        load_slot_count_request(slot);
        return LOAD_ENDED;
    }
    return LOAD_ON_ITS_WAY;
}

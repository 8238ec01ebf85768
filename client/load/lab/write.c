/* Writes: an event becomes a change, the change one call. */
#include "client/load/lab/flight.h"
#include "client/load/run.h"

static void on_changed(void *context, const struct edubba_result *result)
{
    struct lab_slot *slot = context;
    lab_slot_count(slot, result->code, result->text, slot->key_count);
    lab_slot_ended(slot);
}

static void on_rows_changed(void *context, const struct edubba_rows_result *result)
{
    struct lab_slot *slot = context;
    const char *text = result->failure_count > 0 ? result->failures[0].text : "";
    lab_slot_count(slot, result->code, text, slot->key_count);
    lab_slot_ended(slot);
}

static void keep_keys(struct lab_slot *slot, const struct lab_change *change)
{
    slot->key_count = change->row_count;
    for (size_t i = 0; i < change->row_count; i++) {
        slot->keys[i].size = change->rows[i].key_size;
        memcpy(slot->keys[i].data, change->rows[i].key, change->rows[i].key_size);
    }
}

static enum edubba_code submit_one(struct lab_slot *slot,
                                   const struct lab_change *change,
                                   struct edubba_error *error)
{
    const struct lab_row *row = &change->rows[0];
    struct edubba_operation operation = {
        .kind = change->increments ? EDUBBA_OPERATION_READ_MODIFY_WRITE : EDUBBA_OPERATION_MUTATE,
        .row = edubba_bytes_of(row->key, row->key_size),
        .mutations = change->cells,
        .mutation_count = change->increments ? 0 : row->count,
        .rules = &change->rule,
        .rule_count = change->increments ? 1 : 0,
    };
    return edubba_submit(slot->client->table, &operation, on_changed, slot, error);
}

static enum edubba_code submit_rows(struct lab_slot *slot,
                                    const struct lab_change *change,
                                    struct edubba_error *error)
{
    struct edubba_entry entries[LAB_ROWS_MAX] = {0};
    for (size_t i = 0; i < change->row_count; i++) {
        const struct lab_row *row = &change->rows[i];
        entries[i].row = edubba_bytes_of(row->key, row->key_size);
        entries[i].mutations = &change->cells[row->first];
        entries[i].count = row->count;
    }
    return edubba_submit_rows(slot->client->table, entries, change->row_count, 0, on_rows_changed,
                              slot, error);
}

enum lab_start lab_write_start(struct lab_slot *slot)
{
    struct lab_change change;
    struct edubba_error error;
    lab_change_init(&change);
    slot->flight->variant->change(&slot->event, &change);
    keep_keys(slot, &change);
    enum edubba_code code = change.row_count == 1 ? submit_one(slot, &change, &error)
                                                  : submit_rows(slot, &change, &error);
    if (code == EDUBBA_OK) {
        return LAB_ON_ITS_WAY;
    }
    lab_slot_refused(slot, code, error.text);
    return LAB_ENDED;
}

/* Rows that were read: counted, and with --verify looked at: were their values written there, and do they stand where
 * they were asked for? */
#include <string.h>

#include "client/load/run.h"

static void keep_first(struct load_run *run, const char *text)
{
    pthread_mutex_lock(&run->lock);
    if (run->first_wrong[0] == '\0') {
        (void)snprintf(run->first_wrong, sizeof run->first_wrong, "%s", text);
    }
    pthread_mutex_unlock(&run->lock);
}

static void verify_cells(struct load_slot *slot, const struct edubba_row *row)
{
    struct load_run *run = slot->client->run;
    struct load_tally *tally = load_slot_tally(slot);
    char text[LOAD_FAULT_BYTES];
    bool one_field = slot->filter != NULL && slot->kind != LOAD_SCAN;
    struct load_row_check check = load_row_check_begin(
        &run->shape, one_field ? 1 : run->options->fields, row->key.data, row->key.size);
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct edubba_cell *cell = &row->cells[i];
        if (cell->family.size == strlen(LOAD_FAMILY) &&
            memcmp(cell->family.data, LOAD_FAMILY, cell->family.size) == 0) {
            load_row_check_cell(&check, cell->qualifier.data, cell->qualifier.size,
                                cell->value.data, cell->value.size);
        } else {
            load_row_check_stranger(&check, cell->qualifier.data, cell->qualifier.size);
        }
    }
    load_row_check_end(&check);
    load_tally_add(&tally->checked, check.checked);
    if (check.wrong > 0) {
        load_tally_add(&tally->wrong, check.wrong);
        load_row_check_text(&check, row->key.data, row->key.size, text);
        keep_first(run, text);
    }
}

/* A row that has no place where it came: counts as one wrong value more. */
static void count_displaced(struct load_slot *slot,
                            const struct edubba_row *row,
                            const struct load_row_place *place)
{
    struct load_tally *tally = load_slot_tally(slot);
    char text[LOAD_PLACE_BYTES];
    if (slot->client->run->options->verify) {
        load_tally_add(&tally->checked, 1);
        load_tally_add(&tally->wrong, 1);
        load_row_place_text(place, row->key.data, row->key.size, slot->kind == LOAD_SCAN, text);
        keep_first(slot->client->run, text);
    }
}

static void take(struct load_slot *slot, const struct edubba_row *row)
{
    struct load_tally *tally = load_slot_tally(slot);
    uint64_t bytes = 0;
    for (size_t i = 0; i < row->cell_count; i++) {
        bytes += row->cells[i].value.size;
    }
    load_tally_add(&tally->rows, 1);
    load_tally_add(&tally->bytes, bytes);
    if (slot->client->run->options->verify) {
        verify_cells(slot, row);
    }
}

void load_slot_take_row(struct load_slot *slot, uint64_t number, const struct edubba_row *row)
{
    const struct load_run *run = slot->client->run;
    take(slot, row);
    if (run->options->verify) {
        uint8_t key[LOAD_ROW_KEY_BYTES_MAX];
        struct load_row_place asked;
        load_row_place_begin(&asked, key,
                             load_row_key(run->keys, run->options->hosts, number, key));
        if (!load_row_place_is(&asked, row->key.data, row->key.size)) {
            count_displaced(slot, row, &asked);
        }
    }
}

bool load_slot_take_scanned(struct load_slot *slot, const struct edubba_row *row)
{
    take(slot, row);
    if (load_row_place_take(&slot->scan_place, row->key.data, row->key.size, slot->scan_end.data,
                            slot->scan_end.size)) {
        return true;
    }
    count_displaced(slot, row, &slot->scan_place);
    return false;
}

#include "client/load/lab/core/experiments/change.h"

#include <stdarg.h>
#include <stdio.h>

#define TIMESTAMP_BYTES 8

void lab_change_init(struct lab_change *change)
{
    change->row_count = 0;
    change->cell_count = 0;
    change->increments = false;
    change->fits = true;
    change->text_size = 0;
}

void lab_change_row(struct lab_change *change, const struct edubba_key *key)
{
    struct edubba_bytes bytes = edubba_key_bytes(key);
    if (change->row_count == LAB_ROWS_MAX || bytes.size == 0 || bytes.size > LAB_KEY_BYTES_MAX) {
        change->fits = false;
        return;
    }
    struct lab_row *row = &change->rows[change->row_count++];
    memcpy(row->key, bytes.data, bytes.size);
    row->key_size = bytes.size;
    row->first = change->cell_count;
    row->count = 0;
}

static void add_cell(struct lab_change *change, struct edubba_mutation cell)
{
    if (change->row_count == 0 || change->cell_count == LAB_CELLS_MAX) {
        change->fits = false;
        return;
    }
    change->cells[change->cell_count++] = cell;
    change->rows[change->row_count - 1].count++;
}

void lab_change_set(struct lab_change *change,
                    const char *family,
                    struct edubba_bytes qualifier,
                    int64_t timestamp_us,
                    struct edubba_bytes value)
{
    add_cell(change, edubba_set_cell(family, qualifier, timestamp_us, value));
}

void lab_change_add(struct lab_change *change,
                    const char *family,
                    struct edubba_bytes qualifier,
                    int64_t timestamp_us,
                    int64_t amount)
{
    add_cell(change, edubba_add_int64(family, qualifier, timestamp_us, amount));
}

void lab_change_increment(struct lab_change *change,
                          const char *family,
                          struct edubba_bytes qualifier,
                          int64_t amount)
{
    change->increments = true;
    change->rule = (struct edubba_rmw_rule){
        .kind = EDUBBA_INCREMENT,
        .family = edubba_bytes_of_text(family),
        .qualifier = qualifier,
        .increment = amount,
    };
}

struct edubba_bytes lab_change_text(struct lab_change *change, const char *format, ...)
{
    va_list arguments;
    char *at = change->text + change->text_size;
    size_t room = sizeof change->text - change->text_size;
    va_start(arguments, format);
    int size = vsnprintf(at, room, format, arguments);
    va_end(arguments);
    if (size < 0 || (size_t)size >= room) {
        change->fits = false;
        return EDUBBA_NOTHING;
    }
    change->text_size += (size_t)size;
    return edubba_bytes_of(at, (size_t)size);
}

uint64_t lab_change_bytes(const struct lab_change *change)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < change->row_count; i++) {
        bytes += change->rows[i].key_size;
    }
    for (size_t i = 0; i < change->cell_count; i++) {
        const struct edubba_mutation *cell = &change->cells[i];
        size_t value = cell->kind == EDUBBA_ADD_TO_CELL ? sizeof cell->integer : cell->value.size;
        bytes += cell->family.size + cell->qualifier.size + TIMESTAMP_BYTES + value;
    }
    if (change->increments) {
        bytes += change->rule.family.size + change->rule.qualifier.size + TIMESTAMP_BYTES +
                 sizeof change->rule.increment;
    }
    return bytes;
}

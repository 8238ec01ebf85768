#include "client/load/sheet.h"

#include <sched.h>
#include <stdlib.h>

#include "client/load/run.h"

bool load_sheet_init(struct load_sheet *sheet, const struct load_run *run)
{
    const struct load_options *options = run->options;
    size_t fields = options->fields;
    size_t size = options->value_bytes;
    atomic_flag_clear(&sheet->is_taken);
    sheet->entries = calloc(run->batch, sizeof *sheet->entries);
    sheet->keys = calloc(run->batch, sizeof *sheet->keys);
    sheet->values = malloc(run->batch * fields * size + 1);
    sheet->rows = calloc(run->batch * fields, sizeof *sheet->rows);
    sheet->changes = calloc(run->batch, sizeof *sheet->changes);
    if (sheet->entries == NULL || sheet->keys == NULL || sheet->values == NULL ||
        sheet->rows == NULL || sheet->changes == NULL) {
        return false;
    }
    for (size_t i = 0; i < run->batch; i++) {
        sheet->entries[i].row.data = sheet->keys[i];
        for (size_t j = 0; j < fields; j++) {
            const struct load_field *field = &run->fields[j];
            sheet->rows[i * fields + j] = edubba_set_cell(
                LOAD_FAMILY, edubba_bytes_of(field->name, field->size), EDUBBA_NOW,
                edubba_bytes_of(sheet->values + (i * fields + j) * size, size));
        }
    }
    return true;
}

void load_sheet_deinit(struct load_sheet *sheet)
{
    free(sheet->entries);
    free(sheet->keys);
    free(sheet->values);
    free(sheet->rows);
    free(sheet->changes);
    *sheet = (struct load_sheet){0};
}

struct load_sheet *load_sheet_take(struct load_sheet sheets[LOAD_SHEETS])
{
    for (;;) {
        for (int i = 0; i < LOAD_SHEETS; i++) {
            if (!atomic_flag_test_and_set_explicit(&sheets[i].is_taken, memory_order_acquire)) {
                return &sheets[i];
            }
        }
        (void)sched_yield(); /* a third one is between two batches at most */
    }
}

void load_sheet_give(struct load_sheet *sheet)
{
    atomic_flag_clear_explicit(&sheet->is_taken, memory_order_release);
}

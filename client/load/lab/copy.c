#include "client/load/lab/copy.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/load/lab/filter.h"
#include "client/load/run.h"

#define BATCH_ROWS 200
#define ROW_CELLS  8 /* of a row that is copied: what is beyond them is refused */
#define TEXT_BYTES 65536

/* Rows on their way from one table to the other. */
struct batch {
    struct edubba_table *to;
    size_t row_count;
    size_t text_size;
    struct edubba_entry entries[BATCH_ROWS];
    struct edubba_mutation cells[BATCH_ROWS][ROW_CELLS];
    struct edubba_error errors[BATCH_ROWS];
    char text[TEXT_BYTES]; /* of keys and cells */
};

static enum edubba_code no_room(struct edubba_error *error)
{
    error->code = EDUBBA_RESOURCE_EXHAUSTED;
    (void)snprintf(error->text, sizeof error->text, "a row is too large to be copied");
    return error->code;
}

/* A scan's row lives until the next: what is kept of it is copied. */
static bool keep(struct batch *batch, struct edubba_bytes bytes, struct edubba_bytes *ret_copy)
{
    char *at = batch->text + batch->text_size;
    if (bytes.size > sizeof batch->text - batch->text_size) {
        return false;
    }
    if (bytes.size > 0) {
        memcpy(at, bytes.data, bytes.size);
    }
    batch->text_size += bytes.size;
    *ret_copy = edubba_bytes_of(at, bytes.size);
    return true;
}

static bool take_cell(struct batch *batch,
                      const struct edubba_cell *cell,
                      struct edubba_mutation *ret_cell)
{
    *ret_cell = (struct edubba_mutation){
        .kind = EDUBBA_SET_CELL,
        .timestamp_us = cell->timestamp_us,
    };
    return keep(batch, cell->family, &ret_cell->family) &&
           keep(batch, cell->qualifier, &ret_cell->qualifier) &&
           keep(batch, cell->value, &ret_cell->value);
}

/* False: it does not fit any more. */
static bool take_row(struct batch *batch,
                     const struct lab_variant *variant,
                     const struct edubba_row *row)
{
    struct edubba_key key;
    struct edubba_entry *entry = &batch->entries[batch->row_count];
    if (batch->row_count == BATCH_ROWS || row->cell_count > ROW_CELLS) {
        return false;
    }
    variant->copy_key(row, &key);
    *entry = (struct edubba_entry){
        .mutations = batch->cells[batch->row_count],
        .count = row->cell_count,
    };
    if (!keep(batch, edubba_key_bytes(&key), &entry->row)) {
        return false;
    }
    for (size_t i = 0; i < row->cell_count; i++) {
        if (!take_cell(batch, &row->cells[i], &batch->cells[batch->row_count][i])) {
            return false;
        }
    }
    batch->row_count++;
    return true;
}

static enum edubba_code write_out(struct batch *batch,
                                  struct lab_variant_result *result,
                                  struct edubba_error *error)
{
    enum edubba_code code = edubba_mutate_rows(batch->to, batch->entries, batch->row_count,
                                               batch->errors);
    for (size_t i = 0; code != EDUBBA_OK && i < batch->row_count; i++) {
        if (batch->errors[i].code != EDUBBA_OK) {
            *error = batch->errors[i];
            return code;
        }
    }
    result->copied_rows += batch->row_count;
    batch->row_count = 0;
    batch->text_size = 0;
    return code;
}

static enum edubba_code copy_rows(struct edubba_scan *scan,
                                  struct batch *batch,
                                  struct lab_variant_result *result,
                                  struct edubba_error *error)
{
    const struct edubba_row *row = NULL;
    enum edubba_code code = EDUBBA_OK;
    while ((code = edubba_scan_next(scan, &row, error)) == EDUBBA_OK && row != NULL) {
        if (take_row(batch, result->variant, row)) {
            continue;
        }
        code = write_out(batch, result, error);
        if (code == EDUBBA_OK && !take_row(batch, result->variant, row)) {
            code = no_room(error);
        }
        if (code != EDUBBA_OK) {
            return code;
        }
    }
    return code == EDUBBA_OK && batch->row_count > 0 ? write_out(batch, result, error) : code;
}

static enum edubba_code scan_and_copy(struct lab_stand *stand,
                                      const struct lab_world *world,
                                      struct batch *batch,
                                      struct lab_variant_result *result,
                                      struct edubba_error *error)
{
    struct lab_query query;
    struct edubba_scan *scan = NULL;
    bool good = false;
    result->variant->copy(world, &query);
    struct edubba_filter *filter = lab_filter_make(&query, &good);
    struct edubba_scan_options options = {
        .ranges = query.ranges,
        .range_count = query.range_count,
        .filter = filter,
    };
    int64_t begun_ns = load_now_ns();
    enum edubba_code code = good && query.fits
                                ? edubba_scan_open(stand->clients[0].table, &options, &scan, error)
                                : no_room(error);
    if (code == EDUBBA_OK) {
        code = copy_rows(scan, batch, result, error);
        edubba_scan_close(scan);
    }
    edubba_filter_free(filter);
    result->copy_s = (double)(load_now_ns() - begun_ns) / 1e9;
    return code;
}

enum edubba_code lab_copy(struct lab_stand *stand,
                          const struct lab_world *world,
                          struct lab_result *result,
                          struct lab_variant_result *variant,
                          struct edubba_error *error)
{
    char name[LAB_TABLE_BYTES];
    if (variant->variant->copy == NULL) {
        return EDUBBA_OK;
    }
    struct batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) {
        return no_room(error);
    }
    (void)snprintf(name, sizeof name, "%.58s_copy", stand->table);
    enum edubba_code code = lab_stand_make_other(stand, variant->variant, name, &batch->to, error);
    bool is_made = code == EDUBBA_OK;
    if (is_made) {
        code = scan_and_copy(stand, world, batch, variant, error);
    }
    edubba_table_close(batch->to);
    free(batch);
    struct edubba_error dropping;
    if (is_made && stand->options->keep) {
        lab_result_keep(result, name);
    } else if (is_made && edubba_delete_table(stand->observer, name, &dropping) != EDUBBA_OK &&
               code == EDUBBA_OK) {
        *error = dropping;
        code = dropping.code;
    }
    return code;
}

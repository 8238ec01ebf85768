#include "client/scan/row.h"

#include "client/loop/client.h"
#include "common/base/memory.h"

enum status row_take(struct bytes *block,
                     struct arena *arena,
                     struct edubba_row *ret_row,
                     bool *ret_found,
                     struct error *ret_error)
{
    struct row row;
    enum status status = row_block_next(block, arena, &row, ret_found, ret_error);
    if (status != STATUS_OK || !*ret_found) {
        return status;
    }
    struct edubba_cell *cells = arena_allocate_array(arena, row.cell_count, sizeof *cells);
    if (cells == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for a row of %zu cells",
                         row.cell_count);
    }
    for (size_t i = 0; i < row.cell_count; i++) {
        cells[i] = (struct edubba_cell){
            .family = client_public_bytes(row.cells[i].family),
            .qualifier = client_public_bytes(row.cells[i].qualifier),
            .timestamp_us = row.cells[i].timestamp_us,
            .value = client_public_bytes(row.cells[i].value),
            .label = client_public_bytes(row.cells[i].label),
        };
    }
    *ret_row = (struct edubba_row){client_public_bytes(row.key), cells, row.cell_count};
    return STATUS_OK;
}

static size_t cell_bytes(const struct edubba_cell *cell)
{
    return cell->family.size + cell->qualifier.size + cell->value.size + cell->label.size;
}

static struct edubba_bytes copy_to(unsigned char **at, struct edubba_bytes bytes)
{
    struct edubba_bytes copy = {*at, bytes.size};
    if (bytes.size > 0) {
        memcpy(*at, bytes.data, bytes.size);
    }
    *at += bytes.size;
    return copy;
}

struct edubba_row *row_copy(const struct edubba_row *row)
{
    size_t size_bytes = sizeof *row + row->cell_count * sizeof *row->cells + row->key.size;
    for (size_t i = 0; i < row->cell_count; i++) {
        size_bytes += cell_bytes(&row->cells[i]);
    }
    struct edubba_row *copy = memory_allocate(size_bytes);
    if (copy == NULL) {
        return NULL;
    }
    struct edubba_cell *cells = (struct edubba_cell *)(void *)(copy + 1);
    unsigned char *at = (unsigned char *)(cells + row->cell_count);
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct edubba_cell *from = &row->cells[i];
        cells[i].timestamp_us = from->timestamp_us;
        cells[i].family = copy_to(&at, from->family);
        cells[i].qualifier = copy_to(&at, from->qualifier);
        cells[i].value = copy_to(&at, from->value);
        cells[i].label = copy_to(&at, from->label);
    }
    *copy = (struct edubba_row){copy_to(&at, row->key), cells, row->cell_count};
    return copy;
}

void edubba_row_free(struct edubba_row *row)
{
    memory_free(row);
}

/* Which state is it?  Sketches say what they hold; eight bytes are a number. */
enum edubba_code edubba_aggregate_value(struct edubba_bytes state, int64_t *value)
{
    static const enum aggregate_kind sketches[] = {AGGREGATE_INTHLL, AGGREGATE_BYTESHLL};
    struct bytes bytes = client_bytes(state);

    if (bytes.size_bytes == sizeof(int64_t)) {
        return client_code(aggregate_extract(AGGREGATE_INTSUM, bytes, value));
    }
    for (size_t i = 0; i < sizeof sketches / sizeof sketches[0]; i++) {
        if (bytes.size_bytes > 0 && aggregate_extract(sketches[i], bytes, value) == STATUS_OK) {
            return EDUBBA_OK;
        }
    }
    return EDUBBA_INVALID_ARGUMENT;
}

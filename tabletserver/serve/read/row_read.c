#include "tabletserver/serve/read/row_read.h"

#include "common/base/limits.h"
#include "common/io/clock.h"

static enum status look_at_who_waits(void *context)
{
    const struct row_read_for *who = context;
    if (transport_reply_cancelled(who->reply)) {
        return STATUS_CANCELLED;
    }
    return clock_monotonic_ns() > who->deadline_ns ? STATUS_DEADLINE_EXCEEDED : STATUS_OK;
}

void row_read_while_awaited(struct row_reader *reader, struct row_read_for *who)
{
    row_reader_set_patience(reader, &(struct row_patience){look_at_who_waits, who});
}

struct output {
    const struct table *table;
    struct row_block_writer *writer;
    size_t start_bytes; /* of the block, before this row */
    uint32_t family;    /* whose name is at hand */
    struct bytes family_name;
    uint64_t cells;
};

static enum status put_cell(void *context, const struct cell *cell)
{
    struct output *output = context;

    if (cell->family != output->family) {
        output->family = cell->family;
        output->family_name = table_family_by_number(output->table, cell->family)->name;
    }
    row_block_add_cell(output->writer, output->family_name, cell);
    output->cells += 1;
    if (output->writer->out->failed) {
        return STATUS_NO_MEMORY;
    }
    if (output->writer->out->size_bytes - output->start_bytes > LIMIT_ROW_BYTES) {
        return STATUS_LIMIT;
    }
    return STATUS_OK;
}

static enum status refuse_large_row(struct bytes row, struct error *ret_error)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                     "LargeRowReadError: row '%s' is larger than 256 MiB; read it with a filter",
                     bytes_printable(row, text));
}

enum status row_read_filtered(struct row_reader *reader,
                              struct bytes row,
                              const struct table *table,
                              struct filter_program *program,
                              struct row_block_writer *writer,
                              struct row_read_statistics *statistics,
                              struct error *ret_error)
{
    struct cell_source source = row_reader_source(reader);
    struct output output = {
        .table = table, .writer = writer, .start_bytes = writer->out->size_bytes};
    uint64_t cells_seen = 0;
    bool any = false;

    statistics->rows_seen += 1;
    row_block_begin_row(writer, row);
    enum status status = filter_run(program, row, &source, put_cell, &output, &any, &cells_seen);
    statistics->cells_seen += cells_seen;
    if (status != STATUS_OK) {
        row_block_abandon_row(writer);
        return status == STATUS_LIMIT
                   ? refuse_large_row(row, ret_error)
                   : error_set(ret_error, status, "cannot read the row: %s", status_text(status));
    }
    if (row_block_end_row(writer)) {
        statistics->rows_returned += 1;
        statistics->cells_returned += output.cells;
    }
    return STATUS_OK;
}

enum status row_read_seek(struct row_reader *reader, struct bytes row, bool *ret_found)
{
    struct bytes found_row;
    bool found = false;
    enum status status = row_reader_seek(reader, ROW_AT_OR_AFTER, row, &found_row, &found);
    if (status == STATUS_OK) {
        *ret_found = found && bytes_equal(found_row, row);
    }
    return status;
}

enum status row_read_any(struct row_reader *reader,
                         struct bytes row,
                         struct filter_program *program,
                         bool *ret_any)
{
    bool found = false;
    bool any = false;
    enum status status = row_read_seek(reader, row, &found);
    if (status == STATUS_OK && found) {
        struct cell_source source = row_reader_source(reader);
        status = filter_run(program, row, &source, NULL, NULL, &any, NULL);
    }
    if (status == STATUS_OK) {
        *ret_any = any;
    }
    return status;
}

enum status row_read_newest(struct row_reader *reader,
                            struct bytes row,
                            uint32_t family,
                            struct bytes qualifier,
                            struct rmw_current *ret_current)
{
    struct cell cell;
    bool found = false;

    *ret_current = (struct rmw_current){.found = false};
    enum status status = row_read_seek(reader, row, &found);
    if (status != STATUS_OK || !found) {
        return status;
    }
    struct cell_source source = row_reader_source(reader);
    status = source.rewind(source.context, family, qualifier);
    if (status == STATUS_OK) {
        status = source.next(source.context, CELL_NEXT, &cell, &found);
    }
    if (status != STATUS_OK || !found || cell.family != family ||
        !bytes_equal(cell.qualifier, qualifier)) {
        return status;
    }
    *ret_current = (struct rmw_current){
        .found = true, .timestamp_us = cell.timestamp_us, .value = cell.value};
    return STATUS_OK;
}

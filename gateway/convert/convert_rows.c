#include "gateway/convert/convert.h"

typedef Google__Bigtable__V2__RowRange Range;

/* --- which rows ------------------------------------------------------------------------------- */

struct edubba_bounds api_convert_range(const Range *range)
{
    struct edubba_bounds bounds = {0};
    switch ((int)range->start_key_case) {
    case GOOGLE__BIGTABLE__V2__ROW_RANGE__START_KEY_START_KEY_OPEN:
        bounds.start_open = true;
        bounds.start = api_bytes(range->start_key_open);
        break;
    case GOOGLE__BIGTABLE__V2__ROW_RANGE__START_KEY_START_KEY_CLOSED:
        bounds.start = api_bytes(range->start_key_closed);
        break;
    default:
        break;
    }
    /* An empty end is no end. */
    switch ((int)range->end_key_case) {
    case GOOGLE__BIGTABLE__V2__ROW_RANGE__END_KEY_END_KEY_CLOSED:
        bounds.end_closed = range->end_key_closed.len > 0;
        bounds.end = api_bytes(range->end_key_closed);
        break;
    case GOOGLE__BIGTABLE__V2__ROW_RANGE__END_KEY_END_KEY_OPEN:
        bounds.end = api_bytes(range->end_key_open);
        break;
    default:
        break;
    }
    return bounds;
}

enum status api_convert_row_set(const Google__Bigtable__V2__RowSet *rows,
                                struct arena *arena,
                                struct edubba_scan_options *options)
{
    if (rows == NULL || rows->n_row_keys + rows->n_row_ranges == 0) {
        return STATUS_OK;
    }
    struct edubba_bytes *keys = arena_allocate_array(arena, rows->n_row_keys, sizeof *keys);
    struct edubba_bounds *ranges = arena_allocate_array(arena, rows->n_row_ranges, sizeof *ranges);
    if (keys == NULL || ranges == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < rows->n_row_keys; i++) {
        keys[i] = api_bytes(rows->row_keys[i]);
    }
    for (size_t i = 0; i < rows->n_row_ranges; i++) {
        ranges[i] = api_convert_range(rows->row_ranges[i]);
    }
    options->keys = keys;
    options->key_count = rows->n_row_keys;
    options->ranges = ranges;
    options->range_count = rows->n_row_ranges;
    return STATUS_OK;
}

/* --- a row in one message --------------------------------------------------------------------- */

typedef Google__Bigtable__V2__Family Family;
typedef Google__Bigtable__V2__Column Column;
typedef Google__Bigtable__V2__Cell Cell;

/* Room for as many of each as there are cells; filled from the front. */
struct row_parts {
    struct arena *arena;
    Family *families;
    Family **family_list;
    Column *columns;
    Column **column_list;
    Cell *cells;
    Cell **cell_list;
    size_t family_count;
    size_t column_count;
};

static bool is_same(struct edubba_bytes a, struct edubba_bytes b)
{
    return bytes_equal(bytes_of(a.data, a.size), bytes_of(b.data, b.size));
}

static enum status begin_family(struct row_parts *parts, struct edubba_bytes name)
{
    Family *family = &parts->families[parts->family_count];
    google__bigtable__v2__family__init(family);
    family->name = arena_copy_text(parts->arena, bytes_of(name.data, name.size));
    family->columns = &parts->column_list[parts->column_count];
    parts->family_list[parts->family_count] = family;
    parts->family_count++;
    return family->name != NULL ? STATUS_OK : STATUS_NO_MEMORY;
}

static void begin_column(struct row_parts *parts, struct edubba_bytes qualifier, size_t cell)
{
    Column *column = &parts->columns[parts->column_count];
    google__bigtable__v2__column__init(column);
    column->qualifier = api_data(qualifier);
    column->cells = &parts->cell_list[cell];
    parts->column_list[parts->column_count] = column;
    parts->column_count++;
    parts->families[parts->family_count - 1].n_columns++;
}

static enum status add_cell(struct row_parts *parts, const struct edubba_row *row, size_t index)
{
    const struct edubba_cell *cell = &row->cells[index];
    const struct edubba_cell *before = index > 0 ? &row->cells[index - 1] : NULL;
    bool new_family = before == NULL || !is_same(before->family, cell->family);
    enum status status = new_family ? begin_family(parts, cell->family) : STATUS_OK;
    if (status != STATUS_OK) {
        return status;
    }
    if (new_family || !is_same(before->qualifier, cell->qualifier)) {
        begin_column(parts, cell->qualifier, index);
    }
    google__bigtable__v2__cell__init(&parts->cells[index]);
    parts->cells[index].timestamp_micros = cell->timestamp_us;
    parts->cells[index].value = api_data(cell->value);
    parts->cell_list[index] = &parts->cells[index];
    parts->columns[parts->column_count - 1].n_cells++;
    return STATUS_OK;
}

enum status api_convert_row(const struct edubba_row *row,
                            struct arena *arena,
                            Google__Bigtable__V2__Row *ret_row)
{
    size_t count = row->cell_count;
    struct row_parts parts = {
        .arena = arena,
        .families = arena_allocate_array(arena, count, sizeof *parts.families),
        .family_list = arena_allocate_array(arena, count, sizeof *parts.family_list),
        .columns = arena_allocate_array(arena, count, sizeof *parts.columns),
        .column_list = arena_allocate_array(arena, count, sizeof *parts.column_list),
        .cells = arena_allocate_array(arena, count, sizeof *parts.cells),
        .cell_list = arena_allocate_array(arena, count, sizeof *parts.cell_list),
    };
    if (parts.families == NULL || parts.family_list == NULL || parts.columns == NULL ||
        parts.column_list == NULL || parts.cells == NULL || parts.cell_list == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        enum status status = add_cell(&parts, row, i);
        if (status != STATUS_OK) {
            return status;
        }
    }
    google__bigtable__v2__row__init(ret_row);
    ret_row->key = api_data(row->key);
    ret_row->families = parts.family_list;
    ret_row->n_families = parts.family_count;
    return STATUS_OK;
}

#include "tests/sim/store/sim_rows.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

void sim_rows_deinit(struct sim_rows *rows)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        memory_free(rows->rows[i].cells);
    }
    memory_free(rows->rows);
    *rows = (struct sim_rows){0};
}

uint32_t sim_rows_seek(const struct sim_rows *rows, struct bytes key)
{
    uint32_t low = 0;
    uint32_t high = rows->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (bytes_compare(sim_row_key(&rows->rows[middle]), key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct sim_row *sim_rows_find(const struct sim_rows *rows, struct bytes key)
{
    uint32_t at = sim_rows_seek(rows, key);
    bool found = at < rows->count && bytes_equal(sim_row_key(&rows->rows[at]), key);
    return found ? &rows->rows[at] : NULL;
}

/* --- rows ------------------------------------------------------------------------------------- */

static struct sim_row *insert_row(struct sim_rows *rows, uint32_t at, struct bytes key)
{
    ASSERT(key.size_bytes <= SIM_KEY_BYTES_MAX);
    if (rows->count == rows->capacity) {
        rows->capacity = rows->capacity * 2 + 8;
        rows->rows = memory_resize(rows->rows, rows->capacity * sizeof *rows->rows);
        ASSERT(rows->rows != NULL);
    }
    struct sim_row *row = &rows->rows[at];
    memmove(row + 1, row, (rows->count - at) * sizeof *row);
    *row = (struct sim_row){.key_bytes = (uint32_t)key.size_bytes};
    if (key.size_bytes > 0) {
        memcpy(row->key, key.data, key.size_bytes);
    }
    rows->count++;
    return row;
}

static void remove_row(struct sim_rows *rows, uint32_t at)
{
    memory_free(rows->rows[at].cells);
    rows->count--;
    memmove(&rows->rows[at], &rows->rows[at + 1], (rows->count - at) * sizeof *rows->rows);
}

/* --- cells ------------------------------------------------------------------------------------ */

static struct bytes qualifier_of(const struct sim_cell *cell)
{
    return bytes_of(cell->qualifier, cell->qualifier_bytes);
}

static struct bytes value_of(const struct sim_cell *cell)
{
    return bytes_of(cell->value, cell->value_bytes);
}

static int compare_to(const struct sim_cell *cell, const struct change *change)
{
    if (cell->family != change->family) {
        return cell->family < change->family ? -1 : 1;
    }
    int order = bytes_compare(qualifier_of(cell), change->qualifier);
    if (order != 0) {
        return order;
    }
    return (cell->timestamp_us < change->timestamp_us) -
           (cell->timestamp_us > change->timestamp_us);
}

static void set_value(struct sim_cell *cell, struct bytes value)
{
    ASSERT(value.size_bytes <= SIM_VALUE_BYTES_MAX);
    cell->value_bytes = (uint8_t)value.size_bytes;
    if (value.size_bytes > 0) {
        memcpy(cell->value, value.data, value.size_bytes);
    }
}

static struct sim_cell *insert_cell(struct sim_row *row, uint32_t at, const struct change *change)
{
    ASSERT(change->qualifier.size_bytes <= SIM_QUALIFIER_BYTES_MAX);
    if (row->cell_count == row->cell_capacity) {
        row->cell_capacity = row->cell_capacity * 2 + 2;
        row->cells = memory_resize(row->cells, row->cell_capacity * sizeof *row->cells);
        ASSERT(row->cells != NULL);
    }
    struct sim_cell *cell = &row->cells[at];
    memmove(cell + 1, cell, (row->cell_count - at) * sizeof *cell);
    memset(cell, 0, sizeof *cell);
    cell->family = change->family;
    cell->timestamp_us = change->timestamp_us;
    cell->qualifier_bytes = (uint8_t)change->qualifier.size_bytes;
    if (change->qualifier.size_bytes > 0) {
        memcpy(cell->qualifier, change->qualifier.data, change->qualifier.size_bytes);
    }
    row->cell_count++;
    return cell;
}

/* PUT and FOLD. */
static void apply_value(struct sim_row *row,
                        uint64_t sequence,
                        uint32_t index,
                        const struct change *change)
{
    uint32_t at = 0;
    while (at < row->cell_count && compare_to(&row->cells[at], change) < 0) {
        at++;
    }
    bool there = at < row->cell_count && compare_to(&row->cells[at], change) == 0;
    struct sim_cell *cell = there ? &row->cells[at] : insert_cell(row, at, change);
    if (there && change->kind == CHANGE_FOLD) {
        ASSERT(aggregate_merge_in_place(change->aggregate, cell->value, cell->value_bytes,
                                        change->value));
    } else {
        set_value(cell, change->value);
    }
    cell->sequence = sequence;
    cell->index = index;
}

static bool is_covered(const struct sim_cell *cell, const struct change *change)
{
    switch (change->kind) {
    case CHANGE_DELETE_ROW:
        return true;
    case CHANGE_DELETE_FAMILY:
        return cell->family == change->family;
    case CHANGE_DELETE_CELLS:
        return cell->family == change->family &&
               bytes_equal(qualifier_of(cell), change->qualifier) &&
               cell->timestamp_us >= change->start_us && cell->timestamp_us < change->end_us;
    case CHANGE_PUT:
    case CHANGE_FOLD:
        return false;
    }
    return false;
}

static bool is_newer(const struct sim_cell *cell, uint64_t sequence, uint32_t index)
{
    return cell->sequence > sequence || (cell->sequence == sequence && cell->index > index);
}

static void apply_delete(struct sim_row *row,
                         uint64_t sequence,
                         uint32_t index,
                         const struct change *change)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < row->cell_count; i++) {
        if (is_newer(&row->cells[i], sequence, index) || !is_covered(&row->cells[i], change)) {
            row->cells[kept++] = row->cells[i];
        }
    }
    row->cell_count = kept;
}

void sim_rows_apply(struct sim_rows *rows,
                    uint64_t sequence,
                    uint32_t index,
                    struct bytes key,
                    const struct change *change)
{
    uint32_t at = sim_rows_seek(rows, key);
    bool there = at < rows->count && bytes_equal(sim_row_key(&rows->rows[at]), key);

    if (change->kind == CHANGE_PUT || change->kind == CHANGE_FOLD) {
        apply_value(there ? &rows->rows[at] : insert_row(rows, at, key), sequence, index, change);
    } else if (there) {
        apply_delete(&rows->rows[at], sequence, index, change);
        if (rows->rows[at].cell_count == 0) {
            remove_row(rows, at);
        }
    }
}

void sim_rows_delete_range(struct sim_rows *rows, uint64_t sequence, const struct row_range *range)
{
    const struct change change = {.kind = CHANGE_DELETE_ROW};
    uint32_t at = sim_rows_seek(rows, range->start);
    while (at < rows->count && row_range_contains(range, sim_row_key(&rows->rows[at]))) {
        apply_delete(&rows->rows[at], sequence, UINT32_MAX, &change);
        if (rows->rows[at].cell_count == 0) {
            remove_row(rows, at);
        } else {
            at++;
        }
    }
}

/* --- whole sets ------------------------------------------------------------------------------- */

void sim_rows_copy(struct sim_rows *to, const struct sim_rows *from, const struct row_range *range)
{
    for (uint32_t i = sim_rows_seek(from, range->start); i < from->count; i++) {
        const struct sim_row *row = &from->rows[i];
        if (!row_range_contains(range, sim_row_key(row))) {
            return;
        }
        struct sim_row *copy = insert_row(to, sim_rows_seek(to, sim_row_key(row)),
                                          sim_row_key(row));
        copy->cells = memory_allocate(row->cell_count * sizeof *copy->cells);
        ASSERT(copy->cells != NULL);
        memcpy(copy->cells, row->cells, row->cell_count * sizeof *copy->cells);
        copy->cell_count = row->cell_count;
        copy->cell_capacity = row->cell_count;
    }
}

static void stitch_cells(struct sim_rows *to,
                         const struct sim_row *row,
                         const struct tablet_position *position,
                         bool below)
{
    for (uint32_t i = 0; i < row->cell_count; i++) {
        const struct sim_cell *cell = &row->cells[i];
        const struct tablet_position at = {.row = sim_row_key(row),
                                           .family = cell->family,
                                           .qualifier = qualifier_of(cell),
                                           .timestamp_us = cell->timestamp_us};
        if ((tablet_position_compare(&at, position) < 0) == below) {
            sim_rows_apply(to, cell->sequence, cell->index, sim_row_key(row),
                           &(struct change){.kind = CHANGE_PUT,
                                            .family = cell->family,
                                            .qualifier = qualifier_of(cell),
                                            .timestamp_us = cell->timestamp_us,
                                            .value = value_of(cell)});
        }
    }
}

void sim_rows_stitch(struct sim_rows *to,
                     const struct sim_rows *below,
                     const struct sim_rows *above,
                     const struct tablet_position *position)
{
    for (uint32_t i = 0; i < below->count; i++) {
        stitch_cells(to, &below->rows[i], position, true);
    }
    for (uint32_t i = 0; i < above->count; i++) {
        stitch_cells(to, &above->rows[i], position, false);
    }
}

static bool is_same_cell(const struct sim_cell *a, const struct sim_cell *b)
{
    return a->family == b->family && a->sequence == b->sequence &&
           a->timestamp_us == b->timestamp_us && bytes_equal(qualifier_of(a), qualifier_of(b)) &&
           bytes_equal(value_of(a), value_of(b));
}

static int compare_cells(const struct sim_cell *a, const struct sim_cell *b)
{
    return compare_to(a, &(struct change){.family = b->family,
                                          .qualifier = qualifier_of(b),
                                          .timestamp_us = b->timestamp_us});
}

struct comparison {
    sim_may_lack *may_lack;
    void *context;
};

static bool may_lack(const struct comparison *by,
                     const struct sim_row *row,
                     const struct sim_cell *cell)
{
    return by->may_lack != NULL && by->may_lack(by->context, row, cell);
}

/* b NULL: there is no such row. */
static bool is_same_row(const struct comparison *by,
                        const struct sim_row *a,
                        const struct sim_row *b)
{
    uint32_t i = 0;
    uint32_t j = 0;
    uint32_t b_count = b == NULL ? 0 : b->cell_count;
    bool same = true;
    while (same && (i < a->cell_count || j < b_count)) {
        int order = i == a->cell_count ? 1
                    : j == b_count     ? -1
                                       : compare_cells(&a->cells[i], &b->cells[j]);
        if (order == 0) {
            same = is_same_cell(&a->cells[i++], &b->cells[j++]);
        } else {
            same = may_lack(by, a, order < 0 ? &a->cells[i++] : &b->cells[j++]);
        }
    }
    return same;
}

bool sim_rows_equal_but(const struct sim_rows *a,
                        const struct sim_rows *b,
                        sim_may_lack *lack,
                        void *context)
{
    const struct comparison by = {lack, context};
    uint32_t i = 0;
    uint32_t j = 0;
    bool same = true;
    while (same && (i < a->count || j < b->count)) {
        int order = i == a->count ? 1
                    : j == b->count
                        ? -1
                        : bytes_compare(sim_row_key(&a->rows[i]), sim_row_key(&b->rows[j]));
        const struct sim_row *one = order <= 0 ? &a->rows[i++] : &b->rows[j];
        const struct sim_row *other = order == 0 ? &b->rows[j] : NULL;
        j += order >= 0 ? 1 : 0;
        same = is_same_row(&by, one, other);
    }
    return same;
}

bool sim_rows_equal(const struct sim_rows *a, const struct sim_rows *b)
{
    return sim_rows_equal_but(a, b, NULL, NULL);
}

uint32_t sim_rows_erase(struct sim_rows *rows,
                        bool (*must)(void *context, const struct sim_cell *cell),
                        void *context)
{
    uint32_t erased = 0;
    for (uint32_t at = rows->count; at > 0; at--) {
        struct sim_row *row = &rows->rows[at - 1];
        uint32_t kept = 0;
        for (uint32_t i = 0; i < row->cell_count; i++) {
            if (must(context, &row->cells[i])) {
                erased++;
            } else {
                row->cells[kept++] = row->cells[i];
            }
        }
        row->cell_count = kept;
        if (kept == 0) {
            remove_row(rows, at - 1);
        }
    }
    return erased;
}

uint64_t sim_rows_size_bytes(const struct sim_rows *rows)
{
    uint64_t size_bytes = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        size_bytes += rows->rows[i].key_bytes + rows->rows[i].cell_count * UINT64_C(20);
    }
    return size_bytes;
}

const struct sim_cell *sim_row_newest(const struct sim_row *row,
                                      uint32_t family,
                                      struct bytes qualifier)
{
    for (uint32_t i = 0; row != NULL && i < row->cell_count; i++) {
        if (row->cells[i].family == family &&
            bytes_equal(qualifier_of(&row->cells[i]), qualifier)) {
            return &row->cells[i];
        }
    }
    return NULL;
}

bool sim_row_is_visible(const struct sim_row *row, const struct table *schema)
{
    for (uint32_t i = 0; row != NULL && i < row->cell_count; i++) {
        if (table_family_by_number(schema, row->cells[i].family) != NULL) {
            return true;
        }
    }
    return false;
}

static uint64_t index_of(const struct sim_row *row, uint32_t at)
{
    uint32_t first = at;
    while (first > 0 && row->cells[first - 1].family == row->cells[at].family &&
           bytes_equal(qualifier_of(&row->cells[first - 1]), qualifier_of(&row->cells[at]))) {
        first--;
    }
    return at - first;
}

bool sim_row_drops(const struct sim_row *row,
                   uint32_t at,
                   const struct table *schema,
                   int64_t now_us)
{
    const struct family *family = table_family_by_number(schema, row->cells[at].family);
    return family != NULL &&
           gc_rule_drops(&family->gc, index_of(row, at), row->cells[at].timestamp_us, now_us);
}

bool sim_row_write_block(const struct sim_row *row,
                         const struct table *schema,
                         int64_t now_us,
                         struct row_block_writer *writer)
{
    row_block_begin_row(writer, sim_row_key(row));
    for (uint32_t i = 0; i < row->cell_count; i++) {
        const struct sim_cell *cell = &row->cells[i];
        const struct family *family = table_family_by_number(schema, cell->family);
        if (family != NULL && !sim_row_drops(row, i, schema, now_us)) {
            row_block_add_cell(writer, family->name,
                               &(struct cell){.family = cell->family,
                                              .qualifier = qualifier_of(cell),
                                              .timestamp_us = cell->timestamp_us,
                                              .value = value_of(cell)});
        }
    }
    return row_block_end_row(writer);
}

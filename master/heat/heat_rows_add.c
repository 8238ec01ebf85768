/* Counts come in by ranges, and are shared out over the rows that these lie in. */
#include "common/base/memory.h"
#include "master/heat/heat_rows_parts.h"

#define FADING      16
#define SHARES_SOME 64

/* --- where a range lies ------------------------------------------------------------------------- */

/* How much of row index lies inside the range: of its width, and of its keys. */
static double overlap(const struct heat_rows *rows, size_t index, const struct row_range *range)
{
    struct row_range row = heat_rows_range(rows, index);
    double from = bytes_compare(range->start, row.start) <= 0
                      ? 0
                      : heat_rows_fraction(rows, &row, range->start);
    bool to_end = range->end.size_bytes == 0 ||
                  (row.end.size_bytes > 0 && bytes_compare(range->end, row.end) >= 0);
    double to = to_end ? 1 : heat_rows_fraction(rows, &row, range->end);
    return to > from ? to - from : 0;
}

/* Keys that are the same as far as they are kept: the range between them is one place. */
static bool is_cut_away(const struct row_range *range)
{
    return range->end.size_bytes > 0 && bytes_equal(range->start, range->end);
}

/* What of the range is here, and in which rows: from the first one, so many; 0 = none. */
static size_t place(struct heat_rows *rows,
                    const struct row_range *range,
                    struct row_range *ret_inside,
                    size_t *ret_first)
{
    const struct row_range all = {heat_row_key(rows->rows[0]),
                                  bytes_of(rows->end_bytes, rows->end_size)};
    size_t count = 0;

    if (is_cut_away(range) && row_range_contains(&all, range->start)) {
        *ret_inside = *range;
        *ret_first = heat_rows_find(rows, range->start);
        return 1;
    }
    if (!row_range_intersect(range, &all, ret_inside)) {
        return 0;
    }
    size_t first = heat_rows_find(rows, ret_inside->start);
    while (first + count < rows->count &&
           (count == 0 || ret_inside->end.size_bytes == 0 ||
            bytes_compare(heat_row_key(rows->rows[first + count]), ret_inside->end) < 0)) {
        count++;
    }
    *ret_first = first;
    return count;
}

/* By width; where nothing has any, by how much of each row is inside. */
static void share(const struct heat_rows *rows,
                  const struct row_range *inside,
                  size_t first,
                  size_t count,
                  double *ret_shares)
{
    double sum = 0;
    double parts = 0;

    if (count == 1) {
        ret_shares[0] = 1;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        bool at_an_end = i == 0 || i + 1 == count;
        ret_shares[i] = at_an_end ? overlap(rows, first + i, inside) : 1;
        parts += ret_shares[i];
        sum += ret_shares[i] * (double)rows->rows[first + i]->width;
    }
    for (size_t i = 0; i < count; i++) {
        ret_shares[i] = sum > 0     ? ret_shares[i] * (double)rows->rows[first + i]->width / sum
                        : parts > 0 ? ret_shares[i] / parts
                                    : 1 / (double)count;
    }
}

size_t heat_rows_shares(struct heat_rows *rows,
                        const struct row_range *range,
                        double *ret_shares,
                        size_t *ret_count)
{
    struct row_range inside;
    size_t first = 0;

    *ret_count = place(rows, range, &inside, &first);
    if (*ret_count > 0) {
        share(rows, &inside, first, *ret_count, ret_shares);
    }
    return first;
}

struct heat_values heat_rows_clip(const struct heat_rows *rows,
                                  const struct row_range *range,
                                  const struct heat_values *values)
{
    struct bytes start = heat_row_key(rows->rows[0]);
    struct bytes end = bytes_of(rows->end_bytes, rows->end_size);
    struct heat_values clipped = *values;
    double from = bytes_compare(range->start, start) >= 0 ? 0
                                                          : heat_rows_fraction(rows, range, start);
    bool to_end = end.size_bytes == 0 ||
                  (range->end.size_bytes > 0 && bytes_compare(range->end, end) <= 0);
    double to = to_end ? 1 : heat_rows_fraction(rows, range, end);

    if (from > 0 || to < 1) {
        double share = to > from ? to - from : 0;
        for (size_t i = 0; i < HEAT_VALUES; i++) {
            clipped.of[i] = heat_part(values->of[i], share);
        }
    }
    return clipped;
}

/* --- adding ------------------------------------------------------------------------------------- */

static void add_to_row(struct heat_rows *rows,
                       struct heat_row *row,
                       const struct heat_values *values)
{
    uint64_t cost = heat_cost(values);
    for (size_t i = 0; i < HEAT_VALUES; i++) {
        row->values.of[i] += values->of[i];
    }
    row->written += values->of[HEAT_WRITE_BYTES];
    row->recent += cost;
    rows->recent += cost;
}

/* What is left goes to the last one: nothing is lost in rounding. */
static void add_shared(struct heat_rows *rows,
                       size_t first,
                       const double *shares,
                       size_t count,
                       const struct heat_values *values)
{
    struct heat_values left = *values;
    for (size_t i = 0; i < count; i++) {
        struct heat_values part = left;
        for (size_t v = 0; v < HEAT_VALUES && i + 1 < count; v++) {
            uint64_t wanted = heat_part(values->of[v], shares[i]);
            part.of[v] = wanted < left.of[v] ? wanted : left.of[v];
            left.of[v] -= part.of[v];
        }
        add_to_row(rows, rows->rows[first + i], &part);
    }
}

void heat_rows_add(struct heat_rows *rows,
                   const struct row_range *range,
                   const struct heat_values *values)
{
    double some[SHARES_SOME];
    double *shares = some;
    struct row_range inside;
    size_t first = 0;
    size_t count = place(rows, range, &inside, &first);

    if (count > SHARES_SOME) {
        shares = memory_allocate(count * sizeof *shares);
    }
    if (shares == NULL) {
        some[0] = 1; /* all of it to the first: it is counted, if not where it was */
        add_shared(rows, first, some, 1, values);
        return;
    }
    if (count > 0) {
        share(rows, &inside, first, count, shares);
        add_shared(rows, first, shares, count, values);
    }
    if (shares != some) {
        memory_free(shares);
    }
}

void heat_rows_rest(struct heat_rows *rows)
{
    rows->recent = 0;
    for (size_t i = 0; i < rows->count; i++) {
        struct heat_row *row = rows->rows[i];
        uint64_t size_bytes = row->values.of[HEAT_SIZE_BYTES];
        row->values = (struct heat_values){0};
        row->values.of[HEAT_SIZE_BYTES] = size_bytes;
        row->recent -= row->recent / FADING;
        rows->recent += row->recent;
    }
}

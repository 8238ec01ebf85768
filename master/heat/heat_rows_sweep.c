/* Sizes: of tablets it is known, of rows only by where they lie and what was written there. */
#include "common/base/memory.h"
#include "master/heat/heat_rows_parts.h"

/* How much of a tablet's keys is in a row, as far as keys were named. */
static double part_of_tablet(const struct heat_rows *rows,
                             size_t index,
                             const struct row_range *tablet)
{
    struct row_range range = heat_rows_range(rows, index);
    double from = bytes_compare(range.start, tablet->start) <= 0
                      ? 0
                      : heat_rows_fraction(rows, tablet, range.start);
    double to = range.end.size_bytes == 0 ? 1 : heat_rows_fraction(rows, tablet, range.end);
    return to > from ? to - from : 0;
}

/* A tablet in a sweep: what its rows had before. */
struct swept {
    const struct row_range *tablet;
    double before;  /* bytes */
    double growth;  /* bytes since the last sweep */
    double written; /* bytes since then */
    double parts;   /* of its keys, in rows that had a size */
    size_t sized;   /* so many rows */
};

static struct swept look_at_tablet(const struct heat_rows *rows,
                                   const struct row_range *tablet,
                                   size_t first,
                                   size_t count,
                                   uint64_t size_bytes)
{
    struct swept swept = {.tablet = tablet};

    for (size_t i = first; i < first + count; i++) {
        uint64_t row_bytes = rows->rows[i]->values.of[HEAT_SIZE_BYTES];
        swept.before += (double)row_bytes;
        swept.written += (double)rows->rows[i]->written;
        swept.parts += row_bytes > 0 ? part_of_tablet(rows, i, tablet) : 0;
        swept.sized += row_bytes > 0;
    }
    swept.growth = (double)size_bytes > swept.before ? (double)size_bytes - swept.before : 0;
    return swept;
}

/* What a tablet has grown by since the last sweep has grown where was written; the first time it is even.
 * A row that had nothing lies where nobody had named a key when rows were given theirs: it is as dense as
 * the others.  It is no more than a mean row: a key far off that somebody asked for is not much. */
static double sweep_weight(const struct heat_rows *rows, size_t index, const struct swept *swept)
{
    const struct heat_row *row = rows->rows[index];
    double part = part_of_tablet(rows, index, swept->tablet);
    double had = (double)row->values.of[HEAT_SIZE_BYTES];

    if (swept->before <= 0) {
        return part;
    }
    double grown = swept->written > 0 ? swept->growth * (double)row->written / swept->written : 0;
    if (had > 0 || grown > 0) {
        return had + grown;
    }
    double mean = swept->before / (double)swept->sized;
    double dense = swept->parts > 0 ? swept->before * part / swept->parts : 0;
    return dense < mean ? dense : mean;
}

void heat_rows_sweep(struct heat_rows *rows, const struct row_range *range, uint64_t size_bytes)
{
    size_t count = 0;
    double sum = 0;
    uint64_t left = size_bytes;
    double *shares = memory_allocate(rows->count * sizeof *shares);

    if (shares == NULL) {
        return;
    }
    size_t first = heat_rows_shares(rows, range, shares, &count);
    const struct swept swept = look_at_tablet(rows, range, first, count, size_bytes);
    for (size_t i = 0; i < count; i++) {
        shares[i] = count == 1 ? 1 : sweep_weight(rows, first + i, &swept);
        sum += shares[i];
    }
    for (size_t i = 0; i < count; i++) {
        double share = sum > 0 ? shares[i] / sum : 1 / (double)count;
        uint64_t part = i + 1 == count ? left : heat_part(size_bytes, share);
        part = part < left ? part : left;
        rows->rows[first + i]->coming += part;
        left -= part;
    }
    memory_free(shares);
}

void heat_rows_sweep_end(struct heat_rows *rows)
{
    rows->width = 0;
    for (size_t i = 0; i < rows->count; i++) {
        struct heat_row *row = rows->rows[i];
        row->values.of[HEAT_SIZE_BYTES] = row->coming;
        row->width = row->coming;
        row->coming = 0;
        row->written = 0;
        rows->width += row->width;
    }
}

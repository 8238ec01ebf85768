#include "master/heat/heat_rows.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

#define STANDS_OUT  400  /* a row of more than this part of all cost may always be cut */
#define OPERATION   1000 /* cost of one, beside its ns of CPU time */
#define FADING      16
#define SHARES_SOME 64
#define NEAR        3

static uint64_t cost_of(const struct heat_values *values)
{
    return (values->of[HEAT_READS] + values->of[HEAT_WRITES]) * OPERATION +
           values->of[HEAT_READ_CPU_NS] + values->of[HEAT_WRITE_CPU_NS];
}

static struct bytes row_key(const struct heat_row *row)
{
    return bytes_of(row->key, row->key_bytes);
}

static struct heat_row *row_create(struct bytes key)
{
    struct heat_row *row = memory_allocate_zeroed(1, sizeof *row + key.size_bytes);
    if (row != NULL && key.size_bytes > 0) {
        memcpy(row->key, key.data, key.size_bytes);
    }
    if (row != NULL) {
        row->key_bytes = key.size_bytes;
    }
    return row;
}

/* --- life --------------------------------------------------------------------------------------- */

enum status heat_rows_init(struct heat_rows *rows, const struct row_range *range, size_t count_max)
{
    struct bytes end = heat_key_cut(range->end);
    struct bytes start = heat_key_cut(range->start);

    *rows = (struct heat_rows){
        .count_max = count_max < HEAT_ROWS_LEAST ? HEAT_ROWS_LEAST : count_max,
    };
    rows->rows = memory_allocate(sizeof(struct heat_row *));
    struct heat_row *first = row_create(start);
    if (rows->rows == NULL || first == NULL) {
        memory_free(first);
        memory_free(rows->rows);
        *rows = (struct heat_rows){0};
        return STATUS_NO_MEMORY;
    }
    rows->capacity = 1;
    rows->rows[0] = first;
    rows->count = 1;
    rows->size_bytes = sizeof *rows + sizeof *first + start.size_bytes;
    if (end.size_bytes > 0) {
        memcpy(rows->end_bytes, end.data, end.size_bytes);
    }
    rows->end_size = end.size_bytes;
    return STATUS_OK;
}

void heat_rows_deinit(struct heat_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        memory_free(rows->rows[i]);
    }
    memory_free(rows->rows);
    *rows = (struct heat_rows){0};
}

/* --- finding ------------------------------------------------------------------------------------ */

struct row_range heat_rows_range(const struct heat_rows *rows, size_t index)
{
    return (struct row_range){
        .start = row_key(rows->rows[index]),
        .end = index + 1 < rows->count ? row_key(rows->rows[index + 1])
                                       : bytes_of(rows->end_bytes, rows->end_size),
    };
}

static bool is_at(const struct heat_rows *rows, size_t index, struct bytes key)
{
    return (index == 0 || bytes_compare(row_key(rows->rows[index]), key) <= 0) &&
           (index + 1 == rows->count || bytes_compare(row_key(rows->rows[index + 1]), key) > 0);
}

size_t heat_rows_find(struct heat_rows *rows, struct bytes key)
{
    size_t low = 0;
    size_t high = rows->count;

    for (size_t i = rows->found; i < rows->count && i < rows->found + NEAR; i++) {
        if (is_at(rows, i, key)) {
            rows->found = i;
            return i;
        }
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (bytes_compare(row_key(rows->rows[middle]), key) <= 0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    rows->found = low;
    return low;
}

/* How far key is in a range; where an end is open, by the keys that anybody has named. */
static double fraction(const struct heat_rows *rows,
                       const struct row_range *range,
                       struct bytes key)
{
    struct bytes low = range->start;
    struct bytes high = range->end;

    if (low.size_bytes == 0) {
        low = bytes_of(rows->low, rows->low_bytes);
        if (!rows->has_low || bytes_compare(key, low) <= 0) {
            return 0;
        }
    }
    if (high.size_bytes == 0) {
        high = bytes_of(rows->high, rows->high_bytes);
        if (!rows->has_low || bytes_compare(key, high) >= 0) {
            return 1;
        }
    }
    return heat_key_fraction(low, high, key);
}

void heat_rows_name(struct heat_rows *rows, struct bytes key)
{
    key = heat_key_cut(key);
    if (key.size_bytes == 0) {
        return;
    }
    if (!rows->has_low || bytes_compare(key, bytes_of(rows->low, rows->low_bytes)) < 0) {
        memcpy(rows->low, key.data, key.size_bytes);
        rows->low_bytes = key.size_bytes;
    }
    if (!rows->has_low || bytes_compare(key, bytes_of(rows->high, rows->high_bytes)) > 0) {
        memcpy(rows->high, key.data, key.size_bytes);
        rows->high_bytes = key.size_bytes;
    }
    rows->has_low = true;
}

/* --- cutting ------------------------------------------------------------------------------------ */

static uint64_t part_of(uint64_t value, double share)
{
    uint64_t part = (uint64_t)((double)value * share + 0.5);
    return part > value ? value : part;
}

static void move_part(uint64_t *from, uint64_t *to, double share)
{
    uint64_t part = part_of(*from, share);
    *from -= part;
    *to += part;
}

/* The right part of left's goes to right. */
static void share_out(struct heat_row *left, struct heat_row *right, double right_share)
{
    for (size_t i = 0; i < HEAT_VALUES; i++) {
        move_part(&left->values.of[i], &right->values.of[i], right_share);
    }
    move_part(&left->width, &right->width, right_share);
    move_part(&left->recent, &right->recent, right_share);
    move_part(&left->coming, &right->coming, right_share);
    move_part(&left->written, &right->written, right_share);
}

static bool has_room(struct heat_rows *rows)
{
    if (rows->count < rows->capacity) {
        return true;
    }
    size_t capacity = rows->capacity * 2;
    struct heat_row **grown = memory_resize(rows->rows, capacity * sizeof *grown);
    if (grown != NULL) {
        rows->rows = grown;
        rows->size_bytes += (capacity - rows->capacity) * sizeof *grown;
        rows->capacity = capacity;
    }
    return grown != NULL;
}

static bool may_cut(const struct heat_rows *rows, const struct heat_row *row)
{
    return rows->count <= rows->count_max / 2 || row->recent > rows->recent / STANDS_OUT;
}

void heat_rows_cut(struct heat_rows *rows, struct bytes key)
{
    key = heat_key_cut(key);
    size_t index = heat_rows_find(rows, key);
    struct row_range range = heat_rows_range(rows, index);

    if (bytes_compare(key, range.start) <= 0 ||
        (range.end.size_bytes > 0 && bytes_compare(key, range.end) >= 0)) {
        return;
    }
    heat_rows_name(rows, key);
    if (!may_cut(rows, rows->rows[index])) {
        return;
    }
    if (rows->count >= rows->count_max) {
        heat_rows_join(rows, rows->count_max / 4 * 3);
        index = heat_rows_find(rows, key);
        range = heat_rows_range(rows, index);
        if (bytes_equal(key, range.start)) {
            return;
        }
    }
    struct heat_row *right = has_room(rows) ? row_create(key) : NULL;
    if (right == NULL) {
        return;
    }
    share_out(rows->rows[index], right, 1 - fraction(rows, &range, key));
    memmove(&rows->rows[index + 2], &rows->rows[index + 1],
            (rows->count - index - 1) * sizeof(struct heat_row *));
    rows->rows[index + 1] = right;
    rows->count += 1;
    rows->size_bytes += sizeof *right + key.size_bytes;
}

/* --- adding ------------------------------------------------------------------------------------- */

/* How much of row index lies inside the range: of its width, and of its keys. */
static double overlap(const struct heat_rows *rows, size_t index, const struct row_range *range)
{
    struct row_range row = heat_rows_range(rows, index);
    double from = bytes_compare(range->start, row.start) <= 0 ? 0
                                                              : fraction(rows, &row, range->start);
    bool to_end = range->end.size_bytes == 0 ||
                  (row.end.size_bytes > 0 && bytes_compare(range->end, row.end) >= 0);
    double to = to_end ? 1 : fraction(rows, &row, range->end);
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
    const struct row_range all = {row_key(rows->rows[0]),
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
            bytes_compare(row_key(rows->rows[first + count]), ret_inside->end) < 0)) {
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
    struct bytes start = row_key(rows->rows[0]);
    struct bytes end = bytes_of(rows->end_bytes, rows->end_size);
    struct heat_values clipped = *values;
    double from = bytes_compare(range->start, start) >= 0 ? 0 : fraction(rows, range, start);
    bool to_end = end.size_bytes == 0 ||
                  (range->end.size_bytes > 0 && bytes_compare(range->end, end) <= 0);
    double to = to_end ? 1 : fraction(rows, range, end);

    if (from > 0 || to < 1) {
        double share = to > from ? to - from : 0;
        for (size_t i = 0; i < HEAT_VALUES; i++) {
            clipped.of[i] = part_of(values->of[i], share);
        }
    }
    return clipped;
}

static void add_to_row(struct heat_rows *rows,
                       struct heat_row *row,
                       const struct heat_values *values)
{
    uint64_t cost = cost_of(values);
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
            uint64_t wanted = part_of(values->of[v], shares[i]);
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

/* --- joining ------------------------------------------------------------------------------------ */

static void join_next(struct heat_rows *rows, struct heat_row *row, struct heat_row *next)
{
    for (size_t i = 0; i < HEAT_VALUES; i++) {
        row->values.of[i] += next->values.of[i];
    }
    row->width += next->width;
    row->recent += next->recent;
    row->coming += next->coming;
    row->written += next->written;
    rows->size_bytes -= sizeof *next + next->key_bytes;
    memory_free(next);
}

static bool is_load_of_nothing(const struct heat_row *row)
{
    return row->width == 0 && cost_of(&row->values) > 0;
}

/* How much a row made of both would stand out. */
static double weight_of_both(const struct heat_rows *rows, size_t index)
{
    const struct heat_row *a = rows->rows[index];
    const struct heat_row *b = rows->rows[index + 1];
    double weight = 0;

    if (rows->recent > 0) {
        weight += (double)(a->recent + b->recent) / (double)rows->recent;
    }
    if (rows->width > 0) {
        weight += (double)(a->width + b->width) / (double)rows->width;
    }
    return weight;
}

/* One walk: neighbours that are not above the threshold become one, as many as are too many. */
static void join_below(struct heat_rows *rows, double threshold, size_t count_max)
{
    size_t kept = 0;
    size_t at = 0;
    size_t too_many = rows->count - count_max;

    while (at < rows->count) {
        bool joins = too_many > 0 && at + 1 < rows->count && weight_of_both(rows, at) <= threshold;
        struct heat_row *row = rows->rows[at];
        if (joins) {
            join_next(rows, row, rows->rows[at + 1]);
            too_many -= 1;
        }
        at += joins ? 2 : 1;
        rows->rows[kept++] = row;
    }
    rows->count = kept;
    rows->found = 0;
}

void heat_rows_join(struct heat_rows *rows, size_t count_max)
{
    double threshold = 0;

    count_max = count_max == 0 ? 1 : count_max;
    rows->recent = 0;
    rows->width = 0;
    for (size_t i = 0; i < rows->count; i++) {
        rows->recent += rows->rows[i]->recent;
        rows->width += rows->rows[i]->width;
    }
    /* All pairs together weigh at most 4: there is always one below the mean, and it doubles. */
    while (rows->count > count_max) {
        join_below(rows, threshold, count_max);
        threshold = threshold > 0 ? threshold * 1.5 : 0.05 / (double)count_max;
    }
}

/* Beyond the lowest and the highest key that were named, of samples, there are some more: as dense as those
 * beside them, and no more than a mean row. */
static void size_like(struct heat_row *edge, const struct heat_row *next, uint64_t mean)
{
    uint64_t cost = cost_of(&next->values);

    if (is_load_of_nothing(edge) && cost > 0) {
        double dense = (double)next->width * ((double)cost_of(&edge->values) / (double)cost);
        edge->width = dense < (double)mean ? (uint64_t)dense : mean;
    }
}

void heat_rows_join_unsized(struct heat_rows *rows)
{
    size_t kept = 0;
    uint64_t width = 0;
    size_t last = rows->count - 1;

    for (size_t i = 0; i < rows->count; i++) {
        width += rows->rows[i]->width;
    }
    if (width == 0) {
        return;
    }
    if (last > 0) {
        size_like(rows->rows[0], rows->rows[1], width / rows->count);
        size_like(rows->rows[last], rows->rows[last - 1], width / rows->count);
    }
    for (size_t at = 1; at < rows->count; at++) {
        if (is_load_of_nothing(rows->rows[kept])) {
            join_next(rows, rows->rows[kept], rows->rows[at]);
        } else {
            rows->rows[++kept] = rows->rows[at];
        }
    }
    for (; kept > 0 && is_load_of_nothing(rows->rows[kept]); kept--) {
        join_next(rows, rows->rows[kept - 1], rows->rows[kept]);
    }
    rows->count = kept + 1;
    rows->found = 0;
}

/* --- sizes -------------------------------------------------------------------------------------- */

/* How much of a tablet's keys is in a row, as far as keys were named. */
static double part_of_tablet(const struct heat_rows *rows,
                             size_t index,
                             const struct row_range *tablet)
{
    struct row_range range = heat_rows_range(rows, index);
    double from = bytes_compare(range.start, tablet->start) <= 0
                      ? 0
                      : fraction(rows, tablet, range.start);
    double to = range.end.size_bytes == 0 ? 1 : fraction(rows, tablet, range.end);
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
        uint64_t part = i + 1 == count ? left : part_of(size_bytes, share);
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

void heat_rows_check(const struct heat_rows *rows)
{
    ASSERT(rows->count > 0 && rows->count <= rows->capacity && rows->count <= rows->count_max);
    for (size_t i = 1; i < rows->count; i++) {
        ASSERT(bytes_compare(row_key(rows->rows[i - 1]), row_key(rows->rows[i])) < 0);
    }
}

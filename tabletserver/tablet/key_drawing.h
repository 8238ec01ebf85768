/*
 * Rows with weights, of which as many are drawn as there is room for.
 *
 * Systematic resampling: along the ordered list, one is drawn every so many units of weight from a random start,
 * and weighs then as much as was passed over for it.
 *
 *     weights   |----a----|-b-|c|------d------|---e---|
 *     drawn          ^          ^          ^                a, c and d
 *
 * So every row is drawn by its share, and those that are drawn lie along the load as evenly as they can.
 *
 *     struct key_drawing drawing = {.to = &spare, .rows_max = ...};
 *     if (key_drawing_begin(&drawing, &old, factor, fresh, fresh_count, &prng)) {
 *         key_drawing_add(&drawing, row);                 each of old, decayed, and of fresh, in order
 *         sampled_rows_swap(&old, &spare);
 *     }
 *
 * Thread rule: one owner.  Pure.
 */
#ifndef TABLETSERVER_TABLET_KEY_DRAWING_H
#define TABLETSERVER_TABLET_KEY_DRAWING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/prng.h"
#include "common/base/status.h"

#define KEY_DRAWING_BYTES_MAX ((size_t)64 * 1024) /* of the keys of one list */

/* A row that was touched, or a scan from one row to another; and how many operations it stands for. */
struct sampled_row {
    struct bytes row;
    struct bytes end; /* of a scan: its last row; else empty */
    double reads;     /* of a scan: how many scans */
    double writes;
};

/* A list of rows, in ascending order and each once; or of scans, in any order. */
struct sampled_rows {
    struct sampled_row *rows;
    uint32_t count;
    struct buffer keys; /* holds their bytes; never grows while rows point into it */
};

static inline double sampled_row_weight(const struct sampled_row *row)
{
    return row->reads + row->writes;
}

/* The same row with so much of its weights. */
static inline struct sampled_row sampled_row_decayed(struct sampled_row row, double factor)
{
    row.reads *= factor;
    row.writes *= factor;
    return row;
}

/* An empty list with room for rows_max rows.  Errors: STATUS_NO_MEMORY. */
enum status sampled_rows_init(struct sampled_rows *list, size_t rows_max);
void sampled_rows_deinit(struct sampled_rows *list); /* zeroed is fine */
void sampled_rows_swap(struct sampled_rows *a, struct sampled_rows *b);

/* A list that is being made of another one and of new rows. */
struct key_drawing {
    struct sampled_rows *to;
    size_t rows_max;   /* there is room for in it */
    double step;       /* one is drawn every so many units of weight; 0 = all are taken */
    double until;      /* the next draw: so much weight lies before it */
    double done;       /* weight that was passed so far */
    double negligible; /* rows of this weight or less are left out */
};

/* Look at both lists, of whose old one only `factor` is left of each weight, and decide how many are drawn: all,
 * unless that is too many rows or too many bytes.  `to` is empty then, with room for their keys.  False without
 * memory. */
bool key_drawing_begin(struct key_drawing *drawing,
                       const struct sampled_rows *old,
                       double factor,
                       const struct sampled_row *fresh,
                       size_t fresh_count,
                       struct prng *prng);

/* The next row, in order.  If it is drawn, it is copied to the end of `to`, with the weight of as many draws as fell
 * on it. */
void key_drawing_add(struct key_drawing *drawing, struct sampled_row row);

#endif /* TABLETSERVER_TABLET_KEY_DRAWING_H */

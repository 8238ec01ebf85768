/*
 * The shape of row keys, as far as rows show it: fields between separators, and the one by which rows differ.
 *
 *    BATTERY#20150301124501001     front 'BATTERY#', a date, nothing behind it
 *    20170726#0000987654           no front, a date, something behind it
 *    NASDAQ#ZXZZT#1426535612156    front 'NASDAQ#ZXZZT#', a time
 *
 * Rows may be cut, as those of load details are: what is cut off is not seen.  It is a guess by looks: a number
 * that could be a date is one.
 *
 * Thread rule: any; functions of their arguments.  Pure.
 */
#ifndef MASTER_PLACEMENT_KEY_SHAPE_H
#define MASTER_PLACEMENT_KEY_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/bytes.h"

enum key_field {
    KEY_FIELD_TEXT,
    KEY_FIELD_DATE,   /* 20150301..., 2015-03-01... */
    KEY_FIELD_EPOCH,  /* since 1970, in seconds or less */
    KEY_FIELD_NUMBER, /* digits, or a word that ends in digits */
    KEY_FIELD_BYTES,  /* not printable */
};

struct key_shape {
    bool known;          /* false: the rows say nothing */
    struct bytes front;  /* whole fields that all rows begin with, and their separators */
    struct bytes field;  /* of one row, behind that: a time, or where rows differ */
    enum key_field kind; /* of the field */
    char separator;      /* '#' where none is seen */
    bool more;           /* another field stands behind it */
};

/* The first time in the rows' keys; where there is none, the first field by which they differ.  Parts are the
 * rows'. */
struct key_shape key_shape_of(const struct bytes *rows, size_t count);

/* What another row of the same form begins with: as many fields in front, and behind them a field of the same kind.
 * False: it is of another form, as far as it is seen, or the form is not known. */
bool key_shape_front_of(const struct key_shape *shape, struct bytes row, struct bytes *ret_front);

static inline bool key_shape_is_time(const struct key_shape *shape)
{
    return shape->known && (shape->kind == KEY_FIELD_DATE || shape->kind == KEY_FIELD_EPOCH);
}

#endif /* MASTER_PLACEMENT_KEY_SHAPE_H */

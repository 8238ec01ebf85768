/*
 * A column of a heat map: what was counted in rows of one table in a stretch of time, packed.
 *
 *   rows: { keys in common with the row before : varint, more bytes : varint, bytes,
 *           which values there are : varint, a bit each, lowest first; each of them : varint }
 *
 * The first row's key is empty: a column is about the whole key space.  Neighbours in which nothing was
 * counted are packed as one.  This is how columns lie in memory, and in the file.
 *
 * Pure.  Thread rule: one owner.
 */
#ifndef MASTER_HEAT_HEAT_COLUMN_H
#define MASTER_HEAT_HEAT_COLUMN_H

#include "common/base/error.h"
#include "master/heat/heat_rows.h"

#define HEAT_COLUMN_BYTES_MAX (4 * 1024 * 1024) /* of a packed one; longer ones are not believed */

struct heat_column {
    int64_t start_us;
    int64_t end_us;
    bool stored; /* is in the file as it is here */
    size_t packed_bytes;
    uint8_t packed[];
};

/* NULL without memory. */
struct heat_column *heat_column_pack(const struct heat_rows *rows,
                                     int64_t start_us,
                                     int64_t end_us);

/* From the file.  Errors: STATUS_CORRUPT, STATUS_NO_MEMORY. */
enum status heat_column_unpack(struct bytes packed,
                               int64_t start_us,
                               int64_t end_us,
                               struct heat_column **ret_column);

void heat_column_destroy(struct heat_column *column); /* NULL is fine */
size_t heat_column_size_bytes(const struct heat_column *column);

/* A walk over the rows, in order. */
struct heat_walk {
    const uint8_t *at;
    const uint8_t *end;
    bool broken;            /* it ended where it should not */
    struct row_range range; /* of the row; good until the next */
    struct heat_values values;
    uint8_t keys[2][HEAT_KEY_BYTES_MAX];
    size_t key_bytes[2];
    unsigned which; /* of keys: the row's start; the other is its end */
    bool ended;
};

void heat_walk_begin(struct heat_walk *walk, struct bytes packed);
/* False: there is no other one. */
bool heat_walk_next(struct heat_walk *walk);

/* Add all that a column has; sizes and widths become those of the column. */
void heat_column_add_to(const struct heat_column *column, struct heat_rows *rows);

#endif /* MASTER_HEAT_HEAT_COLUMN_H */

/*
 * Positions of cells as byte strings that sort as the cells do.
 *
 *   key       = row'                                  the first chunk of a row
 *             | row' 00 family'                       from the family's start on
 *             | row' 00 family' qualifier'            from the start of the first column >= it on
 *             | row' 00 family' qualifier' 00 time'   from that very cell on
 *   row', qualifier'   00 -> 01 01, 01 -> 01 02, every other byte itself: no 00 inside, so that one
 *                      00 ends them and sorts before anything longer
 *   family'            1 byte below F0; F0 + n, then n bytes big-endian above
 *   time'              8 bytes big-endian of ~(timestamp with its sign flipped): newest first
 *
 * Every key is the lower bound of an interval, so a key may be cut to the shortest that still
 * parts its chunk from the one before (base_key_append_between).
 *
 * Keys here may be of any length; base_walk.h lays them over the file's short ones.
 *
 * Thread rule: pure functions; any thread.
 */
#ifndef TABLETSERVER_STORAGE_BASE_BASE_KEY_H
#define TABLETSERVER_STORAGE_BASE_BASE_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/bytes.h"

/* A place in a row: before every cell at or after it.  timestamp_us INT64_MAX = column's start. */
struct base_position {
    uint32_t family; /* 0 = the row's start */
    struct bytes qualifier;
    int64_t timestamp_us;
};

#define BASE_POSITION_ROW_START ((struct base_position){0, {NULL, 0}, INT64_MAX})

int base_position_compare(const struct base_position *a, const struct base_position *b);

void base_key_append_row(struct buffer *key, struct bytes row);

/* What follows row' in the key of a position, in full; nothing for the row's start. */
void base_key_append_position(struct buffer *key, const struct base_position *position);

/* The same, as short as parts `before` (a cell) from `position` (a later cell of the row). */
void base_key_append_between(struct buffer *key,
                             const struct base_position *before,
                             const struct base_position *position);

/* row' of a key. */
struct bytes base_key_row(struct bytes key);

/* Undo the escapes: *ret_bytes is escaped itself where it has none, else it is in out, which is
 * reset first.  False for what no escape could have made, or (out->failed) without memory. */
bool base_key_unescape(struct bytes escaped, struct buffer *out, struct bytes *ret_bytes);

/* The position of a key; its qualifier is in the key or in out.  False as above. */
bool base_key_position(struct bytes key, struct buffer *out, struct base_position *ret_position);

/* The same, appended to out.  On false, what was appended is of no meaning. */
bool base_key_append_unescaped(struct buffer *out, struct bytes escaped);

/* The parts, for other keys that sort alike (base_tombstone.h). */
void base_key_append_escaped(struct buffer *key, struct bytes bytes);
void base_key_append_family(struct buffer *key, uint32_t family);
void base_key_append_time(struct buffer *key, int64_t timestamp_us);
/* Each takes what it reads off the front of *rest; false when it is not there. */
bool base_key_take_family(struct bytes *rest, uint32_t *ret_family);
bool base_key_take_escaped(struct bytes *rest, struct bytes *ret_escaped);
bool base_key_take_time(struct bytes *rest, int64_t *ret_timestamp_us);

#endif /* TABLETSERVER_STORAGE_BASE_BASE_KEY_H */

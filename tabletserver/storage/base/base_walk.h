/*
 * Keys of any length, in order, over a file whose keys end at 511 bytes.
 *
 * As in Masstree, a long key is cut into slices, of 400 bytes in the top layer, of 200 below:
 *
 *   shorter than a slice   stored as it is
 *   a slice or longer      the slice names a LINK in this layer, whose value is the number of the
 *                          SUBLAYER where the rest of the key is stored by the same rule
 *
 * Keys that begin with the same slice lie side by side in the order, so a sublayer stands for
 * exactly the keys at its link.  A walk remembers the path of links to where it stands: a million
 * rows below one long prefix cost one look at the path, then plain cursor steps in a sublayer.
 * Readers come to a path that was read before without reading it again (base_links.h).
 *
 * A link that is damaged BARS the way to all keys that begin with its slice, and to no other.  A walk that comes by
 * stands on it as on a record, and can go on; one that would have to go through fails.  Either way `barred` is set, and
 * `key` is what all keys begin with that it leads to.
 *
 *   stored key   space (DATA, DELETE, SAMPLE), extent, slice or short key       the top layer
 *                LAYER, extent, sublayer number (8 bytes), slice or short key   the others
 *   link         BASE_FORMAT_LINK, checksum (4), sublayer number (8), little-endian
 *
 * Thread rule: one thread at a time, that of its transaction.
 */
#ifndef TABLETSERVER_STORAGE_BASE_BASE_WALK_H
#define TABLETSERVER_STORAGE_BASE_BASE_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "tabletserver/storage/base/base_store.h"

#define BASE_SLICE_BYTES    400 /* in the top layer: most keys are shorter and pay nothing */
#define BASE_SUBSLICE_BYTES 200 /* below: what is left over stands in every key of the sublayer */
#define BASE_DEPTH_MAX      256 /* a row and a qualifier of the greatest length, all escaped: 204 */

struct base_walk {
    struct base_store store;
    struct kv_cursor *cursor;
    enum base_space space;
    uint64_t extent;
    uint32_t depth;       /* of the layer that it stands in; 0 = top */
    uint64_t layer_moves; /* while it is the same, so is the path */
    struct buffer path;   /* slices, then the rest of the key stood on */

    /* Where it stands, good until the next call (or put) below. */
    bool found;
    bool barred; /* by a link: nothing is known of what is behind it */
    struct bytes key;
    struct bytes row; /* row' of the key: up to its first 00 */
    struct bytes value;
    struct bytes stored_key;

    /* For writers. */
    uint64_t *number_next; /* gives numbers for sublayers */
    int64_t delta_bytes;   /* net change of stored bytes by puts and deletes */
    bool met_bar;          /* it was barred at some time since it was opened */

    /* From here on nothing is read before it was written: opening leaves it as it is. */
    uint64_t numbers[BASE_DEPTH_MAX];         /* of the sublayers on the path */
    uint32_t row_bytes_known[BASE_DEPTH_MAX]; /* of row' in the slices up to there */
    uint8_t stored[KV_KEY_BYTES_MAX];         /* the stored key last looked for */
};

/* Of all slices on a path of this depth. */
static inline size_t base_path_bytes(uint32_t depth)
{
    return depth == 0 ? 0 : BASE_SLICE_BYTES + (size_t)(depth - 1) * BASE_SUBSLICE_BYTES;
}

/* Errors: STATUS_NO_MEMORY. */
enum status base_walk_open(struct base_walk *walk,
                           const struct base_store *store,
                           enum base_space space);
void base_walk_close(struct base_walk *walk); /* also one that is all zero */

/* Go over to another extent; stands nowhere then. */
void base_walk_set_extent(struct base_walk *walk, uint64_t extent);

/* Moves; afterwards `found` tells.  base_walk_previous() from nowhere goes to the last key.
 * Errors: STATUS_CORRUPT (a link on the way to the key that is sought: barred, and it stands nowhere; or the file
 * itself), STATUS_NO_MEMORY, STATUS_IO. */
enum status base_walk_seek(struct base_walk *walk, struct bytes key); /* first key >= key */
enum status base_walk_next(struct base_walk *walk);
enum status base_walk_previous(struct base_walk *walk);

/* The stored key under which key is or would be; good until the next call.  Makes the sublayers
 * when `create`; otherwise *ret_found tells whether they are there.  For writers. */
enum status base_walk_resolve(struct base_walk *walk,
                              struct bytes key,
                              bool create,
                              struct bytes *ret_stored_key,
                              bool *ret_found);

/* Put a record under a stored key just resolved; it replaces one of replaced_bytes (key and value;
 * 0 = none).  The walk stands nowhere then.  Errors: as kv_write_put(). */
enum status base_walk_put(struct base_walk *walk,
                          struct bytes stored_key,
                          struct bytes value,
                          size_t replaced_bytes);

/* Delete key, whose value has value_bytes, and the sublayers that this leaves empty.  key must not
 * be memory of the file or of this walk.  The walk stands nowhere then. */
enum status base_walk_delete(struct base_walk *walk, struct bytes key, size_t value_bytes);

/* Do all keys that the damaged link leads to belong to rows in [start, end)?  Both are row'; an empty end is open. */
bool base_walk_bars_only(const struct base_walk *walk, struct bytes start, struct bytes end);

/* Delete the damaged link that bars the walk, and links to sublayers that this leaves empty.  The walk stands nowhere
 * then.  The sublayer that it led to stays in the file, out of reach, until its extent is erased as a whole: so whoever
 * remembers paths must not any more (base_links_distrust()). */
enum status base_walk_erase_bar(struct base_walk *walk);

/* How many bytes of a key its stored key has, with what names its layer. */
static inline size_t base_walk_stored_bytes(size_t key_bytes)
{
    return key_bytes < BASE_SLICE_BYTES ? BASE_EXTENT_PREFIX_BYTES + key_bytes
                                        : BASE_EXTENT_PREFIX_BYTES + 8 +
                                              (key_bytes - BASE_SLICE_BYTES) % BASE_SUBSLICE_BYTES;
}

/* Check a link read from the file. */
enum status base_link_check(struct bytes stored_key, struct bytes value, uint64_t *ret_number);

/* Are two row' equal?  They mostly differ at their ends, behind long shared prefixes. */
static inline bool base_row_key_equal(struct bytes a, struct bytes b)
{
    return a.size_bytes == b.size_bytes && a.size_bytes > 0 &&
           a.data[a.size_bytes - 1] == b.data[b.size_bytes - 1] && bytes_equal(a, b);
}

#endif /* TABLETSERVER_STORAGE_BASE_BASE_WALK_H */

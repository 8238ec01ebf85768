/*
 * Stored tombstones: deletes that touch too many chunks to be applied at once.
 *
 *   key    row'                                          ROW_DELETE
 *          row' 00 family'                               FAMILY_DELETE
 *          row' 00 family' qualifier' 00 start' end'     COLUMN_DELETE (times, newest first)
 *   value  BASE_FORMAT_TOMBSTONE, checksum (4) seeded with the stored key, stamp: clock (8),
 *          cluster, index (varints)
 *
 * So they lie in the order in which a layer yields them.  There are few as a rule: one per delete of
 * more than BASE_DELETE_CHUNKS_MAX chunks, until the sweep has been there.  Who drops the old end of
 * a long column each second makes thousands, so nothing here goes through them for each cell.
 *
 * Thread rule: that of the walk's transaction.
 */
#ifndef TABLETSERVER_STORAGE_BASE_BASE_TOMBSTONE_H
#define TABLETSERVER_STORAGE_BASE_BASE_TOMBSTONE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "tabletserver/storage/base/base_walk.h"
#include "tabletserver/storage/base/chunk.h"
#include "tabletserver/storage/rows/delete_cover.h"
#include "tabletserver/storage/rows/entry.h"

#define BASE_TOMBSTONE_VALUE_BYTES_MAX 24

/* The tombstones of one row, in order: entries of the three kinds of delete. */
struct base_tombstones {
    struct arena arena; /* qualifiers */
    struct entry *entries;
    size_t count;
    size_t capacity;
    struct stamp youngest; /* STAMP_OLDEST where there are none */
    /* Those that cover one column, put together when a cell of it was asked about. */
    struct delete_cover cover;
    bool has_cover;
    uint32_t cover_family;
    struct buffer cover_qualifier;
};

void base_tombstones_init(struct base_tombstones *tombstones);
void base_tombstones_deinit(struct base_tombstones *tombstones);
void base_tombstones_reset(struct base_tombstones *tombstones);

/* Is it there already, as young or younger? */
bool base_tombstones_have(const struct base_tombstones *tombstones, const struct entry *tombstone);

/* Insert in order, in the place of an older one of the same; the qualifier is copied.  Errors:
 * STATUS_NO_MEMORY. */
enum status base_tombstones_add(struct base_tombstones *tombstones, const struct entry *tombstone);

/* Does a delete with a larger stamp than the cell's cover it?  Fast for many cells of one column after
 * the other. */
bool base_tombstones_kill(struct base_tombstones *tombstones,
                          const struct chunk_cell *cell,
                          struct stamp stamp);

/* The same for one delete. */
bool base_tombstone_kills(const struct entry *tombstone,
                          const struct chunk_cell *cell,
                          struct stamp stamp);

void base_tombstone_append_key(struct buffer *key, struct bytes row, const struct entry *tombstone);
size_t base_tombstone_encode(struct bytes stored_key,
                             struct stamp stamp,
                             uint8_t value[BASE_TOMBSTONE_VALUE_BYTES_MAX]);
/* Check a record as read from the file, without its key.  Errors: STATUS_CORRUPT. */
enum status base_tombstone_check(struct bytes stored_key,
                                 struct bytes value,
                                 struct stamp *ret_stamp);
/* The qualifier is in key or out.  Errors: STATUS_CORRUPT, STATUS_NO_MEMORY. */
enum status base_tombstone_decode(struct bytes key,
                                  struct bytes stored_key,
                                  struct bytes value,
                                  struct buffer *out,
                                  struct entry *ret_tombstone);

/* Finds rows that have tombstones, and remembers a range that has none: nearly always all. */
struct base_tombstone_finder {
    struct base_walk walk;
    bool gap_known;
    struct buffer gap_start; /* row' */
    bool gap_has_end;
    struct buffer gap_end; /* row' of the next row with tombstones */
    struct buffer qualifier;
};

enum status base_tombstone_finder_open(struct base_tombstone_finder *finder,
                                       const struct base_store *store);
void base_tombstone_finder_close(struct base_tombstone_finder *finder);
/* After another extent or a change of tombstones. */
void base_tombstone_finder_forget(struct base_tombstone_finder *finder, uint64_t extent);

/* The first row' >= row_key that has tombstones; good until the next call.  Where a link is damaged that is what all
 * rows behind it begin with: to load them fails. */
enum status base_tombstone_find(struct base_tombstone_finder *finder,
                                struct bytes row_key,
                                struct bytes *ret_row_key,
                                bool *ret_found);
/* The last row' < row_key (has_row false: the last of all) that has some. */
enum status base_tombstone_find_before(struct base_tombstone_finder *finder,
                                       bool has_row,
                                       struct bytes row_key,
                                       struct bytes *ret_row_key,
                                       bool *ret_found);
/* All of one row into tombstones, which are reset first. */
enum status base_tombstone_load(struct base_tombstone_finder *finder,
                                struct bytes row_key,
                                struct base_tombstones *tombstones);
/* Delete all of one row, damaged ones too.  Errors: STATUS_CORRUPT (a link that leads to them, barred). */
enum status base_tombstone_erase(struct base_tombstone_finder *finder, struct bytes row_key);

#endif /* TABLETSERVER_STORAGE_BASE_BASE_TOMBSTONE_H */

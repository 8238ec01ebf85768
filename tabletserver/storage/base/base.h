/*
 * The base: a tablet's flushed data in an ordered key-value file (LMDB in production).
 *
 * One base serves a whole store.  Its key space is cut into EXTENTS, numbered and never reused; a
 * tablet is a list of pieces (row range -> extent), so a split shares an extent and moves nothing.
 * Row keys up to 4 KiB and qualifiers up to 16 KiB are kept in order although the file's keys end
 * at 511 bytes: long keys are layered, prefix -> sublayer number, as in Masstree.  Cells of a row
 * are packed in checksummed chunks of up to 806 bytes, key included; values that fit none are cut
 * into pieces.  docs/storage-format.md has the bytes.
 *
 *   keys           what
 *   meta           whatever the store keeps beside the data (tablets, applied maps, dedupe records)
 *   extent/data    row, family, qualifier, descending timestamp -> chunk
 *   extent/delete  tombstones that could not be applied at once
 *   extent/layer   long keys' sublayers
 *   extent/sample  marks on some chunks, for estimates
 *   piece          pieces of large values
 *
 * The writer takes entries in order and merges them into the chunks that they touch.  A delete is
 * applied on the spot when it touches few chunks; otherwise a tombstone is stored, and a sweep
 * (base_sweep_step) erases what it covers and then the tombstone, in paced steps.
 *
 * Thread rules: a snapshot and its cursors belong to one thread at a time; the writer to the one
 * thread that began it; struct base itself may be used from any thread.
 */
#ifndef TABLETSERVER_STORAGE_BASE_BASE_H
#define TABLETSERVER_STORAGE_BASE_BASE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/io/kv/kv.h"
#include "common/model/row_set.h"
#include "tabletserver/storage/rows/entry.h"

#define BASE_META_KEY_BYTES_MAX 256

struct base;
struct base_snapshot;
struct base_writer;

/* Rows in range live in extent. */
struct base_piece {
    struct row_range range;
    uint64_t extent;
};

/* kv is borrowed and outlives the base.  Checks the format version stored in it, or writes it when
 * the file is empty.  Errors: STATUS_VERSION, STATUS_CORRUPT, STATUS_IO, STATUS_NO_SPACE. */
enum status base_open(struct kv *kv, struct base **ret_base, struct error *ret_error);
void base_close(struct base *base);

/* --- reading ---------------------------------------------------------------------------------- */

enum status base_snapshot_begin(struct base *base, struct base_snapshot **ret_snapshot);
void base_snapshot_end(struct base_snapshot *snapshot);

/* A layer cursor over pieces (ascending, disjoint; borrowed until closed).  Checksums are verified
 * as chunks are read: STATUS_CORRUPT names nothing; base_snapshot_trouble() has extent and key. */
enum status base_cursor_open(struct base_snapshot *snapshot,
                             const struct base_piece *pieces,
                             uint32_t piece_count,
                             struct layer_cursor **ret_cursor);

/* The text for the last STATUS_CORRUPT that a cursor of this snapshot returned. */
const char *base_snapshot_trouble(const struct base_snapshot *snapshot);

enum status base_meta_get(struct base_snapshot *snapshot,
                          struct bytes key,
                          struct bytes *ret_value,
                          bool *ret_found);
/* The first meta key >= key that starts with prefix. */
enum status base_meta_seek(struct base_snapshot *snapshot,
                           struct bytes prefix,
                           struct bytes key,
                           struct bytes *ret_key,
                           struct bytes *ret_value,
                           bool *ret_found);

/* A row key that cuts the stored bytes of the pieces about in half, found by sampling, strictly
 * inside (first row, last row]; *ret_found false when there are fewer than two rows.
 * Appends the key to row (reset first). */
enum status base_middle_row(struct base_snapshot *snapshot,
                            const struct base_piece *pieces,
                            uint32_t piece_count,
                            struct buffer *row,
                            bool *ret_found);

/* Stored bytes of the pieces, estimated by sampling within a small bounded time. */
enum status base_estimate_bytes(struct base_snapshot *snapshot,
                                const struct base_piece *pieces,
                                uint32_t piece_count,
                                uint64_t *ret_bytes);

/* A row, and the stored bytes of the pieces before it. */
struct base_row_sample {
    struct bytes row;
    uint64_t offset_bytes;
};

struct base_row_samples {
    struct base_row_sample *samples; /* the caller's, of count_max */
    uint32_t count_max;
    uint32_t count;
    uint64_t total_bytes; /* of the pieces */
};

/* Rows that cut the stored bytes of the pieces about every step_bytes (further apart where there
 * would be more than count_max): rows and offsets ascend strictly, and none is the first row.  By
 * sampling, like the two above.  Rows are in the arena.  Errors: STATUS_NO_MEMORY, STATUS_IO,
 * STATUS_CORRUPT. */
enum status base_sample_rows(struct base_snapshot *snapshot,
                             const struct base_piece *pieces,
                             uint32_t piece_count,
                             uint64_t step_bytes,
                             struct arena *arena,
                             struct base_row_samples *samples);

/* --- writing ---------------------------------------------------------------------------------- */

enum status base_writer_begin(struct base *base, struct base_writer **ret_writer);
void base_writer_abort(struct base_writer *writer);
/* Durable on return.  The writer is gone either way. */
enum status base_writer_commit(struct base_writer *writer);

/* A new extent number, never given before; durable with the commit. */
enum status base_writer_allocate_extent(struct base_writer *writer, uint64_t *ret_extent);

/*
 * Merge one entry into (extent, row).  Rows must come in ascending order per extent, entries of a
 * row in entry_compare() order; an extent's entries are not mixed with another's.
 *
 * What is put is newer than what the base has: its stamp is larger than those of earlier flushes of
 * the row.  So at one position the entry put wins.  But for deletes: one may come again, behind younger
 * ones.  A row may be left off in its middle, settled and committed, and gone on with in another
 * transaction.
 * Errors: STATUS_NO_SPACE, STATUS_NO_MEMORY, STATUS_IO, STATUS_CORRUPT (the chunk to be changed is
 * bad, or a link that leads there is, and no younger ROW_DELETE takes it along); after one only abort is allowed.
 */
enum status base_writer_put(struct base_writer *writer,
                            uint64_t extent,
                            struct bytes row,
                            const struct entry *entry);

/*
 * The same for a ROW_DELETE that is known to be younger than all that is stored of its row, and, where `also` is not
 * NULL, of the rows of that range, which it deletes, too.  So a damaged chunk of the row goes, whatever it says of its age;
 * and a damaged link in its way where it leads to nothing but such rows.  Where that leads to others, too, it stays: what
 * is behind it is not shown, and of this row it is noted that it is deleted.
 */
enum status base_writer_put_youngest(struct base_writer *writer,
                                     uint64_t extent,
                                     struct bytes row,
                                     const struct entry *row_delete,
                                     const struct row_range *also);

/* Write out what the last puts still hold in memory.  Must be called before a commit that cuts a
 * row (more of its entries come in a later transaction): without it, commit takes the row for whole
 * and tidies its chunks.  May be called before looking at base_writer_dirty_bytes(). */
enum status base_writer_settle(struct base_writer *writer);

/* The row that it is in the midst of: after an error, where that was met.  Good until the next call; empty = none. */
struct bytes base_writer_row(const struct base_writer *writer);

/* What a put has failed with STATUS_CORRUPT at: is it a damaged link on the way to the row, or within it?  Then the rest
 * of the row may be left out, and the writer gone on with, where a younger ROW_DELETE of the row was put before. */
bool base_writer_is_barred(const struct base_writer *writer);

/* Has it come by a link that is damaged?  That is no error where nothing was to be done behind it. */
bool base_writer_met_bar(const struct base_writer *writer);

enum status base_writer_meta_put(struct base_writer *writer, struct bytes key, struct bytes value);
enum status base_writer_meta_delete(struct base_writer *writer, struct bytes key);

uint64_t base_writer_dirty_bytes(const struct base_writer *writer);

/* Net change of stored bytes so far in this transaction (may be negative).  For tests. */
int64_t base_writer_delta_bytes(const struct base_writer *writer);

/* --- paced work: each call does about budget_bytes of work inside the writer ------------------- */

/*
 * Erase the chunks of an extent inside range whose largest stamp is below dead_below (all of them:
 * dead_below.clock = UINT64_MAX), with their pieces, tombstones and sublayers.  For dropped tablets
 * and for DropRowRange; the caller's range delete hides the rest meanwhile.  Works from resume on
 * (opaque; empty = from the start) and leaves there where to go on.
 * An extent erased as a whole (no bounds, everything) must have no reader whose snapshot is begun
 * between the steps: its links go before its sublayers (base_links.h).
 */
enum status base_erase_step(struct base_writer *writer,
                            uint64_t extent,
                            const struct row_range *range,
                            struct stamp dead_below,
                            struct buffer *resume,
                            uint64_t budget_bytes,
                            bool *ret_done);

/* Apply stored tombstones of rows from resume on to the chunks they cover, then drop them. */
enum status base_sweep_step(struct base_writer *writer,
                            uint64_t extent,
                            const struct row_range *range,
                            struct buffer *resume,
                            uint64_t budget_bytes,
                            bool *ret_done);

/* Re-read and verify checksums and key order from resume on.  *ret_bad counts bad chunks found in
 * this step; the text of the first is in ret_error.  Never returns STATUS_CORRUPT. */
enum status base_scrub_step(struct base_snapshot *snapshot,
                            uint64_t extent,
                            struct buffer *resume,
                            uint64_t budget_bytes,
                            uint64_t *ret_bad,
                            bool *ret_done,
                            struct error *ret_error);

#endif /* TABLETSERVER_STORAGE_BASE_BASE_H */

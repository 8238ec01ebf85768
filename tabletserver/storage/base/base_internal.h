/*
 * The base's own structures; only base*.c of this folder include it.
 */
#ifndef TABLETSERVER_STORAGE_BASE_BASE_INTERNAL_H
#define TABLETSERVER_STORAGE_BASE_BASE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "tabletserver/storage/base/base.h"
#include "tabletserver/storage/base/base_cells.h"
#include "tabletserver/storage/base/base_gap.h"
#include "tabletserver/storage/base/base_key.h"
#include "tabletserver/storage/base/base_links.h"
#include "tabletserver/storage/base/base_room.h"
#include "tabletserver/storage/base/base_sample.h"
#include "tabletserver/storage/base/base_store.h"
#include "tabletserver/storage/base/base_tombstone.h"
#include "tabletserver/storage/base/base_value.h"
#include "tabletserver/storage/base/base_walk.h"
#include "tabletserver/storage/base/chunk.h"

/* A delete of more chunks than these is stored as a tombstone. */
#define BASE_DELETE_CHUNKS_MAX 64

/*
 * A chunk with its key: a fifth of one of LMDB's leaves.
 * 4096 - 16 (page header) = 5 x 816; 816 - 8 (node header) - 2 (its offset) = 806.
 */
#define BASE_CHUNK_BYTES 806

/* So much new is held in memory before full chunks are written. */
#define BASE_OUT_BYTES_MAX ((size_t)4 * BASE_CHUNK_BYTES)

/* Closed cursors that kept their memory: a point read opens one and allocates nothing for it. */
#define BASE_SPARES_MAX 16

struct base_spares {
    pthread_mutex_t lock;
    uint32_t count;
    struct base_cursor *cursors[BASE_SPARES_MAX];
};

struct base {
    struct kv *kv;
    struct base_links links;
    struct base_spares spares;
    atomic_uint_fast64_t untombed_version; /* of the file: it has no tombstone; 0 = not known */
};

struct base_snapshot {
    struct base *base;
    struct kv_read *read;
    struct base_store store;
    bool tombstones_known;
    bool tombstones_exist; /* in any extent: mostly there is none, and cursors need not look */
    struct error trouble;
};

/* Numbers that are never given twice; one record, written with the commit that used one. */
struct base_counters {
    uint64_t extent_next;
    uint64_t number_next; /* of sublayers and large values */
};

/*
 * The row that a writer is in, and the one chunk of it that is being merged: its stored cells
 * (old), what is to be written in its place so far (out), and the interval of the row that it
 * stands for.  Everything in memory, nothing is written before the chunk is left.
 */
struct base_window {
    bool row_open;
    bool row_walked; /* a chunk of it was opened before */
    uint64_t extent;
    struct buffer row;
    struct buffer row_key; /* row' */
    struct base_tombstones tombstones;
    const struct entry *row_delete; /* that is being applied; NULL = none */
    bool row_delete_is_youngest; /* than all of the row, whatever a damaged chunk says of its age */

    bool chunk_open;
    bool stored; /* under `key` a chunk is stored, of stored_bytes with its key */
    size_t stored_bytes;
    size_t stored_value_bytes;
    uint64_t stored_weight; /* with its large values */
    struct base_cells old;
    size_t old_next;
    struct buffer old_data; /* a copy: puts move the file's memory */
    bool has_end;           /* another chunk of the row follows */
    struct buffer end_key;
    struct base_position end;
    struct buffer end_qualifier;

    struct buffer key; /* of the next chunk to be written */
    struct base_cells out;
    struct base_cells spare; /* takes turns with out, so that memory of written cells goes */
    size_t out_bytes;
    bool changed;
    bool has_new;
    bool appending; /* no stored cell lies behind a new one */
};

struct base_writer {
    struct base *base;
    struct kv_write *write;
    struct base_store store;
    struct base_walk data;
    struct base_tombstone_finder tombstones;
    struct base_walk samples;
    struct kv_cursor *piece_cursor; /* opened when first needed */
    struct base_counters counters;
    struct base_counters counters_before;
    int64_t delta_bytes; /* of pieces and meta; the walks count their own */
    struct base_window window;
    struct base_gap gap; /* of the walk's extent */
    struct base_room room;
    struct chunk_reader reader;
    struct buffer chunk;        /* being encoded */
    struct buffer seek;         /* a key looked for */
    struct buffer qualifier;    /* of a key looked at */
    struct buffer value;        /* a large value read for folding */
    struct buffer fold;         /* what folding made */
    struct base_cells kept;     /* of a chunk that cells are dropped from */
    size_t kept_bytes;          /* what they take, with the key */
    struct buffer dropped_key;  /* its key */
    struct buffer dropped_data; /* its bytes */
};

static inline struct base_position base_position_of(const struct chunk_cell *cell)
{
    return (struct base_position){cell->family, cell->qualifier, cell->timestamp_us};
}

static inline enum status base_buffer_set(struct buffer *buffer, struct bytes bytes)
{
    buffer_reset(buffer);
    buffer_append_bytes(buffer, bytes);
    return buffer->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

/* --- base_window.c: rows and chunks are opened, cells taken and put ---------------------------- */

void base_window_init(struct base_window *window);
void base_window_deinit(struct base_window *window);

/* Go to a row; what is held of another one is written out. */
enum status base_window_open_row(struct base_writer *writer, uint64_t extent, struct bytes row);
enum status base_window_close_row(struct base_writer *writer);
/* Stand before position in the current row: cells below it are in out. */
enum status base_window_go(struct base_writer *writer, const struct base_position *position);
/* The stored or new cell at the position stood on is taken away, *ret_found tells if there was
 * one; its bytes live until the window moves. */
void base_window_take(struct base_writer *writer,
                      const struct base_position *position,
                      struct chunk_cell *ret_cell,
                      bool *ret_found);
/* Append a cell at the position stood on; everything is copied, a large value written. */
enum status base_window_append(struct base_writer *writer,
                               const struct chunk_cell *cell,
                               struct stamp stamp);
/* Look again for the chunk that follows: those behind have changed. */
enum status base_window_find_end(struct base_writer *writer);
/* Is the writer's data walk on a chunk of the current row? */
bool base_window_walk_is_in_row(const struct base_writer *writer);
/* Take it to the row's last chunk that begins at or before position, or to the one behind it. */
enum status base_window_walk_to(struct base_writer *writer, const struct base_position *position);

/* --- base_window_write.c: chunks are cut and written ------------------------------------------- */

enum base_close {
    BASE_CLOSE_MOVE, /* more of the row comes, behind this chunk */
    BASE_CLOSE_ROW,  /* nothing more of the row comes */
    BASE_CLOSE_CUT,  /* anything may come: stored cells behind the last position given keep their
                        own stamp, in a chunk of their own; deletes still to come may be older
                        than the new one */
};

enum status base_window_close_chunk(struct base_writer *writer, enum base_close close);
/* The next stored cell goes over as it is. */
enum status base_window_pass_old(struct base_window *window);
enum status base_window_add_out(struct base_window *window,
                                const struct chunk_cell *cell,
                                struct stamp stamp,
                                bool copy);
/* So much is new that whole chunks can be written now. */
enum status base_window_write_full_chunks(struct base_writer *writer);
/* What cells may take in a chunk stored under a key of this size. */
size_t base_window_budget(size_t key_bytes);

/* --- base_absorb.c: a chunk that is small takes in a neighbour --------------------------------- */

/* The cells of the chunk before the window's, if together they fit well, go before those in out;
 * *ret_count says how many. */
enum status base_absorb_previous(struct base_writer *writer, size_t size_bytes, size_t *ret_count);
/* Those of the chunk that follows go behind. */
enum status base_absorb_next(struct base_writer *writer, size_t size_bytes);
/* Erase the record of the chunk that the window stands for. */
enum status base_absorb_own(struct base_writer *writer);

/* --- base_writer.c ---------------------------------------------------------------------------- */

/* Go over to an extent; what is held in memory is written out. */
enum status base_writer_set_extent(struct base_writer *writer, uint64_t extent);

/* Erase the pieces of a cell whose value is large. */
enum status base_writer_drop_value(struct base_writer *writer, const struct chunk_cell *cell);

/* --- base_delete.c ---------------------------------------------------------------------------- */

/* Which cells of a chunk to drop. */
struct base_drop {
    struct base_tombstones *tombstones; /* NULL = none */
    const struct entry *tombstone;      /* NULL = none */
    bool everything;
    bool damaged_too; /* what cannot be read, whatever it says of its age */
};

/* Take cells out of the chunk that the writer's data walk stands on; what is left keeps its stamp.
 * The walk stands nowhere then; the chunk's key is in writer->dropped_key. */
enum status base_drop_cells(struct base_writer *writer, const struct base_drop *drop);

/* Take the dropped cells out of writer->kept, with their pieces. */
enum status base_drop_kept(struct base_writer *writer, const struct base_drop *drop);

/*
 * Is all that is as old as the chunk dead with its row, by one of these (NULL = none)?  Then it goes unread,
 * damaged as it may be: what nobody can read nobody could ever delete.  Of a damaged chunk the stamp is
 * believed, as where a range is erased; where its pieces are is not known any more.
 */
bool base_row_is_dead(const struct entry *tombstone,
                      const struct base_tombstones *tombstones,
                      struct stamp stamp);
/* Does a delete reach as far as a chunk that begins at start, or end before it? */
bool base_delete_reaches(const struct entry *entry, const struct base_position *start);
/* Where a delete begins: nothing before it is covered. */
struct base_position base_delete_start(const struct entry *entry);

/* Stored deletes of the writer's current row are no more, damaged as they may be; nor are those behind a damaged link that
 * leads to nothing else, or rows of the range (NULL = none). */
enum status base_delete_stored(struct base_writer *writer, const struct row_range *also);

/* A delete of the writer's current row.  is_youngest, also: base_writer_put_youngest(). */
enum status base_delete_apply(struct base_writer *writer,
                              const struct entry *entry,
                              bool is_youngest,
                              const struct row_range *also);

/* --- base.c ----------------------------------------------------------------------------------- */

enum status base_counters_load(const struct base_store *store, struct base_counters *ret_counters);
enum status base_counters_save(struct kv_write *write, const struct base_counters *counters);

#endif /* TABLETSERVER_STORAGE_BASE_BASE_INTERNAL_H */

/*
 * The cells of one row of a memtable: building them, finding them, linking new ones.
 * For the memtable's own files only; memtable_nodes.h has the structure and the thread rule.
 */
#ifndef TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_CELLS_H
#define TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_CELLS_H

#include "common/model/mutation.h"
#include "tabletserver/storage/memtable/memtable_nodes.h"

/* --- one cell ------------------------------------------------------------------------------------ */

struct bytes memtable_cell_qualifier(const struct memtable_cell *cell);
int64_t memtable_cell_end_us(const struct memtable_cell *cell); /* COLUMN_DELETE */
bool memtable_cell_is_delete(const struct memtable_cell *cell);

struct memtable_position memtable_position_of_change(const struct change *change);

/* Negative, 0 or positive. */
int memtable_position_compare(const struct memtable_position *position,
                              const struct memtable_cell *cell);

/* Does the cell belong to this very column (as a cell or as a delete of the column)? */
bool memtable_cell_is_of_column(const struct memtable_cell *cell,
                                uint32_t family,
                                struct bytes qualifier);

/* Bytes of a cell with its first version; at most that. */
size_t memtable_cell_size_bytes(const struct change *change, unsigned height);

/* Build it, unlinked, in memory of that size. */
struct memtable_cell *memtable_cell_make(void *memory,
                                         const struct change *change,
                                         unsigned height,
                                         uint64_t sequence,
                                         struct stamp stamp);

/* A version of a put or delete for an existing cell, in front of its chain. */
size_t memtable_version_size_bytes(const struct change *change);
void memtable_version_push(void *memory,
                           struct memtable_cell *cell,
                           const struct change *change,
                           uint64_t sequence,
                           struct stamp stamp);

/* --- a row's list -------------------------------------------------------------------------------- */

/* The first cell at or after the position; NULL when there is none. */
const struct memtable_cell *memtable_cells_seek(const struct memtable_row *row,
                                                const struct memtable_position *position);

/* The writer: the cell at this very position, or NULL.  The finger then stands there, or before. */
struct memtable_cell *memtable_cells_find(struct memtable *memtable,
                                          struct memtable_row *row,
                                          const struct memtable_position *position);

/* Link a new cell where memtable_cells_find() left the finger.  May take heads from the arena:
 * memtable_cells_heads_size_bytes() at most per row and apply. */
void memtable_cells_link(struct memtable *memtable,
                         struct memtable_row *row,
                         struct memtable_cell *cell);
size_t memtable_cells_heads_size_bytes(void);

/* The writer: the largest stamp of the deletes that cover this cell and lie at or below sequence;
 * STAMP_OLDEST when there is none. */
struct stamp memtable_cells_covered(const struct memtable_row *row,
                                    const struct memtable_cell *cell,
                                    uint64_t sequence);

#endif /* TABLETSERVER_STORAGE_MEMTABLE_MEMTABLE_CELLS_H */

/*
 * A list of cells with their stamps, and the memory that they are in.
 */
#ifndef TABLETSERVER_STORAGE_BASE_BASE_CELLS_H
#define TABLETSERVER_STORAGE_BASE_BASE_CELLS_H

#include <stddef.h>

#include "common/base/arena.h"
#include "tabletserver/storage/base/chunk.h"

struct base_cells {
    struct chunk_cell *cells;
    struct stamp *stamps;
    size_t count;
    size_t capacity;
    struct arena arena;
};

void base_cells_init(struct base_cells *list);
void base_cells_deinit(struct base_cells *list);
void base_cells_reset(struct base_cells *list);

/* Append; bytes are borrowed.  Errors: STATUS_NO_MEMORY. */
enum status base_cells_add(struct base_cells *list,
                           const struct chunk_cell *cell,
                           struct stamp stamp);
/* Append; qualifier and value are copied into the list's arena. */
enum status base_cells_add_copy(struct base_cells *list,
                                const struct chunk_cell *cell,
                                struct stamp stamp);

/* All cells of a chunk, appended.  data outlives them; seed as for chunk_open().
 * Errors: STATUS_CORRUPT, STATUS_VERSION, STATUS_NO_MEMORY. */
enum status base_cells_decode(struct base_cells *list,
                              struct chunk_reader *reader,
                              struct bytes data,
                              uint64_t seed);

/* Bytes of the large values that cells refer to. */
uint64_t base_cells_large_bytes(const struct base_cells *list);

#endif /* TABLETSERVER_STORAGE_BASE_BASE_CELLS_H */

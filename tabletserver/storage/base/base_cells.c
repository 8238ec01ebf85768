#include "tabletserver/storage/base/base_cells.h"

#include <stdint.h>

#include "common/base/memory.h"
#include "tabletserver/storage/base/base_value.h"

#define ARENA_BLOCK_BYTES 16384

void base_cells_init(struct base_cells *list)
{
    *list = (struct base_cells){0};
    arena_init(&list->arena, ARENA_BLOCK_BYTES, SIZE_MAX);
}

void base_cells_deinit(struct base_cells *list)
{
    memory_free(list->cells);
    memory_free(list->stamps);
    arena_deinit(&list->arena);
    *list = (struct base_cells){0};
}

void base_cells_reset(struct base_cells *list)
{
    list->count = 0;
    arena_reset(&list->arena);
}

static enum status grow(struct base_cells *list)
{
    size_t capacity = list->capacity > 0 ? 2 * list->capacity : 64;
    struct chunk_cell *cells = memory_resize(list->cells, capacity * sizeof *cells);
    if (cells == NULL) {
        return STATUS_NO_MEMORY;
    }
    list->cells = cells;
    struct stamp *stamps = memory_resize(list->stamps, capacity * sizeof *stamps);
    if (stamps == NULL) {
        return STATUS_NO_MEMORY;
    }
    list->stamps = stamps;
    list->capacity = capacity;
    return STATUS_OK;
}

enum status base_cells_add(struct base_cells *list,
                           const struct chunk_cell *cell,
                           struct stamp stamp)
{
    if (list->count == list->capacity && grow(list) != STATUS_OK) {
        return STATUS_NO_MEMORY;
    }
    list->cells[list->count] = *cell;
    list->stamps[list->count] = stamp;
    list->count++;
    return STATUS_OK;
}

enum status base_cells_add_copy(struct base_cells *list,
                                const struct chunk_cell *cell,
                                struct stamp stamp)
{
    struct chunk_cell copy = *cell;
    copy.qualifier = arena_copy(&list->arena, cell->qualifier);
    copy.value = arena_copy(&list->arena, cell->value);
    if (copy.qualifier.data == NULL || copy.value.data == NULL) {
        return STATUS_NO_MEMORY;
    }
    return base_cells_add(list, &copy, stamp);
}

enum status base_cells_decode(struct base_cells *list,
                              struct chunk_reader *reader,
                              struct bytes data,
                              uint64_t seed)
{
    enum status status = chunk_open(reader, data, seed);
    bool found = status == STATUS_OK;
    struct bytes qualifier = BYTES_EMPTY;
    while (found) {
        struct chunk_cell cell;
        status = chunk_next(reader, &cell, &found);
        if (status != STATUS_OK || !found) {
            break;
        }
        /* Put together in the reader's buffer, which the next one overwrites. */
        if (cell.qualifier.data == reader->qualifier.data && cell.qualifier.size_bytes > 0) {
            if (!bytes_equal(cell.qualifier, qualifier)) {
                qualifier = arena_copy(&list->arena, cell.qualifier);
                if (qualifier.data == NULL) {
                    return STATUS_NO_MEMORY;
                }
            }
            cell.qualifier = qualifier;
        }
        status = base_cells_add(list, &cell, reader->stamp);
        found = status == STATUS_OK;
    }
    return status;
}

uint64_t base_cells_large_bytes(const struct base_cells *list)
{
    uint64_t total = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct base_reference reference;
        if (list->cells[i].large && base_reference_decode(list->cells[i].value, &reference)) {
            total += base_value_stored_bytes(&reference);
        }
    }
    return total;
}

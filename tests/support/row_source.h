/*
 * A row in an array as a cell_source, for tests.  It does what demands and rewinds ask of it, or,
 * if `deaf`, ignores demands; and it lends each cell from memory that the next call destroys, as
 * the contract allows.
 */
#ifndef TESTS_SUPPORT_ROW_SOURCE_H
#define TESTS_SUPPORT_ROW_SOURCE_H

#include <string.h>

#include "common/base/assert.h"
#include "common/model/cell.h"

#define ROW_SOURCE_BYTES_MAX 256

struct row_source {
    const struct cell *cells; /* sorted */
    size_t count;
    bool deaf;
    bool lends_null;   /* empty bytes as NULL */
    size_t fail_after; /* cells; then STATUS_IO.  SIZE_MAX = never */

    size_t at;        /* the next cell */
    uint64_t pulled;  /* cells given out */
    uint64_t rewinds; /* calls */
    uint8_t lent[2][ROW_SOURCE_BYTES_MAX];
};

static inline int row_source_compare(const struct cell *a, uint32_t family, struct bytes qualifier)
{
    if (a->family != family) {
        return a->family < family ? -1 : 1;
    }
    return bytes_compare(a->qualifier, qualifier);
}

static inline enum status row_source_rewind(void *context, uint32_t family, struct bytes qualifier)
{
    struct row_source *source = context;
    source->rewinds++;
    source->at = 0;
    while (source->at < source->count &&
           row_source_compare(&source->cells[source->at], family, qualifier) < 0) {
        source->at++;
    }
    return STATUS_OK;
}

static inline struct bytes row_source_lend(struct row_source *source, int slot, struct bytes bytes)
{
    ASSERT(bytes.size_bytes <= ROW_SOURCE_BYTES_MAX);
    if (bytes.size_bytes == 0 && source->lends_null) {
        return BYTES_EMPTY;
    }
    memset(source->lent[slot], 0xee, sizeof source->lent[slot]);
    if (bytes.size_bytes > 0) {
        memcpy(source->lent[slot], bytes.data, bytes.size_bytes);
    }
    return (struct bytes){source->lent[slot], bytes.size_bytes};
}

static inline enum status row_source_next(void *context,
                                          enum cell_demand demand,
                                          struct cell *ret_cell,
                                          bool *ret_found)
{
    struct row_source *source = context;
    if (demand == CELL_NEXT_COLUMN && !source->deaf && source->at > 0) {
        const struct cell *last = &source->cells[source->at - 1];
        while (source->at < source->count &&
               row_source_compare(&source->cells[source->at], last->family, last->qualifier) == 0) {
            source->at++;
        }
    }
    if (source->pulled >= source->fail_after) {
        return STATUS_IO;
    }
    *ret_found = source->at < source->count;
    if (*ret_found) {
        struct cell cell = source->cells[source->at++];
        cell.qualifier = row_source_lend(source, 0, cell.qualifier);
        cell.value = row_source_lend(source, 1, cell.value);
        *ret_cell = cell;
        source->pulled++;
    }
    return STATUS_OK;
}

static inline struct row_source row_source_of(const struct cell *cells, size_t count)
{
    return (struct row_source){.cells = cells, .count = count, .fail_after = SIZE_MAX};
}

static inline struct cell_source row_source_cells(struct row_source *source)
{
    return (struct cell_source){source, row_source_rewind, row_source_next};
}

#endif /* TESTS_SUPPORT_ROW_SOURCE_H */

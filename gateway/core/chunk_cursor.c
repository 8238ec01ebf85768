#include "gateway/core/chunk_cursor.h"

#include <string.h>

#include "common/base/assert.h"

/* Tags, lengths and numbers of all fields of a chunk, and its own tag and length. */
#define CHUNK_OVERHEAD_BYTES 64

void chunk_cursor_begin(struct chunk_cursor *cursor, const struct edubba_row *row)
{
    ASSERT(row->cell_count > 0);
    *cursor = (struct chunk_cursor){.row = row};
}

static bool is_same(struct edubba_bytes a, struct edubba_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* What only a cell's first chunk tells. */
static void describe_cell(const struct edubba_row *row, size_t index, struct chunk *chunk)
{
    const struct edubba_cell *cell = &row->cells[index];
    const struct edubba_cell *before = index > 0 ? &row->cells[index - 1] : NULL;
    chunk->row_key = before == NULL ? row->key : EDUBBA_NOTHING;
    chunk->has_family = before == NULL || !is_same(before->family, cell->family);
    chunk->has_qualifier = chunk->has_family || !is_same(before->qualifier, cell->qualifier);
    chunk->family = cell->family;
    chunk->qualifier = cell->qualifier;
    chunk->timestamp_us = cell->timestamp_us;
    chunk->label = cell->label;
}

bool chunk_cursor_next(struct chunk_cursor *cursor, size_t value_bytes_max, struct chunk *ret_chunk)
{
    const struct edubba_row *row = cursor->row;
    ASSERT(value_bytes_max > 0);
    if (cursor->cell == row->cell_count) {
        return false;
    }
    struct edubba_bytes value = row->cells[cursor->cell].value;
    size_t left = value.size - cursor->offset;
    size_t size = left < value_bytes_max ? left : value_bytes_max;
    bool is_last = size == left;
    struct chunk chunk = {
        .value = {value.size > 0 ? (const char *)value.data + cursor->offset : NULL, size},
        .value_size = is_last ? 0 : value.size,
    };
    if (cursor->offset == 0) {
        describe_cell(row, cursor->cell, &chunk);
    }
    cursor->offset = is_last ? 0 : cursor->offset + size;
    cursor->cell += is_last ? 1 : 0;
    chunk.commit = cursor->cell == row->cell_count;
    *ret_chunk = chunk;
    return true;
}

bool chunk_cursor_is_at_end(const struct chunk_cursor *cursor)
{
    return cursor->cell == cursor->row->cell_count;
}

bool chunk_cursor_is_at_begin(const struct chunk_cursor *cursor)
{
    return cursor->cell == 0 && cursor->offset == 0;
}

size_t chunk_cursor_row_bytes(const struct chunk_cursor *cursor)
{
    const struct edubba_row *row = cursor->row;
    size_t size = row->key.size;
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct edubba_cell *cell = &row->cells[i];
        size += CHUNK_OVERHEAD_BYTES + cell->family.size + cell->qualifier.size + cell->label.size +
                cell->value.size;
    }
    return size;
}

size_t chunk_size_bytes(const struct chunk *chunk)
{
    return CHUNK_OVERHEAD_BYTES + chunk->row_key.size +
           (chunk->has_family ? chunk->family.size : 0) +
           (chunk->has_qualifier ? chunk->qualifier.size : 0) + chunk->label.size +
           chunk->value.size;
}

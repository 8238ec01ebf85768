#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/memtable/memtable.h"
#include "tabletserver/storage/memtable/memtable_cells.h"
#include "tabletserver/storage/memtable/memtable_fold.h"
#include "tabletserver/storage/memtable/memtable_nodes.h"
#include "tabletserver/storage/memtable/memtable_rows.h"
#include "tabletserver/storage/rows/delete_cover.h"

/* Cells looked at one by one before a column is left by a search. */
#define SKIP_STEPS_MAX 4

struct memtable_cursor {
    struct layer_cursor base; /* first: the cursor is known by it */
    struct memtable *memtable;
    uint64_t sequence;
    const struct memtable_row *row;       /* NULL = on no row */
    const struct memtable_cell *ahead[2]; /* deletes to be yielded before `next` */
    unsigned ahead_count;
    const struct memtable_cell *next;
    const struct memtable_cell *last; /* yielded last; NULL at the row's start */
    struct delete_cover cover;
    struct memtable_fold_reader fold_reader;
};

static struct memtable_cursor *cursor_of(struct layer_cursor *cursor)
{
    return (struct memtable_cursor *)cursor;
}

static const struct memtable_row *find_row(const struct memtable_cursor *cursor,
                                           enum row_seek seek,
                                           struct bytes key)
{
    const struct memtable *memtable = cursor->memtable;
    switch (seek) {
    case ROW_AT_OR_AFTER:
        return memtable_row_at_or_after(memtable, cursor->sequence, key, false);
    case ROW_AFTER:
        if (cursor->row != NULL && bytes_equal(memtable_row_key(cursor->row), key)) {
            return memtable_row_next(cursor->row, cursor->sequence);
        }
        return memtable_row_at_or_after(memtable, cursor->sequence, key, true);
    case ROW_AT_OR_BEFORE:
        return memtable_row_before(memtable, cursor->sequence, key, true);
    case ROW_BEFORE:
        return memtable_row_before(memtable, cursor->sequence, key, false);
    case ROW_LAST:
        break;
    }
    return memtable_row_last(memtable, cursor->sequence);
}

static enum status cursor_seek_row(struct layer_cursor *base,
                                   enum row_seek seek,
                                   struct bytes row,
                                   struct bytes *ret_row,
                                   bool *ret_found)
{
    struct memtable_cursor *cursor = cursor_of(base);
    cursor->row = find_row(cursor, seek, row);
    cursor->ahead_count = 0;
    cursor->next = NULL;
    cursor->last = NULL;
    *ret_found = cursor->row != NULL;
    if (cursor->row != NULL) {
        *ret_row = memtable_row_key(cursor->row);
    }
    return STATUS_OK;
}

/* Have the delete at this position, if there is one, yielded before `next`. */
static void look_ahead(struct memtable_cursor *cursor, const struct memtable_position *position)
{
    const struct memtable_cell *cell = memtable_cells_seek(cursor->row, position);
    if (cell != NULL && memtable_position_compare(position, cell) == 0) {
        cursor->ahead[cursor->ahead_count++] = cell;
    }
}

static enum status cursor_seek_entry(struct layer_cursor *base,
                                     uint32_t family,
                                     struct bytes qualifier)
{
    struct memtable_cursor *cursor = cursor_of(base);
    ASSERT(cursor->row != NULL);
    delete_cover_reset(&cursor->cover, STAMP_OLDEST);
    cursor->ahead_count = 0;
    cursor->last = NULL;
    struct memtable_position position = {.rank = RANK_ROW_DELETE};
    if (family == 0) {
        cursor->next = memtable_cells_seek(cursor->row, &position);
        return STATUS_OK;
    }
    look_ahead(cursor, &position);
    position = (struct memtable_position){.rank = RANK_FAMILY_DELETE, .family = family};
    look_ahead(cursor, &position);
    position = (struct memtable_position){
        .rank = RANK_COLUMN_DELETE,
        .family = family,
        .qualifier = qualifier,
        .timestamp_us = INT64_MAX,
        .end_us = INT64_MAX,
    };
    cursor->next = memtable_cells_seek(cursor->row, &position);
    return STATUS_OK;
}

static const struct memtable_cell *cell_after(const struct memtable_cell *cell)
{
    return atomic_load_explicit(&cell->tower[0], memory_order_acquire);
}

/* The next cell in position order, whether visible or not; NULL at the end of the row. */
static const struct memtable_cell *step(struct memtable_cursor *cursor)
{
    if (cursor->ahead_count > 0) {
        const struct memtable_cell *cell = cursor->ahead[0];
        cursor->ahead[0] = cursor->ahead[1];
        cursor->ahead_count--;
        return cell;
    }
    const struct memtable_cell *cell = cursor->next;
    if (cell != NULL) {
        cursor->next = cell_after(cell);
    }
    return cell;
}

static void fill_entry(const struct memtable_cell *cell, struct entry *ret_entry)
{
    bool is_column_delete = cell->kind == ENTRY_COLUMN_DELETE;
    bool is_cell = !memtable_cell_is_delete(cell);
    *ret_entry = (struct entry){
        .kind = (enum entry_kind)cell->kind,
        .family = cell->family,
        .qualifier = memtable_cell_qualifier(cell),
        .timestamp_us = is_cell ? cell->timestamp_us : 0,
        .start_us = is_column_delete ? cell->timestamp_us : 0,
        .end_us = is_column_delete ? memtable_cell_end_us(cell) : 0,
        .aggregate = AGGREGATE_NONE,
    };
}

static struct stamp covered_at(const struct memtable_cursor *cursor, const struct entry *entry)
{
    return delete_cover_at(&cursor->cover, entry->family, entry->qualifier, entry->timestamp_us);
}

static enum status resolve_fold(struct memtable_cursor *cursor,
                                const struct memtable_cell *cell,
                                struct entry *entry,
                                bool *ret_visible)
{
    entry->aggregate = (enum aggregate_kind)memtable_cell_fold(cell)->aggregate;
    return memtable_fold_read(cursor->memtable, cell, cursor->sequence, covered_at(cursor, entry),
                              &cursor->fold_reader, &entry->value, &entry->stamp, ret_visible);
}

/* What the reader sees at this cell's position; deletes are noted on the way. */
static enum status resolve(struct memtable_cursor *cursor,
                           const struct memtable_cell *cell,
                           struct entry *ret_entry,
                           bool *ret_visible)
{
    struct entry entry;
    fill_entry(cell, &entry);
    *ret_visible = false;
    if (cell->kind == ENTRY_FOLD) {
        enum status status = resolve_fold(cursor, cell, &entry, ret_visible);
        *ret_entry = entry;
        return status;
    }
    const struct memtable_version *version = memtable_version_at(cell, cursor->sequence);
    if (version == NULL) {
        return STATUS_OK;
    }
    entry.stamp = memtable_version_stamp(version);
    if (memtable_cell_is_delete(cell)) {
        enum status status = delete_cover_add(&cursor->cover, &entry);
        *ret_visible = status == STATUS_OK;
        *ret_entry = entry;
        return status;
    }
    entry.value = memtable_version_value(version);
    *ret_visible = stamp_compare(covered_at(cursor, &entry), entry.stamp) <= 0;
    *ret_entry = entry;
    return STATUS_OK;
}

static enum status cursor_next_entry(struct layer_cursor *base,
                                     struct entry *ret_entry,
                                     bool *ret_found)
{
    struct memtable_cursor *cursor = cursor_of(base);
    for (const struct memtable_cell *cell = step(cursor); cell != NULL; cell = step(cursor)) {
        struct entry entry;
        bool is_visible = false;
        enum status status = resolve(cursor, cell, &entry, &is_visible);
        if (status != STATUS_OK) {
            return status;
        }
        if (is_visible) {
            cursor->last = cell;
            *ret_entry = entry;
            *ret_found = true;
            return STATUS_OK;
        }
    }
    *ret_found = false;
    return STATUS_OK;
}

static enum status cursor_skip_column(struct layer_cursor *base,
                                      struct entry *ret_entry,
                                      bool *ret_found)
{
    struct memtable_cursor *cursor = cursor_of(base);
    const struct memtable_cell *last = cursor->last;
    if (last != NULL && last->kind >= ENTRY_COLUMN_DELETE) {
        struct bytes qualifier = memtable_cell_qualifier(last);
        for (unsigned i = 0; i < SKIP_STEPS_MAX && cursor->next != NULL &&
                             memtable_cell_is_of_column(cursor->next, last->family, qualifier);
             i++) {
            cursor->next = cell_after(cursor->next);
        }
        if (cursor->next != NULL &&
            memtable_cell_is_of_column(cursor->next, last->family, qualifier)) {
            struct memtable_position position = {
                .rank = RANK_AFTER, .family = last->family, .qualifier = qualifier};
            cursor->next = memtable_cells_seek(cursor->row, &position);
        }
    }
    return cursor_next_entry(base, ret_entry, ret_found);
}

static void cursor_close(struct layer_cursor *base)
{
    struct memtable_cursor *cursor = cursor_of(base);
    delete_cover_deinit(&cursor->cover);
    memtable_fold_reader_deinit(&cursor->fold_reader);
    memtable_unref(cursor->memtable);
    memory_free(cursor);
}

static const struct layer_cursor_operations operations = {
    .seek_row = cursor_seek_row,
    .seek_entry = cursor_seek_entry,
    .next_entry = cursor_next_entry,
    .skip_column = cursor_skip_column,
    .close = cursor_close,
};

enum status memtable_cursor_open(struct memtable *memtable,
                                 uint64_t sequence,
                                 struct layer_cursor **ret_cursor)
{
    ASSERT(sequence >= atomic_load_explicit(&memtable->floor, memory_order_relaxed));
    struct memtable_cursor *cursor = memory_allocate(sizeof *cursor);
    if (cursor == NULL) {
        return STATUS_NO_MEMORY;
    }
    *cursor = (struct memtable_cursor){
        .base = {&operations},
        .memtable = memtable_ref(memtable),
        .sequence = sequence,
    };
    delete_cover_init(&cursor->cover);
    memtable_fold_reader_init(&cursor->fold_reader);
    *ret_cursor = &cursor->base;
    return STATUS_OK;
}

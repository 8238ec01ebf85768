#include "tabletserver/storage/rows/range_cursor.h"

#include "common/base/memory.h"

struct range_cursor {
    struct layer_cursor cursor;
    struct layer_cursor *beneath;
    struct row_range range;
};

static struct range_cursor *self_of(struct layer_cursor *cursor)
{
    return (struct range_cursor *)(void *)cursor;
}

static bool lies_before_start(const struct range_cursor *self, struct bytes row)
{
    return bytes_compare(row, self->range.start) < 0;
}

static bool lies_at_or_after_end(const struct range_cursor *self, struct bytes row)
{
    return self->range.end.size_bytes > 0 && bytes_compare(row, self->range.end) >= 0;
}

static enum status seek_row(struct layer_cursor *cursor,
                            enum row_seek seek,
                            struct bytes row,
                            struct bytes *ret_row,
                            bool *ret_found)
{
    struct range_cursor *self = self_of(cursor);
    bool bounded = self->range.end.size_bytes > 0;
    if (seek == ROW_LAST && bounded) {
        seek = ROW_BEFORE;
        row = self->range.end;
    } else if ((seek == ROW_AT_OR_AFTER || seek == ROW_AFTER) && lies_before_start(self, row)) {
        seek = ROW_AT_OR_AFTER;
        row = self->range.start;
    } else if ((seek == ROW_AT_OR_BEFORE || seek == ROW_BEFORE) &&
               lies_at_or_after_end(self, row)) {
        seek = ROW_BEFORE;
        row = self->range.end;
    }
    struct bytes found_row = BYTES_EMPTY;
    bool found = false;
    enum status status = self->beneath->operations->seek_row(self->beneath, seek, row, &found_row,
                                                             &found);
    if (status != STATUS_OK) {
        return status;
    }
    *ret_found = found && !lies_before_start(self, found_row) &&
                 !lies_at_or_after_end(self, found_row);
    *ret_row = found_row;
    return STATUS_OK;
}

static enum status seek_entry(struct layer_cursor *cursor, uint32_t family, struct bytes qualifier)
{
    struct layer_cursor *beneath = self_of(cursor)->beneath;
    return beneath->operations->seek_entry(beneath, family, qualifier);
}

static enum status next_entry(struct layer_cursor *cursor, struct entry *ret_entry, bool *ret_found)
{
    struct layer_cursor *beneath = self_of(cursor)->beneath;
    return beneath->operations->next_entry(beneath, ret_entry, ret_found);
}

static enum status skip_column(struct layer_cursor *cursor,
                               struct entry *ret_entry,
                               bool *ret_found)
{
    struct layer_cursor *beneath = self_of(cursor)->beneath;
    return beneath->operations->skip_column(beneath, ret_entry, ret_found);
}

static void close_cursor(struct layer_cursor *cursor)
{
    struct range_cursor *self = self_of(cursor);
    self->beneath->operations->close(self->beneath);
    memory_free(self);
}

static const struct layer_cursor_operations operations = {seek_row, seek_entry, next_entry,
                                                          skip_column, close_cursor};

enum status range_cursor_open(struct layer_cursor *cursor,
                              const struct row_range *range,
                              struct layer_cursor **ret_cursor)
{
    struct range_cursor *self = memory_allocate(sizeof *self);
    if (self == NULL) {
        cursor->operations->close(cursor);
        return STATUS_NO_MEMORY;
    }
    *self = (struct range_cursor){{&operations}, cursor, *range};
    *ret_cursor = &self->cursor;
    return STATUS_OK;
}

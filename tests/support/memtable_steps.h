/* What tests of the memtable do with it: changes in, entries out by a cursor. */
#ifndef TESTS_SUPPORT_MEMTABLE_STEPS_H
#define TESTS_SUPPORT_MEMTABLE_STEPS_H

#include <criterion/criterion.h>

#include "tabletserver/storage/memtable/memtable.h"

/* The stamp's clock is the sequence. */
static inline void apply(struct memtable *memtable,
                         uint64_t sequence,
                         const char *row,
                         const struct change *changes,
                         size_t count)
{
    struct stamp stamp = {sequence, 1, 0};
    struct bytes key = bytes_of_text(row);
    cr_assert_eq(memtable_reserve(memtable, key, changes, count), STATUS_OK);
    memtable_apply(memtable, sequence, stamp, key, changes, count);
}

static inline struct memtable *make(void)
{
    struct memtable *memtable = NULL;
    cr_assert_eq(memtable_create(&memtable), STATUS_OK);
    return memtable;
}

static inline struct layer_cursor *open_at(struct memtable *memtable, uint64_t sequence)
{
    struct layer_cursor *cursor = NULL;
    cr_assert_eq(memtable_cursor_open(memtable, sequence, &cursor), STATUS_OK);
    return cursor;
}

/* Go to the row, and to its first entry at or after the column.  False: the row is not there. */
static inline bool enter(struct layer_cursor *cursor,
                         const char *row,
                         uint32_t family,
                         const char *qualifier)
{
    struct bytes found_row = BYTES_EMPTY;
    bool found = false;
    cr_assert_eq(cursor->operations->seek_row(cursor, ROW_AT_OR_AFTER, bytes_of_text(row),
                                              &found_row, &found),
                 STATUS_OK);
    if (!found || !bytes_equal(found_row, bytes_of_text(row))) {
        return false;
    }
    cr_assert_eq(cursor->operations->seek_entry(cursor, family, bytes_of_text(qualifier)),
                 STATUS_OK);
    return true;
}

static inline bool next(struct layer_cursor *cursor, struct entry *entry)
{
    bool found = false;
    cr_assert_eq(cursor->operations->next_entry(cursor, entry, &found), STATUS_OK);
    return found;
}

#endif /* TESTS_SUPPORT_MEMTABLE_STEPS_H */

/* Every seek from everywhere in every range, against a walk over the rows that lie in it. */
#include "tabletserver/storage/rows/range_cursor.h"

#include <criterion/criterion.h>

#include "common/base/memory.h"

static const char *const rows[] = {"", "a", "b", "bb", "c", "d"};

#define ROW_COUNT (sizeof rows / sizeof *rows)

/* All rows, and how often it was closed. */
struct beneath {
    struct layer_cursor base;
    int closed;
};

static bool is_found(enum row_seek seek, int order)
{
    switch (seek) {
    case ROW_AT_OR_AFTER:
        return order >= 0;
    case ROW_AFTER:
        return order > 0;
    case ROW_AT_OR_BEFORE:
        return order <= 0;
    case ROW_BEFORE:
        return order < 0;
    case ROW_LAST:
        return true;
    }
    return false;
}

/* The first that is found, looking forward or backward; NULL: none. */
static const char *look(enum row_seek seek, struct bytes row, const struct row_range *range)
{
    bool forward = seek == ROW_AT_OR_AFTER || seek == ROW_AFTER;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const char *at = rows[forward ? i : ROW_COUNT - 1 - i];
        struct bytes key = bytes_of_text(at);
        if ((range == NULL || row_range_contains(range, key)) &&
            is_found(seek, bytes_compare(key, row))) {
            return at;
        }
    }
    return NULL;
}

static enum status seek_all(struct layer_cursor *cursor,
                            enum row_seek seek,
                            struct bytes row,
                            struct bytes *ret_row,
                            bool *ret_found)
{
    (void)cursor;
    const char *found = look(seek, row, NULL);
    *ret_found = found != NULL;
    *ret_row = found != NULL ? bytes_of_text(found) : BYTES_EMPTY;
    return STATUS_OK;
}

static void close_beneath(struct layer_cursor *cursor)
{
    ((struct beneath *)(void *)cursor)->closed++;
}

static const struct layer_cursor_operations operations = {.seek_row = seek_all,
                                                          .close = close_beneath};

static void expect_as_a_walk(struct layer_cursor *cursor, const struct row_range *range)
{
    for (int seek = ROW_AT_OR_AFTER; seek <= ROW_LAST; seek++) {
        for (size_t i = 0; i < ROW_COUNT; i++) {
            struct bytes from = bytes_of_text(rows[i]);
            struct bytes row = BYTES_EMPTY;
            bool found = false;
            const char *expected = look((enum row_seek)seek, from, range);
            cr_assert_eq(
                cursor->operations->seek_row(cursor, (enum row_seek)seek, from, &row, &found),
                STATUS_OK);
            cr_assert_eq(found, expected != NULL, "seek %d from '%s'", seek, rows[i]);
            cr_assert(!found || bytes_equal(row, bytes_of_text(expected)), "seek %d from '%s'",
                      seek, rows[i]);
        }
    }
}

Test(range_cursor, rows_outside_do_not_exist)
{
    for (size_t start = 0; start < ROW_COUNT; start++) {
        for (size_t end = 0; end < ROW_COUNT; end++) {
            struct beneath beneath = {.base = {&operations}};
            struct layer_cursor *cursor = NULL;
            struct row_range range = {bytes_of_text(rows[start]), bytes_of_text(rows[end])};
            if (end != 0 && end <= start) {
                continue;
            }
            cr_assert_eq(range_cursor_open(&beneath.base, &range, &cursor), STATUS_OK);
            expect_as_a_walk(cursor, &range);
            cr_assert_eq(beneath.closed, 0);
            cursor->operations->close(cursor);
            cr_assert_eq(beneath.closed, 1);
        }
    }
}

Test(range_cursor, without_memory_it_closes_what_it_took_over)
{
    struct beneath beneath = {.base = {&operations}};
    struct layer_cursor *cursor = NULL;
    struct row_range range = {BYTES_EMPTY, BYTES_EMPTY};
    memory_fail_arm(0, 1);
    cr_assert_eq(range_cursor_open(&beneath.base, &range, &cursor), STATUS_NO_MEMORY);
    memory_fail_disarm();
    cr_assert_eq(beneath.closed, 1);
}

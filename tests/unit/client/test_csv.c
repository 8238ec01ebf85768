#ifndef _GNU_SOURCE
#    define _GNU_SOURCE /* fopencookie */
#endif
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "client/cli/csv.h"

#define FIELDS_MAX 8

static struct csv_reader open_text(const char *text)
{
    struct csv_reader reader = {.file = fmemopen((void *)(uintptr_t)text, strlen(text), "r")};
    cr_assert_not_null(reader.file);
    return reader;
}

static void close_reader(struct csv_reader *reader)
{
    (void)fclose(reader->file);
    csv_reader_deinit(reader);
}

Test(csv, a_record_is_a_line_or_several_where_quotes_hold_its_ends)
{
    const char *trouble = NULL;
    char *fields[FIELDS_MAX];
    struct csv_reader reader = open_text("a,b\r\nr,\"x,\"\"y\"\"\nz\",\"\"\nlast,\"1\"");
    cr_assert(csv_reader_next(&reader, &trouble));
    cr_assert_str_eq(reader.record, "a,b");
    cr_assert(csv_reader_next(&reader, &trouble));
    cr_assert_eq(reader.line, 3);
    cr_assert_eq(csv_cut(reader.record, fields, FIELDS_MAX), 3);
    cr_assert_str_eq(fields[1], "x,\"y\"\nz");
    cr_assert_str_eq(fields[2], "");
    cr_assert(csv_reader_next(&reader, &trouble));
    cr_assert_eq(csv_cut(reader.record, fields, FIELDS_MAX), 2);
    cr_assert_not(csv_reader_next(&reader, &trouble));
    cr_assert_null(trouble, "%s", trouble);
    close_reader(&reader);
}

Test(csv, a_line_that_was_read_before_comes_first)
{
    const char *trouble = NULL;
    struct csv_reader reader = open_text("end\"\nsecond\n");
    reader.first_line = strdup("a,\"begin\n");
    cr_assert(csv_reader_next(&reader, &trouble));
    cr_assert_str_eq(reader.record, "a,\"begin\nend\"");
    cr_assert(csv_reader_next(&reader, &trouble));
    cr_assert_str_eq(reader.record, "second");
    cr_assert_eq(reader.line, 3);
    close_reader(&reader);
}

Test(csv, what_is_malformed_has_no_fields)
{
    static const char *const records[] = {"a,\"b\"c", "a,\"b", "1,2,3,4,5,6,7,8,9"};
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        char record[32];
        char *fields[FIELDS_MAX];
        (void)snprintf(record, sizeof record, "%s", records[i]);
        cr_assert_eq(csv_cut(record, fields, FIELDS_MAX), 0, "%s", records[i]);
    }
}

/* All that follows belongs to the field, up to the end of the file: each byte is looked at once. */
Test(csv, a_quote_that_is_not_closed_is_told_soon_and_where_it_is, .timeout = 60)
{
    enum {
        LINES = 200000
    };
    static char text[LINES * 12 + 64];
    const char *trouble = NULL;
    size_t used = (size_t)snprintf(text, sizeof text, "r0,1\nr1,\"open\n");
    for (int i = 0; i < LINES; i++) {
        memcpy(text + used, "r,123456789\n", 12);
        used += 12;
    }
    struct csv_reader reader = open_text(text);
    cr_assert(csv_reader_next(&reader, &trouble));
    cr_assert_not(csv_reader_next(&reader, &trouble));
    cr_assert_str_eq(trouble, "a quote is not closed");
    cr_assert_eq(reader.line, 2, "%llu", reader.line);
    close_reader(&reader);
}

/* --- a disk that fails ------------------------------------------------------------------------ */

static ssize_t read_half(void *cookie, char *out, size_t size)
{
    static const char half[] = "r1,1\nr2,2\n";
    bool *was_read = cookie;
    if (*was_read || size < sizeof half) {
        errno = EIO;
        return -1;
    }
    *was_read = true;
    memcpy(out, half, sizeof half - 1);
    return sizeof half - 1;
}

Test(csv, a_file_that_cannot_be_read_to_its_end_has_not_ended)
{
    const char *trouble = NULL;
    bool was_read = false;
    struct csv_reader reader = {
        .file = fopencookie(&was_read, "r", (cookie_io_functions_t){.read = read_half})};
    cr_assert(csv_reader_next(&reader, &trouble));
    cr_assert(csv_reader_next(&reader, &trouble));
    cr_assert_str_eq(reader.record, "r2,2");
    cr_assert_not(csv_reader_next(&reader, &trouble));
    cr_assert_not_null(trouble, "it is no end of the file");
    cr_assert_str_eq(trouble, strerror(EIO));
    close_reader(&reader);
}

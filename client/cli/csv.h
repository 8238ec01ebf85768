/*
 * CSV: the records of a file, and their fields.
 *
 * A record is a line, or several where a field in quotes has line ends in it.
 *
 *     while (csv_reader_next(&reader, &trouble)) {
 *         count = csv_cut(reader.record, fields, FIELDS_MAX);
 *     }
 *
 * Thread rule: one owner.
 */
#ifndef CLIENT_CLI_CSV_H
#define CLIENT_CLI_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct csv_reader {
    FILE *file;       /* borrowed */
    char *first_line; /* of the file, that was read before; NULL = none, or it was taken.  Owned */
    unsigned long long line; /* of the file, the last that was read, from 1; of a record that is not
                                whole, its first */
    char *text;
    size_t text_capacity;
    char *record; /* without the line's end; until the next one */
    size_t record_capacity;
};

void csv_reader_deinit(struct csv_reader *reader);

/* The next record.  False at the end of the file (*ret_trouble NULL), or where none can be read:
 * *ret_trouble says why. */
bool csv_reader_next(struct csv_reader *reader, const char **ret_trouble);

/* Cut a record into fields in place ("..." with "" inside as usual); how many, 0 if it is malformed
 * or has more than fields_max. */
size_t csv_cut(char *record, char **fields, size_t fields_max);

#endif /* CLIENT_CLI_CSV_H */

#include "client/cli/csv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How far a record has been followed: once over each byte, however many lines it has. */
struct quotes {
    bool at_start; /* of a field */
    bool quoted;   /* the field began with a quote */
    bool open;
};

static void follow_quotes(struct quotes *quotes, const char *text)
{
    for (; *text != '\0'; text++) {
        quotes->quoted = quotes->at_start ? *text == '"' : quotes->quoted;
        if (quotes->quoted && *text == '"') { /* "" closes and opens again */
            quotes->open = !quotes->open;
        }
        quotes->at_start = !quotes->open && *text == ',';
    }
}

/* The next line into reader->text; its size, or -1 if there is none. */
static ssize_t read_line(struct csv_reader *reader)
{
    if (reader->first_line != NULL) {
        reader->text = reader->first_line;
        reader->text_capacity = strlen(reader->first_line) + 1;
        reader->first_line = NULL;
        return (ssize_t)reader->text_capacity - 1;
    }
    return getline(&reader->text, &reader->text_capacity, reader->file);
}

/* No line came; NULL = the file ends behind a whole record. */
static const char *why_none(const struct csv_reader *reader, bool has_begun)
{
    if (feof(reader->file) == 0) {
        return strerror(errno);
    }
    return has_begun ? "a quote is not closed" : NULL;
}

/* So much more each time that a record of many lines is not copied for each of them. */
static bool make_room(struct csv_reader *reader, size_t size)
{
    if (size <= reader->record_capacity) {
        return true;
    }
    char *record = realloc(reader->record, 2 * size);
    if (record == NULL) {
        return false;
    }
    reader->record = record;
    reader->record_capacity = 2 * size;
    return true;
}

bool csv_reader_next(struct csv_reader *reader, const char **ret_trouble)
{
    struct quotes quotes = {.at_start = true};
    unsigned long long first = reader->line + 1;
    size_t used = 0;

    *ret_trouble = NULL;
    do {
        ssize_t size = read_line(reader);
        if (size < 0) {
            reader->line = used > 0 ? first : reader->line;
            *ret_trouble = why_none(reader, used > 0);
            return false;
        }
        reader->line += 1;
        if (strlen(reader->text) != (size_t)size) {
            *ret_trouble = "a zero byte: CSV is text; export and import carry any bytes";
            return false;
        }
        if (!make_room(reader, used + (size_t)size + 1)) {
            *ret_trouble = "no memory for this line";
            return false;
        }
        memcpy(reader->record + used, reader->text, (size_t)size + 1);
        used += (size_t)size;
        follow_quotes(&quotes, reader->text);
    } while (quotes.open);
    while (used > 0 && (reader->record[used - 1] == '\n' || reader->record[used - 1] == '\r')) {
        reader->record[--used] = '\0';
    }
    return true;
}

void csv_reader_deinit(struct csv_reader *reader)
{
    free(reader->first_line);
    free(reader->text);
    free(reader->record);
}

size_t csv_cut(char *record, char **fields, size_t fields_max)
{
    size_t count = 0;
    char *at = record;

    for (;;) {
        if (count == fields_max) {
            return 0;
        }
        char *to = at;
        fields[count++] = to;
        if (*at == '"') {
            for (at += 1; *at != '\0' && (*at != '"' || at[1] == '"'); at++) {
                at += *at == '"';
                *to++ = *at;
            }
            if (*at != '"' || (at[1] != ',' && at[1] != '\0')) {
                return 0;
            }
            at += 1;
        } else {
            to = at = at + strcspn(at, ",");
        }
        bool more = *at == ',';
        *to = '\0';
        if (!more) {
            return count;
        }
        at += 1;
    }
}

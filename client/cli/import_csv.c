#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/importer.h"
#include "client/cli/words.h"

#define FIELDS_MAX 4096

/* Records of a file whose first line has been read. */
struct reader {
    FILE *file;
    char *first_line; /* NULL once it is taken */
    char *line;
    size_t line_capacity;
    char *record;
};

struct csv {
    const char *family; /* of all columns; NULL = the first line names them */
    bool encoded;       /* values are VALUE@TIMESTAMP */
    char *families[FIELDS_MAX];
    char *columns[FIELDS_MAX];
    char *fields[FIELDS_MAX];
    struct edubba_mutation mutations[FIELDS_MAX];
    size_t column_count;
};

/* Does the text end inside a quoted field? */
static bool quote_is_open(const char *text)
{
    bool at_start = true; /* of a field */
    bool quoted = false;  /* the field began with a quote */
    bool open = false;
    for (; *text != '\0'; text++) {
        quoted = at_start ? *text == '"' : quoted;
        open = quoted && *text == '"' ? !open : open; /* "" closes and opens again */
        at_start = !open && *text == ',';
    }
    return open;
}

/* The next line into reader->line; its size, or -1 at the end of the file. */
static ssize_t read_line(struct reader *reader)
{
    if (reader->first_line != NULL) {
        reader->line = reader->first_line;
        reader->line_capacity = strlen(reader->first_line) + 1;
        reader->first_line = NULL;
        return (ssize_t)reader->line_capacity - 1;
    }
    return getline(&reader->line, &reader->line_capacity, reader->file);
}

/* Read a record: a line, or several where a quoted field has line ends in it.  False at the end of
 * the file, or with *ret_trouble at one that cannot be. */
static bool read_record(struct reader *reader, struct importer *importer, const char **ret_trouble)
{
    size_t used = 0;
    ssize_t size = 0;

    *ret_trouble = NULL;
    do {
        size = read_line(reader);
        if (size < 0) {
            *ret_trouble = used > 0 ? "a quote is not closed" : NULL;
            return false;
        }
        importer->line += 1;
        if (strlen(reader->line) != (size_t)size) {
            *ret_trouble = "a zero byte: CSV is text; export and import carry any bytes";
            return false;
        }
        char *record = realloc(reader->record, used + (size_t)size + 1);
        if (record == NULL) {
            *ret_trouble = "no memory for this line";
            return false;
        }
        reader->record = record;
        memcpy(record + used, reader->line, (size_t)size + 1);
        used += (size_t)size;
    } while (quote_is_open(reader->record));
    while (used > 0 && (reader->record[used - 1] == '\n' || reader->record[used - 1] == '\r')) {
        reader->record[--used] = '\0';
    }
    return true;
}

/* Cut a record into fields in place ("..." with "" inside as usual); 0 if it is malformed. */
static size_t cut_record(char *line, char **fields)
{
    size_t count = 0;
    char *at = line;

    for (;;) {
        if (count == FIELDS_MAX) {
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

/* Names stand for the fields after them until the next name. */
static bool fill_families(struct csv *csv, const char *record)
{
    char *copy = strdup(record);
    size_t count = copy != NULL ? cut_record(copy, csv->families) : 0;
    for (size_t i = 2; i < count; i++) {
        if (csv->families[i][0] == '\0') {
            csv->families[i] = csv->families[i - 1];
        }
    }
    csv->column_count = count;
    return count > 1; /* copy lives as long as the process: the names point into it */
}

static bool fill_columns(struct csv *csv, const char *record)
{
    char *copy = strdup(record);
    size_t count = copy != NULL ? cut_record(copy, csv->columns) : 0;
    if (csv->family != NULL) {
        csv->column_count = count;
    }
    return count > 1 && count == csv->column_count;
}

static size_t make_mutations(struct csv *csv, size_t field_count)
{
    size_t used = 0;
    for (size_t i = 1; i < field_count; i++) {
        char *value = csv->fields[i];
        int64_t timestamp_us = EDUBBA_NOW;
        char *at = csv->encoded ? strrchr(value, '@') : NULL;
        if (value[0] == '\0') {
            continue; /* an empty field is no cell */
        }
        if (at != NULL && word_i64(at + 1, &timestamp_us)) {
            *at = '\0';
        }
        csv->mutations[used++] = edubba_set_cell(
            csv->family != NULL ? csv->family : csv->families[i], EDUBBA_TEXT(csv->columns[i]),
            timestamp_us, EDUBBA_TEXT(value));
    }
    return used;
}

static int refuse_fields(const struct csv *csv, struct importer *importer, size_t count)
{
    char why[128];
    if (count == 0) {
        return importer_refuse(importer, "text stands behind a closing quote, or too many fields");
    }
    (void)snprintf(why, sizeof why, "%zu field%s where the header has %zu", count,
                   count == 1 ? "" : "s", csv->column_count);
    return importer_refuse(importer, why);
}

static int import_records(struct csv *csv, struct importer *importer, struct reader *reader)
{
    const char *trouble = NULL;

    while (read_record(reader, importer, &trouble)) {
        if (reader->record[0] == '\0') {
            continue;
        }
        size_t count = cut_record(reader->record, csv->fields);
        if (count < 2 || count > csv->column_count) {
            return refuse_fields(csv, importer, count);
        }
        size_t mutations = make_mutations(csv, count);
        if (mutations > 0 && !importer_write(importer, EDUBBA_TEXT(csv->fields[0]), csv->mutations,
                                             mutations, true)) {
            break;
        }
    }
    return trouble != NULL ? importer_refuse(importer, trouble) : importer_end(importer);
}

/* The lines of families and columns; NULL, or what is wrong with them. */
static const char *read_header(struct csv *csv, struct importer *importer, struct reader *reader)
{
    const char *trouble = NULL;
    bool good = true;

    if (csv->family == NULL) {
        good = read_record(reader, importer, &trouble) && fill_families(csv, reader->record);
    }
    good = good && read_record(reader, importer, &trouble) && fill_columns(csv, reader->record);
    if (good || trouble != NULL) {
        return trouble;
    }
    return csv->family != NULL ? "the first line must name the columns: ,COLUMN,COLUMN..."
                               : "the first line must name families and the second columns, in as "
                                 "many fields (or give column-family=FAMILY)";
}

/* Returns the exit code, or -1 to go on. */
static int take_words(struct session *session, struct csv *csv)
{
    int code = session_refuse_repeated(session, 2);
    if (code >= 0) {
        return code;
    }
    for (int i = 2; i < session->argument_count; i++) {
        const char *word = session->arguments[i];
        const char *value = NULL;
        int64_t number = 0;
        if ((value = word_value(word, "column-family")) != NULL && value[0] != '\0') {
            csv->family = value;
        } else if ((value = word_value(word, "timestamp")) != NULL &&
                   (strcmp(value, "now") == 0 || strcmp(value, "value-encoded") == 0)) {
            csv->encoded = strcmp(value, "value-encoded") == 0;
        } else if (((value = word_value(word, "batch-size")) != NULL ||
                    (value = word_value(word, "workers")) != NULL) &&
                   word_i64(value, &number) && number > 0) {
            continue; /* cbt's: here writes gather by themselves */
        } else {
            return session_misuse(session, "'%s' is not understood", word);
        }
    }
    return -1;
}

int import_csv(struct session *session, FILE *file, char *first_line)
{
    struct csv *csv = calloc(1, sizeof *csv);
    struct reader reader = {.file = file, .first_line = strdup(first_line)};
    struct importer importer;

    int code = csv == NULL || reader.first_line == NULL ? EXIT_CODE_FAILED
                                                        : take_words(session, csv);
    struct edubba_table *table = code < 0 ? session_table(session, session->arguments[0]) : NULL;
    if (table != NULL) {
        importer_begin(&importer, session, table);
        importer.line = 0;
        const char *trouble = read_header(csv, &importer, &reader);
        code = trouble == NULL ? import_records(csv, &importer, &reader)
                               : importer_refuse(&importer, trouble);
        edubba_table_close(table);
    }
    free(reader.first_line);
    free(reader.line);
    free(reader.record);
    free(csv);
    return code < 0 ? EXIT_CODE_FAILED : code;
}

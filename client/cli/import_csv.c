#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/importer.h"
#include "client/cli/words.h"

#define FIELDS_MAX 4096

struct csv {
    const char *family; /* of all columns; NULL = the first line names them */
    bool encoded;       /* values are VALUE@TIMESTAMP */
    char *families[FIELDS_MAX];
    char *columns[FIELDS_MAX];
    char *fields[FIELDS_MAX];
    struct edubba_mutation mutations[FIELDS_MAX];
    size_t column_count;
};

/* Cut a line into fields in place ("..." with "" inside as usual); 0 if it is malformed. */
static size_t cut_line(char *line, char **fields)
{
    size_t count = 0;
    char *at = line;
    char *end = line + strcspn(line, "\r\n");

    *end = '\0';
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
static bool fill_families(struct csv *csv, char *line)
{
    char *copy = strdup(line);
    size_t count = copy != NULL ? cut_line(copy, csv->families) : 0;
    for (size_t i = 2; i < count; i++) {
        if (csv->families[i][0] == '\0') {
            csv->families[i] = csv->families[i - 1];
        }
    }
    csv->column_count = count;
    return count > 1; /* copy lives as long as the process: the names point into it */
}

static bool fill_columns(struct csv *csv, const char *line)
{
    char *copy = strdup(line);
    size_t count = copy != NULL ? cut_line(copy, csv->columns) : 0;
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

static int import_lines(struct csv *csv, struct importer *importer, FILE *file)
{
    char *line = NULL;
    size_t capacity = 0;
    int code = -1;

    while (code < 0 && getline(&line, &capacity, file) >= 0) {
        importer->line += 1;
        if (line[strspn(line, "\r\n")] == '\0') {
            continue;
        }
        size_t count = cut_line(line, csv->fields);
        if (count < 2 || count > csv->column_count) {
            code = importer_refuse(importer, "wrong number of fields, or a quote is not closed");
            break;
        }
        size_t mutations = make_mutations(csv, count);
        if (mutations > 0 &&
            !importer_write(importer, EDUBBA_TEXT(csv->fields[0]), csv->mutations, mutations)) {
            break;
        }
    }
    free(line);
    return code >= 0 ? code : importer_end(importer);
}

/* Returns the exit code, or -1 to go on. */
static int take_words(struct session *session, struct csv *csv)
{
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
    struct importer importer;
    char *line = NULL;
    size_t capacity = 0;

    int code = csv == NULL ? EXIT_CODE_FAILED : take_words(session, csv);
    struct edubba_table *table = code < 0 ? session_table(session, session->arguments[0]) : NULL;
    if (table != NULL) {
        importer_begin(&importer, session, table);
        bool good = true;
        if (csv->family == NULL) {
            good = fill_families(csv, first_line) && getline(&line, &capacity, file) >= 0;
            importer.line += 1;
        }
        good = good && fill_columns(csv, csv->family != NULL ? first_line : line);
        code = good ? import_lines(csv, &importer, file)
                    : importer_refuse(&importer, "the lines of families and columns do not fit");
        edubba_table_close(table);
    }
    free(line);
    free(csv);
    return code < 0 ? EXIT_CODE_FAILED : code;
}

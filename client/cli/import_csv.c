#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/csv.h"
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

/* The next record; what is said of it names its line. */
static bool read_record(struct csv_reader *reader,
                        struct importer *importer,
                        const char **ret_trouble)
{
    bool is_read = csv_reader_next(reader, ret_trouble);
    importer->line = reader->line;
    return is_read;
}

/* Names stand for the fields after them until the next name. */
static bool fill_families(struct csv *csv, const char *record)
{
    char *copy = strdup(record);
    size_t count = copy != NULL ? csv_cut(copy, csv->families, FIELDS_MAX) : 0;
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
    size_t count = copy != NULL ? csv_cut(copy, csv->columns, FIELDS_MAX) : 0;
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

static int import_records(struct csv *csv, struct importer *importer, struct csv_reader *reader)
{
    const char *trouble = NULL;

    while (read_record(reader, importer, &trouble)) {
        if (reader->record[0] == '\0') {
            continue;
        }
        size_t count = csv_cut(reader->record, csv->fields, FIELDS_MAX);
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
static const char *read_header(struct csv *csv,
                               struct importer *importer,
                               struct csv_reader *reader)
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
    struct csv_reader reader = {.file = file, .first_line = strdup(first_line)};
    struct importer importer;

    int code = csv == NULL || reader.first_line == NULL ? EXIT_CODE_FAILED
                                                        : take_words(session, csv);
    struct edubba_table *table = code < 0 ? session_table(session, session->arguments[0]) : NULL;
    if (table != NULL) {
        importer_begin(&importer, session, table);
        const char *trouble = read_header(csv, &importer, &reader);
        code = trouble == NULL ? import_records(csv, &importer, &reader)
                               : importer_refuse(&importer, trouble);
        edubba_table_close(table);
    }
    csv_reader_deinit(&reader);
    free(csv);
    return code < 0 ? EXIT_CODE_FAILED : code;
}

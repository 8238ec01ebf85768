#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/importer.h"
#include "client/cli/words.h"

#define FAMILIES_MAX        100
#define MUTATIONS_AT_A_TIME 50000 /* of one row; a larger row comes in several writes */

/* --- base64 ------------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(DIGITS, c) : NULL;
    return at != NULL ? (int)(at - DIGITS) : -1;
}

/* Decode in place of text; false if it is no base64. */
static bool decode_base64(const char *text, unsigned char *out, size_t *ret_size)
{
    size_t length = strlen(text);
    size_t used = 0;

    if (length % 4 != 0) {
        return false;
    }
    for (size_t i = 0; i < length; i += 4) {
        int padding = (text[i + 3] == '=') + (text[i + 2] == '=' && text[i + 3] == '=');
        if (padding > 0 && i + 4 != length) {
            return false;
        }
        unsigned long group = 0;
        for (size_t j = 0; j < 4; j++) {
            int digit = j + (size_t)padding >= 4 ? 0 : digit_of(text[i + j]);
            if (digit < 0) {
                return false;
            }
            group = group << 6 | (unsigned long)digit;
        }
        out[used++] = (unsigned char)(group >> 16);
        if (padding < 2) {
            out[used++] = (unsigned char)(group >> 8);
        }
        if (padding < 1) {
            out[used++] = (unsigned char)group;
        }
    }
    *ret_size = used;
    return true;
}

/* A decoded string, in memory that lives as long as the row's. */
struct row_memory {
    unsigned char *data;
    size_t used;
};

static bool take_bytes(struct row_memory *memory, json_t *value, struct edubba_bytes *ret_bytes)
{
    size_t size = 0;
    if (!json_is_string(value) ||
        !decode_base64(json_string_value(value), memory->data + memory->used, &size)) {
        return false;
    }
    *ret_bytes = edubba_bytes_of(memory->data + memory->used, size);
    memory->used += size;
    return true;
}

/* --- the table ---------------------------------------------------------------------------------- */

struct header {
    struct edubba_family families[FAMILIES_MAX];
    struct edubba_gc_rule *rules[FAMILIES_MAX];
    size_t count;
};

static bool take_family(struct header *header, json_t *family)
{
    const char *name = json_string_value(json_object_get(family, "name"));
    const char *gc = json_string_value(json_object_get(family, "gc"));
    const char *type = json_string_value(json_object_get(family, "type"));
    struct edubba_error error;
    size_t at = header->count;

    if (name == NULL || gc == NULL || type == NULL || at == FAMILIES_MAX ||
        !word_rule_parse(gc, &header->rules[at], &error)) {
        return false;
    }
    header->families[at] = (struct edubba_family){.name = name, .gc = *header->rules[at]};
    header->count += 1; /* its rule is there to be freed */
    for (int i = EDUBBA_PLAIN; i <= EDUBBA_BYTESHLL; i++) {
        if (strcmp(type, aggregate_text((enum edubba_aggregate)i)) == 0) {
            header->families[at].aggregate = (enum edubba_aggregate)i;
            return true;
        }
    }
    return false; /* one that is not known here must not become a plain family */
}

static void header_free(struct header *header)
{
    for (size_t i = 0; i < header->count; i++) {
        edubba_gc_rule_free(header->rules[i]);
    }
}

/* Make the table if it is not there.  One that is there must have the families; the writes tell. */
static bool make_table(struct session *session, json_t *root, struct header *header)
{
    struct edubba_schema schema = {.name = session->arguments[0]};
    struct edubba_error error;

    schema.micros = json_is_true(json_object_get(root, "micros"));
    schema.families = header->families;
    schema.family_count = header->count;
    struct edubba_client *client = session_client(session);
    if (client == NULL) {
        return false;
    }
    enum edubba_code code = edubba_create_table(client, &schema, NULL, 0, &error);
    if (code != EDUBBA_OK && code != EDUBBA_ALREADY_EXISTS) {
        (void)session_fail(session, &error);
        return false;
    }
    return true;
}

/* --- rows --------------------------------------------------------------------------------------- */

static bool is_aggregate(const struct header *header, const char *family)
{
    for (size_t i = 0; i < header->count; i++) {
        if (strcmp(header->families[i].name, family) == 0) {
            return header->families[i].aggregate != EDUBBA_PLAIN;
        }
    }
    return false;
}

static bool take_cell(const struct header *header,
                      struct row_memory *memory,
                      json_t *cell,
                      struct edubba_mutation *ret_mutation)
{
    const char *family = json_string_value(json_array_get(cell, 0));
    json_t *timestamp = json_array_get(cell, 2);
    struct edubba_bytes qualifier;
    struct edubba_bytes value;

    if (family == NULL || !json_is_integer(timestamp) ||
        !take_bytes(memory, json_array_get(cell, 1), &qualifier) ||
        !take_bytes(memory, json_array_get(cell, 3), &value)) {
        return false;
    }
    *ret_mutation = is_aggregate(header, family)
                        ? edubba_merge_state(family, qualifier, json_integer_value(timestamp),
                                             value)
                        : edubba_set_cell(family, qualifier, json_integer_value(timestamp), value);
    return true;
}

/* A row replaces what is there: it is deleted in the same atomic write, so that aggregate cells
 * come back as they were, however often the file is imported. */
static bool write_row(struct importer *importer,
                      const struct header *header,
                      struct row_memory *memory,
                      json_t *row)
{
    json_t *cells = json_object_get(row, "c");
    size_t count = json_array_size(cells);
    struct edubba_bytes key;
    struct edubba_mutation *mutations = calloc(
        (count < MUTATIONS_AT_A_TIME ? count : MUTATIONS_AT_A_TIME) + 1, sizeof *mutations);
    bool good = mutations != NULL && take_bytes(memory, json_object_get(row, "k"), &key);

    size_t used = 0;
    if (good) {
        mutations[used++] = edubba_delete_from_row();
    }
    for (size_t i = 0; good && i < count; i++) {
        good = take_cell(header, memory, json_array_get(cells, i), &mutations[used]);
        used += 1;
        if (good && (used > MUTATIONS_AT_A_TIME || i + 1 == count)) {
            /* A refusal is kept, and ends the import. */
            (void)importer_write(importer, key, mutations, used, i + 1 == count);
            if (i + 1 < count) {
                edubba_drain(importer->session->client); /* the parts of a row stay in order */
            }
            used = 0;
        }
    }
    free(mutations);
    return good;
}

/* One line: a row, or the end.  Returns false if it is neither. */
static bool take_line(struct importer *importer,
                      const struct header *header,
                      const char *line,
                      bool *ret_end)
{
    json_t *row = json_loads(line, 0, NULL);
    struct row_memory memory = {.data = malloc(strlen(line) + 1)};
    json_t *rows = json_object_get(row, "rows");
    bool good = row != NULL && memory.data != NULL;

    if (good && json_is_integer(rows)) {
        *ret_end = true;
        good = (unsigned long long)json_integer_value(rows) == importer->rows;
    } else if (good) {
        good = write_row(importer, header, &memory, row);
    }
    free(memory.data);
    json_decref(row);
    return good;
}

static int import_rows(struct session *session, FILE *file, const struct header *header)
{
    struct edubba_table *table = session_table(session, session->arguments[0]);
    struct importer importer;
    char *line = NULL;
    size_t capacity = 0;
    bool end = false;
    int code = -1;

    if (table == NULL) {
        return EXIT_CODE_FAILED;
    }
    importer_begin(&importer, session, table);
    while (code < 0 && !end && !importer_has_failed(&importer) &&
           getline(&line, &capacity, file) >= 0) {
        importer.line += 1;
        if (!take_line(&importer, header, line, &end)) {
            code = importer_refuse(&importer, "this is no line of an export");
        }
    }
    while (code < 0 && end && getline(&line, &capacity, file) >= 0) {
        importer.line += 1;
        if (line[strspn(line, " \t\r\n")] == '\0') {
            continue;
        }
        code = importer_refuse(&importer, "something stands behind the export's last line: import "
                                          "one export at a time");
    }
    if (code < 0) {
        code = end ? importer_end(&importer)
                   : importer_refuse(&importer, "the file is cut short: its last line is missing");
    }
    free(line);
    edubba_table_close(table);
    return code;
}

/* The words of CSV say nothing of an export; cbt's are taken, as with CSV.  The exit code, or -1 to go on. */
static int refuse_words(const struct session *session)
{
    for (int i = 2; i < session->argument_count; i++) {
        const char *word = session->arguments[i];
        if (word_value(word, "batch-size") == NULL && word_value(word, "workers") == NULL) {
            return session_misuse(session,
                                  "'%s' does not go with an export, which has families and "
                                  "timestamps of its own",
                                  word);
        }
    }
    return -1;
}

int import_export(struct session *session, FILE *file, const char *first_line)
{
    int refused = refuse_words(session);
    if (refused >= 0) {
        return refused;
    }
    struct header header = {.count = 0};
    json_t *root = json_loads(first_line, 0, NULL);
    json_t *families = json_object_get(root, "families");
    bool good = root != NULL && json_integer_value(json_object_get(root, "edubba_export")) == 1;
    int code = EXIT_CODE_FAILED;

    for (size_t i = 0; good && i < json_array_size(families); i++) {
        good = take_family(&header, json_array_get(families, i));
    }
    if (!good) {
        code = session_file_failed(session, "%s:1: not an export of a version that this ebt reads",
                                   session->arguments[1]);
    } else if (make_table(session, root, &header)) {
        code = import_rows(session, file, &header);
    }
    header_free(&header);
    json_decref(root);
    return code;
}

#include <stdlib.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/words.h"

#define PREFIX_BYTES_MAX 4096

/* What lookup and read have been asked for. */
struct wanted {
    struct edubba_bytes start; /* of these three: no data = not given */
    struct edubba_bytes end;
    struct edubba_bytes prefix;
    const char *regex;
    char *columns;
    int64_t count;
    int64_t cells_per_column;
    bool reversed;
    bool keys_only;
};

/* Take one word; false if it is none of ours or its value is bad. */
static bool take_word(struct wanted *wanted, char *word, bool whole_table)
{
    const char *value = NULL;
    if ((value = word_value(word, "columns")) != NULL) {
        wanted->columns = word + strlen("columns=");
        return true;
    }
    if ((value = word_value(word, "cells-per-column")) != NULL) {
        return word_i64(value, &wanted->cells_per_column) && wanted->cells_per_column > 0;
    }
    if ((value = word_value(word, "keys-only")) != NULL) {
        return word_bool(value, &wanted->keys_only);
    }
    if (word_value(word, "app-profile") != NULL) {
        return true; /* as in main.c; here it may be the first word */
    }
    if (!whole_table) {
        return false;
    }
    if ((value = word_value(word, "start")) != NULL) {
        wanted->start = EDUBBA_TEXT(value);
    } else if ((value = word_value(word, "end")) != NULL) {
        wanted->end = EDUBBA_TEXT(value);
    } else if ((value = word_value(word, "prefix")) != NULL) {
        wanted->prefix = EDUBBA_TEXT(value);
    } else if ((value = word_value(word, "regex")) != NULL) {
        wanted->regex = value;
    } else if ((value = word_value(word, "count")) != NULL) {
        return word_i64(value, &wanted->count) && wanted->count > 0;
    } else if ((value = word_value(word, "reversed")) != NULL) {
        return word_bool(value, &wanted->reversed);
    } else {
        return false;
    }
    return true;
}

/* The bounds, which stand as they were given so far.  Returns the exit code, or -1 to go on. */
static int take_keys(const struct session *session, struct wanted *wanted)
{
    struct edubba_bytes *const keys[] = {&wanted->start, &wanted->end, &wanted->prefix};
    int code = -1;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && code < 0; i++) {
        if (keys[i]->data != NULL) {
            code = session_key(session, (char *)(uintptr_t)keys[i]->data, keys[i]);
        }
    }
    return code;
}

/* Returns the exit code, or -1 to go on. */
static int take_words(struct session *session, int first, bool whole_table, struct wanted *wanted)
{
    int code = session_refuse_repeated(session, first);
    if (code >= 0) {
        return code;
    }
    for (int i = first; i < session->argument_count; i++) {
        const char *word = session->arguments[i];
        if (take_word(wanted, session->arguments[i], whole_table)) {
            continue;
        }
        if (word_value(word, "cells-per-column") != NULL ||
            (whole_table && word_value(word, "count") != NULL)) {
            return session_misuse(session, "'%s': the number must be a whole one above 0", word);
        }
        if (word_value(word, "keys-only") != NULL ||
            (whole_table && word_value(word, "reversed") != NULL)) {
            return session_misuse(session, "'%s': it is either true or false", word);
        }
        return session_misuse(session, "%s does not know '%s'", session->command->name, word);
    }
    if (wanted->prefix.data != NULL && (wanted->start.data != NULL || wanted->end.data != NULL)) {
        return session_misuse(session, "prefix does not go with start or end");
    }
    return take_keys(session, wanted);
}

/* The filter of what is wanted; NULL for everything (or, with *ret_good false, for bad columns). */
static struct edubba_filter *make_filter(const struct wanted *wanted, bool *ret_good)
{
    struct edubba_filter *parts[5];
    size_t count = 0;

    *ret_good = true;
    if (wanted->regex != NULL) {
        parts[count++] = edubba_filter_row_key_regex(EDUBBA_TEXT(wanted->regex));
    }
    if (wanted->columns != NULL) {
        parts[count++] = word_columns_filter(wanted->columns, ret_good);
    }
    if (wanted->cells_per_column > 0) {
        parts[count++] = edubba_filter_cells_per_column_limit(wanted->cells_per_column);
    }
    if (wanted->keys_only) {
        parts[count++] = edubba_filter_cells_per_row_limit(1);
        parts[count++] = edubba_filter_strip_value();
    }
    if (count == 0) {
        return NULL;
    }
    return count == 1 ? parts[0] : edubba_filter_chain(parts, count);
}

static struct edubba_schema *schema_of(struct session *session)
{
    struct edubba_schema *schema = NULL;
    if (edubba_get_table(session->client, session->arguments[0], &schema, NULL) != EDUBBA_OK) {
        return NULL; /* without it aggregate cells print as bytes */
    }
    return schema;
}

int run_lookup(struct session *session)
{
    struct wanted wanted = {0};
    struct edubba_bytes key;
    struct edubba_row *row = NULL;
    struct edubba_error error;
    bool good = true;

    int code = take_words(session, 2, false, &wanted);
    code = code < 0 ? session_row(session, &key) : code;
    if (code >= 0) {
        return code;
    }
    struct edubba_filter *filter = make_filter(&wanted, &good);
    if (!good) {
        edubba_filter_free(filter);
        return session_misuse(session, "the list of columns is bad");
    }
    struct edubba_table *table = session_table(session, session->arguments[0]);
    if (table == NULL) {
        edubba_filter_free(filter);
        return EXIT_CODE_FAILED;
    }
    if (edubba_read_row(table, key, filter, &row, &error) == EDUBBA_OK) {
        struct edubba_schema *schema = schema_of(session);
        if (row != NULL) {
            print_row(session->out, row, schema, session->json, wanted.keys_only);
        }
        edubba_schema_free(schema);
        code = EXIT_CODE_OK;
    } else {
        code = session_fail(session, &error);
    }
    edubba_row_free(row);
    edubba_table_close(table);
    edubba_filter_free(filter);
    return code;
}

/* --- scans -------------------------------------------------------------------------------------- */

/* The least key above all that begin with prefix; empty when there is none. */
static struct edubba_bytes end_of_prefix(struct edubba_bytes prefix,
                                         unsigned char end[PREFIX_BYTES_MAX])
{
    size_t size = prefix.size;
    if (size > PREFIX_BYTES_MAX) {
        return EDUBBA_NOTHING;
    }
    memcpy(end, prefix.data, size);
    while (size > 0 && end[size - 1] == 0xff) {
        size -= 1;
    }
    if (size > 0) {
        end[size - 1] = (unsigned char)(end[size - 1] + 1);
    }
    return edubba_bytes_of(end, size);
}

static struct edubba_scan *open_scan(struct session *session,
                                     struct edubba_table *table,
                                     const struct wanted *wanted,
                                     const struct edubba_filter *filter)
{
    unsigned char prefix_end[PREFIX_BYTES_MAX];
    struct edubba_bounds bounds = {.start_open = false};
    struct edubba_scan_options options = {.ranges = &bounds, .range_count = 1, .filter = filter};
    struct edubba_scan *scan = NULL;
    struct edubba_error error;

    if (wanted->prefix.size > 0) {
        bounds.start = wanted->prefix;
        bounds.end = end_of_prefix(wanted->prefix, prefix_end);
    }
    if (wanted->start.data != NULL) {
        bounds.start = wanted->start;
    }
    if (wanted->end.data != NULL) {
        bounds.end = wanted->end;
    }
    options.rows_limit = (uint64_t)wanted->count;
    options.reversed = wanted->reversed;
    if (edubba_scan_open(table, &options, &scan, &error) != EDUBBA_OK) {
        (void)session_fail(session, &error);
        return NULL;
    }
    return scan;
}

/* Print or count all rows of a scan. */
static int drain_scan(struct session *session,
                      struct edubba_scan *scan,
                      const struct wanted *wanted,
                      bool print,
                      unsigned long long *ret_count)
{
    struct edubba_schema *schema = print ? schema_of(session) : NULL;
    const struct edubba_row *row = NULL;
    struct progress progress;
    struct edubba_error error;
    enum edubba_code code = EDUBBA_OK;

    *ret_count = 0;
    progress_begin(&progress, "rows");
    while ((code = edubba_scan_next(scan, &row, &error)) == EDUBBA_OK && row != NULL) {
        if (print) {
            print_row(session->out, row, schema, session->json, wanted->keys_only);
            if (ferror(session->out)) {
                break;
            }
        }
        *ret_count += 1;
        progress_step(&progress, *ret_count);
    }
    progress_end(&progress);
    edubba_schema_free(schema);
    return code == EDUBBA_OK ? EXIT_CODE_OK : session_fail(session, &error);
}

static int scan_table(struct session *session, struct wanted *wanted, bool print)
{
    unsigned long long count = 0;
    bool good = true;
    struct edubba_filter *filter = make_filter(wanted, &good);
    if (!good) {
        edubba_filter_free(filter);
        return session_misuse(session, "the list of columns is bad");
    }
    struct edubba_table *table = session_table(session, session->arguments[0]);
    struct edubba_scan *scan = table != NULL ? open_scan(session, table, wanted, filter) : NULL;
    int code = EXIT_CODE_FAILED;
    if (scan != NULL) {
        code = drain_scan(session, scan, wanted, print, &count);
        edubba_scan_close(scan);
    }
    if (code == EXIT_CODE_OK && !print) {
        fprintf(session->out, session->json ? "{\"count\":%llu}\n" : "%llu\n", count);
    }
    edubba_table_close(table);
    edubba_filter_free(filter);
    return code;
}

int run_read(struct session *session)
{
    struct wanted wanted = {0};
    int code = take_words(session, 1, true, &wanted);
    return code >= 0 ? code : scan_table(session, &wanted, true);
}

int run_count(struct session *session)
{
    struct wanted wanted = {.keys_only = true};
    if (session->argument_count == 2) {
        const char *prefix = word_value(session->arguments[1], "prefix");
        if (prefix == NULL) {
            return session_misuse(session, "'%s' is not prefix=KEY", session->arguments[1]);
        }
        wanted.prefix = EDUBBA_TEXT(prefix);
    }
    int code = take_keys(session, &wanted);
    return code >= 0 ? code : scan_table(session, &wanted, false);
}

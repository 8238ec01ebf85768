#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/words.h"

/*
 * The form, JSON lines:
 *   {"edubba_export":1,"table":"T","micros":false,"families":[{"name":"f","gc":"maxage=1d","type":"intsum"}]}
 *   {"k":"<key>","c":[["f","<qualifier>",timestamp,"<value>"],...]}        bytes in base64
 *   ...
 *   {"rows":N}                                                    the end: without it, it was cut
 */

static void write_header(FILE *out, const struct edubba_schema *schema)
{
    fputs("{\"edubba_export\":1,\"table\":", out);
    print_json_text(out, schema->name);
    fprintf(out, ",\"micros\":%s,\"families\":[", schema->micros ? "true" : "false");
    for (size_t i = 0; i < schema->family_count; i++) {
        const struct edubba_family *family = &schema->families[i];
        char *rule = edubba_gc_rule_format(&family->gc);
        fputs(i > 0 ? ",{\"name\":" : "{\"name\":", out);
        print_json_text(out, family->name);
        fputs(",\"gc\":", out);
        print_json_text(out, rule != NULL ? rule : "never");
        fprintf(out, ",\"type\":\"%s\"}", aggregate_text(family->aggregate));
        edubba_free(rule);
    }
    fputs("]}\n", out);
}

static void write_row(FILE *out, const struct edubba_row *row)
{
    fputs("{\"k\":\"", out);
    print_base64(out, row->key);
    fputs("\",\"c\":[", out);
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct edubba_cell *cell = &row->cells[i];
        fprintf(out, "%s[\"%.*s\",\"", i > 0 ? "," : "", (int)cell->family.size,
                (const char *)cell->family.data);
        print_base64(out, cell->qualifier);
        fprintf(out, "\",%" PRId64 ",\"", cell->timestamp_us);
        print_base64(out, cell->value);
        fputs("\"]", out);
    }
    fputs("]}\n", out);
}

static int export_rows(struct session *session, struct edubba_table *table, FILE *out)
{
    struct edubba_scan_options options = {.filter = NULL};
    struct edubba_scan *scan = NULL;
    const struct edubba_row *row = NULL;
    struct progress progress;
    struct edubba_error error;
    unsigned long long count = 0;

    if (edubba_scan_open(table, &options, &scan, &error) != EDUBBA_OK) {
        return session_fail(session, &error);
    }
    progress_begin(&progress, "rows");
    enum edubba_code code = EDUBBA_OK;
    while ((code = edubba_scan_next(scan, &row, &error)) == EDUBBA_OK && row != NULL &&
           !ferror(out)) {
        write_row(out, row);
        progress_step(&progress, ++count);
    }
    progress_end(&progress);
    edubba_scan_close(scan);
    if (code != EDUBBA_OK) {
        return session_fail(session, &error);
    }
    fprintf(out, "{\"rows\":%llu}\n", count);
    return EXIT_CODE_OK;
}

int run_export(struct session *session)
{
    const char *path = session->argument_count == 2 ? session->arguments[1] : NULL;
    struct edubba_schema *schema = NULL;
    struct edubba_error error;
    FILE *out = session->out;

    int code = path != NULL ? session_refuse_output(session) : -1;
    if (code >= 0) {
        return code;
    }
    struct edubba_table *table = session_table(session, session->arguments[0]);
    if (table == NULL) {
        return EXIT_CODE_FAILED;
    }
    if (edubba_get_table(session->client, session->arguments[0], &schema, &error) != EDUBBA_OK) {
        edubba_table_close(table);
        return session_fail(session, &error);
    }
    if (path != NULL) {
        out = fopen(path, "w");
    }
    code = EXIT_CODE_FAILED;
    if (out != NULL) {
        write_header(out, schema);
        code = export_rows(session, table, out);
    }
    /* What is wrong with session->out, main() says: a closed pipe is nothing to speak of. */
    if (out == NULL || (path != NULL && (ferror(out) || fclose(out) != 0))) {
        code = session_file_failed(session, "%s: %s", path, strerror(errno));
    }
    edubba_schema_free(schema);
    edubba_table_close(table);
    return code;
}

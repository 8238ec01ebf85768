#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "client/cli/command.h"
#include "client/cli/output.h"

/* The bundle as far as it is written. */
struct bundle {
    struct session *session;
    FILE *out;
    size_t lacking; /* parts in whose place stands why they are not there */
};

/* An object in place of what was not told. */
static void append_error(struct bundle *bundle, const struct edubba_error *error)
{
    fputs("{\"error\":", bundle->out);
    print_json_text(bundle->out, error->text);
    fputc('}', bundle->out);
    bundle->lacking++;
}

/* "name": what a process says of itself, or why it says nothing. */
static void append_status(struct bundle *bundle, const char *name, const char *address)
{
    struct edubba_error error;
    char *json = NULL;

    print_json_text(bundle->out, name);
    fputc(':', bundle->out);
    if (edubba_status(bundle->session->client, address, &json, &error) == EDUBBA_OK) {
        fputs(json, bundle->out);
    } else {
        append_error(bundle, &error);
    }
    edubba_free(json);
}

static void append_servers(struct bundle *bundle)
{
    struct edubba_server *servers = NULL;
    struct edubba_error error;
    size_t count = 0;

    fputs(",\n\"servers\":", bundle->out);
    if (edubba_list_servers(bundle->session->client, &servers, &count, &error) != EDUBBA_OK) {
        append_error(bundle, &error);
        return;
    }
    fputc('{', bundle->out);
    for (size_t i = 0; i < count; i++) {
        fputs(i > 0 ? ",\n" : "", bundle->out);
        append_status(bundle, servers[i].address, servers[i].address);
    }
    fputc('}', bundle->out);
    edubba_free(servers);
}

static void append_tablets(struct bundle *bundle, const char *table)
{
    struct edubba_tablet *tablets = NULL;
    struct edubba_error error;
    size_t count = 0;
    FILE *out = bundle->out;

    fputs(",\"tablets\":", out);
    if (edubba_list_tablets(bundle->session->client, table, &tablets, &count, &error) !=
        EDUBBA_OK) {
        append_error(bundle, &error);
        return;
    }
    fputc('[', out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s{\"tablet\":\"%" PRIu64 "\",", i > 0 ? "," : "", tablets[i].number);
        print_json_bytes(out, "start", tablets[i].start);
        fprintf(out, ",\"address\":\"%s\",\"state\":\"%s\"}", tablets[i].address, tablets[i].state);
    }
    fputc(']', out);
    edubba_free(tablets);
}

static void append_families(FILE *out, const struct edubba_schema *schema)
{
    fputc('[', out);
    for (size_t i = 0; i < schema->family_count; i++) {
        char *rule = edubba_gc_rule_format(&schema->families[i].gc);
        fputs(i > 0 ? ",{\"name\":" : "{\"name\":", out);
        print_json_text(out, schema->families[i].name);
        fputs(",\"gc\":", out);
        print_json_text(out, rule != NULL ? rule : "?");
        fputc('}', out);
        edubba_free(rule);
    }
    fputc(']', out);
}

static void append_table(struct bundle *bundle, const char *name)
{
    struct edubba_schema *schema = NULL;
    struct edubba_error error;

    fputs("{\"table\":", bundle->out);
    print_json_text(bundle->out, name);
    fputs(",\"families\":", bundle->out);
    if (edubba_get_table(bundle->session->client, name, &schema, &error) == EDUBBA_OK) {
        append_families(bundle->out, schema);
    } else {
        append_error(bundle, &error);
    }
    edubba_schema_free(schema);
    append_tablets(bundle, name);
    fputc('}', bundle->out);
}

static void append_tables(struct bundle *bundle)
{
    char **names = NULL;
    struct edubba_error error;

    fputs(",\n\"tables\":", bundle->out);
    if (edubba_list_tables(bundle->session->client, &names, &error) != EDUBBA_OK) {
        append_error(bundle, &error);
        return;
    }
    fputc('[', bundle->out);
    for (size_t i = 0; names[i] != NULL; i++) {
        fputs(i > 0 ? ",\n" : "", bundle->out);
        append_table(bundle, names[i]);
    }
    fputc(']', bundle->out);
    edubba_free(names);
}

int run_debug(struct session *session)
{
    FILE *out = session->out;

    if (strcmp(session->arguments[0], "bundle") != 0) {
        return session_misuse(session, "'%s' is not bundle", session->arguments[0]);
    }
    int code = session->argument_count == 2 ? session_refuse_output(session) : -1;
    if (code >= 0) {
        return code;
    }
    session_only_looks(session);
    if (session_client(session) == NULL) {
        return EXIT_CODE_FAILED;
    }
    if (session->argument_count == 2) {
        out = fopen(session->arguments[1], "w");
        if (out == NULL) {
            return session_file_failed(session, "%s: %s", session->arguments[1], strerror(errno));
        }
    }
    struct bundle bundle = {.session = session, .out = out};
    fprintf(out, "{\"ebt\":\"" EDUBBA_VERSION "\",\"time\":%lld,\n", (long long)time(NULL));
    append_status(&bundle, "master", NULL);
    append_servers(&bundle);
    append_tables(&bundle);
    fputs("}\n", out);
    if (out != session->out && (ferror(out) || fclose(out) != 0)) {
        return session_file_failed(session, "%s: %s", session->arguments[1], strerror(errno));
    }
    if (bundle.lacking > 0) {
        session_warn(session, "%zu part%s of the bundle %s not there; what stands instead says why",
                     bundle.lacking, bundle.lacking == 1 ? "" : "s",
                     bundle.lacking == 1 ? "is" : "are");
    }
    return EXIT_CODE_OK;
}

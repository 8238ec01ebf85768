#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "client/cli/command.h"
#include "client/cli/output.h"

/* "name": what a process says of itself, or why it says nothing. */
static void append_status(struct session *session, FILE *out, const char *name, const char *address)
{
    struct edubba_error error;
    char *json = NULL;

    print_json_text(out, name);
    fputc(':', out);
    if (edubba_status(session->client, address, &json, &error) == EDUBBA_OK) {
        fputs(json, out);
    } else {
        fputs("{\"error\":", out);
        print_json_text(out, error.text);
        fputc('}', out);
    }
    edubba_free(json);
}

static void append_servers(struct session *session, FILE *out)
{
    struct edubba_server *servers = NULL;
    size_t count = 0;

    fputs(",\n\"servers\":{", out);
    if (edubba_list_servers(session->client, &servers, &count, NULL) == EDUBBA_OK) {
        for (size_t i = 0; i < count; i++) {
            fputs(i > 0 ? ",\n" : "", out);
            append_status(session, out, servers[i].address, servers[i].address);
        }
    }
    fputc('}', out);
    edubba_free(servers);
}

static void append_tablets(struct session *session, FILE *out, const char *table)
{
    struct edubba_tablet *tablets = NULL;
    size_t count = 0;

    fputs(",\"tablets\":[", out);
    if (edubba_list_tablets(session->client, table, &tablets, &count, NULL) == EDUBBA_OK) {
        for (size_t i = 0; i < count; i++) {
            fprintf(out, "%s{\"tablet\":\"%" PRIu64 "\",", i > 0 ? "," : "", tablets[i].number);
            print_json_bytes(out, "start", tablets[i].start);
            fprintf(out, ",\"address\":\"%s\",\"state\":\"%s\"}", tablets[i].address,
                    tablets[i].state);
        }
    }
    fputc(']', out);
    edubba_free(tablets);
}

static void append_families(FILE *out, const struct edubba_schema *schema)
{
    fputs(",\"families\":[", out);
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

static void append_tables(struct session *session, FILE *out)
{
    char **names = NULL;

    fputs(",\n\"tables\":[", out);
    if (edubba_list_tables(session->client, &names, NULL) == EDUBBA_OK) {
        for (size_t i = 0; names[i] != NULL; i++) {
            struct edubba_schema *schema = NULL;
            fputs(i > 0 ? ",\n{\"table\":" : "{\"table\":", out);
            print_json_text(out, names[i]);
            if (edubba_get_table(session->client, names[i], &schema, NULL) == EDUBBA_OK) {
                append_families(out, schema);
            }
            edubba_schema_free(schema);
            append_tablets(session, out, names[i]);
            fputc('}', out);
        }
    }
    fputc(']', out);
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
    fprintf(out, "{\"ebt\":\"" EDUBBA_VERSION "\",\"time\":%lld,\n", (long long)time(NULL));
    append_status(session, out, "master", NULL);
    append_servers(session, out);
    append_tables(session, out);
    fputs("}\n", out);
    if (out != session->out && fclose(out) != 0) {
        return session_file_failed(session, "%s: %s", session->arguments[1], strerror(errno));
    }
    return EXIT_CODE_OK;
}

/* `ebt status`: the cluster on one screen, and whether it needs a person. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/overview.h"

#define GIB          1073741824.0
#define LAST_ATTEMPT "the last attempt: "

/* Everything that is listed; the overview points into it. */
struct listed {
    struct edubba_master *masters;
    size_t master_count;
    struct edubba_server *servers;
    size_t server_count;
};

/* --- asking ----------------------------------------------------------------------------------- */

static int ask_masters(struct session *session, struct listed *listed, struct overview *overview)
{
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    struct edubba_error error;
    options.masters = session->masters;
    options.deadline_ms = session->timeout_ms;
    if (edubba_list_masters(&options, &listed->masters, &listed->master_count, &error) !=
        EDUBBA_OK) {
        return session_fail(session, &error);
    }
    overview_note_masters(overview, listed->masters, listed->master_count);
    return EXIT_CODE_OK;
}

/* The text that is dropped: where it waited, and for how long. */
static void note_unknown(struct overview *overview, const struct edubba_error *error)
{
    const char *last = strstr(error->text, LAST_ATTEMPT);
    overview_note_unknown(overview, last != NULL ? last + strlen(LAST_ATTEMPT) : error->text);
}

static void note_told(struct overview *overview, const json_t *alarms)
{
    for (size_t i = 0; i < json_array_size(alarms); i++) {
        const json_t *alarm = json_array_get(alarms, i);
        const char *code = json_string_value(json_object_get(alarm, "code"));
        const char *message = json_string_value(json_object_get(alarm, "message"));
        const char *action = json_string_value(json_object_get(alarm, "action"));
        if (code != NULL && message != NULL && action != NULL) {
            overview_note_told(overview, code, message, action);
        }
    }
}

/* What does the master say of itself?  Where it refuses tablet servers it tells of no tables. */
static enum edubba_code ask_the_master(struct session *session,
                                       struct overview *overview,
                                       struct edubba_error *error)
{
    char *text = NULL;
    enum edubba_code code = edubba_status(session->client, overview->active->address, &text, error);
    if (code != EDUBBA_OK) {
        return code;
    }
    json_t *status = json_loads(text, 0, NULL);
    const char *dispute = json_string_value(json_object_get(status, "disputed"));
    if (dispute != NULL) {
        overview_note_dispute(overview, dispute);
    }
    note_told(overview, json_object_get(status, "alarms"));
    json_decref(status);
    edubba_free(text);
    return EDUBBA_OK;
}

static void note_stores(struct overview *overview,
                        const struct edubba_server *server,
                        const json_t *stores)
{
    bool lacks_descriptors = false;
    for (size_t i = 0; i < json_array_size(stores); i++) {
        const json_t *store = json_array_get(stores, i);
        json_int_t held = json_integer_value(json_object_get(store, "tablets_held"));
        const char *trouble = json_string_value(json_object_get(store, "trouble"));
        if (held > 0) {
            overview_note_held(overview, server, (uint64_t)held, trouble != NULL ? trouble : "");
        }
        lacks_descriptors = lacks_descriptors ||
                            json_is_true(json_object_get(store, "lacks_descriptors"));
    }
    if (lacks_descriptors) { /* all of its stores have the same */
        overview_note_lacking(overview, server);
    }
}

static enum edubba_code ask_server(struct session *session,
                                   const struct edubba_server *server,
                                   struct overview *overview)
{
    struct edubba_error error;
    char *text = NULL;
    enum edubba_code code = edubba_status_brief(session->client, server->address, &text, &error);
    if (code == EDUBBA_OK) {
        json_t *status = json_loads(text, 0, NULL);
        note_stores(overview, server, json_object_get(status, "stores"));
        json_decref(status);
    }
    edubba_free(text);
    return code;
}

/* What masters are not told.  From the first server on that does not answer, which takes all the patience there is, no
 * other is asked: it may be that none can be reached from here. */
static void ask_each_server(struct session *session,
                            const struct listed *listed,
                            struct overview *overview)
{
    for (size_t i = 0; i < listed->server_count; i++) {
        const struct edubba_server *server = &listed->servers[i];
        if (server->alive &&
            (overview->servers_silent > 0 || ask_server(session, server, overview) != EDUBBA_OK)) {
            overview->servers_silent++;
        }
    }
}

static enum edubba_code ask_table(struct session *session,
                                  const char *name,
                                  struct overview *overview,
                                  struct edubba_error *error)
{
    struct edubba_schema *schema = NULL;
    struct edubba_tablet_replicas *tablets = NULL;
    size_t count = 0;

    enum edubba_code code = edubba_get_table(session->client, name, &schema, error);
    if (code == EDUBBA_OK) {
        code = edubba_list_replicas(session->client, name, &tablets, &count, error);
    }
    if (code == EDUBBA_OK) {
        overview_note_table(overview, schema, tablets, count);
        edubba_free(tablets);
    }
    if (schema != NULL) {
        edubba_schema_free(schema);
    }
    /* Deleted since it was listed. */
    return code == EDUBBA_NOT_FOUND ? EDUBBA_OK : code;
}

static void ask_tables(struct session *session, struct overview *overview)
{
    struct edubba_error error;
    char **names = NULL;

    enum edubba_code code = edubba_list_tables(session->client, &names, &error);
    for (size_t i = 0; code == EDUBBA_OK && names[i] != NULL; i++) {
        code = ask_table(session, names[i], overview, &error);
    }
    overview->tables_known = code == EDUBBA_OK;
    if (code != EDUBBA_OK) {
        note_unknown(overview, &error);
    }
    edubba_free(names);
}

static int ask_the_active(struct session *session, struct listed *listed, struct overview *overview)
{
    struct edubba_client *client = session_client(session);
    struct edubba_error error;

    if (client == NULL) {
        return EXIT_CODE_FAILED;
    }
    if (ask_the_master(session, overview, &error) != EDUBBA_OK ||
        edubba_list_servers(client, &listed->servers, &listed->server_count, &error) != EDUBBA_OK) {
        note_unknown(overview, &error);
        return EXIT_CODE_OK;
    }
    overview_note_servers(overview, listed->servers, listed->server_count);
    ask_each_server(session, listed, overview);
    if (!overview->disputed) {
        ask_tables(session, overview);
    }
    return EXIT_CODE_OK;
}

/* --- for people ------------------------------------------------------------------------------- */

static void print_masters(FILE *out, const struct overview *overview, const struct listed *listed)
{
    if (overview->cluster != 0) {
        fprintf(out, "CLUSTER   %" PRIu64 "\n", overview->cluster);
    }
    fprintf(out, "MASTERS   %zu, active: %s", overview->masters,
            overview->active != NULL ? overview->active->address : "none");
    for (size_t i = 0; i < listed->master_count; i++) {
        const struct edubba_master *master = &listed->masters[i];
        if (master != overview->active && strcmp(master->state, "no master") != 0) {
            fprintf(out, "; %s: %s", master->state, master->address);
        }
    }
    fputc('\n', out);
}

static void print_servers(FILE *out, const struct overview *overview)
{
    fprintf(out, "SERVERS   %zu, %zu alive", overview->servers, overview->servers_alive);
    if (overview->servers_draining > 0) {
        fprintf(out, ", %zu drained or draining", overview->servers_draining);
    }
    if (overview->servers_silent > 0) {
        fprintf(out, ", %zu not asked for damage, as one does not answer here",
                overview->servers_silent);
    }
    for (size_t i = 0; i < overview->zone_count; i++) {
        fprintf(out, "%s%s", i == 0 ? ", in zones " : " ", overview->zones[i]);
    }
    fprintf(out, "\nDISKS     %.1f GiB used, %.1f GiB free\n", (double)overview->used_bytes / GIB,
            (double)overview->free_bytes / GIB);
}

static void print_tables(FILE *out, const struct overview *overview)
{
    fprintf(out, "TABLES    %zu\nTABLETS   %zu, %zu served, %zu lack copies\n", overview->tables,
            overview->tablets, overview->served, overview->lacking);
}

static void print_for_people(FILE *out,
                             const struct overview *overview,
                             const struct listed *listed)
{
    print_masters(out, overview, listed);
    if (overview->servers_known) {
        print_servers(out, overview);
    }
    if (overview->tables_known) {
        print_tables(out, overview);
    }
    fprintf(out, "ALARMS    %s", overview->alarm_count == 0 ? "none\n" : "");
    if (overview->alarm_count > 0) {
        fprintf(out, "%zu\n", overview->alarm_count);
    }
    for (size_t i = 0; i < overview->alarm_count; i++) {
        fprintf(out, "\n! %s.\n  %s\n", overview->alarms[i].message, overview->alarms[i].action);
    }
}

/* --- for programs ----------------------------------------------------------------------------- */

static void print_json_masters(FILE *out,
                               const struct overview *overview,
                               const struct listed *listed)
{
    fprintf(out, "{\"cluster\":\"%" PRIu64 "\",\"healthy\":%s,\"masters\":[", overview->cluster,
            overview->alarm_count == 0 ? "true" : "false");
    const char *comma = "";
    for (size_t i = 0; i < listed->master_count; i++) {
        if (strcmp(listed->masters[i].state, "no master") == 0) {
            continue;
        }
        fprintf(out, "%s{\"address\":", comma);
        print_json_text(out, listed->masters[i].address);
        fprintf(out, ",\"state\":\"%s\"}", listed->masters[i].state);
        comma = ",";
    }
    fputc(']', out);
}

static void print_json_servers(FILE *out, const struct overview *overview)
{
    fprintf(out,
            ",\"servers\":{\"count\":%zu,\"alive\":%zu,\"draining\":%zu,\"usable\":%zu"
            ",\"silent\":%zu,\"used_bytes\":%" PRIu64 ",\"free_bytes\":%" PRIu64 ",\"zones\":[",
            overview->servers, overview->servers_alive, overview->servers_draining,
            overview->servers_usable, overview->servers_silent, overview->used_bytes,
            overview->free_bytes);
    for (size_t i = 0; i < overview->zone_count; i++) {
        fputs(i > 0 ? "," : "", out);
        print_json_text(out, overview->zones[i]);
    }
    fputs("]}", out);
}

static void print_json_tables(FILE *out, const struct overview *overview)
{
    fprintf(out,
            ",\"tables\":%zu,\"tablets\":{\"count\":%zu,\"served\":%zu,\"unavailable\":%zu"
            ",\"lacking_copies\":%zu}",
            overview->tables, overview->tablets, overview->served,
            overview->tablets - overview->served, overview->lacking);
}

static void print_json_alarms(FILE *out, const struct overview *overview)
{
    fputs(",\"alarms\":[", out);
    for (size_t i = 0; i < overview->alarm_count; i++) {
        fprintf(out, "%s{\"code\":", i > 0 ? "," : "");
        print_json_text(out, overview->alarms[i].code);
        fputs(",\"message\":", out);
        print_json_text(out, overview->alarms[i].message);
        fputs(",\"action\":", out);
        print_json_text(out, overview->alarms[i].action);
        fputc('}', out);
    }
    fputs("]}\n", out);
}

static void print(const struct session *session,
                  const struct overview *overview,
                  const struct listed *listed)
{
    if (!session->json) {
        print_for_people(session->out, overview, listed);
        return;
    }
    print_json_masters(session->out, overview, listed);
    if (overview->servers_known) {
        print_json_servers(session->out, overview);
    }
    if (overview->tables_known) {
        print_json_tables(session->out, overview);
    }
    print_json_alarms(session->out, overview);
}

int run_status(struct session *session)
{
    session_only_looks(session);
    struct overview overview = {0};
    struct listed listed = {0};
    int code = ask_masters(session, &listed, &overview);
    if (code == EXIT_CODE_OK && overview.active != NULL) {
        code = ask_the_active(session, &listed, &overview);
    }
    if (overview.no_memory) {
        code = session_fail(session, &(struct edubba_error){.code = EDUBBA_RESOURCE_EXHAUSTED,
                                                            .text = "out of memory"});
    }
    if (code == EXIT_CODE_OK) {
        print(session, &overview, &listed);
        code = overview.alarm_count == 0 ? EXIT_CODE_OK : EXIT_CODE_FAILED;
    }
    overview_deinit(&overview);
    edubba_free(listed.servers);
    edubba_free(listed.masters);
    return code;
}

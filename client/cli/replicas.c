/* Where tablets and their replicas are, and how many there should be. */
#include "edubba_replicas.h"

#include <inttypes.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/overview.h"
#include "client/cli/words.h"

#define REPLICAS_MAX 100 /* what is refused here; the master knows what it can do */

/* --- tablets ---------------------------------------------------------------------------------- */

static const struct edubba_replica *primary_of(const struct edubba_tablet_replicas *tablet)
{
    for (size_t i = 0; i < tablet->replica_count; i++) {
        if (tablet->replicas[i].is_primary) {
            return &tablet->replicas[i];
        }
    }
    return NULL;
}

/* Is it served there now?  Else its primary is not told, as it may be nobody's to write to. */
static const struct edubba_replica *serving_primary(const struct edubba_tablet_replicas *tablet)
{
    bool served = strcmp(tablet->state, "serving") == 0 || strcmp(tablet->state, "splitting") == 0;
    return served ? primary_of(tablet) : NULL;
}

static unsigned count_in_sync(const struct edubba_tablet_replicas *tablet)
{
    unsigned count = 0;
    for (size_t i = 0; i < tablet->replica_count; i++) {
        count += tablet->replicas[i].in_sync;
    }
    return count;
}

static unsigned count_wanted(const struct edubba_tablet_replicas *tablet)
{
    unsigned count = 0;
    for (size_t i = 0; i < tablet->replica_count; i++) {
        count += tablet->replicas[i].is_wanted;
    }
    return count;
}

/* Who is there; without a master nobody knows, and none counts as gone. */
struct presence {
    struct edubba_server *servers;
    size_t count;
};

static bool is_gone(const struct presence *presence, const struct edubba_replica *replica)
{
    for (size_t i = 0; i < presence->count; i++) {
        if (presence->servers[i].number == replica->server) {
            return !presence->servers[i].alive;
        }
    }
    return false;
}

/* What it is to its tablet, and what is to become of it. */
static const char *role_text(const struct edubba_replica *replica)
{
    if (!replica->is_member) {
        return "joins";
    }
    if (!replica->is_wanted) {
        return replica->is_primary ? "primary, leaves" : "leaves";
    }
    if (replica->is_primary) {
        return replica->should_lead ? "primary" : "primary, hands over";
    }
    return "secondary";
}

static void print_replica(FILE *out, const struct edubba_replica *replica, bool gone)
{
    const char *what = !gone || replica->is_member ? role_text(replica) : "gone";
    const char *more = !replica->is_member ? ""
                       : gone              ? ", gone"
                       : replica->in_sync  ? ""
                                           : ", not in sync";
    fprintf(out, "%-8s %-12s %-28s %s%s\n", "", "", replica->address, what, more);
}

static void print_json_replica(FILE *out,
                               const struct edubba_replica *replica,
                               bool known,
                               bool gone)
{
    fprintf(out, "{\"server\":\"%" PRIu64 "\",\"address\":\"%s\",\"role\":\"%s\"", replica->server,
            replica->address,
            replica->is_primary  ? "primary"
            : replica->is_member ? "secondary"
                                 : "learner");
    if (known) {
        fprintf(out,
                ",\"store\":\"%" PRIu64
                "\",\"alive\":%s,\"in_sync\":%s,\"wanted\":%s,\"should_lead\":%s",
                replica->store, gone ? "false" : "true", replica->in_sync ? "true" : "false",
                replica->is_wanted ? "true" : "false", replica->should_lead ? "true" : "false");
    }
    fputc('}', out);
}

static void print_json_tablet(FILE *out,
                              const struct edubba_tablet_replicas *tablet,
                              const struct presence *presence)
{
    const struct edubba_replica *primary = serving_primary(tablet);
    fprintf(out, "{\"tablet\":\"%" PRIu64 "\",", tablet->number);
    print_json_range(out, tablet->start, tablet->end);
    fprintf(out, ",\"server\":\"%" PRIu64 "\",\"address\":\"%s\",\"state\":\"%s\"",
            primary != NULL ? primary->server : 0, primary != NULL ? primary->address : "",
            tablet->state);
    fprintf(out, ",\"version\":%" PRIu64, tablet->version);
    if (tablet->is_known) {
        fprintf(out, ",\"size_bytes\":%" PRIu64 ",\"in_sync\":%u,\"wanted\":%u", tablet->size_bytes,
                count_in_sync(tablet), count_wanted(tablet));
    }
    fputs(",\"replicas\":[", out);
    for (size_t i = 0; i < tablet->replica_count; i++) {
        fputs(i > 0 ? "," : "", out);
        print_json_replica(out, &tablet->replicas[i], tablet->is_known,
                           is_gone(presence, &tablet->replicas[i]));
    }
    fputc(']', out);
    if (strcmp(tablet->wish, "split") == 0) {
        fputs(",\"goal\":\"split\",", out);
        print_json_bytes(out, "split_row", tablet->split_row);
    } else if (tablet->wish[0] != '\0') {
        fprintf(out, ",\"goal\":\"%s\",\"merge_with\":\"%" PRIu64 "\"", tablet->wish,
                tablet->merge_with);
    }
    fputs("}\n", out);
}

/* What is ordered, and not done yet. */
static void print_wish(FILE *out, const struct edubba_tablet_replicas *tablet)
{
    if (strcmp(tablet->wish, "split") == 0) {
        fputs(" to be split at ", out);
        print_quoted(out, tablet->split_row);
    } else if (tablet->wish[0] != '\0') {
        fprintf(out, " to be merged with %" PRIu64, tablet->merge_with);
    }
}

static void print_tablet(FILE *out,
                         const struct edubba_tablet_replicas *tablet,
                         const struct presence *presence)
{
    const struct edubba_replica *primary = serving_primary(tablet);
    char in_sync[32] = "-";

    if (tablet->is_known) {
        (void)snprintf(in_sync, sizeof in_sync, "%u/%u", count_in_sync(tablet),
                       count_wanted(tablet));
    }
    fprintf(out, "%-8" PRIu64 " %-12s %-28s %-7s %-7" PRIu64 " ", tablet->number, tablet->state,
            primary != NULL ? primary->address : "", in_sync, tablet->version);
    print_range(out, tablet->start, tablet->end);
    print_wish(out, tablet);
    fputc('\n', out);
    if (tablet->replica_count < 2) {
        return;
    }
    for (size_t i = 0; i < tablet->replica_count; i++) {
        print_replica(out, &tablet->replicas[i], is_gone(presence, &tablet->replicas[i]));
    }
}

int run_tablets(struct session *session)
{
    session_only_looks(session);
    struct edubba_client *client = session_client(session);
    struct edubba_tablet_replicas *tablets = NULL;
    struct presence presence = {0};
    struct edubba_error error;
    size_t count = 0;

    if (client == NULL) {
        return EXIT_CODE_FAILED;
    }
    if (edubba_list_replicas(client, session->arguments[0], &tablets, &count, &error) !=
        EDUBBA_OK) {
        return session_fail(session, &error);
    }
    if (count > 0 && tablets[0].is_known) { /* a master answers */
        (void)edubba_list_servers(client, &presence.servers, &presence.count, &error);
    }
    if (!session->json) {
        fprintf(session->out, "%-8s %-12s %-28s %-7s %-7s %s\n", "TABLET", "STATE", "ADDRESS",
                "IN-SYNC", "VERSION", "ROWS");
    }
    for (size_t i = 0; i < count; i++) {
        if (session->json) {
            print_json_tablet(session->out, &tablets[i], &presence);
        } else {
            print_tablet(session->out, &tablets[i], &presence);
        }
    }
    edubba_free(presence.servers);
    edubba_free(tablets);
    return EXIT_CODE_OK;
}

/* --- how many --------------------------------------------------------------------------------- */

int word_replication(const struct session *session,
                     const char *word,
                     uint32_t *ret_replicas,
                     uint32_t *ret_min_in_sync)
{
    const char *replicas = word_value(word, "replicas");
    const char *min_in_sync = word_value(word, "min-in-sync");
    const char *value = replicas != NULL ? replicas : min_in_sync;
    int64_t number = 0;

    if (value == NULL) {
        return -1;
    }
    if (!word_i64(value, &number) || number < 1 || number > REPLICAS_MAX) {
        return session_misuse(session, "'%s' is not a number of copies, 1 or more", word);
    }
    *(replicas != NULL ? ret_replicas : ret_min_in_sync) = (uint32_t)number;
    return EXIT_CODE_OK;
}

void warn_of_brittleness(const struct session *session, const char *table)
{
    struct edubba_schema *schema = NULL;
    struct edubba_error error;
    if (edubba_get_table(session->client, table, &schema, &error) != EDUBBA_OK) {
        return; /* it is done; how it is, `ebt ls` and `ebt status` tell as well */
    }
    if (is_brittle(schema)) {
        session_warn(
            session,
            "with replicas=%u, min-in-sync=%u a write needs all copies: while one server is "
            "away, writes to %s wait.  min-in-sync=%u lets them go on",
            schema->replicas, schema->min_in_sync, table, schema->replicas - 1);
    }
    edubba_schema_free(schema);
}

int run_setreplication(struct session *session)
{
    struct edubba_alteration alteration = {.kind = EDUBBA_SET_REPLICATION};
    struct edubba_error error;

    int code = session_refuse_repeated(session, 1);
    if (code >= 0) {
        return code;
    }
    for (int i = 1; i < session->argument_count; i++) {
        code = word_replication(session, session->arguments[i], &alteration.replicas,
                                &alteration.min_in_sync);
        if (code < 0) {
            return session_misuse(session, "'%s' is neither replicas=N nor min-in-sync=N",
                                  session->arguments[i]);
        }
        if (code != EXIT_CODE_OK) {
            return code;
        }
    }
    struct edubba_client *client = session_client(session);
    if (client == NULL) {
        return EXIT_CODE_FAILED;
    }
    if (edubba_alter_table(client, session->arguments[0], &alteration, 1, &error) != EDUBBA_OK) {
        return session_fail(session, &error);
    }
    warn_of_brittleness(session, session->arguments[0]);
    return session_done(session);
}

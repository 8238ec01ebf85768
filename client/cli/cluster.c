#include <inttypes.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "edubba_masters.h"

int run_samplerowkeys(struct session *session)
{
    struct edubba_table *table = session_table(session, session->arguments[0]);
    struct edubba_sample *samples = NULL;
    struct edubba_error error;
    size_t count = 0;

    if (table == NULL) {
        return EXIT_CODE_FAILED;
    }
    enum edubba_code code = edubba_sample_row_keys(table, &samples, &count, &error);
    for (size_t i = 0; code == EDUBBA_OK && i < count; i++) {
        if (session->json) {
            fputc('{', session->out);
            print_json_bytes(session->out, "row", samples[i].row);
            fprintf(session->out, ",\"offset\":%" PRIu64 "}\n", samples[i].offset_bytes);
        } else {
            print_quoted(session->out, samples[i].row);
            fprintf(session->out, " %" PRIu64 "\n", samples[i].offset_bytes);
        }
    }
    edubba_free(samples);
    edubba_table_close(table);
    return code == EDUBBA_OK ? EXIT_CODE_OK : session_fail(session, &error);
}

int run_split(struct session *session)
{
    struct edubba_bytes row;
    struct edubba_error error;
    int code = session_row(session, &row);
    if (code >= 0) {
        return code;
    }
    struct edubba_client *client = session_client(session);
    if (client == NULL) {
        return EXIT_CODE_FAILED;
    }
    return edubba_split_tablet(client, session->arguments[0], row, &error) == EDUBBA_OK
               ? session_done(session)
               : session_fail(session, &error);
}

static const char *server_state(const struct edubba_server *server)
{
    if (!server->alive) {
        return "gone";
    }
    if (!server->draining) {
        return "alive";
    }
    return server->tablet_count > 0 ? "draining" : "drained";
}

static void print_server(const struct session *session, const struct edubba_server *server)
{
    if (session->json) {
        fprintf(session->out,
                "{\"server\":\"%" PRIu64 "\",\"address\":\"%s\",\"http_address\":\"%s\",\"zone\":",
                server->number, server->address, server->http_address);
        print_json_text(session->out, server->zone);
        fprintf(
            session->out,
            ",\"alive\":%s,\"draining\":%s,\"tablets\":%u,\"primaries\":%u,\"used_bytes\":%" PRIu64
            ",\"free_bytes\":%" PRIu64
            ",\"condition\":\"%s\",\"unopened_stores\":%u,\"stuck\":%u}\n",
            server->alive ? "true" : "false", server->draining ? "true" : "false",
            server->tablet_count, server->primary_count, server->used_bytes, server->free_bytes,
            server->condition, server->unopened_store_count, server->stuck_count);
        return;
    }
    fprintf(session->out, "%-20" PRIu64 " %-28s %-8s %-8s %8u %9u %10.1f %10.1f %s", server->number,
            server->address, server_state(server), server->condition, server->tablet_count,
            server->primary_count, (double)server->used_bytes / 1048576,
            (double)server->free_bytes / 1048576, server->zone);
    if (server->unopened_store_count > 0) {
        fprintf(session->out, " (%u store%s not opened: its /health says why)",
                server->unopened_store_count, server->unopened_store_count > 1 ? "s" : "");
    }
    if (server->stuck_count > 0) {
        fprintf(session->out, " (%u of its replicas cannot go to another)", server->stuck_count);
    }
    fputc('\n', session->out);
}

int run_servers(struct session *session)
{
    session_only_looks(session);
    struct edubba_client *client = session_client(session);
    struct edubba_server *servers = NULL;
    struct edubba_error error;
    size_t count = 0;

    if (client == NULL) {
        return EXIT_CODE_FAILED;
    }
    if (edubba_list_servers(client, &servers, &count, &error) != EDUBBA_OK) {
        return session_fail(session, &error);
    }
    if (!session->json) {
        fprintf(session->out, "%-20s %-28s %-8s %-8s %8s %9s %10s %10s %s\n", "SERVER", "ADDRESS",
                "STATE", "STORES", "REPLICAS", "PRIMARIES", "USED MiB", "FREE MiB", "ZONE");
    }
    for (size_t i = 0; i < count; i++) {
        print_server(session, &servers[i]);
    }
    edubba_free(servers);
    return EXIT_CODE_OK;
}

static void print_master(const struct session *session, const struct edubba_master *master)
{
    if (!session->json) {
        fprintf(session->out, "%-28s %-10s %12" PRIu64 " %s%s\n", master->address, master->state,
                master->reign, master->active, master->error);
        return;
    }
    fputs("{\"address\":", session->out);
    print_json_text(session->out, master->address);
    fprintf(session->out,
            ",\"state\":\"%s\",\"reign\":\"%" PRIu64 "\",\"cluster\":\"%" PRIu64 "\",\"active\":",
            master->state, master->reign, master->cluster);
    print_json_text(session->out, master->active);
    fputs(",\"error\":", session->out);
    print_json_text(session->out, master->error);
    fputs("}\n", session->out);
}

int run_masters(struct session *session)
{
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    struct edubba_master *masters = NULL;
    struct edubba_error error;
    size_t count = 0;
    bool active = false;

    session_only_looks(session);
    options.masters = session->masters;
    options.deadline_ms = session->timeout_ms;
    if (edubba_list_masters(&options, &masters, &count, &error) != EDUBBA_OK) {
        return session_fail(session, &error);
    }
    if (!session->json) {
        fprintf(session->out, "%-28s %-10s %12s %s\n", "MASTER", "STATE", "REIGN", "ACTIVE");
    }
    for (size_t i = 0; i < count; i++) {
        print_master(session, &masters[i]);
        active |= strcmp(masters[i].state, "active") == 0;
    }
    edubba_free(masters);
    return active ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}

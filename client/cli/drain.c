/* What is ordered of replicas: tablets to be merged, a server to be drained. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/overview.h"
#include "client/cli/server_choice.h"
#include "edubba_replicas.h"

#define ASK_AGAIN_NS (500 * 1000000L) /* how far a drain is */

/* --- merge ------------------------------------------------------------------------------------ */

int run_merge(struct session *session)
{
    struct edubba_bytes row;
    struct edubba_error error;
    if (session->argument_count == 3 && strcmp(session->arguments[2], "--undo") != 0) {
        return session_misuse(session, "merge takes TABLE, ROW and --undo, not '%s'",
                              session->arguments[2]);
    }
    int exit_code = session_row(session, &row);
    if (exit_code >= 0) {
        return exit_code;
    }
    struct edubba_client *client = session_client(session);
    if (client == NULL) {
        return EXIT_CODE_FAILED;
    }
    enum edubba_code code = session->argument_count == 3
                                ? edubba_withdraw_merge(client, session->arguments[0], row, &error)
                                : edubba_merge_tablets(client, session->arguments[0], row, &error);
    return code == EDUBBA_OK ? session_done(session) : session_fail(session, &error);
}

/* --- drain ------------------------------------------------------------------------------------ */

/* By number or address.  False after saying why not. */
static bool find_server(const struct session *session,
                        struct edubba_client *client,
                        const char *name,
                        uint64_t *ret_server)
{
    struct edubba_server *servers = NULL;
    struct edubba_error error;
    size_t count = 0;

    bool found = edubba_list_servers(client, &servers, &count, &error) == EDUBBA_OK &&
                 server_choose(servers, count, name, ret_server, &error);
    edubba_free(servers);
    if (!found) {
        (void)session_fail(session, &error);
    }
    return found;
}

static uint32_t moving_of(const struct edubba_drain_progress *progress)
{
    bool any = progress->replica_count > progress->waiting_count;
    return any ? progress->replica_count - progress->waiting_count : 0;
}

/* Why replicas stay, and what to do, is told where it is not as when it was shown last. */
static void print_progress(const struct session *session,
                           uint64_t server,
                           const struct edubba_drain_progress *progress,
                           const struct edubba_drain_progress *shown)
{
    if (session->json) {
        fprintf(session->out,
                "{\"server\":\"%" PRIu64
                "\",\"draining\":%s,\"replicas\":%u,\"waiting\":%u,\"stuck\":%u}\n",
                server, progress->draining ? "true" : "false", progress->replica_count,
                progress->waiting_count, progress->stuck_count);
    } else if (!progress->draining) {
        fprintf(session->out, "server %" PRIu64 " takes replicas again; %u are there\n", server,
                progress->replica_count);
    } else if (progress->replica_count + progress->waiting_count == 0) {
        fprintf(session->out, "server %" PRIu64 " is drained: it may be stopped for good\n",
                server);
    } else {
        fprintf(session->out,
                "%u replicas are left on server %" PRIu64 ", %u of them on their way to others\n",
                progress->replica_count, server, moving_of(progress));
    }
    if (!session->json && progress->stuck_count > 0 &&
        progress->stuck_count != shown->stuck_count) {
        fprintf(session->out, "%u cannot go: " STUCK_WHY ".\n" STUCK_ACTION "\n",
                progress->stuck_count, server);
    }
    (void)fflush(session->out);
}

static bool is_same(const struct edubba_drain_progress *a, const struct edubba_drain_progress *b)
{
    return a->draining == b->draining && a->replica_count == b->replica_count &&
           a->waiting_count == b->waiting_count && a->stuck_count == b->stuck_count;
}

static double now_seconds(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int tell_unfinished(const struct session *session,
                           const struct edubba_drain_progress *progress)
{
    struct edubba_error error = {.code = EDUBBA_DEADLINE_EXCEEDED};
    (void)snprintf(
        error.text, sizeof error.text,
        "%u replicas are still there after %g s (--timeout), %u of them cannot go to another "
        "server; draining goes on",
        progress->replica_count, session->timeout_ms / 1000.0, progress->stuck_count);
    return session_fail(session, &error);
}

/* Has somebody else taken the order back?  Where that is not told now, it is looked at again with the next answer. */
static bool is_taken_back(const struct session *session, uint64_t server)
{
    struct edubba_server *servers = NULL;
    struct edubba_error error;
    size_t count = 0;
    bool taken_back = false;

    if (edubba_list_servers(session->client, &servers, &count, &error) != EDUBBA_OK) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        taken_back |= servers[i].number == server && !servers[i].draining;
    }
    edubba_free(servers);
    return taken_back;
}

static int tell_taken_back(const struct session *session,
                           const struct edubba_drain_progress *progress)
{
    struct edubba_error error = {.code = EDUBBA_ABORTED};
    (void)snprintf(
        error.text, sizeof error.text,
        "the order was taken back (--undo) while it was waited for; %u replicas were still "
        "there",
        progress->replica_count);
    return session_fail(session, &error);
}

/*
 * Ask again until nothing is left, and say what has changed.  A master that changes meanwhile is no reason to give up: the
 * order is durable.  But asking orders it once more, so before that it is seen whether it still stands: who undoes it
 * elsewhere is to have his way.
 */
static int wait_drained(const struct session *session, uint64_t server)
{
    const struct timespec pause = {.tv_nsec = ASK_AGAIN_NS};
    struct edubba_drain_progress progress = {0};
    struct edubba_drain_progress shown = {0};
    struct edubba_error error;
    bool ordered = false;
    double end = now_seconds() + session->timeout_ms / 1000.0;

    for (;;) {
        if (ordered && is_taken_back(session, server)) {
            return tell_taken_back(session, &progress);
        }
        enum edubba_code code = edubba_drain_server(session->client, server, true, &progress,
                                                    &error);
        bool again = code == EDUBBA_UNAVAILABLE || code == EDUBBA_DEADLINE_EXCEEDED;
        ordered |= code == EDUBBA_OK;
        if (code != EDUBBA_OK && (!again || session->timeout_given)) {
            return session_fail(session, &error);
        }
        if (code == EDUBBA_OK && !is_same(&progress, &shown)) {
            print_progress(session, server, &progress, &shown);
            shown = progress;
        }
        if (code == EDUBBA_OK && progress.replica_count + progress.waiting_count == 0) {
            return EXIT_CODE_OK;
        }
        if (session->timeout_given && now_seconds() >= end) {
            return tell_unfinished(session, &progress);
        }
        (void)nanosleep(&pause, NULL);
    }
}

int run_drain(struct session *session)
{
    const struct edubba_drain_progress none = {0};
    struct edubba_drain_progress progress;
    struct edubba_error error;
    bool undo = false;
    bool waits = true;
    uint64_t server = 0;

    for (int i = 1; i < session->argument_count; i++) {
        const char *word = session->arguments[i];
        if (strcmp(word, "--undo") == 0) {
            undo = true;
        } else if (strcmp(word, "--no-wait") == 0) {
            waits = false;
        } else {
            return session_misuse(session, "'%s' is neither --undo nor --no-wait", word);
        }
    }
    struct edubba_client *client = session_client(session);
    if (client == NULL || !find_server(session, client, session->arguments[0], &server)) {
        return EXIT_CODE_FAILED;
    }
    if (!undo && waits) {
        return wait_drained(session, server);
    }
    if (edubba_drain_server(client, server, !undo, &progress, &error) != EDUBBA_OK) {
        return session_fail(session, &error);
    }
    print_progress(session, server, &progress, &none);
    return EXIT_CODE_OK;
}

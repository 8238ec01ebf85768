#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/words.h"
#include "edubba_hotspots.h"

#define PAUSE_MS 1000 /* of who follows */

/* What was decided about load: a line each, and one more when it has ended. */

static void print_json(FILE *out, const struct edubba_event *event)
{
    fprintf(out,
            "{\"number\":%" PRIu64 ",\"change\":%" PRIu64 ",\"time_us\":%" PRId64
            ",\"ended_us\":%" PRId64 ",\"kind\":",
            event->number, event->change, event->time_us, event->ended_us);
    print_json_text(out, event->kind);
    fputs(",\"reason\":", out);
    print_json_text(out, event->reason);
    fputs(",\"outcome\":", out);
    print_json_text(out, event->outcome);
    fputs(",\"text\":", out);
    print_json_text(out, event->text);
    fputs(",\"why\":", out);
    print_json_text(out, event->why);
    fputs(",\"table\":", out);
    print_json_text(out, event->table);
    fprintf(out,
            ",\"tablet\":\"%" PRIu64 "\",\"right\":\"%" PRIu64 "\",\"from\":\"%" PRIu64
            "\",\"to\":\"%" PRIu64 "\",",
            event->tablet, event->right, event->from, event->to);
    print_json_range(out, event->start, event->end);
    fputc(',', out);
    print_json_bytes(out, "row", event->row);
    fprintf(out, ",\"row_count\":%" PRIu32 ",", event->row_count);
    print_json_bytes(out, "key", event->key);
    fprintf(out,
            ",\"share_percent\":%.1f,\"limit_percent\":%.1f,\"key_percent\":%.1f"
            ",\"crossing_percent\":%.1f,\"appended_percent\":%.1f,\"off_percent\":%.1f"
            ",\"from_percent\":%.1f,\"to_percent\":%.1f,\"mean_percent\":%.1f"
            ",\"operations\":%" PRIu64 ",\"observations\":%" PRIu64 ",\"size_bytes\":%" PRIu64
            ",\"limit_bytes\":%" PRIu64 "}\n",
            event->share_percent, event->limit_percent, event->key_percent, event->crossing_percent,
            event->appended_percent, event->off_percent, event->from_percent, event->to_percent,
            event->mean_percent, event->operations, event->observations, event->size_bytes,
            event->limit_bytes);
}

/* The listing so far; servers are known once a line names one. */
struct listing {
    const char *table; /* NULL = all */
    uint64_t after;
    size_t count;
    struct edubba_server *servers;
    size_t server_count;
    bool knows_servers;
};

/* Print the server's address, or its number if it has gone since. */
static void print_server(struct session *session, struct listing *listing, uint64_t number)
{
    if (!listing->knows_servers) {
        (void)edubba_list_servers(session->client, &listing->servers, &listing->server_count, NULL);
        listing->knows_servers = true;
    }
    for (size_t i = 0; i < listing->server_count; i++) {
        if (listing->servers[i].number == number) {
            fputs(listing->servers[i].address, session->out);
            return;
        }
    }
    fprintf(session->out, "%" PRIu64, number);
}

static void print_line(struct session *session,
                       struct listing *listing,
                       const struct edubba_event *event)
{
    FILE *out = session->out;
    time_t time = (time_t)(event->time_us / 1000000);
    struct tm parts;
    char text[32] = "";
    bool is_given_up = strcmp(event->outcome, "given_up") == 0;

    if (localtime_r(&time, &parts) != NULL) {
        (void)strftime(text, sizeof text, "%Y/%m/%d-%H:%M:%S", &parts);
    }
    if (listing->count == 0) {
        fputs("WHEN                WHAT   REASON       OUTCOME   TOOK    TABLE TABLET\n", out);
    }
    fprintf(out, "%-19s %-6s %-12s %-9s", text, event->kind, event->reason, event->outcome);
    if (event->ended_us > event->time_us) {
        fprintf(out, " %5.1fs", (double)(event->ended_us - event->time_us) / 1e6);
    } else {
        fprintf(out, " %6s", "");
    }
    fprintf(out, " %s %" PRIu64 " ", event->table, event->tablet);
    if (event->to != 0) {
        print_server(session, listing, event->from);
        fputs(" -> ", out);
        print_server(session, listing, event->to);
        fputc(' ', out);
    }
    fprintf(out, "%s%s%s\n", event->text,
            event->why[0] == '\0' ? ""
            : is_given_up         ? "; given up: "
                                  : "; ",
            event->why);
}

/* Those that came since the last ones.  Returns an exit code. */
static int print_new(struct session *session, struct listing *listing)
{
    struct edubba_event *events = NULL;
    struct edubba_error error;
    size_t count = 0;

    if (edubba_list_events(session->client, listing->table, listing->after, &events, &count,
                           &error) != EDUBBA_OK) {
        return session_fail(session, &error);
    }
    for (size_t i = 0; i < count; i++) {
        if (session->json) {
            print_json(session->out, &events[i]);
        } else {
            print_line(session, listing, &events[i]);
        }
        listing->after = events[i].change;
        listing->count++;
    }
    edubba_free(listing->servers); /* others may have come until the next ones are listed */
    listing->servers = NULL;
    listing->server_count = 0;
    listing->knows_servers = false;
    edubba_free(events);
    return EXIT_CODE_OK;
}

/* What was printed goes out; then a second passes.  False: nobody reads any more, which would be seen
 * only at the next event, and that may take days. */
static bool is_read_on(FILE *out)
{
    struct pollfd reader = {.fd = fileno(out)};
    return fflush(out) == 0 && poll(&reader, 1, PAUSE_MS) <= 0;
}

int run_events(struct session *session)
{
    struct listing listing = {0};
    bool follow = false;

    int code = session_refuse_repeated(session, 0);
    if (code >= 0) {
        return code;
    }
    for (int i = 0; i < session->argument_count; i++) {
        const char *word = session->arguments[i];
        if (word_value(word, "follow") != NULL) {
            if (!word_bool(word_value(word, "follow"), &follow)) {
                return session_misuse(session, "'%s' is neither follow=true nor follow=false",
                                      word);
            }
        } else if (listing.table == NULL && strchr(word, '=') == NULL) {
            listing.table = word;
        } else {
            return session_misuse(session, "events takes one TABLE and follow=true, not '%s'",
                                  word);
        }
    }
    if (!follow) { /* who follows waits for the next master, too */
        session_only_looks(session);
    }
    if (session_client(session) == NULL) {
        return EXIT_CODE_FAILED;
    }
    code = print_new(session, &listing);
    while (code == EXIT_CODE_OK && follow && is_read_on(session->out)) {
        code = print_new(session, &listing);
    }
    if (code == EXIT_CODE_OK && listing.count == 0 && !session->json) {
        fprintf(session->out, "nothing was decided about load%s%s, and nothing split by size\n",
                listing.table != NULL ? " of " : "", listing.table != NULL ? listing.table : "");
    }
    return code;
}

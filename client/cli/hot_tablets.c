#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/words.h"
#include "edubba_hotspots.h"

#define LAST_DEFAULT   "2m" /* the running minute, and the one before it */
#define RULE_BYTES_MAX 64

static int64_t now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* "15m" as a rule's maxage has it; 0 if it is none. */
static int64_t age_us(const char *text)
{
    char rule_text[RULE_BYTES_MAX];
    struct edubba_gc_rule *rule = NULL;
    struct edubba_error error;
    int64_t age = 0;

    int length = snprintf(rule_text, sizeof rule_text, "maxage=%s", text);
    if (length > 0 && (size_t)length < sizeof rule_text &&
        word_rule_parse(rule_text, &rule, &error)) {
        age = rule->kind == EDUBBA_GC_AGE ? rule->age_us : 0;
        edubba_gc_rule_free(rule);
    }
    return age;
}

static double seconds_of(const struct edubba_hot_tablet *hot)
{
    double seconds = (double)(hot->end_us - hot->start_us) / 1e6;
    return seconds > 0 ? seconds : 1;
}

static void print_json(FILE *out, const struct edubba_hot_tablet *hot)
{
    fputs("{\"table\":", out);
    print_json_text(out, hot->table);
    fprintf(out, ",\"tablet\":\"%" PRIu64 "\",\"server\":\"%" PRIu64 "\",", hot->tablet,
            hot->server);
    print_json_range(out, hot->start, hot->end);
    fprintf(out,
            ",\"start_us\":%" PRId64 ",\"end_us\":%" PRId64
            ",\"cpu_percent\":%.2f,\"read_cpu_percent\":%.2f,\"write_cpu_percent\":%.2f"
            ",\"reads\":%" PRIu64 ",\"read_rows\":%" PRIu64 ",\"read_bytes\":%" PRIu64
            ",\"writes\":%" PRIu64 ",\"write_cells\":%" PRIu64 ",\"write_bytes\":%" PRIu64 "}\n",
            hot->start_us, hot->end_us, hot->cpu_percent, hot->read_cpu_percent,
            hot->write_cpu_percent, hot->reads, hot->read_rows, hot->read_bytes, hot->writes,
            hot->write_cells, hot->write_bytes);
}

static void print_when(FILE *out, const struct edubba_hot_tablet *hot)
{
    time_t start = (time_t)(hot->start_us / 1000000);
    struct tm parts;
    char text[32] = "";
    if (localtime_r(&start, &parts) != NULL) {
        (void)strftime(text, sizeof text, "%Y/%m/%d-%H:%M:%S", &parts);
    }
    fprintf(out, "%-19s %3.0fs", text, seconds_of(hot));
}

static void print_line(FILE *out, const struct edubba_hot_tablet *hot)
{
    double seconds = seconds_of(hot);
    double bytes = (double)hot->read_bytes + (double)hot->write_bytes;

    fprintf(out, "%5.1f%% %5.1f%% %5.1f%% %9.0f %9.0f %7.1f ", hot->cpu_percent,
            hot->read_cpu_percent, hot->write_cpu_percent, (double)hot->reads / seconds,
            (double)hot->writes / seconds, bytes / seconds / 1048576);
    print_when(out, hot);
    fprintf(out, " %-8" PRIu64 " %-20" PRIu64 " %s ", hot->tablet, hot->server, hot->table);
    print_range(out, hot->start, hot->end);
    fputc('\n', out);
}

/* Returns how many there are: of the table, if one is given. */
static size_t print_all(const struct session *session,
                        const struct edubba_hot_tablet *tablets,
                        size_t count,
                        const char *table)
{
    size_t shown = 0;
    for (size_t i = 0; i < count; i++) {
        if (table != NULL && strcmp(tablets[i].table, table) != 0) {
            continue;
        }
        shown += 1;
        if (session->json) {
            print_json(session->out, &tablets[i]);
            continue;
        }
        if (shown == 1) {
            fprintf(session->out, "%6s %6s %6s %9s %9s %7s %-24s %-8s %-20s %s\n", "CPU", "READ",
                    "WRITE", "READS/s", "WRITES/s", "MiB/s", "FROM", "TABLET", "SERVER",
                    "TABLE AND ROWS");
        }
        print_line(session->out, &tablets[i]);
    }
    return shown;
}

/* A table without hot tablets, or none at all? */
static int print_none(const struct session *session, const char *table, const char *last)
{
    struct edubba_schema *schema = NULL;
    struct edubba_error error;

    if (table != NULL && edubba_get_table(session->client, table, &schema, &error) != EDUBBA_OK) {
        return session_fail(session, &error);
    }
    edubba_schema_free(schema);
    if (!session->json) {
        fprintf(session->out,
                "no tablet%s%s took as much as 1 %% of its server's CPU time in any minute of the "
                "last %s\n",
                table != NULL ? " of " : "", table != NULL ? table : "", last);
    }
    return EXIT_CODE_OK;
}

int run_hottablets(struct session *session)
{
    struct edubba_hot_window window = {.interval_us = INT64_MAX};
    struct edubba_hot_tablet *tablets = NULL;
    struct edubba_error error;
    const char *table = NULL;
    const char *last = LAST_DEFAULT;
    size_t count = 0;

    int code = session_refuse_repeated(session, 0);
    if (code >= 0) {
        return code;
    }
    for (int i = 0; i < session->argument_count; i++) {
        const char *word = session->arguments[i];
        if (strncmp(word, "last=", 5) == 0) {
            last = word + 5;
        } else if (table == NULL) {
            table = word;
        } else {
            return session_misuse(session, "hot-tablets takes one TABLE and last=AGE, not '%s'",
                                  word);
        }
        if (age_us(last) <= 0) {
            return session_misuse(session, "'%s': AGE is as in setgcpolicy, 15m or 2h", word);
        }
    }
    session_only_looks(session);
    struct edubba_client *client = session_client(session);
    if (client == NULL) {
        return EXIT_CODE_FAILED;
    }
    window.start_us = now_us() - age_us(last);
    if (edubba_list_hot_tablets(client, &window, &tablets, &count, &error) != EDUBBA_OK) {
        return session_fail(session, &error);
    }
    size_t shown = print_all(session, tablets, count, table);
    edubba_free(tablets);
    return shown > 0 ? EXIT_CODE_OK : print_none(session, table, last);
}

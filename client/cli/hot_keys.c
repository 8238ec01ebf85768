/* ebt hot-keys: which rows of busy tablets it is; ebt advise: what that says about a table's keys. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "edubba_hotspots.h"

#define TABLETS_DEFAULT 20

/* --- hot keys ----------------------------------------------------------------------------------- */

static void print_json_points(FILE *out, const struct edubba_hot_keys *hot)
{
    fputs(",\"points\":[", out);
    for (size_t i = 0; i < hot->point_count; i++) {
        const struct edubba_hot_point *point = &hot->points[i];
        fputs(i == 0 ? "{" : ",{", out);
        print_json_bytes(out, "row", point->row);
        fprintf(out, ",\"reads\":%.1f,\"writes\":%.1f,\"crossing\":%.1f}", point->reads,
                point->writes, point->crossing);
    }
    fputs("],\"keys\":[", out);
    for (size_t i = 0; i < hot->key_count; i++) {
        const struct edubba_hot_key *key = &hot->keys[i];
        fputs(i == 0 ? "{" : ",{", out);
        print_json_bytes(out, "row", key->row);
        fprintf(out, ",\"reads\":%.1f,\"writes\":%.1f}", key->reads, key->writes);
    }
    fputs("]}\n", out);
}

static void print_json(FILE *out, const struct edubba_hot_keys *hot)
{
    fputs("{\"table\":", out);
    print_json_text(out, hot->table);
    fprintf(out, ",\"tablet\":\"%" PRIu64 "\",\"server\":\"%" PRIu64 "\",", hot->tablet,
            hot->server);
    print_json_range(out, hot->start, hot->end);
    fprintf(out,
            ",\"age_us\":%" PRId64 ",\"cpu_percent\":%.2f,\"read_cpu_percent\":%.2f"
            ",\"write_cpu_percent\":%.2f,\"reads\":%.1f,\"read_rows\":%.1f,\"read_bytes\":%.0f"
            ",\"writes\":%.1f,\"write_bytes\":%.0f,\"read_wait_us\":%.1f,\"read_latency_us\":%.1f"
            ",\"write_wait_us\":%.1f,\"write_latency_us\":%.1f,\"appended_percent\":%.1f"
            ",\"observations\":%" PRIu64,
            hot->age_us, hot->cpu_percent, hot->read_cpu_percent, hot->write_cpu_percent,
            hot->reads, hot->read_rows, hot->read_bytes, hot->writes, hot->write_bytes,
            hot->read_wait_us, hot->read_latency_us, hot->write_wait_us, hot->write_latency_us,
            hot->appended_percent, hot->observations);
    print_json_points(out, hot);
}

static double share(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void print_rows(FILE *out, const struct edubba_hot_keys *hot)
{
    double all = hot->read_rows + hot->writes;

    for (size_t i = 0; i < hot->key_count; i++) {
        const struct edubba_hot_key *key = &hot->keys[i];
        fprintf(out, "  %-8s %5.1f%% %9.0f %9.0f          ", "row",
                share(key->reads + key->writes, all), key->reads, key->writes);
        print_quoted(out, key->row);
        fputc('\n', out);
    }
    for (size_t i = 0; i < hot->point_count; i++) {
        const struct edubba_hot_point *point = &hot->points[i];
        fprintf(out, "  %-8s %5.1f%% %9.0f %9.0f %8.0f ", "from",
                share(point->reads + point->writes, all), point->reads, point->writes,
                point->crossing);
        print_quoted(out, point->row);
        fputc('\n', out);
    }
}

static void print_tablet(FILE *out, const struct edubba_hot_keys *hot)
{
    fprintf(out, "%s tablet %" PRIu64 " ", hot->table, hot->tablet);
    print_range(out, hot->start, hot->end);
    fprintf(out, " on server %" PRIu64 ", %.0f s ago\n", hot->server, (double)hot->age_us / 1e6);
    fprintf(
        out,
        "  CPU %.1f%% (reads %.1f%%, writes %.1f%%); reads %.0f/s of %.0f rows/s, %.0f us (waiting %.0f);"
        " writes %.0f/s, %.0f us (waiting %.0f), %.0f%% appended; %" PRIu64 " samples\n",
        hot->cpu_percent, hot->read_cpu_percent, hot->write_cpu_percent, hot->reads, hot->read_rows,
        hot->read_latency_us, hot->read_wait_us, hot->writes, hot->write_latency_us,
        hot->write_wait_us, hot->appended_percent, hot->observations);
    fprintf(out, "  %-8s %6s %9s %9s %8s %s\n", "", "LOAD", "READS/s", "WRITES/s", "CROSS/s",
            "ROW");
    print_rows(out, hot);
}

int run_hotkeys(struct session *session)
{
    const char *table = session->argument_count > 0 ? session->arguments[0] : "";
    struct edubba_hot_keys *list = NULL;
    struct edubba_error error;
    size_t count = 0;
    bool more = false;

    session_only_looks(session);
    struct edubba_client *client = session_client(session);
    if (client == NULL) {
        return EXIT_CODE_FAILED;
    }
    if (edubba_list_hot_keys(client, table, session->json ? 0 : TABLETS_DEFAULT, &list, &count,
                             &more, &error) != EDUBBA_OK) {
        return session_fail(session, &error);
    }
    for (size_t i = 0; i < count; i++) {
        if (session->json) {
            print_json(session->out, &list[i]);
        } else {
            print_tablet(session->out, &list[i]);
        }
    }
    if (!session->json && count > 0) {
        const char *name = table[0] != '\0' ? table : list[0].table;
        fprintf(session->out,
                "`ebt advise %s` says what this means for the keys, and what cures it\n", name);
    }
    edubba_free(list);
    if (!session->json && more) {
        fprintf(session->out, "there are others, that take less; with --json all are listed\n");
    }
    if (!session->json && count == 0) {
        fprintf(session->out, "no tablet%s%s was busy in the last ten minutes\n",
                table[0] != '\0' ? " of " : "", table);
    }
    return EXIT_CODE_OK;
}

/* --- advice ------------------------------------------------------------------------------------- */

static const char *kind_name(int kind)
{
    switch (kind) {
    case EDUBBA_ADVICE_BALANCED:
        return "balanced";
    case EDUBBA_ADVICE_TOO_FEW:
        return "too_few";
    case EDUBBA_ADVICE_POPULAR_KEY:
        return "popular_key";
    case EDUBBA_ADVICE_MONOTONIC:
        return "monotonic";
    case EDUBBA_ADVICE_NARROW_RANGE:
        return "narrow_range";
    case EDUBBA_ADVICE_HIGH_PRESSURE:
        return "high_pressure";
    case EDUBBA_ADVICE_LARGE_ROWS:
        return "large_rows";
    default:
        return "unknown";
    }
}

static void print_advice_json(FILE *out,
                              const struct edubba_advice *advice,
                              const struct edubba_advice_basis *basis)
{
    fprintf(out, "{\"kind\":\"%s\",\"share_percent\":%.1f,\"tablet\":\"%" PRIu64 "\",",
            kind_name(advice->kind), advice->share_percent, advice->tablet);
    print_json_range(out, advice->start, advice->end);
    fputc(',', out);
    print_json_bytes(out, "key", advice->key);
    fputs(",\"text\":", out);
    print_json_text(out, advice->text);
    fputs(",\"pattern\":", out);
    print_json_text(out, advice->pattern);
    fputs(",\"cure\":", out);
    print_json_text(out, advice->cure);
    fprintf(out, ",\"age_us\":%" PRId64 "}\n", basis->age_us);
}

static void print_advice(FILE *out, const struct edubba_advice *advice)
{
    fprintf(out, "%s: %s\n", kind_name(advice->kind), advice->text);
    if (advice->tablet != 0) {
        fprintf(out, "  where: tablet %" PRIu64 ", rows ", advice->tablet);
        print_range(out, advice->start, advice->end);
        fputc('\n', out);
    }
    if (advice->cure[0] != '\0') {
        fprintf(out, "  cure%s%s: %s\n", advice->pattern[0] != '\0' ? ", " : "", advice->pattern,
                advice->cure);
    }
}

int run_advise(struct session *session)
{
    struct edubba_advice_basis basis = {0};
    struct edubba_advice *advice = NULL;
    struct edubba_error error;
    size_t count = 0;

    session_only_looks(session);
    struct edubba_client *client = session_client(session);
    if (client == NULL) {
        return EXIT_CODE_FAILED;
    }
    if (edubba_advise(client, session->arguments[0], &advice, &count, &basis, &error) !=
        EDUBBA_OK) {
        return session_fail(session, &error);
    }
    for (size_t i = 0; i < count; i++) {
        if (session->json) {
            print_advice_json(session->out, &advice[i], &basis);
        } else {
            print_advice(session->out, &advice[i]);
        }
    }
    edubba_free(advice);
    if (!session->json) {
        fputc('(', session->out);
        if (basis.busy_count > 0) {
            fprintf(session->out, "as of %.0f s ago, ", (double)basis.age_us / 1e6);
        }
        fprintf(session->out,
                "by %" PRIu64 " samples of %" PRIu64 " rows touched a second in %" PRIu64
                " of %" PRIu64 " tablets)\n",
                basis.observations, basis.operations_per_second, basis.busy_count,
                basis.tablet_count);
    }
    return EXIT_CODE_OK;
}

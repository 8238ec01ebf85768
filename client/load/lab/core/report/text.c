#include "client/load/lab/core/report/text.h"

#include <inttypes.h>
#include <string.h>

#include "client/load/core/report.h"

#define PERCENT        100.0
#define NAME_WIDTH     18
#define BAR_CELLS      20
#define SPARKS_MAX     40
#define WRAP_COLUMNS   98
#define VERDICT_INDENT 4
#define CHANGES_SHOWN  8

static const char *const BLOCKS[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
#define BLOCK_COUNT (sizeof BLOCKS / sizeof BLOCKS[0])

static size_t variants_of(const struct lab_result *result)
{
    return result->experiment->variant_count;
}

/* --- words ------------------------------------------------------------------------------------ */

/* How many columns the word takes: UTF-8's continuation bytes take none. */
static size_t columns_of(const char *text, size_t size)
{
    size_t columns = 0;
    for (size_t i = 0; i < size; i++) {
        columns += ((unsigned char)text[i] & 0xc0) != 0x80 ? 1 : 0;
    }
    return columns;
}

/* Lines break at blanks; each begins at `indent`, but the first, of which there is something up to `column`. */
static void print_words(FILE *out, const char *text, size_t column, size_t indent)
{
    while (*text != '\0') {
        size_t size = strcspn(text, " ");
        size_t columns = columns_of(text, size);
        if (column > indent && column + 1 + columns > WRAP_COLUMNS) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", (int)size, text);
        column += columns;
        text += size;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_wrapped(FILE *out, const char *text, size_t indent)
{
    print_words(out, text, indent, indent);
}

/* --- tables ----------------------------------------------------------------------------------- */

static void print_phase(FILE *out, const char *name, const struct lab_phase *phase)
{
    char rate[LOAD_RATE_BYTES];
    char p50[LOAD_TIME_BYTES];
    char p99[LOAD_TIME_BYTES];
    fprintf(out, "  %-*s %10s %10s %10s %7" PRIu64 " %8.0f %% %8.0f %%", NAME_WIDTH, name,
            load_rate_text(lab_phase_rate(phase), rate), load_time_text(phase->p50_ns, p50),
            load_time_text(phase->p99_ns, p99), phase->errors,
            PERCENT * lab_timeline_busiest_tablet(&phase->timeline),
            PERCENT * lab_timeline_busiest_server(&phase->timeline));
}

/* Of what was not run there is no table. */
static bool has_any_run(const struct lab_result *result, size_t phase)
{
    bool has_run = false;
    for (size_t i = 0; i < variants_of(result); i++) {
        const struct lab_variant_result *variant = &result->variants[i];
        has_run = has_run ||
                  (phase == LAB_WRITES ? &variant->write : &variant->queries[phase])->has_run;
    }
    return has_run;
}

static void print_writes(FILE *out, const struct lab_result *result)
{
    if (!has_any_run(result, LAB_WRITES)) {
        return;
    }
    fprintf(out, "\n  %-*s %10s %10s %10s %7s %10s %10s %9s %6s %5s %10s\n", NAME_WIDTH, "writes",
            "events/s", "p50", "p99", "errors", "one tablet", "one server", "tablets", "splits",
            "moves", "hand-overs");
    for (size_t i = 0; i < variants_of(result); i++) {
        const struct lab_variant_result *variant = &result->variants[i];
        if (!variant->has_run || !variant->write.has_run) {
            continue;
        }
        const struct lab_timeline *timeline = &variant->write.timeline;
        const struct lab_map *last = lab_timeline_map(timeline);
        char tablets[LOAD_RATE_BYTES] = "-";
        if (last != NULL) {
            (void)snprintf(tablets, sizeof tablets, "%zu > %zu", timeline->maps[0]->count,
                           last->count);
        }
        print_phase(out, variant->variant->name, &variant->write);
        fprintf(out, " %9s %6" PRIu64 " %5" PRIu64 " %10" PRIu64 "\n", tablets, timeline->splits,
                timeline->moves, timeline->hand_overs);
        if (variant->write.late > 0) {
            fprintf(out, "  %-*s %" PRIu64 " came due and were never sent\n", NAME_WIDTH, "",
                    variant->write.late);
        }
        if (variant->write.errors > 0) {
            fprintf(out, "  %-*s first error: %s\n", NAME_WIDTH, "", variant->write.first_error);
        }
    }
}

static void print_query(FILE *out, const struct lab_result *result, size_t query)
{
    if (!has_any_run(result, query)) {
        return;
    }
    fprintf(out, "\n  “%s”\n  %-*s %10s %10s %10s %7s %10s %10s %9s %13s %13s %16s\n",
            result->experiment->queries[query], NAME_WIDTH, "", "queries/s", "p50", "p99", "errors",
            "one tablet", "one server", "rows/s", "bytes a query", "cells a query",
            "looked at a row");
    for (size_t i = 0; i < variants_of(result); i++) {
        const struct lab_variant_result *variant = &result->variants[i];
        const struct lab_phase *phase = &variant->queries[query];
        char rows[LOAD_RATE_BYTES];
        char looked_at[LOAD_RATE_BYTES] = "-";
        char cells[LOAD_RATE_BYTES] = "-";
        if (variant->has_run && variant->variant->queries[query] == NULL) {
            fprintf(out, "  %-*s cannot be answered\n", NAME_WIDTH, variant->variant->name);
        }
        if (!variant->has_run || !phase->has_run) {
            continue;
        }
        if (phase->operations == 0 && phase->errors == 0) {
            fprintf(out, "  %-*s none came to its end: %" PRIu64 " were cut off after %.2g s\n",
                    NAME_WIDTH, variant->variant->name, phase->cut_off, phase->length_s);
            continue;
        }
        if (phase->rows_found > 0) {
            (void)snprintf(looked_at, sizeof looked_at, "%.1f",
                           (double)phase->rows_seen / (double)phase->rows_found);
            (void)snprintf(cells, sizeof cells, "%.0f", lab_phase_looked_at_cells(phase));
        }
        print_phase(out, variant->variant->name, phase);
        fprintf(
            out, " %9s %13.0f %13s %16s\n",
            load_rate_text(phase->length_s > 0 ? (double)phase->rows / phase->length_s : 0, rows),
            lab_phase_given(phase), cells, looked_at);
    }
}

/* --- shares over time ------------------------------------------------------------------------- */

/* A block a moment, or a block for several. */
static void print_sparks(FILE *out, const struct lab_timeline *timeline, uint64_t server)
{
    size_t step = timeline->moment_count / SPARKS_MAX + 1;
    for (size_t i = 0; i < timeline->moment_count; i += step) {
        double share = 0;
        size_t end = i + step < timeline->moment_count ? i + step : timeline->moment_count;
        for (size_t j = i; j < end; j++) {
            share += lab_moment_server_share(timeline, j, server) / (double)(end - i);
        }
        size_t block = (size_t)(share * (double)(BLOCK_COUNT - 1) + 0.5);
        fputs(BLOCKS[block < BLOCK_COUNT ? block : BLOCK_COUNT - 1], out);
    }
}

static const struct lab_share *share_of(const struct lab_share *shares,
                                        size_t count,
                                        uint64_t server)
{
    for (size_t i = 0; i < count; i++) {
        if (shares[i].number == server) {
            return &shares[i];
        }
    }
    return NULL;
}

/* share NULL = it had nothing of the table. */
static void print_share(FILE *out,
                        const struct lab_timeline *timeline,
                        const char *name,
                        const struct lab_share *share,
                        bool draws)
{
    double part = share != NULL ? share->share : 0;
    fprintf(out, "    %-28s %5.1f %%", name, PERCENT * part);
    if (draws && share != NULL) {
        size_t full = (size_t)(part * BAR_CELLS + 0.5);
        fputs("  ", out);
        for (size_t j = 0; j < BAR_CELLS; j++) {
            fputs(j < full ? "█" : "░", out);
        }
        fputs("  ", out);
        print_sparks(out, timeline, share->number);
    }
    fputc('\n', out);
}

static void print_shares(FILE *out,
                         const struct lab_result *result,
                         const struct lab_variant_result *variant,
                         bool draws)
{
    struct lab_share shares[LAB_SERVERS_MAX];
    const struct lab_timeline *timeline = &variant->write.timeline;
    size_t count = lab_timeline_servers(timeline, shares, LAB_SERVERS_MAX);
    for (size_t i = 0; i < result->server_count; i++) {
        print_share(out, timeline, result->servers[i].address,
                    share_of(shares, count, result->servers[i].number), draws);
    }
    for (size_t i = 0; i < count; i++) {
        if (lab_result_address(result, shares[i].number)[0] == '\0') {
            print_share(out, timeline, shares[i].number == 0 ? "(no server)" : "(a new server)",
                        &shares[i], draws);
        }
    }
}

static void print_changes(FILE *out,
                          const struct lab_result *result,
                          const struct lab_timeline *timeline)
{
    for (size_t i = 0; i < timeline->change_count && i < CHANGES_SHOWN; i++) {
        const struct lab_map_change *change = &timeline->changes[i];
        fprintf(out, "    %5.1f s  ", change->at_s);
        switch (change->kind) {
        case LAB_SPLIT:
            fprintf(out, "tablet %" PRIu64 " was split into %zu\n", change->tablet, change->pieces);
            break;
        case LAB_MERGE:
            fprintf(out, "%zu tablets were merged into %" PRIu64 "\n", change->pieces,
                    change->tablet);
            break;
        case LAB_MOVED:
            fprintf(out, "tablet %" PRIu64 " was moved from %s to %s\n", change->tablet,
                    lab_result_address(result, change->from),
                    lab_result_address(result, change->to));
            break;
        case LAB_HANDED_OVER:
            fprintf(out, "tablet %" PRIu64 " was handed over from %s to %s\n", change->tablet,
                    lab_result_address(result, change->from),
                    lab_result_address(result, change->to));
            break;
        }
    }
    if (timeline->change_count > CHANGES_SHOWN) {
        fprintf(out, "    and %zu more\n", timeline->change_count - CHANGES_SHOWN);
    }
}

/* --- all of it -------------------------------------------------------------------------------- */

static void print_head(FILE *out, const struct lab_result *result)
{
    fprintf(out, "%s: %s\n\n  ", result->experiment->name, result->experiment->summary);
    print_wrapped(out, result->experiment->story, 2);
    fprintf(out, "\n  %zu servers; %" PRIu64 " %s of each tablet; ", result->server_count,
            result->replicas, result->replicas == 1 ? "copy" : "copies");
    if (result->rate > 0) {
        fprintf(out, "%g requests a second", result->rate);
    } else {
        fprintf(out, "%" PRIu64 " requests at a time", result->in_flight * result->clients);
    }
    fprintf(out, "; %" PRIu64 " events were there before%s\n", result->history,
            result->interrupted ? "; INTERRUPTED" : "");
    if (result->confinement[0] != '\0') {
        fprintf(out, "  %s\n", result->confinement);
    }
}

/* What was decided about the table, and what is said of it, by the cluster itself. */
static void print_cluster(FILE *out, const struct lab_variant_result *variant)
{
    static const char LABEL[] = "the cluster says:";
    char decided[LAB_DECIDED_BYTES];
    lab_decided_text(&variant->decided, decided);
    if (decided[0] != '\0') {
        fprintf(out, "%*s", VERDICT_INDENT, "");
        print_wrapped(out, decided, VERDICT_INDENT);
    }
    for (size_t i = 0; i < variant->told_count; i++) {
        fprintf(out, "%*s%s", VERDICT_INDENT, "", LABEL);
        print_words(out, variant->told[i], VERDICT_INDENT + strlen(LABEL), VERDICT_INDENT);
    }
}

static void print_variant(FILE *out,
                          const struct lab_result *result,
                          const struct lab_variant_result *variant,
                          bool draws)
{
    fprintf(out, "\n  %s   %s   %.0f bytes an event", variant->variant->name, variant->variant->key,
            variant->event_bytes);
    if (variant->stored_is_known && variant->stored_bytes > 0 && variant->write.has_run) {
        fprintf(out, ", about %.3g MB stored of %" PRIu64 " events",
                (double)variant->stored_bytes / 1e6, result->history + variant->write.operations);
    }
    fputs("\n    ", out);
    print_wrapped(out, variant->verdict, VERDICT_INDENT);
    if (variant->write.has_run) {
        print_shares(out, result, variant, draws);
        print_changes(out, result, &variant->write.timeline);
    }
    print_cluster(out, variant);
}

static void print_kept(FILE *out, const struct lab_result *result)
{
    char names[sizeof result->kept + sizeof "kept:"] = "kept:";
    size_t length = strlen(names);
    for (size_t i = 0; i < result->kept_count; i++) {
        length += (size_t)snprintf(names + length, sizeof names - length, " %s", result->kept[i]);
    }
    if (result->kept_count > 0) {
        fputs("\n  ", out);
        print_wrapped(out, names, 2);
    }
}

void lab_text(FILE *out, const struct lab_result *result, bool draws)
{
    print_head(out, result);
    print_writes(out, result);
    for (size_t i = 0; i < LAB_QUERIES_MAX && result->experiment->queries[i] != NULL; i++) {
        print_query(out, result, i);
    }
    for (size_t i = 0; i < variants_of(result); i++) {
        if (result->variants[i].has_run) {
            print_variant(out, result, &result->variants[i], draws);
        }
    }
    if (result->verdict[0] != '\0') {
        fputs("\n  ", out);
        print_wrapped(out, result->verdict, 2);
    }
    if (result->choice[0] != '\0') {
        fputs("\n  ", out);
        print_wrapped(out, result->choice, 2);
    }
    print_kept(out, result);
}

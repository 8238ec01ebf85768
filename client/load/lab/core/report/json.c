#include "client/load/lab/core/report/json.h"

#include <inttypes.h>

#define TABLETS_TOLD 256

/* --- text ------------------------------------------------------------------------------------- */

static void put(FILE *out, unsigned char byte)
{
    switch (byte) {
    case '"':
    case '\\':
        fprintf(out, "\\%c", byte);
        break;
    case '<': /* of </script> */
    case '>':
    case '&':
        fprintf(out, "\\u%04x", (unsigned)byte);
        break;
    default:
        if (byte < ' ') {
            fprintf(out, "\\u%04x", (unsigned)byte);
        } else {
            fputc(byte, out);
        }
    }
}

static void text(FILE *out, const char *from)
{
    fputc('"', out);
    for (; *from != '\0'; from++) {
        put(out, (unsigned char)*from);
    }
    fputc('"', out);
}

static void key(FILE *out, struct edubba_bytes bytes)
{
    const unsigned char *data = bytes.data;
    fputc('"', out);
    for (size_t i = 0; i < bytes.size; i++) {
        if (data[i] < ' ' || data[i] > '~') {
            fprintf(out, "\\\\x%02x", (unsigned)data[i]);
        } else {
            put(out, data[i]);
        }
    }
    fputc('"', out);
}

static void member(FILE *out, const char *name, const char *value)
{
    fprintf(out, "\"%s\":", name);
    text(out, value);
    fputc(',', out);
}

static double us(uint64_t ns)
{
    return (double)ns / 1000;
}

/* --- phases ----------------------------------------------------------------------------------- */

static void print_maps(FILE *out, const struct lab_timeline *timeline)
{
    fputs("\"maps\":[", out);
    for (size_t i = 0; i < timeline->map_count; i++) {
        const struct lab_map *map = timeline->maps[i];
        fputs(i > 0 ? ",[" : "[", out);
        for (size_t j = 0; j < map->count; j++) {
            const struct lab_tablet *tablet = &map->tablets[j];
            fprintf(out, "%s{\"tablet\":\"%" PRIu64 "\",\"server\":\"%" PRIu64 "\",\"start\":",
                    j > 0 ? "," : "", tablet->number, tablet->server);
            key(out, tablet->start);
            fputs(",\"end\":", out);
            key(out, tablet->end);
            fputc('}', out);
        }
        fputc(']', out);
    }
    fputs("],", out);
}

static void print_moments(FILE *out, const struct lab_timeline *timeline)
{
    fputs("\"moments\":[", out);
    for (size_t i = 0; i < timeline->moment_count; i++) {
        const struct lab_moment *moment = &timeline->moments[i];
        size_t count = timeline->maps[moment->map]->count;
        fprintf(out,
                "%s{\"from_s\":%.3f,\"to_s\":%.3f,\"map\":%zu,\"operations\":%" PRIu64
                ",\"errors\":%" PRIu64 ",\"p99_us\":%.1f,\"by_tablet\":[",
                i > 0 ? "," : "", moment->from_s, moment->to_s, moment->map, moment->total,
                moment->errors, us(moment->p99_ns));
        for (size_t j = 0; j < count; j++) {
            fprintf(out, "%s%" PRIu64, j > 0 ? "," : "", moment->operations[j]);
        }
        fputs("]}", out);
    }
    fputs("],", out);
}

static void print_changes(FILE *out, const struct lab_timeline *timeline)
{
    static const char *const KINDS[] = {"split", "merge", "hand_over", "move"};
    fprintf(out,
            "\"splits\":%" PRIu64 ",\"merges\":%" PRIu64 ",\"moves\":%" PRIu64
            ",\"hand_overs\":%" PRIu64 ",\"changes\":[",
            timeline->splits, timeline->merges, timeline->moves, timeline->hand_overs);
    for (size_t i = 0; i < timeline->change_count; i++) {
        const struct lab_map_change *change = &timeline->changes[i];
        fprintf(out, "%s{\"at_s\":%.3f,\"what\":\"%s\",\"tablet\":\"%" PRIu64 "\"",
                i > 0 ? "," : "", change->at_s, KINDS[change->kind], change->tablet);
        if (change->kind == LAB_HANDED_OVER || change->kind == LAB_MOVED) {
            fprintf(out, ",\"from\":\"%" PRIu64 "\",\"to\":\"%" PRIu64 "\"}", change->from,
                    change->to);
        } else {
            fprintf(out, ",\"pieces\":%zu}", change->pieces);
        }
    }
    fputs("],", out);
}

static void print_shares(FILE *out, const struct lab_timeline *timeline)
{
    struct lab_share shares[TABLETS_TOLD];
    size_t count = lab_timeline_servers(timeline, shares, LAB_SERVERS_MAX);
    fputs("\"servers\":[", out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s{\"server\":\"%" PRIu64 "\",\"operations\":%" PRIu64 ",\"share\":%.6f}",
                i > 0 ? "," : "", shares[i].number, shares[i].operations, shares[i].share);
    }
    count = lab_timeline_tablets(timeline, shares, TABLETS_TOLD);
    fputs("],\"tablets\":[", out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s{\"tablet\":\"%" PRIu64 "\",\"operations\":%" PRIu64 ",\"share\":%.6f}",
                i > 0 ? "," : "", shares[i].number, shares[i].operations, shares[i].share);
    }
    fputs("]}", out);
}

static void print_phase(FILE *out, const char *name, const struct lab_phase *phase)
{
    fputc('{', out);
    member(out, "name", name);
    fprintf(out,
            "\"seconds\":%.3f,\"operations\":%" PRIu64 ",\"per_second\":%.1f,\"rows\":%" PRIu64
            ",\"rows_looked_at\":%" PRIu64 ",\"rows_found\":%" PRIu64
            ",\"cells_looked_at\":%" PRIu64 ",\"bytes_given\":%" PRIu64 ",\"errors\":%" PRIu64
            ",\"unknown\":%" PRIu64 ",\"late\":%" PRIu64 ",\"cut_off\":%" PRIu64
            ",\"p50_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f,",
            phase->length_s, phase->operations, lab_phase_rate(phase), phase->rows,
            phase->rows_seen, phase->rows_found, phase->cells_seen, phase->bytes_given,
            phase->errors, phase->unknown, phase->late, phase->cut_off, us(phase->p50_ns),
            us(phase->p99_ns), us(phase->max_ns));
    member(out, "first_error", phase->first_error);
    fprintf(out,
            "\"busiest_tablet\":%.4f,\"busiest_server\":%.4f,\"judged\":%" PRIu64
            ",\"behind\":%" PRIu64 ",",
            lab_timeline_busiest_tablet(&phase->timeline),
            lab_timeline_busiest_server(&phase->timeline), phase->judged, phase->behind);
    print_maps(out, &phase->timeline);
    print_moments(out, &phase->timeline);
    print_changes(out, &phase->timeline);
    print_shares(out, &phase->timeline);
}

/* --- variants --------------------------------------------------------------------------------- */

static void print_decided(FILE *out, const struct lab_decided *decided)
{
    fputs("\"decided\":{", out);
    for (size_t i = 0; i < LAB_DECISION_KINDS; i++) {
        const struct lab_decisions *decisions = &decided->kinds[i];
        fprintf(out,
                "\"%s\":{\"count\":%" PRIu64 ",\"done\":%" PRIu64 ",\"given_up\":%" PRIu64 "},",
                lab_decision_name((enum lab_decision_kind)i), decisions->count, decisions->done,
                decisions->given_up);
    }
    fputs("\"refusals\":{", out);
    for (size_t i = 0; i < decided->refusal_count; i++) {
        fputs(i > 0 ? "," : "", out);
        text(out, decided->refusals[i].reason);
        fprintf(out, ":%" PRIu64, decided->refusals[i].count);
    }
    fputs("}}", out);
}

static void print_variant(FILE *out,
                          const struct lab_experiment *experiment,
                          const struct lab_variant_result *result)
{
    static const char *const ROLES[] = {"bad", "good", "also"};
    const struct lab_variant *variant = result->variant;
    fputc('{', out);
    member(out, "name", variant->name);
    member(out, "key", variant->key);
    member(out, "about", variant->about);
    member(out, "role", ROLES[variant->role]);
    member(out, "verdict", result->verdict);
    member(out, "failure", result->failure);
    fputs("\"faults\":[", out);
    for (size_t i = 0; i < result->fault_count; i++) {
        fprintf(out, "%s\"%s\"", i > 0 ? "," : "", lab_fault_name(result->faults[i]));
    }
    fprintf(out,
            "],\"tablets_before\":%zu,\"tablets_after\":%zu,\"event_bytes\":%.1f,"
            "\"sums_checked\":%zu,\"sums_wrong\":%zu,\"copied_rows\":%" PRIu64
            ",\"copy_s\":%.3f,\"stored_bytes\":",
            result->tablets_before, result->tablets_after, result->event_bytes,
            result->sums_checked, result->sums_wrong, result->copied_rows, result->copy_s);
    if (result->stored_is_known) {
        fprintf(out, "%" PRIu64, result->stored_bytes);
    } else {
        fputs("null", out);
    }
    fputc(',', out);
    print_decided(out, &result->decided);
    fputs(",\"told\":[", out);
    for (size_t i = 0; i < result->told_count; i++) {
        fputs(i > 0 ? "," : "", out);
        text(out, result->told[i]);
    }
    fputs("],\"write\":", out);
    print_phase(out, "writes", &result->write);
    fputs(",\"queries\":[", out);
    const char *comma = "";
    for (size_t i = 0; i < LAB_QUERIES_MAX && experiment->queries[i] != NULL; i++) {
        fputs(comma, out);
        print_phase(out, experiment->queries[i], &result->queries[i]);
        comma = ",";
    }
    fputs("]}", out);
}

void lab_json(FILE *out, const struct lab_result *result)
{
    const char *comma = "";
    fputc('{', out);
    member(out, "experiment", result->experiment->name);
    member(out, "summary", result->experiment->summary);
    member(out, "story", result->experiment->story);
    member(out, "verdict", result->verdict);
    member(out, "choice", result->choice);
    member(out, "confinement", result->confinement);
    fprintf(out,
            "\"rate\":%g,\"in_flight\":%" PRIu64 ",\"clients\":%" PRIu64 ",\"history\":%" PRIu64
            ",\"replicas\":%" PRIu64 ",\"duration_s\":%g,\"interrupted\":%s,\"servers\":[",
            result->rate, result->in_flight, result->clients, result->history, result->replicas,
            result->duration_s, result->interrupted ? "true" : "false");
    for (size_t i = 0; i < result->server_count; i++) {
        fprintf(out, "%s{\"server\":\"%" PRIu64 "\",\"address\":", i > 0 ? "," : "",
                result->servers[i].number);
        text(out, result->servers[i].address);
        fputc('}', out);
    }
    fputs("],\"kept\":[", out);
    for (size_t i = 0; i < result->kept_count; i++) {
        fputs(i > 0 ? "," : "", out);
        text(out, result->kept[i]);
    }
    fputs("],\"variants\":[", out);
    for (size_t i = 0; i < result->experiment->variant_count; i++) {
        if (result->variants[i].has_run) {
            fputs(comma, out);
            print_variant(out, result->experiment, &result->variants[i]);
            comma = ",";
        }
    }
    fputs("]}", out);
}

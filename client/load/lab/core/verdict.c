#include "client/load/lab/core/verdict.h"

#include "client/load/lab/core/choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/load/lab/core/sentence.h"

#define PERCENT         100.0
#define LOOKED_AT_ROWS  50  /* a query: fewer are nothing to speak of */
#define LOOKED_AT_CELLS 100 /* the same */
#define GIVEN_BYTES     512 /* a query: fewer are nothing to speak of */
#define NAME_BYTES      64
#define REFUSALS_SAID   2

/* Two digits that count, and none of them behind an e. */
static void say_times(struct lab_sentence *sentence, double times)
{
    lab_say(sentence, times < 10 ? "%.2g ×" : "%.0f ×", times);
}

static void add_fault(struct lab_variant_result *variant, enum lab_fault fault)
{
    if (variant->fault_count < LAB_FAULTS_MAX) {
        variant->faults[variant->fault_count++] = fault;
    }
}

/* --- writes ----------------------------------------------------------------------------------- */

static double behind_share(const struct lab_phase *write)
{
    return write->judged >= LAB_JUDGED_LEAST ? (double)write->behind / (double)write->judged : 0;
}

static void say_who(struct lab_sentence *sentence,
                    const struct lab_experiment *experiment,
                    const struct lab_phase *write,
                    const struct lab_frequent_place *who)
{
    char name[NAME_BYTES];
    experiment->who_text(who->id, name, sizeof name);
    lab_say(sentence, "%.0f %% of them are about one %s, %s",
            PERCENT * lab_frequent_share(&write->by_who, who), experiment->who, name);
}

/* Where the writes go, if that is to one place. */
static void judge_places(const struct lab_experiment *experiment,
                         struct lab_variant_result *variant,
                         struct lab_sentence *sentence)
{
    const struct lab_phase *write = &variant->write;
    const struct lab_frequent_place *row = lab_frequent_top(&write->by_row);
    const struct lab_frequent_place *who = lab_frequent_top(&write->by_who);
    double busiest = lab_timeline_busiest_tablet(&write->timeline);
    bool is_one_tablet = busiest >= LAB_HOT_TABLET_SHARE && variant->tablets_after > 1;
    if (row != NULL && lab_frequent_share(&write->by_row, row) >= LAB_HOT_ROW_SHARE) {
        lab_begin_clause(sentence);
        add_fault(variant, LAB_POPULAR_ROW);
        lab_say(sentence, "%.0f %% of the writes change one row, %.*s, and a row is never split",
                PERCENT * lab_frequent_share(&write->by_row, row), (int)row->text_size, row->text);
    } else if (busiest >= LAB_HOT_TABLET_SHARE && behind_share(write) >= LAB_BEHIND_SHARE) {
        lab_begin_clause(sentence);
        add_fault(variant, LAB_MONOTONIC);
        lab_say(sentence,
                "%.0f %% of the writes hit one tablet, behind all its rows: %s grows at its "
                "end only",
                PERCENT * busiest, variant->variant->key);
    } else if (is_one_tablet && who != NULL &&
               lab_frequent_share(&write->by_who, who) >= LAB_HOT_SERIES_SHARE) {
        lab_begin_clause(sentence);
        add_fault(variant, LAB_POPULAR_SERIES);
        lab_say(sentence, "%.0f %% of the writes hit one tablet, for ", PERCENT * busiest);
        say_who(sentence, experiment, write, who);
    } else if (is_one_tablet) {
        lab_begin_clause(sentence);
        add_fault(variant, LAB_HOT_RANGE);
        lab_say(sentence,
                "%.0f %% of the writes hit one tablet: what is written at one time lies side "
                "by side under %s",
                PERCENT * busiest, variant->variant->key);
    }
}

/* The reason that fits the fault, where the master gave it: most of the others may be about what was read, or about how lately
 * something was cut.  The count of refusals: it gave none such. */
static size_t fitting_refusal(const struct lab_variant_result *variant)
{
    const struct lab_decided *decided = &variant->decided_of_writes;
    const char *fitting = variant->faults[0] == LAB_MONOTONIC ? "monotonic" : "popular_key";
    size_t at = 0;
    while (at < decided->refusal_count && strcmp(decided->refusals[at].reason, fitting) != 0) {
        at++;
    }
    return at;
}

static void say_refusal(struct lab_sentence *sentence, const char *reason, size_t said)
{
    if (said == 0) {
        lab_begin_clause(sentence);
    }
    lab_say(sentence, "%s%s", said == 0 ? "splitting refused: " : ", ", reason);
}

/* Why the master did not part what is hot of writes: what fits the fault, then the reasons that it had most often; but for
 * what was split a moment ago: time cures that, whatever the keys.  False: it refused nothing, or nothing is hot. */
static bool say_refusals(const struct lab_variant_result *variant, struct lab_sentence *sentence)
{
    const struct lab_decided *decided = &variant->decided_of_writes;
    if (variant->fault_count == 0 || decided->refusal_count == 0) {
        return false;
    }
    size_t fitting = fitting_refusal(variant);
    size_t said = 0;
    if (fitting < decided->refusal_count) {
        say_refusal(sentence, decided->refusals[fitting].reason, said++);
    }
    for (size_t i = 0; i < decided->refusal_count && said < REFUSALS_SAID; i++) {
        const char *reason = decided->refusals[i].reason;
        if (i != fitting && strcmp(reason, "cooling_down") != 0) {
            say_refusal(sentence, reason, said++);
        }
    }
    return said > 0;
}

/* The write rate of the fastest variant that does not do so. */
static const struct lab_variant_result *fastest_blind(const struct lab_result *result)
{
    const struct lab_variant_result *fastest = NULL;
    for (size_t i = 0; i < result->experiment->variant_count; i++) {
        const struct lab_variant_result *other = &result->variants[i];
        if (other->has_run && !other->variant->reads_first && other->write.has_run &&
            (fastest == NULL || lab_phase_rate(&other->write) > lab_phase_rate(&fastest->write))) {
            fastest = other;
        }
    }
    return fastest;
}

static void judge_reading(const struct lab_result *result,
                          struct lab_variant_result *variant,
                          struct lab_sentence *sentence)
{
    const struct lab_variant_result *other = fastest_blind(result);
    double rate = lab_phase_rate(&variant->write);
    if (!variant->variant->reads_first || other == NULL || rate <= 0) {
        return;
    }
    lab_begin_clause(sentence);
    add_fault(variant, LAB_READS_FIRST);
    lab_say(sentence, "each write reads its row first and waits for the one before it: ");
    say_times(sentence, rate / lab_phase_rate(&other->write));
    lab_say(sentence, " the writes of %s", other->variant->name);
}

static void judge_growth(struct lab_variant_result *variant, struct lab_sentence *sentence)
{
    const struct lab_frequent_place *row = lab_frequent_top(&variant->write.by_row);
    if (!variant->variant->cells_add_up || row == NULL ||
        row->count - row->error < LAB_GROWN_CELLS) {
        return;
    }
    lab_begin_clause(sentence);
    add_fault(variant, LAB_GROWING_ROW);
    lab_say(sentence, "rows grow without bound: %.*s by %" PRIu64 " cells in %.3g s",
            (int)row->text_size, row->text, row->count - row->error, variant->write.length_s);
}

static void judge_bytes(const struct lab_result *result,
                        struct lab_variant_result *variant,
                        struct lab_sentence *sentence)
{
    const struct lab_variant_result *least = NULL;
    for (size_t i = 0; i < result->experiment->variant_count; i++) {
        const struct lab_variant_result *other = &result->variants[i];
        if (other->event_bytes > 0 && (least == NULL || other->event_bytes < least->event_bytes)) {
            least = other;
        }
    }
    if (least == NULL || variant->event_bytes < least->event_bytes * LAB_HEAVY_RATIO) {
        return;
    }
    lab_begin_clause(sentence);
    add_fault(variant, LAB_HEAVY);
    lab_say(sentence, "an event takes %.0f bytes, ", variant->event_bytes);
    say_times(sentence, variant->event_bytes / least->event_bytes);
    lab_say(sentence, " those of %s", least->variant->name);
}

/* --- queries and sums ------------------------------------------------------------------------- */

static double looked_at(const struct lab_phase *query)
{
    if (!query->has_run || query->operations == 0 ||
        query->rows_seen < query->operations * LOOKED_AT_ROWS) {
        return 0;
    }
    return (double)query->rows_seen / (double)(query->rows_found > 0 ? query->rows_found : 1);
}

/* Queries of a kind that were all cut off at the end of their time. */
static void judge_unanswered(const struct lab_experiment *experiment,
                             struct lab_variant_result *variant,
                             struct lab_sentence *sentence)
{
    for (size_t i = 0; i < LAB_QUERIES_MAX; i++) {
        const struct lab_phase *query = &variant->queries[i];
        if (query->has_run && query->operations == 0 && query->cut_off > 0) {
            lab_begin_clause(sentence);
            add_fault(variant, LAB_NO_ANSWER);
            lab_say(sentence, "not one “%s” came to its end in %.2g s", experiment->queries[i],
                    query->length_s);
        }
    }
}

/* The worst of the queries. */
static void judge_queries(const struct lab_experiment *experiment,
                          struct lab_variant_result *variant,
                          struct lab_sentence *sentence)
{
    size_t worst = 0;
    for (size_t i = 1; i < LAB_QUERIES_MAX; i++) {
        worst = looked_at(&variant->queries[i]) > looked_at(&variant->queries[worst]) ? i : worst;
    }
    double ratio = looked_at(&variant->queries[worst]);
    if (ratio < LAB_LOOKED_AT_RATIO) {
        return;
    }
    lab_begin_clause(sentence);
    add_fault(variant, LAB_LOOKS_AT_MUCH);
    lab_say(sentence, "“%s” looks at %.0f rows for each that it returns",
            experiment->queries[worst], ratio);
}

static bool has_fault(const struct lab_variant_result *variant, enum lab_fault fault)
{
    bool has = false;
    for (size_t i = 0; i < variant->fault_count; i++) {
        has = has || variant->faults[i] == fault;
    }
    return has;
}

/* 0 = too few were answered to be set against others. */
static double mean_cells(const struct lab_phase *query)
{
    return query->operations < LAB_QUERIES_LEAST ? 0 : lab_phase_looked_at_cells(query);
}

static double mean_given(const struct lab_phase *query)
{
    return query->operations < LAB_QUERIES_LEAST ? 0 : lab_phase_given(query);
}

/* The variant of which the query takes the least; NULL: none is known. */
static const struct lab_variant_result *leanest(const struct lab_result *result,
                                                size_t query,
                                                double (*taken)(const struct lab_phase *))
{
    const struct lab_variant_result *least = NULL;
    for (size_t i = 0; i < result->experiment->variant_count; i++) {
        const struct lab_variant_result *other = &result->variants[i];
        double of_other = taken(&other->queries[query]);
        if (of_other > 0 && (least == NULL || of_other < taken(&least->queries[query]))) {
            least = other;
        }
    }
    return least;
}

/* Rows that a query looks at and does not give to who asks; salted ones are read ahead in each salt. */
static bool passes_over_rows(const struct lab_phase *query)
{
    return (double)query->rows_seen > LAB_ROWS_SPARE * (double)query->rows;
}

/* What lies beside the cells that are wanted, in rows that are. */
static void judge_cells(const struct lab_result *result,
                        struct lab_variant_result *variant,
                        struct lab_sentence *sentence)
{
    for (size_t i = 0; i < LAB_QUERIES_MAX; i++) {
        const struct lab_variant_result *least = leanest(result, i, mean_cells);
        double cells = mean_cells(&variant->queries[i]);
        if (least == NULL || cells < LOOKED_AT_CELLS || passes_over_rows(&variant->queries[i]) ||
            cells < LAB_CELLS_RATIO * mean_cells(&least->queries[i])) {
            continue;
        }
        lab_begin_clause(sentence);
        add_fault(variant, LAB_LOOKS_AT_CELLS);
        lab_say(sentence, "“%s” looks at %.0f cells, ", result->experiment->queries[i], cells);
        say_times(sentence, cells / mean_cells(&least->queries[i]));
        lab_say(sentence, " those of %s", least->variant->name);
        return;
    }
}

/* What is not asked for has to be sorted out by who asks.  Of long names that was said. */
static void judge_given(const struct lab_result *result,
                        struct lab_variant_result *variant,
                        struct lab_sentence *sentence)
{
    for (size_t i = 0; i < LAB_QUERIES_MAX && !has_fault(variant, LAB_HEAVY); i++) {
        const struct lab_variant_result *least = leanest(result, i, mean_given);
        double given = mean_given(&variant->queries[i]);
        if (least == NULL || given < GIVEN_BYTES ||
            given < LAB_GIVEN_RATIO * mean_given(&least->queries[i])) {
            continue;
        }
        lab_begin_clause(sentence);
        add_fault(variant, LAB_GIVES_MUCH);
        lab_say(sentence, "“%s” is given %.0f bytes, ", result->experiment->queries[i], given);
        say_times(sentence, given / mean_given(&least->queries[i]));
        lab_say(sentence, " those of %s", least->variant->name);
        return;
    }
}

static void judge_sums(struct lab_variant_result *variant, struct lab_sentence *sentence)
{
    if (variant->sums_checked == 0) {
        return;
    }
    lab_begin_clause(sentence);
    if (variant->sums_wrong > 0) {
        add_fault(variant, LAB_WRONG_SUMS);
        lab_say(sentence, "%zu of %zu sums are WRONG: %s", variant->sums_wrong,
                variant->sums_checked, variant->sums_example);
    } else {
        lab_say(sentence, "all %zu sums are exact", variant->sums_checked);
    }
}

static void say_copy(const struct lab_variant_result *variant, struct lab_sentence *sentence)
{
    if (variant->copy_s > 0) {
        lab_begin_clause(sentence);
        lab_say(sentence, "the nightly copy of %" PRIu64 " rows took %.2g s", variant->copied_rows,
                variant->copy_s);
    }
}

/* --- of a variant ----------------------------------------------------------------------------- */

/* Where the writes are no fault: say so before what else there is. */
static void say_spread(const struct lab_variant_result *variant, struct lab_sentence *sentence)
{
    const struct lab_timeline *timeline = &variant->write.timeline;
    lab_begin_clause(sentence);
    if (variant->tablets_after < 2) {
        lab_say(sentence, "the table is one tablet: nothing can be spread (--presplit)");
    } else {
        lab_say(sentence, "writes are spread, the busiest of %zu tablets took %.0f %%",
                variant->tablets_after, PERCENT * lab_timeline_busiest_tablet(timeline));
    }
}

static void judge_variant(const struct lab_result *result, struct lab_variant_result *variant)
{
    struct lab_sentence sentence = lab_sentence_in(variant->verdict, sizeof variant->verdict);
    variant->fault_count = 0;
    if (variant->failure[0] != '\0') {
        lab_say(&sentence, "%s", variant->failure);
        return;
    }
    if (!variant->write.has_run && result->interrupted) {
        lab_say(&sentence, "it was interrupted before its writes");
        return;
    }
    if (!variant->write.has_run || variant->write.operations == 0) {
        lab_say(&sentence, "not one write came to its end%s%s",
                variant->write.first_error[0] != '\0' ? ": " : "", variant->write.first_error);
        return;
    }
    judge_places(result->experiment, variant, &sentence);
    size_t reasons_end = say_refusals(variant, &sentence) ? sentence.size : 0;
    if (variant->fault_count == 0) {
        say_spread(variant, &sentence);
    }
    judge_reading(result, variant, &sentence);
    judge_growth(variant, &sentence);
    judge_bytes(result, variant, &sentence);
    judge_queries(result->experiment, variant, &sentence);
    judge_cells(result, variant, &sentence);
    judge_given(result, variant, &sentence);
    judge_unanswered(result->experiment, variant, &sentence);
    judge_sums(variant, &sentence);
    say_copy(variant, &sentence);
    if (variant->fault_count > 0 && variant->variant->remedy[0] != '\0') {
        /* Right behind reasons a colon would make it one of them. */
        lab_say(&sentence, "%s%s", sentence.size == reasons_end ? "; " : ": ",
                variant->variant->remedy);
    }
}

/* --- of the experiment ------------------------------------------------------------------------ */

/* What the others are compared with: the first bad schema, else the first. */
static const struct lab_variant_result *base_of(const struct lab_result *result)
{
    for (size_t i = 0; i < result->experiment->variant_count; i++) {
        if (result->variants[i].has_run && result->variants[i].variant->role == LAB_BAD) {
            return &result->variants[i];
        }
    }
    return &result->variants[0];
}

/* "writes promoted 2.9 ×, salted 2.7 ×" */
static void compare(const struct lab_result *result,
                    const struct lab_variant_result *base,
                    const char *what,
                    size_t phase,
                    struct lab_sentence *sentence)
{
    double of_base = lab_worth(result, base, phase);
    size_t compared = 0;
    for (size_t i = 0; i < result->experiment->variant_count && of_base > 0; i++) {
        const struct lab_variant_result *other = &result->variants[i];
        double of_other = other != base ? lab_worth(result, other, phase) : 0;
        if (of_other <= 0) {
            continue;
        }
        if (compared == 0 && sentence->clauses == 0) {
            lab_say(sentence, "compared with “%s”: ", base->variant->name);
        }
        if (compared++ == 0) {
            lab_begin_clause(sentence);
            lab_say(sentence, "%s ", what);
        } else {
            lab_say(sentence, ", ");
        }
        lab_say(sentence, "%s ", other->variant->name);
        say_times(sentence, of_other / of_base);
    }
}

/* Cures were run, and none of them wrote faster. */
static bool no_cure_won(const struct lab_result *result, const struct lab_variant_result *base)
{
    double of_base = lab_worth(result, base, LAB_WRITES);
    size_t cures = 0;
    for (size_t i = 0; i < result->experiment->variant_count; i++) {
        const struct lab_variant_result *other = &result->variants[i];
        double of_other = lab_worth(result, other, LAB_WRITES);
        if (other->variant->role != LAB_GOOD || of_other <= 0) {
            continue;
        }
        if (of_other > of_base) {
            return false;
        }
        cures++;
    }
    return cures > 0;
}

static void begin_reason(struct lab_sentence *sentence, size_t *reasons)
{
    lab_say(sentence, "%s", *reasons == 0 ? ". No cure wrote faster, and this can be why: " : "; ");
    *reasons += 1;
}

/* A hotspot that cost nothing: what can have hidden it. */
static void explain_draw(const struct lab_result *result,
                         const struct lab_variant_result *base,
                         struct lab_sentence *sentence)
{
    uint64_t at_a_time = result->in_flight * result->clients;
    size_t reasons = 0;
    if (!lab_is_hot(base) || !no_cure_won(result, base)) {
        return;
    }
    if (result->server_count > 1 && result->replicas >= result->server_count) {
        begin_reason(sentence, &reasons);
        lab_say(sentence,
                "with %" PRIu64
                " copies on %zu servers every server stores every write (--replicas 1)",
                result->replicas, result->server_count);
    }
    if (result->shares_processors) {
        begin_reason(sentence, &reasons);
        lab_say(sentence, "the servers share processors and nothing confines them, so the busy one "
                          "takes what the idle ones leave (--confine 0.25, as root)");
    }
    if (result->rate <= 0 && at_a_time < LAB_FILLING_FLIGHT) {
        begin_reason(sentence, &reasons);
        lab_say(sentence, "%" PRIu64 " requests at a time may not fill one server (--in-flight %d)",
                at_a_time, LAB_FILLING_FLIGHT);
    }
}

static void judge_experiment(struct lab_result *result)
{
    const struct lab_experiment *experiment = result->experiment;
    const struct lab_variant_result *base = base_of(result);
    struct lab_sentence sentence = lab_sentence_in(result->verdict, sizeof result->verdict);
    bool is_open = result->rate > 0;
    if (!base->has_run) {
        return;
    }
    compare(result, base, is_open ? "quickness of writes at p99" : "writes", LAB_WRITES, &sentence);
    for (size_t i = 0; i < LAB_QUERIES_MAX && experiment->queries[i] != NULL; i++) {
        char what[NAME_BYTES * 2];
        (void)snprintf(what, sizeof what, "“%s”%s", experiment->queries[i],
                       is_open ? ", quickness at p99" : "");
        compare(result, base, what, i, &sentence);
    }
    explain_draw(result, base, &sentence);
}

void lab_verdict(struct lab_result *result)
{
    for (size_t i = 0; i < result->experiment->variant_count; i++) {
        if (result->variants[i].has_run) {
            judge_variant(result, &result->variants[i]);
        }
    }
    judge_experiment(result);
    lab_choose(result);
}

#include "client/load/lab/core/report/verdict.h"

#include <inttypes.h>
#include <stdio.h>

#include "client/load/lab/core/report/choice.h"
#include "client/load/lab/core/report/verdict_parts.h"

#define PERCENT    100.0
#define NAME_BYTES 64

void lab_say_times(struct lab_sentence *sentence, double times)
{
    lab_say(sentence, times < 10 ? "%.2g ×" : "%.0f ×", times);
}

void lab_add_fault(struct lab_variant_result *variant, enum lab_fault fault)
{
    if (variant->fault_count < LAB_FAULTS_MAX) {
        variant->faults[variant->fault_count++] = fault;
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
    lab_judge_places(result->experiment, variant, &sentence);
    size_t reasons_end = lab_say_refusals(variant, &sentence) ? sentence.size : 0;
    if (variant->fault_count == 0) {
        say_spread(variant, &sentence);
    }
    lab_judge_reading(result, variant, &sentence);
    lab_judge_growth(variant, &sentence);
    lab_judge_bytes(result, variant, &sentence);
    lab_judge_queries(result->experiment, variant, &sentence);
    lab_judge_cells(result, variant, &sentence);
    lab_judge_given(result, variant, &sentence);
    lab_judge_unanswered(result->experiment, variant, &sentence);
    lab_judge_sums(variant, &sentence);
    lab_say_copy(variant, &sentence);
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
        lab_say_times(sentence, of_other / of_base);
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

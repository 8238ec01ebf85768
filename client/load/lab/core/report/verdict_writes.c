#include "client/load/lab/core/report/verdict_parts.h"

#include <inttypes.h>
#include <string.h>

#define PERCENT       100.0
#define NAME_BYTES    64
#define REFUSALS_SAID 2

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

void lab_judge_places(const struct lab_experiment *experiment,
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
        lab_add_fault(variant, LAB_POPULAR_ROW);
        lab_say(sentence, "%.0f %% of the writes change one row, %.*s, and a row is never split",
                PERCENT * lab_frequent_share(&write->by_row, row), (int)row->text_size, row->text);
    } else if (busiest >= LAB_HOT_TABLET_SHARE && behind_share(write) >= LAB_BEHIND_SHARE) {
        lab_begin_clause(sentence);
        lab_add_fault(variant, LAB_MONOTONIC);
        lab_say(sentence,
                "%.0f %% of the writes hit one tablet, behind all its rows: %s grows at its "
                "end only",
                PERCENT * busiest, variant->variant->key);
    } else if (is_one_tablet && who != NULL &&
               lab_frequent_share(&write->by_who, who) >= LAB_HOT_SERIES_SHARE) {
        lab_begin_clause(sentence);
        lab_add_fault(variant, LAB_POPULAR_SERIES);
        lab_say(sentence, "%.0f %% of the writes hit one tablet, for ", PERCENT * busiest);
        say_who(sentence, experiment, write, who);
    } else if (is_one_tablet) {
        lab_begin_clause(sentence);
        lab_add_fault(variant, LAB_HOT_RANGE);
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

bool lab_say_refusals(const struct lab_variant_result *variant, struct lab_sentence *sentence)
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

void lab_judge_reading(const struct lab_result *result,
                       struct lab_variant_result *variant,
                       struct lab_sentence *sentence)
{
    const struct lab_variant_result *other = fastest_blind(result);
    double rate = lab_phase_rate(&variant->write);
    if (!variant->variant->reads_first || other == NULL || rate <= 0) {
        return;
    }
    lab_begin_clause(sentence);
    lab_add_fault(variant, LAB_READS_FIRST);
    lab_say(sentence, "each write reads its row first and waits for the one before it: ");
    lab_say_times(sentence, rate / lab_phase_rate(&other->write));
    lab_say(sentence, " the writes of %s", other->variant->name);
}

void lab_judge_growth(struct lab_variant_result *variant, struct lab_sentence *sentence)
{
    const struct lab_frequent_place *row = lab_frequent_top(&variant->write.by_row);
    if (!variant->variant->cells_add_up || row == NULL ||
        row->count - row->error < LAB_GROWN_CELLS) {
        return;
    }
    lab_begin_clause(sentence);
    lab_add_fault(variant, LAB_GROWING_ROW);
    lab_say(sentence, "rows grow without bound: %.*s by %" PRIu64 " cells in %.3g s",
            (int)row->text_size, row->text, row->count - row->error, variant->write.length_s);
}

void lab_judge_bytes(const struct lab_result *result,
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
    lab_add_fault(variant, LAB_HEAVY);
    lab_say(sentence, "an event takes %.0f bytes, ", variant->event_bytes);
    lab_say_times(sentence, variant->event_bytes / least->event_bytes);
    lab_say(sentence, " those of %s", least->variant->name);
}

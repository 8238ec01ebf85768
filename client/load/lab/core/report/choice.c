#include "client/load/lab/core/report/choice.h"

#include "client/load/lab/core/report/sentence.h"

static bool may_be_taken(const struct lab_variant_result *variant, size_t phase)
{
    return variant->has_run && variant->sums_wrong == 0 &&
           !(phase == LAB_WRITES && lab_is_hot(variant));
}

static double best_of(const struct lab_result *result, size_t phase)
{
    double best = 0;
    for (size_t i = 0; i < result->experiment->variant_count; i++) {
        const struct lab_variant_result *variant = &result->variants[i];
        double worth = may_be_taken(variant, phase) ? lab_worth(result, variant, phase) : 0;
        best = worth > best ? worth : best;
    }
    return best;
}

/* "For writes take promoted or salted", and behind another such clause "for writes promoted or salted"; nothing where
 * none can be taken. */
static void choose_for(const struct lab_result *result, size_t phase, struct lab_sentence *sentence)
{
    double best = best_of(result, phase);
    bool is_first = sentence->clauses == 0;
    const char *begin = is_first ? "For" : "for";
    const char *take = is_first ? " take" : "";
    size_t taken = 0;
    for (size_t i = 0; i < result->experiment->variant_count && best > 0; i++) {
        const struct lab_variant_result *variant = &result->variants[i];
        if (!may_be_taken(variant, phase) ||
            lab_worth(result, variant, phase) < LAB_CHOICE_NEAR * best) {
            continue;
        }
        if (taken++ > 0) {
            lab_say(sentence, " or %s", variant->variant->name);
            continue;
        }
        lab_begin_clause(sentence);
        if (phase == LAB_WRITES) {
            lab_say(sentence, "%s writes%s %s", begin, take, variant->variant->name);
        } else {
            lab_say(sentence, "%s \u201c%s\u201d%s %s", begin, result->experiment->queries[phase],
                    take, variant->variant->name);
        }
    }
}

void lab_choose(struct lab_result *result)
{
    struct lab_sentence sentence = lab_sentence_in(result->choice, sizeof result->choice);
    size_t run = 0;
    for (size_t i = 0; i < result->experiment->variant_count; i++) {
        run += lab_worth(result, &result->variants[i], LAB_WRITES) > 0 ? 1 : 0;
    }
    if (run < 2) {
        return;
    }
    choose_for(result, LAB_WRITES, &sentence);
    for (size_t i = 0; i < LAB_QUERIES_MAX && result->experiment->queries[i] != NULL; i++) {
        choose_for(result, i, &sentence);
    }
}

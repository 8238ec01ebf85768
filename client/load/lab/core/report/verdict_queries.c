#include "client/load/lab/core/report/verdict_parts.h"

#include <inttypes.h>

#define LOOKED_AT_ROWS  50  /* a query: fewer are nothing to speak of */
#define LOOKED_AT_CELLS 100 /* the same */
#define GIVEN_BYTES     512 /* the same */

static double looked_at(const struct lab_phase *query)
{
    if (!query->has_run || query->operations == 0 ||
        query->rows_seen < query->operations * LOOKED_AT_ROWS) {
        return 0;
    }
    return (double)query->rows_seen / (double)(query->rows_found > 0 ? query->rows_found : 1);
}

void lab_judge_unanswered(const struct lab_experiment *experiment,
                          struct lab_variant_result *variant,
                          struct lab_sentence *sentence)
{
    for (size_t i = 0; i < LAB_QUERIES_MAX; i++) {
        const struct lab_phase *query = &variant->queries[i];
        if (query->has_run && query->operations == 0 && query->cut_off > 0) {
            lab_begin_clause(sentence);
            lab_add_fault(variant, LAB_NO_ANSWER);
            lab_say(sentence, "not one “%s” came to its end in %.2g s", experiment->queries[i],
                    query->length_s);
        }
    }
}

void lab_judge_queries(const struct lab_experiment *experiment,
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
    lab_add_fault(variant, LAB_LOOKS_AT_MUCH);
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

void lab_judge_cells(const struct lab_result *result,
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
        lab_add_fault(variant, LAB_LOOKS_AT_CELLS);
        lab_say(sentence, "“%s” looks at %.0f cells, ", result->experiment->queries[i], cells);
        lab_say_times(sentence, cells / mean_cells(&least->queries[i]));
        lab_say(sentence, " those of %s", least->variant->name);
        return;
    }
}

void lab_judge_given(const struct lab_result *result,
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
        lab_add_fault(variant, LAB_GIVES_MUCH);
        lab_say(sentence, "“%s” is given %.0f bytes, ", result->experiment->queries[i], given);
        lab_say_times(sentence, given / mean_given(&least->queries[i]));
        lab_say(sentence, " those of %s", least->variant->name);
        return;
    }
}

void lab_judge_sums(struct lab_variant_result *variant, struct lab_sentence *sentence)
{
    if (variant->sums_checked == 0) {
        return;
    }
    lab_begin_clause(sentence);
    if (variant->sums_wrong > 0) {
        lab_add_fault(variant, LAB_WRONG_SUMS);
        lab_say(sentence, "%zu of %zu sums are WRONG: %s", variant->sums_wrong,
                variant->sums_checked, variant->sums_example);
    } else {
        lab_say(sentence, "all %zu sums are exact", variant->sums_checked);
    }
}

void lab_say_copy(const struct lab_variant_result *variant, struct lab_sentence *sentence)
{
    if (variant->copy_s > 0) {
        lab_begin_clause(sentence);
        lab_say(sentence, "the nightly copy of %" PRIu64 " rows took %.2g s", variant->copied_rows,
                variant->copy_s);
    }
}

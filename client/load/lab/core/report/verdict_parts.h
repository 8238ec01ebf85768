/*
 * What a verdict is put together of: each looks for one fault, and where it finds it adds it, and a clause that says so
 * with its figures.
 *
 * Pure; the verdict's own.
 */
#ifndef CLIENT_LOAD_LAB_CORE_REPORT_VERDICT_PARTS_H
#define CLIENT_LOAD_LAB_CORE_REPORT_VERDICT_PARTS_H

#include "client/load/lab/core/report/sentence.h"
#include "client/load/lab/core/report/verdict.h"

/* "2.9 ×": two digits that count, and none of them behind an e. */
void lab_say_times(struct lab_sentence *sentence, double times);

void lab_add_fault(struct lab_variant_result *variant, enum lab_fault fault);

/* --- writes (verdict_writes.c) ---------------------------------------------------------------- */

/* Where they go, if that is to one place. */
void lab_judge_places(const struct lab_experiment *experiment,
                      struct lab_variant_result *variant,
                      struct lab_sentence *sentence);

/* Why the master did not part what is hot of writes: what fits the fault, then the reasons that it had most often; but for
 * what was split a moment ago: time cures that, whatever the keys.  False: it refused nothing, or nothing is hot. */
bool lab_say_refusals(const struct lab_variant_result *variant, struct lab_sentence *sentence);

/* They read first. */
void lab_judge_reading(const struct lab_result *result,
                       struct lab_variant_result *variant,
                       struct lab_sentence *sentence);

/* Rows grow without bound. */
void lab_judge_growth(struct lab_variant_result *variant, struct lab_sentence *sentence);

/* Events take many bytes. */
void lab_judge_bytes(const struct lab_result *result,
                     struct lab_variant_result *variant,
                     struct lab_sentence *sentence);

/* --- queries and sums (verdict_queries.c) ----------------------------------------------------- */

/* Those of a kind that were all cut off at the end of their time. */
void lab_judge_unanswered(const struct lab_experiment *experiment,
                          struct lab_variant_result *variant,
                          struct lab_sentence *sentence);

/* Rows that are looked at and not returned, of the worst of them. */
void lab_judge_queries(const struct lab_experiment *experiment,
                       struct lab_variant_result *variant,
                       struct lab_sentence *sentence);

/* What lies beside the cells that are wanted, in rows that are. */
void lab_judge_cells(const struct lab_result *result,
                     struct lab_variant_result *variant,
                     struct lab_sentence *sentence);

/* What is not asked for has to be sorted out by who asks.  Of long names that was said. */
void lab_judge_given(const struct lab_result *result,
                     struct lab_variant_result *variant,
                     struct lab_sentence *sentence);

/* Are the sums those that were given? */
void lab_judge_sums(struct lab_variant_result *variant, struct lab_sentence *sentence);

/* How long the batch job took, no fault. */
void lab_say_copy(const struct lab_variant_result *variant, struct lab_sentence *sentence);

#endif /* CLIENT_LOAD_LAB_CORE_REPORT_VERDICT_PARTS_H */

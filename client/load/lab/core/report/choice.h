/*
 * The choice: which variant to take, for the writes and for each query, in a sentence.
 *
 * It is by the figures: the best one, and those that are about as good.  One that was written to in one place is not
 * taken for the writes, even where servers that share a machine let it be as fast; nor one whose sums are wrong for
 * anything.
 *
 * Pure.
 */
#ifndef CLIENT_LOAD_LAB_CORE_REPORT_CHOICE_H
#define CLIENT_LOAD_LAB_CORE_REPORT_CHOICE_H

#include "client/load/lab/core/report/result.h"

/* About as good: rates of two runs of one thing differ by as much. */
#define LAB_CHOICE_NEAR 0.75

/* After the verdicts of the variants: goes by their faults.  Empty where fewer than two have run. */
void lab_choose(struct lab_result *result);

#endif /* CLIENT_LOAD_LAB_CORE_REPORT_CHOICE_H */

/*
 * The verdict: what the figures say of a schema, in a sentence.
 *
 * Nothing is said because a variant is called a bad one: a fault is found in its figures or not at all.
 * What to do about it is the variant's remedy.
 *
 * Pure.
 */
#ifndef CLIENT_LOAD_LAB_CORE_REPORT_VERDICT_H
#define CLIENT_LOAD_LAB_CORE_REPORT_VERDICT_H

#include "client/load/lab/core/report/result.h"

/* From so much of all on a tablet, row or series is a fault. */
#define LAB_HOT_TABLET_SHARE 0.5
#define LAB_HOT_ROW_SHARE    0.25
#define LAB_HOT_SERIES_SHARE 0.3
#define LAB_BEHIND_SHARE     0.8
#define LAB_HEAVY_RATIO      1.5
#define LAB_LOOKED_AT_RATIO  5.0
#define LAB_CELLS_RATIO      3.0
#define LAB_ROWS_SPARE       1.5 /* looked at for each that is given: cells are judged up to that */
#define LAB_GIVEN_RATIO      5.0
#define LAB_QUERIES_LEAST    10 /* a mean of fewer is what one of them happened to ask for */
#define LAB_GROWN_CELLS      20
#define LAB_JUDGED_LEAST     20
/* Fewer requests at a time may leave one server with time to spare. */
#define LAB_FILLING_FLIGHT 512

/* Faults and sentence of each variant that has run, and of the experiment: what the variants come to
 * beside each other. */
void lab_verdict(struct lab_result *result);

#endif /* CLIENT_LOAD_LAB_CORE_REPORT_VERDICT_H */

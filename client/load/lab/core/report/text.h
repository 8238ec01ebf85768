/*
 * What came of an experiment, as text for people.
 *
 * Pure but for the FILE it prints to.
 */
#ifndef CLIENT_LOAD_LAB_CORE_REPORT_TEXT_H
#define CLIENT_LOAD_LAB_CORE_REPORT_TEXT_H

#include <stdio.h>

#include "client/load/lab/core/report/result.h"

/* draws: with bars and lines of blocks, for a terminal that shows them. */
void lab_text(FILE *out, const struct lab_result *result, bool draws);

#endif /* CLIENT_LOAD_LAB_CORE_REPORT_TEXT_H */

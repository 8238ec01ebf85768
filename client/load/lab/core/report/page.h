/*
 * What came of experiments, as one page of HTML that needs no other file, nor a network: the figures as
 * JSON in it, and a program that draws them (page/, which the build makes into bytes).
 *
 * Pure but for the FILE it prints to.
 */
#ifndef CLIENT_LOAD_LAB_CORE_REPORT_PAGE_H
#define CLIENT_LOAD_LAB_CORE_REPORT_PAGE_H

#include <stdio.h>

#include "client/load/lab/core/report/result.h"

/* The page up to the results; each result; the rest. */
void lab_page_begin(FILE *out);
void lab_page_add(FILE *out, const struct lab_result *result, bool is_first);
void lab_page_end(FILE *out);

#endif /* CLIENT_LOAD_LAB_CORE_REPORT_PAGE_H */

/*
 * What came of experiments, as JSON: for programs, and for the page, which is made of it.
 *
 * Numbers of tablets and servers are strings: they take all of 64 bits.  Keys are text in which what is
 * not printable ASCII stands as \xNN.  Nothing in it ends a <script> of HTML.
 *
 * Pure but for the FILE it prints to.
 */
#ifndef CLIENT_LOAD_LAB_CORE_REPORT_JSON_H
#define CLIENT_LOAD_LAB_CORE_REPORT_JSON_H

#include <stdio.h>

#include "client/load/lab/core/report/result.h"

/* One object, without a line's end. */
void lab_json(FILE *out, const struct lab_result *result);

#endif /* CLIENT_LOAD_LAB_CORE_REPORT_JSON_H */

/* What edubba-load says about itself, made from the tables of workloads and options. */
#ifndef CLIENT_LOAD_HELP_H
#define CLIENT_LOAD_HELP_H

#include <stdio.h>

#include "client/load/core/options.h"

void load_help(FILE *out);
void load_help_workload(FILE *out, const struct load_workload *workload);
void load_help_man(FILE *out);
/* Words for shell completion, one a line. */
void load_help_words(FILE *out);
void load_help_options(FILE *out);

#endif /* CLIENT_LOAD_HELP_H */

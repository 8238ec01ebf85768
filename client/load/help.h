/* What edubba-load says about itself, made from the tables of workloads and options. */
#ifndef CLIENT_LOAD_HELP_H
#define CLIENT_LOAD_HELP_H

#include <stdio.h>

#include "client/load/core/options.h"

void load_help(FILE *out);
void load_help_workload(FILE *out, const struct load_workload *workload);
/* Of "load", "run", "lab", "drop" or "help". */
bool load_help_is_command(const char *name);
void load_help_command(FILE *out, const char *name);
void load_help_man(FILE *out);
/* For shell completion: the choices of an option ("--format"), the experiments ("lab"), or all words, one a
 * line. */
void load_help_words(FILE *out, const char *option);

#endif /* CLIENT_LOAD_HELP_H */

/*
 * `edubba-load lab`: runs experiments, and tells what came of them.
 *
 * Thread rule: the main thread.
 */
#ifndef CLIENT_LOAD_LAB_LAB_H
#define CLIENT_LOAD_LAB_LAB_H

#include <stddef.h>
#include <stdio.h>

#include "client/load/core/options.h"

/* What stands behind `lab`: a name, or "all"; with --list none.  The exit code. */
int lab_command(struct load_options *options, size_t count, const char *const *words);

/* Help: what the experiments are, or one of them; false = there is none of that name. */
void lab_help_list(FILE *out);
bool lab_help(FILE *out, const char *name);
/* Say so, and which one may be meant.  The exit code. */
int lab_unknown(const char *name);
/* For the man page. */
void lab_help_each(
    void (*each)(void *context, const char *name, const char *summary, const char *story),
    void *context);

#endif /* CLIENT_LOAD_LAB_LAB_H */

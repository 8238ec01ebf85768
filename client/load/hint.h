/*
 * What to do next, for people: a sentence, and behind it a command that can be pasted, whole.
 *
 * Thread rule: any thread.
 */
#ifndef CLIENT_LOAD_HINT_H
#define CLIENT_LOAD_HINT_H

#include "client/load/core/options.h"

/* The sentence, and what load_options_command() writes of the others.  free() it; NULL without memory. */
char *load_hint(const struct load_options *options,
                const char *phase,
                const struct load_workload *workload,
                const char *sentence,
                ...) __attribute__((format(printf, 4, 5)));

#endif /* CLIENT_LOAD_HINT_H */

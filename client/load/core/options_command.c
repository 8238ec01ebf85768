/* A command that goes with the one that was given: what to type next. */
#include <inttypes.h>
#include <string.h>

#include "client/load/core/options.h"

static void put_count(FILE *out, const char *name, uint64_t count, uint64_t of_workload)
{
    if (count != of_workload) {
        fprintf(out, " --%s %" PRIu64, name, count);
    }
}

/* Addresses may stand apart by blanks: one word of the command all the same. */
static void put_masters(FILE *out, const char *masters)
{
    const char *quote = strpbrk(masters, " \t") != NULL ? "'" : "";
    fprintf(out, " --masters %s%s%s", quote, masters, quote);
}

void load_options_command(FILE *out,
                          const struct load_options *options,
                          const char *phase,
                          const struct load_workload *workload)
{
    const struct load_options plain = load_options_default();
    fprintf(out, "edubba-load %s%s%s", phase, phase[0] != '\0' ? " " : "", workload->name);
    if (options->masters != NULL) {
        put_masters(out, options->masters);
    }
    if (strcmp(options->table, plain.table) != 0) {
        fprintf(out, " --table %s", options->table);
    }
    if (strcmp(phase, "run") != 0) {
        put_count(out, "presplit", options->presplit, 1);
    }
    put_count(out, "records", options->records, workload->records);
    put_count(out, "fields", options->fields, workload->fields);
    put_count(out, "value-size", options->value_bytes, workload->value_bytes);
    if (options->keys != workload->keys) {
        fprintf(out, " --keys %s", load_key_form_name((enum load_key_form)options->keys));
    }
    if (options->keys == LOAD_KEY_SERIES) {
        fprintf(out, " --hosts %" PRIu64, options->hosts);
    }
}

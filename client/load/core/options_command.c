/* A command that goes with the one that was given: what to type next. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/load/core/options.h"

/* Where it gets too long the end is cut off. */
struct command_text {
    char *out;
    size_t size;
};

static void add(struct command_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add(struct command_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text->out + text->size, LOAD_COMMAND_BYTES - text->size, format,
                         arguments);
    va_end(arguments);
    if (size > 0) {
        text->size += (size_t)size;
        text->size = text->size < LOAD_COMMAND_BYTES ? text->size : LOAD_COMMAND_BYTES - 1;
    }
}

static void add_count(struct command_text *text,
                      const char *name,
                      uint64_t count,
                      uint64_t of_workload)
{
    if (count != of_workload) {
        add(text, " --%s %" PRIu64, name, count);
    }
}

void load_options_command(const struct load_options *options,
                          const char *phase,
                          const struct load_workload *workload,
                          char out[LOAD_COMMAND_BYTES])
{
    const struct load_options plain = load_options_default();
    struct command_text text = {out, 0};
    add(&text, "edubba-load %s%s%s", phase, phase[0] != '\0' ? " " : "", workload->name);
    if (options->masters != NULL) {
        add(&text, " --masters %s", options->masters);
    }
    if (strcmp(options->table, plain.table) != 0) {
        add(&text, " --table %s", options->table);
    }
    if (strcmp(phase, "run") != 0) {
        add_count(&text, "presplit", options->presplit, 1);
    }
    add_count(&text, "records", options->records, workload->records);
    add_count(&text, "fields", options->fields, workload->fields);
    add_count(&text, "value-size", options->value_bytes, workload->value_bytes);
    if (options->keys != workload->keys) {
        add(&text, " --keys %s", load_key_form_name((enum load_key_form)options->keys));
    }
    if (options->keys == LOAD_KEY_SERIES) {
        add(&text, " --hosts %" PRIu64, options->hosts);
    }
}

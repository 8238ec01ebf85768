/*
 * How ebt prints: rows as cbt does, or as JSON, one object a line.
 */
#ifndef CLIENT_CLI_OUTPUT_H
#define CLIENT_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "edubba.h"

/* "text" with Go's escapes, as cbt quotes values: what does not show is escaped, also where it is UTF-8. */
void print_quoted(FILE *out, struct edubba_bytes bytes);

/* ["start", "end"), as a tablet's rows are told; of the last one the end is "...". */
void print_range(FILE *out, struct edubba_bytes start, struct edubba_bytes end);

/* A JSON string; what does not show is escaped. Bytes that are no UTF-8 do not fit one, and are U+FFFD: see
 * print_json_bytes. */
void print_json_text(FILE *out, const char *text);

/* "name":"text", or "name_base64":"..." where the bytes are no UTF-8. */
void print_json_bytes(FILE *out, const char *name, struct edubba_bytes bytes);

/* The same of "start" and "end" of a tablet's rows. */
void print_json_range(FILE *out, struct edubba_bytes start, struct edubba_bytes end);

/* Base64 without line breaks. */
void print_base64(FILE *out, struct edubba_bytes bytes);

/* Which families of the table hold aggregates, so that their cells print as numbers. */
void print_row(FILE *out,
               const struct edubba_row *row,
               const struct edubba_schema *schema,
               bool json,
               bool keys_only);

/* Progress on stderr, from the second second on and only on a terminal. */
struct progress {
    const char *what; /* "rows" */
    double begun;
    double shown;
    bool visible;
};
void progress_begin(struct progress *progress, const char *what);
void progress_step(struct progress *progress, unsigned long long count);
void progress_end(struct progress *progress);

#endif /* CLIENT_CLI_OUTPUT_H */

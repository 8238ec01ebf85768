/*
 * What both forms of import share: many writes in flight, the first failure kept.
 */
#ifndef CLIENT_CLI_IMPORTER_H
#define CLIENT_CLI_IMPORTER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "client/cli/command.h"
#include "client/cli/output.h"

struct importer {
    struct session *session;
    struct edubba_table *table;
    const char *path;
    unsigned long long line; /* of the file, from 1 */
    unsigned long long rows; /* submitted */
    struct progress progress;
    pthread_mutex_t lock;       /* guards what follows */
    unsigned long long written; /* rows that a server has taken */
    bool failed;
    unsigned long long failed_line; /* the lowest */
    struct edubba_error error;      /* of that line */
};

void importer_begin(struct importer *importer, struct session *session, struct edubba_table *table);

/* Submit one row, or a part of one (ends_row false: not the last part); mutations are copied.
 * False: stop, something has failed. */
bool importer_write(struct importer *importer,
                    struct edubba_bytes row,
                    const struct edubba_mutation *mutations,
                    size_t count,
                    bool ends_row);

/* Has a write been refused so far? */
bool importer_has_failed(struct importer *importer);

/* Wait for all; says what was imported, or why not.  Returns the exit code. */
int importer_end(struct importer *importer);

/* A line makes no sense: say where and why, or what a server refused before it.  Returns the exit
 * code. */
int importer_refuse(struct importer *importer, const char *why);

/* Import what run_export wrote; file stands behind the first line, which is header. */
int import_export(struct session *session, FILE *file, const char *header);
/* Import comma-separated values. */
int import_csv(struct session *session, FILE *file, char *first_line);

#endif /* CLIENT_CLI_IMPORTER_H */

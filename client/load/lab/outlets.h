/*
 * Where what comes of the experiments goes: the report, and where they are asked for JSON and a page of charts.
 *
 * Thread rule: the main thread.
 */
#ifndef CLIENT_LOAD_LAB_OUTLETS_H
#define CLIENT_LOAD_LAB_OUTLETS_H

#include <stdio.h>

#include "client/load/core/options.h"
#include "client/load/lab/core/report/result.h"

#define LAB_PAGE_BYTES 64

struct lab_outlets {
    FILE *report; /* stdout or --output */
    FILE *json;   /* NULL = nowhere; so html */
    FILE *html;
    /* The page's file where --html names none, made when there is something to show; "" = there is
     * none yet. */
    char page[LAB_PAGE_BYTES];
    const char *failed; /* the file that could not be written, or opened; NULL = none */
    int cause;
    size_t told;
};

/* For what is run by this name.  They are opened before anything is run: a slip in a name should not cost a run.  False:
 * one cannot be; close says which. */
bool lab_outlets_open(struct lab_outlets *outlets,
                      const struct load_options *options,
                      const char *name);

void lab_outlets_tell(struct lab_outlets *outlets,
                      const struct load_options *options,
                      const struct lab_result *result);

/* exit_code, or another where a file failed, which is said. */
int lab_outlets_close(struct lab_outlets *outlets,
                      const struct load_options *options,
                      int exit_code);

#endif /* CLIENT_LOAD_LAB_OUTLETS_H */

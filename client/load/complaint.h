/*
 * What edubba-load says on stderr when it fails, and the exit code for it: lines for people, or, with
 * --format json, one object as ebt's: {"code":"NOT_FOUND","message":"...","hint":"..."}; hint is left
 * out where there is none.  Code is one of edubba.h's, "USAGE" (the command line makes no sense),
 * "FILE" (a file here) or "WAITING" (no failure).
 *
 * Thread rule: the main thread.
 */
#ifndef CLIENT_LOAD_COMPLAINT_H
#define CLIENT_LOAD_COMPLAINT_H

#include "edubba.h"

#define EXIT_CODE_OK     0
#define EXIT_CODE_FAILED 1
#define EXIT_CODE_USAGE  2
#define EXIT_CODE_SIGNAL \
    128 /* and the signal's number: 130 = SIGINT, 143 = SIGTERM, 129 = SIGHUP */

/* Look for --format json before anything can go wrong: it may stand behind what is wrong. */
void load_complaint_begin(int count, char *const *arguments);

/* What the cluster said, or did not; a cluster that is not there gets a hint.  EXIT_CODE_FAILED. */
int load_complain(const struct edubba_error *error);
/* The same, with what to do about it; NULL = nothing is known. */
int load_complain_with(const struct edubba_error *error, const char *hint);

/* No failure yet: what is waited for.  As JSON its code is "WAITING". */
void load_say_waiting(const char *message);

/* EXIT_CODE_FAILED. */
int load_complain_file(const char *path, int cause);

/* The run goes on, or is good: as JSON {"warning":"..."}. */
void load_warn(const char *warning);

/* EXIT_CODE_USAGE. */
int load_complain_usage(const char *problem);

#endif /* CLIENT_LOAD_COMPLAINT_H */

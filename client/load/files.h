/*
 * Open files: every connection is one, and a shell allows few.
 *
 * Thread rule: the main thread.
 */
#ifndef CLIENT_LOAD_FILES_H
#define CLIENT_LOAD_FILES_H

#include <stdint.h>

#include "edubba.h"

/* Make the most of what this process may have.  What the libraries open for themselves is included.
 * Errors: EDUBBA_RESOURCE_EXHAUSTED where so many connections are too many, naming `ulimit -n`. */
enum edubba_code load_files_check(uint64_t clients,
                                  uint64_t connections,
                                  struct edubba_error *error);

#endif /* CLIENT_LOAD_FILES_H */

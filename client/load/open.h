/*
 * Clients as the options want them.
 *
 * Thread rule: any thread.
 */
#ifndef CLIENT_LOAD_OPEN_H
#define CLIENT_LOAD_OPEN_H

#include "client/load/core/options.h"
#include "edubba.h"

/* agent: who it is in the servers' logs.  A request of it changes or reads up to rows_per_request rows.
 * Errors: those of edubba_client_open(). */
enum edubba_code load_open(const struct load_options *options,
                           const char *agent,
                           uint64_t rows_per_request,
                           struct edubba_client **ret_client,
                           struct edubba_error *error);

#endif /* CLIENT_LOAD_OPEN_H */

/*
 * What the cluster itself says of a table: beside the figures that we count, those that it has.
 *
 * What it advises, what the master decided and what it refused, and, of a run of a minute or more, which
 * tablet was the hottest.
 *
 * Thread rule: the main thread.
 */
#ifndef CLIENT_LOAD_LAB_TOLD_H
#define CLIENT_LOAD_LAB_TOLD_H

#include "client/load/lab/core/report/result.h"

/* Times are by this machine's clock.  What cannot be asked for is left out. */
void lab_told(struct edubba_client *client,
              const char *table,
              const struct lab_times *times,
              struct lab_variant_result *result);

#endif /* CLIENT_LOAD_LAB_TOLD_H */

/*
 * Which processes of this machine are the tablet servers: those that listen where the cluster says that
 * its servers are.
 *
 * Thread rule: the main thread.
 */
#ifndef CLIENT_LOAD_LAB_PIDS_H
#define CLIENT_LOAD_LAB_PIDS_H

#include <sys/types.h>

#include "client/load/lab/core/report/result.h"

/* Of each server on this machine the process; servers elsewhere, and those that are not found, are left out.
 * Returns how many; ret_hidden: how many more are here, and belong to another user: they may not be looked at. */
size_t lab_pids_find(const struct lab_server *servers,
                     size_t server_count,
                     pid_t pids[LAB_SERVERS_MAX],
                     size_t *ret_hidden);

/* "123,456".  False: that is not what it is. */
bool lab_pids_parse(const char *text, pid_t pids[LAB_SERVERS_MAX], size_t *ret_count);

#endif /* CLIENT_LOAD_LAB_PIDS_H */

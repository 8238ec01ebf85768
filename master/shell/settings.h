/*
 * The master's settings: the keys of conf/master.conf, their defaults, and what must hold between
 * them.  conf/master.conf explains each.
 */
#ifndef MASTER_SHELL_SETTINGS_H
#define MASTER_SHELL_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/io/config.h"
#include "common/io/logger.h"
#include "master/coordinator/etcd_client.h"
#include "master/core/catalog.h"

struct master_settings {
    const char *address;
    const char *advertise; /* what others are told; "" = what was bound, if that can be dialled */
    const char *http_address;
    bool on_etcd; /* where the catalog is: in etcd, or in folder */
    struct etcd_settings etcd;
    const char *folder;
    uint64_t succeeds; /* generation of a lost catalog, in whose place this one comes; 0 = none */
    int64_t cluster;
    bool insecure;
    int64_t connections_max;
    uint64_t answer_bytes_max; /* all answers that wait to be taken; large ones wait above it */
    int64_t answer_stall_us;
    int64_t slow_us;
    uint64_t heat_bytes_max; /* what the heat map may take */
    struct catalog_settings catalog;
    struct logger_settings log;
};

/* One per process: the table of keys points into it. */
struct master_settings *settings_with_defaults(void);
const struct config_key *settings_keys(size_t *ret_count);

/* Check across keys, and work out what the keys meant; context is the settings;
 * each fault is refused in the reading. */
void settings_check(void *context, struct config_reading *reading);

#endif /* MASTER_SHELL_SETTINGS_H */

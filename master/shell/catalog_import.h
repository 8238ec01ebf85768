/*
 * The import: an embedded catalog is brought into etcd, whole, so that a cluster of one master becomes
 * one of several.  No data of tablets is touched.
 *
 *   lock the folder -> lead the cluster in etcd -> nothing may be there -> mark the folder as moved
 *     -> one commit of all records -> read back and compare -> let go
 *
 * The commit is all or nothing, so an import that was cut off anywhere is begun again: it finds etcd
 * empty and brings everything, or finds the catalog there and says so.  Into another etcd, or under another
 * prefix, it is not brought then: it would be in two places, and both would pass out the same tablets.
 *
 * It stays the catalog that it was, generation and all, so tablet servers go on with it; and refuse what
 * is left in the folder once they were told more.
 *
 * Thread rule: one caller.
 */
#ifndef MASTER_SHELL_CATALOG_IMPORT_H
#define MASTER_SHELL_CATALOG_IMPORT_H

#include "common/base/error.h"
#include "master/shell/settings.h"

struct catalog_import {
    uint64_t records;
    uint64_t generation; /* of the catalog */
};

/*
 * From settings->folder to settings->etcd.
 * Errors: STATUS_NOT_FOUND (no catalog in the folder), STATUS_ALREADY_EXISTS (etcd has one of this
 * cluster), STATUS_FAILED_PRECONDITION (a master holds the folder, or leads in etcd; another
 * cluster's; it was brought elsewhere before), STATUS_UNAVAILABLE (etcd), STATUS_IO (whether it was
 * brought over is unknown: begin again), those of the coordinators.
 */
enum status catalog_import(const struct master_settings *settings,
                           struct catalog_import *ret_import,
                           struct error *ret_error);

#endif /* MASTER_SHELL_CATALOG_IMPORT_H */

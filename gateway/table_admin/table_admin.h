/*
 * google.bigtable.admin.v2.BigtableTableAdmin, but for backups, snapshots, authorized views, schema
 * bundles and UndeleteTable: those are not in the list, so a call of one ends with
 * EDUBBA_UNIMPLEMENTED and the method's name.  Its three IAM methods are in gateway/iam.
 *
 * The context of all methods is a struct gateway.
 */
#ifndef GATEWAY_TABLE_ADMIN_TABLE_ADMIN_H
#define GATEWAY_TABLE_ADMIN_TABLE_ADMIN_H

#include <stddef.h>

#include "gateway/rpc/rpc.h"

const struct rpc_method *table_admin_methods(size_t *ret_count);

#endif /* GATEWAY_TABLE_ADMIN_TABLE_ADMIN_H */

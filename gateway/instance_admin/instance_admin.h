/*
 * google.bigtable.admin.v2.BigtableInstanceAdmin: instances, clusters and app profiles.
 *
 * They are documents of the catalog (edubba_documents.h) that mean nothing to the cluster below: a
 * Bigtable instance is a group of tables here, its clusters and profiles are what was written down
 * of them.  records.h says how they are kept.
 *
 * Logical views, materialized views and everything about memory layers are not in the list, so a
 * call of one ends with EDUBBA_UNIMPLEMENTED and the method's name.  The three IAM methods are in
 * gateway/iam.
 *
 * The context of all methods is a struct gateway.
 */
#ifndef GATEWAY_INSTANCE_ADMIN_INSTANCE_ADMIN_H
#define GATEWAY_INSTANCE_ADMIN_INSTANCE_ADMIN_H

#include <stddef.h>

#include "gateway/rpc/rpc.h"

const struct rpc_method *instance_admin_methods(size_t *ret_count);

#endif /* GATEWAY_INSTANCE_ADMIN_INSTANCE_ADMIN_H */

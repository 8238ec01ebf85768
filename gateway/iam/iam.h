/*
 * The IAM methods of the two admin services, of tables and of instances.
 *
 * The gateway has no access control: whoever reaches it may do everything, and it says so.
 *
 *     GetIamPolicy         a policy without bindings
 *     SetIamPolicy         one without bindings is taken; one that would grant something to someone
 *                          is EDUBBA_UNIMPLEMENTED: it would look like a lock on an open door
 *     TestIamPermissions   all permissions that were asked about, as far as they are Bigtable's
 *
 * What is asked about has to be there (iam_resource.h).  Those of backups, authorized views and schema bundles
 * are EDUBBA_UNIMPLEMENTED as these are.
 *
 * The context of all methods is a struct gateway.
 */
#ifndef GATEWAY_IAM_IAM_H
#define GATEWAY_IAM_IAM_H

#include <stddef.h>

#include "gateway/rpc/rpc.h"

const struct rpc_method *iam_methods(size_t *ret_count);

#endif /* GATEWAY_IAM_IAM_H */

/* What an IAM method may be asked about. */
#ifndef GATEWAY_IAM_IAM_RESOURCE_H
#define GATEWAY_IAM_IAM_RESOURCE_H

#include "gateway/table_admin/admin_call.h"

/* A table, an instance, a cluster or an app profile that is there.
 * Errors: EDUBBA_NOT_FOUND, EDUBBA_UNIMPLEMENTED (backups, views and other things that there are none
 * of here), EDUBBA_INVALID_ARGUMENT (no such name). */
enum edubba_code iam_check_resource(struct admin_call *call, const char *resource);

#endif /* GATEWAY_IAM_IAM_RESOURCE_H */

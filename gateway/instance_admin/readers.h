/* For polls of operations (gateway/operations): what an operation was about, read anew. */
#ifndef GATEWAY_INSTANCE_ADMIN_READERS_H
#define GATEWAY_INSTANCE_ADMIN_READERS_H

#include "gateway/operations/operation.h"

operation_reader instance_admin_read_instance;
operation_reader instance_admin_read_cluster;
operation_reader instance_admin_read_app_profile;

#endif /* GATEWAY_INSTANCE_ADMIN_READERS_H */

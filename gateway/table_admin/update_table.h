/* UpdateTable is long-running; this reads what it answered with again. */
#ifndef GATEWAY_TABLE_ADMIN_UPDATE_TABLE_H
#define GATEWAY_TABLE_ADMIN_UPDATE_TABLE_H

#include "gateway/operations/operation.h"

operation_reader table_admin_read_table;

#endif /* GATEWAY_TABLE_ADMIN_UPDATE_TABLE_H */

/* The methods of the table admin API, one file each or a close pair; all are admin calls. */
#ifndef GATEWAY_TABLE_ADMIN_METHODS_H
#define GATEWAY_TABLE_ADMIN_METHODS_H

#include "admin.pb-c.h"
#include "gateway/rpc/rpc.h"

typedef void table_admin_method(void *context,
                                struct rpc_call *call,
                                const ProtobufCMessage *request);

table_admin_method table_admin_create_table;
table_admin_method table_admin_list_tables;
table_admin_method table_admin_get_table;
table_admin_method table_admin_update_table;
table_admin_method table_admin_delete_table;
table_admin_method table_admin_modify_column_families;
table_admin_method table_admin_drop_row_range;
table_admin_method table_admin_generate_consistency_token;
table_admin_method table_admin_check_consistency;

#endif /* GATEWAY_TABLE_ADMIN_METHODS_H */

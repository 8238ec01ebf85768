#include "gateway/table_admin/table_admin.h"

#include "gateway/table_admin/methods.h"

#define PATH(method)    "/google.bigtable.admin.v2.BigtableTableAdmin/" method
#define REQUEST(method) &google__bigtable__admin__v2__##method##_request__descriptor

static const struct rpc_method METHODS[] = {
    {PATH("CreateTable"), REQUEST(create_table), table_admin_create_table},
    {PATH("ListTables"), REQUEST(list_tables), table_admin_list_tables},
    {PATH("GetTable"), REQUEST(get_table), table_admin_get_table},
    {PATH("UpdateTable"), REQUEST(update_table), table_admin_update_table},
    {PATH("DeleteTable"), REQUEST(delete_table), table_admin_delete_table},
    {PATH("ModifyColumnFamilies"), REQUEST(modify_column_families),
     table_admin_modify_column_families},
    {PATH("DropRowRange"), REQUEST(drop_row_range), table_admin_drop_row_range},
    {PATH("GenerateConsistencyToken"), REQUEST(generate_consistency_token),
     table_admin_generate_consistency_token},
    {PATH("CheckConsistency"), REQUEST(check_consistency), table_admin_check_consistency},
};

const struct rpc_method *table_admin_methods(size_t *ret_count)
{
    *ret_count = sizeof METHODS / sizeof METHODS[0];
    return METHODS;
}

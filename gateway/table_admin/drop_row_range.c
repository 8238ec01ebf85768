/*
 * DropRowRange: all rows, or those with a prefix.
 *
 * Rows are dropped by tablet servers, so the table is needed as data methods need it.  One that was
 * opened before may have been deleted and made anew meanwhile; then it is opened again, once.
 */
#include "gateway/table_admin/admin_call.h"
#include "gateway/table_admin/methods.h"

typedef Google__Bigtable__Admin__V2__DropRowRangeRequest Request;

#define TARGET(name) GOOGLE__BIGTABLE__ADMIN__V2__DROP_ROW_RANGE_REQUEST__TARGET_##name

static const Google__Protobuf__Empty EMPTY = GOOGLE__PROTOBUF__EMPTY__INIT;

static enum edubba_code check_target(struct admin_call *call, const Request *request)
{
    switch ((int)request->target_case) {
    case TARGET(ROW_KEY_PREFIX):
        return request->row_key_prefix.len > 0
                   ? EDUBBA_OK
                   : admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                                     "Error in field 'row_key_prefix' : must not be empty");
    case TARGET(DELETE_ALL_DATA_FROM_TABLE):
        return request->delete_all_data_from_table
                   ? EDUBBA_OK
                   : admin_call_fail(
                         call, EDUBBA_INVALID_ARGUMENT,
                         "Error in field 'delete_all_data_from_table' : must be true if it is set");
    default:
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'target' : row_key_prefix or "
                               "delete_all_data_from_table must be set");
    }
}

static enum edubba_code drop_from(struct admin_call *call,
                                  const Request *request,
                                  struct edubba_table *table)
{
    if (request->target_case == TARGET(ROW_KEY_PREFIX)) {
        struct edubba_bytes prefix = edubba_bytes_of(request->row_key_prefix.data,
                                                     request->row_key_prefix.len);
        return edubba_drop_prefix(table, prefix, &call->error);
    }
    return edubba_drop_all_rows(table, &call->error);
}

/* With the table that is open, or else one that is opened now; *ret_was_open tells which. */
static enum edubba_code drop(struct admin_call *call,
                             const Request *request,
                             const char *name,
                             bool *ret_was_open)
{
    struct tables *tables = call->gateway->tables;
    struct open_table *table = tables_find(tables, name);
    enum edubba_code code = EDUBBA_OK;
    *ret_was_open = table != NULL;
    if (table == NULL) {
        code = tables_open(tables, name, &table, &call->error);
    }
    if (code == EDUBBA_OK) {
        code = drop_from(call, request, table->handle);
        if (code == EDUBBA_NOT_FOUND) {
            tables_forget_table(tables, table); /* not one that was made by the name meanwhile */
        }
        table_release(table);
    }
    return code;
}

static enum edubba_code work(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const Request *request = (const Request *)call->request;
    struct admin_table table;
    bool was_open = false;
    enum edubba_code code = admin_call_table(call, request->name, &table);
    if (code == EDUBBA_OK) {
        code = check_target(call, request);
    }
    if (code != EDUBBA_OK) {
        return code;
    }
    code = drop(call, request, table.ours, &was_open);
    if (code == EDUBBA_NOT_FOUND && was_open) {
        code = drop(call, request, table.ours, &was_open);
    }
    *ret_answer = &EMPTY.base;
    return admin_call_table_error(call, &table, code);
}

void table_admin_drop_row_range(void *context,
                                struct rpc_call *call,
                                const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, work);
}

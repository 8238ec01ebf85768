/* DeleteTable.  What a protected table's refusal says is the master's. */
#include "gateway/table_admin/admin_call.h"
#include "gateway/table_admin/methods.h"

typedef Google__Bigtable__Admin__V2__DeleteTableRequest Request;

static const Google__Protobuf__Empty EMPTY = GOOGLE__PROTOBUF__EMPTY__INIT;

static enum edubba_code work(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const Request *request = (const Request *)call->request;
    struct admin_table table;
    enum edubba_code code = admin_call_table(call, request->name, &table);
    if (code != EDUBBA_OK) {
        return code;
    }
    code = edubba_delete_table(call->gateway->client, table.ours, &call->error);
    if (code == EDUBBA_OK || code == EDUBBA_NOT_FOUND) {
        tables_forget(call->gateway->tables, table.ours);
    }
    if (code == EDUBBA_NOT_FOUND) {
        return admin_call_fail(call, code, "Failed to read: %s", table.text);
    }
    *ret_answer = &EMPTY.base;
    return admin_call_table_error(call, &table, code);
}

void table_admin_delete_table(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, work);
}

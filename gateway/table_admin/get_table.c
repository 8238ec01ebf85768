/* GetTable. */
#include "gateway/table_admin/admin_call.h"
#include "gateway/table_admin/methods.h"
#include "gateway/table_admin/table_view.h"

typedef Google__Bigtable__Admin__V2__GetTableRequest Request;

static enum edubba_code work(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const Request *request = (const Request *)call->request;
    struct error error = {.status = STATUS_OK};
    struct admin_table table;
    struct edubba_schema *schema = NULL;
    table_view view = TABLE_VIEW(VIEW_UNSPECIFIED);
    enum status status = table_view_choose(request->view, TABLE_VIEW(SCHEMA_VIEW), &view, &error);
    enum edubba_code code = admin_call_check(call, status, &error);
    if (code == EDUBBA_OK) {
        code = admin_call_table(call, request->name, &table);
    }
    if (code == EDUBBA_OK) {
        code = admin_call_schema(call, &table, &schema);
    }
    if (code == EDUBBA_OK) {
        code = table_view_answer(call, &table, schema, view, ret_answer);
    }
    edubba_schema_free(schema);
    return code;
}

void table_admin_get_table(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, work);
}

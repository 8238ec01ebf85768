/* GetTable. */
#include "gateway/table_admin/admin_call.h"
#include "gateway/table_admin/methods.h"
#include "gateway/table_admin/table_view.h"

typedef Google__Bigtable__Admin__V2__GetTableRequest Request;

static enum edubba_code work(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const Request *request = (const Request *)call->request;
    struct error error = {.status = STATUS_OK};
    table_view view = TABLE_VIEW(VIEW_UNSPECIFIED);
    enum status status = table_view_choose(request->view, TABLE_VIEW(SCHEMA_VIEW), &view, &error);
    enum edubba_code code = admin_call_check(call, status, &error);
    if (code == EDUBBA_OK) {
        code = table_view_read(call, request->name, view, ret_answer);
    }
    return code;
}

void table_admin_get_table(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    admin_call_read(context, call, request, work);
}

#include "gateway/operations/operations.h"

#include "gateway/instance_admin/readers.h"
#include "gateway/operations/operation.h"
#include "gateway/operations/operation_name.h"
#include "gateway/table_admin/update_table.h"

#define PATH(method)    "/google.longrunning.Operations/" method
#define REQUEST(method) &google__longrunning__##method##_request__descriptor

static const Google__Protobuf__Empty EMPTY = GOOGLE__PROTOBUF__EMPTY__INIT;

/* --- reading the resource again --------------------------------------------------------------- */

static operation_reader *const READERS[] = {
    [RESOURCE_TABLE] = table_admin_read_table,
    [RESOURCE_INSTANCE] = instance_admin_read_instance,
    [RESOURCE_CLUSTER] = instance_admin_read_cluster,
    [RESOURCE_APP_PROFILE] = instance_admin_read_app_profile,
};

#define READER_COUNT (sizeof READERS / sizeof READERS[0])

static enum edubba_code poll(struct admin_call *call,
                             const char *text,
                             const ProtobufCMessage **ret_answer)
{
    struct operation_name name;
    struct error error = {.status = STATUS_OK};
    const ProtobufCMessage *response = NULL;
    enum status status = operation_name_parse(bytes_of_text(text), &name, &error);
    if (status != STATUS_OK) {
        return admin_call_check(call, status, &error);
    }
    enum resource_kind kind = name.parts.kind;
    operation_reader *reader = (size_t)kind < READER_COUNT ? READERS[kind] : NULL;
    char *resource = arena_copy_text(call->arena, name.resource);
    if (resource == NULL) {
        return admin_call_no_memory(call);
    }
    enum edubba_code code = reader != NULL ? reader(call, resource, &response) : EDUBBA_NOT_FOUND;
    if (code == EDUBBA_NOT_FOUND) {
        return admin_call_fail(call, code, "Operation not found: %s", text);
    }
    if (code == EDUBBA_OK) {
        code = operation_again(call, text, response, ret_answer);
    }
    return code;
}

static enum edubba_code get_work(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const Google__Longrunning__GetOperationRequest
        *request = (const Google__Longrunning__GetOperationRequest *)call->request;
    return poll(call, request->name, ret_answer);
}

static enum edubba_code wait_work(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const Google__Longrunning__WaitOperationRequest
        *request = (const Google__Longrunning__WaitOperationRequest *)call->request;
    return poll(call, request->name, ret_answer);
}

static void run_get(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    admin_call_read(context, call, request, get_work);
}

static void run_wait(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    admin_call_read(context, call, request, wait_work);
}

/* --- what needs no resource ------------------------------------------------------------------- */

static void run_list(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    Google__Longrunning__ListOperationsResponse none;
    google__longrunning__list_operations_response__init(&none);
    (void)context;
    (void)request;
    rpc_answer(call, &none.base);
}

/* An operation that is done is cancelled or deleted by doing nothing. */
static void let_go(struct rpc_call *call, const char *text)
{
    struct operation_name name;
    struct error error = {.status = STATUS_OK};
    if (operation_name_parse(bytes_of_text(text), &name, &error) != STATUS_OK) {
        rpc_fail(call, EDUBBA_INVALID_ARGUMENT, "%s", error.text);
        return;
    }
    rpc_answer(call, &EMPTY.base);
}

static void run_cancel(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    (void)context;
    let_go(call, ((const Google__Longrunning__CancelOperationRequest *)request)->name);
}

static void run_delete(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    (void)context;
    let_go(call, ((const Google__Longrunning__DeleteOperationRequest *)request)->name);
}

/* ---------------------------------------------------------------------------------------------- */

static const struct rpc_method METHODS[] = {
    {PATH("GetOperation"), REQUEST(get_operation), run_get},
    {PATH("WaitOperation"), REQUEST(wait_operation), run_wait},
    {PATH("ListOperations"), REQUEST(list_operations), run_list},
    {PATH("CancelOperation"), REQUEST(cancel_operation), run_cancel},
    {PATH("DeleteOperation"), REQUEST(delete_operation), run_delete},
};

const struct rpc_method *operation_methods(size_t *ret_count)
{
    *ret_count = sizeof METHODS / sizeof METHODS[0];
    return METHODS;
}

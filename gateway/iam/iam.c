#include "gateway/iam/iam.h"

#include <string.h>

#include "gateway/iam/iam_resource.h"
#include "iam.pb-c.h"

typedef Google__Iam__V1__GetIamPolicyRequest GetRequest;
typedef Google__Iam__V1__SetIamPolicyRequest SetRequest;
typedef Google__Iam__V1__TestIamPermissionsRequest TestRequest;
typedef Google__Iam__V1__TestIamPermissionsResponse TestResponse;
typedef Google__Iam__V1__Policy Policy;

#define TABLE_PATH(method)    "/google.bigtable.admin.v2.BigtableTableAdmin/" method
#define INSTANCE_PATH(method) "/google.bigtable.admin.v2.BigtableInstanceAdmin/" method
#define REQUEST(method)       &google__iam__v1__##method##_request__descriptor

/* --- policies --------------------------------------------------------------------------------- */

static const Policy NO_POLICY = GOOGLE__IAM__V1__POLICY__INIT;

static enum edubba_code get_work(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    *ret_answer = &NO_POLICY.base;
    return iam_check_resource(call, ((const GetRequest *)call->request)->resource);
}

static enum edubba_code set_work(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const SetRequest *request = (const SetRequest *)call->request;
    enum edubba_code code = iam_check_resource(call, request->resource);
    if (code == EDUBBA_OK && request->policy != NULL && request->policy->n_bindings > 0) {
        return admin_call_fail(call, EDUBBA_UNIMPLEMENTED,
                               "This server has no access control, so it takes no policy with "
                               "bindings: whoever reaches it may do everything");
    }
    *ret_answer = &NO_POLICY.base;
    return code;
}

/* --- permissions ------------------------------------------------------------------------------ */

static enum edubba_code test_work(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const TestRequest *request = (const TestRequest *)call->request;
    TestResponse *answer = arena_allocate(call->arena, sizeof *answer);
    char **permissions = arena_allocate_array(call->arena, request->n_permissions,
                                              sizeof *permissions);
    if (answer == NULL || permissions == NULL) {
        return admin_call_no_memory(call);
    }
    google__iam__v1__test_iam_permissions_response__init(answer);
    answer->permissions = permissions;
    for (size_t i = 0; i < request->n_permissions; i++) {
        if (strncmp(request->permissions[i], "bigtable.", strlen("bigtable.")) == 0) {
            permissions[answer->n_permissions++] = request->permissions[i];
        }
    }
    *ret_answer = &answer->base;
    return iam_check_resource(call, request->resource);
}

/* ---------------------------------------------------------------------------------------------- */

static void run_get(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    admin_call_read(context, call, request, get_work);
}

static void run_set(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    admin_call_start(context, call, request, set_work);
}

static void run_test(void *context, struct rpc_call *call, const ProtobufCMessage *request)
{
    admin_call_read(context, call, request, test_work);
}

static const struct rpc_method METHODS[] = {
    {TABLE_PATH("GetIamPolicy"), REQUEST(get_iam_policy), run_get},
    {TABLE_PATH("SetIamPolicy"), REQUEST(set_iam_policy), run_set},
    {TABLE_PATH("TestIamPermissions"), REQUEST(test_iam_permissions), run_test},
    {INSTANCE_PATH("GetIamPolicy"), REQUEST(get_iam_policy), run_get},
    {INSTANCE_PATH("SetIamPolicy"), REQUEST(set_iam_policy), run_set},
    {INSTANCE_PATH("TestIamPermissions"), REQUEST(test_iam_permissions), run_test},
};

const struct rpc_method *iam_methods(size_t *ret_count)
{
    *ret_count = sizeof METHODS / sizeof METHODS[0];
    return METHODS;
}

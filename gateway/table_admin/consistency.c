/*
 * GenerateConsistencyToken and CheckConsistency: on one cluster a write that was acknowledged is
 * there for every reader, so what a token stands for is true at once.
 *
 * A token is made of its table's name, so that any gateway knows its own from another table's.
 */
#include <inttypes.h>
#include <string.h>

#include "common/base/checksum.h"
#include "gateway/table_admin/admin_call.h"
#include "gateway/table_admin/methods.h"

typedef Google__Bigtable__Admin__V2__GenerateConsistencyTokenRequest GenerateRequest;
typedef Google__Bigtable__Admin__V2__GenerateConsistencyTokenResponse GenerateResponse;
typedef Google__Bigtable__Admin__V2__CheckConsistencyRequest CheckRequest;
typedef Google__Bigtable__Admin__V2__CheckConsistencyResponse CheckResponse;

/* *ret_token is the token of the table of that name, which is there. */
static enum edubba_code make_token(struct admin_call *call, const char *name, char **ret_token)
{
    struct admin_table table;
    struct edubba_schema *schema = NULL;
    enum edubba_code code = admin_call_table(call, name, &table);
    if (code == EDUBBA_OK) {
        code = admin_call_schema(call, &table, &schema);
    }
    if (code != EDUBBA_OK) {
        return code;
    }
    edubba_schema_free(schema);
    *ret_token = admin_call_format(call, "consistent-%016" PRIx64,
                                   checksum64(table.text, strlen(table.text), 0));
    return *ret_token != NULL ? EDUBBA_OK : admin_call_no_memory(call);
}

static enum edubba_code generate(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const GenerateRequest *request = (const GenerateRequest *)call->request;
    GenerateResponse *answer = arena_allocate(call->arena, sizeof *answer);
    if (answer == NULL) {
        return admin_call_no_memory(call);
    }
    google__bigtable__admin__v2__generate_consistency_token_response__init(answer);
    *ret_answer = &answer->base;
    return make_token(call, request->name, &answer->consistency_token);
}

static enum edubba_code check(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    const CheckRequest *request = (const CheckRequest *)call->request;
    CheckResponse *answer = arena_allocate(call->arena, sizeof *answer);
    char *token = NULL;
    if (answer == NULL) {
        return admin_call_no_memory(call);
    }
    google__bigtable__admin__v2__check_consistency_response__init(answer);
    answer->consistent = true;
    *ret_answer = &answer->base;
    enum edubba_code code = make_token(call, request->name, &token);
    if (code == EDUBBA_OK && strcmp(token, request->consistency_token) != 0) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'consistency_token' : no token of %s",
                               request->name);
    }
    return code;
}

void table_admin_generate_consistency_token(void *context,
                                            struct rpc_call *call,
                                            const ProtobufCMessage *request)
{
    admin_call_read(context, call, request, generate);
}

void table_admin_check_consistency(void *context,
                                   struct rpc_call *call,
                                   const ProtobufCMessage *request)
{
    admin_call_read(context, call, request, check);
}

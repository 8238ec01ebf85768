#include "gateway/methods/write/mutate_row.h"

#include "gateway/convert/convert.h"
#include "gateway/methods/write/row_operation.h"

typedef Google__Bigtable__V2__MutateRowRequest Request;
typedef Google__Bigtable__V2__MutateRowResponse Response;

static enum status make(const struct row_operation *on,
                        struct row_request *made,
                        struct error *ret_error)
{
    const Request *request = (const Request *)on->request;
    struct edubba_mutation *mutations = NULL;
    enum status status = api_check_count(request->n_mutations, NULL, ret_error);
    if (status == STATUS_OK) {
        status = api_convert_idempotency(request->idempotency, &request->row_key, &made->scratch,
                                         &made->operation.identity, ret_error);
    }
    if (status == STATUS_OK) {
        status = api_convert_mutations(request->mutations, request->n_mutations, API_MUTATION_LIST,
                                       on->on.table->is_micros, &made->scratch, &mutations,
                                       ret_error);
    }
    made->operation.kind = EDUBBA_OPERATION_MUTATE;
    made->operation.row = api_bytes(request->row_key);
    made->operation.mutations = mutations;
    made->operation.mutation_count = request->n_mutations;
    return status;
}

static void answer(struct rpc_call *call, const struct edubba_result *result)
{
    static const Response response = GOOGLE__BIGTABLE__V2__MUTATE_ROW_RESPONSE__INIT;
    (void)result;
    rpc_answer_change(call, &response.base);
}

void mutate_row(void *gateway, struct rpc_call *call, const ProtobufCMessage *message)
{
    static const struct row_operation_kind kind = {make, answer, .is_transaction = false};
    const Request *request = (const Request *)message;
    const struct table_place place = {request->table_name, request->authorized_view_name, NULL,
                                      request->app_profile_id};
    row_operation_start(gateway, call, message, &place, &kind);
}

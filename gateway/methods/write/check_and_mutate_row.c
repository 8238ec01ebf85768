#include "gateway/methods/write/check_and_mutate_row.h"

#include "gateway/convert/convert.h"
#include "gateway/methods/write/row_operation.h"

#define TRUE_LIST  "true mutation list"
#define FALSE_LIST "false mutation list"

typedef Google__Bigtable__V2__CheckAndMutateRowRequest Request;
typedef Google__Bigtable__V2__CheckAndMutateRowResponse Response;

static enum status check_lists(const Request *request, struct error *ret_error)
{
    if (request->n_true_mutations + request->n_false_mutations == 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "No mutations provided: neither for a match nor for none");
    }
    enum status status = STATUS_OK;
    if (request->n_true_mutations > 0) {
        status = api_check_count(request->n_true_mutations, TRUE_LIST, ret_error);
    }
    if (status == STATUS_OK && request->n_false_mutations > 0) {
        status = api_check_count(request->n_false_mutations, FALSE_LIST, ret_error);
    }
    return status;
}

static enum status make(const struct row_operation *on,
                        struct row_request *made,
                        struct error *ret_error)
{
    const Request *request = (const Request *)on->request;
    bool is_micros = on->on.table->is_micros;
    struct edubba_mutation *if_true = NULL;
    struct edubba_mutation *if_false = NULL;
    enum status status = check_lists(request, ret_error);
    if (status == STATUS_OK) {
        status = api_convert_mutations(request->true_mutations, request->n_true_mutations,
                                       TRUE_LIST, is_micros, &made->scratch, &if_true, ret_error);
    }
    if (status == STATUS_OK) {
        status = api_convert_mutations(request->false_mutations, request->n_false_mutations,
                                       FALSE_LIST, is_micros, &made->scratch, &if_false, ret_error);
    }
    if (status == STATUS_OK) {
        status = api_convert_filter(request->predicate_filter, &made->filter, ret_error);
    }
    made->operation.kind = EDUBBA_OPERATION_CHECK_AND_MUTATE;
    made->operation.row = api_bytes(request->row_key);
    made->operation.mutations = if_true;
    made->operation.mutation_count = request->n_true_mutations;
    made->operation.otherwise = if_false;
    made->operation.otherwise_count = request->n_false_mutations;
    return status;
}

static void answer(struct rpc_call *call, const struct edubba_result *result)
{
    Response response = GOOGLE__BIGTABLE__V2__CHECK_AND_MUTATE_ROW_RESPONSE__INIT;
    response.predicate_matched = result->matched ? 1 : 0;
    rpc_answer_change(call, &response.base);
}

void check_and_mutate_row(void *gateway, struct rpc_call *call, const ProtobufCMessage *message)
{
    static const struct row_operation_kind kind = {make, answer, .is_transaction = true};
    const Request *request = (const Request *)message;
    const struct table_place place = {request->table_name, request->authorized_view_name, NULL,
                                      request->app_profile_id};
    row_operation_start(gateway, call, message, &place, &kind);
}

#include "gateway/methods/write/read_modify_write_row.h"

#include "gateway/convert/convert.h"
#include "gateway/methods/write/row_operation.h"

#define SCRATCH_BLOCK_BYTES 4096

typedef Google__Bigtable__V2__ReadModifyWriteRowRequest Request;
typedef Google__Bigtable__V2__ReadModifyWriteRowResponse Response;

static enum status make(const struct row_operation *on,
                        struct row_request *made,
                        struct error *ret_error)
{
    const Request *request = (const Request *)on->request;
    struct edubba_rmw_rule *rules = NULL;
    if (request->n_rules == 0 || request->n_rules > LIMIT_MUTATIONS_PER_REQUEST) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'rules' : there must be 1 to %d rules, not %zu",
                         LIMIT_MUTATIONS_PER_REQUEST, request->n_rules);
    }
    enum status status = api_convert_rules(request->rules, request->n_rules, &made->scratch, &rules,
                                           ret_error);
    made->operation.kind = EDUBBA_OPERATION_READ_MODIFY_WRITE;
    made->operation.row = api_bytes(request->row_key);
    made->operation.rules = rules;
    made->operation.rule_count = request->n_rules;
    return status;
}

static void answer(struct rpc_call *call, const struct edubba_result *result)
{
    Google__Bigtable__V2__Row row = GOOGLE__BIGTABLE__V2__ROW__INIT;
    Response response = GOOGLE__BIGTABLE__V2__READ_MODIFY_WRITE_ROW_RESPONSE__INIT;
    enum status status = STATUS_OK;
    struct arena scratch;
    arena_init(&scratch, SCRATCH_BLOCK_BYTES, SIZE_MAX); /* bounded by what was written */
    if (result->row != NULL) {
        status = api_convert_row(result->row, &scratch, &row);
    }
    response.row = &row;
    if (status == STATUS_OK && rpc_call_reserve_answer(call, &response.base, true)) {
        rpc_answer_change(call, &response.base);
    } else { /* it is applied: no code that is tried again */
        rpc_fail(call, EDUBBA_UNKNOWN, "The row was changed, but there is no memory to return it");
    }
    arena_deinit(&scratch);
}

void read_modify_write_row(void *gateway, struct rpc_call *call, const ProtobufCMessage *message)
{
    static const struct row_operation_kind kind = {make, answer, .is_transaction = true};
    const Request *request = (const Request *)message;
    const struct table_place place = {request->table_name, request->authorized_view_name, NULL,
                                      request->app_profile_id};
    row_operation_start(gateway, call, message, &place, &kind);
}

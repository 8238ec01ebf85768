#include "gateway/methods/write/row_operation.h"

#include <stdalign.h>
#include <stddef.h>

#define SCRATCH_BLOCK_BYTES 8192
#define SCRATCH_LENT_BYTES  1024 /* one mutation needs no more */

static void on_completion(void *context, const struct edubba_result *result)
{
    struct row_operation *operation = context;
    if (result->code != EDUBBA_OK) {
        table_call_fail(&operation->on, result->code, result->text);
        return;
    }
    table_call_end(&operation->on);
    operation->kind->answer(operation->on.call, result);
}

static void run(struct table_call *on)
{
    struct row_operation *own = (struct row_operation *)on;
    struct row_request made = {.operation = {.deadline_ms = table_call_patience_ms(on)}};
    struct edubba_error refusal = {0};
    struct error error = {.status = STATUS_OK};
    enum edubba_code code = EDUBBA_OK;
    alignas(max_align_t) uint8_t lent[SCRATCH_LENT_BYTES];
    arena_init(&made.scratch, SCRATCH_BLOCK_BYTES, SIZE_MAX); /* bounded by the request's size */
    arena_lend(&made.scratch, lent, sizeof lent);
    enum status status = own->kind->make(own, &made, &error);
    if (status == STATUS_OK) {
        made.operation.filter = made.filter;
        code = edubba_submit(on->table->handle, &made.operation, on_completion, own, &refusal);
    }
    edubba_filter_free(made.filter);
    arena_deinit(&made.scratch);
    if (status != STATUS_OK) {
        table_call_refuse(on, status, error.text);
    } else if (code != EDUBBA_OK) {
        table_call_fail(on, code, refusal.text);
    } /* else on_completion ends it, or has done so */
}

void row_operation_start(struct gateway *gateway,
                         struct rpc_call *call,
                         const ProtobufCMessage *request,
                         const struct table_place *place,
                         const struct row_operation_kind *kind)
{
    struct row_operation *own = table_call_allocate(gateway, call, sizeof *own);
    if (own != NULL) {
        own->request = request;
        own->kind = kind;
        own->on.is_transaction = kind->is_transaction;
        table_call_start(&own->on, place, run);
    }
}

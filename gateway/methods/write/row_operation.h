/*
 * Calls that are one operation on one row: MutateRow, CheckAndMutateRow, ReadModifyWriteRow.
 *
 * The request is converted in memory of its own, which goes when the operation was submitted: what
 * is converted may take more than the call's arena is meant for.  The completion answers.  A caller
 * that goes away meanwhile is not waited for by anybody, and its operation may be applied, as with
 * any answer that is lost.
 */
#ifndef GATEWAY_METHODS_WRITE_ROW_OPERATION_H
#define GATEWAY_METHODS_WRITE_ROW_OPERATION_H

#include "gateway/methods/call/table_call.h"

struct row_operation;

/* The operation of a request, and what it points to until it is submitted. */
struct row_request {
    struct edubba_operation operation;
    struct edubba_filter *filter; /* of the operation; NULL = none */
    struct arena scratch;
};

struct row_operation_kind {
    /* Fill made, which is empty but for its deadline; what is in it is freed also after an error.
     * Errors: STATUS_INVALID_ARGUMENT, STATUS_NO_MEMORY. */
    enum status (*make)(const struct row_operation *on,
                        struct row_request *made,
                        struct error *ret_error);
    /* It went well: end the call. */
    void (*answer)(struct rpc_call *call, const struct edubba_result *result);
    bool is_transaction; /* it reads what it changes: app profiles may forbid it */
};

struct row_operation {
    struct table_call on; /* first */
    const ProtobufCMessage *request;
    const struct row_operation_kind *kind;
};

/* kind lives for ever. */
void row_operation_start(struct gateway *gateway,
                         struct rpc_call *call,
                         const ProtobufCMessage *request,
                         const struct table_place *place,
                         const struct row_operation_kind *kind);

#endif /* GATEWAY_METHODS_WRITE_ROW_OPERATION_H */

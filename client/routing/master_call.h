/*
 * One blocking call to the master, and what its answer is decoded with.
 *
 *     struct master_call call;
 *     master_call_init(&call);
 *     ... encode into call.body
 *     status = master_call_ask(client, &call, METHOD_GET_TABLE, true);
 *     ... decode call.answer into call.arena, errors into call.error
 *     return master_call_conclude(&call, status, error);
 *
 * Thread rule: one owner; not in a completion.
 */
#ifndef CLIENT_ROUTING_MASTER_CALL_H
#define CLIENT_ROUTING_MASTER_CALL_H

#include "client/loop/client.h"
#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/wire/message.h"

struct master_call {
    struct arena arena;
    struct buffer body;
    struct buffer answer;
    struct error error;
};

void master_call_init(struct master_call *call);

/* Send the body and wait for the answer.  repeatable: doing it twice does no harm.
 * Errors: the master's; STATUS_FAILED_PRECONDITION in a completion. */
enum status master_call_ask(struct edubba_client *client,
                            struct master_call *call,
                            enum method method,
                            bool repeatable);

/* The call's outcome as a code; frees what the call holds. */
enum edubba_code master_call_conclude(struct master_call *call,
                                      enum status status,
                                      struct edubba_error *error);

#endif /* CLIENT_ROUTING_MASTER_CALL_H */

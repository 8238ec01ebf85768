#include "client/routing/master_call.h"

#include "client/routing/request.h"

#define ARENA_BLOCK_BYTES 8192

void master_call_init(struct master_call *call)
{
    *call = (struct master_call){.body = BUFFER_INIT, .answer = BUFFER_INIT};
    arena_init(&call->arena, ARENA_BLOCK_BYTES, SIZE_MAX);
}

static void deinit(struct master_call *call)
{
    buffer_deinit(&call->body);
    buffer_deinit(&call->answer);
    arena_deinit(&call->arena);
}

enum status master_call_ask(struct edubba_client *client,
                            struct master_call *call,
                            enum method method,
                            bool repeatable)
{
    struct request_options options = {
        .method = method,
        .address = REQUEST_TO_MASTER,
        .repeatable = repeatable,
        .servers_may_answer = method == METHOD_GET_TABLE,
        .unreachable_ms = client->unreachable_ms,
    };
    if (loop_is_held_here(&client->loop)) {
        return error_set(&call->error, STATUS_FAILED_PRECONDITION,
                         "a completion must not call a blocking function");
    }
    return request_call(client, &options, &call->body, &call->answer, &call->error);
}

enum edubba_code master_call_conclude(struct master_call *call,
                                      enum status status,
                                      struct edubba_error *error)
{
    enum edubba_code code = status == STATUS_OK ? client_success(error)
                                                : client_error_of(error, &call->error);
    deinit(call);
    return code;
}

#include "gateway/table_admin/admin_call.h"

#include <stdarg.h>
#include <stdio.h>

#include "gateway/core/server_text.h"

#define ARENA_BLOCK_BYTES (16 * 1024)
#define ARENA_BYTES_MAX   (64 * 1024 * 1024)

/* --- the frame -------------------------------------------------------------------------------- */

/* A change that has no room for its answer is done all the same: no code that is tried again. */
static void answer(const struct admin_call *admin, const ProtobufCMessage *message)
{
    struct rpc_call *call = admin->call;
    bool has_room = rpc_call_reserve_answer(call, message, !admin->only_reads);
    if (has_room && admin->only_reads) {
        rpc_answer(call, message);
    } else if (has_room) {
        rpc_answer_change(call, message);
    } else if (admin->only_reads) {
        rpc_fail(call, EDUBBA_UNAVAILABLE,
                 "Answers that wait for readers take too much memory; try again");
    } else {
        rpc_fail(call, EDUBBA_UNKNOWN, "It is done, but there is no memory to answer");
    }
}

/* The call's memory, this struct's too, may be gone once it has ended. */
static void run(struct waiting *waiting)
{
    struct admin_call *admin = (struct admin_call *)waiting;
    struct rpc_call *call = admin->call;
    const ProtobufCMessage *message = NULL;
    struct arena arena;
    if (rpc_call_is_cancelled(call)) {
        rpc_fail(call, EDUBBA_CANCELLED, "The caller is gone");
        return;
    }
    arena_init(&arena, ARENA_BLOCK_BYTES, ARENA_BYTES_MAX);
    admin->arena = &arena;
    edubba_thread_deadline(rpc_call_patience_ms(call, admin->gateway->deadline_max_ms));
    enum edubba_code code = admin->work(admin, &message);
    edubba_thread_deadline(0);
    if (code == EDUBBA_OK) {
        answer(admin, message);
    } else {
        rpc_fail(call, code, "%s", admin->error.text);
    }
    arena_deinit(&arena);
}

static void start(struct gateway *gateway,
                  struct rpc_call *call,
                  const ProtobufCMessage *request,
                  admin_work *work,
                  bool only_reads)
{
    struct admin_call *admin = arena_allocate(rpc_call_arena(call), sizeof *admin);
    if (admin == NULL) {
        rpc_fail(call, EDUBBA_UNAVAILABLE, "No memory for the request; try again");
        return;
    }
    *admin = (struct admin_call){
        .waiting = {.run = run},
        .gateway = gateway,
        .call = call,
        .request = request,
        .work = work,
        .only_reads = only_reads,
    };
    rpc_call_watch(call); /* run() asks */
    if (!waiters_add(gateway->waiters, &admin->waiting)) {
        rpc_fail(call, EDUBBA_UNAVAILABLE, "Too many calls wait for a master; try again");
    }
}

void admin_call_start(struct gateway *gateway,
                      struct rpc_call *call,
                      const ProtobufCMessage *request,
                      admin_work *work)
{
    start(gateway, call, request, work, false);
}

void admin_call_read(struct gateway *gateway,
                     struct rpc_call *call,
                     const ProtobufCMessage *request,
                     admin_work *work)
{
    start(gateway, call, request, work, true);
}

/* --- errors ----------------------------------------------------------------------------------- */

enum edubba_code admin_call_fail(struct admin_call *call,
                                 enum edubba_code code,
                                 const char *format,
                                 ...)
{
    va_list arguments;
    va_start(arguments, format);
    call->error.code = code;
    (void)vsnprintf(call->error.text, sizeof call->error.text, format, arguments);
    va_end(arguments);
    return code;
}

enum edubba_code admin_call_no_memory(struct admin_call *call)
{
    return admin_call_fail(call, EDUBBA_UNAVAILABLE, "No memory for the answer; try again");
}

enum edubba_code admin_call_check(struct admin_call *call,
                                  enum status status,
                                  const struct error *error)
{
    if (status == STATUS_OK) {
        return EDUBBA_OK;
    }
    if (status == STATUS_NO_MEMORY) {
        return admin_call_no_memory(call);
    }
    /* Up to there the numbers are the same. */
    enum edubba_code code = (unsigned)status <= (unsigned)EDUBBA_UNAUTHENTICATED
                                ? (enum edubba_code)status
                                : EDUBBA_INTERNAL;
    return admin_call_fail(call, code, "%s", error->text);
}

char *admin_call_format(struct admin_call *call, const char *format, ...)
{
    va_list arguments;
    va_list again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, arguments);
    char *text = size >= 0 ? arena_allocate(call->arena, (size_t)size + 1) : NULL;
    if (text != NULL) {
        (void)vsnprintf(text, (size_t)size + 1, format, again);
    }
    va_end(again);
    va_end(arguments);
    return text;
}

/* --- tables ----------------------------------------------------------------------------------- */

enum edubba_code admin_call_table(struct admin_call *call,
                                  const char *text,
                                  struct admin_table *ret_table)
{
    struct error error = {.status = STATUS_OK};
    struct resource_name name;
    enum status status = resource_name_parse(bytes_of_text(text), RESOURCE_TABLE, &name, &error);
    if (status == STATUS_OK) {
        ret_table->name = name;
        ret_table->text = text;
        resource_table_name(&name, &call->gateway->home, ret_table->ours);
    }
    return admin_call_check(call, status, &error);
}

enum edubba_code admin_call_table_error(struct admin_call *call,
                                        const struct admin_table *table,
                                        enum edubba_code code)
{
    if (code == EDUBBA_NOT_FOUND) {
        return admin_call_fail(call, code, "Not found: %s", table->text);
    }
    if (code == EDUBBA_ALREADY_EXISTS) {
        return admin_call_fail(call, code, "Table already exists: %s", table->text);
    }
    return admin_call_rename(call, table, code);
}

enum edubba_code admin_call_rename(struct admin_call *call,
                                   const struct admin_table *table,
                                   enum edubba_code code)
{
    char renamed[SERVER_TEXT_SIZE_MAX];
    if (code != EDUBBA_OK) {
        server_text_rename(call->error.text, table->ours, table->text, renamed);
        (void)snprintf(call->error.text, sizeof call->error.text, "%s", renamed);
    }
    return code;
}

enum edubba_code admin_call_schema(struct admin_call *call,
                                   const struct admin_table *table,
                                   struct edubba_schema **ret_schema)
{
    enum edubba_code code = edubba_get_table(call->gateway->client, table->ours, ret_schema,
                                             &call->error);
    return admin_call_table_error(call, table, code);
}

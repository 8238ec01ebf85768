/* Methods whose answer may be large, over a library and an RPC server made up: what waits for a reader is counted, and
 * where there is no room for it callers are told whether to try again. */
#include <criterion/criterion.h>

#include "common/base/memory.h"
#include "data.pb-c.h"
#include "gateway/methods/call/table_call.h"
#include "gateway/methods/read/sample_row_keys.h"
#include "gateway/methods/write/read_modify_write_row.h"
#include "gateway/table_admin/admin_call.h"

#define SAMPLES_BYTES (2 * (sizeof(struct edubba_sample)) + 3) /* of two, "row" and the end */

static struct open_table table;
static struct waiting *waiting;

/* --- the library ------------------------------------------------------------------------------ */

struct open_table *tables_find(struct tables *tables, const char *name)
{
    (void)tables, (void)name;
    return &table;
}

enum edubba_code tables_open(struct tables *tables,
                             const char *name,
                             struct open_table **ret_table,
                             struct edubba_error *error)
{
    (void)tables, (void)name, (void)ret_table, (void)error;
    cr_assert(false, "it is open");
    return EDUBBA_INTERNAL;
}

void table_release(struct open_table *released)
{
    cr_assert_eq(released, &table);
}

void tables_forget_table(struct tables *tables, const struct open_table *forgotten)
{
    (void)tables, (void)forgotten;
}

bool waiters_add(struct waiters *waiters, struct waiting *added)
{
    (void)waiters;
    waiting = added;
    return true;
}

enum edubba_code edubba_submit(struct edubba_table *handle,
                               const struct edubba_operation *operation,
                               edubba_completion completion,
                               void *context,
                               struct edubba_error *error)
{
    const struct edubba_cell cell = {.family = EDUBBA_TEXT("f"), .value = EDUBBA_TEXT("value")};
    const struct edubba_row row = {operation->row, &cell, 1};
    const struct edubba_result result = {.row = &row, .text = ""};
    (void)handle, (void)error;
    completion(context, &result);
    return EDUBBA_OK;
}

enum edubba_code edubba_sample_row_keys(struct edubba_table *handle,
                                        struct edubba_sample **samples,
                                        size_t *count,
                                        struct edubba_error *error)
{
    (void)handle, (void)error;
    *samples = memory_allocate_zeroed(2, sizeof **samples);
    (*samples)[0].row = EDUBBA_TEXT("row");
    *count = 2;
    return EDUBBA_OK;
}

/* --- the call --------------------------------------------------------------------------------- */

struct rpc_call {
    struct arena arena;
    uint64_t room_bytes;
    uint64_t reserved_bytes;
    uint64_t most_bytes; /* of a call alone */
    bool has_room;       /* for an answer */
    unsigned sent;
    bool has_ended;
    bool is_asked_as_change; /* whether there is room */
    bool is_change;          /* it was answered as one */
    enum edubba_code code;
};

struct arena *rpc_call_arena(struct rpc_call *call)
{
    return &call->arena;
}

bool rpc_call_reserve(struct rpc_call *call, uint64_t size_bytes)
{
    call->reserved_bytes += size_bytes;
    return call->reserved_bytes <= call->room_bytes;
}

bool rpc_call_reserve_answer(struct rpc_call *call, const ProtobufCMessage *message, bool is_change)
{
    call->is_asked_as_change = is_change;
    cr_assert_not_null(message);
    return call->has_room;
}

uint64_t rpc_call_reserve_max(const struct rpc_call *call)
{
    return call->most_bytes;
}

uint32_t rpc_call_patience_ms(const struct rpc_call *call, uint32_t most_ms)
{
    (void)call;
    return most_ms;
}

void rpc_call_watch(struct rpc_call *call)
{
    (void)call;
}

bool rpc_call_is_cancelled(const struct rpc_call *call)
{
    (void)call;
    return false;
}

enum status rpc_send(struct rpc_call *call,
                     const ProtobufCMessage *message,
                     void (*on_sent)(void *context),
                     void *context)
{
    (void)message;
    call->sent++;
    on_sent(context);
    return STATUS_OK;
}

static void end(struct rpc_call *call, enum edubba_code code)
{
    cr_assert_not(call->has_ended, "a call ends once");
    call->has_ended = true;
    call->code = code;
}

void rpc_answer(struct rpc_call *call, const ProtobufCMessage *message)
{
    (void)message;
    end(call, EDUBBA_OK);
}

void rpc_answer_change(struct rpc_call *call, const ProtobufCMessage *message)
{
    call->is_change = true;
    rpc_answer(call, message);
}

void rpc_finish(struct rpc_call *call, const struct rpc_status *status)
{
    end(call, status->code);
}

void rpc_finish_ok(struct rpc_call *call)
{
    end(call, EDUBBA_OK);
}

void rpc_fail(struct rpc_call *call, enum edubba_code code, const char *format, ...)
{
    (void)format;
    end(call, code);
}

static struct gateway gateway = {.deadline_max_ms = 1000};
static char table_name[] = "projects/p/instances/i/tables/T";

static void begin(struct rpc_call *call)
{
    arena_init(&call->arena, 4096, SIZE_MAX);
    waiting = NULL;
}

static void finish(struct rpc_call *call)
{
    if (waiting != NULL) {
        waiting->run(waiting);
    }
    cr_assert(call->has_ended);
    arena_deinit(&call->arena);
}

/* --- what is answered ------------------------------------------------------------------------- */

static void modify(struct rpc_call *call)
{
    Google__Bigtable__V2__ReadModifyWriteRule rule =
        GOOGLE__BIGTABLE__V2__READ_MODIFY_WRITE_RULE__INIT;
    Google__Bigtable__V2__ReadModifyWriteRule *rules[] = {&rule};
    Google__Bigtable__V2__ReadModifyWriteRowRequest request =
        GOOGLE__BIGTABLE__V2__READ_MODIFY_WRITE_ROW_REQUEST__INIT;
    rule.rule_case = GOOGLE__BIGTABLE__V2__READ_MODIFY_WRITE_RULE__RULE_INCREMENT_AMOUNT;
    request.table_name = table_name;
    request.rules = rules;
    request.n_rules = 1;
    begin(call);
    read_modify_write_row(&gateway, call, &request.base);
    finish(call);
}

Test(answer_room, a_row_that_was_changed_is_not_changed_again_for_want_of_room)
{
    struct rpc_call roomy = {.has_room = true};
    struct rpc_call full = {.has_room = false};
    modify(&roomy);
    cr_assert_eq(roomy.code, EDUBBA_OK);
    cr_assert(roomy.is_change);
    modify(&full);
    cr_assert_eq(full.code, EDUBBA_UNKNOWN);
    cr_assert(full.is_asked_as_change);
}

static enum edubba_code work(struct admin_call *call, const ProtobufCMessage **ret_answer)
{
    static const Google__Bigtable__V2__PingAndWarmResponse some =
        GOOGLE__BIGTABLE__V2__PING_AND_WARM_RESPONSE__INIT;
    (void)call;
    *ret_answer = &some.base;
    return EDUBBA_OK;
}

Test(answer_room, an_admin_call_may_be_made_again_if_it_changes_nothing)
{
    struct rpc_call calls[] = {
        {.has_room = true}, {.has_room = true}, {.has_room = false}, {.has_room = false}};
    for (size_t i = 0; i < 4; i++) {
        begin(&calls[i]);
        (i % 2 == 0 ? admin_call_read : admin_call_start)(&gateway, &calls[i], NULL, work);
        finish(&calls[i]);
    }
    cr_assert_eq(calls[0].code, EDUBBA_OK);
    cr_assert_not(calls[0].is_change);
    cr_assert_eq(calls[1].code, EDUBBA_OK);
    cr_assert(calls[1].is_change);
    cr_assert_eq(calls[2].code, EDUBBA_UNAVAILABLE);
    cr_assert_not(calls[2].is_asked_as_change);
    cr_assert_eq(calls[3].code, EDUBBA_UNKNOWN);
    cr_assert(calls[3].is_asked_as_change);
}

static void sample(struct rpc_call *call)
{
    Google__Bigtable__V2__SampleRowKeysRequest request =
        GOOGLE__BIGTABLE__V2__SAMPLE_ROW_KEYS_REQUEST__INIT;
    request.table_name = table_name;
    begin(call);
    sample_row_keys(&gateway, call, &request.base);
    finish(call);
}

Test(answer_room, samples_are_counted)
{
    struct rpc_call roomy = {.room_bytes = 1000, .most_bytes = 1000};
    struct rpc_call full = {.room_bytes = SAMPLES_BYTES - 1, .most_bytes = 1000};
    struct rpc_call alone = {.room_bytes = 10, .most_bytes = 10};
    sample(&roomy);
    cr_assert_eq(roomy.code, EDUBBA_OK);
    cr_assert_eq(roomy.sent, 2);
    cr_assert_eq(roomy.reserved_bytes, SAMPLES_BYTES);
    sample(&full);
    cr_assert_eq(full.code, EDUBBA_UNAVAILABLE);
    cr_assert_eq(full.sent, 0);
    sample(&alone);
    cr_assert_eq(alone.code, EDUBBA_OK, "whatever it takes");
}

/* gRPC's health service, on calls of the test's own in place of the RPC server's. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "gateway/health/health.h"
#include "gateway/methods/gateway.h"
#include "gateway/rpc/rpc.h"
#include "health.pb-c.h"

typedef Grpc__Health__V1__HealthCheckRequest Request;
typedef Grpc__Health__V1__HealthCheckResponse Response;

#define SERVING     GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
#define NOT_SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING
#define NO_SERVICE  GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN

/* --- calls ------------------------------------------------------------------------------------ */

struct rpc_call {
    struct arena arena;
    int told[8]; /* statuses, in order */
    size_t told_count;
    bool has_ended;
    enum edubba_code code;
    void (*on_sent)(void *context); /* a message is on its way */
    void *on_sent_context;
    void (*on_cancelled)(void *context);
    void *on_cancelled_context;
};

static bool is_memory_short;

struct arena *rpc_call_arena(struct rpc_call *call)
{
    return &call->arena;
}

void rpc_call_on_cancelled(struct rpc_call *call,
                           void (*on_cancelled)(void *context),
                           void *context)
{
    call->on_cancelled = on_cancelled;
    call->on_cancelled_context = context;
}

static void tell(struct rpc_call *call, const ProtobufCMessage *message)
{
    cr_assert(!call->has_ended);
    cr_assert_lt(call->told_count, sizeof call->told / sizeof *call->told);
    call->told[call->told_count] = (int)((const Response *)message)->status;
    call->told_count++;
}

enum status rpc_send(struct rpc_call *call,
                     const ProtobufCMessage *message,
                     void (*on_sent)(void *context),
                     void *context)
{
    cr_assert_null(call->on_sent, "one message at a time");
    if (is_memory_short) {
        return STATUS_NO_MEMORY;
    }
    tell(call, message);
    call->on_sent = on_sent;
    call->on_sent_context = context;
    return STATUS_OK;
}

void rpc_answer(struct rpc_call *call, const ProtobufCMessage *message)
{
    tell(call, message);
    call->has_ended = true;
    call->code = EDUBBA_OK;
}

void rpc_fail(struct rpc_call *call, enum edubba_code code, const char *format, ...)
{
    (void)format;
    cr_assert(!call->has_ended);
    call->has_ended = true;
    call->code = code;
}

/* --- what happens to them --------------------------------------------------------------------- */

static const struct rpc_method SERVED[] = {
    {"/google.bigtable.v2.Bigtable/ReadRows", NULL, NULL},
    {"/grpc.health.v1.Health/Check", NULL, NULL},
};

static struct gateway gateway;

static void setup(void)
{
    gateway.health = health_create(SERVED, sizeof SERVED / sizeof *SERVED);
    cr_assert_not_null(gateway.health);
}

static void teardown(void)
{
    health_destroy(gateway.health);
}

TestSuite(gateway_health, .init = setup, .fini = teardown);

static void begin(struct rpc_call *call, const char *method, const char *service)
{
    size_t count = 0;
    const struct rpc_method *methods = health_methods(&count);
    Request request = GRPC__HEALTH__V1__HEALTH_CHECK_REQUEST__INIT;
    char name[128];
    (void)snprintf(name, sizeof name, "%s", service);
    request.service = name;
    *call = (struct rpc_call){.code = EDUBBA_UNKNOWN};
    arena_init(&call->arena, 4096, SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(strrchr(methods[i].path, '/') + 1, method) == 0) {
            methods[i].run(&gateway, call, &request.base);
            return;
        }
    }
    cr_assert_fail("no method %s", method);
}

static void sent(struct rpc_call *call)
{
    void (*on_sent)(void *context) = call->on_sent;
    cr_assert_not_null(on_sent, "nothing is on its way");
    call->on_sent = NULL;
    on_sent(call->on_sent_context);
}

static void cancel(struct rpc_call *call)
{
    call->on_cancelled(call->on_cancelled_context);
}

static void end(struct rpc_call *call)
{
    arena_deinit(&call->arena);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void checks(const char *service, enum edubba_code code, int status)
{
    struct rpc_call call;
    begin(&call, "Check", service);
    cr_assert(call.has_ended);
    cr_assert_eq(call.code, code, "%s: %d", service, (int)call.code);
    cr_assert_eq(call.told_count, code == EDUBBA_OK ? 1U : 0U);
    if (code == EDUBBA_OK) {
        cr_assert_eq(call.told[0], status);
    }
    end(&call);
}

Test(gateway_health, check_knows_the_services_of_the_methods)
{
    checks("", EDUBBA_OK, SERVING);
    checks("google.bigtable.v2.Bigtable", EDUBBA_OK, SERVING);
    checks("grpc.health.v1.Health", EDUBBA_OK, SERVING);
    checks("google.bigtable.v2.Big", EDUBBA_NOT_FOUND, 0);
    checks("google.bigtable.v2.Bigtables", EDUBBA_NOT_FOUND, 0);
    checks("google.bigtable.v2.Bigtable/ReadRows", EDUBBA_NOT_FOUND, 0);
    checks("google.bigtable.v2.Bigtable/", EDUBBA_NOT_FOUND, 0);
    health_stop(gateway.health);
    checks("", EDUBBA_OK, NOT_SERVING);
    checks("google.bigtable.v2.Bigtable", EDUBBA_OK, NOT_SERVING);
    checks("google.bigtable.v2.Big", EDUBBA_NOT_FOUND, 0);
}

Test(gateway_health, who_watches_is_told_at_once_and_at_the_end)
{
    struct rpc_call call;
    begin(&call, "Watch", "");
    cr_assert_eq(call.told_count, 1);
    cr_assert_eq(call.told[0], SERVING);
    sent(&call);
    cr_assert_eq(call.told_count, 1);
    cr_assert(!call.has_ended);
    health_stop(gateway.health);
    cr_assert_eq(call.told_count, 2);
    cr_assert_eq(call.told[1], NOT_SERVING);
    cr_assert(!call.has_ended, "the message goes out first");
    sent(&call);
    cr_assert(call.has_ended);
    cr_assert_eq(call.code, EDUBBA_UNAVAILABLE);
    end(&call);
}

Test(gateway_health, a_stop_waits_for_the_message_on_its_way)
{
    struct rpc_call call;
    begin(&call, "Watch", "grpc.health.v1.Health");
    health_stop(gateway.health);
    cr_assert_eq(call.told_count, 1);
    sent(&call);
    cr_assert_eq(call.told_count, 2);
    cr_assert_eq(call.told[1], NOT_SERVING);
    sent(&call);
    cr_assert(call.has_ended);
    end(&call);
}

Test(gateway_health, an_unknown_service_is_watched_and_told_nothing_new)
{
    struct rpc_call call;
    begin(&call, "Watch", "nobody");
    cr_assert_eq(call.told[0], NO_SERVICE);
    sent(&call);
    health_stop(gateway.health);
    cr_assert_eq(call.told_count, 1);
    cr_assert(call.has_ended);
    cr_assert_eq(call.code, EDUBBA_UNAVAILABLE);
    end(&call);
}

Test(gateway_health, who_watches_after_the_stop_is_told_and_ended)
{
    struct rpc_call call;
    health_stop(gateway.health);
    begin(&call, "Watch", "");
    cr_assert_eq(call.told[0], NOT_SERVING);
    sent(&call);
    cr_assert_eq(call.told_count, 1);
    cr_assert(call.has_ended);
    end(&call);
}

Test(gateway_health, who_goes_away_is_forgotten_whenever_it_is)
{
    struct rpc_call idle, sending, stopping;
    begin(&idle, "Watch", "");
    sent(&idle);
    cancel(&idle);
    cr_assert(idle.has_ended);
    cr_assert_eq(idle.code, EDUBBA_CANCELLED);

    begin(&sending, "Watch", "");
    cancel(&sending);
    cr_assert(!sending.has_ended);
    sent(&sending);
    cr_assert(sending.has_ended);

    begin(&stopping, "Watch", "");
    sent(&stopping);
    health_stop(gateway.health);
    cancel(&stopping);
    cr_assert(!stopping.has_ended);
    sent(&stopping);
    cr_assert(stopping.has_ended);
    cancel(&stopping); /* told once more, as it was ending */
    end(&idle);
    end(&sending);
    end(&stopping);
}

Test(gateway_health, of_many_who_watch_each_is_told_and_ended_in_any_order)
{
    enum {
        COUNT = 50
    };
    static struct rpc_call calls[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        begin(&calls[i], "Watch", i % 3 == 0 ? "nobody" : "");
        if (i % 2 == 0) {
            sent(&calls[i]);
        }
        if (i % 5 == 0) {
            cancel(&calls[i]);
        }
    }
    health_stop(gateway.health);
    for (size_t i = COUNT; i-- > 0;) {
        while (calls[i].on_sent != NULL) {
            sent(&calls[i]);
        }
        cr_assert(calls[i].has_ended, "%zu", i);
        cr_assert_eq(calls[i].told_count, i % 3 == 0 || i % 5 == 0 ? 1U : 2U, "%zu", i);
        end(&calls[i]);
    }
}

Test(gateway_health, more_than_the_limit_are_refused_until_one_goes)
{
    static struct rpc_call calls[HEALTH_WATCHERS_MAX + 2];
    for (size_t i = 0; i < HEALTH_WATCHERS_MAX; i++) {
        begin(&calls[i], "Watch", "");
        sent(&calls[i]);
        cr_assert(!calls[i].has_ended);
    }
    struct rpc_call *refused = &calls[HEALTH_WATCHERS_MAX];
    begin(refused, "Watch", "");
    cr_assert(refused->has_ended);
    cr_assert_eq(refused->code, EDUBBA_RESOURCE_EXHAUSTED);
    cr_assert_eq(refused->told_count, 0);
    cancel(&calls[7]);
    begin(&calls[HEALTH_WATCHERS_MAX + 1], "Watch", "");
    cr_assert(!calls[HEALTH_WATCHERS_MAX + 1].has_ended);
    sent(&calls[HEALTH_WATCHERS_MAX + 1]);
    health_stop(gateway.health);
    for (size_t i = 0; i < HEALTH_WATCHERS_MAX + 2; i++) {
        if (calls[i].on_sent != NULL) {
            sent(&calls[i]);
        }
        cr_assert(calls[i].has_ended);
        end(&calls[i]);
    }
}

Test(gateway_health, without_memory_for_a_message_a_stop_still_ends_the_call)
{
    struct rpc_call call;
    begin(&call, "Watch", "");
    sent(&call);
    is_memory_short = true;
    health_stop(gateway.health);
    cr_assert_eq(call.told_count, 1);
    cr_assert(call.has_ended);
    end(&call);
}

Test(gateway_health, without_memory_nothing_is_made)
{
    memory_fail_arm(0, 1);
    struct health *none = health_create(SERVED, 1);
    memory_fail_disarm();
    cr_assert_null(none);
}

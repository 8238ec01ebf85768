#include "gateway/daemon/service.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/include/edubba_gather.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/logger.h"
#include "gateway/daemon/gateway_metrics.h"
#include "gateway/daemon/status_page.h"
#include "gateway/daemon/stop_guard.h"
#include "gateway/health/health.h"
#include "gateway/methods/method_list.h"

#define NS_PER_SECOND     INT64_C(1000000000)
#define NS_PER_US         1000
#define US_PER_MS         1000
#define MESSAGE_BYTES_MAX (UINT64_C(256) << 20)
#define CLOSE_MS          5000 /* what closing may take once calls have ended */

/* What is free in the middle of a heap goes back now and then: after a storm one small piece that
 * lives long holds all the messages that were before it. */
#define HEAP_TRIM_EVERY_S 5

/* --- calls that have ended -------------------------------------------------------------------- */

/* These take as long as their callers like. */
static bool is_stream(const char *name)
{
    return strcmp(name, "Bigtable/ReadRows") == 0 || strcmp(name, "Health/Watch") == 0;
}

static void on_ended(void *context, size_t method, enum edubba_code code, int64_t duration_ns)
{
    const struct service *service = context;
    gateway_metrics_ended(method, code, duration_ns);
    int64_t slow_ns = service->settings->slow_call_us * NS_PER_US;
    if (slow_ns > 0 && duration_ns > slow_ns) {
        size_t count = 0;
        const char *name = method_list_name(&method_list(&count)[method]);
        if (!is_stream(name)) {
            LOG_EVENT(LOG_LEVEL_WARN, "slow_call", LOG_TEXT("method", name),
                      LOG_TEXT("code", edubba_code_name(code)),
                      LOG_I64("duration_us", duration_ns / NS_PER_US));
        }
    }
}

/* --- starting --------------------------------------------------------------------------------- */

/* Until then, or service_stop(). */
static void wait_until(struct service *service, int64_t deadline_ns)
{
    char nothing[1];
    (void)mailbox_take(service->stop, nothing, 1, deadline_ns);
}

static enum status stopped_early(struct error *ret_error)
{
    return error_set(ret_error, STATUS_CANCELLED, "stopped before the cluster was reached");
}

/* A gateway may be started before its cluster. */
static enum status reach_cluster(struct service *service, struct error *ret_error)
{
    const struct gateway_settings *settings = service->settings;
    const struct edubba_options options = {
        .masters = settings->masters,
        .agent = "edubba-gateway/" EDUBBA_VERSION,
        .deadline_ms = (uint32_t)(settings->deadline_max_us / US_PER_MS),
        .in_flight_max = (uint32_t)settings->client_in_flight_max,
        .in_flight_bytes_max = settings->client_in_flight_bytes_max,
        .messages_per_lane = (uint32_t)settings->client_messages_per_lane,
        .connections = (uint32_t)settings->client_connections,
        .unreachable_ms = (uint32_t)(settings->client_unreachable_us / US_PER_MS),
    };
    while (!atomic_load(&service->is_stopping)) {
        struct edubba_error error = {0};
        int64_t next_ns = clock_monotonic_ns() + NS_PER_SECOND;
        enum edubba_code code = edubba_client_open(&options, &service->gateway.client, &error);
        if (code == EDUBBA_OK) {
            return STATUS_OK;
        }
        if (code != EDUBBA_UNAVAILABLE && code != EDUBBA_DEADLINE_EXCEEDED) {
            return error_set(ret_error, (enum status)code, "%s", error.text); /* the same numbers */
        }
        LOG_EVENT(LOG_LEVEL_WARN, "master_not_reached", LOG_TEXT("masters", settings->masters),
                  LOG_TEXT("error", error.text));
        wait_until(service, next_ns);
    }
    return stopped_early(ret_error);
}

static bool open_waiters(const struct gateway_settings *settings, struct waiters **ret_waiters)
{
    return waiters_open((uint32_t)settings->admin_threads, (uint32_t)settings->admin_queue_max,
                        ret_waiters) == STATUS_OK;
}

/* What methods share. */
static enum status make_shared(struct service *service, struct error *ret_error)
{
    const struct gateway_settings *settings = service->settings;
    struct gateway *gateway = &service->gateway;
    size_t method_count = 0;
    const struct rpc_method *methods = method_list(&method_count);
    gateway->home = settings->home_parts;
    gateway->deadline_max_ms = (uint32_t)(settings->deadline_max_us / US_PER_MS);
    gateway->health = health_create(methods, method_count);
    gateway->tables = tables_create(gateway->client);
    gateway->profiles = profiles_create();
    if (open_waiters(settings, &gateway->waiters) && open_waiters(settings, &gateway->askers)) {
        gateway->questions = questions_create(gateway->askers, gateway, gateway->deadline_max_ms);
    }
    if (gateway->health == NULL || gateway->tables == NULL || gateway->profiles == NULL ||
        gateway->questions == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to start");
    }
    return STATUS_OK;
}

/* Calls that come together are sent to the servers together, by the thread that takes them. */
static void on_idle(void *context)
{
    const struct gateway *gateway = context;
    edubba_thread_gathers(true);
    edubba_client_go(gateway->client);
}

/* One for two cores: the others are for libedubba's threads, and who has one queue fewer to share a
 * connection among wakes fewer threads. */
static uint32_t thread_count(const struct gateway_settings *settings)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (settings->threads > 0) {
        return (uint32_t)settings->threads;
    }
    return cores > 1 ? (uint32_t)cores / 2 : 1;
}

static const char *file_or_none(const char *path)
{
    return path[0] != '\0' ? path : NULL;
}

static enum status listen_for_calls(struct service *service, struct error *ret_error)
{
    const struct gateway_settings *settings = service->settings;
    struct rpc_settings rpc = {
        .address = settings->address,
        .context = &service->gateway,
        .thread_count = thread_count(settings),
        .request_memory_max = settings->request_memory_max_bytes,
        .message_bytes_max = MESSAGE_BYTES_MAX,
        .keepalive_min_ms = (uint32_t)(settings->keepalive_min_us / US_PER_MS),
        .certificate_file = file_or_none(settings->tls_certificate),
        .key_file = file_or_none(settings->tls_key),
        .client_ca_file = file_or_none(settings->tls_client_ca),
        .on_idle = on_idle,
        .on_ended = on_ended,
    };
    rpc.methods = method_list(&rpc.method_count);
    enum status status = rpc_server_open(&rpc, &service->server, ret_error);
    if (status == STATUS_OK) {
        (void)snprintf(service->address, sizeof service->address, "%s",
                       rpc_server_address(service->server));
    }
    return status;
}

static void count_now(struct service *service)
{
    gateway_metrics_now(rpc_server_request_bytes(service->server),
                        atomic_load(&service->state) == SERVICE_SERVING);
}

enum status service_start(struct service *service, struct error *ret_error)
{
    enum status status = reach_cluster(service, ret_error);
    if (status == STATUS_OK) {
        status = make_shared(service, ret_error);
    }
    if (status == STATUS_OK) {
        status = listen_for_calls(service, ret_error);
    }
    if (status == STATUS_OK) {
        atomic_store(&service->state, SERVICE_SERVING);
        count_now(service);
    }
    return status;
}

enum status service_create(const struct gateway_settings *settings,
                           struct service **ret_service,
                           struct error *ret_error)
{
    const struct mailbox_settings mailbox = {.item_bytes = 1, .capacity = 1};
    size_t method_count = 0;
    const struct rpc_method *methods = method_list(&method_count); /* before there are threads */
    struct service *service = memory_allocate_zeroed(1, sizeof *service);
    if (service == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to start");
    }
    service->settings = settings;
    gateway_metrics_init(methods, method_count);
    enum status status = mailbox_create(&mailbox, &service->stop);
    if (status != STATUS_OK) {
        memory_free(service);
        return error_set(ret_error, status, "no memory to start");
    }
    status = status_page_open(service, ret_error);
    if (status != STATUS_OK) {
        mailbox_destroy(service->stop);
        memory_free(service);
        return status;
    }
    *ret_service = service;
    return STATUS_OK;
}

/* --- running and stopping --------------------------------------------------------------------- */

enum status service_wait(struct service *service, struct error *ret_error)
{
    for (uint64_t seconds = 1; !atomic_load(&service->is_stopping); seconds++) {
        wait_until(service, clock_monotonic_ns() + NS_PER_SECOND);
        count_now(service);
        if (seconds % HEAP_TRIM_EVERY_S == 0) {
            (void)malloc_trim(0);
        }
        if (rpc_server_accepts_no_more()) {
            return error_set(ret_error, STATUS_UNAVAILABLE,
                             "%s takes no more connections, as one could not be accepted (see "
                             "above): it is to be started again, with more descriptors "
                             "(LimitNOFILE, ulimit -n) if these were lacking",
                             service->address);
        }
    }
    return STATUS_OK;
}

void service_stop(struct service *service)
{
    atomic_store(&service->is_stopping, true);
    mailbox_close(service->stop);
}

static void drain(struct service *service)
{
    atomic_store(&service->state, SERVICE_DRAINING);
    count_now(service);
    health_stop(service->gateway.health);
    rpc_server_drain(service->server, (uint32_t)(service->settings->drain_us / US_PER_MS));
}

void service_close(struct service *service)
{
    struct gateway *gateway = &service->gateway;
    struct stop_guard guard;
    stop_guard_begin(&guard, service->settings->drain_us * NS_PER_US + CLOSE_MS * INT64_C(1000000));
    if (service->server != NULL) {
        drain(service);
    }
    status_page_close(service);
    if (service->server != NULL) {
        rpc_server_close(service->server);
    }
    waiters_close(gateway->waiters);
    waiters_close(gateway->askers);
    questions_destroy(gateway->questions);
    profiles_destroy(gateway->profiles);
    tables_destroy(gateway->tables);
    health_destroy(gateway->health);
    if (gateway->client != NULL) {
        edubba_client_close(gateway->client);
    }
    mailbox_destroy(service->stop);
    memory_free(service);
    stop_guard_end(&guard);
}

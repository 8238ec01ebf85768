#include <stdio.h>
#include <string.h>

#include <grpc/grpc_security.h>
#include <grpc/support/time.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "gateway/rpc/rpc_internal.h"

/* --- events --------------------------------------------------------------------------------------- */

static void *run_queue(void *queue)
{
    for (;;) {
        grpc_event event = grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME),
                                                      NULL);
        if (event.type == GRPC_QUEUE_SHUTDOWN) {
            return NULL;
        }
        struct rpc_event *tag = event.tag;
        tag->run(tag, event.success != 0);
    }
}

/* --- slots ---------------------------------------------------------------------------------------- */

static void arm(struct rpc_slot *slot)
{
    struct rpc_server *server = slot->server;
    grpc_metadata_array_init(&slot->metadata);
    slot->payload = NULL;
    grpc_call_error error;
    if (slot->method != NULL) {
        error = grpc_server_request_registered_call(server->server, slot->registration, &slot->call,
                                                    &slot->deadline, &slot->metadata,
                                                    &slot->payload, slot->queue, slot->queue,
                                                    &slot->event);
    } else {
        grpc_call_details_init(&slot->details);
        error = grpc_server_request_call(server->server, &slot->call, &slot->details,
                                         &slot->metadata, slot->queue, slot->queue, &slot->event);
    }
    ASSERT(error == GRPC_CALL_OK);
}

static void on_arrival(struct rpc_event *event, bool ok)
{
    struct rpc_slot *slot = (struct rpc_slot *)event;
    if (!ok) { /* the server is being stopped */
        grpc_metadata_array_destroy(&slot->metadata);
        return;
    }
    struct rpc_slot arrived = *slot;
    arm(slot);
    rpc_call_begin(&arrived);
}

static enum status make_slots(struct rpc_server *server)
{
    const struct rpc_settings *settings = &server->settings;
    size_t kinds = settings->method_count + 1; /* and what is not served */
    void **registrations = memory_allocate_zeroed(kinds, sizeof *registrations);
    server->slots = memory_allocate_zeroed(kinds * settings->thread_count, sizeof *server->slots);
    if (registrations == NULL || server->slots == NULL) {
        memory_free(registrations);
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < settings->method_count; i++) {
        registrations[i] = grpc_server_register_method(
            server->server, settings->methods[i].path, NULL,
            GRPC_SRM_PAYLOAD_READ_INITIAL_BYTE_BUFFER, 0);
        ASSERT(registrations[i] != NULL); /* each path is there once */
    }
    for (size_t i = 0; i < kinds * settings->thread_count; i++) {
        size_t kind = i % kinds;
        server->slots[i] = (struct rpc_slot){
            .event = {on_arrival},
            .server = server,
            .queue = server->queues[i / kinds],
            .method = kind < settings->method_count ? &settings->methods[kind] : NULL,
            .registration = registrations[kind],
        };
    }
    server->slot_count = kinds * settings->thread_count;
    memory_free(registrations);
    return STATUS_OK;
}

/* --- opening and closing ----------------------------------------------------------------------------- */

static grpc_arg integer(const char *key, int value)
{
    union {
        const char *in;
        char *out; /* libgrpc only reads it */
    } name = {.in = key};
    return (grpc_arg){.type = GRPC_ARG_INTEGER, .key = name.out, .value.integer = value};
}

static grpc_server *make_server(const struct rpc_settings *settings)
{
    grpc_arg list[] = {
        integer(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, (int)settings->message_bytes_max),
        integer(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1),
        integer(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                (int)settings->keepalive_min_ms),
        integer(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
        integer(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0),
        integer(GRPC_ARG_ALLOW_REUSEPORT, 0),
    };
    grpc_channel_args arguments = {sizeof list / sizeof *list, list};
    return grpc_server_create(&arguments, NULL);
}

static enum status listen_at(struct rpc_server *server, struct error *ret_error)
{
    const char *address = server->settings.address;
    grpc_server_credentials *credentials = grpc_insecure_server_credentials_create();
    int port = grpc_server_add_http2_port(server->server, address, credentials);
    grpc_server_credentials_release(credentials);
    const char *colon = strrchr(address, ':');
    if (port == 0 || colon == NULL) {
        return error_set(ret_error, STATUS_IO,
                         "cannot listen at %s: is it in use, or no HOST:PORT of this machine?",
                         address);
    }
    (void)snprintf(server->address, sizeof server->address, "%.*s:%d", (int)(colon - address),
                   address, port);
    return STATUS_OK;
}

static enum status start_threads(struct rpc_server *server)
{
    while (server->thread_count < server->settings.thread_count) {
        uint32_t i = server->thread_count;
        if (pthread_create(&server->threads[i], NULL, run_queue, server->queues[i]) != 0) {
            return STATUS_NO_MEMORY;
        }
        (void)pthread_setname_np(server->threads[i], "rpc");
        server->thread_count++;
    }
    return STATUS_OK;
}

static enum status open_server(struct rpc_server *server, struct error *ret_error)
{
    uint32_t count = server->settings.thread_count;
    server->queues = memory_allocate_zeroed(count, sizeof(void *));
    server->threads = memory_allocate_zeroed(count, sizeof *server->threads);
    if (server->queues == NULL || server->threads == NULL) {
        return STATUS_NO_MEMORY;
    }
    server->server = make_server(&server->settings);
    for (uint32_t i = 0; i < count; i++) {
        server->queues[i] = grpc_completion_queue_create_for_next(NULL);
        grpc_server_register_completion_queue(server->server, server->queues[i], NULL);
    }
    enum status status = make_slots(server);
    return status == STATUS_OK ? listen_at(server, ret_error) : status;
}

enum status rpc_server_open(const struct rpc_settings *settings,
                            struct rpc_server **ret_server,
                            struct error *ret_error)
{
    struct rpc_server *server = memory_allocate_zeroed(1, sizeof *server);
    if (server == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to listen at %s",
                         settings->address);
    }
    grpc_init();
    server->settings = *settings;
    ASSERT(pthread_mutex_init(&server->lock, NULL) == 0);
    ASSERT(pthread_cond_init(&server->changed, NULL) == 0);
    enum status status = open_server(server, ret_error);
    if (status == STATUS_OK) {
        grpc_server_start(server->server);
        for (size_t i = 0; i < server->slot_count; i++) {
            arm(&server->slots[i]);
        }
        status = start_threads(server);
    }
    if (status != STATUS_OK) {
        rpc_server_close(server);
        return status == STATUS_NO_MEMORY
                   ? error_set(ret_error, status, "no memory to listen at %s", settings->address)
                   : status;
    }
    *ret_server = server;
    return STATUS_OK;
}

const char *rpc_server_address(const struct rpc_server *server)
{
    return server->address;
}

static void on_stopped(struct rpc_event *event, bool ok)
{
    struct rpc_server *server = (struct rpc_server *)((char *)event -
                                                      offsetof(struct rpc_server, stopped));
    (void)ok;
    (void)pthread_mutex_lock(&server->lock);
    server->is_stopped = true;
    (void)pthread_cond_broadcast(&server->changed);
    (void)pthread_mutex_unlock(&server->lock);
}

void rpc_server_drain(struct rpc_server *server, uint32_t patience_ms)
{
    struct timespec end;
    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += patience_ms / 1000;
    end.tv_nsec += (long)(patience_ms % 1000) * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    server->stopped.run = on_stopped;
    grpc_server_shutdown_and_notify(server->server, server->queues[0], &server->stopped);
    (void)pthread_mutex_lock(&server->lock);
    int waited = 0;
    while (!server->is_stopped && waited == 0) {
        waited = pthread_cond_timedwait(&server->changed, &server->lock, &end);
    }
    bool is_stopped = server->is_stopped;
    (void)pthread_mutex_unlock(&server->lock);
    if (!is_stopped) {
        grpc_server_cancel_all_calls(server->server);
        (void)pthread_mutex_lock(&server->lock);
        while (!server->is_stopped) {
            (void)pthread_cond_wait(&server->changed, &server->lock);
        }
        (void)pthread_mutex_unlock(&server->lock);
    }
}

void rpc_server_close(struct rpc_server *server)
{
    if (server->server != NULL) {
        grpc_server_destroy(server->server);
    }
    for (uint32_t i = 0; server->queues != NULL && i < server->settings.thread_count; i++) {
        if (server->queues[i] != NULL) {
            grpc_completion_queue_shutdown(server->queues[i]);
        }
    }
    for (uint32_t i = 0; i < server->thread_count; i++) {
        (void)pthread_join(server->threads[i], NULL);
    }
    for (uint32_t i = 0; server->queues != NULL && i < server->settings.thread_count; i++) {
        if (server->queues[i] != NULL) {
            if (i >= server->thread_count) {
                (void)run_queue(server->queues[i]); /* nobody else empties it */
            }
            grpc_completion_queue_destroy(server->queues[i]);
        }
    }
    ASSERT(pthread_cond_destroy(&server->changed) == 0);
    ASSERT(pthread_mutex_destroy(&server->lock) == 0);
    memory_free(server->queues);
    memory_free(server->threads);
    memory_free(server->slots);
    memory_free(server);
    grpc_shutdown();
}

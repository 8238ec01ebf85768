#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sanitizer/asan_interface.h>

#include <grpc/support/log.h>
#include <grpc/support/time.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/condition.h"
#include "common/io/thread.h"
#include "gateway/rpc/rpc_internal.h"

#define QUIET_NS (INT64_C(1000) * 1000 * 1000) /* for a connection without calls to go away */

/* Of a method, on each queue.  More than one, so that calls that come together need not wait in
 * libgrpc for a slot: it takes a lock for those, and cancels them when it is shut down. */
#define SLOTS 8

#define KEPT_HEADERS_MAX 64 /* in the array of one that is kept */

/* --- slots ----------------------------------------------------------------------------------- */

/* With room for headers, or none. */
static void arm(struct rpc_slot *slot, grpc_metadata_array headers)
{
    struct rpc_server *server = slot->server;
    slot->metadata = headers;
    grpc_call_details_init(&slot->details);
    slot->call = NULL;
    slot->payload = NULL;
    grpc_call_error error;
    if (slot->method != NULL) {
        error = grpc_server_request_registered_call(
            server->server, slot->registration, &slot->call, &slot->deadline, &slot->metadata,
            &slot->payload, slot->thread->queue, slot->thread->queue, &slot->event);
    } else {
        error = grpc_server_request_call(server->server, &slot->call, &slot->details,
                                         &slot->metadata, slot->thread->queue, slot->thread->queue,
                                         &slot->event);
    }
    ASSERT(error ==
           GRPC_CALL_OK); /* also while the server is being stopped: then it comes back at once */
}

static void put_away(struct rpc_slot *slot)
{
    struct rpc_server *server = slot->server;
    grpc_metadata_array_destroy(&slot->metadata);
    grpc_call_details_destroy(&slot->details);
    (void)pthread_mutex_lock(&server->lock);
    server->slots_armed--;
    if (server->slots_armed == 0) {
        (void)pthread_cond_broadcast(&server->changed);
    }
    (void)pthread_mutex_unlock(&server->lock);
}

static void on_arrival(struct rpc_event *event, bool ok)
{
    struct rpc_slot *slot = (struct rpc_slot *)event;
    if (!ok) { /* the server is being stopped */
        put_away(slot);
        return;
    }
    struct rpc_slot arrived = *slot;
    grpc_metadata_array headers = {0};
    struct rpc_call *kept = rpc_server_call_begun(
        slot->server); /* before the slot may be put away: there is always one of both */
    if (kept != NULL) {
        headers = kept->metadata;
    }
    arm(slot, headers);
    rpc_call_begin(&arrived, kept);
}

static enum status make_slots(struct rpc_server *server)
{
    const struct rpc_settings *settings = &server->settings;
    size_t kinds = settings->method_count + 1; /* and what is not served */
    size_t count = kinds * SLOTS * settings->thread_count;
    void **registrations = memory_allocate_zeroed(kinds, sizeof *registrations);
    server->slots = memory_allocate_zeroed(count, sizeof *server->slots);
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
    for (size_t i = 0; i < count; i++) {
        size_t kind = i % kinds;
        server->slots[i] = (struct rpc_slot){
            .event = {on_arrival},
            .server = server,
            .thread = &server->threads[i / (kinds * SLOTS)],
            .method = kind < settings->method_count ? &settings->methods[kind] : NULL,
            .registration = registrations[kind],
        };
    }
    server->slot_count = count;
    memory_free(registrations);
    return STATUS_OK;
}

/* --- opening --------------------------------------------------------------------------------- */

static enum status start_threads(struct rpc_server *server)
{
    while (server->thread_count < server->queue_count) {
        if (!rpc_thread_start(&server->threads[server->thread_count])) {
            return STATUS_NO_MEMORY;
        }
        server->thread_count++;
    }
    return STATUS_OK;
}

/* All that can fail for want of memory, before the world can see anything. */
static enum status make(struct rpc_server *server)
{
    uint32_t count = server->settings.thread_count;
    server->threads = memory_allocate_zeroed(count, sizeof *server->threads);
    if (server->threads == NULL) {
        return STATUS_NO_MEMORY;
    }
    server->server = rpc_options_make_server(&server->settings);
    if (server->server == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (; server->queue_count < count; server->queue_count++) {
        grpc_completion_queue *queue = grpc_completion_queue_create_for_next(NULL);
        rpc_thread_init(&server->threads[server->queue_count], server, queue);
        grpc_server_register_completion_queue(server->server, queue, NULL);
    }
    enum status status = make_slots(server);
    return status == STATUS_OK ? start_threads(server) : status;
}

/* libgrpc would take 65537 for 1. */
static bool is_port(const char *text)
{
    size_t size = strspn(text, "0123456789");
    return size > 0 && size < 6 && text[size] == '\0' && strtoul(text, NULL, 10) <= UINT16_MAX;
}

/* Of the process, as libgrpc's log is. */
static atomic_bool accepts_no_more;

bool rpc_server_accepts_no_more(void)
{
    return atomic_load(&accepts_no_more);
}

/* libgrpc 1.51 closes the socket that it listens at, for good, where an accept fails (for want of descriptors, say), and
 * tells nobody: all that there is of it is the line in its log.  A later one that says it otherwise is not heard. */
static void hear(gpr_log_func_args *said)
{
    const char *name = strrchr(said->file, '/');
    if (strstr(said->message, "Failed accept4") != NULL) {
        atomic_store(&accepts_no_more, true);
    }
    (void)fprintf(stderr, "libgrpc: %s:%d: %s\n", name != NULL ? name + 1 : said->file, said->line,
                  said->message);
}

static void say_nothing(gpr_log_func_args *said)
{
    (void)said;
}

/* libgrpc would write lines of its own about what we say of an address that cannot be had, or of PEM
 * files that are none. */
static int add_port(struct rpc_server *server, grpc_server_credentials *credentials)
{
    gpr_set_log_function(say_nothing);
    int port = grpc_server_add_http2_port(server->server, server->settings.address, credentials);
    gpr_set_log_function(hear);
    return port;
}

static enum status listen_at(struct rpc_server *server, struct error *ret_error)
{
    const char *address = server->settings.address;
    const char *colon = strrchr(address, ':');
    if (colon == NULL || colon == address || !is_port(colon + 1)) {
        return error_set(ret_error, STATUS_IO, "cannot listen at %s: it is not HOST:PORT", address);
    }
    grpc_server_credentials *credentials = NULL;
    enum status status = rpc_options_make_credentials(&server->settings, &credentials, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    int port = add_port(server, credentials);
    grpc_server_credentials_release(credentials);
    if (port == 0) {
        return error_set(
            ret_error, STATUS_IO,
            "cannot listen at %s: is it in use, or no HOST:PORT of this machine%s?", address,
            server->settings.certificate_file != NULL ? ", or the certificate not the key's" : "");
    }
    (void)snprintf(server->address, sizeof server->address, "%.*s:%d", (int)(colon - address),
                   address, port);
    return STATUS_OK;
}

static void init_lock(struct rpc_server *server)
{
    ASSERT(pthread_mutex_init(&server->lock, NULL) == 0);
    condition_init(&server->changed);
}

static enum status open_server(const struct rpc_settings *settings,
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
    init_lock(server);
    enum status status = make(server);
    if (status != STATUS_OK) {
        status = error_set(ret_error, status, "no memory to listen at %s", settings->address);
    } else {
        status = listen_at(server, ret_error);
    }
    if (status != STATUS_OK) {
        rpc_server_close(server);
        return status;
    }
    server->is_started = true;
    grpc_server_start(server->server);
    server->slots_armed = server->slot_count;
    for (size_t i = 0; i < server->slot_count; i++) {
        arm(&server->slots[i], (grpc_metadata_array){0});
    }
    *ret_server = server;
    return STATUS_OK;
}

enum status rpc_server_open(const struct rpc_settings *settings,
                            struct rpc_server **ret_server,
                            struct error *ret_error)
{
    ASSERT(settings->thread_count > 0);
    bool before = thread_patient_set(true); /* as our threads and libgrpc's will be */
    enum status status = open_server(settings, ret_server, ret_error);
    (void)thread_patient_set(before);
    return status;
}

/* --- looking --------------------------------------------------------------------------------- */

const char *rpc_server_address(const struct rpc_server *server)
{
    return server->address;
}

uint64_t rpc_server_request_bytes(const struct rpc_server *server)
{
    return atomic_load(&server->request_bytes);
}

/* --- draining -------------------------------------------------------------------------------- */

/* Under lock; NULL: there is none.  Until then a sanitizer complains of who touches it. */
static struct rpc_call *take_kept(struct rpc_server *server)
{
    if (server->kept_count == 0) {
        return NULL;
    }
    struct rpc_call *call = server->kept[--server->kept_count];
    ASAN_UNPOISON_MEMORY_REGION(call, sizeof *call);
    return call;
}

/* Under lock; false: it is to be freed. */
static bool keep(struct rpc_server *server, struct rpc_call *call)
{
    if (server->kept_count == RPC_CALLS_KEPT_MAX || call->metadata.capacity > KEPT_HEADERS_MAX) {
        return false;
    }
    server->kept[server->kept_count++] = call;
    ASAN_POISON_MEMORY_REGION(call, sizeof *call);
    return true;
}

struct rpc_call *rpc_server_call_begun(struct rpc_server *server)
{
    (void)pthread_mutex_lock(&server->lock);
    atomic_fetch_add(&server->calls_running, 1);
    struct rpc_call *kept = take_kept(server);
    (void)pthread_mutex_unlock(&server->lock);
    return kept;
}

void rpc_server_call_ended(struct rpc_server *server, struct rpc_call *call)
{
    (void)pthread_mutex_lock(&server->lock);
    bool is_to_be_freed = call != NULL && !keep(server, call);
    if (atomic_fetch_sub(&server->calls_running, 1) == 1) {
        (void)pthread_cond_broadcast(&server->changed);
    }
    (void)pthread_mutex_unlock(&server->lock);
    if (is_to_be_freed) {
        rpc_call_free(call);
    }
}

static void free_kept(struct rpc_server *server)
{
    for (struct rpc_call *call = take_kept(server); call != NULL; call = take_kept(server)) {
        rpc_call_free(call);
    }
}

static void on_stopped(struct rpc_event *event, bool ok)
{
    struct rpc_server *server = (struct rpc_server *)(void *)((char *)event -
                                                              offsetof(struct rpc_server, stopped));
    (void)ok;
    (void)pthread_mutex_lock(&server->lock);
    server->is_stopped = true;
    (void)pthread_cond_broadcast(&server->changed);
    (void)pthread_mutex_unlock(&server->lock);
}

static int64_t now_ns(void) /* on the clock that `changed` waits by */
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Under lock: calls until the end, a second more for connections that are left without any. */
static void wait_until_quiet(struct rpc_server *server, int64_t end_ns)
{
    bool was_quiet = false;
    int64_t until_ns = end_ns;
    while (!server->is_stopped || atomic_load(&server->calls_running) > 0) {
        int64_t time_ns = now_ns();
        bool is_quiet = atomic_load(&server->calls_running) == 0;
        if (is_quiet && !was_quiet) {
            until_ns = time_ns + QUIET_NS < end_ns ? time_ns + QUIET_NS : end_ns;
        } else if (!is_quiet) {
            until_ns = end_ns;
        }
        was_quiet = is_quiet;
        if (time_ns >= until_ns) {
            return;
        }
        struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
        (void)pthread_cond_timedwait(&server->changed, &server->lock, &until);
    }
}

void rpc_server_drain(struct rpc_server *server, uint32_t patience_ms)
{
    ASSERT(!server->is_draining);
    int64_t end_ns = now_ns() + (int64_t)patience_ms * 1000000;
    server->is_draining = true;
    server->stopped.run = on_stopped;
    grpc_server_shutdown_and_notify(server->server, server->threads[0].queue, &server->stopped);
    (void)pthread_mutex_lock(&server->lock);
    wait_until_quiet(server, end_ns);
    bool is_stopped = server->is_stopped;
    (void)pthread_mutex_unlock(&server->lock);
    if (!is_stopped) {
        grpc_server_cancel_all_calls(server->server); /* and ends their connections */
    }
    /* An arrival whose caller is gone may wait in a queue still: the server does not wait for it. */
    (void)pthread_mutex_lock(&server->lock);
    while (!server->is_stopped || server->slots_armed > 0 ||
           atomic_load(&server->calls_running) > 0) {
        (void)pthread_cond_wait(&server->changed, &server->lock);
    }
    (void)pthread_mutex_unlock(&server->lock);
}

/* --- closing --------------------------------------------------------------------------------- */

/* Threads end when their queue is empty. */
static void close_queues(struct rpc_server *server)
{
    for (uint32_t i = 0; i < server->queue_count; i++) {
        grpc_completion_queue_shutdown(server->threads[i].queue);
    }
    for (uint32_t i = 0; i < server->queue_count; i++) {
        struct rpc_thread *thread = &server->threads[i];
        if (i < server->thread_count) {
            (void)pthread_join(thread->thread, NULL);
        } else {
            rpc_thread_run(thread); /* nobody else empties it */
        }
        grpc_completion_queue_destroy(thread->queue);
        rpc_thread_deinit(thread);
    }
}

void rpc_server_close(struct rpc_server *server)
{
    if (server->is_started && !server->is_draining) {
        rpc_server_drain(server, 0);
    }
    if (server->server != NULL) {
        grpc_server_destroy(server->server);
    }
    close_queues(server);
    free_kept(server);
    ASSERT(pthread_cond_destroy(&server->changed) == 0);
    ASSERT(pthread_mutex_destroy(&server->lock) == 0);
    memory_free(server->threads);
    memory_free(server->slots);
    memory_free(server);
    grpc_shutdown();
}

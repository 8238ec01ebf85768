/* Opening and closing a client, and waiting for what it does. */
#include <stdlib.h>
#include <unistd.h>

#include "client/operations/admission.h"
#include "client/routing/addresses.h"
#include "client/routing/request.h"
#include "client/routing/route.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/entropy.h"
#include "common/io/transport/transport_address.h"

#define MASTERS_DEFAULT           "tcp://127.0.0.1:7400"
#define AGENT_DEFAULT             "libedubba/" EDUBBA_VERSION
#define DEADLINE_DEFAULT_MS       60000
#define IN_FLIGHT_DEFAULT         16384
#define IN_FLIGHT_BYTES_DEFAULT   (UINT64_C(256) << 20)
#define MESSAGES_PER_LANE_DEFAULT 4
#define MESSAGES_PER_LANE_MAX     1024
#define CONNECTIONS_MAX           1024
#define AGENT_BYTES_MAX           256 /* a handshake has room for some 4 000 */

static void on_settled(void *context)
{
    struct edubba_client *client = context;
    struct list_link dirty;
    list_move_all(&client->dirty_lanes, &dirty);
    for (struct list_link *at; (at = list_take_first(&dirty)) != NULL;) {
        lane_pump(LIST_ELEMENT(at, struct server_lane, dirty));
    }
    addresses_bound(client);
}

/* --- what is asked for ------------------------------------------------------------------------ */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == ',';
}

/* Refused before anything is dialled, wherever in the list it stands. */
static enum status check_address(const char *address, size_t size, struct edubba_error *error)
{
    struct error trouble = {0};
    char *copy = memory_copy_text(bytes_of(address, size));
    if (copy == NULL) {
        (void)client_no_memory(error);
        return STATUS_NO_MEMORY;
    }
    enum status status = transport_address_check_dial(copy, &trouble);
    if (status != STATUS_OK) {
        (void)client_error(error, status, "masters: %s", trouble.text);
    }
    memory_free(copy);
    return status;
}

/* Addresses separated by commas. */
static enum status read_masters(struct edubba_client *client, struct edubba_error *error)
{
    const char *at = client->masters_text;
    for (;;) {
        while (is_blank(*at)) {
            at++;
        }
        const char *end = at;
        while (*end != '\0' && !is_blank(*end)) {
            end++;
        }
        if (end == at) {
            break;
        }
        uint32_t number = 0;
        enum status status = check_address(at, (size_t)(end - at), error);
        if (status != STATUS_OK) {
            return status;
        }
        status = location_cache_intern(&client->locations, bytes_of(at, (size_t)(end - at)),
                                       &number);
        if (status != STATUS_OK) {
            (void)client_no_memory(error);
            return status;
        }
        if (number == EDUBBA_MASTERS_MAX) {
            (void)client_error(
                error, STATUS_INVALID_ARGUMENT,
                "masters: with %.*s there are more than the %d that are allowed: leave it "
                "out",
                (int)(end - at), at, EDUBBA_MASTERS_MAX);
            return STATUS_INVALID_ARGUMENT;
        }
        /* Numbers are given in order, and a name that stands twice has one: it counts once. */
        client->masters[number] = number;
        client->master_count = client->locations.address_count;
        at = end;
    }
    client->given_count = client->master_count;
    if (client->master_count == 0) {
        (void)client_error(error, STATUS_INVALID_ARGUMENT, "no address of a master in \"%s\"",
                           client->masters_text);
        return STATUS_INVALID_ARGUMENT;
    }
    return STATUS_OK;
}

static const char *masters_of(const struct edubba_options *options)
{
    const char *masters = options->masters;
    if (masters == NULL || masters[0] == '\0') {
        masters = getenv("EDUBBA_MASTERS");
    }
    return masters != NULL && masters[0] != '\0' ? masters : MASTERS_DEFAULT;
}

/* What the wire, or a product of two of them, has no room for. */
static enum status check_options(const struct edubba_client *client, struct edubba_error *error)
{
    size_t agent_bytes = strlen(client->agent);
    if (client->connections > CONNECTIONS_MAX) {
        (void)client_error(error, STATUS_INVALID_ARGUMENT, "%u connections: at most %d",
                           client->connections, CONNECTIONS_MAX);
        return STATUS_INVALID_ARGUMENT;
    }
    if (client->messages_per_lane > MESSAGES_PER_LANE_MAX) {
        (void)client_error(error, STATUS_INVALID_ARGUMENT, "%u messages per lane: at most %d",
                           client->messages_per_lane, MESSAGES_PER_LANE_MAX);
        return STATUS_INVALID_ARGUMENT;
    }
    if (agent_bytes > AGENT_BYTES_MAX) {
        (void)client_error(error, STATUS_INVALID_ARGUMENT, "agent of %zu bytes: at most %d",
                           agent_bytes, AGENT_BYTES_MAX);
        return STATUS_INVALID_ARGUMENT;
    }
    return STATUS_OK;
}

static enum status take_options(struct edubba_client *client,
                                const struct edubba_options *options,
                                struct edubba_error *error)
{
    const char *agent = options->agent != NULL ? options->agent : AGENT_DEFAULT;
    client->agent = memory_copy_text(bytes_of_text(agent));
    client->masters_text = memory_copy_text(bytes_of_text(masters_of(options)));
    client->unreachable_ms = options->unreachable_ms;
    client->on_trouble = options->on_trouble;
    client->trouble_context = options->trouble_context;
    client->deadline_ms = options->deadline_ms > 0 ? options->deadline_ms : DEADLINE_DEFAULT_MS;
    client->in_flight_max = options->in_flight_max > 0 ? options->in_flight_max : IN_FLIGHT_DEFAULT;
    client->in_flight_bytes_max = options->in_flight_bytes_max > 0 ? options->in_flight_bytes_max
                                                                   : IN_FLIGHT_BYTES_DEFAULT;
    client->messages_per_lane = options->messages_per_lane > 0 ? options->messages_per_lane
                                                               : MESSAGES_PER_LANE_DEFAULT;
    client->connections = options->connections > 0 ? options->connections : 1;
    if (client->agent == NULL || client->masters_text == NULL) {
        (void)client_no_memory(error);
        return STATUS_NO_MEMORY;
    }
    enum status status = check_options(client, error);
    return status == STATUS_OK ? read_masters(client, error) : status;
}

/* nng's threads are not in a child that fork() has made, and it ends the process that asks for them. */
static enum status check_process(struct edubba_error *error)
{
    static _Atomic pid_t first_process;
    pid_t nobody = 0;
    pid_t own = getpid();
    if (!atomic_compare_exchange_strong(&first_process, &nobody, own) && nobody != own) {
        (void)client_error(error, STATUS_FAILED_PRECONDITION,
                           "process %d was forked from one that had opened a client: fork first",
                           (int)own);
        return STATUS_FAILED_PRECONDITION;
    }
    return STATUS_OK;
}

/* Connections tell until they are closed, so the loop's inbox goes after them. */
static void client_stop(struct edubba_client *client)
{
    loop_stop(&client->loop);
    routes_destroy(client);
    lanes_destroy(client);
    loop_deinit(&client->loop);
}

static void client_free(struct edubba_client *client)
{
    location_cache_deinit(&client->locations);
    sequence_window_deinit(&client->identities);
    sequence_window_deinit(&client->tickets);
    pthread_cond_destroy(&client->room);
    pthread_mutex_destroy(&client->lock);
    memory_free(client->agent);
    memory_free(client->masters_text);
    memory_free(client);
}

static struct edubba_client *client_make(void)
{
    struct edubba_client *client = memory_allocate_zeroed(1, sizeof *client);
    if (client == NULL) {
        return NULL;
    }
    pthread_mutex_init(&client->lock, NULL);
    pthread_cond_init(&client->room, NULL);
    location_cache_init(&client->locations);
    sequence_window_init(&client->identities);
    sequence_window_init(&client->tickets);
    retry_budget_init(&client->budget, clock_monotonic_ns());
    list_init(&client->tables);
    list_init(&client->dirty_lanes);
    list_init(&client->routes);
    list_init(&client->requests);
    addresses_begin(client, clock_monotonic_ns());
    client->process = entropy_u64();
    client->prng = prng_of_seed(entropy_u64());
    /* Until a server has told its clock, ours has to do. */
    atomic_store(&client->server_clock_offset_us, clock_wall_us() - clock_monotonic_ns() / 1000);
    return client;
}

/* --- the first word with a master ------------------------------------------------------------- */

/* Server addresses, to be asked when no master answers. */
static void run_learn_servers(struct edubba_client *client, struct bytes body)
{
    struct servers_response response;
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    if (servers_response_decode(body, &arena, &response, NULL) == STATUS_OK) {
        for (size_t i = 0; i < response.server_count; i++) {
            uint32_t address = 0;
            if (response.servers[i].address.size_bytes > 0) {
                /* Without memory there is one fewer to ask. */
                (void)location_cache_intern(&client->locations, response.servers[i].address,
                                            &address);
            }
        }
    }
    arena_deinit(&arena);
}

struct learning {
    struct task task;
    struct buffer body;
};

static void run_learn(void *context, struct task *task)
{
    struct learning *learning = LIST_ELEMENT(task, struct learning, task);
    run_learn_servers(context, buffer_bytes(&learning->body));
    buffer_deinit(&learning->body);
    memory_free(learning);
}

/* A tablet server will do, too: tables that there are can be used without a master. */
static enum edubba_code reach_master(struct edubba_client *client, struct edubba_error *error)
{
    struct request_options options = {
        .method = METHOD_LIST_SERVERS,
        .address = REQUEST_TO_MASTER,
        .repeatable = true,
        .servers_will_do = true,
        .unreachable_ms = client->unreachable_ms,
    };
    struct buffer body = BUFFER_INIT;
    struct buffer answer = BUFFER_INIT;
    struct error trouble = {0};
    enum status status = request_call(client, &options, &body, &answer, &trouble);

    if (status == STATUS_DEADLINE_EXCEEDED || status == STATUS_UNAVAILABLE ||
        status == STATUS_CLOSED || status == STATUS_IO) {
        return client_error(error, STATUS_UNAVAILABLE, "no master answers at %s: %s",
                            client->masters_text, trouble.text);
    }
    if (status == STATUS_VERSION || status == STATUS_FAILED_PRECONDITION ||
        status == STATUS_NO_MEMORY || status == STATUS_INVALID_ARGUMENT) {
        return client_error_of(error, &trouble);
    }
    if (status != STATUS_OK) {
        return EDUBBA_OK; /* whatever it said, something of the cluster is there */
    }
    struct learning *learning = memory_allocate_zeroed(1, sizeof *learning);
    if (learning == NULL) {
        buffer_deinit(&answer);
        return client_no_memory(error);
    }
    learning->task.run = run_learn;
    learning->body = answer;
    loop_post(&client->loop, &learning->task);
    return EDUBBA_OK;
}

enum edubba_code client_open_unreached(const struct edubba_options *options,
                                       struct edubba_client **ret_client,
                                       struct edubba_error *error)
{
    static const struct edubba_options defaults = EDUBBA_OPTIONS_DEFAULT;
    enum status status = check_process(error);
    if (status != STATUS_OK) {
        return client_code(status);
    }
    struct edubba_client *client = client_make();
    if (client == NULL) {
        return client_no_memory(error);
    }
    status = take_options(client, options != NULL ? options : &defaults, error);
    if (status == STATUS_OK) {
        status = loop_start(&client->loop, client, on_settled);
        if (status != STATUS_OK) {
            (void)client_error(error, status, "cannot start a thread");
        }
    }
    if (status != STATUS_OK) {
        client_free(client);
        return client_code(status);
    }
    *ret_client = client;
    return client_success(error);
}

enum edubba_code edubba_client_open(const struct edubba_options *options,
                                    struct edubba_client **ret_client,
                                    struct edubba_error *error)
{
    struct edubba_client *client = NULL;
    enum edubba_code code = client_open_unreached(options, &client, error);
    if (code != EDUBBA_OK) {
        return code;
    }
    code = reach_master(client, error);
    if (code != EDUBBA_OK) {
        client_stop(client);
        client_free(client);
        return code;
    }
    *ret_client = client;
    return client_success(error);
}

void edubba_drain(struct edubba_client *client)
{
    admission_wait_for_all(client);
}

void edubba_client_close(struct edubba_client *client)
{
    if (client == NULL) {
        return;
    }
    admission_wait_for_all(client);
    client_stop(client);
    client_free(client);
}

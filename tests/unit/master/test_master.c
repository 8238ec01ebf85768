/* The master's shell in this process: real connections, real threads, a real folder. */
#include <criterion/criterion.h>

#include <stdatomic.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/transport/transport_budget.h"
#include "tests/support/blocking_client.h"
#include "tests/support/own_master.h"

#define SERVER_NUMBER 5

static pthread_t server;
static atomic_bool server_ends;

static void start(void)
{
    own_master_prepare();
    own_master_open();
}

static void stop(void)
{
    if (master != NULL) {
        own_master_close();
    }
    own_master_forget();
}

TestSuite(master, .init = start, .fini = stop, .timeout = 300);

/* --- a tablet server that creates what it is told to ------------------------------------------ */

static size_t obey(const struct sync_response *response, struct held_tablet *held, size_t count)
{
    for (size_t i = 0; i < response->tablet_count; i++) {
        const struct assigned_tablet *tablet = &response->tablets[i];
        if (tablet->location.state == TABLET_CREATING) {
            held[count++] = (struct held_tablet){
                .tablet = tablet->location.tablet, .store = tablet->store, .state = HELD_CREATED};
        }
    }
    return count;
}

static void *serve(void *context)
{
    static struct held_tablet held[4096];
    const struct store_information store = {
        .number = 50, .folder = bytes_of_text("d"), .free_bytes = UINT64_C(1) << 40};
    struct sync_request sync = {
        .server = {.number = SERVER_NUMBER,
                   .address = bytes_of_text("tcp://127.0.0.1:1"),
                   .incarnation = 1,
                   .stores = &store,
                   .store_count = 1},
        .full = true,
        .held = held,
    };
    struct blocking_client client;
    struct arena arena;
    (void)context;
    arena_init(&arena, 65536, SIZE_MAX);
    cr_assert_eq(blocking_open(&client, address), STATUS_OK);
    while (!atomic_load(&server_ends)) {
        struct buffer body = BUFFER_INIT;
        struct bytes answer;
        struct sync_response response;
        sync_request_encode(&sync, &body);
        if (blocking_call(&client, METHOD_SYNC, &body, 30000, &answer, NULL) != STATUS_OK) {
            break;
        }
        arena_reset(&arena);
        cr_assert_eq(sync_response_decode(answer, &arena, &response, NULL), STATUS_OK);
        sync.held_count = obey(&response, held, sync.held_count);
        sync.known_version = response.version;
        sync.known_generation = response.generation;
    }
    blocking_close(&client);
    arena_deinit(&arena);
    return NULL;
}

static void start_server(void)
{
    atomic_store(&server_ends, false);
    cr_assert_eq(pthread_create(&server, NULL, serve, NULL), 0);
    for (int i = 0; i < 6000; i++) { /* until it is known */
        struct blocking_client client;
        struct buffer body = BUFFER_INIT;
        struct bytes answer;
        struct servers_response servers;
        struct arena arena;
        arena_init(&arena, 4096, SIZE_MAX);
        cr_assert_eq(blocking_open(&client, address), STATUS_OK);
        cr_assert_eq(blocking_call(&client, METHOD_LIST_SERVERS, &body, 30000, &answer, NULL),
                     STATUS_OK);
        cr_assert_eq(servers_response_decode(answer, &arena, &servers, NULL), STATUS_OK);
        size_t count = servers.server_count;
        blocking_close(&client);
        arena_deinit(&arena);
        if (count > 0) {
            return;
        }
        clock_sleep_us(10000);
    }
    cr_assert(false, "the server never became known");
}

static void end_server(void)
{
    atomic_store(&server_ends, true);
    pthread_join(server, NULL);
}

static enum status create(struct blocking_client *client, const char *name, struct error *ret_error)
{
    struct family family = {.name = bytes_of_text("f")};
    struct buffer body = BUFFER_INIT;
    struct bytes answer;
    const struct create_table_request request = {
        .table = {.id = bytes_of_text(name), .families = &family, .family_count = 1}};
    create_table_request_encode(&request, &body);
    return blocking_call(client, METHOD_CREATE_TABLE, &body, 30000, &answer, ret_error);
}

/* --- tests ------------------------------------------------------------------------------------ */

#define CREATORS 3
#define TABLES   20

static void *create_many(void *context)
{
    struct blocking_client client;
    cr_assert_eq(blocking_open(&client, address), STATUS_OK);
    for (int i = 0; i < TABLES; i++) {
        char name[32];
        struct error error = {0};
        snprintf(name, sizeof name, "t-%d-%d", (int)(intptr_t)context, i);
        cr_assert_eq(create(&client, name, &error), STATUS_OK, "%s", error.text);
    }
    blocking_close(&client);
    return NULL;
}

Test(master, many_clients_create_and_a_restart_remembers)
{
    pthread_t creators[CREATORS];
    struct blocking_client client;
    struct buffer body = BUFFER_INIT;
    struct bytes answer;
    struct tables_response tables;
    struct arena arena;

    start_server();
    for (intptr_t i = 0; i < CREATORS; i++) {
        cr_assert_eq(pthread_create(&creators[i], NULL, create_many, (void *)i), 0);
    }
    for (size_t i = 0; i < CREATORS; i++) {
        pthread_join(creators[i], NULL);
    }
    end_server();
    own_master_close();
    own_master_open();
    arena_init(&arena, 4096, SIZE_MAX);
    cr_assert_eq(blocking_open(&client, address), STATUS_OK);
    cr_assert_eq(blocking_call(&client, METHOD_LIST_TABLES, &body, 30000, &answer, NULL),
                 STATUS_OK);
    cr_assert_eq(tables_response_decode(answer, &arena, &tables, NULL), STATUS_OK);
    cr_assert_eq(tables.table_count, CREATORS * TABLES);
    blocking_close(&client);
    arena_deinit(&arena);
}

static enum status by_name(struct blocking_client *client,
                           enum method method,
                           const char *name,
                           struct error *ret_error)
{
    const struct table_name_request request = {.name = bytes_of_text(name)};
    struct buffer body = BUFFER_INIT;
    struct bytes answer;
    table_name_request_encode(&request, &body);
    return blocking_call(client, method, &body, 30000, &answer, ret_error);
}

/* What is said in the end of a table of that name: a server that has been started comes when it comes. */
static enum status by_name_when_told(struct blocking_client *client, const char *name)
{
    struct error error = {0};
    enum status status = by_name(client, METHOD_GET_TABLE, name, &error);
    for (int i = 0; i < 6000 && status == STATUS_UNAVAILABLE; i++) {
        clock_sleep_us(10000);
        status = by_name(client, METHOD_GET_TABLE, name, &error);
    }
    return status;
}

/* Its catalog may be an old copy, which the first server that comes would say: until then nobody is told that there is no
 * such table, and nothing of it is changed.  Where no server comes, it goes on without. */
Test(master, who_begins_waits_for_a_server_before_it_says_that_a_table_is_not_there)
{
    struct blocking_client client;
    struct error error = {0};

    start_server();
    cr_assert_eq(blocking_open(&client, address), STATUS_OK);
    cr_assert_eq(by_name(&client, METHOD_GET_TABLE, "later", &error), STATUS_NOT_FOUND);
    cr_assert_eq(create(&client, "early", &error), STATUS_OK, "%s", error.text);
    blocking_close(&client);
    end_server();

    for (int has_server = 1; has_server >= 0; has_server--) {
        own_master_close();
        own_master_open();
        cr_assert_eq(blocking_open(&client, address), STATUS_OK);
        cr_assert_eq(by_name(&client, METHOD_GET_TABLE, "later", &error), STATUS_UNAVAILABLE);
        cr_assert_not_null(strstr(error.text, "no tablet server has told it"), "%s", error.text);
        cr_assert_eq(by_name(&client, METHOD_DELETE_TABLE, "early", &error), STATUS_UNAVAILABLE);
        cr_assert_eq(create(&client, "later", &error), STATUS_UNAVAILABLE);
        cr_assert_eq(by_name(&client, METHOD_GET_TABLE, "early", &error), STATUS_OK, "%s",
                     error.text);
        if (has_server) {
            start_server();
        }
        cr_assert_eq(by_name_when_told(&client, "later"), STATUS_NOT_FOUND);
        blocking_close(&client);
        if (has_server) {
            end_server();
        }
    }
}

/* A table whose description is long. */
static void create_wide(struct blocking_client *client, int number)
{
    static char names[LIMIT_FAMILIES_PER_TABLE][LIMIT_FAMILY_NAME_BYTES + 1];
    static struct family families[LIMIT_FAMILIES_PER_TABLE];
    char id[32];
    struct buffer body = BUFFER_INIT;
    struct bytes answer;
    struct error error = {0};
    for (int i = 0; i < LIMIT_FAMILIES_PER_TABLE; i++) {
        snprintf(names[i], sizeof names[i], "%0*d", LIMIT_FAMILY_NAME_BYTES, i);
        families[i] = (struct family){.name = bytes_of_text(names[i])};
    }
    snprintf(id, sizeof id, "wide-%d", number);
    const struct create_table_request request = {
        .table = {.id = bytes_of_text(id),
                  .families = families,
                  .family_count = LIMIT_FAMILIES_PER_TABLE}};
    create_table_request_encode(&request, &body);
    cr_assert_eq(blocking_call(client, METHOD_CREATE_TABLE, &body, 30000, &answer, &error),
                 STATUS_OK, "%s", error.text);
}

static enum status list_tables(struct blocking_client *client, struct error *ret_error)
{
    struct buffer body = BUFFER_INIT;
    struct bytes answer;
    return blocking_call(client, METHOD_LIST_TABLES, &body, 30000, &answer, ret_error);
}

/* Answers to others that nobody takes are charged here as the transport does it. */
Test(master, long_answers_wait_while_too_many_lie)
{
    const uint64_t lying_bytes = 3 << 20;
    struct blocking_client client;
    struct error error = {0};
    own_master_close();
    settings->answer_bytes_max = 2 << 20;
    own_master_open();
    start_server();
    cr_assert_eq(blocking_open(&client, address), STATUS_OK);
    create_wide(&client, 0);
    transport_budget_note_queued(0, lying_bytes);
    cr_assert_eq(list_tables(&client, &error), STATUS_OK, "short: %s", error.text);
    transport_budget_note_queued(lying_bytes, 0);

    for (int i = 1; i < 180; i++) { /* more than 1 MiB to tell */
        create_wide(&client, i);
    }
    transport_budget_note_queued(0, lying_bytes);
    cr_assert_eq(list_tables(&client, &error), STATUS_UNAVAILABLE);
    cr_assert_not_null(strstr(error.text, "retry"), "%s", error.text);
    transport_budget_note_queued(lying_bytes, 0);
    cr_assert_eq(list_tables(&client, &error), STATUS_OK, "%s", error.text);
    blocking_close(&client);
    end_server();
}

static void *close_it(void *context)
{
    clock_sleep_us(100000); /* the request is on its way by then */
    master_close(context);
    return NULL;
}

Test(master, stopping_answers_whoever_waits)
{
    struct blocking_client client;
    struct error error = {0};
    pthread_t closer;

    cr_assert_eq(blocking_open(&client, address), STATUS_OK);
    master_stop(master);
    pthread_join(loop, NULL);
    cr_assert_eq(pthread_create(&closer, NULL, close_it, master), 0);
    master = NULL;
    enum status status = create(&client, "t", &error);
    cr_assert(status == STATUS_UNAVAILABLE || status == STATUS_CLOSED, "%s", error.text);
    pthread_join(closer, NULL);
    blocking_close(&client);
}

Test(master, a_port_in_use_and_a_folder_in_use_are_named)
{
    struct master_settings other = *settings;
    struct master *second = NULL;
    struct error error = {0};
    cr_assert_eq(master_open(&other, &second, &error), STATUS_FAILED_PRECONDITION);
    cr_assert_not_null(strstr(error.text, "LOCK"), "%s", error.text);
    char sub[300];
    snprintf(sub, sizeof sub, "%s/other", folder);
    other.folder = sub;
    other.address = address;
    cr_assert_eq(master_open(&other, &second, &error), STATUS_FAILED_PRECONDITION);
    cr_assert_not_null(strstr(error.text, "in use"), "%s", error.text);
    cr_assert_null(second);
}

/* What the master says of the active one. */
static const char *told_active(void)
{
    static char active[256];
    struct blocking_client client;
    struct buffer body = BUFFER_INIT;
    struct bytes answer;
    struct master_response role;
    struct arena arena;
    char dialled[80];

    (void)snprintf(dialled, sizeof dialled, "tcp://127.0.0.1%s", strrchr(address, ':'));
    cr_assert_eq(blocking_open(&client, dialled), STATUS_OK);
    cr_assert_eq(blocking_call(&client, METHOD_MASTER, &body, 30000, &answer, NULL), STATUS_OK);
    arena_init(&arena, 512, SIZE_MAX);
    cr_assert_eq(master_response_decode(answer, &arena, &role, NULL), STATUS_OK);
    cr_assert_eq(role.state, MASTER_ACTIVE);
    (void)snprintf(active, sizeof active, "%.*s", (int)role.active.size_bytes,
                   (const char *)role.active.data);
    arena_deinit(&arena);
    blocking_close(&client);
    return active;
}

static void reopen_at(const char *listens, const char *advertise)
{
    own_master_close();
    settings->address = listens;
    settings->advertise = advertise;
    settings->insecure = true;
    own_master_open();
}

Test(master, an_address_that_nobody_can_dial_is_not_told)
{
    cr_assert_str_eq(told_active(), address);
    reopen_at("tcp://0.0.0.0:0", "");
    cr_assert_str_eq(told_active(), "");
    reopen_at("tcp://0.0.0.0:0", "tcp://master-1:7400");
    cr_assert_str_eq(told_active(), "tcp://master-1:7400");
}

Test(master, malformed_requests_are_answered)
{
    struct blocking_client client;
    struct buffer body = BUFFER_INIT;
    struct bytes answer;
    struct error error = {0};
    buffer_append(&body, "\x93\xc1", 2);
    cr_assert_eq(blocking_open(&client, address), STATUS_OK);
    cr_assert_eq(blocking_call(&client, METHOD_CREATE_TABLE, &body, 30000, &answer, &error),
                 STATUS_INVALID_ARGUMENT, "%s", error.text);
    cr_assert_eq(blocking_call(&client, METHOD_SCAN, &body, 30000, &answer, &error),
                 STATUS_UNIMPLEMENTED);
    blocking_close(&client);
}

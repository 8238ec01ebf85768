/*
 * libedubba against a fake cluster: what a caller may rely on, whatever servers do.
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/include/edubba_gather.h"
#include "client/include/edubba_keys.h"
#include "tests/support/client_session.h"

#define ATTEMPTS 4

/* --- opening ---------------------------------------------------------------------------------- */

Test(client, without_a_master_opening_names_the_addresses)
{
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    struct edubba_client *client;
    struct edubba_error error;
    options.masters = "tcp://127.0.0.1:1, tcp://127.0.0.1:2";
    options.deadline_ms = 300;
    int64_t began_ns = clock_monotonic_ns();
    cr_assert_eq(edubba_client_open(&options, &client, &error), EDUBBA_UNAVAILABLE);
    int64_t took_ms = (clock_monotonic_ns() - began_ns) / 1000000;
    cr_assert(took_ms >= 250 && took_ms < 30000, "%ld", (long)took_ms);
    cr_assert_not_null(strstr(error.text, "127.0.0.1:1"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "127.0.0.1:2"), "%s", error.text);
}

/* How long it took. */
static int64_t open_in_vain(const char *masters, uint32_t unreachable_ms, uint32_t deadline_ms)
{
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    struct edubba_client *client;
    struct edubba_error error;
    options.masters = masters;
    options.deadline_ms = deadline_ms;
    options.unreachable_ms = unreachable_ms;
    int64_t began_ns = clock_monotonic_ns();
    cr_assert_eq(edubba_client_open(&options, &client, &error), EDUBBA_UNAVAILABLE, "%s",
                 error.text);
    cr_assert_not_null(strstr(error.text, "no master answers"), "%s", error.text);
    return (clock_monotonic_ns() - began_ns) / 1000000;
}

Test(client, masters_that_do_not_listen_are_given_up_early)
{
    int64_t took_ms = INT64_MAX;
    /* A machine that stands still for two seconds makes a master that does not listen one that says nothing. */
    for (int attempt = 0; attempt < ATTEMPTS && took_ms >= 30000; attempt++) {
        took_ms = open_in_vain("tcp://127.0.0.1:1,tcp://127.0.0.1:2", 300, 60000);
        cr_assert_geq(took_ms, 300);
    }
    cr_assert_lt(took_ms, 30000);
    took_ms = open_in_vain("tcp://127.0.0.1:1", 60000, 300);
    cr_assert(took_ms >= 250 && took_ms < 30000, "%ld", (long)took_ms);
}

/* One that takes connections and says nothing may yet come to itself. */
Test(client, a_master_that_listens_is_waited_for)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    char masters[64];
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(listening, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(getsockname(listening, (struct sockaddr *)&address, &size), 0);
    cr_assert_eq(listen(listening, 16), 0);
    (void)snprintf(masters, sizeof masters, "tcp://127.0.0.1:1,tcp://127.0.0.1:%d",
                   ntohs(address.sin_port));
    /* That it listens is found out by then, also where the machine is busy. */
    int64_t took_ms = open_in_vain(masters, 4000, 6000);
    cr_assert(took_ms >= 5900, "%ld", (long)took_ms);
    (void)close(listening);
}

Test(client, a_bad_address_is_told_at_once)
{
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    struct edubba_client *client;
    struct edubba_error error;
    options.masters = "carrier-pigeon";
    cr_assert_eq(edubba_client_open(&options, &client, &error), EDUBBA_INVALID_ARGUMENT, "%s",
                 error.text);
    options.masters = " , ";
    cr_assert_eq(edubba_client_open(&options, &client, &error), EDUBBA_INVALID_ARGUMENT);
}

Test(client, where_no_masters_are_named_the_environment_names_them)
{
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    struct edubba_client *client;
    struct edubba_error error;
    static const char *const nothing[] = {NULL, ""};
    (void)setenv("EDUBBA_MASTERS", "homing-pigeon", 1);
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        options.masters = nothing[i];
        options.deadline_ms = 1000; /* of the default, where it is taken */
        cr_assert_eq(edubba_client_open(&options, &client, &error), EDUBBA_INVALID_ARGUMENT);
        cr_assert_not_null(strstr(error.text, "homing-pigeon"), "%s", error.text);
    }
}

/* The agent travels in the handshake, which has room for so much. */
Test(client, what_is_above_a_limit_of_the_options_is_told_at_once)
{
    struct fake_cluster *fake = fake_cluster_start();
    const struct edubba_options defaults = default_options(fake);
    struct edubba_options options = defaults;
    struct edubba_client *client;
    struct edubba_error error;
    char agent[5001];
    memset(agent, 'a', sizeof agent);
    agent[5000] = '\0';
    options.agent = agent;
    cr_assert_eq(edubba_client_open(&options, &client, &error), EDUBBA_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text, "agent of 5000 bytes: at most 256");
    agent[256] = '\0';
    cr_assert_eq(edubba_client_open(&options, &client, &error), EDUBBA_OK, "%s", error.text);
    edubba_client_close(client);
    options = defaults;
    options.messages_per_lane = UINT32_C(1) << 30;
    cr_assert_eq(edubba_client_open(&options, &client, &error), EDUBBA_INVALID_ARGUMENT);
    options.messages_per_lane = 1024;
    options.connections = 1025;
    cr_assert_eq(edubba_client_open(&options, &client, &error), EDUBBA_INVALID_ARGUMENT);
    options.connections = 1024;
    cr_assert_eq(edubba_client_open(&options, &client, &error), EDUBBA_OK, "%s", error.text);
    edubba_client_close(client);
    fake_cluster_stop(fake);
}

Test(client, a_child_of_a_process_that_has_opened_one_is_told_that_it_cannot)
{
    struct session session = open_session();
    pid_t child = fork();
    if (child == 0) {
        struct edubba_options options = default_options(session.fake);
        struct edubba_client *client;
        _exit(edubba_client_open(&options, &client, NULL));
    }
    int ended = 0;
    cr_assert_eq(waitpid(child, &ended, 0), child);
    cr_assert(WIFEXITED(ended), "%x", (unsigned)ended);
    cr_assert_eq(WEXITSTATUS(ended), EDUBBA_FAILED_PRECONDITION);
    close_session(&session);
}

/* Nothing listens at any of them. */
static enum edubba_code open_many(int count, const char *more, struct edubba_error *error)
{
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    struct edubba_client *client;
    char masters[1024];
    int used = 0;
    for (int i = 1; i <= count; i++) {
        used += snprintf(masters + used, sizeof masters - (size_t)used, "tcp://127.0.0.1:%d,", i);
    }
    (void)snprintf(masters + used, sizeof masters - (size_t)used, "%s", more);
    options.masters = masters;
    options.deadline_ms = 300;
    return edubba_client_open(&options, &client, error);
}

Test(client, sixteen_different_addresses_are_taken_and_the_seventeenth_is_named)
{
    struct edubba_error error;
    cr_assert_eq(open_many(16, "tcp://127.0.0.1:3,tcp://127.0.0.1:16", &error), EDUBBA_UNAVAILABLE,
                 "what stands twice counts once: %s", error.text);
    cr_assert_eq(open_many(17, "tcp://127.0.0.1:18", &error), EDUBBA_INVALID_ARGUMENT);
    cr_assert_str_eq(error.text,
                     "masters: with tcp://127.0.0.1:17 there are more than the 16 that are "
                     "allowed: leave it out");
}

Test(client, the_master_that_answers_is_found)
{
    struct fake_cluster *fake = fake_cluster_start();
    struct edubba_options options = default_options(fake);
    char masters[128];
    (void)snprintf(masters, sizeof masters, "tcp://127.0.0.1:1,%s", fake->servers[0].address);
    options.masters = masters;
    struct session session = open_with(fake, &options);
    close_session(&session);
}

Test(client, an_unknown_table_is_not_found)
{
    struct session session = open_session();
    struct edubba_error error;
    struct edubba_table *table;
    cr_assert_eq(edubba_table_open(session.client, "U", &table, &error), EDUBBA_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "not found"));
    close_session(&session);
}

/* --- single operations ------------------------------------------------------------------------ */

Test(client, operations_of_every_kind)
{
    struct session session = open_session();
    struct edubba_error error;
    struct edubba_row *row = NULL;
    bool matched = false;
    cr_assert_eq(sum_of(&session, 1), 0);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK);
    cr_assert_eq(sum_of(&session, 1), 2);
    struct edubba_rmw_rule rule = {.kind = EDUBBA_INCREMENT,
                                   .family = EDUBBA_TEXT("sum"),
                                   .qualifier = EDUBBA_TEXT("n"),
                                   .increment = 5};
    cr_assert_eq(edubba_read_modify_write_row(session.table, row_key(1), &rule, 1, &row, &error),
                 EDUBBA_OK);
    cr_assert_eq(row->cell_count, 1);
    cr_assert_eq(row->key.size, 8);
    edubba_row_free(row);
    struct edubba_mutation set = edubba_add_int64("sum", EDUBBA_TEXT("n"), 0, 10);
    cr_assert_eq(edubba_check_and_mutate_row(session.table, row_key(1), NULL, &set, 1, NULL, 0,
                                             &matched, &error),
                 EDUBBA_OK);
    cr_assert(matched);
    cr_assert_eq(sum_of(&session, 1), 17);
    close_session(&session);
}

Test(client, bad_arguments_are_refused_before_anything_is_sent)
{
    struct session session = open_session();
    struct edubba_error error;
    static char long_key[EDUBBA_KEY_SIZE_MAX + 1];
    struct edubba_mutation one = edubba_add_int64("sum", EDUBBA_TEXT("n"), 0, 1);
    memset(long_key, 'k', sizeof long_key);
    cr_assert_eq(edubba_mutate_row(session.table, EDUBBA_NOTHING, &one, 1, &error),
                 EDUBBA_INVALID_ARGUMENT);
    cr_assert_eq(edubba_mutate_row(session.table, edubba_bytes_of(long_key, sizeof long_key), &one,
                                   1, &error),
                 EDUBBA_INVALID_ARGUMENT);
    cr_assert_eq(edubba_mutate_row(session.table, row_key(1), NULL, 100001, &error),
                 EDUBBA_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "100000"), "%s", error.text);
    one.kind = (enum edubba_mutation_kind)77;
    cr_assert_eq(edubba_mutate_row(session.table, row_key(1), &one, 1, &error),
                 EDUBBA_INVALID_ARGUMENT);
    const struct edubba_operation operation = {.kind = EDUBBA_OPERATION_READ, .row = row_key(1)};
    cr_assert_eq(edubba_submit(session.table, &operation, NULL, NULL, &error),
                 EDUBBA_INVALID_ARGUMENT);
    const struct edubba_entry entry = {row_key(1), &one, 1};
    cr_assert_eq(edubba_submit_rows(session.table, &entry, 1, 0, NULL, NULL, &error),
                 EDUBBA_INVALID_ARGUMENT);
    cr_assert_eq(GET(session, messages), 0);
    close_session(&session);
}

Test(client, many_rows_each_have_their_own_outcome)
{
    struct session session = open_session();
    enum {
        COUNT = 3000
    };
    static struct edubba_entry entries[COUNT];
    static struct edubba_error errors[COUNT];
    static char keys[COUNT][FAKE_KEY_MAX];
    struct edubba_mutation one = edubba_add_int64("sum", EDUBBA_TEXT("n"), 0, 1);
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "row%05d", i);
        entries[i] = (struct edubba_entry){EDUBBA_TEXT(keys[i]), &one, 1};
    }
    entries[17].row = EDUBBA_NOTHING;
    cr_assert_eq(edubba_mutate_rows(session.table, entries, COUNT, errors),
                 EDUBBA_INVALID_ARGUMENT);
    for (int i = 0; i < COUNT; i++) {
        cr_assert_eq(errors[i].code, i == 17 ? EDUBBA_INVALID_ARGUMENT : EDUBBA_OK);
    }
    cr_assert_eq(session.fake->applied, COUNT - 1);
    cr_assert_lt(session.fake->messages, 200);
    static struct edubba_mutation many[60000];
    struct edubba_entry two[2] = {{row_key(1), many, 60000}, {row_key(1), many, 60000}};
    cr_assert_eq(edubba_mutate_rows(session.table, two, 2, errors), EDUBBA_INVALID_ARGUMENT);
    cr_assert_eq(errors[1].code, EDUBBA_INVALID_ARGUMENT);
    close_session(&session);
}

Test(client, an_operation_may_be_larger_than_a_frame_and_than_a_batch)
{
    struct session session = open_session();
    struct edubba_error error;
    size_t size = 5 << 20;
    char *value = memory_allocate(size);
    memset(value, 'v', size);
    struct edubba_mutation large = edubba_set_cell("cf", EDUBBA_TEXT("q"), 0,
                                                   edubba_bytes_of(value, size));
    struct edubba_operation operation = {.kind = EDUBBA_OPERATION_MUTATE,
                                         .row = row_key(1),
                                         .mutations = &large,
                                         .mutation_count = 1};
    for (int i = 0; i < 8; i++) {
        submit_add(&session, i, 1, &outcomes[2 * i]);
        cr_assert_eq(
            edubba_submit(session.table, &operation, on_done, &outcomes[2 * i + 1], &error),
            EDUBBA_OK);
    }
    edubba_drain(session.client);
    for (int i = 0; i < 16; i++) {
        cr_assert_eq(outcomes[i].code, EDUBBA_OK, "%s", outcomes[i].text);
        cr_assert_eq(outcomes[i].completions, 1);
    }
    memory_free(value);
    close_session(&session);
}

/* --- gathering -------------------------------------------------------------------------------- */

Test(client, what_a_thread_gathers_goes_when_it_says_so)
{
    struct session session = open_session();
    struct outcome outcomes[20] = {0};
    cr_assert_eq(sum_of(&session, 1), 0);
    uint64_t before = GET(session, messages);
    edubba_thread_gathers(true);
    for (int i = 0; i < 20; i++) {
        submit_add(&session, 1, 1, &outcomes[i]);
    }
    edubba_client_go(session.client);
    edubba_client_go(session.client); /* nothing is left */
    edubba_drain(session.client);
    cr_assert_lt(GET(session, messages) - before, 10); /* they went together */
    submit_add(&session, 1, 1, &outcomes[0]);
    (void)sum_of(&session, 2); /* what blocks goes by itself, and takes along */
    submit_add(&session, 1, 1, &outcomes[1]);
    edubba_drain(session.client); /* and so does waiting for all */
    edubba_thread_gathers(false);
    cr_assert_eq(sum_of(&session, 1), 22);
    close_session(&session);
}

Test(client, what_a_thread_gathers_does_not_keep_itself_from_having_room)
{
    struct fake_cluster *fake = fake_cluster_start();
    struct edubba_options options = default_options(fake);
    options.in_flight_max = 4;
    struct session session = open_with(fake, &options);
    struct outcome outcomes[30] = {0};
    edubba_thread_gathers(true);
    for (int i = 0; i < 30; i++) {
        submit_add(&session, 1, 1, &outcomes[i]);
    }
    edubba_drain(session.client);
    cr_assert_eq(GET(session, applied), 30);
    close_session(&session);
}

/* --- blocking --------------------------------------------------------------------------------- */

static atomic_int code_in_completion;

static void block_in_completion(void *context, const struct edubba_result *result)
{
    struct session *session = context;
    struct edubba_error error;
    (void)result;
    atomic_store(&code_in_completion, (int)add(session, 2, &error));
}

Test(client, a_blocking_call_in_a_completion_is_refused)
{
    struct session session = open_session();
    struct edubba_error error;
    struct edubba_operation read = {.kind = EDUBBA_OPERATION_READ, .row = row_key(1)};
    cr_assert_eq(edubba_submit(session.table, &read, block_in_completion, &session, &error),
                 EDUBBA_OK);
    edubba_drain(session.client);
    cr_assert_eq(atomic_load(&code_in_completion), EDUBBA_FAILED_PRECONDITION);
    close_session(&session);
}

Test(client, every_address_of_a_master_is_looked_at)
{
    static const char *const bad[] = {"bogus,tcp://127.0.0.1:1", "tcp://127.0.0.1:1,bogus",
                                      "tcp://127.0.0.1:1, bogus ,tcp://127.0.0.1:2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
        struct edubba_client *client = NULL;
        struct edubba_error error;
        options.masters = bad[i];
        cr_assert_eq(edubba_client_open(&options, &client, &error), EDUBBA_INVALID_ARGUMENT);
        cr_assert_str_eq(error.text, "masters: address bogus: must begin with tcp:// or ipc://");
    }
}

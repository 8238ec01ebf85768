/*
 * The master's shell on a real etcd, started here: reigns that end, and those that follow.  Where etcd is not
 * installed these tests are skipped.
 */
#include <criterion/criterion.h>

#include "tests/support/blocking_client.h"
#include "tests/support/own_master.h"
#include "tests/support/real_etcd.h"

static void start(void)
{
    if (!etcd_is_installed()) {
        cr_skip_test("etcd is not installed (deploy/packages test)");
    }
    etcd_start();
    own_master_prepare();
    settings->on_etcd = true;
    settings->etcd.endpoints = etcd_endpoint;
    own_master_open();
}

static void stop(void)
{
    if (master != NULL) {
        own_master_close();
        etcd_stop();
        own_master_forget();
    }
}

TestSuite(master_on_etcd, .init = start, .fini = stop, .timeout = 300);

/* --- helpers ------------------------------------------------------------------------------------ */

static enum status ask(enum method method, struct buffer *body, struct master_response *ret_role)
{
    struct blocking_client client;
    struct bytes answer;
    struct arena arena;
    cr_assert_eq(blocking_open(&client, address), STATUS_OK);
    enum status status = blocking_call(&client, method, body, 10000, &answer, NULL);
    if (status == STATUS_OK && ret_role != NULL) {
        arena_init(&arena, 4096, SIZE_MAX);
        cr_assert_eq(master_response_decode(answer, &arena, ret_role, NULL), STATUS_OK);
        arena_deinit(&arena);
    }
    blocking_close(&client);
    return status;
}

/* The reign in which it is the active master, waited for; 0 = it does not become so. */
static uint64_t active_reign(uint64_t other_than)
{
    for (int i = 0; i < 600; i++) {
        struct master_response role = {0};
        struct buffer body = BUFFER_INIT;
        if (ask(METHOD_MASTER, &body, &role) == STATUS_OK && role.state == MASTER_ACTIVE &&
            role.reign != other_than) {
            return role.reign;
        }
        clock_sleep_us(50000);
    }
    return 0;
}

static enum status put_document(void)
{
    struct buffer body = BUFFER_INIT;
    const struct document document = {.name = bytes_of_text("n"), .content = bytes_of_text("c")};
    const struct put_documents_request put = {.documents = &document, .document_count = 1};
    put_documents_request_encode(&put, &body);
    return ask(METHOD_PUT_DOCUMENTS, &body, NULL);
}

static void change_mark_by_hand(void)
{
    struct etcd_keys keys;
    struct etcd_client *client = NULL;
    struct buffer question = BUFFER_INIT;
    struct buffer answer = BUFFER_INIT;
    bool in_doubt = false;
    const struct etcd_patience patience = {.attempt_ms = 2000, .total_ms = 10000};
    cr_assert_eq(etcd_keys_make(etcd_settings.prefix, 1, &keys, NULL), STATUS_OK);
    const struct etcd_operation put = {.type = ETCD_PUT,
                                       .span.key = bytes_of_text(keys.mark),
                                       .value = bytes_of_text("1 1 1 0 0 0")};
    etcd_transaction_encode(&(struct etcd_transaction){.then = &put, .then_count = 1}, &question);
    cr_assert_eq(etcd_client_open(&etcd_settings, &client, NULL), STATUS_OK);
    cr_assert_eq(
        etcd_client_ask(client, "/v3/kv/txn", &question, &patience, &answer, &in_doubt, NULL),
        STATUS_OK);
    etcd_client_close(client);
    buffer_deinit(&question);
    buffer_deinit(&answer);
}

/* --- tests -------------------------------------------------------------------------------------- */

/* Its first reign has the number of the first thing that is written to an etcd; so has the first one in an etcd
 * that has lost its data. */
Test(master_on_etcd, a_reign_with_the_number_of_one_that_was_given_up_is_led)
{
    uint64_t first = active_reign(0);
    cr_assert_neq(first, 0);
    change_mark_by_hand();
    cr_assert_eq(put_document(), STATUS_CLOSED, "it may have been made");
    cr_assert_gt(active_reign(first), first, "it gives its reign up, and leads anew");
    etcd_restart_empty();
    clock_sleep_us(3000000); /* its lease is over: what is left of the reign before, too */
    cr_assert_eq(active_reign(0), first, "the number is the same again, and it leads");
    cr_assert_eq(put_document(), STATUS_OK);
}

/* Takes connections and says nothing, as if it were gone; *ret_port is where. */
static int open_silent_member(unsigned *ret_port)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof own;
    int silent = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    cr_assert_eq(bind(silent, (const struct sockaddr *)&own, sizeof own), 0);
    cr_assert_eq(listen(silent, 64), 0);
    cr_assert_eq(getsockname(silent, (struct sockaddr *)&own, &size), 0);
    *ret_port = ntohs(own.sin_port);
    return silent;
}

/* A machine that is lost takes a member of etcd with it: who takes over knows that by then, and need not find it out
 * again on the way to the catalog, which takes seconds. */
Test(master_on_etcd, a_reign_begins_at_the_member_that_has_answered)
{
    static char endpoints[160];
    unsigned port = 0;
    int asked[64];
    size_t count = 0;
    int silent = open_silent_member(&port);
    own_master_close();
    snprintf(endpoints, sizeof endpoints, "http://127.0.0.1:%u,%s", port, etcd_endpoint);
    settings->etcd.endpoints = endpoints;
    own_master_open();
    cr_assert_neq(active_reign(0), 0);
    while (count < 64 && (asked[count] = accept(silent, NULL, NULL)) >= 0) {
        count++;
    }
    cr_assert_eq(count, 1, "it was asked who leads, and then no more: not %zu times", count);
    cr_assert_eq(put_document(), STATUS_OK);
    close(asked[0]);
    close(silent);
}

/* One heartbeat of a server. */
static void sync_once(void)
{
    const struct store_information store = {
        .number = 50, .folder = bytes_of_text("d"), .free_bytes = UINT64_C(1) << 40};
    const struct sync_request sync = {
        .server = {.number = 5,
                   .address = bytes_of_text("tcp://127.0.0.1:1"),
                   .incarnation = 1,
                   .stores = &store,
                   .store_count = 1},
        .full = true,
    };
    struct buffer body = BUFFER_INIT;
    sync_request_encode(&sync, &body);
    cr_assert_eq(ask(METHOD_SYNC, &body, NULL), STATUS_OK);
}

static bool server_is_alive(void)
{
    struct blocking_client client;
    struct buffer body = BUFFER_INIT;
    struct servers_response servers = {0};
    struct bytes answer;
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    cr_assert_eq(blocking_open(&client, address), STATUS_OK);
    cr_assert_eq(blocking_call(&client, METHOD_LIST_SERVERS, &body, 30000, &answer, NULL),
                 STATUS_OK);
    cr_assert_eq(servers_response_decode(answer, &arena, &servers, NULL), STATUS_OK);
    bool alive = servers.server_count == 1 && servers.servers[0].alive;
    blocking_close(&client);
    arena_deinit(&arena);
    return alive;
}

/* Servers that were refused while nobody led would be silent for too long, all of them; and where it was for longer than
 * replace_after, what they have would be given to the first one to come. */
Test(master_on_etcd, who_was_refused_while_nobody_led_was_not_silent)
{
    own_master_close();
    settings->catalog.server_timeout_ns = INT64_C(8000000000);
    own_master_open();
    uint64_t reign = active_reign(0);
    cr_assert_neq(reign, 0);
    sync_once();
    cr_assert(server_is_alive());
    etcd_kill();
    clock_sleep_us(12000000);
    etcd_start_again(); /* it gives every lease its whole time again */
    cr_assert_eq(active_reign(0), reign, "it goes on where it was");
    cr_assert(server_is_alive());
}

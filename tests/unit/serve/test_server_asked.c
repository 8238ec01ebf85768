/*
 * The tablet server as its clients and its master see it: all of it but the daemon's main().
 */
#include "tabletserver/storage/store/store_held.h"
#include "tests/support/server_steps.h"

/* What clients ask when no master answers. */

static struct response_head ask(struct client *client,
                                enum method method,
                                const struct buffer *body,
                                struct bytes *ret_body)
{
    struct buffer message = BUFFER_INIT;
    struct bytes answer = BYTES_EMPTY;
    request_head_encode(&(struct request_head){.deadline_ms = 0}, &message);
    buffer_append_bytes(&message, buffer_bytes(body));
    uint64_t request = client_send(client, method, &message);
    WAIT_FOR(client_has_ended(client, request));
    struct bytes messages = buffer_bytes(&client_answer(client, request)->messages);
    cr_assert(next_message(&messages, &answer));
    return message_head(answer, ret_body);
}

/* The status; *ret_response where it is OK, ret_text else. */
static enum status locate(struct client *client,
                          const struct locate_request *wanted,
                          struct locate_response *ret_response,
                          char ret_text[256])
{
    struct buffer body = BUFFER_INIT;
    struct bytes answer;
    locate_request_encode(wanted, &body);
    struct response_head head = ask(client, METHOD_LOCATE, &body, &answer);
    buffer_deinit(&body);
    (void)snprintf(ret_text, 256, "%.*s", (int)head.text.size_bytes, (const char *)head.text.data);
    if (head.status == STATUS_OK) {
        cr_assert_eq(locate_response_decode(answer, &client->arena, ret_response, NULL), STATUS_OK);
    }
    return (enum status)head.status;
}

Test(server_asked, tables_are_found_by_name)
{
    struct locate_request by_name = {.name = bytes_of_text("t")};
    struct locate_request unknown = {.name = bytes_of_text("nowhere")};
    struct locate_request number = {.table = 99};
    struct locate_response response;
    char text[256];
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    cr_assert_eq(locate(client, &by_name, &response, text), STATUS_OK, "%s", text);
    cr_assert_eq(response.table.number, FIXTURE_TABLE);
    cr_assert_eq(response.location_count, 1);
    cr_assert_eq(response.locations[0].tablet, 10);
    /* What is not known here may exist: it is never denied. */
    cr_assert_eq(locate(client, &unknown, &response, text), STATUS_UNAVAILABLE);
    cr_assert_not_null(strstr(text, "table 'nowhere'"), "%s", text);
    cr_assert_not_null(strstr(text, fixture.script.address), "%s", text);
    cr_assert_eq(locate(client, &number, &response, text), STATUS_UNAVAILABLE);
    cr_assert_not_null(strstr(text, "table number 99"), "%s", text);

    /* After a restart without a master: what is served here. */
    client_stop(client);
    fixture_close(&fixture);
    pthread_mutex_lock(&fixture.script.lock);
    fixture.script.silent = true;
    pthread_mutex_unlock(&fixture.script.lock);
    fixture_open(&fixture);
    client = client_start(fixture.server->address, 5);
    cr_assert_eq(locate(client, &by_name, &response, text), STATUS_OK, "%s", text);
    cr_assert_eq(response.location_count, 1);
    cr_assert_eq(response.locations[0].tablet, 10);
    cr_assert(bytes_equal(response.locations[0].address, bytes_of_text(fixture.server->address)));
    client_stop(client);
    fixture_deinit(&fixture);
}

Test(server_asked, schemas_are_told_and_what_only_a_master_does_names_it)
{
    struct table_name_request by_name = {.name = bytes_of_text("t")};
    struct table_response response;
    struct buffer body = BUFFER_INIT;
    struct buffer none = BUFFER_INIT;
    struct bytes answer;
    char text[256];
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    table_name_request_encode(&by_name, &body);
    cr_assert_eq(ask(client, METHOD_GET_TABLE, &body, &answer).status, STATUS_OK);
    cr_assert_eq(table_response_decode(answer, &client->arena, &response, NULL), STATUS_OK);
    cr_assert_eq(response.table.family_count, 2);
    cr_assert_eq(response.tablet_count, 1);
    static const struct {
        enum method method;
        const char *name;
    } masters[] = {
        {METHOD_CREATE_TABLE, "CREATE_TABLE"},
        {METHOD_DELETE_TABLE, "DELETE_TABLE"},
        {METHOD_ALTER_TABLE, "ALTER_TABLE"},
        {METHOD_LIST_TABLES, "LIST_TABLES"},
        {METHOD_SPLIT_TABLET, "SPLIT_TABLET"},
        {METHOD_LIST_SERVERS, "LIST_SERVERS"},
        {METHOD_PUT_DOCUMENTS, "PUT_DOCUMENTS"},
        {METHOD_LIST_DOCUMENTS, "LIST_DOCUMENTS"},
        {METHOD_LIST_HOT_TABLETS, "LIST_HOT_TABLETS"},
        {METHOD_DRAIN_SERVER, "DRAIN_SERVER"},
        {METHOD_MERGE_TABLETS, "MERGE_TABLETS"},
        {METHOD_MASTER, "MASTER"},
        {METHOD_RECOVER, "RECOVER"},
        {METHOD_LIST_HOT_KEYS, "LIST_HOT_KEYS"},
        {METHOD_ADVISE, "ADVISE"},
        {METHOD_SYNC, "SYNC"},
        {METHOD_PROPOSE, "PROPOSE"},
        {METHOD_LIST_EVENTS, "LIST_EVENTS"},
        {METHOD_LIST_HEAT, "LIST_HEAT"},
    };
    for (size_t i = 0; i < sizeof masters / sizeof *masters; i++) {
        struct response_head head = ask(client, masters[i].method, &none, &answer);
        cr_assert_eq(head.status, STATUS_UNIMPLEMENTED);
        (void)snprintf(text, sizeof text,
                       "a tablet server does not answer %s; ask the master at %s", masters[i].name,
                       fixture.script.address);
        cr_assert(bytes_equal(head.text, bytes_of_text(text)), "%.*s", (int)head.text.size_bytes,
                  (const char *)head.text.data);
    }
    buffer_deinit(&body);
    client_stop(client);
    fixture_deinit(&fixture);
}

/* A copy that ends. */
static char *status_of(struct client *client, const char *request)
{
    struct buffer body = BUFFER_INIT;
    struct bytes answer;
    buffer_append_bytes(&body, bytes_of_text(request));
    struct response_head head = ask(client, METHOD_STATUS, &body, &answer);
    cr_assert_eq(head.status, STATUS_OK);
    buffer_deinit(&body);
    char *text = strndup((const char *)answer.data + 3,
                         answer.size_bytes - 3); /* behind its length */
    cr_assert_not_null(text);
    return text;
}

/* As `ebt --escaped` takes it. */
Test(server_asked, the_row_that_holds_up_a_flush_is_told_whole)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    struct store *store = store_loop_store(fixture.server->loops[0]);
    struct store_tablet *tablet = store_tablet_at(store, 0);
    char row[300];
    char wanted[400];
    memset(row, 'k', sizeof row);
    memcpy(row, "a\0b\\\xff", 5);
    store_held_note(tablet, bytes_of(row, sizeof row));
    char *brief = status_of(client, "\x91\xc3");
    (void)snprintf(wanted, sizeof wanted, "\"row\":\"a\\\\x00b\\\\\\\\\\\\xff%.*s\"}]",
                   (int)sizeof row - 5, row + 5);
    cr_assert_not_null(strstr(brief, wanted), "%s", brief);
    free(brief);
    client_stop(client);
    fixture_deinit(&fixture);
}

Test(server_asked, the_status_is_told_with_tablets_or_without)
{
    start_with_one_tablet();
    struct client *client = client_start(fixture.server->address, 5);
    char *all = status_of(client, "");
    char *brief = status_of(client, "\x91\xc3");
    cr_assert_not_null(strstr(all, "\"tablets\":["), "%s", all);
    cr_assert_not_null(strstr(all, "\"tablets_held\":0"), "%s", all);
    cr_assert_null(strstr(brief, "\"tablets\":["), "%s", brief);
    cr_assert_not_null(strstr(brief, "\"tablets_held\":0"), "%s", brief);
    cr_assert_not_null(strstr(brief, "\"held\":[]"), "%s", brief);
    cr_assert_str_eq(brief + strlen(brief) - 2, "]}");
    free(all);
    free(brief);
    client_stop(client);
    fixture_deinit(&fixture);
}

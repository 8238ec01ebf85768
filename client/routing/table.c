#include "client/routing/table.h"

#include "client/routing/route.h"
#include "common/base/memory.h"

#define ARENA_BLOCK_BYTES 8192

enum status table_locate(struct edubba_client *client,
                         const struct locate_request *locate,
                         uint32_t deadline_ms,
                         struct arena *arena,
                         struct buffer *ret_answer,
                         struct locate_response *ret_response,
                         struct error *ret_error)
{
    struct request_options options = {
        .method = METHOD_LOCATE,
        .address = REQUEST_TO_MASTER,
        .repeatable = true,
        .servers_may_answer = true,
        .deadline_ms = deadline_ms,
    };
    struct buffer body = BUFFER_INIT;
    locate_request_encode(locate, &body);
    enum status status = request_call(client, &options, &body, ret_answer, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    status = locate_response_decode(buffer_bytes(ret_answer), arena, ret_response, ret_error);
    if (status != STATUS_OK) {
        buffer_deinit(ret_answer);
    }
    return status;
}

static enum edubba_code make(struct edubba_client *client,
                             const char *name,
                             uint64_t number,
                             struct edubba_table **ret_table,
                             struct edubba_error *error)
{
    struct edubba_table *table = memory_allocate(sizeof *table);
    char *copy = memory_copy_text(bytes_of_text(name));
    if (table == NULL || copy == NULL) {
        memory_free(table);
        memory_free(copy);
        return client_no_memory(error);
    }
    *table = (struct edubba_table){.client = client, .number = number, .name = copy};
    list_init(&table->link);
    pthread_mutex_lock(&client->lock);
    list_append(&client->tables, &table->link);
    pthread_mutex_unlock(&client->lock);
    *ret_table = table;
    return client_success(error);
}

enum edubba_code edubba_table_open(struct edubba_client *client,
                                   const char *name,
                                   struct edubba_table **ret_table,
                                   struct edubba_error *error)
{
    struct locate_request locate = {.name = bytes_of_text(name), .count_max = 1};
    struct locate_response response;
    struct buffer answer = BUFFER_INIT;
    struct error trouble = {0};
    struct arena arena;

    if (client_check_may_block(client, error) != EDUBBA_OK) {
        return EDUBBA_FAILED_PRECONDITION;
    }
    arena_init(&arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    enum status status = table_locate(client, &locate, 0, &arena, &answer, &response, &trouble);
    enum edubba_code code = status == STATUS_OK
                                ? make(client, name, response.table.number, ret_table, error)
                                : client_error_of(error, &trouble);
    buffer_deinit(&answer);
    arena_deinit(&arena);
    return code;
}

/* --- closing ---------------------------------------------------------------------------------- */

/* With the lock held. */
static bool is_open(const struct edubba_client *client, uint64_t number)
{
    for (struct list_link *at = client->tables.next; at != &client->tables; at = at->next) {
        if (LIST_ELEMENT(at, struct edubba_table, link)->number == number) {
            return true;
        }
    }
    return false;
}

static bool was_closed(const struct edubba_client *client, uint64_t number)
{
    size_t at = 0;
    while (at < CLIENT_CLOSED_TABLES && client->closed[at] != number) {
        at++;
    }
    return at < CLIENT_CLOSED_TABLES;
}

/* With the lock held: the table is closed, and another one's time has come; 0 = none's.  One that is opened
 * and closed all the time takes one place. */
static uint64_t change_places(struct edubba_client *client, uint64_t number)
{
    if (was_closed(client, number)) {
        return 0;
    }
    uint64_t *place = &client->closed[client->closed_next];
    uint64_t oldest = *place;
    *place = number;
    client->closed_next = (client->closed_next + 1) % CLIENT_CLOSED_TABLES;
    return oldest == 0 || is_open(client, oldest) ? 0 : oldest;
}

static void table_free(struct edubba_table *table)
{
    memory_free(table->name);
    memory_free(table);
}

static void run_forget(void *context, struct task *task)
{
    struct edubba_table *table = LIST_ELEMENT(task, struct edubba_table, task);
    route_forget(context, table->forgotten);
    table_free(table);
}

void edubba_table_close(struct edubba_table *table)
{
    if (table == NULL) {
        return;
    }
    struct edubba_client *client = table->client;
    pthread_mutex_lock(&client->lock);
    list_remove(&table->link);
    if (!is_open(client, table->number)) {
        table->forgotten = change_places(client, table->number);
    }
    pthread_mutex_unlock(&client->lock);
    if (table->forgotten != 0) {
        table->task.run = run_forget;
        loop_post(&client->loop, &table->task);
    } else {
        table_free(table);
    }
}

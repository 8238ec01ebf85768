#include "client/routing/table.h"

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
    *table = (struct edubba_table){client, number, copy};
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

void edubba_table_close(struct edubba_table *table)
{
    if (table != NULL) {
        memory_free(table->name);
        memory_free(table);
    }
}

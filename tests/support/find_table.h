/*
 * From a table's name to its number and the tablet server that holds its first tablet.
 */
#ifndef TESTS_SUPPORT_FIND_TABLE_H
#define TESTS_SUPPORT_FIND_TABLE_H

#include <stdio.h>

#include "tests/support/blocking_client.h"

struct found_table {
    uint64_t number;
    char address[128];
};

static inline enum status find_table(const char *master,
                                     const char *name,
                                     struct found_table *ret_table,
                                     struct error *ret_error)
{
    struct blocking_client asking;
    struct locate_request locate = {.name = bytes_of_text(name)};
    struct locate_response found;
    struct buffer body = BUFFER_INIT;
    struct bytes answer;
    struct arena arena;

    arena_init(&arena, 4096, SIZE_MAX);
    locate_request_encode(&locate, &body);
    enum status status = blocking_open(&asking, master);
    if (status == STATUS_OK) {
        status = blocking_call(&asking, METHOD_LOCATE, &body, 30000, &answer, ret_error);
    }
    if (status == STATUS_OK) {
        status = locate_response_decode(answer, &arena, &found, ret_error);
    }
    if (status == STATUS_OK && found.location_count == 0) {
        status = error_set(ret_error, STATUS_NOT_FOUND, "it has no tablet");
    }
    if (status == STATUS_OK) {
        struct bytes at = found.locations[0].address;
        ret_table->number = found.table.number;
        (void)snprintf(ret_table->address, sizeof ret_table->address, "%.*s", (int)at.size_bytes,
                       (const char *)at.data);
    }
    blocking_close(&asking);
    arena_deinit(&arena);
    return status;
}

#endif /* TESTS_SUPPORT_FIND_TABLE_H */

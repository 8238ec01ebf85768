/* Hot tablets: all pages of a master's list, sorted for people. */
#include "client/core/hot_list.h"
#include "client/include/edubba_hotspots.h"
#include "client/loop/block.h"
#include "client/routing/master_call.h"
#include "common/base/memory.h"

#define ARENA_BLOCK_BYTES 65536

/* What has come so far. */
struct collection {
    struct arena arena;
    struct hot_tablet *tablets;
    size_t count;
    size_t capacity;
};

static bool make_room(struct collection *collection, size_t added_count)
{
    size_t needed = collection->count + added_count;
    if (needed <= collection->capacity) {
        return true;
    }
    struct hot_tablet *grown = memory_resize(collection->tablets, 2 * needed * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    collection->tablets = grown;
    collection->capacity = 2 * needed;
    return true;
}

static enum status collect(struct collection *collection,
                           const struct list_hot_tablets_response *response,
                           struct error *ret_error)
{
    if (!make_room(collection, response->tablet_count)) {
        return client_status_no_memory(ret_error);
    }
    for (size_t i = 0; i < response->tablet_count; i++) {
        struct hot_tablet copy = response->tablets[i];
        copy.table_name = arena_copy(&collection->arena, copy.table_name);
        copy.range.start = arena_copy(&collection->arena, copy.range.start);
        copy.range.end = arena_copy(&collection->arena, copy.range.end);
        if (copy.table_name.data == NULL || copy.range.start.data == NULL ||
            copy.range.end.data == NULL) {
            return client_status_no_memory(ret_error);
        }
        collection->tablets[collection->count++] = copy;
    }
    return STATUS_OK;
}

/* One answer; the request then asks for the page behind it.  *ret_more: there is one. */
static enum status fetch_page(struct edubba_client *client,
                              struct list_hot_tablets_request *request,
                              struct collection *collection,
                              bool *ret_more,
                              struct error *ret_error)
{
    struct master_call call;
    struct list_hot_tablets_response response = {0};

    master_call_init(&call);
    list_hot_tablets_request_encode(request, &call.body);
    enum status status = master_call_ask(client, &call, METHOD_LIST_HOT_TABLETS, true);
    if (status == STATUS_OK) {
        status = list_hot_tablets_response_decode(buffer_bytes(&call.answer), &call.arena,
                                                  &response, &call.error);
    }
    if (status == STATUS_OK && response.next != 0 && response.next <= request->after) {
        status = error_set(&call.error, STATUS_MALFORMED, "the master's answer leads nowhere");
    }
    if (status == STATUS_OK) {
        status = collect(collection, &response, &call.error);
    }
    if (status == STATUS_OK) {
        request->after = response.next;
        *ret_more = response.next != 0;
    } else {
        *ret_error = call.error;
    }
    (void)master_call_conclude(&call, status, NULL);
    return status;
}

static struct edubba_hot_tablet *write_tablets(struct block *block,
                                               const struct collection *collection)
{
    struct edubba_hot_tablet *tablets = block_take(block, collection->count * sizeof *tablets);
    for (size_t i = 0; i < collection->count; i++) {
        const struct hot_tablet *from = &collection->tablets[i];
        const struct load_figures *figures = &from->figures;
        struct edubba_hot_tablet to = {
            .table = block_text(block, from->table_name),
            .tablet = from->tablet,
            .server = from->server,
            .start = block_bytes(block, from->range.start),
            .end = block_bytes(block, from->range.end),
            .start_us = from->start_us,
            .end_us = from->end_us,
            .cpu_percent = hot_list_percent(from),
            .read_cpu_percent = hot_list_percent_of(from, figures->read_cpu_ns),
            .write_cpu_percent = hot_list_percent_of(from, figures->write_cpu_ns),
            .reads = figures->reads,
            .read_rows = figures->read_rows,
            .read_bytes = figures->read_bytes,
            .writes = figures->writes,
            .write_cells = figures->write_cells,
            .write_bytes = figures->write_bytes,
        };
        if (tablets != NULL) {
            tablets[i] = to;
        }
    }
    return tablets;
}

enum edubba_code edubba_list_hot_tablets(struct edubba_client *client,
                                         const struct edubba_hot_window *window,
                                         struct edubba_hot_tablet **tablets,
                                         size_t *count,
                                         struct edubba_error *error)
{
    struct list_hot_tablets_request request = {
        .start_us = window->start_us,
        .end_us = window->end_us != 0 ? window->end_us : INT64_MAX,
    };
    struct collection collection = {0};
    struct block block = BLOCK_MEASURING;
    struct error trouble = {0};
    enum status status = STATUS_OK;
    bool more = true;

    if (window->interval_us < 0) {
        return client_error(error, STATUS_INVALID_ARGUMENT, "an interval is 0 or longer");
    }
    arena_init(&collection.arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    while (status == STATUS_OK && more) {
        status = fetch_page(client, &request, &collection, &more, &trouble);
    }
    if (status == STATUS_OK) {
        collection.count = hot_list_sort(collection.tablets, collection.count, window->interval_us);
        (void)write_tablets(&block, &collection);
        status = block_allocate(&block) ? STATUS_OK : client_status_no_memory(&trouble);
    }
    if (status == STATUS_OK) {
        *tablets = write_tablets(&block, &collection);
        *count = collection.count;
    }
    memory_free(collection.tablets);
    arena_deinit(&collection.arena);
    return status == STATUS_OK ? client_success(error) : client_error_of(error, &trouble);
}

/* Events: all pages of a master's list. */
#include "client/block.h"
#include "client/include/edubba_hotspots.h"
#include "client/master_call.h"
#include "common/base/memory.h"

#define PAGES_MAX 64

/* The answers so far; what they hold points into their calls. */
struct collection {
    struct master_call calls[PAGES_MAX];
    struct list_events_response pages[PAGES_MAX];
    size_t count;
};

static enum status fetch_page(struct edubba_client *client,
                              const struct list_events_request *request,
                              struct collection *collection,
                              struct error *ret_error)
{
    struct master_call *call = &collection->calls[collection->count];
    struct list_events_response *page = &collection->pages[collection->count];

    master_call_init(call);
    list_events_request_encode(request, &call->body);
    enum status status = master_call_ask(client, call, METHOD_LIST_EVENTS, true);
    if (status == STATUS_OK) {
        status = list_events_response_decode(buffer_bytes(&call->answer), &call->arena, page,
                                             &call->error);
    }
    if (status == STATUS_OK && page->more &&
        (page->event_count == 0 || page->events[page->event_count - 1].change <= request->after)) {
        status = error_set(&call->error, STATUS_MALFORMED, "the master's answer leads nowhere");
    }
    if (status != STATUS_OK) {
        *ret_error = call->error;
    }
    collection->count++;
    return status;
}

static double percent(uint32_t permille)
{
    return permille / 10.0;
}

static void write_event(struct block *block,
                        const struct event *from,
                        struct edubba_event *ret_event)
{
    const struct event_figures *figures = &from->figures;
    const struct edubba_event to = {
        .number = from->number,
        .change = from->change,
        .time_us = from->time_us,
        .ended_us = from->ended_us,
        .kind = block_text(block, from->kind),
        .reason = block_text(block, from->reason),
        .outcome = block_text(block, from->outcome),
        .text = block_text(block, from->text),
        .why = block_text(block, from->why),
        .table = block_text(block, from->table_name),
        .tablet = from->tablet,
        .right = from->right,
        .from = from->from,
        .to = from->to,
        .start = block_bytes(block, from->range.start),
        .end = block_bytes(block, from->range.end),
        .row = block_bytes(block, from->row),
        .row_count = from->row_count,
        .key = block_bytes(block, from->key),
        .share_percent = percent(figures->share_permille),
        .limit_percent = percent(figures->limit_permille),
        .key_percent = percent(figures->key_permille),
        .crossing_percent = percent(figures->crossing_permille),
        .appended_percent = percent(figures->appended_permille),
        .off_percent = percent(figures->off_permille),
        .from_percent = percent(figures->from_permille),
        .to_percent = percent(figures->to_permille),
        .mean_percent = percent(figures->mean_permille),
        .operations = figures->operations,
        .observations = figures->observations,
    };
    if (ret_event != NULL) {
        *ret_event = to;
    }
}

static struct edubba_event *write_events(struct block *block,
                                         const struct collection *collection,
                                         size_t *ret_count)
{
    size_t count = 0;
    for (size_t i = 0; i < collection->count; i++) {
        count += collection->pages[i].event_count;
    }
    struct edubba_event *events = block_take(block, count * sizeof *events);
    *ret_count = count;
    count = 0;
    for (size_t i = 0; i < collection->count; i++) {
        for (size_t j = 0; j < collection->pages[i].event_count; j++, count++) {
            write_event(block, &collection->pages[i].events[j],
                        events == NULL ? NULL : &events[count]);
        }
    }
    return events;
}

static enum status collect(struct edubba_client *client,
                           struct list_events_request *request,
                           struct collection *collection,
                           struct error *ret_error)
{
    bool more = true;
    while (more && collection->count < PAGES_MAX) {
        enum status status = fetch_page(client, request, collection, ret_error);
        if (status != STATUS_OK) {
            return status;
        }
        const struct list_events_response *page = &collection->pages[collection->count - 1];
        more = page->more;
        request->after = page->event_count > 0 ? page->events[page->event_count - 1].change
                                               : request->after;
    }
    return STATUS_OK;
}

enum edubba_code edubba_list_events(struct edubba_client *client,
                                    const char *table,
                                    uint64_t after,
                                    struct edubba_event **events,
                                    size_t *count,
                                    struct edubba_error *error)
{
    struct list_events_request request = {
        .table = table == NULL ? BYTES_EMPTY : bytes_of_text(table), .after = after};
    struct collection *collection = memory_allocate_zeroed(1, sizeof *collection);
    struct block block = BLOCK_MEASURING;
    struct error trouble = {0};

    if (collection == NULL) {
        return client_no_memory(error);
    }
    enum status status = collect(client, &request, collection, &trouble);
    if (status == STATUS_OK) {
        (void)write_events(&block, collection, count);
        status = block_allocate(&block) ? STATUS_OK : client_status_no_memory(&trouble);
    }
    if (status == STATUS_OK) {
        *events = write_events(&block, collection, count);
    }
    for (size_t i = 0; i < collection->count; i++) {
        (void)master_call_conclude(&collection->calls[i], STATUS_OK, NULL);
    }
    memory_free(collection);
    return status == STATUS_OK ? client_success(error) : client_error_of(error, &trouble);
}

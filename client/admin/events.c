/* Events: all pages of a master's list. */
#include "client/include/edubba_hotspots.h"
#include "client/loop/block.h"
#include "client/routing/master_call.h"
#include "common/base/memory.h"

/* An answer; what it holds points into its call. */
struct page {
    struct master_call call;
    struct list_events_response answer;
    struct page *next;
};

/* As many as there are: a master keeps a bounded number of events, and each page leads further. */
struct collection {
    struct page *first;
    struct page **end;
};

/* The next page; the request then asks for the one behind it. */
static enum status fetch_page(struct edubba_client *client,
                              struct list_events_request *request,
                              struct collection *collection,
                              bool *ret_more,
                              struct error *ret_error)
{
    struct page *page = memory_allocate_zeroed(1, sizeof *page);
    if (page == NULL) {
        return client_status_no_memory(ret_error);
    }
    struct master_call *call = &page->call;
    struct list_events_response *answer = &page->answer;
    *collection->end = page;
    collection->end = &page->next;
    master_call_init(call);
    list_events_request_encode(request, &call->body);
    enum status status = master_call_ask(client, call, METHOD_LIST_EVENTS, true);
    if (status == STATUS_OK) {
        status = list_events_response_decode(buffer_bytes(&call->answer), &call->arena, answer,
                                             &call->error);
    }
    if (status == STATUS_OK && answer->more &&
        (answer->event_count == 0 ||
         answer->events[answer->event_count - 1].change <= request->after)) {
        status = error_set(&call->error, STATUS_MALFORMED, "the master's answer leads nowhere");
    }
    if (status != STATUS_OK) {
        *ret_error = call->error;
        return status;
    }
    *ret_more = answer->more;
    if (answer->more) {
        request->after = answer->events[answer->event_count - 1].change;
    }
    return STATUS_OK;
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
        .size_bytes = figures->size_bytes,
        .limit_bytes = figures->limit_bytes,
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
    for (const struct page *page = collection->first; page != NULL; page = page->next) {
        count += page->answer.event_count;
    }
    struct edubba_event *events = block_take(block, count * sizeof *events);
    *ret_count = count;
    count = 0;
    for (const struct page *page = collection->first; page != NULL; page = page->next) {
        for (size_t i = 0; i < page->answer.event_count; i++, count++) {
            write_event(block, &page->answer.events[i], events == NULL ? NULL : &events[count]);
        }
    }
    return events;
}

static enum status collect(struct edubba_client *client,
                           struct list_events_request *request,
                           struct collection *collection,
                           struct error *ret_error)
{
    enum status status = STATUS_OK;
    bool more = true;
    while (status == STATUS_OK && more) {
        status = fetch_page(client, request, collection, &more, ret_error);
    }
    return status;
}

static void release(struct collection *collection)
{
    for (struct page *page = collection->first; page != NULL;) {
        struct page *next = page->next;
        (void)master_call_conclude(&page->call, STATUS_OK, NULL);
        memory_free(page);
        page = next;
    }
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
    struct collection collection = {.end = &collection.first};
    struct block block = BLOCK_MEASURING;
    struct error trouble = {0};
    size_t written = 0;

    enum status status = collect(client, &request, &collection, &trouble);
    if (status == STATUS_OK) {
        (void)write_events(&block, &collection, &written);
        status = block_allocate(&block) ? STATUS_OK : client_status_no_memory(&trouble);
    }
    if (status == STATUS_OK) {
        *events = write_events(&block, &collection, &written);
        *count = written;
    }
    release(&collection);
    return status == STATUS_OK ? client_success(error) : client_error_of(error, &trouble);
}

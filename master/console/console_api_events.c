/* /api/v1/events: what was decided about load, and what came of it. */
#include "master/console/console_api.h"
#include "master/console/console_json.h"

#define PAGE_DEFAULT 100
#define PAGE_MAX     1000
#define ARENA_BYTES  ((size_t)16384)
#define ARENA_MAX    ((size_t)64 << 20)
#define CHANGE_MAX   (INT64_C(1) << 60)

static void tell_word(struct buffer *out, const char *name, struct bytes word)
{
    buffer_append_format(out, ",\"%s\":", name);
    json_text(out, word);
}

static void tell_id(struct buffer *out, const char *name, uint64_t number)
{
    buffer_append_format(out, ",\"%s\":", name);
    json_id(out, number);
}

static void tell_key(struct buffer *out, const char *name, struct bytes key)
{
    buffer_append_format(out, ",\"%s\":", name);
    json_key(out, key);
}

static void tell_figures(struct buffer *out, const struct event_figures *figures)
{
    buffer_append_format(
        out,
        ",\"figures\":{\"share_permille\":%u,\"limit_permille\":%u,\"operations\":%llu,"
        "\"observations\":%llu,\"key_permille\":%u,\"crossing_permille\":%u,"
        "\"appended_permille\":%u,\"off_permille\":%u,\"from_permille\":%u,\"to_permille\":%u,"
        "\"mean_permille\":%u,\"size_bytes\":%llu,\"limit_bytes\":%llu}",
        figures->share_permille, figures->limit_permille, (unsigned long long)figures->operations,
        (unsigned long long)figures->observations, figures->key_permille,
        figures->crossing_permille, figures->appended_permille, figures->off_permille,
        figures->from_permille, figures->to_permille, figures->mean_permille,
        (unsigned long long)figures->size_bytes, (unsigned long long)figures->limit_bytes);
}

static void tell_event(struct buffer *out, const struct event *event)
{
    buffer_append_format(out, "{\"change\":%llu,\"time_us\":%lld,\"ended_us\":%lld",
                         (unsigned long long)event->change, (long long)event->time_us,
                         (long long)event->ended_us);
    tell_id(out, "number", event->number);
    tell_word(out, "kind", event->kind);
    tell_word(out, "reason", event->reason);
    tell_word(out, "outcome", event->outcome);
    tell_word(out, "text", event->text);
    tell_word(out, "why", event->why);
    tell_id(out, "table", event->table);
    tell_word(out, "name", event->table_name);
    tell_id(out, "tablet", event->tablet);
    tell_id(out, "right", event->right);
    tell_id(out, "from", event->from);
    tell_id(out, "to", event->to);
    tell_key(out, "start", event->range.start);
    tell_key(out, "end", event->range.end);
    tell_key(out, "row", event->row);
    buffer_append_format(out, ",\"row_count\":%u", event->row_count);
    tell_key(out, "key", event->key);
    tell_figures(out, &event->figures);
    buffer_append_u8(out, '}');
}

static enum status tell_events(struct bytes body, struct buffer *out, struct error *ret_error)
{
    struct list_events_response response = {0};
    struct arena arena;

    arena_init(&arena, ARENA_BYTES, ARENA_MAX);
    enum status status = list_events_response_decode(body, &arena, &response, ret_error);
    if (status == STATUS_OK) {
        size_t count = response.event_count;
        buffer_append_format(out, "{\"events\":[");
        for (size_t i = 0; i < count; i++) {
            buffer_append_format(out, i == 0 ? "" : ",");
            tell_event(out, &response.events[i]);
        }
        buffer_append_format(out, "],\"next\":%llu}\n",
                             response.more && count > 0
                                 ? (unsigned long long)response.events[count - 1].change
                                 : 0ULL);
    }
    arena_deinit(&arena);
    return status;
}

enum status api_ask_events(struct console *console,
                           const struct query *query,
                           struct api_wait *wait,
                           struct error *ret_error)
{
    static const char *const known[] = {"table", "after", "count", NULL};
    struct bytes asked = query_text(query, "table");
    int64_t after = 0;
    int64_t count = PAGE_DEFAULT;
    enum status status = query_check(query, known, ret_error);

    if (status == STATUS_OK) {
        status = query_number(query, "after", 0, CHANGE_MAX, &after, ret_error);
    }
    if (status == STATUS_OK) {
        status = query_number(query, "count", 1, PAGE_MAX, &count, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    struct bytes name = asked.size_bytes == 0
                            ? BYTES_EMPTY
                            : sweep_table_name(&console->sweep,
                                               sweep_find_table(&console->sweep, asked));
    const struct list_events_request list = {
        .table = name.size_bytes > 0 ? name : asked,
        .after = (uint64_t)after,
        .count_max = (uint32_t)count,
    };
    wait->question.method = METHOD_LIST_EVENTS;
    list_events_request_encode(&list, &wait->question.body);
    wait->tell = tell_events;
    return STATUS_OK;
}

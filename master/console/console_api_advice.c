/* /api/v1/advice: what is wrong with a table's row keys, in words. */
#include "master/console/console_api.h"
#include "master/console/console_json.h"

#define ARENA_BYTES ((size_t)16384)
#define ARENA_MAX   ((size_t)16 << 20)

static void tell_finding(struct buffer *out, const struct advice_finding *finding)
{
    buffer_append_format(out, "{\"kind\":\"%s\",\"share_permille\":%u,\"tablet\":",
                         advice_kind_name(finding->kind), finding->share_permille);
    json_id(out, finding->tablet);
    buffer_append_format(out, ",\"start\":");
    json_key(out, finding->range.start);
    buffer_append_format(out, ",\"end\":");
    json_key(out, finding->range.end);
    buffer_append_format(out, ",\"key\":");
    json_key(out, finding->key);
    buffer_append_format(out, ",\"text\":");
    json_text(out, finding->text);
    buffer_append_format(out, ",\"pattern\":");
    json_text(out, finding->pattern);
    buffer_append_format(out, ",\"cure\":");
    json_text(out, finding->cure);
    buffer_append_u8(out, '}');
}

static enum status tell_advice(struct bytes body, struct buffer *out, struct error *ret_error)
{
    struct advise_response response = {0};
    struct arena arena;

    arena_init(&arena, ARENA_BYTES, ARENA_MAX);
    enum status status = advise_response_decode(body, &arena, &response, ret_error);
    if (status == STATUS_OK) {
        buffer_append_format(out,
                             "{\"observations\":%llu,\"operations_per_second\":%llu,"
                             "\"tablets\":%llu,\"busy\":%llu,\"age_us\":%llu,\"findings\":[",
                             (unsigned long long)response.observations,
                             (unsigned long long)response.operations_per_second,
                             (unsigned long long)response.tablet_count,
                             (unsigned long long)response.busy_count,
                             (unsigned long long)response.age_us);
        for (size_t i = 0; i < response.finding_count; i++) {
            buffer_append_format(out, i == 0 ? "" : ",");
            tell_finding(out, &response.findings[i]);
        }
        buffer_append_format(out, "]}\n");
    }
    arena_deinit(&arena);
    return status;
}

enum status api_ask_advice(struct console *console,
                           const struct query *query,
                           struct api_wait *wait,
                           struct error *ret_error)
{
    static const char *const known[] = {"table", NULL};
    struct bytes asked = query_text(query, "table");
    enum status status = query_check(query, known, ret_error);

    if (status == STATUS_OK && asked.size_bytes == 0) {
        status = error_set(ret_error, STATUS_INVALID_ARGUMENT, "table: which one?");
    }
    if (status != STATUS_OK) {
        return status;
    }
    struct bytes name = sweep_table_name(&console->sweep, sweep_find_table(&console->sweep, asked));
    const struct advise_request ask = {.table = name.size_bytes > 0 ? name : asked};
    wait->question.method = METHOD_ADVISE;
    advise_request_encode(&ask, &wait->question.body);
    wait->tell = tell_advice;
    return STATUS_OK;
}

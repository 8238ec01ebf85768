/* What the catalog is asked for: tablets of a table, and those that were hot. */
#include "common/io/clock.h"
#include "master/console/console_api.h"
#include "master/console/console_json.h"

#define PAGE_DEFAULT 100
#define PAGE_MAX     1000
#define ARENA_BYTES  ((size_t)16384)
#define ARENA_MAX    ((size_t)64 << 20)
#define SECOND_US    INT64_C(1000000)
#define TIME_MAX_US  (INT64_C(1) << 60)

static const char *state_name(uint32_t state)
{
    static const char *const names[] = {
        [TABLET_CREATING] = "creating",       [TABLET_SERVING] = "serving",
        [TABLET_UNAVAILABLE] = "unavailable", [TABLET_SPLITTING] = "splitting",
        [TABLET_NOT_LED] = "not_led",
    };
    return state >= TABLET_CREATING && state <= TABLET_NOT_LED ? names[state] : "unknown";
}

/* --- tablets of a table ------------------------------------------------------------------------- */

static void tell_replicas(struct buffer *out, const struct located_replicas *located)
{
    for (size_t i = 0; i < located->replica_count; i++) {
        const struct located_replica *replica = &located->replicas[i];
        buffer_append_format(out, "%s{\"server\":", i == 0 ? "" : ",");
        json_id(out, replica->server);
        buffer_append_format(out, ",\"address\":");
        json_text(out, replica->address);
        buffer_append_format(out, ",\"member\":%s,\"primary\":%s,\"in_sync\":%s,\"wanted\":%s}",
                             (replica->flags & LOCATED_MEMBER) != 0 ? "true" : "false",
                             (replica->flags & LOCATED_PRIMARY) != 0 ? "true" : "false",
                             (replica->flags & LOCATED_IN_SYNC) != 0 ? "true" : "false",
                             (replica->flags & LOCATED_WANTED) != 0 ? "true" : "false");
    }
}

static void tell_location(struct buffer *out,
                          const struct location *location,
                          const struct located_replicas *located)
{
    buffer_append_format(out, "{\"tablet\":");
    json_id(out, location->tablet);
    buffer_append_format(out, ",\"start\":");
    json_key(out, location->range.start);
    buffer_append_format(out, ",\"end\":");
    json_key(out, location->range.end);
    buffer_append_format(out, ",\"state\":\"%s\",\"server\":", state_name(location->state));
    json_id(out, location->server);
    if (located != NULL) {
        buffer_append_format(out, ",\"size_bytes\":%llu,\"replicas\":[",
                             (unsigned long long)located->size_bytes);
        tell_replicas(out, located);
        buffer_append_u8(out, ']');
    }
    buffer_append_u8(out, '}');
}

static enum status tell_tablets(struct bytes body, struct buffer *out, struct error *ret_error)
{
    struct locate_response response = {0};
    struct arena arena;

    arena_init(&arena, ARENA_BYTES, ARENA_MAX);
    enum status status = locate_response_decode(body, &arena, &response, ret_error);
    if (status == STATUS_OK) {
        size_t count = response.location_count;
        bool detailed = response.replicas_count == count;
        struct bytes end = count == 0 ? BYTES_EMPTY : response.locations[count - 1].range.end;
        buffer_append_format(out, "{\"table\":");
        json_id(out, response.table.number);
        buffer_append_format(out, ",\"name\":");
        json_text(out, response.table.id);
        buffer_append_format(out, ",\"tablets\":[");
        for (size_t i = 0; i < count; i++) {
            buffer_append_format(out, i == 0 ? "" : ",");
            tell_location(out, &response.locations[i], detailed ? &response.replicas[i] : NULL);
        }
        buffer_append_format(out, "],\"next\":");
        if (end.size_bytes > 0) {
            json_key(out, end);
        } else {
            buffer_append_format(out, "null");
        }
        buffer_append_format(out, "}\n");
    }
    arena_deinit(&arena);
    return status;
}

enum status api_ask_tablets(struct console *console,
                            const struct query *query,
                            struct api_wait *wait,
                            struct error *ret_error)
{
    static const char *const known[] = {"table", "from", "count", NULL};
    struct locate_request locate = {.detailed = true};
    int64_t count = PAGE_DEFAULT;
    struct bytes name = query_text(query, "table");
    enum status status = query_check(query, known, ret_error);

    if (status == STATUS_OK) {
        status = query_number(query, "count", 1, PAGE_MAX, &count, ret_error);
    }
    if (status == STATUS_OK) {
        status = query_key(query, "from", &locate.row, ret_error);
    }
    if (status == STATUS_OK && name.size_bytes == 0) {
        status = error_set(ret_error, STATUS_INVALID_ARGUMENT, "table: which one?");
    }
    if (status != STATUS_OK) {
        return status;
    }
    locate.count_max = (uint32_t)count;
    locate.table = sweep_find_table(&console->sweep, name);
    locate.name = name;
    wait->question.method = METHOD_LOCATE;
    locate_request_encode(&locate, &wait->question.body);
    wait->tell = tell_tablets;
    return STATUS_OK;
}

/* --- tablets that were hot ---------------------------------------------------------------------- */

static void tell_hot(struct buffer *out, const struct hot_tablet *hot)
{
    const struct load_figures *figures = &hot->figures;

    buffer_append_format(out, "{\"table\":");
    json_id(out, hot->table);
    buffer_append_format(out, ",\"name\":");
    json_text(out, hot->table_name);
    buffer_append_format(out, ",\"tablet\":");
    json_id(out, hot->tablet);
    buffer_append_format(out, ",\"server\":");
    json_id(out, hot->server);
    buffer_append_format(out, ",\"start\":");
    json_key(out, hot->range.start);
    buffer_append_format(out, ",\"end\":");
    json_key(out, hot->range.end);
    buffer_append_format(
        out,
        ",\"start_us\":%lld,\"end_us\":%lld,\"capacity_ns\":%llu,\"reads\":%llu,"
        "\"read_rows\":%llu,\"read_bytes\":%llu,\"read_cpu_ns\":%llu,\"writes\":%llu,"
        "\"write_cells\":%llu,\"write_bytes\":%llu,\"write_cpu_ns\":%llu}",
        (long long)hot->start_us, (long long)hot->end_us, (unsigned long long)hot->capacity_ns,
        (unsigned long long)figures->reads, (unsigned long long)figures->read_rows,
        (unsigned long long)figures->read_bytes, (unsigned long long)figures->read_cpu_ns,
        (unsigned long long)figures->writes, (unsigned long long)figures->write_cells,
        (unsigned long long)figures->write_bytes, (unsigned long long)figures->write_cpu_ns);
}

static enum status tell_hot_tablets(struct bytes body, struct buffer *out, struct error *ret_error)
{
    struct list_hot_tablets_response response = {0};
    struct arena arena;

    arena_init(&arena, ARENA_BYTES, ARENA_MAX);
    enum status status = list_hot_tablets_response_decode(body, &arena, &response, ret_error);
    if (status == STATUS_OK) {
        buffer_append_format(out, "{\"tablets\":[");
        for (size_t i = 0; i < response.tablet_count; i++) {
            buffer_append_format(out, i == 0 ? "" : ",");
            tell_hot(out, &response.tablets[i]);
        }
        buffer_append_format(out, "],\"next\":%llu}\n", (unsigned long long)response.next);
    }
    arena_deinit(&arena);
    return status;
}

enum status api_ask_hot_tablets(struct console *console,
                                const struct query *query,
                                struct api_wait *wait,
                                struct error *ret_error)
{
    static const char *const known[] = {"from_us", "to_us", "after", "count", NULL};
    struct list_hot_tablets_request list = {.end_us = clock_wall_us()};
    int64_t count = PAGE_DEFAULT;
    int64_t after = 0;
    enum status status = query_check(query, known, ret_error);

    (void)console;
    if (status == STATUS_OK) {
        status = query_number(query, "to_us", 1, TIME_MAX_US, &list.end_us, ret_error);
    }
    list.start_us = list.end_us > 3600 * SECOND_US ? list.end_us - 3600 * SECOND_US : 0;
    if (status == STATUS_OK) {
        status = query_number(query, "from_us", 0, TIME_MAX_US, &list.start_us, ret_error);
    }
    if (status == STATUS_OK) {
        status = query_number(query, "after", 0, TIME_MAX_US, &after, ret_error);
    }
    if (status == STATUS_OK) {
        status = query_number(query, "count", 1, PAGE_MAX, &count, ret_error);
    }
    if (status == STATUS_OK && list.start_us >= list.end_us) {
        status = error_set(ret_error, STATUS_INVALID_ARGUMENT, "the window of time is empty");
    }
    list.after = (uint64_t)after;
    list.count_max = (uint32_t)count;
    wait->question.method = METHOD_LIST_HOT_TABLETS;
    list_hot_tablets_request_encode(&list, &wait->question.body);
    wait->tell = tell_hot_tablets;
    return status;
}
